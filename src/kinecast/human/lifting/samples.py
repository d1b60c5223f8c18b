"""The predicted lift at any time: motion of all coordinates, torques, ground reactions, box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinecast.human.contact import SIDES
from kinecast.human.lifting.instant import parameter_vector
from kinecast.human.lifting.model import PLACES
from kinecast.human.lifting.problem import LiftProblem
from kinecast.mechanism.checks import Array


@dataclass(frozen=True)
class Samples:
    """Quantities at times t (N,): world axes x left, y up, z forward; moments about the world origin; SI units."""

    t: Array
    q: Array  # (N, n), as v, a, tau; tau is zero for the global coordinates
    v: Array
    a: Array
    tau: Array
    reaction: dict[str, Array]  # by side (N, 6): force, moment
    drive: Array  # (N, free) what motion and load ask of each free coordinate by their work
    forefoot: Array  # (N,) moment of the ground about each toe joint
    zmp: Array  # (N, 2): x, z
    box: Array  # (N, 3): centre, as its velocity and acceleration
    box_velocity: Array
    box_acceleration: Array
    places: dict[str, Array]  # (N, 3) by name

    @property
    def ground(self) -> Array:
        """Force and moment (N, 6) on both feet together."""
        return np.asarray(self.reaction["r"] + self.reaction["l"])


def sample(problem: LiftProblem, y: Array, t: Array) -> Samples:
    """The lift with variables y at times t [s]."""
    instant, duration = problem.instant, float(y[-1])
    spline = problem.spline(y)
    parts = [spline(t / duration, order) for order in range(3)]
    z = np.concatenate([*parts, np.full((len(t), 1), duration)], axis=1)
    values = instant.report.ufunc(z, parameter_vector(instant, problem.values))
    out = {name: values[:, part] for name, part in instant.reported.items()}

    def in_plane(name: str) -> Array:
        return np.concatenate([np.zeros((len(t), 1)), out[name]], axis=1)

    return Samples(
        t=t,
        q=out["q"],
        v=out["v"],
        a=out["a"],
        tau=out["torque"],
        reaction={side: out[f"reaction_{side}"] for side in SIDES},
        drive=out["drive"],
        forefoot=out["forefoot"][:, 0],
        zmp=in_plane("zmp"),
        box=in_plane("box"),
        box_velocity=in_plane("box_velocity"),
        box_acceleration=in_plane("box_acceleration"),
        places={place: out["places"][:, 3 * k : 3 * k + 3] for k, place in enumerate(PLACES)},
    )
