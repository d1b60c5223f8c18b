"""What a walk is asked to be, from what a user says: names and kinds of settings checked, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from kinecast.errors import InputError, unknown
from kinecast.human.settings import between, chosen, like, number, refuse_lopsided, tail
from kinecast.human.skeleton import stature
from kinecast.human.walking.task import Phases, WalkTask, check_task, natural_step_length
from kinecast.mechanism import Structure

GIVEN = ("speed", "step_length", "incline", "phases")
_BY_NAME = ("limits", "emphasis")
# What a setting may be: where walking still is what is described, and the problem one that can be posed.
_RANGES = {
    "step_width": (0.0, 0.4),
    "degree": (3, 6),
    "instants": (13, 201),
    "effort": (0.0, 1e4),
    "spin": (0.0, 1e4),
    "acceleration": (0.0, 1.0),
    "jerk": (0.0, 1.0),
    "push_smoothness": (0.0, 1.0),
    "start_smoothness": (1e-9, 1e3),
    "contact_slip": (1e-4, 0.03),
    "contact_height": (1e-4, 0.03),
    "foot_tilt": (1e-3, 0.5),
    "swing_tilt": (1e-3, 1.0),
    "clearance": (0.0, 0.15),
    "touchdown_speed": (0.01, 2.0),
    "friction": (0.02, 2.0),
    "least_force": (0.01, 0.9),
    "lead_point": (0.0, 1.0),
    "trail_point": (0.0, 1.0),
    "ball_back": (-0.05, 0.05),
    "share_band": (0.02, 1.0),
    "share_end": (0.5, 1.0),
    "push": (0.0, 1.0),
    "toe_stiffness": (0.0, 200.0),
    "toe_damping": (0.0, 50.0),
    "torque_reserve": (0.0, 0.5),
    "hand_clearance": (0.0, 0.15),
    "arm_leg": (0.0, 1.0),
}
_PAIRS = ("knee", "knee_at_strike", "trunk_list", "trunk_tilt")
_MOST_BREAKS = 11


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
    own = chosen("walk", WalkTask(1.0, 0.6), GIVEN, settings, named=_BY_NAME, any_length=("breaks",))
    if "emphasis" in own:  # what is not named stays as it is
        own["emphasis"] = tuple((dict(own["emphasis"]) | _others(dict(WalkTask(1.0, 0.6).emphasis), own)).items())
    task = WalkTask(
        speed,
        number("walk", "step_length", length),
        incline=number("walk", "incline", incline),
        phases=phases_of(phases),
        **own,
    )
    check_task(person, task)
    _check_settings(person, task)
    refuse_lopsided("walk", "one step is mirrored to make the next", person)
    return task


def _others(defaults: Mapping[str, float], own: Mapping[str, Any]) -> dict[str, float]:
    return {name: weight for name, weight in defaults.items() if name not in dict(own["emphasis"])}


def _check_settings(person: Structure, task: WalkTask) -> None:
    """Refuse settings with which there is no problem to solve."""
    for key, (low, high) in _RANGES.items():
        value = getattr(task, key)
        for each in value if isinstance(value, tuple) else (value,):
            between("walk", key, each, low, high, "")
    if not (1 <= len(task.breaks) <= _MOST_BREAKS and np.all(np.diff([0.0, *task.breaks, 1.0]) > 0)):
        raise InputError(
            f"walk: breaks must be 1 to {_MOST_BREAKS} increasing fractions of the step between 0 and 1, "
            f"got {', '.join(f'{x:g}' for x in task.breaks)}",
            key="breaks",
        )
    names = [name for own in person.coordinates for name in (own, own.replace("_r.", ".").replace("_l.", "."))]
    known = list(dict.fromkeys(names))
    for name, *limits in task.limits:
        if name not in known:
            raise unknown("coordinate to limit", name, known, key="limits")
        _increasing(f"limits.{name}", limits)
    for name, weight in task.emphasis:
        if not any(joint.startswith(name) for joint in known) and name not in dict(WalkTask(1.0, 0.6).emphasis):
            joints = dict.fromkeys(joint.split(".")[0] for joint in known)
            raise unknown("joint to emphasise", name, joints, key="emphasis")
        between("walk", f"emphasis.{name}", weight, 0.0, 1e4, "")
    for key in _PAIRS:
        _increasing(key, getattr(task, key))


def _increasing(key: str, pair: Sequence[float]) -> None:
    if len(pair) != 2 or not pair[0] < pair[1]:
        got = ", ".join(f"{x:g}" for x in pair)
        raise InputError(f"walk: {key} must be two increasing numbers, got {got}", key=key)


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
