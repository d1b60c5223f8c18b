"""Uniform rods in a plane, each turning about the end of the one before: what textbooks have closed forms for."""

from kinecast.mechanism import Joint, Structure
from kinecast.mechanism.joints import DH


def rods(lengths, masses, gravity=(0.0, -9.81, 0.0)):
    """A chain of rods along x of their frames at the far end: moment m a^2 / 12 about the middle, joints along z."""
    joints = [
        Joint.from_dh(
            f"rod{i}",
            DH(a=a),
            parent=f"rod{i - 1}" if i else None,
            mass=m,
            com=[-a / 2, 0, 0],
            inertia=[0, m * a**2 / 12, m * a**2 / 12, 0, 0, 0],
        )
        for i, (a, m) in enumerate(zip(lengths, masses, strict=True))
    ]
    return Structure("rods", tuple(joints), gravity=gravity)
