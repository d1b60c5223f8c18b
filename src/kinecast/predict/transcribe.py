"""From a task and a mesh to a program: variables with bounds and scales, rows by groups, data of the grid points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from kinecast.motion.basis import Array
from kinecast.motion.spline import cubic
from kinecast.predict.limits import COMPONENTS
from kinecast.predict.mesh import GAUSS_POINTS, Grid, Indices, Mesh, free_mesh, make_grid
from kinecast.predict.program import Program
from kinecast.predict.rows import Group, PathRows, StateRows, StateRowsMaker, TimeRows
from kinecast.predict.task import LoadInTime, Task
from kinecast.predict.terms import Terms

EXACT_COORDINATES = 8  # up to here exact second derivatives are cheap enough without counting
EXACT_OPERATIONS = 150_000  # beyond, compiling them takes longer than a solve without them
SHORTEST = 1e-4  # of the duration: free segments stay longer than this
HALF_OPEN = 1.0  # scale of a limit that is 0 or infinite on both sides, in its own unit


def terms_of(task: Task) -> Terms:
    """The quantities that a task needs at a grid point."""
    return Terms(
        structure=task.structure,
        loads_at=tuple(load.point for load in task.loads),
        objectives=tuple(task.objectives),
        limited_torques=bool(np.isfinite(task.tau_limits).any()),
        limited_loads=tuple((joint, component) for joint, component, _, _ in task.load_limits),
        requirements=tuple(requirement.function for requirement in task.requirements),
        costs=tuple(function for function, _ in task.costs),
        loads_in_time=any(len(load.t) > 1 for load in task.loads),
    )


def choose_hessian(task: Task, terms: Terms) -> tuple[str, str]:
    """(exact, gauss-newton or bfgs; why)."""
    if task.hessian != "auto":
        return task.hessian, "as asked for"
    if terms.structure.n <= EXACT_COORDINATES:
        return "exact", f"cheap for {terms.structure.n} coordinates, and fewer iterations than Gauss-Newton"
    operations = terms.second_operations()
    if operations <= EXACT_OPERATIONS:
        return "exact", f"{operations} operations a grid point, and fewer iterations than Gauss-Newton"
    squares = set(terms.objectives) - {"time"}
    why = f"cheaper: exact second derivatives would take {operations} operations a grid point"
    if squares:
        return "gauss-newton", why
    return ("bfgs", why) if task.settings.name == "ipopt" else ("exact", "Uno knows no BFGS")


def uniform_mesh(task: Task, segments: int | None = None) -> Mesh:
    """The mesh that a task asks for, or one with another number of segments."""
    count = task.segments if segments is None else segments
    return free_mesh(count, task.special_fractions) if task.free_knots else Mesh((count,))


def transcribe(
    task: Task,
    mesh: Mesh,
    terms: Terms,
    hessian: str,
    *,
    relaxed: Iterable[str] = (),
    check_points: int | None = None,
    near: tuple[Array, float] | None = None,
) -> Program:
    """The program. Groups named in `relaxed` are limits that the solver may widen at a price.

    With `near` = (ends of arcs [s], reach), every one but the last stays within so many segments of where it is there.
    """
    places = [mesh.place(fraction) for fraction in task.special_fractions]
    gauss_points = 0 if terms.only_time else GAUSS_POINTS  # a constant needs no quadrature
    grid = make_grid(mesh, check_points or task.check_points, terms.orders, places, gauss_points)
    rows = _Rows(task, grid, terms)
    time = rows.time_rows("duration" in set(relaxed))
    state, path = rows.state_rows(), rows.path_rows()
    names = [group.name for group in rows.groups]
    chosen = tuple(names.index(name) for name in relaxed)
    x_lower, x_upper, x_scale = _variables(task, grid, len(chosen), free_duration="duration" in set(relaxed))
    if near is not None:
        first = mesh.n_control * task.n
        inner = slice(first, first + len(mesh.arcs) - 1)
        ends, reach = near[0], near[1] * near[0][-1] / mesh.segments
        x_lower[inner] = np.maximum(x_lower[inner], ends[:-1] - reach)
        x_upper[inner] = np.minimum(x_upper[inner], ends[:-1] + reach)
    return Program(
        grid=grid,
        terms=terms,
        point_data=PointData(task, terms),
        weights=np.array([*task.objectives.values(), *(weight for _, weight in task.costs)], dtype=float),
        path=path,
        state=state,
        time=time,
        groups=tuple(rows.groups),
        x_lower=x_lower,
        x_upper=x_upper,
        x_scale=x_scale,
        f_scale=1.0,
        relaxed=chosen,
        hessian=hessian,
    )


def _scale(low: float, high: float) -> float:
    sizes = [abs(x) for x in (low, high) if np.isfinite(x) and x != 0.0]
    return max(sizes, default=HALF_OPEN)


@dataclass
class _Rows:
    """Makes the rows of a task on a grid, and the groups that they belong to."""

    task: Task
    grid: Grid
    terms: Terms
    groups: list[Group] = field(default_factory=list)

    def _group(self, kind: str, name: str, unit: str, scale: float, hard: bool = False) -> int:
        self.groups.append(Group(kind, name, unit, scale, hard))
        return len(self.groups) - 1

    def path_rows(self) -> PathRows:
        """Limits on torques, load components and users' conditions."""
        task = self.task
        found: list[tuple[Indices, int, float, float, int]] = []
        quantity = 0
        if self.terms.limited_torques:
            for k, name in enumerate(task.structure.coordinates):
                low, high = task.tau_limits[k]
                if np.isfinite(low) or np.isfinite(high):
                    group = self._group("tau", f"tau.{name}", task.units["tau"][k], _scale(low, high))
                    found.append((self._points(low, high), k, low, high, group))
            quantity = task.n
        for joint, component, low, high in task.load_limits:
            name = f"load.{task.structure.joints[joint].name}.{COMPONENTS[component]}"
            unit = "N m" if COMPONENTS[component].startswith("m") else "N"
            group = self._group("load", name, unit, _scale(low, high))
            found.append((self._points(low, high), quantity, low, high, group))
            quantity += 1
        bounds = iter(self.terms.user_bounds)
        for k, (requirement, count) in enumerate(zip(task.requirements, self.terms.user_counts, strict=True)):
            for i in range(count):
                low, high = next(bounds)
                own = requirement.at
                at = self._points(low, high) if own is None else np.array([self.grid.index(own)])
                name = (requirement.name or f"requirement {k + 1}") + (f", part {i + 1}" if count > 1 else "")
                found.append((at, quantity, low, high, self._group("require", name, "", HALF_OPEN)))
                quantity += 1
        pieces = [
            np.stack([where, *(np.full(len(where), x) for x in (q, low, high, g))]) for where, q, low, high, g in found
        ]
        table = np.concatenate(pieces, axis=1) if pieces else np.zeros((5, 0))
        point, which, group = (table[k].astype(np.intp) for k in (0, 1, 4))
        return PathRows(point, which, table[2], table[3], group)

    def _points(self, low: float, high: float) -> Indices:
        """Where a limit holds: at all check points; equations on knots, as a spline could not meet more of them."""
        if low < high:
            return np.arange(self.grid.n_checks)
        own = slice(self.grid.n_checks)
        last = self.grid.segment[own] == self.grid.mesh.segments - 1
        return np.flatnonzero((self.grid.fraction[own] == 0.0) | (last & (self.grid.fraction[own] == 1.0)))

    def state_rows(self) -> StateRows:
        """Limits on positions and velocities, boundary conditions, points on the way, periodicity."""
        task, grid, maker = self.task, self.grid, StateRowsMaker()
        for order, kind in enumerate("qv"):
            for k, name in enumerate(task.structure.coordinates):
                low, high = (task.q_limits, task.v_limits)[order][k]
                if np.isfinite(low) or np.isfinite(high):
                    group = self._group(kind, f"{kind}.{name}", task.units[kind][k], _scale(low, high))
                    for point in self._open_points(order, k, self._points(low, high)):
                        maker.add([(point, order, k, 1.0)], low, high, group)
        boundary = self._group("boundary", "the state asked for at the start, at the end or on the way", "", 1.0, True)
        for where, state in ((0, task.start), (grid.n_checks - 1, task.end)):
            for order, k in zip(*np.nonzero(np.isfinite(state)), strict=True):
                if not self._is_fixed(0 if where == 0 else 1, int(order), int(k)):
                    maker.add([(where, int(order), int(k), 1.0)], state[order, k], state[order, k], boundary)
        for fraction, state in task.via:
            for order, k in zip(*np.nonzero(np.isfinite(state)), strict=True):
                terms = [(grid.index(fraction), int(order), int(k), 1.0)]
                maker.add(terms, state[order, k], state[order, k], boundary)
        last = grid.n_checks - 1
        for k in task.periodic:
            for order in range(3):
                if not (self._is_fixed(0, order, k) and self._is_fixed(1, order, k)):
                    maker.add([(last, order, k, 1.0), (0, order, k, -1.0)], 0.0, 0.0, boundary)
        return maker.rows()

    def _is_fixed(self, end: int, order: int, k: int) -> bool:
        """Whether a boundary condition is met by fixing control points."""
        state = (self.task.start, self.task.end)[end]
        return (order == 0 and bool(np.isfinite(state[0, k]))) or (order == 1 and bool(self.task.rest_to_rest[end, k]))

    def _open_points(self, order: int, k: int, points: Indices) -> list[int]:
        """Those of the check points at which nothing fixes the position or velocity anyway."""
        fixed = [place for end, place in enumerate((0, self.grid.n_checks - 1)) if self._is_fixed(end, order, k)]
        return [point for point in points.tolist() if point not in fixed]

    def time_rows(self, relaxed_duration: bool) -> TimeRows:
        """Arcs have a length; tied ones end where they must. A relaxed duration is limited by a row."""
        mesh, n_arcs = self.grid.mesh, len(self.grid.mesh.arcs)
        low, high = self.task.duration
        shortest = SHORTEST * low * np.array(mesh.arcs)
        matrix = np.diff(np.eye(n_arcs), axis=0, prepend=0.0)[1:] if n_arcs > 1 else np.zeros((0, n_arcs))
        lower, upper = shortest[1:], np.full(n_arcs - 1, np.inf)
        group = [self._group("mesh", "the order of the knots", "s", 1.0, True)] * len(lower)
        for arc, fraction in mesh.tied:
            row = np.zeros(n_arcs)
            row[arc], row[-1] = 1.0, -fraction
            matrix, lower, upper = np.vstack([matrix, row]), np.append(lower, 0.0), np.append(upper, 0.0)
            group.append(group[0])
        if relaxed_duration:
            group.append(self._group("duration", "duration", "s", _scale(low, high)))
            matrix = np.vstack([matrix, np.eye(n_arcs)[-1]])
            lower, upper = np.append(lower, low), np.append(upper, high)
        return TimeRows(matrix, lower, upper, np.array(group, dtype=np.intp))


