"""Runs of SciPy's integrators with error control: each member of a batch by itself, with its own steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinecast.mechanism.checks import Array
from kinecast.simulate.acting import Acting
from kinecast.simulate.limits import Bounds, Flags, LimitEvent
from kinecast.simulate.record import Record
from kinecast.simulate.result import Failure
from kinecast.simulate.steps import State
from kinecast.simulate.watch import Watch

SOLVERS = ("DOP853", "RK45", "LSODA", "Radau")
Solver = Callable[..., Any]  # one of SciPy's classes
LOOKS = (0.25, 0.5, 0.75, 1.0)  # where in a step the limits are looked at


@dataclass(frozen=True)
class Accuracy:
    """Relative and absolute error that a step may make in a component of the state."""

    rtol: float
    atol: float


class _Step:
    """A step that a solver has just made, to the state `y` at `end` [s]. Valid until the solver makes the next one."""

    def __init__(self, begin: float, solver: Any) -> None:
        self.begin, self.end, self.y = begin, float(solver.t), solver.y
        self._solver = solver

    @cached_property
    def _dense(self) -> Callable[[float], Array]:
        dense: Callable[[float], Array] = self._solver.dense_output()
        return dense

    def at(self, t: float) -> Array:
        """The state at a time within the step, as accurate as the integrator interpolates."""
        return self.y if t == self.end else self._dense(t)


class _GaveUp(Exception):
    """The integrator cannot go on from its last state."""


class _Rate:
    """dy/dt of y = (q, v), with the torques' work at the end where there are torques."""

    def __init__(self, forward: np.ufunc, acts: Acting, n: int) -> None:
        self.calls = 0
        self.inside = False  # whether an exception comes from here
        self.n = n
        self._forward, self._acts = forward, acts

    def __call__(self, t: float, y: Array) -> Array:
        self.calls += 1
        self.inside = True
        n = self.n
        v = y[n : 2 * n]
        tau = self._acts.torque(t, y[:n], v)
        rate = np.empty_like(y)
        rate[:n] = v
        rate[n : 2 * n] = self._forward(y[:n], v, tau, *self._acts.around(t))
        if self._acts.driven:
            rate[-1] = tau @ v
        if not np.isfinite(rate).all():
            what = "acceleration" if np.isfinite(tau).all() else "torque"
            raise _GaveUp(f"the {what} is not finite")
        self.inside = False
        return rate

    def packed(self, state: State) -> Array:
        """y of a state."""
        q, v, work = state
        return np.concatenate([q, v, [work] if self._acts.driven else []])

    def unpacked(self, y: Array) -> State:
        """The state of a y."""
        return y[: self.n], y[self.n : 2 * self.n], y[-1] if self._acts.driven else 0.0


def solver_named(integrator: str) -> Solver:
    """SciPy's class of this name."""
    import scipy.integrate

    solver: Solver = getattr(scipy.integrate, integrator)
    return solver


def run_adaptive(
    record: Record,
    state: State,
    forward: np.ufunc,
    acts: Acting,
    solver: Solver,
    accuracy: Accuracy,
    until: float,
    bounds: Bounds | None,
    stop_at_limits: bool,
    watch: Watch,
) -> None:
    """Fill the record, whose first row is the state. A member of a batch that fails is NaN from there on."""
    row = 1
    for member, index in enumerate(np.ndindex(*record.batch)):
        rate = _Rate(forward, acts.one(record.batch, index), record.n)
        t, y, row = 0.0, rate.packed((state[0][index], state[1][index], state[2][index])), 1
        outside = None if bounds is None else bounds.outside(state[0][index])
        try:
            for step in _steps(rate, solver, accuracy, y, until):
                record.stepped(step.end - t, 1, 0)
                end = step.end
                if bounds is not None and outside is not None:
                    outside, events = _leaving(bounds, outside, t, step, record.n, index)
                    record.events += events
                    if stop_at_limits and events:
                        end = min(event.t for event in events)
                while row < len(record.grid) and record.grid[row] <= end:
                    record.put(row, rate.unpacked(step.at(float(record.grid[row]))), index)
                    row += 1
                if end < step.end:
                    record.end_at(row, end, rate.unpacked(step.at(end)), "limit")
                    return
                t, y = step.end, step.y
                watch.at(t, member)
                if watch.stop and t < until:
                    record.end_at(row, t, rate.unpacked(y), "interrupted", index)
                    return
        except _GaveUp as trouble:
            q, v, _ = rate.unpacked(y)
            record.failures.append(Failure(t, index, q, v, str(trouble)))
        finally:
            record.evaluations += rate.calls
    record.done = len(record.grid) if record.batch else row


def _steps(rate: _Rate, make: Solver, accuracy: Accuracy, y: Array, until: float) -> Iterator[_Step]:
    """The integrator's steps, one after the other; `_GaveUp` when it cannot make another."""
    solver = make(rate, 0.0, y, until, rtol=accuracy.rtol, atol=accuracy.atol)
    while solver.status == "running":
        begin = solver.t
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="lsoda")  # "failed" says it too
                trouble = solver.step()
        except (ValueError, np.linalg.LinAlgError) as error:
            if rate.inside:
                raise  # an error of the torque function, not of the integrator's own algebra
            trouble, solver.status = str(error), "failed"
        if solver.status == "failed":
            raise _GaveUp(trouble or "the integrator made no further step")
        yield _Step(begin, solver)


def _leaving(
    bounds: Bounds, outside: Flags, begin: float, step: _Step, n: int, index: tuple[int, ...]
) -> tuple[Flags, list[LimitEvent]]:
    """Which coordinates are out of their range at the end of a step, and where they left it."""
    events = []

    def path(t: float) -> Array:
        return step.at(t)[:n]

    start, length = begin, step.end - begin
    for look in LOOKS:
        end = begin + look * length
        outside_now = bounds.outside(path(end))
        for k in np.flatnonzero(outside_now & ~outside).tolist():
            events.append(bounds.passing(k, start, end, path, index))
        start, outside = end, outside_now
    return outside, events
