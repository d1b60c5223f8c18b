"""Low back and joint strength of any motion of a person: a walk, a lift, a recorded one.

Example::

    found = assess(carrying(person, hands=10), "lift.csv")
    found.low_back.compression.max(), found.peak_use()["knee_r.flexion"]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.human.contact import AnyMotion, ground_reaction, joint_motion
from kinecast.human.ergonomics import low_back as back
from kinecast.human.ergonomics import strength
from kinecast.human.ergonomics.low_back import LowBack, low_back
from kinecast.human.ergonomics.strength import strength_use
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

_ROUNDING = 1e-9  # of a strength: as good as nothing


@dataclass(frozen=True)
class Ergonomics:
    """What a motion of N samples asks of a person; `use` (N, n): torque over strength, 1 is all of it."""

    coordinates: tuple[str, ...]
    low_back: LowBack
    use: Array

    def peak_use(self) -> dict[str, float]:
        """The largest use of every joint that has a strength and needs it."""
        peaks = self.use.max(axis=0)
        return {name: float(peak) for name, peak in zip(self.coordinates, peaks, strict=True) if peak > _ROUNDING}

    def summary(self) -> dict[str, Any]:
        """The figures of ``result.json``."""
        found, use = self.low_back, self.peak_use()
        return {
            "l5s1": {
                "peak_compression_n": float(found.compression.max()),
                "mean_compression_n": float(found.compression.mean()),
                "peak_shear_n": float(found.shear.max()),
                "peak_moment_nm": float(found.moment.max()),
                "limit_n": found.limit,
                "most_n": back.MOST,
                "shear_limit_n": back.SHEAR_LIMIT,
                "above_limit_share": float((found.compression > found.limit).mean()),
                "source": back.SOURCE,
                "valid": back.VALID,
            },
            "strength_use_percent": {name: round(100.0 * peak, 3) for name, peak in use.items()},
            "hardest_joint": max(use, key=lambda name: use[name], default=None),
            "strength_source": strength.SOURCE,
            "strength_valid": strength.VALID,
        }


def assess(
    structure: Structure, motion: AnyMotion, *, tau: ArrayLike | None = None, sex: str | None = None
) -> Ergonomics:
    """Low back and joint strength of a motion with what the person carries: a motion file or its path, or .q, .v, .a.

    `tau` (N, n): the joint torques; without them they follow from the motion with the ground reaction of the two-step
    algorithm. `sex`: for the legs' strength; None is as `human()` named the person.
    """
    motion = joint_motion(structure, motion)
    torque = ground_reaction(structure, motion).tau if tau is None else np.asarray(tau, dtype=float)
    use = strength_use(structure, motion.q, motion.v, torque, sex=sex)
    return Ergonomics(structure.coordinates, low_back(structure, motion), use)
