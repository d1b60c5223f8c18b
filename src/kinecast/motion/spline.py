"""Velocities and accelerations of sampled positions, by a cubic spline through the samples.

The spline is the not-a-knot one: its third derivative is continuous at the second and at the last but one sample, so
that it is exact for cubic motions and does not force the acceleration to zero at the ends, as the natural spline does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def derivatives(t: Array, x: Array) -> tuple[Array, Array]:
    """First and second time derivative, each (N, columns), of the spline through `x` (N, columns) at its samples.

    `t` (N,) [s] increases. Two samples make a straight line and three a parabola. Units: those of `x` a second, and a
    second squared.
    """
    h = np.diff(t)[:, None]
    slope = np.diff(x, axis=0) / h
    second = _second_derivatives(h, slope)
    first = np.empty_like(x)
    first[:-1] = slope - h * (2.0 * second[:-1] + second[1:]) / 6.0
    first[-1] = slope[-1] + h[-1] * (second[-2] + 2.0 * second[-1]) / 6.0
    return first, second


def _second_derivatives(h: Array, slope: Array) -> Array:
    """Second derivatives at the samples, from the intervals `h` (N - 1, 1) and the chords' slopes (N - 1, columns)."""
    intervals = len(h)
    second = np.zeros((intervals + 1, slope.shape[1]))
    if intervals == 2:
        second[:] = 2.0 * (slope[1] - slope[0]) / (h[0] + h[1])
    if intervals <= 2:
        return second
    # The first derivative is continuous at each inner sample k: with s the second derivatives,
    # h_k-1 s_k-1 + 2 (h_k-1 + h_k) s_k + h_k s_k+1 = 6 (slope_k - slope_k-1).
    below, diagonal, above = h[:-1].copy(), 2.0 * (h[:-1] + h[1:]), h[1:].copy()
    right = 6.0 * np.diff(slope, axis=0)
    # Not-a-knot writes each end value as an extrapolation of its two neighbours, which removes it from the system.
    first_ratio, last_ratio = h[0] / h[1], h[-1] / h[-2]
    diagonal[0] += h[0] * (1.0 + first_ratio)
    above[0] -= h[0] * first_ratio
    diagonal[-1] += h[-1] * (1.0 + last_ratio)
    below[-1] -= h[-1] * last_ratio
    second[1:-1] = _solve_tridiagonal(below, diagonal, above, right)
    second[0] = (1.0 + first_ratio) * second[1] - first_ratio * second[2]
    second[-1] = (1.0 + last_ratio) * second[-2] - last_ratio * second[-3]
    return second


def _solve_tridiagonal(below: Array, diagonal: Array, above: Array, right: Array) -> Array:
    """Solve for every column of `right`; `below[0]` and `above[-1]` lie outside the matrix.

    There is no pivoting: the diagonal of a spline's matrix dominates.
    """
    pivot: Array = diagonal.copy()
    solution: Array = right.copy()
    for k in range(1, len(pivot)):
        factor = below[k] / pivot[k - 1]
        pivot[k] -= factor * above[k - 1]
        solution[k] -= factor * solution[k - 1]
    solution[-1] /= pivot[-1]
    for k in reversed(range(len(pivot) - 1)):
        solution[k] = (solution[k] - above[k] * solution[k + 1]) / pivot[k]
    return solution


def cubic(t: Array, x: Array, at: Array) -> tuple[Array, Array, Array]:
    """Value, first and second derivative, each (M, columns), at times `at` (M,) of the spline through x (N, columns).

    Outside the samples the first and the last cubic go on.
    """
    h = np.diff(t)[:, None]
    slope = np.diff(x, axis=0) / h
    second = _second_derivatives(h, slope)
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    u, width = (at - t[k])[:, None], h[k]
    jerk = (second[k + 1] - second[k]) / width
    rate = slope[k] - width * (2.0 * second[k] + second[k + 1]) / 6.0
    value = x[k] + u * (rate + u * (0.5 * second[k] + u * jerk / 6.0))
    return value, rate + u * (second[k] + 0.5 * u * jerk), second[k] + u * jerk
