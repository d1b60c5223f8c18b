"""The run folder of a lift: problem.yaml, person.yaml, motion.csv, solution.json, log.txt, report.html, result.json."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kinecast.files import write_whole
from kinecast.human.contact import SIDES, reaction_columns
from kinecast.human.ergonomics import niosh
from kinecast.human.lifting.checks import LiftCheck
from kinecast.human.lifting.lift import Lift
from kinecast.human.lifting.problem import Lifter, build
from kinecast.human.lifting.settings import GIVEN, as_data, task_of
from kinecast.human.lifting.solve import LiftSolution
from kinecast.human.lifting.task import LiftTask
from kinecast.human.run_folder import (
    checks_data,
    closure_data,
    motion_text,
    read_problem,
    read_solution,
    worst,
    write_folder_of,
)
from kinecast.yaml_text import dump

KIND = "lift"
PHASE = "both_feet"  # they stand all the time


def write_run(lift: Lift, folder: Path) -> Path:
    """Write the folder, which is made if need be."""
    from kinecast.human.lifting.report import page

    shown = lift if lift.ok else lift.acknowledge()
    check = shown.check()
    result = lift.summary()
    result["violation"] |= between(check, lift.task)
    result |= {
        "closure": closure_data(check),
        "checks": checks_data(check),
        "lift": shown.figures,
        "ergonomics": shown.ergonomics.summary() | {"niosh": niosh_data(lift)},
    }
    problem = dump(problem_data(lift))
    return write_folder_of(
        lift,
        folder,
        person=lift.person,
        problem=problem,
        motion=motion_csv(shown),
        page=page(shown, check, problem),
        result=result,
    )


def problem_data(lift: Lift) -> dict[str, Any]:
    """The problem as read, defaults filled in."""
    return {"task": KIND, "mechanism": "person.yaml"} | as_data(lift.task)


def niosh_data(lift: Lift) -> dict[str, Any]:
    """The NIOSH equation at both ends."""
    ends = {end: found.as_data() for end, found in lift.niosh.items()}
    return ends | {"source": niosh.SOURCE, "valid": niosh.VALID}


def between(check: LiftCheck, task: LiftTask) -> dict[str, Any]:
    """The largest violation of a constraint anywhere in the lift (1 is a radian, a metre, a joint's strength)."""
    return worst(
        {
            "joint angles": check.angle,
            "joint torques": check.torque - 1.0,
            "zero moment point in the support polygon": -check.margin,
            "box clear of the body": -check.clearance,
            "box and body clear of shelf and table": -check.boards,
            "box above the floor": -check.floor,
            "hands on the box": check.grip - task.grip_slip,
        }
    )


def motion_csv(lift: Lift) -> str:
    """q, v, a, tau of every coordinate, ground reactions, zero moment point, the box, the low back."""
    samples, names = lift.samples, lift.person.coordinates
    columns: dict[str, Any] = {"t": samples.t}
    for kind in ("q", "v", "a", "tau"):
        columns |= {f"{kind}.{name}": getattr(samples, kind)[:, k] for k, name in enumerate(names)}
    pressure = {}
    for side in SIDES:
        wrench = samples.reaction[side]
        pressure[side] = np.stack([wrench[:, 5], -wrench[:, 3]], axis=1) / wrench[:, 1:2]
    columns |= reaction_columns(samples.reaction, pressure, samples.zmp, lift.margin)
    columns |= {f"box.{axis}": samples.box[:, k] for k, axis in enumerate("xyz")}
    back = lift.ergonomics.low_back
    columns |= {"l5s1.compression": back.compression, "l5s1.shear": back.shear, "l5s1.moment": back.moment}
    columns["phase"] = [PHASE] * len(samples.t)
    return motion_text(columns)


def renew_report(folder: Path) -> None:
    """The report of a run folder again."""
    from kinecast.human.lifting.report import page

    lift = read_run(folder)
    shown = lift if lift.ok else lift.acknowledge()
    write_whole(folder / "report.html", page(shown, shown.check(), dump(problem_data(lift))))


def read_run(folder: Path) -> Lift:
    """The lift of a run folder."""
    data, person = read_problem(folder, KIND)
    mass, from_, to = (data.pop(key, None) for key in GIVEN)
    task = task_of(person, mass, from_, to, data)
    made = partial(LiftSolution, problem=build(Lifter.of(person, task), task))
    return Lift(person, *read_solution(folder, made))
