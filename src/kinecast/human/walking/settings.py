"""What a walk is asked to be, from what a user says: names and kinds of settings checked, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from itertools import pairwise
from typing import Any

import numpy as np

from kinecast.errors import InputError, brief, unknown
from kinecast.human.skeleton import mirror, stature
from kinecast.human.walking.task import Phases, WalkTask, check_task, natural_step_length
from kinecast.mechanism import Structure

GIVEN = ("speed", "step_length", "incline", "phases")
_BY_NAME = ("limits", "emphasis")


def task_of(
    person: Structure,
    speed: float,
    step_length: float | None,
    incline: float,
    phases: Phases | Mapping[str, Any] | None,
    settings: Mapping[str, Any],
) -> WalkTask:
    """The task, or the error that says what is wrong with it in one line."""
    speed = _number("speed", speed)
    length = natural_step_length(max(speed, 0.0), stature(person)) if step_length is None else step_length
    task = WalkTask(
        speed,
        _number("step_length", length),
        incline=_number("incline", incline),
        phases=phases_of(phases),
        **_settings(settings),
    )
    check_task(person, task)
    _refuse_lopsided(person)
    return task


def _number(key: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"walk: {key} must be a number, got {brief(value)}", key=key)
    return number


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the task by name, as what the defaults are."""
    defaults = {field.name: field for field in fields(WalkTask) if field.name not in GIVEN}
    known = WalkTask(1.0, 0.6)
    found = {}
    for key, value in settings.items():
        if key not in defaults:
            raise unknown("setting of a walk", key, [*GIVEN, *defaults], key=key)
        found[key] = _like(key, value, getattr(known, key))
    return found


def _like(key: str, value: Any, default: Any) -> Any:
    """A value of the kind of the default."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"walk: {key} must be true or false, got {brief(value)}", key=key)
        return value
    if key in _BY_NAME:  # by name of a coordinate: a range [deg], a weight
        pairs = value.items() if isinstance(value, Mapping) else [(name, _tail(rest)) for name, *rest in value]
        return tuple((str(name), *(_number(key, x) for x in np.atleast_1d(rest))) for name, rest in pairs)
    if isinstance(default, tuple):
        numbers = tuple(_number(key, x) for x in (value if isinstance(value, (tuple, list)) else [value]))
        if len(numbers) != len(default) and key != "breaks":
            raise InputError(f"walk: {key} must be {len(default)} numbers, got {brief(value)}", key=key)
        return numbers
    number = _number(key, value)
    if isinstance(default, int):
        if number != int(number) or number < 1:
            raise InputError(f"walk: {key} must be a whole number, 1 or more, got {brief(value)}", key=key)
        return int(number)
    return number


def _tail(rest: Any) -> Any:
    return rest[0] if len(rest) == 1 else rest


def phases_of(given: Phases | Mapping[str, Any] | None) -> Phases:
    """Phases that follow each other."""
    if isinstance(given, Phases):
        given = asdict(given)
    found: dict[str, Any] = {}
    for key, value in (given or {}).items():
        if key not in asdict(Phases()):
            raise unknown("phase of a step", key, asdict(Phases()), key="phases")
        found[key] = _like(f"phases.{key}", value, getattr(Phases(), key))
    made = Phases(**found)
    order = {"start": 0.0, "ball_off": made.ball_off, "double_support": made.double_support}
    for chain in (
        order | {"knee": made.knee, "end": 1.0},
        order | {"heel_off": made.heel_off, "end": 1.0},
        {"start": 0.0, "foot_flat": made.foot_flat, "heel_off": made.heel_off},
        {"start": 0.0, "clear[0]": made.clear[0], "clear[1]": made.clear[1], "end": 1.0},
    ):
        names = list(chain)
        for before, after in pairwise(names):
            if chain[before] >= chain[after] and not chain[before] == chain[after] == 1.0:
                raise InputError(
                    f"walk: phases are fractions of the step that follow each other: {before} ({chain[before]:g}) must "
                    f"be before {after} ({chain[after]:g})",
                    key="phases",
                )
    return made


def _refuse_lopsided(person: Structure) -> None:
    """One step is mirrored to make the next: left and right must be alike."""
    exchange = mirror(person)
    for k, joint in enumerate(person.movable):
        other = person.movable[exchange.index[k]]
        for what, key in (("range", "q"), ("strength", "tau")):
            mine, theirs = getattr(joint.limits, key), getattr(other.limits, key)
            if theirs is not None and exchange.sign[k] < 0:
                theirs = (-theirs[1], -theirs[0])
            if not np.allclose(mine or (-np.inf, np.inf), theirs or (-np.inf, np.inf)):
                raise InputError(
                    f"walk: one step is mirrored to make the next, so left and right must be alike: {joint.name} and "
                    f"{other.name} differ in {what}",
                    key="person",
                )


def as_data(task: WalkTask) -> dict[str, Any]:
    """The task as plain data, which `task_of` takes back."""
    data: dict[str, Any] = {key: list(x) if isinstance(x, tuple) else x for key, x in asdict(task).items()}
    data["phases"] = {key: list(x) if isinstance(x, tuple) else x for key, x in asdict(task.phases).items()}
    return data | {key: {name: _tail(list(rest)) for name, *rest in getattr(task, key)} for key in _BY_NAME}
