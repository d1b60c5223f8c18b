"""Postures that hold the box at one place; where there is none, why not and what would be possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kinecast.errors import InputError
from kinecast.human import interior_point
from kinecast.human.interior_point import Outcome, Settings
from kinecast.human.lifting.problem import Lifter, Reduced, coordinate_limits, posture_problem
from kinecast.human.lifting.task import LiftTask, Place
from kinecast.human.solving import FEASIBILITY, OPTIMALITY
from kinecast.mechanism.checks import Array

# Where the search for a posture starts [deg]: crouched, stooped, upright, arms up; what is not named is neutral.
_STARTS: tuple[Mapping[str, float], ...] = (
    {"hip": 105, "knee": 85, "ankle": 17, "spine": 4, "shoulder": 65, "elbow": 10},
    {"hip": 85, "knee": 20, "ankle": 2, "spine": 17, "shoulder": 90, "elbow": 10},
    {},
    {"shoulder": 130, "elbow": 30},
)
_SAME = 1e-3  # a posture's objective is as good as another's within this
_ITERATIONS = 150
_BEFORE = 0.01  # [m]
_LOAD_STEPS = 8  # halvings in the search for the largest load


def postures(lifter: Lifter, task: LiftTask, place: Place, which: str) -> list[Array]:
    """Postures that hold the box there, the least costly first; without one, an error says what would be possible."""
    found = _solved(lifter, posture_problem(lifter, task, place))
    if not found:
        raise _impossible(lifter, task, place, which)
    kept: list[Outcome] = []
    for out in sorted(found, key=lambda out: out.objective):
        if all(abs(out.objective - other.objective) > _SAME for other in kept):
            kept.append(out)
    return [out.x for out in kept]


def in_front(lifter: Lifter, task: LiftTask) -> Array | None:
    """A posture that holds the box half way up in front of shelf and table, if there are any and if there is one."""
    if not task.boards:
        return None
    distance = min(front for front, _ in task.boards) - task.clearance - 0.5 * task.box.depth - _BEFORE
    place = Place(0.5 * (task.from_.height + task.to.height), distance)
    found = _solved(lifter, posture_problem(lifter, task, place), first_is_enough=True)
    return found[0].x if found else None


def _solved(lifter: Lifter, problem: Reduced, *, first_is_enough: bool = False) -> list[Outcome]:
    settings = Settings(FEASIBILITY, OPTIMALITY, _ITERATIONS)
    found = []
    for start in _starts(lifter):
        out = interior_point.solve(problem, start, settings)
        if out.status == "interrupted":
            raise KeyboardInterrupt  # there is no lift yet to return
        if out.status == "optimal":
            found.append(out)
            if first_is_enough:
                break
    return found


def _starts(lifter: Lifter) -> Iterator[Array]:
    low, high, neutral, _ = coordinate_limits(lifter)
    for angles in _STARTS:
        start = neutral.copy()
        for k, name in enumerate(lifter.instant.plan.free):
            for joint, degrees in angles.items():
                if name.startswith(joint) and name.endswith("flexion"):
                    start[k] = np.deg2rad(degrees)
        yield np.clip(start, low, high)


def _impossible(lifter: Lifter, task: LiftTask, place: Place, which: str) -> InputError:
    """Why no posture holds the box there, and what would be possible."""
    key = "from_" if which == "start" else "to"
    hands = f"hands {place.height:.3g} m high and {place.distance:.3g} m ahead of the ankles"
    box = f"box of {task.box.depth:g} x {task.box.width:g} x {task.box.height:g} m"
    clear = "the body" + (", shelf and table" if task.boards else "")
    if not _solved(lifter, posture_problem(lifter, task, place, able=False), first_is_enough=True):
        nearest = nearest_place(lifter, task, place, able=False)
        if nearest is None:
            return InputError(f"lift: no posture of this person holds a {box} clear of {clear}", key="box")
        return InputError(
            f"lift: the {which} is out of reach: {hands}; with a {box} clear of {clear} the nearest for this person is "
            f"{nearest.height:.3f} m high and {nearest.distance:.3f} m ahead",
            key=key,
        )
    most = largest_load(lifter, task, place)
    if most is None:
        nearest = nearest_place(lifter, task, place, able=True)
        there = f" {nearest.height:.3f} m high and {nearest.distance:.3f} m ahead" if nearest else ""
        return InputError(
            f"lift: with the {hands} at the {which} this person has not the strength or balance to hold anything; "
            f"{task.mass:g} kg can be held{there or ' nowhere'}",
            key=key,
        )
    return InputError(
        f"lift: {task.mass:g} kg is beyond this person's strength or balance with the {hands} at the {which}; "
        f"up to {most:.1f} kg can be held there",
        key="mass",
    )


def nearest_place(lifter: Lifter, task: LiftTask, place: Place, *, able: bool) -> Place | None:
    """The place nearest to the one asked for at which the hands can hold the box; not `able`: whatever it takes."""
    problem = posture_problem(lifter, task, place, placed=False, able=able)
    found = min(_solved(lifter, problem), key=lambda out: out.objective, default=None)
    if found is None:
        return None
    y = problem.problem.outputs(problem.matrix @ found.x + problem.constant)[0]
    return Place(*(float(x) for x in y[problem.problem.node.outputs["box"]]))


def largest_load(lifter: Lifter, task: LiftTask, place: Place) -> float | None:
    """The largest mass [kg] found that can be held there; None when there is none."""

    def holds(mass: float) -> bool:
        problem = posture_problem(lifter, replace(task, mass=mass), place)
        return bool(_solved(lifter, problem, first_is_enough=True))

    low, high = 0.0, task.mass
    if not holds(low):
        return None
    for _ in range(_LOAD_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
