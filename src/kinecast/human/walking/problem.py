"""The one-step problem: variables, constraints (1)-(9) of papers/000 5.2 as rows and bounds, objective.

The step lasts from right heel strike (t = 0, right heel at z = 0) to left heel strike (t = T = step length / speed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinecast.human.contact import GLOBAL
from kinecast.human.recursion import measures
from kinecast.human.skeleton import body_mass, mirror, stature, zero_position
from kinecast.human.transcription import Rows, Transcription, Variables
from kinecast.human.walking.instant import EDGES, PLACES, Instant, compile_instant, parameter_vector
from kinecast.human.walking.task import WalkTask
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array
from kinecast.motion.bspline import BSpline, clamped_knots

# Times that fall on an instant count as reached although the last bit says otherwise.
_ON_TIME = 1e-9
# What a metre of the pelvis counts in the smoothness, beside a radian of a joint.
_METRE = 3.0


@dataclass(frozen=True)
class StepProblem:
    """Everything about one step that does not change while it is solved."""

    structure: Structure
    task: WalkTask
    instant: Instant
    variables: Variables
    values: dict[str, object]
    instants: Array
    feasibility: Transcription
    effort: Transcription


def instant_of(structure: Structure) -> tuple[Instant, Array]:
    """The compiled instant for a person's free coordinates, and the person's measures."""
    layout, values = measures(structure, (*PLACES, *EDGES, "wrist_r.flexion", "wrist_l.flexion"))
    return compile_instant(layout), values


def build(structure: Structure, task: WalkTask) -> StepProblem:
    """The problem of one person's step."""
    instant, values = instant_of(structure)
    duration = task.step_length / task.speed
    variables = _variables(structure, task, duration)
    instants = duration * task.fractions()
    own = _parameters(structure, task, values)
    double = (instants <= task.phases.double_support * duration + _ON_TIME).astype(float)
    parameters = parameter_vector(instant, own | {"double_support": double})
    rows = _Rows(structure, task, instant, variables, instants)
    bounds = _bounds(structure, task, variables)
    quadratic, none = _smoothness(task, variables, duration)
    spans = np.diff(instants)
    weights = 0.5 * (np.append(spans, 0.0) + np.append(0.0, spans))
    made = [
        Transcription(instant.node, variables, instants, parameters, rows.rows, bounds, ("effort", w), (q, none))
        for w, q in ((0 * weights, task.start_smoothness * quadratic), (task.effort * weights, quadratic))
    ]
    return StepProblem(structure, task, instant, variables, own, instants, *made)


def _variables(structure: Structure, task: WalkTask, duration: float) -> Variables:
    """Control points with the step's symmetry built in: (7) of papers/000, q(0) = q_S(T), for v and a as well.

    The derivative of order r at t = 0 depends on the first r + 1 points only. So the first points (two for q and v,
    three with a) follow from the last ones: D P_first = S E P_last, minus a step forward.
    """
    knots = clamped_knots(duration * np.array([0.0, *task.breaks, 1.0]), degree=task.degree)
    count, tied = task.control_points, 3 if task.periodic_acceleration else 2
    shape = BSpline(knots, np.zeros((count, 1)), task.degree)
    start, end = (np.concatenate([shape.matrix(t, order) for order in range(tied)]) for t in (0.0, duration))
    first = np.linalg.inv(start[:, :tied])
    own, mirrored = np.zeros((count, count - tied)), np.zeros((count, count - tied))
    own[tied:] = np.eye(count - tied)
    mirrored[:tied] = first @ end[:, tied:]
    constant = np.zeros((count, len(structure.coordinates)))
    constant[:tied, structure.coordinates.index("pelvis.forward")] = -task.step_length
    pushes = np.flatnonzero(task.fractions() < task.phases.double_support - _ON_TIME)[1:]
    return Variables(knots, task.degree, own, mirrored, constant, mirror(structure), pushes)


def foot(structure: Structure) -> dict[str, float]:
    """Distances from the heel to the ball and to the tip of the toes, and the foot's half width at the ball [m]."""
    heel, ball, toe = (zero_position(structure, f"{point}_r") for point in ("heel", "ball", "toe"))
    return {
        "ball": ball[2] - heel[2],
        "toe": toe[2] - heel[2],
        "width": abs(zero_position(structure, "ball_outer_r")[0] - ball[0]),
    }


