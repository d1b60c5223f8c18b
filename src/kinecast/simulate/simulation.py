"""`simulate`: the motion of a mechanism from an initial state, under torques, loads and a moving ground."""

from __future__ import annotations

import math
import time
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.algorithms import DEFAULT_METHOD, compiled
from kinecast.dynamics.mechanism import Mechanism
from kinecast.errors import InputError, NotSupportedError, brief, unknown
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array
from kinecast.simulate.acting import Base, Loads, Torque, acting, vector
from kinecast.simulate.adaptive import SOLVERS, Accuracy, run_adaptive, solver_named
from kinecast.simulate.fixed import run_fixed
from kinecast.simulate.limits import Bounds
from kinecast.simulate.record import Record, finished
from kinecast.simulate.result import IntegrationError, Simulation
from kinecast.simulate.steps import SCHEMES, State, stepper
from kinecast.simulate.watch import Watch

INTEGRATORS = (*SOLVERS, *SCHEMES)
AtLimits = Literal["report", "stop", "ignore"]

RTOL = 1e-9
ATOL_BESIDE_RTOL = 1e-3  # atol, unless given, as a part of rtol: for coordinates of the order of 1 rad or 1 m
SMALLEST_RTOL = 1e-13  # below it rounding is all there is


def simulate(
    mechanism: Structure,
    q: ArrayLike,
    v: ArrayLike = 0.0,
    *,
    until: float,
    torque: Torque = None,
    loads: Loads = None,
    base: Base = None,
    method: str = DEFAULT_METHOD,
    integrator: str = "DOP853",
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    samples: int | ArrayLike = 201,
    limits: AtLimits = "report",
    progress: bool = True,
) -> Simulation:
    """The motion from `q`, `v` (..., n) at t = 0 to t = `until` [s]. One number stands for every coordinate.

    torque     N m or N: numbers (..., n); a function tau(t, q, v) that depends on nothing else, given the arrays of a
               whole batch by RK4 and semi_implicit_euler, of one member by the others; a motion file. None: free.
    loads      `Load`s, or a function of t that returns some, always at the same points. base: a `BaseMotion`, or a
               function of t. Both along the ground's axes.
    method     the formulation of forward dynamics.
    integrator DOP853, RK45, LSODA, Radau: error control by `rtol` (1e-9) and `atol` (rtol / 1000), every initial
               state by itself. RK4, semi_implicit_euler: steps of at most `step` s, compiled, a whole batch at once;
               with a torque function the same steps in NumPy.
    samples    how many rows, evenly spaced, or their times, the first being 0.
    limits     what happens where a coordinate leaves the range of its joint: "report" notes it, "stop" (for one initial
               state) ends the run there, "ignore" does not look.

    Raises `IntegrationError`, with time, state and what there is until then, when no initial state could be followed
    to the end. Ctrl-C returns what there is, with status "interrupted"; `progress` shows on a terminal how far a long
    run has come. Example::

        fall = simulate(arm, q=0, until=2)
        pushed = simulate(arm, q0, torque=lambda t, q, v: -10 * q - v, until=2, integrator="RK4", step=1e-3)
    """
    if not isinstance(mechanism, Structure):
        raise InputError(f"mechanism must be a kinecast.Mechanism (see kinecast.load), got {brief(mechanism)}")
    mechanism = Mechanism.of(mechanism)
    mechanism.require_open("simulation")
    pace = _pace(integrator, rtol, atol, step)
    until = _positive("until", until, "s")
    grid = _times(samples, until)
    bounds = _bounds(mechanism, limits)
    acts = acting(mechanism, torque, loads, base, method, until)
    state = _initial(mechanism, q, v, acts.batch)
    batch = state[0].shape[:-1]
    if batch and limits == "stop":
        raise NotSupportedError("limits='stop' is for one initial state; of several ask for limits='report'")
    record = Record(grid, batch, mechanism.n)
    record.put(0, state)
    if bounds is not None:
        _note_outside(record, bounds, state[0], limits)
    title = f"simulating {mechanism.name}"
    members = math.prod(batch)
    at_limits = bounds, limits == "stop"
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is noticed in the state
        if isinstance(pace, Accuracy):
            forward, solver = compiled(mechanism, acts.request).ufunc, solver_named(integrator)
            start = time.perf_counter()
            with Watch(title, until, members, progress) as watch:
                run_adaptive(record, state, forward, acts, solver, pace, until, *at_limits, watch)
        else:
            advance = stepper(mechanism, integrator, acts)
            start = time.perf_counter()
            with Watch(title, until, 1, progress) as watch:
                run_fixed(record, state, advance, SCHEMES[integrator], pace, *at_limits, watch)
        seconds = time.perf_counter() - start
        simulation = finished(record, mechanism, acts, integrator, _message(record, until), seconds)
    if record.failures and len(record.failures) == members:
        raise IntegrationError(
            f"simulation of {mechanism.name!r} with {integrator} {record.failures[0]}", record.failures[0], simulation
        )
    return simulation


