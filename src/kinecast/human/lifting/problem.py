"""The problem of a lift: variables, rows, bounds, objective; and the problem of a single posture that holds the box.

The motion is a clamped B-spline of the fraction u = t / T of the duration, whose first and last three control points
are equal: velocity and acceleration vanish at both ends. The duration T is one more variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinecast.human.contact import body_weight
from kinecast.human.ergonomics.strength import leg_strength, sex_of
from kinecast.human.lifting.instant import SCALARS, Instant, compile_instant, parameter_vector
from kinecast.human.lifting.model import PLACES, radii, spots
from kinecast.human.lifting.task import LiftTask, Place, lifting_limits
from kinecast.human.recursion import measures
from kinecast.human.skeleton import Mirror, body_mass, stature, zero_position
from kinecast.human.transcription import Rows, Transcription, Variables
from kinecast.mechanism import Limits, Structure
from kinecast.mechanism.checks import Array
from kinecast.motion.bspline import BSpline, uniform_knots

AT_REST = 3  # control points at each end that are equal: velocity and acceleration vanish
PLACED = 5e-4  # how near the box is to where it starts and ends [m]
LEAST_LIFT = 0.2  # of the weight of person and load that stays on the feet
_FAR = 100.0  # where a board is that there is not [m]
# Weights that make a posture unique: of its squared angles, beside its cost or its distance from where it should be.
_UNIQUE, _UNIQUE_REACH = 1e-4, 1e-6


@dataclass(frozen=True)
class Lifter:
    """A person as a lift needs one: structure with the strength while lifting, the compiled instant, the measures."""

    structure: Structure
    instant: Instant
    measures: Array

    @classmethod
    def of(cls, person: Structure, task: LiftTask) -> Lifter:
        """Compiles when this set of coordinates is new."""
        structure = strengthened(person, task.back_strength)
        layout, values = measures(structure, PLACES)
        return cls(structure, compile_instant(layout, bool(task.boards)), values)


def strengthened(person: Structure, back: float) -> Structure:
    """The person with this factor on the strength of back extension."""
    joints = []
    for joint in person.joints:
        limits = joint.limits
        if joint.name.startswith("spine") and joint.name.endswith(".flexion") and limits.tau:
            joint = replace(joint, limits=Limits(limits.q, limits.v, (back * limits.tau[0], limits.tau[1])))
        joints.append(joint)
    return person.replace(joints=tuple(joints))


class Reduced:
    """A problem in fewer variables, x = matrix y + constant."""

    def __init__(self, problem: Transcription, matrix: Array, constant: Array, lower: Array, upper: Array) -> None:
        self.problem, self.matrix, self.constant = problem, matrix, constant
        self.lower, self.upper, self.low, self.high = lower, upper, problem.low, problem.high

    def values(self, y: Array) -> tuple[float, Array]:
        """Objective and rows."""
        return self.problem.values(self.matrix @ y + self.constant)

    def derivatives(self, y: Array, multipliers: Array, objective: float) -> tuple[Array, Array, Array]:
        """Gradient, Jacobian transposed, Hessian by y."""
        by_x = self.problem.derivatives(self.matrix @ y + self.constant, multipliers, objective)
        gradient, jacobian, hessian = by_x
        return self.matrix.T @ gradient, self.matrix.T @ jacobian, self.matrix.T @ hessian @ self.matrix


@dataclass(frozen=True)
class LiftProblem:
    """Everything about one lift that does not change while it is solved; variables: free control points, then T."""

    structure: Structure
    task: LiftTask
    instant: Instant
    variables: Variables
    values: Mapping[str, Any]
    fastest: Reduced  # the same lift in the shortest time
    lift: Reduced

    @property
    def names(self) -> tuple[str, ...]:
        """Of the rows, for people."""
        return self.lift.problem.rows.names

    def spline(self, y: Array) -> BSpline:
        """The free coordinates by the fraction of the duration."""
        return self.variables.spline(self.lift.matrix @ y + self.lift.constant)


def build(lifter: Lifter, task: LiftTask) -> LiftProblem:
    """The problem of one person's lift."""
    instant, count = lifter.instant, task.control_points
    n, free = instant.n, count - 2 * (AT_REST - 1)
    own = np.zeros((count, free))
    own[:AT_REST, 0] = own[-AT_REST:, -1] = 1.0
    own[AT_REST:-AT_REST, 1:-1] = np.eye(free - 2)
    knots = uniform_knots(count - task.degree, 1.0, task.degree)
    fractions = np.linspace(0.0, 1.0, task.instants)
    variables = _variables(knots, task.degree, own, n, task.instants)
    values = parameters(lifter, task)
    rows = _rows(lifter, task, task.instants)
    low, high, _, _ = coordinate_limits(lifter)
    lower = np.concatenate([np.tile(low, free), [task.duration[0]]])
    upper = np.concatenate([np.tile(high, free), [task.duration[1]]])
    weights = np.full(task.instants, 1.0 / (task.instants - 1))
    weights[[0, -1]] *= 0.5
    weights[[0, -1]] += task.hold
    smooth = _smoothness(variables, task)
    own_time = np.zeros(variables.size)
    own_time[free * n] = task.time
    matrix = np.zeros((variables.size, free * n + 1))
    matrix[: free * n, : free * n] = np.eye(free * n)
    matrix[free * n :, -1] = 1.0
    made = [
        Reduced(
            _transcription(instant, variables, fractions, values, rows, ("cost", w), (smooth, own_time)),
            matrix,
            np.zeros(variables.size),
            lower,
            upper,
        )
        for w in (0 * weights, weights)
    ]
    return LiftProblem(lifter.structure, task, instant, variables, values, *made)


