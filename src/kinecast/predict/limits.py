"""Values given for all joints at once, by list or by name, as arrays in coordinate order; limits likewise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinecast.errors import InputError, unknown
from kinecast.motion.basis import Array

COMPONENTS = ("mx", "my", "mz", "fx", "fy", "fz")
FORCES = ("fx", "fy", "fz")
_OPEN = (-np.inf, np.inf)


def per_joint(value: Any, names: Sequence[str], what: str) -> Array:
    """One number a coordinate from a number, a list or a mapping; NaN where nothing is asked for."""
    if value is None:
        return np.full(len(names), np.nan)
    if isinstance(value, dict):
        _known(value, names, what)
        return np.array([_number(value.get(name)) for name in names])
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) != len(names):
            raise InputError(
                f"{what} must have {len(names)} numbers, one a coordinate ({', '.join(names)}), got {len(value)}"
            )
        return np.array([_number(x) for x in value])
    return np.full(len(names), float(value))


def bounds(value: Any, names: Sequence[str], what: str) -> Array:
    """(lower, upper) of every coordinate (n, 2): from a number, [lower, upper], a list of these, or a mapping."""
    if isinstance(value, dict):
        _known(value, names, what)
        return np.array([interval(value.get(name), f"{what}.{name}") for name in names])
    if not isinstance(value, (list, tuple)):
        return np.tile(interval(value, what), (len(names), 1))
    nested = any(isinstance(x, (list, tuple)) for x in value)
    if len(value) == 2 and not nested:
        if len(names) == 2 and _could_be_a_list(value):
            raise InputError(
                f"{what}: {value} could be one interval or one limit for each of the two joints; "
                f"write [[lower, upper], [lower, upper]] or {{{names[0]}: ..., {names[1]}: ...}}"
            )
        return np.tile(interval(value, what), (len(names), 1))
    if len(value) != len(names):
        raise InputError(
            f"{what} must have {len(names)} limits, one a coordinate ({', '.join(names)}), got {len(value)}"
        )
    return np.array([interval(x, f"{what}.{name}") for name, x in zip(names, value, strict=True)])


def _could_be_a_list(value: Any) -> bool:
    """Whether two numbers may as well be meant as one symmetric limit for each of two joints."""
    return None in value or min(value) > 0.0 or (not value[0] <= 0.0 <= value[1] and value[0] < value[1])


def load_bounds(value: Any, joints: Sequence[str], what: str) -> list[tuple[int, int, float, float]]:
    """(joint, component, lower, upper) of every limited load component; one for a joint means its three forces."""
    if value is None:
        return []
    if not isinstance(value, dict):
        value = dict(zip(joints, bounds(value, joints, what).tolist(), strict=True))
    _known(value, joints, what)
    found = []
    for joint, limits in value.items():
        if not isinstance(limits, dict):
            limits = dict.fromkeys(FORCES, limits)
        _known(limits, COMPONENTS, f"{what}.{joint}", "load component")
        for component, limit in limits.items():
            low, high = interval(limit, f"{what}.{joint}.{component}")
            if np.isfinite(low) or np.isfinite(high):
                found.append((joints.index(joint), COMPONENTS.index(component), low, high))
    return found


def interval(value: Any, what: str) -> tuple[float, float]:
    """(lower, upper) of one limit; infinite where there is none."""
    if value is None:
        return _OPEN
    if not isinstance(value, (list, tuple)):
        if value < 0.0:
            raise InputError(f"{what}: a symmetric limit must be 0 or more, got {value:g}")
        return -float(value), float(value)
    if len(value) != 2:
        raise InputError(f"{what} must be a number or [lower, upper], got {value}")
    low, high = (end if x is None else float(x) for x, end in zip(value, _OPEN, strict=True))
    if low > high:
        raise InputError(f"{what}: the lower limit {low:g} is above the upper limit {high:g}")
    return low, high


def _number(x: Any) -> float:
    return np.nan if x is None else float(x)


def _known(value: dict[str, Any], names: Sequence[str], what: str, kind: str = "joint") -> None:
    for name in value:
        if name not in names:
            raise unknown(f"{kind} in {what}:", name, names)
