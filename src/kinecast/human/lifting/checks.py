"""What the predicted lift does between its instants, and whether its torques reproduce it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinecast.human.carrying import carrying
from kinecast.human.contact import CORNERS, GLOBAL, SIDES, ground_reaction
from kinecast.human.lifting.instant import parameter_vector
from kinecast.human.lifting.problem import LiftProblem, radii
from kinecast.human.lifting.samples import LiftSamples, sample
from kinecast.human.support import convex_hull, polygon_margin
from kinecast.human.tables import rows
from kinecast.mechanism.checks import Array

DENSE = 401  # samples of a lift


@dataclass(frozen=True)
class LiftCheck:
    """Largest departures anywhere in the lift. Lengths in m, angles in rad."""

    clearance: float  # least distance of the box from the body's surface
    clearance_at: str  # from which part of the body, when
    floor: float  # least height of the box's bottom
    slip: float  # of any corner of a sole
    penetration: float  # of any corner of a sole
    grip: float  # largest distance of a hand from its handle
    margin: float  # least distance of the zero moment point inside the support polygon
    torque: float  # largest torque over its limit (1 is the limit)
    angle: float  # largest excess over a limit of a joint, negative inside
    friction: float  # largest horizontal over vertical force
    end_speed: float  # largest joint speed at start and end [rad/s]
    root_residual: float  # largest force or moment left when the box is a mass in the hands [N, N m]
    work_residual: float  # largest difference of the torques to what the work of everything but the ground asks [N m]
    forward_error: float  # how far a place ends up from the prediction when the torques are integrated [m]


def check_lift(problem: LiftProblem, x: Array) -> LiftCheck:
    """Look at the lift at 401 times, and integrate its torques forward."""
    structure, task = problem.structure, problem.task
    samples = sample(problem, x, np.linspace(0.0, float(x[-1]), DENSE))
    strength = np.array([joint.limits.tau or (-np.inf, np.inf) for joint in structure.movable])[GLOBAL:]
    low, high = np.array([joint.limits.q or (-np.inf, np.inf) for joint in structure.movable])[GLOBAL:].T
    corners = soles(samples)
    handle = 0.5 * task.box.width * np.array([1.0, 0.0, 0.0])
    hands = {"r": samples.box - handle, "l": samples.box + handle}
    tau, q = samples.tau[:, GLOBAL:], samples.q[:, GLOBAL:]
    away, where = clearance(problem, samples)
    return LiftCheck(
        clearance=away,
        clearance_at=where,
        floor=float(samples.box[:, 1].min() - 0.5 * task.box.height),
        slip=float(np.ptp(corners, axis=0).max()),
        penetration=float(max(0.0, -corners[..., 1].min())),
        grip=max(float(np.linalg.norm(samples.places[f"grip_{s}"] - hands[s], axis=1).max()) for s in SIDES),
        margin=float(margins(samples).min()),
        torque=float(np.maximum(tau / strength[:, 1], tau / strength[:, 0]).max()),
        angle=float(np.maximum(q - high, low - q).max()),
        friction=max(float((np.hypot(r[:, 0], r[:, 2]) / r[:, 1]).max()) for r in samples.reaction.values()),
        end_speed=float(np.abs(samples.v[[0, -1]]).max()),
        root_residual=root_residual(problem, samples),
        work_residual=float(np.abs(samples.drive - _applied(problem, samples)).max()),
        forward_error=forward_error(problem, x),
    )


def soles(samples: LiftSamples) -> Array:
    """Corners (N, 10, 3) of both soles."""
    return np.stack([samples.places[f"{corner}_{side}"] for side in SIDES for corner in CORNERS], axis=1)


def margins(samples: LiftSamples) -> Array:
    """Distance (N,) of the zero moment point inside the support polygon: of the feet at the start, which stay there."""
    flat = soles(samples)[0][:, [0, 2]]
    polygon = flat[convex_hull(flat)]
    return np.array([polygon_margin(zmp, polygon).distance for zmp in samples.zmp])


def clearance(problem: LiftProblem, samples: LiftSamples) -> tuple[float, str]:
    """Least distance of the box from the body's round parts in the sagittal plane, and where: whole lines, not spots."""
    half, least, where = 0.5 * np.array([problem.task.box.height, problem.task.box.depth]), np.inf, ""
    share = np.linspace(0.0, 1.0, 101)[:, None, None]
    for row, radius in zip(rows("body_thickness"), radii(problem.structure), strict=True):
        start, end = ((samples.places[row[key]] - samples.box)[:, 1:] for key in ("from", "to"))
        beyond = np.abs((1 - share) * start + share * end) - half
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=2) + np.minimum(beyond.max(axis=2), 0.0)
        k = int(np.argmin(outside.min(axis=0)))
        found = float(outside[:, k].min() - radius)
        if found < least:
            least, where = found, f"{row['name']} at {samples.t[k]:.2f} s"
    return least, where


