"""The picture of the README: the fastest motion of a two-link arm, and the torques that make it.

python examples/picture.py docs/images/time_optimal.png
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import kinecast as kc

BLUE, RED = "#1f6fb2", "#d1495b"


def main(path):
    """Draw it."""
    arm = kc.load("planar2").with_gravity([0, 0, 0])
    plan = (
        kc.Prediction(arm, segments=20, duration=(0.1, 3.0), refine=1e-4)
        .start(q=[0, -2])
        .end(q=[1, -1])
        .limit(tau=10)
        .minimize(time=1)
    )
    motion = plan.solve()

    figure = Figure(figsize=(11, 4.2), layout="constrained", dpi=110)
    strip, torques = figure.subplots(1, 2, width_ratios=(1, 1.15))
    t = np.linspace(0, motion.duration, 400)
    q = motion.q(t)
    elbow, tip = (arm.pose(place, q)[:, :2, 3] for place in ("shoulder", "elbow"))  # a body's frame is at its far end
    for k in range(0, 400, 21):
        shade = 0.2 + 0.8 * k / 400
        strip.plot(
            [0, elbow[k, 0], tip[k, 0]], [0, elbow[k, 1], tip[k, 1]], "-o", color=BLUE, alpha=shade, lw=2.2, ms=3
        )
    strip.plot(*tip.T, color=RED, lw=1.4)
    strip.plot(0, 0, "s", color="#333", ms=8)
    strip.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title=f"the fastest way: {motion.duration:.4f} s")
    for k, (name, color) in enumerate(zip(arm.coordinates, (BLUE, RED), strict=True)):
        torques.plot(t, motion.torque(t)[:, k], color=color, lw=2, label=name)
    for limit in (-10, 10):
        torques.axhline(limit, color="#666", ls="--", lw=1)
    torques.set(xlabel="time [s]", ylabel="torque [N m]", title="three switches, found with free knots")
    torques.legend(frameon=False, loc="center right")
    for axis in (strip, torques):
        axis.grid(color="#e5e5e5")
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


if __name__ == "__main__":
    main(sys.argv[1])
