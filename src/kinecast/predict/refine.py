"""Finer meshes until nothing changes: more segments, and free double knots where limits begin or cease to bind.

A time-optimal motion drives its joints at their limits and switches. On a uniform mesh the switches fall inside
segments and cost time. Where a limit becomes active or inactive, an arc ends: its time is a variable, and the knot is
double, so that the acceleration may jump. Inside the arcs the segments are equally long.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict import guess
from kinecast.predict.excess import BETWEEN, excesses
from kinecast.predict.mesh import Mesh
from kinecast.predict.program import Program
from kinecast.predict.solve import Answer, Workshop, better
from kinecast.predict.solvers import Status

ROUNDS = 6
ITERATIONS = 200  # of one solve
GROWTH = 1.5  # of the number of segments, a round
MOST_SEGMENTS = 400
MOST_CHECKS = 32
REACHES = (0.02, 0.2)  # segments by which an end of an arc may move: held first, then freed a little
ACTIVE = 0.01  # of its range: a torque this near its limit counts as being on it
SHORTEST_ARC = 0.25  # of an even segment: shorter runs on a limit are ripples
RAMP = 2.0  # even segments: runs off the limits that are no longer are ramps between two of them


BINDING = ("tau", "v", "load", "q")  # kinds of limits whose beginning and end make arcs


@dataclass(frozen=True)
class Switch:
    """A quantity leaves one limit or reaches another: -1 lower, 0 none, 1 upper; `fraction` is of the duration."""

    name: str  # "tau.shoulder"
    fraction: float
    before: int
    after: int


def refine(workshop: Workshop, answer: Answer, tolerance: float) -> tuple[Answer, Status]:
    """Solve again on finer meshes until violation between points and change of J are below `tolerance` (both relative).

    The status is that of the answer, or "acceptable" if the tolerance was not reached.
    """
    checks, segments, change = workshop.task.check_points, workshop.task.segments, np.inf
    for number in range(1, ROUNDS + 1):
        if change >= tolerance:
            segments = min(int(np.ceil(GROWTH * segments)), MOST_SEGMENTS)
        mesh, ends = _mesh(workshop, answer, segments)
        finer = _solve_near(workshop, mesh, checks, answer, ends)
        if not finer.solved:
            workshop.say(f"refinement {number}: {finer.solution.status}; the mesh before it is kept")
            return answer, "acceptable"
        change = abs(finer.objective - answer.objective) / max(abs(finer.objective), 1e-300)
        beyond = between(workshop, finer)
        workshop.say(
            f"refinement {number}: {mesh.segments} segments in {len(mesh.arcs)} arcs, {checks} checks a segment: "
            f"J changes by {change:.2e}, limits are exceeded between points by {beyond:.2e} of their size"
        )
        answer = finer
        if change < tolerance and beyond < tolerance:
            return answer, answer.solution.status
        if beyond >= tolerance:
            checks = min(2 * checks, MOST_CHECKS)
    workshop.say(f"the tolerance {tolerance:g} was not reached in {ROUNDS} refinements")
    return answer, "acceptable"


def _solve_near(workshop: Workshop, mesh: Mesh, checks: int, answer: Answer, ends: Array) -> Answer:
    """Solve with the ends of arcs held where the switches were seen, then freed.

    The motion so far has ramps there; freed at once, a double knot would settle at one end of a ramp.
    """
    known = len(mesh.arcs) == 1 or len(answer.program.grid.mesh.arcs) == len(mesh.arcs)
    reaches = list(REACHES[::-1] if known else REACHES)  # known ends are held only if freeing them leads nowhere
    best: Answer | None = None
    for reach in reaches:
        program = workshop.program(mesh, checks, near=(ends, reach))
        found = workshop.solve(program, guess.from_motion(program, answer.spline, ends), warm=True, most=ITERATIONS)
        best = found if best is None else better(best, found)
        if found.solved == known or workshop.stop.due():
            break
        if found.solved:
            answer, ends = found, program.ends(found.solution.x)
    assert best is not None
    return best


def between(workshop: Workshop, answer: Answer) -> float:
    """The largest violation between the grid points, relative to the limit."""
    found = excesses(dense_program(workshop, answer), answer.solution.x)
    return max((excess.relative for excess in found), default=0.0)


def dense_program(workshop: Workshop, answer: Answer) -> Program:
    """The answer's program with so many points that they stand for all times."""
    return workshop.program(answer.program.grid.mesh, BETWEEN)


