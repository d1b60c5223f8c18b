"""What the predicted lift does between its instants, and whether its torques reproduce it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kinecast.human.carrying import carrying
from kinecast.human.closure import Closure
from kinecast.human.contact import CORNERS, GLOBAL, SIDES, ground_reaction
from kinecast.human.ergonomics.strength import strength_use
from kinecast.human.lifting.instant import parameter_vector
from kinecast.human.lifting.model import radii
from kinecast.human.lifting.problem import LiftProblem
from kinecast.human.lifting.samples import Samples, sample
from kinecast.human.lifting.task import BOARD
from kinecast.human.support import convex_hull, polygon_margin
from kinecast.human.tables import rows
from kinecast.mechanism.checks import Array

DENSE = 401  # samples of a lift
# Torques are integrated forward from the prediction for this long [s], then from the prediction again. Without feedback
# a stack of joints under load falls: departures of the spine and of the forearm's turning grow with rates of 30 to 45
# a second, in a lift of 1.7 s by e^60, which no number format holds.
PIECE = 0.25
_STEPS = 80  # of the integration of a piece


@dataclass(frozen=True)
class LiftCheck:
    """Largest departures anywhere in the lift. Lengths in m, angles in rad."""

    clearance: float  # least distance of the box from the body's surface
    clearance_at: str  # from which part of the body, when
    boards: float  # least distance of box and body from shelf and table; infinite without them
    floor: float  # least height of the box's bottom
    slip: float  # of any corner of a sole
    penetration: float  # of any corner of a sole
    grip: float  # largest distance of a hand from its handle
    margin: float  # least distance of the zero moment point inside the support polygon
    torque: float  # largest torque over its limit, of the legs at their angle and speed (1 is the limit)
    angle: float  # largest excess over a limit of a joint, negative inside
    friction: float  # largest horizontal over vertical force
    end_speed: float  # largest joint speed at start and end [rad/s]
    root_residual: float  # largest force or moment left when the box is a mass in the hands [N, N m]
    work_residual: float  # largest difference of the torques to what the work of everything but the ground asks [N m]
    forward_error: float  # largest distance of a place from the prediction after integrating the torques for `PIECE`
    forward_q_error: float  # and largest difference of a coordinate [m, rad]


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
    integrated = lift_closure(problem, x)
    return LiftCheck(
        clearance=away,
        clearance_at=where,
        boards=board_clearance(problem, samples),
        floor=float(samples.box[:, 1].min() - 0.5 * task.box.height),
        slip=float(np.ptp(corners, axis=0).max()),
        penetration=float(max(0.0, -corners[..., 1].min())),
        grip=max(float(np.linalg.norm(samples.places[f"grip_{s}"] - hands[s], axis=1).max()) for s in SIDES),
        margin=float(margins(samples).min()),
        torque=max(
            float(np.maximum(tau / strength[:, 1], tau / strength[:, 0]).max()),
            float(strength_use(structure, samples.q, samples.v, samples.tau).max()),
        ),
        angle=float(np.maximum(q - high, low - q).max()),
        friction=max(float((np.hypot(r[:, 0], r[:, 2]) / r[:, 1]).max()) for r in samples.reaction.values()),
        end_speed=float(np.abs(samples.v[[0, -1]]).max()),
        root_residual=root_residual(problem, samples),
        work_residual=float(np.abs(samples.drive - _applied(problem, samples)).max()),
        forward_error=integrated.place,
        forward_q_error=integrated.coordinate,
    )


def soles(samples: Samples) -> Array:
    """Corners (N, 10, 3) of both soles."""
    return np.stack([samples.places[f"{corner}_{side}"] for side in SIDES for corner in CORNERS], axis=1)


def margins(samples: Samples) -> Array:
    """Distance (N,) of the zero moment point inside the support polygon of the feet at the start."""
    flat = soles(samples)[0][:, [0, 2]]
    polygon = flat[convex_hull(flat)]
    return np.array([polygon_margin(zmp, polygon).distance for zmp in samples.zmp])


def clearance(problem: LiftProblem, samples: Samples) -> tuple[float, str]:
    """Least distance of the box from the body's round parts in the sagittal plane, and where: of whole lines."""
    half, least, where = 0.5 * np.array([problem.task.box.height, problem.task.box.depth]), np.inf, ""
    for row, line, radius in _round_bodies(problem, samples):
        if row["box"] == "yes":
            away = _outside(np.abs(line - samples.box[:, 1:]) - half)
            k = int(np.argmin(away.min(axis=0)))
            found = float(away[:, k].min() - radius)
            if found < least:
                least, where = found, f"{row['name']} at {samples.t[k]:.2f} s"
    return least, where


