"""Checks of plain numbers, arrays and names, shared by everything that builds a mechanism."""

from __future__ import annotations

from math import inf, isfinite, isnan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinecast.errors import InputError, brief

Array = NDArray[np.float64]


def read_only(array: Array) -> Array:
    """The same array, closed for writing."""
    array.flags.writeable = False
    return array


def finite_array(value: ArrayLike, shape: tuple[int, ...], what: str, key: str) -> Array:
    """A read-only float64 copy of `value`, which must have `shape` and hold finite numbers only."""
    try:
        given = np.asarray(value)
    except ValueError:  # a ragged list
        given = np.empty(0, dtype=object)
    if given.dtype.kind not in "iuf":
        raise InputError(f"{what}: {key} must be an array of {_words(shape)}, got {brief(value)}", key=key)
    if given.shape != shape:
        raise InputError(f"{what}: {key} must be an array of {_words(shape)}, got shape {given.shape}", key=key)
    array = np.array(given, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError(f"{what}: {key} must be finite, got {brief(array.tolist())}", key=key)
    return read_only(array)


def finite_number(value: Any, what: str, key: str) -> float:
    """`value` as a float, which must be a finite number."""
    if not _is_number(value) or not isfinite(value):
        raise InputError(f"{what}: {key} must be a finite number, got {brief(value)}", key=key)
    return float(value)


def interval(value: Any, what: str, key: str) -> tuple[float, float] | None:
    """(lower, upper) of a limit given as None, a number (symmetric) or a pair; an end None or infinite is no limit."""
    if value is None:
        return None
    if _is_number(value):
        value = (-float(value), float(value))
    try:
        pair = [(-inf, inf)[k] if x is None else float(x) for k, x in enumerate(value)]
    except (TypeError, ValueError, IndexError):
        pair = []
    if len(pair) != 2 or any(isnan(x) for x in pair):
        raise InputError(f"{what}: {key} must be a number, [lower, upper] or null, got {brief(value)}", key=key)
    if pair[0] > pair[1]:
        raise InputError(f"{what}: {key} must have lower <= upper, got [{pair[0]:g}, {pair[1]:g}]", key=key)
    return pair[0], pair[1]


def name(value: Any, kind: str) -> str:
    """`value` as the name of a `kind` (mechanism, joint, point): printable, not empty, no blanks at its ends."""
    if not isinstance(value, str) or not value or not value.isprintable() or value != value.strip():
        raise InputError(
            f"the name of a {kind} must be printable text without blanks at its ends, got {brief(value)}", key="name"
        )
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and value is not True and value is not False


def _words(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) + " numbers"
