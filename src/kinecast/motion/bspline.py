"""Motions as clamped B-splines of any degree: q(t) = sum of B_i(t, knots) c_i, (39)-(40) of Xiang 2009, (4.13)-(4.14).

The control points c_i have the units of q; knots and times are seconds. Knots may coincide: each repetition takes
away one continuous derivative there (a double knot lets the acceleration of a cubic jump).

Example::

    motion = BSpline.fit(t, q, uniform_knots(segments=8, duration=1.5))
    v = motion(t, derivative=1)
    d = motion.sensitivities(t, derivative=2)          # of the accelerations: d.control, d.knots, d.duration
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinecast.errors import InputError
from kinecast.motion.basis import Array, knot_kernel, local_basis


def uniform_knots(segments: int, duration: float, degree: int = 3) -> Array:
    """Clamped knots (segments + 2 degree + 1,) of equal segments from 0 to `duration` [s]."""
    if segments < 1:
        raise InputError(f"a spline needs 1 or more segments, got {segments}", key="segments")
    if not 0.0 < duration < np.inf:
        raise InputError(f"a spline needs a duration above 0 s, got {duration:g}", key="duration")
    return clamped_knots(np.linspace(0.0, duration, segments + 1), degree=degree)


def clamped_knots(breaks: ArrayLike, multiplicity: Sequence[int] | None = None, degree: int = 3) -> Array:
    """The knots whose distinct values are `breaks` [s]: the ends degree + 1 times, inner ones `multiplicity` times."""
    times = np.asarray(breaks, dtype=float)
    if times.ndim != 1 or len(times) < 2 or not np.all(np.diff(times) > 0.0):
        raise InputError(f"the breaks of a spline must increase, got {times.tolist()}", key="breaks")
    inner = [1] * (len(times) - 2) if multiplicity is None else list(multiplicity)
    if len(inner) != len(times) - 2 or any(not 1 <= m <= degree + 1 for m in inner):
        raise InputError(f"{len(times) - 2} inner knots need a multiplicity of 1 to {degree + 1} each, got {inner}")
    return np.repeat(times, [degree + 1, *inner, degree + 1])


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of a spline (or of its time derivative), at fixed times.

    `control` (times, control points): by any coordinate's control points; the same for every coordinate and batch.
    `knots` (..., times, n, knots): by each knot. `duration` (..., times, n): by the duration, all knots keeping their
    fractions of it.
    """

    control: Array
    knots: Array
    duration: Array