def posture_problem(
    lifter: Lifter, task: LiftTask, place: Place, *, placed: bool = True, able: bool = True
) -> Reduced:
    """One posture at rest with the hands at a place.

    Not `placed`: as near to it as possible; not `able`: whatever the strength and balance that it takes.
    """
    instant = lifter.instant
    variables = _variables(uniform_knots(1, 1.0, 1), 1, np.ones((2, 1)), instant.n, 1)
    values = parameters(lifter, task) | {"target_height": place.height, "target_distance": place.distance}
    rows = _rows(lifter, task, 1, at=place if placed else None, able=able)
    low, high, _, _ = coordinate_limits(lifter)
    constant = np.zeros(instant.n + 1)
    constant[-1] = 1.0
    output, unique = ("cost", _UNIQUE) if placed else ("miss", _UNIQUE_REACH)
    quadratic = (unique * np.eye(variables.size), np.zeros(variables.size))
    made = _transcription(instant, variables, np.zeros(1), values, rows, (output, np.ones(1)), quadratic)
    return Reduced(made, np.eye(instant.n + 1, instant.n), constant, low, high)


def _variables(knots: Array, degree: int, own: Array, n: int, instants: int) -> Variables:
    """Control points that are the free ones or copies of them; each instant has the duration as a further variable."""
    itself = Mirror(tuple(range(n)), (1.0,) * n)
    return Variables(knots, degree, own, np.zeros_like(own), np.zeros((len(own), n)), itself, np.arange(instants))


def _transcription(
    instant: Instant,
    variables: Variables,
    fractions: Array,
    values: Mapping[str, Any],
    rows: Rows,
    weights: tuple[str, Array],
    quadratic: tuple[Array, Array],
) -> Transcription:
    every = np.tile(parameter_vector(instant, values), (len(fractions), 1))
    unbounded = np.full(variables.size, np.inf)
    return Transcription(
        instant.node, variables, fractions, every, rows, (-unbounded, unbounded), weights, quadratic
    )


def parameters(lifter: Lifter, task: LiftTask) -> dict[str, Any]:
    """What an instant needs to know of the person and the task."""
    structure, box, chosen = lifter.structure, task.box, lifter.instant.plan
    gravity = float(np.linalg.norm(structure.gravity))
    strength = np.array([structure.movable[j].limits.tau for j in chosen.working], dtype=float)
    scale = 1.0 / np.abs(strength).max(axis=1)
    down, up = 1.0 / (strength * scale[:, None]).T ** 2
    heel, toe = _sole(structure)
    _, _, neutral, ease = coordinate_limits(lifter)
    trunk = lifting_limits()["trunk.flexion"]
    found = dict.fromkeys(SCALARS, 0.0) | {
        "measures": lifter.measures,
        "weight": body_weight(structure) + task.mass * gravity,
        "load": task.mass,
        "gravity": gravity,
        "box_depth": 0.5 * box.depth,
        "box_height": 0.5 * box.height,
        "margin": task.clearance,
        "centre": 0.5 * (heel + toe),
        "reach": 0.5 * (toe - heel),
        "ball": zero_position(structure, "ball_r")[2],
        "effort": task.effort,
        "balance": task.balance,
        "posture": task.posture,
        "smoothness": task.smoothness,
        "trunk_neutral": trunk.neutral,
        "trunk_ease": trunk.ease,
        "radii": radii(structure),
        "neutral": neutral,
        "ease": ease,
        "scale": scale,
        "effort_mean": (down + up) / 2,
        "effort_difference": (up - down) / 2,
        "emphasis": [task.emphasis_of(structure.coordinates[j]) for j in chosen.working],
    }
    for name, front, place, other in (
        ("shelf", task.shelf, task.to, task.from_),
        ("table", task.table, task.from_, task.to),
    ):
        edge, middle = task.board(place, front) or (_FAR, 0.0)
        found[f"{name}_front"], found[f"{name}_middle"] = edge, middle
        found[f"{name}_open"] = float(other.distance + 0.5 * box.depth > edge and other.height < middle)
    for name, coefficients in leg_strength(sex_of(structure), body_mass(structure), stature(structure)).items():
        found[f"strength_{name}"] = coefficients
    return found


