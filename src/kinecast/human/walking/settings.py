"""What a walk is asked to be, from what a user says: names and kinds of settings checked, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from kinecast.errors import InputError, unknown
from kinecast.human.settings import chosen, like, number, refuse_lopsided, tail
from kinecast.human.skeleton import stature
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
    speed = number("walk", "speed", speed)
    length = natural_step_length(max(speed, 0.0), stature(person)) if step_length is None else step_length
    task = WalkTask(
        speed,
        number("walk", "step_length", length),
        incline=number("walk", "incline", incline),
        phases=phases_of(phases),
        **chosen("walk", WalkTask(1.0, 0.6), GIVEN, settings, named=_BY_NAME, any_length=("breaks",)),
    )
    check_task(person, task)
    refuse_lopsided("walk", "one step is mirrored to make the next", person)
    return task


def phases_of(given: Phases | Mapping[str, Any] | None) -> Phases:
    """Phases that follow each other."""
    if isinstance(given, Phases):
        given = asdict(given)
    found: dict[str, Any] = {}
    for key, value in (given or {}).items():
        if key not in asdict(Phases()):
            raise unknown("phase of a step", key, asdict(Phases()), key="phases")
        found[key] = like("walk", f"phases.{key}", value, getattr(Phases(), key))
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


def as_data(task: WalkTask) -> dict[str, Any]:
    """The task as plain data, which `task_of` takes back."""
    data: dict[str, Any] = {key: list(x) if isinstance(x, tuple) else x for key, x in asdict(task).items()}
    data["phases"] = {key: list(x) if isinstance(x, tuple) else x for key, x in asdict(task.phases).items()}
    return data | {key: {name: tail(list(rest)) for name, *rest in getattr(task, key)} for key in _BY_NAME}
