"""A problem as numbers: what a problem file or a `Prediction` asks of one mechanism, checked against it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinecast.errors import InputError
from kinecast.files import Source
from kinecast.mechanism import Structure
from kinecast.motion.basis import Array
from kinecast.predict.limits import bounds, load_bounds, per_joint
from kinecast.predict.mesh import DEGREE, free_mesh
from kinecast.predict.schema import AppliedLoad, Boundary, Data, ProblemFile
from kinecast.predict.solvers import Settings
from kinecast.predict.terms import OBJECTIVES, UserFunction
from kinecast.schema import check

UNITS = {"q": ("rad", "m"), "v": ("rad/s", "m/s"), "a": ("rad/s2", "m/s2"), "tau": ("N m", "N")}
# A start that stands on its limit is inside; one that is beyond it by more than a rounding is not.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Requirement:
    """A user's condition; `at` is a fraction of the duration, None for all the way."""

    function: UserFunction
    at: float | None = None
    name: str = ""


@dataclass(frozen=True, eq=False)
class LoadInTime:
    """A load at a point: `wrench` (samples, 6) (moment; force) at the times `t` (samples,), one sample if constant."""

    point: str
    t: Array
    wrench: Array


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that a prediction needs to know. Arrays are in coordinate order; NaN means free, infinity no limit."""

    structure: Structure
    segments: int
    check_points: int
    free_knots: bool
    duration: tuple[float, float]
    start: Array  # (3, n): q, v, a
    end: Array
    via: tuple[tuple[float, Array], ...]  # (fraction, (2, n): q, v)
    periodic: tuple[int, ...]
    q_limits: Array  # (n, 2)
    v_limits: Array
    tau_limits: Array
    load_limits: tuple[tuple[int, int, float, float], ...]
    loads: tuple[LoadInTime, ...]
    objectives: dict[str, float]
    reference: tuple[Array, Array] | None  # times, positions
    requirements: tuple[Requirement, ...]
    costs: tuple[tuple[UserFunction, float], ...]
    refine: float | None
    guess: str
    settings: Settings
    hessian: str
    starts: int
    seed: int

    @property
    def n(self) -> int:
        """Coordinates."""
        return self.structure.n

    @cached_property
    def units(self) -> dict[str, list[str]]:
        """Units of q, v, a and tau, a coordinate each."""
        turns = [joint.turns for joint in self.structure.movable]
        return {key: [words[0] if turn else words[1] for turn in turns] for key, words in UNITS.items()}

    def replace(self, **changes: Any) -> Task:
        """A copy with some fields changed."""
        return replace(self, **changes)

    @cached_property
    def special_fractions(self) -> list[float]:
        """Fractions of the duration, inside it, at which something is asked for."""
        wanted = [fraction for fraction, _ in self.via]
        wanted += [r.at for r in self.requirements if r.at is not None]
        return sorted({fraction for fraction in wanted if 0.0 < fraction < 1.0})

    @cached_property
    def rest_to_rest(self) -> Array:
        """(2, n): whether position and velocity are given at the start, and at the end, with the velocity zero."""
        return np.array([np.isfinite(state[0]) & (state[1] == 0.0) for state in (self.start, self.end)])


def make_task(
    data: Data,
    structure: Structure,
    source: Source,
    requirements: tuple[Requirement, ...] = (),
    costs: tuple[tuple[UserFunction, float], ...] = (),
    reference: tuple[Array, Array] | None = None,
) -> Task:
    """The task of a problem file's data, or the one-line error that says what is wrong with it and where."""
    check(ProblemFile, data, source)
    problem = ProblemFile.model_validate(data)
    structure.require_open("a prediction")
    names, at = structure.coordinates, _Places(source)
    with at("gravity"):
        if problem.gravity is not None:
            structure = structure.with_gravity(problem.gravity)
    duration = _duration(problem, source)
    limits = _limits(problem, structure, at)
    with at("limits.load"):
        load_limits = load_bounds(problem.limits.load, [joint.name for joint in structure.joints], "load")
    start, end = (_boundary(getattr(problem, key), names, key, at) for key in ("start", "end"))
    via: list[tuple[float, Array]] = []
    for k, entry in enumerate(problem.via):
        if any(entry.at == other for other, _ in via):
            raise source.error(f"via[{k}].at", f"{entry.at:g} is there twice; one entry holds both q and v")
        states = []
        for kind, value in (("q", entry.q), ("v", entry.v)):
            with at(f"via[{k}].{kind}"):
                states.append(per_joint(value, names, kind))
        via.append((entry.at, np.array(states)))
    for where, state in [("start", start), ("end", end), *((f"via[{k}]", s) for k, (_, s) in enumerate(via))]:
        _inside(where, state, limits, structure, source)
    _enough_segments(problem.segments, [start, end, *(state for _, state in via)], structure, source)
    objectives = _objectives(problem, duration, bool(costs), source)
    if "tracking" in objectives and reference is None:
        raise source.error("minimize.tracking", "needs a motion to track: give its file under the key reference")
    if reference is not None and "tracking" not in objectives:
        raise source.error("reference", "is not used: give minimize.tracking a weight above 0, or leave reference out")
    solver = problem.solver
    if solver.name == "uno" and solver.hessian == "bfgs":
        raise source.error("solver.hessian", "must be auto, exact or gauss-newton for uno; bfgs is for ipopt")
    task = Task(
        structure=structure,
        segments=problem.segments,
        check_points=problem.check_points,
        free_knots=problem.knots == "free",
        duration=duration,
        start=start,
        end=end,
        via=tuple(sorted(via, key=lambda entry: entry[0])),
        periodic=_periodic(problem, names, start, end, at),
        q_limits=limits["q"],
        v_limits=limits["v"],
        tau_limits=limits["tau"],
        load_limits=tuple(load_limits),
        loads=tuple(_load(load, structure, f"loads[{k}]", at) for k, load in enumerate(problem.loads)),
        objectives=objectives,
        reference=reference,
        requirements=requirements,
        costs=costs,
        refine=problem.refine,
        guess=problem.guess,
        settings=Settings(solver.name, solver.tolerance, solver.max_iterations, solver.time_limit),
        hessian=solver.hessian,
        starts=solver.starts,
        seed=problem.seed,
    )
    if task.free_knots:
        with at("segments"):
            free_mesh(task.segments, task.special_fractions)
    return task


