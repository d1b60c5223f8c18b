"""Figures of the worked examples, written where the user asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kinecast.mechanism.checks import Array


def save_curves(
    folder: Path | None, name: str, t: Array, curves: Array, names: Sequence[str], label: str, title: str
) -> None:
    """Write `name`.png with the columns of `curves` (times, n) over the time t [s]; no folder: nothing."""
    if folder is None:
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 1.7 * len(names)), layout="constrained")
    axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for axis, curve, coordinate in zip(axes, curves.T, names, strict=True):
        axis.plot(t, curve, linewidth=1.2)
        axis.set_ylabel(coordinate)
        axis.grid(alpha=0.3)
    axes[-1].set_xlabel("t [s]")
    figure.suptitle(f"{title}: {label}")
    figure.savefig(folder / f"{name}.png", dpi=120)