def _parameters(structure: Structure, task: WalkTask, measures_: Array) -> dict[str, object]:
    shape, weight = foot(structure), body_mass(structure) * float(np.linalg.norm(structure.gravity))
    half = 0.5 * task.step_width
    slope = np.deg2rad(task.incline)
    gravity = float(np.linalg.norm(structure.gravity))
    strength = np.array([joint.limits.tau for joint in structure.movable[GLOBAL:]], dtype=float)
    scale = 1.0 / np.abs(strength).max(axis=1)
    down, up = 1.0 / (strength * scale[:, None]).T ** 2
    emphasis = np.array([task.emphasis_of(name) for name in structure.coordinates[GLOBAL:]])
    return {
        "measures": measures_,
        "weight": weight,
        "lead_x": -half,
        "lead_z": task.lead_point * shape["ball"],
        "trail_x": half,
        "trail_z": -task.step_length + shape["ball"] + task.trail_point * (shape["toe"] - shape["ball"]),
        "lead_ball_z": shape["ball"],
        "trail_ball_z": shape["ball"] - task.step_length,
        "toe_stiffness": task.toe_stiffness * body_mass(structure) / 75,
        "toe_damping": task.toe_damping * body_mass(structure) / 75,
        "friction": task.friction,
        **{f"spin_{axis}": x / (weight * stature(structure)) ** 2 for axis, x in zip("xyz", task.spin, strict=True)},
        "gravity_x": 0.0,
        "gravity_y": -gravity * np.cos(slope),
        "gravity_z": -gravity * np.sin(slope),
        "scale": scale,
        "effort_mean": emphasis * (down + up) / 2,
        "effort_difference": emphasis * (up - down) / 2,
    }


def _bounds(structure: Structure, task: WalkTask, variables: Variables) -> tuple[Array, Array]:
    """Bounds of the free control points (1): the spline stays inside the hull of its points, at all times."""
    low, high = limits(structure, task)
    push = np.full(len(variables.further), task.push)
    return np.concatenate([np.tile(low, variables.free), -push]), np.concatenate([np.tile(high, variables.free), push])


def limits(structure: Structure, task: WalkTask) -> tuple[Array, Array]:
    """Lower and upper limit of every coordinate while walking [rad, m]."""
    low, high = np.full(len(structure.coordinates), -5.0), np.full(len(structure.coordinates), 5.0)
    for k, joint in enumerate(structure.movable):
        own = joint.limits.q or (-np.inf, np.inf)
        task_own = task.limits_of(joint.name) or (-5.0, 5.0)
        low[k], high[k] = max(own[0], task_own[0]), min(own[1], task_own[1])
    return low, high


def _smoothness(task: WalkTask, variables: Variables, duration: float) -> tuple[Array, Array]:
    """Q of x.Qx/2: the integrals of squared accelerations and jerks, and the squared pushes."""
    count = task.control_points
    spline = BSpline(variables.knots, np.zeros((count, 1)), variables.degree)
    gram = np.zeros((count, count))
    for order, weight in ((2, task.acceleration), (3, task.jerk)):
        for left, right in zip(spline.breaks[:-1], spline.breaks[1:], strict=True):
            nodes, quadrature = np.polynomial.legendre.leggauss(variables.degree)
            basis = spline.matrix(0.5 * (left + right) + 0.5 * (right - left) * nodes, order)
            gram += weight * 0.5 * (right - left) * (basis.T * quadrature) @ basis
    n, index, sign = variables.n, np.array(variables.mirror.index), np.array(variables.mirror.sign)
    weight_of = np.ones(n)
    weight_of[:3] = _METRE
    exchange = np.zeros((n, n))
    exchange[np.arange(n), index] = sign
    full = np.kron(variables.own, np.eye(n)) + np.kron(variables.mirrored, exchange)
    q = np.zeros((variables.size, variables.size))
    q[: full.shape[1], : full.shape[1]] = full.T @ np.kron(gram, np.diag(weight_of)) @ full
    further = np.arange(full.shape[1], variables.size)
    q[further, further] = task.push_smoothness
    return q, np.zeros(variables.size)


