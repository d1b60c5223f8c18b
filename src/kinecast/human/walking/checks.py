"""What the predicted step does between its instants, and whether its torques and reactions reproduce it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kinecast.dynamics.mechanism import Mechanism
from kinecast.engine import Kernel
from kinecast.human.closure import Closure
from kinecast.human.contact import GLOBAL, SIDES, polygon_margin, support_polygon
from kinecast.human.node import compile_values, digest
from kinecast.human.recursion import Layout, Recursion
from kinecast.human.walking.problem import StepProblem, limits
from kinecast.human.walking.stride import Samples, sample_step
from kinecast.mechanism.checks import Array

DENSE = 401  # samples of a step
# A corner of the sole this near to the ground is part of the support polygon: the sole is not a rigid plate.
PAD = 0.015


@dataclass(frozen=True)
class StepCheck:
    """Largest departures anywhere in the step, contacts as the phases say. Lengths in m, angles in rad."""

    penetration: float  # of any corner of a sole
    slip: float  # of a point while it is on the ground
    clearance: float  # least height of the swinging foot in mid swing
    margin: float  # least distance of the zero moment point inside the support polygon
    torque: float  # largest torque over its limit (1 is the limit)
    angle: float  # largest excess over a limit of a coordinate
    friction: float  # largest horizontal over vertical force on a foot that carries a tenth of the weight
    mean_lift_error: float  # mean vertical force over body weight, less one
    impulse: float  # net fore-aft impulse over body weight and step time


def check_step(problem: StepProblem, x: Array) -> StepCheck:
    """Look at the step at 401 times, and integrate its forces exactly."""
    task, phases, duration = problem.task, problem.task.phases, problem.instants[-1]
    samples = sample_step(problem, x, np.linspace(0.0, duration, DENSE))
    u = samples.t / duration
    strength = np.array([joint.limits.tau or (-np.inf, np.inf) for joint in problem.structure.movable])[GLOBAL:]
    tau = samples.tau[:, GLOBAL:]
    low, high = limits(problem.structure, task)
    swinging = (u > phases.double_support) & (u < 1)
    mid = (u > 0.4) & (u < 0.8)
    down = {
        ("r", 0): u <= phases.heel_off,
        ("r", 1): u >= phases.foot_flat,
        ("l", 1): u <= phases.ball_off,
        ("l", 2): u <= phases.double_support,
    }
    slips = [np.ptp(samples.position[side][when, k][:, axis]) for (side, k), when in down.items() for axis in (0, 2)]
    weight = float(np.asarray(problem.values["weight"]))
    friction = max(_friction(samples.reaction[side], weight) for side in SIDES)
    lift, impulse = _mean_force(problem, x)
    return StepCheck(
        penetration=float(max(0.0, *(-samples.corners[side][..., 1].min() for side in SIDES))),
        slip=float(max(slips)),
        clearance=float(samples.corners["l"][mid & swinging][..., 1].min()),
        margin=float(min(step_margins(samples, swinging))),
        torque=float(np.maximum(tau / strength[:, 1], tau / strength[:, 0]).max()),
        angle=float(np.maximum(samples.q - high, low - samples.q)[:, 3:].max()),
        friction=friction,
        mean_lift_error=lift - 1.0,
        impulse=impulse,
    )


def step_margins(samples: Samples, swinging: Array) -> Array:
    """Distance (N,) of the zero moment point inside the hull of the soles; the left one counts unless it swings."""
    found = np.empty(len(samples.t))
    for k in range(len(found)):
        sides = ("r",) if swinging[k] else SIDES
        corners = np.concatenate([samples.corners[side][k] for side in sides])
        found[k] = polygon_margin(samples.zmp[k], support_polygon(corners[corners[:, 1] < PAD][:, [0, 2]]))[0]
    return found


def _friction(reaction: Array, weight: float) -> float:
    loaded = reaction[:, 1] > 0.1 * weight
    return float((np.hypot(reaction[:, 0], reaction[:, 2])[loaded] / reaction[loaded, 1]).max())


def _mean_force(problem: StepProblem, x: Array) -> tuple[float, float]:
    """(mean vertical, mean fore-aft) total force over body weight, by Gauss's rule on every span of the spline."""
    spline = problem.variables.spline(x)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    total, duration = np.zeros(2), problem.instants[-1]
    for left, right in zip(spline.breaks[:-1], spline.breaks[1:], strict=True):
        samples = sample_step(problem, x, 0.5 * (left + right) + 0.5 * (right - left) * nodes)
        force = (samples.reaction["r"] + samples.reaction["l"])[:, [1, 2]]
        total += 0.5 * (right - left) * weights @ force
    lift, impulse = total / duration / float(np.asarray(problem.values["weight"]))
    return float(lift), float(impulse)


