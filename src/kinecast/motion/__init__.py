"""Motions: positions, velocities and accelerations of a mechanism's joints over time.

>>> q, v, a = kinecast.motion.cycloid(t, [0, -2], [1, -1], duration=0.5)      # profiles in closed form
>>> spline = kinecast.motion.BSpline.fit(t, q, kinecast.motion.uniform_knots(8, 0.5))
>>> recorded = kinecast.motion.read_motion("walk.csv").joint_series(arm.coordinates)
>>> q, v, a = kinecast.motion.splined(t, kinecast.motion.low_pass(t, recorded.q, cutoff=6.0))
"""

from kinecast.motion.bspline import BSpline, Sensitivities, clamped_knots, uniform_knots
from kinecast.motion.files import JointSeries, MotionFile, read_motion
from kinecast.motion.profiles import Profile, cycloid, quintic, trapezoid
from kinecast.motion.recorded import low_pass, splined

__all__ = [
    "BSpline",
    "JointSeries",
    "MotionFile",
    "Profile",
    "Sensitivities",
    "clamped_knots",
    "cycloid",
    "low_pass",
    "quintic",
    "read_motion",
    "splined",
    "trapezoid",
    "uniform_knots",
]