def _variables(task: Task, grid: Grid, relaxations: int, free_duration: bool) -> tuple[Array, Array, Array]:
    """(lower, upper, scale) of the variables; what is given at the ends fixes control points."""
    mesh, n = grid.mesh, task.n
    shape = (mesh.n_control, n)
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    for (first, second), state, rest in zip(((0, 1), (-1, -2)), (task.start, task.end), task.rest_to_rest, strict=True):
        given = np.isfinite(state[0])
        lower[first, given] = upper[first, given] = state[0, given]
        lower[second, rest] = upper[second, rest] = state[0, rest]
    given = np.array([task.start[0], task.end[0], *(state[0] for _, state in task.via)])
    known = np.where(np.isfinite(given), given, 0.0)
    spread = np.maximum(np.ptp(known, axis=0), 0.1)
    ends_low = np.full(len(mesh.arcs), SHORTEST * task.duration[0] * mesh.arcs[0])
    ends_high = np.full(len(mesh.arcs), task.duration[1])
    ends_low[-1] = task.duration[0]
    if free_duration:
        ends_low[-1], ends_high[:] = SHORTEST * task.duration[0], np.inf
    one = np.ones(relaxations)
    return (
        np.concatenate([lower.ravel(), ends_low, 0.0 * one]),
        np.concatenate([upper.ravel(), ends_high, np.inf * one]),
        np.concatenate([np.tile(spread, mesh.n_control), np.full(len(mesh.arcs), _time_scale(task)), one]),
    )