def switches(program: Program, x: Array) -> list[Switch]:
    """Where limited quantities reach or leave their limits, from a program with many points."""
    rows, (lower, upper) = program.rows(x), program.plain_bounds()
    times, duration = program.plain_times(x), program.ends(x)[-1]
    found = []
    for k, group in enumerate(program.groups):
        own = np.flatnonzero(program.row_group == k)
        if group.kind not in BINDING or not (lower[own] < upper[own]).any():  # equations bind all the way
            continue
        own = own[np.argsort(times[own], kind="stable")]
        low, high, values = lower[own], upper[own], rows[own]
        span = np.minimum(high - low, 4.0 * group.scale)  # one side may be open
        up = np.where(np.isfinite(high), 1.0 - 2.0 * (high - values) / span, -np.inf)
        down = np.where(np.isfinite(low), 2.0 * (values - low) / span - 1.0, np.inf)
        level = np.where(np.isfinite(low) & (values - low < high - values), down, up)
        found += _changes(group.name, times[own] / duration, level, program.grid.mesh.segments)
    return sorted(found, key=lambda switch: switch.fraction)


def _changes(name: str, s: Array, level: Array, segments: int) -> list[Switch]:
    """Runs on one limit; a short run between two others is the ramp from one to the other, or a ripple.

    `level` goes from -1, the lower limit, to 1, the upper one. A ramp between limits is cut where it crosses the
    middle.
    """
    state = np.where(level > 1.0 - 2.0 * ACTIVE, 1, np.where(level < 2.0 * ACTIVE - 1.0, -1, 0))
    edges = np.flatnonzero(np.diff(state)) + 1
    runs = [(b, e - 1, int(state[b])) for b, e in zip([0, *edges], [*edges, len(s)], strict=True)]
    kept: list[tuple[int, int, int]] = []
    for k, (begin, end, which) in enumerate(runs):
        inner = 0 < k < len(runs) - 1
        if inner and (s[end] - s[begin]) * segments < (RAMP if which == 0 else SHORTEST_ARC):
            continue
        if kept and kept[-1][2] == which:
            kept[-1] = kept[-1][0], end, which
        else:
            kept.append((begin, end, which))
    found = []
    for (_, last, before), (first, _, after) in pairwise(kept):
        ramp = slice(last, first + 1)
        middle = 0.5 * (s[last] + s[first])
        if before * after < 0:
            crossing = last + int(np.argmax(np.sign(level[ramp]) == np.sign(after)))
            middle = 0.5 * (s[crossing - 1] + s[crossing])
        found.append(Switch(name, float(middle), before, after))
    return found


def _mesh(workshop: Workshop, answer: Answer, segments: int) -> tuple[Mesh, Array]:
    """Arcs between the switches that the answer shows, and the ends [s] that they start from."""
    duration = answer.spline.duration
    if "jerk" in workshop.task.objectives:  # at a double knot it is infinite
        return Mesh((segments,)), np.array([duration])
    program = dense_program(workshop, answer)
    wanted = workshop.task.special_fractions
    fractions = list(wanted)
    apart = SHORTEST_ARC / segments
    for switch in switches(program, answer.solution.x):
        at = switch.fraction
        if apart < at < 1.0 - apart and all(abs(at - other) > apart for other in fractions):
            fractions.append(at)
    fractions = sorted(fractions)
    if not fractions:
        return Mesh((segments,)), np.array([duration])
    ends = np.array([*fractions, 1.0])
    arcs = np.maximum(1, np.round(np.diff(ends, prepend=0.0) * segments)).astype(int)
    tied = tuple((fractions.index(fraction), fraction) for fraction in wanted)
    return Mesh(tuple(arcs.tolist()), 2, tied), ends * duration
