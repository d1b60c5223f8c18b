"""Where the solver starts: a line at the best duration that a line has, a slow line, another motion, random bends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kinecast.motion.basis import Array
from kinecast.motion.bspline import BSpline
from kinecast.motion.profiles import quintic
from kinecast.predict.mesh import DEGREE, Mesh
from kinecast.predict.program import Program
from kinecast.predict.task import Task

DURATIONS = 25  # tried between the bounds, evenly in ratio
LEAST_WAY = 1.0  # rad or m: joints that move less than this are bent as if they did
BEND = 0.5  # of the way between the ends: size of random bends
SLOWER = 3.5  # times the line's own duration: the second start
STRETCH = 2.0  # durations of random starts lie within this ratio of the line's


def line(task: Task, program: Program, duration: float | None = None) -> Array:
    """Straight from state to state, timed by a quintic; at the cheapest duration of those that break limits least."""
    if duration is not None:
        return _assemble(program, _line_control(task, program.grid.mesh, duration), duration)
    low, high = task.duration
    best: tuple[tuple[float, float], Array] | None = None
    for duration in np.unique(np.geomspace(low, high, DURATIONS)):
        x = _assemble(program, _line_control(task, program.grid.mesh, duration), duration)
        rank = violation(program, x), program.objective(x)
        if best is None or rank < best[0]:
            best = rank, x
    assert best is not None
    return best[1]


def quasi_static(task: Task, program: Program) -> Array:
    """The line in the longest time allowed: joints hold the posture and little else."""
    duration = task.duration[1]
    return _assemble(program, _line_control(task, program.grid.mesh, duration), duration)


def from_motion(program: Program, spline: BSpline, ends: Array | None = None) -> Array:
    """Another motion on this program's mesh; `ends` of arcs, if not evenly spread over its duration [s]."""
    mesh = program.grid.mesh
    times = spline.duration * mesh.even_ends if ends is None else ends
    knots = mesh.knots(times)
    breaks = np.unique(knots)
    inside = np.linspace(0.0, 1.0, 8, endpoint=False) + 1.0 / 16.0
    t = np.unique(np.concatenate([(breaks[:-1, None] + np.diff(breaks)[:, None] * inside).ravel(), breaks[[0, -1]]]))
    fitted = BSpline.fit(t, spline(t), knots)
    return np.concatenate([fitted.control.ravel(), times, np.zeros(len(program.relaxed))])


def others(task: Task, program: Program, x: Array, count: int) -> list[Array]:
    """Starts beside the line x: a slower line if the duration is free, and `count` bent ones, the same every time."""
    duration = float(program.ends(x)[-1])
    slower = min(SLOWER * duration, task.duration[1])
    rng = np.random.default_rng(0)
    slow = [line(task, program, slower)] if slower > duration else []
    return slow + [bent(program, x, rng) for _ in range(count)]


def bent(program: Program, x: Array, rng: np.random.Generator) -> Array:
    """A start like x, with smooth random bends of every coordinate and another duration."""
    control, ends = program.control(x).copy(), program.ends(x)
    s = np.linspace(0.0, 1.0, len(control))[:, None]
    way = np.maximum(np.ptp(control, axis=0), LEAST_WAY)
    for harmonic in (1, 2, 3):
        control += rng.normal(size=control.shape[1]) * (BEND / harmonic) * way * np.sin(harmonic * np.pi * s)
    ends = ends * STRETCH ** rng.uniform(-1.0, 1.0)
    ends = ends * np.clip(ends[-1], *_duration_bounds(program)) / ends[-1]
    return np.concatenate([control.ravel(), ends, np.zeros(len(program.relaxed))])


def violation(program: Program, x: Array) -> float:
    """The largest violation of a row, relative to the scale of its group."""
    g = program.g(x)
    low, high = program.row_bounds()
    scaled = np.maximum(np.maximum(low - g, g - high), 0.0) / program.rows_as_seen(program.row_scale)
    return float(np.where(scaled > 1e-9, scaled, 0.0).max(initial=0.0))


def _duration_bounds(program: Program) -> tuple[float, float]:
    at = program.n_motion - 1
    return float(program.x_lower[at]), float(program.x_upper[at])


def _assemble(program: Program, control: Array, duration: float) -> Array:
    mesh = program.grid.mesh
    x = np.concatenate([control.ravel(), duration * mesh.even_ends, np.zeros(len(program.relaxed))])
    fixed = program.x_lower == program.x_upper
    return np.where(fixed, program.x_lower, x)


def _line_control(task: Task, mesh: Mesh, duration: float) -> Array:
    """Control points of a polygon through the states asked for, at the averages of the knots around each."""
    stations = [(0.0, task.start[0]), *((fraction, state[0]) for fraction, state in task.via), (1.0, task.end[0])]
    knots = mesh.knots(mesh.even_ends)
    abscissae = np.array([knots[j + 1 : j + 1 + DEGREE].mean() for j in range(mesh.n_control)])
    control = np.empty((mesh.n_control, task.n))
    for k in range(task.n):
        known = [(s, q[k]) for s, q in stations if np.isfinite(q[k])]
        known = known or [(0.0, _middle(task, k))]
        control[:, k] = _polygon(abscissae, known)
    for j, neighbour, state, sign in ((1, 0, task.start, 1.0), (-2, -1, task.end, -1.0)):
        moving = np.isfinite(state[1]) & (state[1] != 0.0)
        step = duration * (knots[DEGREE + 1] if sign > 0 else 1.0 - knots[-DEGREE - 2]) / DEGREE
        control[j] = np.where(moving, control[neighbour] + sign * step * np.nan_to_num(state[1]), control[j])
    return control


def _polygon(s: Array, known: list[tuple[float, float]]) -> Array:
    """From value to value, each way timed by a quintic."""
    values = np.full(len(s), known[0][1])
    for (s0, q0), (s1, q1) in pairwise(known):
        on_way = s >= s0
        values[on_way] = quintic(s[on_way] - s0, [q0], [q1], s1 - s0).q[:, 0]
    return values


def _middle(task: Task, k: int) -> float:
    low, high = np.clip(task.q_limits[k], -1e6, 1e6)
    return float(np.clip(0.0, low, high))