@dataclass(frozen=True, eq=False)
class BSpline:
    """A clamped B-spline: `knots` (control points + degree + 1,) [s], `control` (..., control points, n)."""

    knots: Array
    control: Array
    degree: int = 3

    def __post_init__(self) -> None:
        knots, control = np.asarray(self.knots, dtype=float), np.asarray(self.control, dtype=float)
        if control.ndim < 2 or len(knots) != control.shape[-2] + self.degree + 1:
            raise InputError(
                f"a spline of degree {self.degree} with {len(knots)} knots needs control points (..., "
                f"{len(knots) - self.degree - 1}, n), got an array of shape {control.shape}"
            )
        if np.any(np.diff(knots) < 0.0) or not knots[0] < knots[-1]:
            raise InputError(f"the knots of a spline must not decrease, got {knots.tolist()}", key="knots")
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "control", control)

    @property
    def duration(self) -> float:
        """Seconds from the first knot to the last."""
        return float(self.knots[-1] - self.knots[0])

    @property
    def breaks(self) -> Array:
        """The distinct knots [s]."""
        return np.unique(self.knots)

    def __call__(self, t: ArrayLike, derivative: int = 0) -> Array:
        """Values (..., times, n) of the derivative at the times `t` (times,) [s]; the end polynomials go on outside."""
        weights, index = self._local(np.atleast_1d(np.asarray(t, dtype=float)), derivative)
        values: Array = np.einsum("tj,...tjn->...tn", weights, self.control[..., index, :])
        return values if np.ndim(t) else values[..., 0, :]

    def in_span(self, t: float, span: int, derivative: int = 0) -> Array:
        """Value (..., n) at one time of the polynomial between knots `span` and `span` + 1, wherever the time lies."""
        weights = local_basis(
            self.knots[span + 1 - self.degree : span + 1 + self.degree], np.asarray(t), self.degree, derivative
        )
        return np.asarray(weights[derivative] @ self.control[..., span - self.degree : span + 1, :])

    def matrix(self, t: ArrayLike, derivative: int = 0) -> Array:
        """The constant matrix (times, control points) that turns control points into values."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        weights, index = self._local(times, derivative)
        matrix = np.zeros((len(times), self.control.shape[-2]))
        np.put_along_axis(matrix, index, weights, axis=1)
        return matrix

    def spans(self, t: Array) -> NDArrayInt:
        """Index of the knot that begins each time's span; a time on a knot belongs to the span that begins there."""
        return find_spans(self.knots, t, self.degree)

    def _local(self, t: Array, derivative: int) -> tuple[Array, NDArrayInt]:
        span = self.spans(t)
        around = self.knots[span[:, None] + np.arange(1 - self.degree, self.degree + 1)]
        weights = local_basis(around, t, self.degree, derivative)[:, derivative]
        return weights, span[:, None] + np.arange(-self.degree, 1)

    def sensitivities(self, t: ArrayLike, derivative: int = 0) -> Sensitivities:
        """Exact derivatives of ``self(t, derivative)`` by control points, knots and duration: (41)-(42), (4.15)."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        span = self.spans(times)
        near = span[:, None] + np.arange(1 - self.degree, self.degree + 1)
        _, first, _ = knot_kernel(self.degree, derivative, False).ufunc(self.knots[near], times)
        first = first.reshape(len(times), derivative + 1, self.degree + 1, -1)[:, derivative]
        local = self.control[..., span[:, None] + np.arange(-self.degree, 1), :]
        by_near = np.einsum("tjk,...tjn->...tnk", first, local)
        by_knots = np.zeros((*by_near.shape[:-1], len(self.knots)))
        by_knots[..., np.arange(len(times))[:, None], :, near] = np.moveaxis(by_near, (-3, -1), (0, 1))
        # Of an end knot's repetitions those beyond the near ones have no influence.
        fractions = (self.knots - self.knots[0]) / self.duration
        return Sensitivities(self.matrix(times, derivative), by_knots, by_knots @ fractions)

    @classmethod
    def fit(cls, t: ArrayLike, values: ArrayLike, knots: ArrayLike, degree: int = 3) -> BSpline:
        """The spline on `knots` nearest to `values` (..., times, n) in the least-squares sense, exact at both ends.

        Where samples leave a control point undetermined, the smallest change from a line between the ends is taken.
        """
        times, samples = np.asarray(t, dtype=float), np.asarray(values, dtype=float)
        count = len(np.asarray(knots)) - degree - 1
        first, last = samples[..., :1, :], samples[..., -1:, :]
        line = first + (last - first) * np.linspace(0.0, 1.0, count)[:, None]
        shape = cls(np.asarray(knots, dtype=float), line, degree)
        matrix = shape.matrix(times)
        missing = samples - matrix @ line
        correction = np.zeros_like(line)
        correction[..., 1:-1, :] = np.linalg.pinv(matrix[:, 1:-1]) @ missing
        return cls(shape.knots, line + correction, degree)


NDArrayInt = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


def find_spans(knots: Array, t: Array, degree: int) -> NDArrayInt:
    """For each time the index k with knots[k] <= t < knots[k + 1], among the spans that are not empty."""
    last = int(np.searchsorted(knots, knots[-1], side="left")) - 1
    return np.clip(np.searchsorted(knots, t, side="right") - 1, degree, last)