def _message(record: Record, until: float) -> str:
    if record.status == "interrupted":
        return f"interrupted at t = {record.reached:.6g} s of {until:g} s"
    if record.status == "limit":
        return f"stopped: {min(record.events, key=lambda event: event.t)}"
    if record.failures:
        return f"{len(record.failures)} initial states could not be followed to the end; the first {record.failures[0]}"
    return f"reached t = {until:g} s"


def _pace(integrator: str, rtol: float | None, atol: float | None, step: float | None) -> float | Accuracy:
    """What says how long a step may be: its length itself, or the accuracy asked for."""
    if integrator not in INTEGRATORS:
        raise unknown("integrator", integrator, INTEGRATORS)
    if integrator in SCHEMES:
        if rtol is not None or atol is not None:
            raise InputError(f"rtol and atol are for {', '.join(SOLVERS)}; {integrator} takes steps of length step=")
        if step is None:
            raise InputError(f"{integrator} needs step=, the length of its steps in s, such as 0.001")
        return _positive("step", step, "s")
    if step is not None:
        raise InputError(f"step is for {' and '.join(SCHEMES)}; {integrator} chooses its steps by rtol and atol")
    relative = RTOL if rtol is None else _positive("rtol", rtol, "-")
    if not SMALLEST_RTOL <= relative < 1.0:
        raise InputError(f"rtol must be at least {SMALLEST_RTOL:g} and less than 1, got {relative:g}")
    return Accuracy(relative, relative * ATOL_BESIDE_RTOL if atol is None else _positive("atol", atol, "rad or m"))


def _positive(name: str, given: Any, unit: str) -> float:
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number [{unit}], got {brief(given)}") from None
    if not 0.0 < value < math.inf:
        raise InputError(f"{name} must be positive and finite [{unit}], got {value:g}")
    return value


def _times(samples: int | ArrayLike, until: float) -> Array:
    if isinstance(samples, (int, np.integer)) and not isinstance(samples, bool):
        if samples < 2:
            raise InputError(f"samples must be at least 2, the start and the end, got {samples}")
        return np.linspace(0.0, until, int(samples))
    try:
        times = np.array(samples, dtype=np.float64)
    except (TypeError, ValueError):
        times = np.empty(0)
    if times.ndim != 1 or len(times) < 2 or times[0] != 0.0 or not np.all(np.diff(times) > 0.0) or times[-1] > until:
        raise InputError(
            f"samples must be how many rows, or their times: increasing, from 0, not beyond until = {until:g}; "
            f"got {brief(samples)}"
        )
    return times


def _bounds(mechanism: Mechanism, limits: str) -> Bounds | None:
    if limits not in get_args(AtLimits):
        raise unknown("value of limits", limits, get_args(AtLimits))
    return None if limits == "ignore" else Bounds.of(mechanism)


def _initial(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, batch: tuple[int, ...]) -> State:
    """Position, velocity and work of the whole batch."""
    n, names = mechanism.n, mechanism.coordinates
    position, velocity = vector(q, n, "q", names), vector(v, n, "v", names)
    try:
        batch = np.broadcast_shapes(position.shape[:-1], velocity.shape[:-1], batch)
    except ValueError:
        raise InputError(
            f"the batch axes do not broadcast: {position.shape[:-1]} of q, {velocity.shape[:-1]} of v, "
            f"{batch} of what acts"
        ) from None
    position, velocity = (np.broadcast_to(x, (*batch, n)).copy() for x in (position, velocity))
    return position, velocity, np.zeros(batch)


def _note_outside(record: Record, bounds: Bounds, q: Array, limits: str) -> None:
    for *member, k in np.argwhere(bounds.outside(q)).tolist():
        index = tuple(member)
        event = bounds.event(0.0, k, float(q[index][k]), index)
        if limits == "stop":
            raise InputError(
                f"q of {event.coordinate} is {q[k]:g}, already beyond its {event.side} limit {event.bound:g}; "
                "limits='report' simulates all the same"
            )
        record.events.append(event)
