"""Figures of a walk: the stick strip, curves over a stride beside normal gait, foot prints, trunk and arms, strength.

Every figure is a plain `matplotlib.figure.Figure`. Right side dark, left side light; percent of the stride from right
heel strike; angles in degrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from kinecast.human.contact import SIDE_NAMES, SIDES, body_weight
from kinecast.human.drawing import (
    ACCENTS,
    BAND,
    FORCE,
    INK,
    RIGHT,
    SIDE_COLOR,
    TRUNK,
    draw_person,
    drawn,
    places,
    strength_bars,
    tidy,
)
from kinecast.human.walking.gait import Curves, Normal, normal_curves
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    from kinecast.human.walking.walk import Walk

SNAPSHOTS = 9
ARROW = 0.45  # length of one body weight, as a part of stature


def strip(walk: Walk) -> Figure:
    """Snapshots over one stride with the ground's forces: from the side, and from behind."""
    samples, person = walk.samples, walk.person
    percent = np.linspace(0, 100, SNAPSHOTS)
    chosen = np.interp(percent, np.linspace(0, 100, len(samples.t)), np.arange(len(samples.t))).round().astype(int)
    at = places(person, samples.q[chosen], drawn(person))
    height = float(at["head_top"][:, 1].max())
    weight, step = body_weight(person), 0.6 * height
    figure = Figure(figsize=(13, 6.1), layout="constrained")
    for axis, across, name in zip(figure.subplots(2, 1), (2, 0), ("from the side", "from behind"), strict=True):
        sign = 1.0 if across == 2 else -1.0  # seen from behind, the person's right is on the right
        axis.axhline(0, color="#b0b0b0", lw=1.2, zorder=0)
        for k, frame in enumerate(chosen):
            middle = at["pelvis.turn"][k, across]
            flat = {p: np.array([k * step + sign * (x[k, across] - middle), x[k, 1]]) for p, x in at.items()}
            draw_person(axis, flat, near="r" if across == 2 else "both", height=height)
            for side in SIDES:
                force, pressure = samples.reaction[side][frame, :3] / weight, samples.pressure(side)[frame]
                if force[1] > 0.03:
                    foot = k * step + sign * ((pressure[1] if across == 2 else pressure[0]) - middle)
                    tip = (foot + sign * force[across] * ARROW * height, force[1] * ARROW * height)
                    arrow = {"arrowstyle": "-|>", "color": FORCE, "lw": 1.4}
                    axis.annotate("", tip, (foot, 0), arrowprops=arrow, zorder=9)
            if across == 2:
                axis.text(k * step, 1.06 * height, f"{percent[k]:.3g} %", ha="center", fontsize=9, color=INK)
        axis.set_xlim(-0.6 * step, (SNAPSHOTS - 0.4) * step)
        axis.set_ylim(-0.03 * height, 1.12 * height)
        axis.set_aspect("equal")
        axis.axis("off")
        axis.text(-0.6 * step, 0.5 * height, name, fontsize=10, color=INK, rotation=90, va="center")
    return figure


def curves(walk: Walk) -> Figure:
    """Joint angles, moments, ground reactions and joint forces over one stride, beside normal gait."""
    curve = Curves.of(walk.person, walk.samples)
    normal = {each.name: each for each in normal_curves()}
    figure = Figure(figsize=(12, 12.2), layout="constrained")
    axes = figure.subplots(4, 3)
    for k, joint in enumerate(("hip", "knee", "ankle")):
        _against(axes[0, k], curve, f"{joint}_angle", normal)
        _against(axes[1, k], curve, f"{joint}_moment", normal)
        _plain(axes[3, k], curve, curve.joint_force[joint], f"force in the {joint}", "body weights")
    _against(axes[2, 0], curve, "vertical_force", normal)
    _against(axes[2, 1], curve, "fore_aft_force", normal)
    _plain(axes[2, 2], curve, curve.force["lateral"], "inward ground reaction", "body weights")
    for axis in axes[3]:
        axis.set_xlabel("percent of the stride", color=INK)
        axis.set_ylim(bottom=0)
    lines = [axes[0, 0].get_lines()[0], *[line for line in axes[0, 0].get_lines() if line.get_label() == "normal"]]
    handles = [*lines, axes[0, 0].collections[0]]
    labels = ["predicted, right side", "normal gait, mean", "spread between groups of healthy people"]
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=10)
    return figure


