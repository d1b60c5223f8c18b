"""Joint torques from the tau columns of a motion file, as a function of time.

Between rows a monotone cubic (PCHIP): smooth, and never outside the two values it joins, so that a torque that switches
between its limits does not overshoot them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from kinecast.errors import InputError, nearest
from kinecast.motion.files import MotionFile, read_motion
from kinecast.motion.spline import Array

# An interval this many times the usual one is a hole in the record; fewer rows than these have no usual interval.
HOLE, ROWS_WITH_A_RHYTHM = 10.0, 10
ROUNDING = 1e-9  # of the time that is asked for: a last row at 1.9999999999 s covers 2 s


def torques_from(
    source: MotionFile | str | os.PathLike[str], coordinates: Sequence[str], until: float
) -> Callable[[float], Array]:
    """t -> tau (n,) [N m or N] for the named coordinates, from 0 to `until` s, which the file must cover."""
    from scipy.interpolate import PchipInterpolator

    file = source if isinstance(source, MotionFile) else read_motion(source)
    t = file.times()
    _refuse_wrong_columns(file, coordinates)
    tau = np.stack([file.numbers(f"tau.{name}") for name in coordinates], axis=-1)
    _refuse_gaps(file, t, until)
    interpolant = PchipInterpolator(t, tau)
    first, last = float(t[0]), float(t[-1])

    def torque(at: float) -> Array:
        values: Array = interpolant(min(max(at, first), last))
        return values

    return torque


def _refuse_wrong_columns(file: MotionFile, coordinates: Sequence[str]) -> None:
    wanted = [f"tau.{name}" for name in coordinates]
    given = [column for column in file.header if column.startswith("tau.")]
    strange = [column for column in given if column not in wanted]
    missing = [column for column in wanted if column not in given]
    if strange:
        close = nearest(strange[0], missing)
        right = f"did you mean {close}?" if close else f"its torques are {', '.join(wanted)}"
        raise InputError(f"{file.source}: column {strange[0]} names no coordinate of the mechanism; {right}")
    if missing:
        hint = "" if given else "; `kinecast id` computes torques from a motion"
        raise InputError(f"{file.source}: there is no column {missing[0]}{hint}")


def _refuse_gaps(file: MotionFile, t: Array, until: float) -> None:
    if len(t) < 2:
        raise InputError(f"{file.source}: one row is not enough for torques over time")
    slack = ROUNDING * until
    if t[0] > slack or t[-1] < until - slack:
        raise InputError(
            f"{file.source}: has torques from t = {t[0]:g} to {t[-1]:g} s, the simulation goes from 0 to {until:g} s"
        )
    steps = np.diff(t)
    widest, usual = int(steps.argmax()), float(np.median(steps))
    if len(t) >= ROWS_WITH_A_RHYTHM and steps[widest] > HOLE * usual:
        raise InputError(
            f"{file.source}: a gap from t = {t[widest]:g} (line {file.lines[widest]}) to t = {t[widest + 1]:g} s "
            f"(line {file.lines[widest + 1]}), where rows are {usual:g} s apart; add the rows that are missing"
        )
