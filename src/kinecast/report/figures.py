"""Figures of a predicted motion: trajectories, torques with limits, joint forces, iterations, the mechanism.

Every figure is a plain `matplotlib.figure.Figure`: nothing opens a window, nothing depends on a display. Angles in
degrees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from kinecast.motion.basis import Array
from kinecast.predict.limits import COMPONENTS
from kinecast.predict.result import Motion, Samples

COLORS = ("#1f6fb2", "#d1495b", "#2a9d6f", "#e09f3e", "#6d4c9f", "#3d5a5b", "#a23b72", "#7a7a2b")
WIDTH, HEIGHT = 7.5, 2.7  # of one panel, inches
SMALL = 1.7  # height of one of many panels
MANY = 4  # panels in one column; more stand in two
NEAR = 0.25  # of the room between its limits: how near a curve must come to one for it to be drawn
SNAPSHOTS = 9
MOST_NAMES = 12  # a legend of more is no help


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves that share an axis: names, values (N, curves), limits (curves, 2) or None, and what the axis says."""

    names: Sequence[str]
    values: Array
    label: str
    limits: Array | None = None


def overview(motion: Motion) -> Figure:
    """Everything in one figure."""
    samples = motion.sample()
    panels = [*trajectory_panels(motion, samples), *torque_panels(motion, samples), *force_panels(motion, samples)]
    tall = [1.0] * (len(panels) + 1) + [2.0]  # the strip twice as tall
    figure = _figure(len(tall) + 1, HEIGHT if len(panels) <= MANY else SMALL)
    axes = figure.subplots(len(tall), 1, height_ratios=tall)
    for axis, panel in zip(axes, panels, strict=False):
        _draw(axis, samples.t, panel)
    _draw_history(axes[-2], motion)
    _draw_strip(axes[-1], motion)
    return figure


def sections(motion: Motion) -> list[tuple[str, Figure]]:
    """(heading, figure) of the report."""
    samples = motion.sample()
    made: list[tuple[str, Figure]] = [("The motion", _single(lambda axis: _draw_strip(axis, motion), 2.0))]
    for heading, panels in (
        ("Trajectories", trajectory_panels(motion, samples)),
        ("Torques and forces of the drives", torque_panels(motion, samples)),
        ("Forces in the joints", force_panels(motion, samples)),
    ):
        made.append((heading, _stacked(samples.t, panels)))
    made.append(("Iterations", _single(lambda axis: _draw_history(axis, motion))))
    return made


def trajectory_panels(motion: Motion, samples: Samples) -> list[Panel]:
    """Positions and velocities, turning and sliding coordinates apart."""
    panels = []
    for what, values, limits in (
        ("q", samples.q, motion.task.q_limits),
        ("v", samples.v, motion.task.v_limits),
    ):
        for turning in (True, False):
            chosen = [k for k, joint in enumerate(motion.task.structure.movable) if joint.turns == turning]
            if chosen:
                factor = 180.0 / np.pi if turning else 1.0
                unit = {"q": "deg" if turning else "m", "v": "deg/s" if turning else "m/s"}[what]
                names = [motion.task.structure.coordinates[k] for k in chosen]
                word = "position" if what == "q" else "velocity"
                panels.append(Panel(names, values[:, chosen] * factor, f"{word} [{unit}]", limits[chosen] * factor))
    return panels


def torque_panels(motion: Motion, samples: Samples) -> list[Panel]:
    """Torques of turning and forces of sliding joints, with their limits; a panel each where these differ."""
    panels = []
    for unit, word in (("N m", "torque"), ("N", "force")):
        chosen = [k for k, own in enumerate(motion.task.units["tau"]) if own == unit]
        limits = motion.task.tau_limits[chosen]
        alike = bool((limits == limits[:1]).all()) or len(chosen) > MOST_NAMES
        for group in [chosen] if alike else [[k] for k in chosen]:
            names = [motion.task.structure.coordinates[k] for k in group]
            if names:
                panels.append(Panel(names, samples.tau[:, group], f"{word} [{unit}]", motion.task.tau_limits[group]))
    return panels


def force_panels(motion: Motion, samples: Samples) -> list[Panel]:
    """Size of the force that each joint transmits; of joints with limits on their loads, the components as well."""
    joints = motion.task.structure.joints
    names = [joint.name for joint in joints]
    panels = [Panel(names, np.linalg.norm(samples.loads[:, :, 3:], axis=2), "force in the joint [N]")]
    for k, name in enumerate(names):
        own = {component: limit for joint, component, *limit in motion.task.load_limits if joint == k}
        for word, unit, components in (("force", "N", (3, 4, 5)), ("moment", "N m", (0, 1, 2))):
            chosen = [c for c in components if c in own]
            if chosen:
                words = [f"{name}.{COMPONENTS[c]}" for c in chosen]
                limits = np.array([own[c] for c in chosen])
                panels.append(Panel(words, samples.loads[:, k, chosen], f"{word} in {name} [{unit}]", limits))
    return panels


def _figure(panels: int, height: float = HEIGHT) -> Figure:
    return Figure(figsize=(WIDTH, height * panels), layout="constrained")


