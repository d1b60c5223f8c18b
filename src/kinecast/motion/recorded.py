"""Recorded motions: their velocities and accelerations, noise taken away, other times.

Times are (times,) [s] and increase; positions (..., times, n). The splines are the cubic not-a-knot ones of `spline`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinecast.errors import InputError
from kinecast.motion.basis import Array
from kinecast.motion.profiles import Profile
from kinecast.motion.spline import cubic

ORDER = 4  # of the filter as a whole: a Butterworth filter of order 2, forth and back
EVEN = 1e-6  # of the mean step: steps that differ by less are equal but for how they were written down


def splined(t: ArrayLike, q: ArrayLike, at: ArrayLike | None = None) -> Profile:
    """Position, velocity and acceleration of the spline through the samples, at their times or at those in `at`.

    >>> q, v, a = splined(t, recorded, at=np.linspace(t[0], t[-1], 1000))
    """
    times, positions = _checked(t, q, at_least=2)
    wanted = times if at is None else np.atleast_1d(np.asarray(at, dtype=float))
    if wanted.ndim != 1 or wanted.min(initial=np.inf) < times[0] or wanted.max(initial=-np.inf) > times[-1]:
        raise InputError(f"splined: at must be times (times,) from {times[0]:g} to {times[-1]:g} s", key="at")
    return Profile(*(_unfolded(x, positions) for x in cubic(times, _folded(positions), wanted)))


def low_pass(t: ArrayLike, q: ArrayLike, cutoff: float) -> Array:
    """The positions (..., times, n) without what is faster than `cutoff` [Hz]: Butterworth, order 4, no delay.

    At the cutoff half of the power is left, 0.71 of the amplitude. Samples that are not evenly spaced in time are
    splined to ones that are, and back. For recorded walking 6 Hz is usual.
    """
    from scipy.signal import butter, sosfiltfilt

    times, positions = _checked(t, q, at_least=3 * ORDER)
    step = (times[-1] - times[0]) / (len(times) - 1)
    if not 0.0 < cutoff < 0.5 / step:
        raise InputError(
            f"low_pass: cutoff must be above 0 and below {0.5 / step:g} Hz, half of the sampling rate, got {cutoff:g}",
            key="cutoff",
        )
    even = times[0] + step * np.arange(len(times))
    evenly = bool(np.abs(times - even).max() < EVEN * step)
    samples = _folded(positions)
    if not evenly:
        samples = cubic(times, samples, np.minimum(even, times[-1]))[0]
    # Forth and back the filter acts twice, each time leaving half of the power at a cutoff of its own further up.
    own = np.arctan(np.tan(np.pi * cutoff * step) * (np.sqrt(2.0) - 1.0) ** (-1.0 / ORDER)) / (0.5 * np.pi)
    smooth = sosfiltfilt(butter(ORDER // 2, own, output="sos"), samples, axis=0)
    return _unfolded(smooth if evenly else cubic(even, smooth, np.clip(times, even[0], even[-1]))[0], positions)


def _checked(t: ArrayLike, q: ArrayLike, at_least: int) -> tuple[Array, Array]:
    times, positions = np.asarray(t, dtype=float), np.asarray(q, dtype=float)
    if times.ndim != 1 or positions.ndim < 2 or positions.shape[-2] != len(times):
        raise InputError(
            f"a recorded motion has times (times,) and positions (..., times, n), got shapes {times.shape} and "
            f"{positions.shape}"
        )
    if len(times) < at_least:
        raise InputError(f"a recorded motion needs {at_least} samples or more for this, got {len(times)}")
    if not np.all(np.diff(times) > 0.0) or not np.isfinite(positions).all():
        raise InputError("a recorded motion needs times that increase and positions that are finite numbers")
    return times, positions


def _folded(x: Array) -> Array:
    """(..., times, n) as (times, columns)."""
    return np.moveaxis(x, -2, 0).reshape(x.shape[-2], -1)


def _unfolded(columns: Array, like: Array) -> Array:
    """(times, columns) as (..., times, n), all other axes as those of `like`."""
    shape = (len(columns), *like.shape[:-2], like.shape[-1])
    return np.ascontiguousarray(np.moveaxis(columns.reshape(shape), 0, -2))