class _Rows:
    """Collects the rows; the numbers in brackets are the thesis's."""

    def __init__(
        self, structure: Structure, task: WalkTask, instant: Instant, variables: Variables, instants: Array
    ) -> None:
        self.structure, self.task, self.instant, self.variables, self.instants = (
            structure,
            task,
            instant,
            variables,
            instants,
        )
        self.found: list[tuple[int, int, float, float, str]] = []
        self.linear: list[tuple[Array, Array, float, float, str]] = []
        self.height, self.shape = stature(structure), foot(structure)
        for k, u in enumerate(task.fractions()):
            self._instant(k, float(u))
        self._linear()
        weights = np.array([row[0] for row in self.linear])
        matrix, constant = variables.rows_of(weights, np.array([row[1] for row in self.linear]))
        low, high = (np.array([row[k] for row in self.linear]) - constant for k in (2, 3))
        instant_, output = (np.array([row[k] for row in self.found]) for k in (0, 1))
        names = tuple(row[4] for row in self.found) + tuple(row[4] for row in self.linear)
        self.rows = Rows(
            instant_,
            output,
            np.array([r[2] for r in self.found]),
            np.array([r[3] for r in self.found]),
            matrix,
            low,
            high,
            names,
        )

    def put(self, k: int, output: str, entry: int, low: float, high: float) -> None:
        what = f"{output}[{entry}]"
        if output == "tau":
            what = f"torque over strength of {self.structure.coordinates[GLOBAL + entry]}"
        at = self.instants[k] / self.instants[-1]
        self.found.append(
            (k, self.instant.node.outputs[output].start + entry, low, high, f"{what} at {at:.0%} of the step")
        )

    def box(
        self, k: int, output: str, at: tuple[float | None, float, float | None], half: tuple[float, float, float]
    ) -> None:
        for entry in range(3):
            middle = at[entry]
            if middle is not None:
                self.put(k, output, entry, middle - half[entry], middle + half[entry])

    def _instant(self, k: int, u: float) -> None:
        task, inf = self.task, np.inf
        scale = [max(abs(x) for x in joint.limits.tau or (1.0,)) for joint in self.structure.movable[GLOBAL:]]
        for j, joint in enumerate(self.structure.movable[GLOBAL:]):
            weakest, strongest = joint.limits.tau or (-1.0, 1.0)
            usable = (1 - task.torque_reserve) / scale[j]
            self.put(k, "tau", j, usable * weakest, usable * strongest)  # (2)
        self.put(k, "lift", 0, task.least_force, 3.0)
        self._contact(k, u)
        for side in (0, 1):
            self.put(k, "hand_clearance", side, task.hand_clearance * self.height, inf)  # (6)
            self.put(k, "arm_leg", side, -task.arm_leg, inf)  # (5)

    def _contact(self, k: int, u: float) -> None:
        """Ground penetration (3) and balance (4)."""
        task, phases, inf, on = self.task, self.task.phases, np.inf, _ON_TIME
        half, length = 0.5 * task.step_width, task.step_length
        ball, toe = self.shape["ball"], self.shape["toe"]
        still, low = task.contact_slip, task.contact_height
        box = (still, low, still)
        double, last = u <= phases.double_support + on, k == task.instants - 1
        heel_down, ball_down = u < phases.heel_off - on, u >= phases.foot_flat - on
        if heel_down:
            self.box(k, "heel_r", (-half, 0.0, 0.0), box)
        else:
            self.put(k, "heel_r", 1, -low, inf)
        if ball_down:
            self.box(k, "ball_r", (-half, 0.0, ball), box)
            self.put(k, "toe_r", 1, -low, low)
        else:
            self.put(k, "ball_r", 1, -low, inf)
            self.put(k, "toe_r", 1, -low, inf)
        for entry in range(3):
            self.put(k, "tilt_r", entry, -task.foot_tilt, task.foot_tilt)
            swinging = not double and not last
            self.put(
                k,
                "tilt_l",
                entry,
                *((-task.swing_tilt, task.swing_tilt) if swinging else (-task.foot_tilt, task.foot_tilt)),
            )
        if double:
            if u <= phases.ball_off + on:
                self.box(k, "ball_l", (half, 0.0, ball - length), box)
                self.put(k, "toe_l", 1, -low, low)
            else:
                self.box(k, "toe_l", (half, 0.0, toe - length), box)
                self.put(k, "ball_l", 1, -low, inf)
            self.put(k, "heel_l", 1, 0.0, inf)
            for entry, (small, large) in enumerate(((-inf, 0.01), (-0.01, inf)) * 2):
                self.put(k, "friction", entry, small, large)
            self._share(k, u / phases.double_support)
        else:
            back = 0.0 if heel_down else ball - task.ball_back * self.height
            width = self.shape["width"]
            self.put(k, "zmp", 0, -half - width, -half + width)
            self.put(k, "zmp", 1, back, toe)
            clearance = task.clearance if phases.clear[0] < u < phases.clear[1] else 0.0
            if not last:
                for point in ("heel_l", "ball_l", "toe_l"):
                    self.put(k, point, 1, clearance, inf)
        if k == 0:
            for entry in range(3):
                self.put(k, "strike_speed", entry, -task.touchdown_speed, task.touchdown_speed)

    def _share(self, k: int, fraction: float) -> None:
        """The load moves from the trailing to the leading foot; at the ends of double support it is on one of them."""
        task, width = self.task, self.shape["width"]
        low, high = max(-0.02, fraction - task.share_band), min(1.0, fraction + task.share_band)
        if fraction == 0:
            low, high = -0.02, 0.1
        elif fraction > 1 - _ON_TIME:
            low, high = task.share_end, 1.0
        self.put(k, "share", 0, low, high)
        self.put(k, "share", 1, -width, width)

    def _linear(self) -> None:
        """Linear rows: limits of the control points that are not free (1), knee in mid swing (8), trunk."""
        structure, task, v = self.structure, self.task, self.variables
        names, n = structure.coordinates, len(structure.coordinates)
        low, high = limits(structure, task)
        points = np.eye(task.control_points)
        for i in range(task.control_points - v.free):
            for c in range(n):
                if np.isfinite(low[c]) and abs(low[c]) < 4.9:
                    self.linear.append((points[i], np.eye(n)[c], low[c], high[c], f"{names[c]}, control point {i}"))
        spline = v.spline(np.zeros(v.size))
        duration = self.instants[-1]
        at = spline.matrix(self.instants)

        def unit(*wanted: str) -> Array:
            return np.array([float(name in wanted) for name in names])

        middle = spline.matrix(task.phases.knee * duration)[0]
        bent, straight = np.deg2rad(task.knee), np.deg2rad(task.knee_at_strike)
        if bent[0] > high[names.index("knee_l.flexion")]:
            bent[0] = -np.inf  # a knee too stiff for that clears the ground as it can
        self.linear.append((middle, unit("knee_l.flexion"), *bent, "knee in mid swing"))
        if straight[1] > low[names.index("knee_r.flexion")]:
            self.linear.append((at[0], unit("knee_r.flexion"), *straight, "knee at heel strike"))
        spine = [f"spine{k}" for k in (1, 2, 3, 4)]
        for u, row in zip(task.fractions(), at, strict=True):
            lateral = unit("pelvis.list", *(f"{joint}.lateral" for joint in spine))
            flexion = unit("pelvis.tilt", *(f"{joint}.flexion" for joint in spine))
            self.linear.append((row, lateral, *np.deg2rad(task.trunk_list), f"trunk list at {u:.0%} of the step"))
            self.linear.append((row, flexion, *np.deg2rad(task.trunk_tilt), f"trunk tilt at {u:.0%} of the step"))
            if task.pelvis_list_early and task.phases.foot_flat < u < 0.75:
                self.linear.append(
                    (row, unit("pelvis.list"), -0.11, np.deg2rad(task.pelvis_list_early), f"pelvis list at {u:.0%}")
                )
