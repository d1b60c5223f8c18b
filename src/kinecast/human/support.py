"""Where a standing person may be loaded: the support polygon, the distance from its edge, the friction cone.

polygon = support_polygon(corners)                 # (k, 2), counter-clockwise
distance, by_point, weights = polygon_margin(zero_moment_point, polygon)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinecast.mechanism.checks import Array

# A foot that carries less than this [N] asks nothing of friction.
LEAST_FORCE = 1e-9
Indices = NDArray[np.intp]
_SAME_PLACE = 12  # decimals of a metre


class Margin(NamedTuple):
    """Distance inside a polygon, and what it changes with.

    When the point moves by dp and the corners by dc, the distance changes by ``by_point @ (dp - weights @ dc)``.
    """

    distance: float
    by_point: Array  # (2,)
    weights: Array  # (corners,)


def convex_hull(points: Array) -> Indices:
    """Indices of the corners of the convex hull of points (m, 2), counter-clockwise; one or two: a point, a line."""
    _, order = np.unique(np.round(points, _SAME_PLACE), axis=0, return_index=True)
    if len(order) < 3:
        return order

    def half(sequence: Indices) -> list[int]:
        chain: list[int] = []
        for k in sequence:
            while len(chain) >= 2 and _turn(points[chain[-2]], points[chain[-1]], points[k]) <= 0:
                chain.pop()
            chain.append(int(k))
        return chain

    lower, upper = half(order), half(order[::-1])
    return np.array(lower[:-1] + upper[:-1], dtype=np.intp)


def support_polygon(points: Array) -> Array:
    """Corners (k, 2) of the convex hull of points (m, 2), counter-clockwise."""
    points = np.asarray(points, dtype=float)
    return np.asarray(points[convex_hull(points)])


def polygon_margin(point: Array, polygon: Array) -> Margin:
    """Distance of a point (2,) inside a convex polygon (k, 2), negative outside."""
    count = len(polygon)
    starts, ends = polygon, np.roll(polygon, -1, axis=0)
    along = ends - starts
    length2 = np.einsum("ij,ij->i", along, along)
    where = np.einsum("ij,ij->i", point - starts, along) / np.where(length2 > 0, length2, 1.0)
    inward = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.sqrt(np.where(length2 > 0, length2, 1.0))[:, None]
    inside = np.einsum("ij,ij->i", point - starts, inward)
    weights = np.zeros(count)
    if count >= 3 and inside.min() >= 0:
        k = int(np.argmin(inside))
        distance, gradient = float(inside[k]), inward[k]
    else:
        where = np.clip(where, 0.0, 1.0)
        away = point - starts - where[:, None] * along
        k = int(np.argmin(np.hypot(away[:, 0], away[:, 1])))
        size = float(np.hypot(*away[k]))
        distance, gradient = -size, -away[k] / size if size else np.zeros(2)
    weights[k] += 1 - where[k]
    weights[(k + 1) % count] += where[k]
    return Margin(distance, gradient, weights)


def friction_use(force: Array) -> Array:
    """Horizontal over vertical force (N,) of forces (N, 3): the friction that a foot needs; 0 where it is unloaded."""
    horizontal, vertical = np.hypot(force[:, 0], force[:, 2]), force[:, 1]
    loaded = vertical > LEAST_FORCE
    return np.where(loaded, horizontal / np.where(loaded, vertical, 1.0), 0.0)


def friction_gradient(force: Array) -> Array:
    """Derivatives (N, 3) of `friction_use` by the force; 0 where it is unloaded or has no direction."""
    horizontal, vertical = np.hypot(force[:, 0], force[:, 2]), force[:, 1]
    sound = (vertical > LEAST_FORCE) & (horizontal > LEAST_FORCE)
    h, v = np.where(sound, horizontal, 1.0), np.where(sound, vertical, 1.0)
    by = np.stack([force[:, 0] / (h * v), -h / v**2, force[:, 2] / (h * v)], axis=1)
    return np.where(sound[:, None], by, 0.0)


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
