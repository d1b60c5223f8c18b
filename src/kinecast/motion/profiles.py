"""Point-to-point motions in closed form: cycloidal, quintic, trapezoidal velocity.

Each takes times `t` (times,) [s], the ends `start` and `end` (..., n) and the duration [s], and returns position,
velocity and acceleration (..., times, n), at rest before 0 and after the duration.

>>> q, v, a = cycloid(t, [0.0, -2.0], [1.0, -1.0], duration=0.5)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinecast.errors import InputError
from kinecast.motion.basis import Array


class Profile(NamedTuple):
    """Position, velocity and acceleration, each (..., times, n)."""

    q: Array
    v: Array
    a: Array


def cycloid(t: ArrayLike, start: ArrayLike, end: ArrayLike, duration: float) -> Profile:
    """Saha's (9.36): s - sin(2 pi s) / (2 pi) of the way at the fraction s of the duration."""
    s = _fraction(t, duration)
    turn = 2.0 * np.pi * s
    return _along(
        start, end, duration, s - np.sin(turn) / (2.0 * np.pi), 1.0 - np.cos(turn), 2.0 * np.pi * np.sin(turn)
    )


def quintic(t: ArrayLike, start: ArrayLike, end: ArrayLike, duration: float) -> Profile:
    """The polynomial of degree 5 with no velocity and no acceleration at its ends: 10 s^3 - 15 s^4 + 6 s^5."""
    s = _fraction(t, duration)
    way = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    return _along(start, end, duration, way, 30.0 * s**2 * (1.0 - s) ** 2, 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s))


def trapezoid(t: ArrayLike, start: ArrayLike, end: ArrayLike, duration: float, ramp: float = 1.0 / 3.0) -> Profile:
    """Constant acceleration for the fraction `ramp` of the duration, constant velocity, constant deceleration.

    `ramp` is above 0 and at most 1/2, which leaves no constant velocity. At a corner the later acceleration is given.
    """
    if not 0.0 < ramp <= 0.5:
        raise InputError(f"trapezoid: ramp must be above 0 and at most 0.5, got {ramp:g}", key="ramp")
    s = _fraction(t, duration)
    peak = 1.0 / (1.0 - ramp)
    up, down = s < ramp, s >= 1.0 - ramp
    way = np.where(
        up, 0.5 * peak * s**2 / ramp, np.where(down, 1.0 - 0.5 * peak * (1.0 - s) ** 2 / ramp, peak * (s - ramp / 2.0))
    )
    rate = peak * np.where(up, s / ramp, np.where(down, (1.0 - s) / ramp, 1.0))
    outside = _outside(t, duration)
    return _along(start, end, duration, way, rate, np.where(outside, 0.0, (up * 1.0 - down * 1.0) * peak / ramp))


def _fraction(t: ArrayLike, duration: float) -> Array:
    if not 0.0 < duration < np.inf:
        raise InputError(f"a motion's duration must be above 0 s, got {duration:g}", key="duration")
    return np.clip(np.asarray(t, dtype=float) / duration, 0.0, 1.0)


def _outside(t: ArrayLike, duration: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    times = np.asarray(t, dtype=float)
    return np.asarray((times < 0.0) | (times > duration))


def _along(start: ArrayLike, end: ArrayLike, duration: float, way: Array, rate: Array, bend: Array) -> Profile:
    first, last = np.asarray(start, dtype=float)[..., None, :], np.asarray(end, dtype=float)[..., None, :]
    span = last - first
    return Profile(first + span * way[:, None], span * rate[:, None] / duration, span * bend[:, None] / duration**2)