def board_clearance(problem: LiftProblem, samples: Samples) -> float:
    """Least distance of the box and of the body's round parts from shelf and table; infinite where there are none."""
    box, least = problem.task.box, np.inf

    def away(board: tuple[float, float], at: Array, half_height: float, half_depth: float) -> float:
        front, middle = board
        over = np.abs(at[..., 0] - middle) - 0.5 * BOARD - half_height
        return float(_outside(np.stack([over, front - at[..., 1] - half_depth], axis=-1)).min())

    for board in problem.task.boards:
        least = min(least, away(board, samples.box[:, 1:], 0.5 * box.height, 0.5 * box.depth))
        for _, line, radius in _round_bodies(problem, samples):
            least = min(least, away(board, line, 0.0, 0.0) - radius)
    return least


def _round_bodies(problem: LiftProblem, samples: Samples) -> Iterator[tuple[dict[str, str], Array, float]]:
    """(row of ``data/body_thickness.csv``, places along its line as (along, N, (height, ahead)), radius [m])."""
    share = np.linspace(0.0, 1.0, 101)[:, None, None]
    for row, radius in zip(rows("body_thickness"), radii(problem.structure), strict=True):
        start, end = (samples.places[row[key]][:, 1:] for key in ("from", "to"))
        yield row, (1 - share) * start + share * end, float(radius)


def _outside(beyond: Array) -> Array:
    """Distance from a rectangle by what is beyond its sides (..., 2), negative inside."""
    return np.asarray(np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(axis=-1), 0.0))


def root_residual(problem: LiftProblem, samples: Samples) -> float:
    """The largest force or moment [N, N m] that motion, box and reactions leave on the global coordinates.

    The resultant is computed anew for a person with half the box fixed to each hand: as the box does not turn, that is
    what it is to the hands.
    """
    found = ground_reaction(carrying(problem.structure, hands=problem.task.mass), samples)
    return float(np.abs(found.resultant - samples.ground).max())


def _applied(problem: LiftProblem, samples: Samples) -> Array:
    """What the predicted torques do on each free coordinate: the left side's do the same as the right side's."""
    coordinates, free = problem.structure.coordinates, problem.instant.plan.free
    twice = np.array([2.0 if "_r." in name else 1.0 for name in free])
    return np.asarray(samples.tau[:, [coordinates.index(name) for name in free]] * twice)


def lift_closure(problem: LiftProblem, x: Array) -> Closure:
    """Integrate the predicted torques: how far from the prediction the pieces end, at the most.

    The feet stay where they are (the zero moment point says whether they would), the box is held; torques are functions
    of time: nothing pulls the motion back to the prediction. Runge and Kutta's rule of order four, all pieces at once.
    Mass matrix and bias of the free coordinates y come from the work of everything but the ground, affine in y''.
    """
    instant, duration, n = problem.instant, float(x[-1]), problem.instant.n
    pieces = int(np.ceil(duration / PIECE))
    h, parameters = duration / pieces / _STEPS, parameter_vector(instant, problem.values)
    samples = sample(problem, x, np.linspace(0.0, duration, 2 * _STEPS * pieces + 1))
    first, applied = 2 * _STEPS * np.arange(pieces), _applied(problem, samples)
    z = np.zeros((n + 1, pieces, 3 * n + 1))
    z[1:, :, 2 * n : 3 * n], z[:, :, -1] = np.eye(n)[:, None], 1.0  # a duration of 1 s: derivatives are by time

    def rate(state: Array, half_steps: int) -> Array:
        z[:, :, : 2 * n] = state
        force = instant.report.ufunc(z, parameters)[..., instant.reported["drive"]]
        mass = (force[1:] - force[0]).transpose(1, 2, 0)
        acceleration = np.linalg.solve(mass, (applied[first + half_steps] - force[0])[..., None])[..., 0]
        return np.concatenate([state[:, n:], acceleration], axis=1)

    spline, fractions = problem.spline(x), samples.t[first] / duration
    state = np.concatenate([spline(fractions), spline(fractions, 1) / duration], axis=1)
    for k in range(_STEPS):
        a = rate(state, 2 * k)
        b = rate(state + 0.5 * h * a, 2 * k + 1)
        c = rate(state + 0.5 * h * b, 2 * k + 1)
        d = rate(state + h * c, 2 * k + 2)
        state = state + h / 6 * (a + 2 * b + 2 * c + d)
    z[0, :, : 2 * n] = state
    reached = instant.report.ufunc(z[0], parameters)[:, instant.reported["places"]].reshape(pieces, -1, 3)
    wanted = np.stack([place[first + 2 * _STEPS] for place in samples.places.values()], axis=1)
    apart = float(np.linalg.norm(reached - wanted, axis=2).max())
    ends = spline(samples.t[first + 2 * _STEPS] / duration)
    return Closure(apart, float(np.abs(state[:, :n] - ends).max()))
