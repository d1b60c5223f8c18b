"""What a lift is asked to be, from what a user says: names and kinds of settings checked, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from kinecast.errors import InputError, brief, unknown
from kinecast.human.carrying import HEAVIEST, carried
from kinecast.human.ergonomics.niosh import Niosh, niosh
from kinecast.human.lifting.model import NEEDED
from kinecast.human.lifting.problem import AT_REST
from kinecast.human.lifting.task import Box, LiftTask, Place
from kinecast.human.settings import between, chosen, number, refuse_lopsided, tail
from kinecast.mechanism import Structure

GIVEN = ("mass", "from_", "to")
_OWN = ("box", "duration", "shelf", "table", "coupling")  # settings that are not just numbers
LIGHTEST = 0.1  # [kg]
_HIGHEST, _FURTHEST = 3.0, 1.5  # of any hands [m]
_SHORTEST, _LONGEST = 0.2, 10.0  # durations [s]
_SAME = 0.01  # start and end nearer than this are no lift [m]


def task_of(person: Structure, mass: float, from_: Any, to: Any, settings: Mapping[str, Any]) -> LiftTask:
    """The task, or the error that says what is wrong with it in one line."""
    _check_person(person)
    own = {key: value for key, value in settings.items() if key in _OWN}
    rest = {key: value for key, value in settings.items() if key not in _OWN}
    box = _box(own.get("box", {}))
    start, end = _place(box, "from_", from_), _place(box, "to", to)
    found = chosen("lift", LiftTask(1.0, start, end), (*GIVEN, *_OWN), rest, named=("emphasis",))
    for key, value in found.items():
        if key != "emphasis" and value < 0:
            raise InputError(f"lift: {key} must not be negative, got {value:g}", key=key)
    found["box"] = box
    if "duration" in own:
        found["duration"] = _duration(own["duration"])
    for key in ("shelf", "table"):
        if own.get(key) is not None:
            found[key] = number("lift", key, own[key])
    if "coupling" in own:
        found["coupling"] = str(own["coupling"])
    task = LiftTask(between("lift", "mass", mass, LIGHTEST, HEAVIEST, "kg"), start, end, **found)
    _check(task)
    return task


def _check_person(person: Structure) -> None:
    missing = [name for name in NEEDED if name not in person.coordinates]
    if missing:
        raise InputError(f"lift: {person.name!r} cannot move {missing[0]}: a lift needs it free", key="person")
    if carried(person):
        raise InputError(f"lift: {person.name!r} carries something already; give the person alone", key="person")
    refuse_lopsided("lift", "both sides lift alike", person)


def _box(given: Any) -> Box:
    """From a mapping, three numbers, or a `Box`."""
    names = [field.name for field in fields(Box)]
    if isinstance(given, Box):
        given = asdict(given)
    elif not isinstance(given, Mapping):
        sizes = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(sizes) != len(names):
            raise InputError(f"lift: box must be depth, width, height in m, got {brief(given)}", key="box")
        given = dict(zip(names, sizes, strict=True))
    for name in given:
        if name not in names:
            raise unknown("size of a box", name, names, key="box")
    return Box(**{name: between("lift", f"box {name}", value, 0.05, 1.2, "m") for name, value in given.items()})


def _place(box: Box, key: str, given: Any) -> Place:
    """From a height, or from a height and a distance."""
    height, *rest = given if isinstance(given, (tuple, list)) else (given,)
    if len(rest) > 1:
        raise InputError(f"lift: {key} must be a height or (height, distance) of the hands in m", key=key)
    height = between("lift", f"{key} height", height, 0.5 * box.height, _HIGHEST, "m")
    if not rest:
        return Place(height, box.distance(height))
    return Place(height, between("lift", f"{key} distance", rest[0], 0.0, _FURTHEST, "m"))


def _duration(given: Any) -> tuple[float, float]:
    """From one number, which fixes it, or a range."""
    ends = list(given) if isinstance(given, (tuple, list)) else [given, given]
    if len(ends) != 2:
        wanted = "one number or (shortest, longest) in s"
        raise InputError(f"lift: duration must be {wanted}, got {brief(given)}", key="duration")
    low, high = (between("lift", "duration", end, _SHORTEST, _LONGEST, "s") for end in ends)
    if low > high:
        raise InputError(f"lift: duration must be (shortest, longest), got ({low:g}, {high:g})", key="duration")
    return low, high


def _check(task: LiftTask) -> None:
    apart = max(abs(a - b) for a, b in zip(task.from_, task.to, strict=True))
    if apart < _SAME:
        raise InputError(
            f"lift: start and end are the same place (hands {task.to.height:g} m high, {task.to.distance:g} m ahead): "
            f"they must be {_SAME:g} m apart or more",
            key="to",
        )
    fewest = 2 * AT_REST + 1
    if task.control_points < fewest:
        raise InputError(f"lift: control_points must be {fewest} or more", key="control_points")
    niosh_of(task, task.from_)


def niosh_of(task: LiftTask, place: Place) -> Niosh:
    """The NIOSH equation at one end of the lift."""
    return niosh(
        task.mass,
        horizontal=place.distance,
        vertical=place.height,
        travel=abs(task.to.height - task.from_.height),
        lifts_per_minute=task.lifts_per_minute,
        hours=task.hours,
        coupling=task.coupling,
    )


def as_data(task: LiftTask) -> dict[str, Any]:
    """The task as plain data, which `task_of` takes back."""
    data: dict[str, Any] = {key: list(x) if isinstance(x, tuple) else x for key, x in asdict(task).items()}
    return data | {"emphasis": {name: tail(list(rest)) for name, *rest in task.emphasis}}