def coordinate_limits(lifter: Lifter) -> tuple[Array, Array, Array, Array]:
    """Limits, neutral angles and ease of the free coordinates [rad]: the joints' own limits and those of lifting."""
    found = []
    for name in lifter.instant.plan.free:
        lifting = lifting_limits()[name.replace("_r.", ".")]
        own = lifter.structure.joint(name).limits.q or (-np.inf, np.inf)
        low, high = max(lifting.low, own[0]), min(lifting.high, own[1])
        found.append((low, high, min(max(lifting.neutral, low), high), lifting.ease))
    low_, high_, neutral, ease = np.array(found).T
    return low_, high_, neutral, ease


def _sole(structure: Structure) -> tuple[float, float]:
    """How far heel and toes are ahead of the ankles [m]."""
    heel, toe = (float(zero_position(structure, f"{place}_r")[2]) for place in ("heel", "toe"))
    return heel, toe


def _smoothness(variables: Variables, task: LiftTask) -> Array:
    """Q of x.Qx/2: the integral of the squared second derivatives by the fraction of the duration."""
    count = len(variables.own)
    spline = BSpline(variables.knots, np.zeros((count, 1)), variables.degree)
    gram = np.zeros((count, count))
    nodes, quadrature = np.polynomial.legendre.leggauss(variables.degree)
    for left, right in zip(spline.breaks[:-1], spline.breaks[1:], strict=True):
        basis = spline.matrix(0.5 * (left + right) + 0.5 * (right - left) * nodes, 2)
        gram += 0.5 * (right - left) * (basis.T * quadrature) @ basis
    points = variables.free * variables.n
    q = np.zeros((variables.size, variables.size))
    q[:points, :points] = np.kron(variables.own.T @ gram @ variables.own, task.regularity * np.eye(variables.n))
    return q


def _rows(lifter: Lifter, task: LiftTask, instants: int, *, at: Place | None = None, able: bool = True) -> Rows:
    """The constraint rows. One instant: a posture, hands `at` a place; not `able`: strength and balance left out."""
    structure, outputs, chosen = lifter.structure, lifter.instant.node.outputs, lifter.instant.plan
    inf, half = np.inf, 0.5 * task.box.width
    heel, toe = _sole(structure)
    strength = np.array([structure.movable[j].limits.tau for j in chosen.working], dtype=float)
    strength /= np.abs(strength).max(axis=1, keepdims=True)
    round_ = radii(structure)
    every: list[tuple[str, int, float, float, str]] = [
        ("lift", 0, LEAST_LIFT, inf, "weight on the feet"),
        ("friction", 0, -task.friction, task.friction, "friction"),
        ("grip", 0, -half - task.grip_slip, -half + task.grip_slip, "hands on the box"),
        ("palm", 0, np.cos(np.deg2rad(task.palm)), inf, "palms on the box"),
        ("box", 0, 0.5 * task.box.height, inf, "box above the floor"),
    ]
    every += [("clear", k, 1.0, inf, f"box clear of the {spot.name}") for k, spot in enumerate(spots(of="box"))]
    for name, front in (("shelf", task.shelf), ("table", task.table)):
        if front is not None:
            every.append((name, 0, 0.0, inf, f"box clear of the {name}"))
            for k, spot in enumerate(spots(of="boards"), start=1):
                every.append((name, k, round_[spot.body], inf, f"{spot.name} clear of the {name}"))
    if able:
        for k, j in enumerate(chosen.working):
            every.append(("tau", k, *strength[k], f"strength of {structure.coordinates[j]}"))
        every.append(("zmp", 0, heel + task.edge, toe - task.edge, "balance"))
        reserves = range(outputs["reserve"].stop - outputs["reserve"].start)
        every += [("reserve", k, 0.0, inf, "strength of the legs") for k in reserves]
    found = [(k, *row) for k in range(instants) for row in every]
    places = {0: at} if instants == 1 else {0: task.from_, instants - 1: task.to}
    for k, place in places.items():
        if place is not None:
            for entry, (middle, word) in enumerate(zip(place, ("height", "distance"), strict=True)):
                found.append((k, "box", entry, middle - PLACED, middle + PLACED, f"{word} of the box"))
    free = 1 if instants == 1 else task.control_points - 2 * (AT_REST - 1)
    none = np.zeros(0)
    return Rows(
        np.array([row[0] for row in found]),
        np.array([outputs[row[1]].start + row[2] for row in found]),
        np.array([row[3] for row in found]),
        np.array([row[4] for row in found]),
        np.zeros((0, instants + lifter.instant.n * free)),
        none,
        none,
        tuple(f"{row[5]} at {row[0] / max(instants - 1, 1):.0%} of the lift" for row in found),
    )
