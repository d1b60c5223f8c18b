"""The run folder of a walk: problem.yaml, person.yaml, motion.csv, solution.json, log.txt, report.html, result.json."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kinecast.files import write_whole
from kinecast.human.carrying import carrying
from kinecast.human.contact import SIDE_NAMES, SIDES, reaction_columns
from kinecast.human.run_folder import (
    checks_data,
    closure_data,
    motion_text,
    read_problem,
    read_solution,
    worst,
    write_folder_of,
)
from kinecast.human.walking.gait import JOINTS
from kinecast.human.walking.problem import build
from kinecast.human.walking.settings import GIVEN, as_data, task_of
from kinecast.human.walking.solve import StepSolution
from kinecast.human.walking.task import WalkTask
from kinecast.human.walking.walk import Walk, WalkCheck
from kinecast.yaml_text import dump

KIND = "walk"


def write_run(walk: Walk, folder: Path) -> Path:
    """Write the folder, which is made if need be."""
    from kinecast.human.walking.report import page

    shown = walk if walk.ok else walk.acknowledge()
    check = shown.check()
    result = walk.summary()
    result["violation"] |= between(check, walk.task)
    result |= {
        "closure": closure_data(check),
        "checks": checks_data(check),
        "gait": shown.gait,
    }
    problem = dump(problem_data(walk))
    return write_folder_of(
        walk,
        folder,
        person=walk.person_alone,
        problem=problem,
        motion=motion_csv(shown),
        page=page(shown, check, problem),
        result=result,
    )


def problem_data(walk: Walk) -> dict[str, Any]:
    """The problem as read, defaults filled in; person.yaml beside it is the person without what is carried."""
    load = {"backpack": 0.0, "hands": 0.0} | walk.load
    return {"task": KIND, "mechanism": "person.yaml"} | load | as_data(walk.task)


def between(check: WalkCheck, task: WalkTask) -> dict[str, Any]:
    """The largest violation of a constraint anywhere in the step (1 is a radian, a metre, a joint's strength)."""
    found = {
        "joint angles": check.angle,
        "joint torques": check.torque - 1.0,
        "zero moment point in the support polygon": -check.margin,
        "height of a sole on the ground": check.penetration - task.contact_height,
    }
    return worst(found)


def motion_csv(walk: Walk) -> str:
    """One stride: q, v, a, tau of every coordinate, ground reactions, zero moment point, joint forces, phases."""
    samples, names = walk.samples, walk.person.coordinates
    columns: dict[str, Any] = {"t": samples.t}
    for kind in ("q", "v", "a", "tau"):
        columns |= {f"{kind}.{name}": getattr(samples, kind)[:, k] for k, name in enumerate(names)}
    pressure = {side: samples.pressure(side) for side in SIDES}
    columns |= reaction_columns(samples.reaction, pressure, samples.zmp, walk.margin)
    for side, word in SIDE_NAMES.items():
        norms = np.linalg.norm(samples.joint_force[side], axis=2)
        columns |= {f"force.{word}.{joint}": norms[:, k] for k, joint in enumerate(JOINTS)}
    columns["phase"] = walk.phase
    return motion_text(columns)


def renew_report(folder: Path) -> None:
    """The report of a run folder again."""
    from kinecast.human.walking.report import page

    walk = read_run(folder)
    shown = walk if walk.ok else walk.acknowledge()
    write_whole(folder / "report.html", page(shown, shown.check(), dump(problem_data(walk))))


def read_run(folder: Path) -> Walk:
    """The walk of a run folder."""
    data, person = read_problem(folder, KIND)
    load = {key: float(data.pop(key, 0.0)) for key in ("backpack", "hands")}
    loaded = carrying(person, **load)
    speed, step_length, incline, phases = (data.pop(key, None) for key in GIVEN)
    task = task_of(loaded, speed, step_length, incline, phases, data)
    made = partial(StepSolution, problem=build(loaded, task), multipliers=np.zeros(0))
    return Walk(loaded, *read_solution(folder, made))
