"""Settings of a prediction as a user gives them: names known, values of the kind of the defaults, people alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from kinecast.errors import InputError, brief, unknown
from kinecast.human.skeleton import mirror
from kinecast.mechanism import Structure


def number(of: str, key: str, value: Any) -> float:
    """A finite number; `of` says in messages what it is a setting of."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        raise InputError(f"{of}: {key} must be a number, got {brief(value)}", key=key)
    return found


def between(of: str, key: str, value: Any, low: float, high: float, unit: str = "") -> float:
    """A number from `low` to `high`."""
    found, unit = number(of, key, value), f" {unit}" if unit else ""
    if not low <= found <= high:
        raise InputError(
            f"{of}: {key} must be between {low:.3g} and {high:.3g}{unit}, got {found:g}{unit}", key=key.split()[0]
        )
    return found


def chosen(
    of: str,
    defaults: Any,
    given: Collection[str],
    settings: Mapping[str, Any],
    *,
    named: Collection[str] = (),
    any_length: Collection[str] = (),
) -> dict[str, Any]:
    """Settings by name, each of the kind of the default's; names in `given` are arguments of their own.

    `named`: numbers by name of a coordinate; `any_length`: as many numbers as one likes.
    """
    known = [field.name for field in fields(defaults) if field.name not in given]
    found = {}
    for key, value in settings.items():
        if key not in known:
            raise unknown(f"setting of a {of}", key, [*given, *known], key=key)
        if key in named:
            found[key] = _by_name(of, key, value)
        else:
            found[key] = like(of, key, value, getattr(defaults, key), any_length=key in any_length)
    return found


def like(of: str, key: str, value: Any, default: Any, *, any_length: bool = False) -> Any:
    """A value of the kind of the default."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"{of}: {key} must be true or false, got {brief(value)}", key=key)
        return value
    if isinstance(default, tuple):
        numbers = tuple(number(of, key, x) for x in (value if isinstance(value, (tuple, list)) else [value]))
        if len(numbers) != len(default) and not any_length:
            raise InputError(f"{of}: {key} must be {len(default)} numbers, got {brief(value)}", key=key)
        return numbers
    found = number(of, key, value)
    if isinstance(default, int):
        if found != int(found) or found < 1:
            raise InputError(f"{of}: {key} must be a whole number, 1 or more, got {brief(value)}", key=key)
        return int(found)
    return found


def _by_name(of: str, key: str, value: Any) -> tuple[tuple[Any, ...], ...]:
    """(name, number ...) of each, from a mapping or from such a tuple."""
    if not isinstance(value, (Mapping, tuple)):
        raise InputError(f"{of}: {key} must be numbers by name, as {key}.NAME=..., got {brief(value)}", key=key)
    pairs = value.items() if isinstance(value, Mapping) else [(name, tail(rest)) for name, *rest in value]
    listed = [(str(name), rest if isinstance(rest, (tuple, list)) else (rest,)) for name, rest in pairs]
    return tuple((name, *(number(of, f"{key}.{name}", x) for x in rest)) for name, rest in listed)


def tail(rest: Any) -> Any:
    """One number as such, several as they are."""
    return rest[0] if len(rest) == 1 else rest


def refuse_lopsided(of: str, why: str, person: Structure) -> None:
    """Left and right of a person must be alike; `why` says so in the message."""
    exchange = mirror(person)
    for k, joint in enumerate(person.movable):
        other = person.movable[exchange.index[k]]
        for what, key in (("range", "q"), ("strength", "tau")):
            mine, theirs = getattr(joint.limits, key), getattr(other.limits, key)
            if theirs is not None and exchange.sign[k] < 0:
                theirs = (-theirs[1], -theirs[0])
            if not np.allclose(mine or (-np.inf, np.inf), theirs or (-np.inf, np.inf)):
                raise InputError(
                    f"{of}: {why}, so left and right must be alike: {joint.name} and {other.name} differ in {what}",
                    key="person",
                )