def prints(walk: Walk) -> Figure:
    """Foot prints from above, the path of the zero moment point and the centres of pressure."""
    samples = walk.samples
    figure = Figure(figsize=(12, 1.75), layout="constrained")
    axis = figure.subplots()
    for side, when, shift in _standing(walk):
        sole = samples.corners[side][when][:, [2, 0]] + np.array([shift, 0.0])
        axis.add_patch(Polygon(sole, facecolor=SIDE_COLOR[side], alpha=0.15 if shift else 0.4, edgecolor="none"))
        axis.add_patch(Polygon(sole, facecolor="none", edgecolor=SIDE_COLOR[side], lw=1.2, ls=":" if shift else "-"))
    for side in SIDES:
        pressure = samples.pressure(side)
        label = f"centre of pressure, {SIDE_NAMES[side]}"
        axis.plot(pressure[:, 1], pressure[:, 0], color=SIDE_COLOR[side], lw=2.6, label=label)
    breaks = np.flatnonzero(np.hypot(*np.diff(samples.zmp, axis=0).T) > 0.03)
    zmp = np.insert(samples.zmp, breaks + 1, np.nan, axis=0)
    axis.plot(zmp[:, 1], zmp[:, 0], color=FORCE, lw=1.3, label="zero moment point")
    forward, left = (walk.q[:, walk.person.coordinates.index(f"pelvis.{way}")] for way in ("forward", "left"))
    axis.plot(forward, left, color=TRUNK, lw=1, ls=(0, (4, 3)), label="pelvis")
    axis.set_aspect("equal")
    axis.set_xlabel("forward [m]", color=INK)
    axis.set_ylabel("left [m]", color=INK)
    axis.margins(0.02, 0.1)
    tidy(axis)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
    return figure


def trunk_and_arms(walk: Walk) -> Figure:
    """Pelvis, trunk against the world, shoulders and elbows."""
    names, q = walk.person.coordinates, np.rad2deg(walk.q)
    percent = Curves.of(walk.person, walk.samples).percent

    def total(motion: str) -> Array:
        moving = [f"spine{k}.{motion}" for k in range(1, 5) if f"spine{k}.{motion}" in names]
        return np.asarray(q[:, [names.index(name) for name in moving]].sum(axis=1))

    ways = (
        ("tilt", "flexion", "forward tilt"),
        ("list", "lateral", "list to the right"),
        ("turn", "rotation", "turn to the left"),
    )
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    axes = figure.subplots(1, 3)
    for color, (pelvis, spine, label) in zip(ACCENTS, ways, strict=True):
        own = q[:, names.index(f"pelvis.{pelvis}")]
        axes[0].plot(percent, own, color=color, lw=1.8, label=label)
        axes[1].plot(percent, own + total(spine), color=color, lw=1.8, label=label)
    for side, color in SIDE_COLOR.items():
        for joint, style in (("shoulder", "-"), ("elbow", "--")):
            if f"{joint}_{side}.flexion" in names:
                angle, label = q[:, names.index(f"{joint}_{side}.flexion")], f"{joint}, {SIDE_NAMES[side]}"
                axes[2].plot(percent, angle, color=color, lw=1.8, ls=style, label=label)
    for axis, title in zip(axes, ("pelvis", "thorax", "arms (flexion)"), strict=True):
        _frame(axis, f"{title} [deg]")
        axis.set_xlabel("percent of the stride", color=INK)
        columns = 2 if axis is axes[2] else 3
        axis.legend(frameon=False, fontsize=8, ncols=columns, loc="upper center", bbox_to_anchor=(0.5, -0.22))
    return figure


def strength(walk: Walk) -> Figure:
    """How much of its strength each joint uses at the most."""
    return strength_bars(walk.gait["strength_use"])


# ---------------------------------------------------------------------------------------------------------- the pieces


def _standing(walk: Walk) -> list[tuple[str, int, float]]:
    """The stride's foot prints: side, a sample at which that foot is flat, how far the print is from there [m]."""
    samples, phases = walk.samples, walk.task.phases
    step, flat = samples.t[-1] / 2, 0.5 * (phases.foot_flat + phases.heel_off)
    first, second = (int(np.argmin(np.abs(samples.t - step * (k + flat)))) for k in (0, 1))
    stride = 2 * walk.task.step_length
    return [("r", first, 0.0), ("l", second, 0.0), ("l", second, -stride), ("r", first, stride)]


def _against(axis: Axes, curve: Curves, name: str, normal: dict[str, Normal]) -> None:
    reference, percent = normal[name], np.linspace(0, 100, 201)
    mean = reference.at(percent)
    axis.plot(curve.percent, curve.named(name), color=RIGHT, lw=2.2, zorder=4, label="predicted")
    spread = reference.band * (normal["vertical_force"].at(percent) > 0.005 if name.endswith("force") else 1.0)
    axis.fill_between(percent, mean - spread, mean + spread, color=BAND, lw=0, zorder=1)
    axis.plot(percent, mean, color="#7d868c", lw=1.2, ls=(0, (5, 2)), zorder=2, label="normal")
    _frame(axis, f"{reference.title} [{reference.unit}]")
    _toe_off(axis, curve)


def _plain(axis: Axes, curve: Curves, values: Array, title: str, unit: str) -> None:
    axis.plot(curve.percent, values, color=RIGHT, lw=2.2, zorder=4)
    _frame(axis, f"{title} [{unit}]")
    _toe_off(axis, curve)


def _toe_off(axis: Axes, curve: Curves) -> None:
    axis.axvline(curve.stance()[-1], color="#9aa3a8", lw=1, zorder=0)


def _frame(axis: Axes, title: str) -> None:
    axis.set_title(title, fontsize=10, loc="left", color=INK)
    axis.axhline(0, color="#9aa3a8", lw=0.8, zorder=0)
    axis.set_xlim(0, 100)
    tidy(axis)