class _Places:
    """Errors raised under ``with at(path):`` are about that part of the file."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @contextmanager
    def __call__(self, path: str) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            raise self._source.error(path, str(error), like=error) from None


def _duration(problem: ProblemFile, source: Source) -> tuple[float, float]:
    if isinstance(problem.duration, float):
        return problem.duration, problem.duration
    low, high = problem.duration.min, problem.duration.max
    if low > high:
        raise source.error("duration", f"min {low:g} is above max {high:g}; they must be in order")
    return low, high


def _limits(problem: ProblemFile, structure: Structure, at: _Places) -> dict[str, Array]:
    """Limits (n, 2) of q, v and tau: those of the file, and the mechanism's own where the file has no such key."""
    found: dict[str, Array] = {}
    for kind in ("q", "v", "tau"):
        if kind in problem.limits.model_fields_set:
            with at(f"limits.{kind}"):
                found[kind] = bounds(getattr(problem.limits, kind), structure.coordinates, kind)
        else:
            own = [getattr(joint.limits, kind) for joint in structure.movable]
            found[kind] = np.array([(-np.inf, np.inf) if limit is None else limit for limit in own])
    return found


def _boundary(entry: Boundary, names: tuple[str, ...], key: str, at: _Places) -> Array:
    states = []
    for kind in ("q", "v", "a"):
        with at(f"{key}.{kind}"):
            states.append(per_joint(getattr(entry, kind), names, kind))
    return np.array(states)


def _inside(where: str, state: Array, limits: dict[str, Array], structure: Structure, source: Source) -> None:
    for row, kind in enumerate(("q", "v")):
        for k, name in enumerate(structure.coordinates):
            low, high = limits[kind][k]
            value = state[row][k]
            if value < low - _ROUNDING or value > high + _ROUNDING:
                unit = UNITS[kind][0 if structure.movable[k].turns else 1]
                raise source.error(
                    f"{where}.{kind}",
                    f"{kind}.{name} = {value:g} {unit} is outside its limits [{low:g}, {high:g}]",
                )


def _enough_segments(segments: int, states: list[Array], structure: Structure, source: Source) -> None:
    """A coordinate has segments + 3 control points: no more conditions can be met than that."""
    asked = np.sum([np.isfinite(state).sum(axis=0) for state in states], axis=0)
    k = int(np.argmax(asked))
    if asked[k] > segments + DEGREE:
        name = structure.coordinates[k]
        raise source.error(
            "segments",
            f"must be {asked[k] - DEGREE} or more to meet the {asked[k]} conditions on {name}, got {segments}",
        )


def _objectives(problem: ProblemFile, duration: tuple[float, float], costs: bool, source: Source) -> dict[str, float]:
    """Weights above zero; without any the time, or the effort if the time is fixed."""
    if problem.minimize is None and not costs:
        return {"effort": 1.0} if duration[0] == duration[1] else {"time": 1.0}
    given = {} if problem.minimize is None else problem.minimize.model_dump()
    weights = {name: given[name] for name in OBJECTIVES if given.get(name, 0.0) > 0.0}
    if not weights and not costs:
        raise source.error("minimize", f"must give at least one of {', '.join(OBJECTIVES)} a weight above 0")
    return weights


def _periodic(
    problem: ProblemFile, names: tuple[str, ...], start: Array, end: Array, at: _Places
) -> tuple[int, ...]:
    """Coordinates that end as they began, which nothing else may contradict."""
    chosen = problem.periodic if isinstance(problem.periodic, list) else list(names) if problem.periodic else []
    with at("periodic"):
        per_joint(dict.fromkeys(chosen, 0.0), names, "periodic")
        for kind, first, last in zip("qva", start, end, strict=True):
            for name in chosen:
                one, other = first[names.index(name)], last[names.index(name)]
                if abs(one - other) > _ROUNDING:  # never of what is free
                    raise InputError(f"{kind}.{name} starts as {one:g} and ends as {other:g}; leave one of them free")
    return tuple(names.index(name) for name in chosen)


def _load(load: AppliedLoad, structure: Structure, path: str, at: _Places) -> LoadInTime:
    with at(f"{path}.point"):
        structure.point(load.point)
    times = np.zeros(1) if load.t is None else np.array(load.t)
    with at(f"{path}.t"):
        if np.any(np.diff(times) <= 0.0):
            raise InputError(f"times must increase, got {times.tolist()}")
    parts = []
    for kind in ("moment", "force"):
        with at(f"{path}.{kind}"):
            value = np.array(getattr(load, kind), dtype=float)
            sampled = value.ndim == 2
            if sampled and (load.t is None or len(value) != len(times)):
                want = "three numbers" if load.t is None else f"{len(times)} rows, one for each time of t"
                raise InputError(f"must be {want}, got {len(value)} rows")
            parts.append(np.broadcast_to(value, (len(times), 3)))
    return LoadInTime(load.point, times, np.concatenate(parts, axis=1))
