"""Figures of a lift: the stick strip with the box, curves over time, the low back beside its limits, strength.

Every figure is a plain `matplotlib.figure.Figure`; angles in degrees, left and right are alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from kinecast.human.contact import body_weight
from kinecast.human.drawing import (
    ACCENTS,
    BAND,
    FORCE,
    INK,
    LOAD,
    RIGHT,
    draw_person,
    drawn,
    places,
    strength_bars,
    tidy,
)
from kinecast.human.ergonomics.low_back import LIMIT, MOST, SHEAR_LIMIT
from kinecast.human.lifting.task import BOARD
from kinecast.human.skeleton import body_mass, zero_position
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    from kinecast.human.lifting.lift import Lift

SNAPSHOTS = 7
ARROW = 0.35  # length of one body weight, as a part of stature


def strip(lift: Lift) -> Figure:
    """Snapshots from the side with the box and the ground's force, the box's path from its start."""
    samples, person, box = lift.samples, lift.person, lift.task.box
    chosen = np.linspace(0, len(samples.t) - 1, SNAPSHOTS).round().astype(int)
    at = places(person, samples.q[chosen], drawn(person))
    height = float(zero_position(person, "head_top")[1])
    weight, step = body_weight(person), 0.72 * height
    figure = Figure(figsize=(13, 3.05), layout="constrained")
    axis = figure.subplots()
    axis.axhline(0, color="#b0b0b0", lw=1.2, zorder=0)
    top = max(height, float(samples.box[:, 1].max()) + 0.5 * box.height)
    for k, frame in enumerate(chosen):
        shift = k * step
        for front, middle in lift.task.boards:
            axis.add_patch(Rectangle((shift + front, middle - 0.5 * BOARD), 0.2 * height, BOARD, color="#9aa3a8", lw=0))
        flat = {place: np.array([shift + x[k, 2], x[k, 1]]) for place, x in at.items()}
        draw_person(axis, flat, near="r", height=height)
        y, z = samples.box[frame, 1:]
        corner = (shift + z - 0.5 * box.depth, y - 0.5 * box.height)
        axis.add_patch(
            Rectangle(corner, box.depth, box.height, facecolor=LOAD, alpha=0.55, edgecolor=LOAD, lw=1.2, zorder=5.5)
        )
        path = samples.box[: frame + 1]
        axis.plot(shift + path[:, 2], path[:, 1], color=LOAD, lw=1.2, ls=(0, (2, 2)), zorder=8)
        force = samples.ground[frame] / weight * ARROW * height
        foot = shift + samples.zmp[frame, 1]
        arrow = {"arrowstyle": "-|>", "color": FORCE, "lw": 1.4}
        axis.annotate("", (foot + force[2], force[1]), (foot, 0), arrowprops=arrow, zorder=9)
        axis.text(shift, top + 0.05 * height, f"{samples.t[frame]:.2f} s", ha="center", fontsize=9, color=INK)
    axis.set_xlim(-0.4 * height, (SNAPSHOTS - 1) * step + 0.45 * height)
    axis.set_ylim(-0.03 * height, top + 0.13 * height)
    axis.set_aspect("equal")
    axis.axis("off")
    return figure


def curves(lift: Lift) -> Figure:
    """Angles, moments per kg of body mass, reactions, zero moment point, the box."""
    samples, person = lift.samples, lift.person
    names, t = person.coordinates, samples.t
    figure = Figure(figsize=(12, 9.4), layout="constrained")
    axes = figure.subplots(3, 3)

    def angle(axis: Axes, rows: dict[str, Array], title: str) -> None:
        for color, (label, values) in zip(ACCENTS, rows.items(), strict=False):
            axis.plot(t, values, color=color, lw=2, label=label)
        _frame(axis, title, t)
        axis.legend(frameon=False, fontsize=8)

    def of(values: Array, name: str, sign: float = 1.0) -> Array:
        return np.asarray(sign * values[:, names.index(name)])

    q, mass = np.rad2deg(samples.q), body_mass(person)
    legs = {"hip": "hip_r.flexion", "knee": "knee_r.flexion", "ankle": "ankle_r.dorsiflexion"}
    angle(axes[0, 0], {key: of(q, name) for key, name in legs.items()}, "legs, flexion [deg]")
    back = lift.ergonomics.low_back
    pelvis = of(q, "pelvis.tilt")
    trunk = {"trunk from the vertical": np.rad2deg(back.torso), "pelvis, forward tilt": pelvis}
    angle(axes[0, 1], trunk, "trunk [deg]")
    arms = {"shoulder": "shoulder_r.flexion", "elbow": "elbow_r.flexion"}
    angle(axes[0, 2], {key: of(q, name) for key, name in arms.items()}, "arms, flexion [deg]")
    extension = {key: of(samples.tau, name, -1.0) / mass for key, name in legs.items()}
    angle(axes[1, 0], extension, "extending moments of a leg [N m/kg]")
    angle(axes[1, 1], {"L5/S1": back.moment / mass}, "extending moment of the low back [N m/kg]")
    flexing = {key: of(samples.tau, name) / mass for key, name in arms.items()}
    angle(axes[1, 2], flexing, "flexing moments of an arm [N m/kg]")
    force = samples.ground / body_weight(person)
    angle(axes[2, 0], {"vertical": force[:, 1], "forward": force[:, 2]}, "ground reaction, both feet [body weights]")
    _balance(axes[2, 1], lift)
    speed = np.linalg.norm(samples.box_velocity, axis=1)
    angle(axes[2, 2], {"height of the hands [m]": samples.box[:, 1], "speed [m/s]": speed}, "box")
    for axis in axes[2]:
        axis.set_xlabel("time [s]", color=INK)
    return figure


def _balance(axis: Axes, lift: Lift) -> None:
    heel, toe = (100 * float(zero_position(lift.person, f"{place}_r")[2]) for place in ("heel", "toe"))
    axis.axhspan(heel, toe, color=BAND, lw=0, alpha=0.6, label="from heel to toe")
    axis.plot(lift.t, 100 * lift.zmp[:, 1], color=RIGHT, lw=2, label="zero moment point")
    _frame(axis, "balance: ahead of the ankles [cm]", lift.t)
    axis.set_ylim(heel - 2, toe + 6)
    axis.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)


def low_back(lift: Lift) -> Figure:
    """Compression and shear at L5/S1 over time, beside the published limits."""
    back, t = lift.ergonomics.low_back, lift.t
    figure = Figure(figsize=(12, 3.4), layout="constrained")
    axes = figure.subplots(1, 2)
    drawn_limits = (
        (axes[0], back.compression, "compression", ((LIMIT, "action limit"), (MOST, "maximum permissible limit"))),
        (axes[1], back.shear, "shear", ((SHEAR_LIMIT, "proposed limit"),)),
    )
    for axis, values, name, limits in drawn_limits:
        axis.plot(t, values, color=RIGHT, lw=2.2)
        for limit, label in limits:
            axis.axhline(limit, color=FORCE, lw=1.2, ls=(0, (5, 2)))
            written = {"xytext": (0, 2), "textcoords": "offset points", "ha": "right", "va": "bottom"}
            axis.annotate(f"{label}, {limit:.0f} N", (t[-1], limit), **written, fontsize=8, color=FORCE)
        _frame(axis, f"{name} at L5/S1 [N]", t)
        axis.set_ylim(0, 1.1 * max(float(values.max()), *(limit for limit, _ in limits)))
        axis.set_xlabel("time [s]", color=INK)
    return figure


def strength(lift: Lift) -> Figure:
    """How much of its strength each joint uses at the most; left and right use the same."""
    use = lift.ergonomics.peak_use()
    one_side = {name.replace("_r.", "."): value for name, value in use.items() if "_l." not in name}
    return strength_bars(dict(sorted(one_side.items(), key=lambda pair: -pair[1])))


def _frame(axis: Axes, title: str, t: Array) -> None:
    axis.set_title(title, fontsize=10, loc="left", color=INK)
    axis.axhline(0, color="#9aa3a8", lw=0.8, zorder=0)
    axis.set_xlim(0, float(t[-1]))
    tidy(axis)