def step_closure(problem: StepProblem, x: Array, per_second: int = 4000) -> Closure:
    """How far apart the prediction and its torques and reactions integrated forward are at the step's end.

    From the start state, nothing pulls the motion back to the prediction: torques and reactions act as the generalised
    forces that they are along the predicted step. (With reactions at fixed places in the world, a loaded foot is a
    rod balanced on its tip: it falls within 12 ms, and no number format holds a step.) Runge and Kutta's rule of order
    four on every span between instants, in steps short enough for a slow walk, whose errors grow for longer; forward
    dynamics by the engine's recursion, not by the one that predicted.
    """
    gravity = np.array([float(np.asarray(problem.values[f"gravity_{axis}"])) for axis in "xyz"])
    mechanism = Mechanism.of(problem.structure.with_gravity(gravity))
    n, duration = len(problem.structure.coordinates), problem.instants[-1]
    breaks = np.unique(np.round(np.concatenate([problem.variables.spline(x).breaks, problem.instants]), 12))
    # Accelerations bend at the spline's breaks and reactions at the instants: each span is sampled inside itself.
    inside = np.array([1e-9, 0.5, 1 - 1e-9])
    start = sample_step(problem, x, np.zeros(1))
    state = np.concatenate([start.q[0], start.v[0]])

    def rate(y: Array, force: Array) -> Array:
        return np.concatenate([y[n:], mechanism.forward_dynamics(y[:n], y[n:], force)])

    for left, right in pairwise(breaks):
        count = max(2, int(np.ceil(per_second * (right - left))))
        h = (right - left) / count
        times = left + h * (np.arange(count)[:, None] + inside)
        for first, middle, last in _forces(problem, sample_step(problem, x, times.ravel())).reshape(count, 3, n):
            a = rate(state, first)
            b = rate(state + 0.5 * h * a, middle)
            c = rate(state + 0.5 * h * b, middle)
            d = rate(state + h * c, last)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
    end = sample_step(problem, x, np.array([duration])).q[0]
    apart = max(
        float(np.linalg.norm((mechanism.pose(place, state[:n]) - mechanism.pose(place, end))[:3, 3]))
        for place in ("heel_r", "toe_r", "heel_l", "toe_l", "pelvis.turn", "head_top")
    )
    return Closure(apart, float(np.abs(state[:n] - end).max()))


def _forces(problem: StepProblem, samples: Samples) -> Array:
    """Generalised forces (N, n) of joint torques, ground reactions, and the passive moments of the toes."""
    kernel = reaction_kernel(problem.instant.layout)
    wrench = np.concatenate([samples.q, *(samples.reaction[side] for side in SIDES)], axis=1)
    force: Array = samples.tau + kernel.ufunc(wrench, np.asarray(problem.values["measures"]))
    stiffness, damping = (float(np.asarray(problem.values[f"toe_{what}"])) for what in ("stiffness", "damping"))
    for side in SIDES:
        toe = problem.structure.coordinates.index(f"toe_{side}.extension")
        passive = stiffness * samples.q[:, toe] + damping * samples.v[:, toe]
        force[:, toe] += samples.forefoot[side] - passive
    return force


def reaction_kernel(layout: Layout) -> Kernel:
    """(q and the two reactions, measures) -> generalised forces (n,) of the reactions on the rear feet."""
    n = layout.n

    def trace(z: Any, p: Any) -> dict[str, Any]:
        import casadi as ca

        still = ca.SX(n, 1)
        body = Recursion(layout, z[:n], still, still, p)
        torques = [0.0] * n
        for k, side in enumerate(SIDES):
            force, moment = (tuple(z[n + 6 * k + 3 * m + i] for i in range(3)) for m in (0, 1))
            for j, name in enumerate(layout.coordinates):
                if name.split(".")[0] in ("pelvis", f"hip_{side}", f"knee_{side}", f"ankle_{side}"):
                    torques[j] = torques[j] + body.torque_of(j, force, moment)
        return {"torque": torques}

    return compile_values(
        "reaction_torques", digest(repr(layout), Path(__file__)), n + 12, layout.size, {"torque": n}, trace
    )
