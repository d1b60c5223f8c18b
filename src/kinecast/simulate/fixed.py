"""Runs of steps of constant length: the whole batch at once."""

from __future__ import annotations

import math

import numpy as np

from kinecast.simulate.limits import Bounds, Flags, hermite
from kinecast.simulate.record import Record
from kinecast.simulate.result import Failure
from kinecast.simulate.steps import Scheme, State, Stepper
from kinecast.simulate.watch import Watch

ROUNDING = 1e-9  # of a step: an interval of 10.000000001 steps is one of 10
NO_NUMBER = "the next state is not finite; a shorter step may help"


def run_fixed(
    record: Record,
    state: State,
    advance: Stepper,
    scheme: Scheme,
    step: float,
    bounds: Bounds | None,
    stop_at_limits: bool,
    watch: Watch,
) -> None:
    """Fill the record, whose first row is the state. Between two rows all steps are equal, and at most `step` long.

    The loop holds nothing but the steps and the limits; a state that stops being a number is noticed at the next row,
    and the steps before it are then taken again to find the instant.
    """
    members = math.prod(record.batch)
    outside = None if bounds is None else bounds.outside(state[0])
    failed = np.zeros(record.batch, dtype=bool)
    t = 0.0
    for row, end in enumerate(record.grid[1:].tolist(), start=1):
        start, first = t, state
        count = max(1, math.ceil((end - start) / step - ROUNDING))
        h = (end - start) / count
        for i in range(count):
            t = start + i * h
            watch.at(t)
            if watch.stop:
                record.end_at(row, t, state, "interrupted")
                return
            following = advance(t, h, state)
            record.stepped(h, members, scheme.evaluations)
            if bounds is not None and outside is not None:
                outside_now = bounds.outside(following[0])
                if (leaving := outside_now > outside).any():
                    at = _leave(record, bounds, leaving, t, h, state, following)
                    if stop_at_limits:
                        record.end_at(row, at, advance(t, at - t, state), "limit")
                        return
                outside = outside_now
            state = following
        t = end
        lost = ~_finite(state) & ~failed
        if np.any(lost):
            _find_failures(record, lost, start, h, count, first, advance)
            failed |= lost
            if failed.all():
                return
        record.put(row, state)
        record.done = row + 1


def _leave(record: Record, bounds: Bounds, leaving: Flags, t: float, h: float, before: State, after: State) -> float:
    """Note every coordinate that leaves its range in this step; when the first does."""
    first = t + h
    for *member, k in np.argwhere(leaving).tolist():
        index = tuple(member)
        q0, v0, q1, v1 = (x[index] for x in (*before[:2], *after[:2]))
        event = bounds.passing(k, t, t + h, hermite(t, h, q0, v0, q1, v1), index)
        record.events.append(event)
        first = min(first, event.t)
    return first


def _finite(state: State) -> Flags:
    found: Flags = np.isfinite(state[0]).all(axis=-1) & np.isfinite(state[1]).all(axis=-1)
    return found


def _find_failures(
    record: Record, lost: Flags, start: float, h: float, count: int, state: State, advance: Stepper
) -> None:
    """Take the steps again, and note where each lost member of the batch was last seen."""
    for i in range(count):
        following = advance(start + i * h, h, state)
        gone = lost & _finite(state) & ~_finite(following)
        for member in np.argwhere(gone).tolist():
            index = tuple(member)
            record.failures.append(Failure(start + i * h, index, state[0][index], state[1][index], NO_NUMBER))
        state = following
