"""People drawn as sticks, from the side or from behind, and what the figures of their motions share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from kinecast.human.contact import SIDES
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

RIGHT, LEFT, TRUNK, FORCE, BAND, INK = "#1f6fb2", "#8fb8d8", "#37474f", "#d1495b", "#d9dde1", "#444444"
LOAD = "#8d6e63"
ACCENTS = ("#1f6fb2", "#e09f3e", "#2a9d6f")
SIDE_COLOR = {"r": RIGHT, "l": LEFT}
_SPINE = ("pelvis.turn", *(f"spine{k}.flexion" for k in range(1, 5)), "neck1.flexion", "neck2.flexion")
_LIMBS = (("hip_{}.flexion", "knee_{}.flexion", "ankle_{}.dorsiflexion"),
          ("shoulder_{}.flexion", "elbow_{}.flexion", "wrist_{}.flexion", "grip_{}"))  # fmt: skip
_FOOT = ("ankle_{}.dorsiflexion", "heel_{}", "ball_{}", "toe_{}")


def places(structure: Structure, q: Array, wanted: list[str]) -> dict[str, Array]:
    """World positions (N, 3) of points and joints at positions q (N, n): for drawing, without compiling anything."""
    column = {name: k for k, name in enumerate(structure.coordinates)}
    poses: dict[str | None, tuple[Array, Array]] = {None: (np.eye(3)[None], np.zeros((1, 3)))}
    for k in structure.order:
        joint = structure.joints[k]
        rotation, origin = poses[joint.parent]
        origin, rotation = origin + rotation @ joint.before.translation, rotation @ joint.before.rotation
        if joint.moves:
            value = q[:, column[joint.name], None]
            if joint.turns:
                rotation = rotation @ _turning(joint.axis, value)
            else:
                origin = origin + value * (rotation @ joint.axis)
        poses[joint.name] = (rotation @ joint.after.rotation, origin + rotation @ joint.after.translation)
    found = {}
    for name in wanted:
        point = structure.point(name)
        rotation, origin = poses[point.joint]
        found[name] = np.broadcast_to(origin + rotation @ point.at, (len(q), 3))
    return found


def _turning(axis: Array, angle: Array) -> Array:
    """Rotations (N, 3, 3) about an axis by angles (N, 1)."""
    x, y, z = axis
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = angle[..., None]
    return np.asarray(np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * (skew @ skew))


def drawn(person: Structure) -> list[str]:
    """The places that `draw_person` asks for."""
    both = [name.format(side) for side in SIDES for name in (*_LIMBS[0], *_LIMBS[1], *_FOOT)]
    loads = [joint.name for joint in person.joints if joint.name in ("backpack", "load_r", "load_l")]
    return list(dict.fromkeys([*_SPINE, "head_top", *both, *loads]))


def draw_person(axis: Axes, flat: dict[str, Array], near: str, height: float) -> None:
    """One snapshot; limbs of the side that is further away are drawn first."""
    thin = 4.1  # points: of an arm

    def line(names: list[str], color: str, width: float, order: float) -> None:
        x, y = np.array([flat[name] for name in names]).T
        axis.plot(x, y, color=color, lw=width, solid_capstyle="round", solid_joinstyle="round", zorder=order)

    for side in SIDES:
        order, color = (6.0 if side == "r" or near == "both" else 2.0), SIDE_COLOR[side]
        foot = np.array([flat[name.format(side)] for name in _FOOT])
        axis.add_patch(Polygon(foot, facecolor=color, edgecolor=color, lw=1.2, joinstyle="round", zorder=order))
        line([name.format(side) for name in _LIMBS[0]], color, 1.6 * thin, order)
        line([name.format(side) for name in _LIMBS[1]], color, thin, order + (1 if side == "r" else -1))
        line(["spine4.flexion", f"shoulder_{side}.flexion"], TRUNK, thin, 4.0)
        line(["pelvis.turn", f"hip_{side}.flexion"], TRUNK, thin, 4.0)
    line(list(_SPINE), TRUNK, 1.9 * thin, 4.5)
    middle, top = flat["neck2.flexion"], flat["head_top"]
    radius = 0.5 * float(np.hypot(*(top - middle))) + 0.006 * height
    axis.add_patch(Circle((0.5 * (middle + top)).tolist(), radius, color=TRUNK, zorder=5))
    for name in ("backpack", "load_r", "load_l"):
        if name in flat:
            axis.plot(*flat[name], marker="s", ms=9 if name == "backpack" else 6, color=LOAD, zorder=8)


def strength_bars(use: Mapping[str, float], most: int = 14) -> Figure:
    """The largest use of strength of the joints that use most: `use` by name, the largest first, 1 is all of it."""
    shown = list(use.items())[:most][::-1]
    figure = Figure(figsize=(12, 0.24 * len(shown) + 0.8), layout="constrained")
    axis = figure.subplots()
    values = [100 * value for _, value in shown]
    axis.barh(
        [name for name, _ in shown], values, color=[FORCE if value > 99.5 else RIGHT for value in values], height=0.65
    )
    for k, value in enumerate(values):
        axis.text(value + 1, k, f"{value:.0f} %", va="center", fontsize=8, color=INK)
    axis.axvline(100, color=INK, lw=1, ls=(0, (4, 3)))
    axis.set_xlim(0, max(110.0, max(values) + 10))
    axis.set_xlabel("largest torque, percent of the joint's strength", color=INK)
    tidy(axis)
    axis.tick_params(axis="y", length=0, labelsize=8)
    axis.grid(visible=False, axis="y")
    return figure


def tidy(axis: Any) -> None:
    """A light grid, no frame."""
    axis.grid(visible=True, color="#eceff1", lw=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(colors=INK, labelsize=9)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_color("#9aa3a8")