def _time_scale(task: Task) -> float:
    return float(np.sqrt(task.duration[0] * task.duration[1]))


class PointData:
    """What grid points are told: loads and reference as polynomials in time, valid around each point's own time."""

    def __init__(self, task: Task, terms: Terms) -> None:
        self._task, self._terms = task, terms
        self._constant = None if terms.timed else self._at(np.zeros(1))

    def __call__(self, t: Array) -> Array:
        """(G, n_data) at the times t (G,)."""
        return self._at(t) if self._constant is None else self._constant  # one row stands for all points

    def _at(self, t: Array) -> Array:
        parts = []
        if self._task.loads:
            values, slopes = (np.stack(x, axis=1) for x in zip(*(load_at(x, t) for x in self._task.loads), strict=True))
            parts.append((values - slopes * t[:, None, None]).reshape(len(t), -1))
            if self._terms.loads_in_time:
                parts.append(slopes.reshape(len(t), -1))
        if self._task.reference is not None:
            times, q = self._task.reference
            value, slope, bend = cubic(times, q, np.clip(t, times[0], times[-1]))
            held = ((t < times[0]) | (t > times[-1]))[:, None]
            slope, bend = np.where(held, 0.0, slope), np.where(held, 0.0, bend)
            t = t[:, None]
            parts += [value - slope * t + 0.5 * bend * t**2, slope - bend * t, bend]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(t), self._terms.n_data))


def load_at(load: LoadInTime, t: Array) -> tuple[Array, Array]:
    """Wrench (G, 6) at the times t and its slope: linear between samples, constant outside them."""
    if len(load.t) == 1:
        return np.broadcast_to(load.wrench[0], (len(t), 6)), np.zeros((len(t), 6))
    k = np.clip(np.searchsorted(load.t, t, side="right") - 1, 0, len(load.t) - 2)
    slope = (load.wrench[k + 1] - load.wrench[k]) / (load.t[k + 1] - load.t[k])[:, None]
    held = ((t < load.t[0]) | (t > load.t[-1]))[:, None]
    inside = np.clip(t, load.t[0], load.t[-1])
    return load.wrench[k] + slope * (inside - load.t[k])[:, None], np.where(held, 0.0, slope)