def root_residual(problem: LiftProblem, samples: LiftSamples) -> float:
    """The largest force or moment [N, N m] that motion, box and reactions leave on the global coordinates.

    The resultant is computed anew for a person with half the box fixed to each hand: as the box does not turn, that is
    what it is to the hands.
    """
    found = ground_reaction(carrying(problem.structure, hands=problem.task.mass), samples)
    return float(np.abs(found.resultant - sum(samples.reaction[side] for side in SIDES)).max())


def _applied(problem: LiftProblem, samples: LiftSamples) -> Array:
    """What the predicted torques do on each free coordinate: the left side's do the same as the right side's."""
    coordinates, free = problem.structure.coordinates, problem.instant.plan.free
    twice = np.array([2.0 if "_r." in name else 1.0 for name in free])
    return np.asarray(samples.tau[:, [coordinates.index(name) for name in free]] * twice)


def forward_error(problem: LiftProblem, x: Array, steps: int = 400) -> float:
    """Integrate the predicted torques from the start: the largest distance [m] of a place at the end.

    The feet stay where they are (the zero moment point says whether they would), the box is held; torques are functions
    of time: nothing pulls the motion back to the prediction. Runge and Kutta's rule of order four. Mass matrix
    and bias of the free coordinates y come from the work of everything but the ground, which is affine in y''.
    """
    duration, n = float(x[-1]), problem.instant.n
    h, parameters = duration / steps, parameter_vector(problem.instant, problem.values)
    samples = sample(problem, x, np.linspace(0.0, duration, 2 * steps + 1))
    applied, drive = _applied(problem, samples), problem.instant.reported["drive"]
    z = np.zeros((n + 1, 3 * n + 1))
    z[1:, 2 * n : 3 * n], z[:, -1] = np.eye(n), 1.0  # a duration of 1 s: derivatives are by time

    def rate(state: Array, k: int) -> Array:
        z[:, : 2 * n] = state
        force = problem.instant.report.ufunc(z, parameters)[:, drive]
        acceleration = np.linalg.solve((force[1:] - force[0]).T, applied[k] - force[0])
        return np.concatenate([state[n:], acceleration])

    state = np.concatenate([problem.spline(x)(np.zeros(1))[0], np.zeros(n)])
    for k in range(steps):
        a = rate(state, 2 * k)
        b = rate(state + 0.5 * h * a, 2 * k + 1)
        c = rate(state + 0.5 * h * b, 2 * k + 1)
        d = rate(state + h * c, 2 * k + 2)
        state = state + h / 6 * (a + 2 * b + 2 * c + d)
    z[0, : 2 * n] = state
    reached = problem.instant.report.ufunc(z[0], parameters)[problem.instant.reported["places"]].reshape(-1, 3)
    wanted = np.stack([places[-1] for places in samples.places.values()])
    return float(np.linalg.norm(reached - wanted, axis=1).max())
