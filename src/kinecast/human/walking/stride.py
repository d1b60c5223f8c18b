"""The predicted step at any time, and the stride (two steps, the second the mirror image of the first)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinecast.human.contact import CORNERS, GLOBAL, SIDES
from kinecast.human.skeleton import Mirror, mirror
from kinecast.human.walking.instant import LEG, POINTS, parameter_vector
from kinecast.human.walking.problem import StepProblem
from kinecast.mechanism.checks import Array
from kinecast.motion.bspline import BSpline


@dataclass(frozen=True)
class Samples:
    """Quantities at times t (N,): world axes x left, y up, z forward; moments about the world origin; SI units.

    `reaction`, `position`, `corners` and `joint_force` are by side: `position` of heel, ball, toe, `corners` of the
    sole in the order of `contact.CORNERS`, `joint_force` what the parent exerts in hip, knee and ankle without
    muscles.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array  # (N, n), zeros for the global coordinates
    reaction: dict[str, Array]  # (N, 6): force, moment
    position: dict[str, Array]  # (N, 3, 3)
    corners: dict[str, Array]  # (N, 5, 3)
    joint_force: dict[str, Array]  # (N, 3, 3)
    forefoot: dict[str, Array]  # (N,) moment of the ground about the toe joint
    zmp: Array  # (N, 2): x, z
    share: Array  # (N, 2): of the leading foot; distance from the line of the lever rule
    double: Array  # (N,) bool

    def pressure(self, side: str) -> Array:
        """Centre of pressure (N, 2): x, z; NaN where the foot carries less than a thousandth of the largest force."""
        return pressure_centre(self.reaction[side])


def pressure_centre(reaction: Array, least: float = 1e-3) -> Array:
    """Centre of pressure (N, 2) on the ground of forces and moments (N, 6); NaN where there is next to no force."""
    vertical = reaction[:, 1]
    loaded = vertical > least * vertical.max()
    safe = np.where(loaded, vertical, 1.0)
    found = np.stack([reaction[:, 5] / safe, -reaction[:, 3] / safe], axis=1)
    return np.where(loaded[:, None], found, np.nan)


def sample_step(problem: StepProblem, x: Array, t: Array) -> Samples:
    """The step at times within it; a time on the end of double support counts as double support."""
    instant, variables, task = problem.instant, problem.variables, problem.task
    spline, duration = variables.spline(x), problem.instants[-1]
    parts = [spline(t, order) for order in range(3)]
    double = t <= task.phases.double_support * duration * (1 + 1e-12)
    z = np.concatenate([*parts, push(problem, x, t)[:, None]], axis=1)
    parameters = parameter_vector(instant, problem.values | {"double_support": double.astype(float)})
    y = instant.report.ufunc(z, parameters)
    out = {name: y[:, part] for name, part in instant.reported.items()}
    weight = float(np.asarray(problem.values["weight"]))
    tau = np.concatenate([np.zeros((len(t), GLOBAL)), out["tau"] / np.asarray(problem.values["scale"])], axis=1)
    reaction = {side: weight * out[f"reaction_{side}"] for side in SIDES}
    position = {side: np.stack([out[f"{point}_{side}"] for point in POINTS], axis=1) for side in SIDES}
    corners = {side: np.stack([out[f"{corner}_{side}"] for corner in CORNERS], axis=1) for side in SIDES}
    loads = {side: weight * np.stack([out[joint.format(side)] for joint in LEG], axis=1) for side in SIDES}
    q, v, a = parts
    toes = {side: out["forefoot"][:, k] for k, side in enumerate(SIDES)}
    return Samples(t, q, v, a, tau, reaction, position, corners, loads, toes, out["zmp"], out["share"], double)


def push(problem: StepProblem, x: Array, t: Array) -> Array:
    """What the feet push against each other [body weights]: linear between instants, zero outside double support."""
    values = np.zeros(len(problem.instants))
    variables = problem.variables
    values[variables.further] = x[variables.free * variables.n :]
    return np.interp(t, problem.instants, values)


def step_times(problem: StepProblem, a_span: int = 10) -> Array:
    """Times over the step: every instant, and in between; denser than any kink of the motion."""
    count = len(problem.instants)
    times: Array = np.interp(np.arange(a_span * (count - 1) + 1) / a_span, np.arange(count), problem.instants)
    return times


def stride(samples: Samples, step_length: float, exchange: Mirror) -> Samples:
    """A full stride from right heel strike, from the samples of one whole step (first time 0, last time T)."""
    duration = samples.t[-1]

    def both(own: Array, other: Array) -> Array:
        return np.concatenate([own, other[1:]])

    forward = np.zeros(samples.q.shape[1])
    forward[2] = step_length
    flip_force = np.array([-1.0, 1, 1, 1, -1, -1])
    flip_place = np.array([-1.0, 1, 1])
    shift = np.array([0, 0, step_length])

    def moved(reaction: Array) -> Array:
        turned = reaction * flip_force
        turned[:, 3:] += np.cross(shift, turned[:, :3])
        return turned

    other = {"r": "l", "l": "r"}
    return Samples(
        both(samples.t, samples.t + duration),
        both(samples.q, exchange(samples.q) + forward),
        both(samples.v, exchange(samples.v)),
        both(samples.a, exchange(samples.a)),
        both(samples.tau, exchange(samples.tau)),
        {side: both(samples.reaction[side], moved(samples.reaction[other[side]])) for side in SIDES},
        {side: both(samples.position[side], samples.position[other[side]] * flip_place + shift) for side in SIDES},
        {side: both(samples.corners[side], samples.corners[other[side]] * flip_place + shift) for side in SIDES},
        {side: both(samples.joint_force[side], samples.joint_force[other[side]] * flip_place) for side in SIDES},
        {side: both(samples.forefoot[side], samples.forefoot[other[side]]) for side in SIDES},
        both(samples.zmp, samples.zmp * np.array([-1.0, 1.0]) + np.array([0.0, step_length])),
        both(samples.share, samples.share * np.array([1.0, -1.0])),
        both(samples.double, samples.double),
    )


def stride_of(problem: StepProblem, x: Array, a_span: int = 10) -> Samples:
    """The stride that belongs to the variables of a step."""
    return stride(
        sample_step(problem, x, step_times(problem, a_span)), problem.task.step_length, mirror(problem.structure)
    )


def spline_of(problem: StepProblem, x: Array) -> BSpline:
    """The step's motion as a spline."""
    return problem.variables.spline(x)