def _single(draw: Callable[[Axes], None], tall: float = 1.0) -> Figure:
    figure = _figure(1, HEIGHT * tall)
    draw(figure.subplots())
    return figure


def _stacked(t: Array, panels: Sequence[Panel]) -> Figure:
    """Panels below each other; many of them smaller, in two columns."""
    columns = 1 if len(panels) <= MANY else 2
    rows = -(-len(panels) // columns)
    figure = _figure(rows, HEIGHT if columns == 1 else SMALL)
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axis, panel in zip(axes.ravel(), panels, strict=False):
        _draw(axis, t, panel)
    for axis in axes.ravel()[len(panels) :]:
        axis.set_visible(False)
    for column in axes.T:
        shown = [axis for axis in column if axis.get_visible()]
        for axis in shown[:-1]:
            axis.set_xlabel("")
        shown[-1].tick_params(labelbottom=True)
    return figure


def _draw(axis: Axes, t: Array, panel: Panel) -> None:
    for k, name in enumerate(panel.names):
        axis.plot(t, panel.values[:, k], color=COLORS[k % len(COLORS)], lw=1.6, label=name)
    _draw_limits(axis, panel)
    axis.set_xlabel("time [s]")
    axis.set_ylabel(panel.label)
    axis.set_xlim(t[0], t[-1])
    axis.margins(y=0.08)
    _tidy(axis)
    if len(panel.names) == 1:
        axis.set_title(panel.names[0], fontsize=9, loc="left", color="#555555")
    elif len(panel.names) <= MOST_NAMES:
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)


def _draw_limits(axis: Axes, panel: Panel) -> None:
    """Dashed lines; those that no curve comes near would only flatten the curves."""
    if panel.limits is None:
        return
    shared = len({tuple(limit) for limit in panel.limits.tolist()}) == 1
    for k, limit in enumerate(panel.limits):
        curves = panel.values if shared else panel.values[:, k]
        low, high = float(curves.min()), float(curves.max())
        room = limit[1] - limit[0] if np.isfinite(limit).all() else max(high - low, 1e-9)
        for value, gap in ((limit[0], low - limit[0]), (limit[1], limit[1] - high)):
            if np.isfinite(value) and gap <= NEAR * room:
                color = "#555555" if shared else COLORS[k % len(COLORS)]
                axis.axhline(value, color=color, lw=1.0, ls=(0, (5, 3)))
        if shared:
            break


def _draw_history(axis: Axes, motion: Motion) -> None:
    objective = np.array([value for value, _ in motion.history])
    violation = np.array([value for _, value in motion.history])
    number = np.arange(len(objective))
    axis.plot(number, objective, color=COLORS[0], lw=1.6, marker=".", ms=4)
    axis.set_xlabel("iteration")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylabel("objective", color=COLORS[0])
    _tidy(axis)
    other = axis.twinx()
    other.semilogy(number, np.maximum(violation, 1e-12), color=COLORS[1], lw=1.2, marker=".", ms=4)
    other.set_ylabel("violation / limit", color=COLORS[1])
    other.spines["top"].set_visible(False)


def _draw_strip(axis: Axes, motion: Motion) -> None:
    """Snapshots of the mechanism, from light to dark, in the plane that shows most of it; the ends' paths."""
    t = np.linspace(0.0, motion.duration, SNAPSHOTS)
    fine = np.linspace(0.0, motion.duration, 121)
    joints = motion.task.structure.joints
    places = {joint.name: motion.mechanism.pose(joint.name, motion.q(t))[..., :3, 3] for joint in joints}
    everything = np.concatenate([np.zeros((1, 3)), *places.values()])
    first, second = sorted(np.argsort(-np.ptp(everything, axis=0), kind="stable")[:2].tolist())
    parents = {joint.parent for joint in joints}
    for joint in joints:
        if joint.name not in parents:
            path = motion.mechanism.pose(joint.name, motion.q(fine))[..., :3, 3]
            axis.plot(path[:, first], path[:, second], color=COLORS[1], lw=1.0)
    for k in range(SNAPSHOTS):
        shade = 0.25 + 0.75 * k / (SNAPSHOTS - 1)
        for joint in joints:
            start = np.zeros(3) if joint.parent is None else places[joint.parent][k]
            end = places[joint.name][k]
            x, y = [start[first], end[first]], [start[second], end[second]]
            axis.plot(x, y, color=COLORS[0], alpha=shade, lw=2.2, marker="o", ms=3.5, solid_capstyle="round")
    axis.plot(0.0, 0.0, marker="s", color="#333333", ms=7)
    axis.set_aspect("equal", adjustable="datalim")
    axis.set_xlabel(f"{'xyz'[first]} [m]")
    axis.set_ylabel(f"{'xyz'[second]} [m]")
    axis.set_title(f"every {t[1] - t[0]:.3g} s, from light to dark", fontsize=9, loc="left", color="#555555")
    _tidy(axis)


def _tidy(axis: Axes) -> None:
    axis.grid(visible=True, color="#e4e4e4", lw=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
