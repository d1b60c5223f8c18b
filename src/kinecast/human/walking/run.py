"""The run folder of a walk: problem.yaml, person.yaml, motion.csv, solution.json, log.txt, report.html, result.json.

Every file is there whole or not at all. result.json is taken away first and written last, so that a folder that has one
belongs to one finished run. A walk that is not a solution leaves motion_unsolved.csv in place of motion.csv.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kinecast import __version__
from kinecast.errors import InputError
from kinecast.files import read_whole, write_folder, write_whole
from kinecast.human.carrying import carrying
from kinecast.human.contact import SIDE_NAMES, SIDES, reaction_columns
from kinecast.human.solving import Stage
from kinecast.human.walking.gait import JOINTS
from kinecast.human.walking.problem import build
from kinecast.human.walking.settings import GIVEN, as_data, task_of
from kinecast.human.walking.solve import StepSolution
from kinecast.human.walking.task import WalkTask
from kinecast.human.walking.walk import Walk, WalkCheck
from kinecast.mechanism import Structure
from kinecast.yaml_text import dump, parse

MOTION, UNSOLVED = "motion.csv", "motion_unsolved.csv"
KIND = "walk"


def write_run(walk: Walk, folder: Path) -> Path:
    """Write the folder, which is made if need be."""
    from kinecast.human.walking.report import page

    shown = walk if walk.ok else walk.acknowledge()
    check = shown.check()
    result = walk.summary()
    result["violation"] |= between(check, walk.task)
    result |= {
        "closure": {"max_place_error_m": check.forward_error if np.isfinite(check.forward_error) else None},
        "checks": {key: value if np.isfinite(value) else None for key, value in asdict(check).items()},
        "gait": shown.gait,
        "versions": {"kinecast": __version__} | {name: version(name) for name in ("casadi", "numpy", "llvmlite")},
    }
    problem = dump(problem_data(walk))
    files = {
        "problem.yaml": problem,
        "person.yaml": dump(walk.person_alone.as_data()),
        MOTION if walk.ok else UNSOLVED: motion_csv(shown),
        "solution.json": json.dumps(_solution(walk)) + "\n",
        "log.txt": "\n".join([*walk.log, ""]),
        "report.html": page(shown, check, problem),
        "result.json": json.dumps(result, indent=1, ensure_ascii=False) + "\n",
    }
    write_folder(folder, files, stale=(UNSOLVED if walk.ok else MOTION,))
    return folder


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
    where = max(found, key=lambda name: found[name])
    return {"between_nodes": max(0.0, found[where]), "where": where if found[where] > 0 else ""}


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
    cells = [[_cell(x) for x in column] for column in columns.values()]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([list(columns), *zip(*cells, strict=True)])
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return repr(float(value)) if np.isfinite(value) else ""


def _solution(walk: Walk) -> dict[str, Any]:
    solution = walk.unsealed
    kept = ("status", "message", "objective", "violation", "optimality", "active", "seconds")
    return {key: getattr(solution, key) for key in kept} | {
        "x": solution.x.tolist(),
        "stages": [asdict(stage) for stage in solution.stages],
    }


def renew_report(folder: Path) -> None:
    """The report of a run folder again."""
    from kinecast.human.walking.report import page

    walk = read_run(folder)
    shown = walk if walk.ok else walk.acknowledge()
    write_whole(folder / "report.html", page(shown, shown.check(), dump(problem_data(walk))))


def read_run(folder: Path) -> Walk:
    """The walk of a run folder."""
    text = read_whole(folder / "problem.yaml", "a problem file is YAML")
    data, source = parse(text, str(folder / "problem.yaml"))
    if not isinstance(data, dict) or data.pop("task", None) != KIND:
        raise source.error("task", f"must be {KIND}")
    person = Structure.read(folder / str(data.pop("mechanism", "person.yaml")))
    load = {key: float(data.pop(key, 0.0)) for key in ("backpack", "hands")}
    loaded = carrying(person, **load)
    speed, step_length, incline, phases = (data.pop(key, None) for key in GIVEN)
    task = task_of(loaded, speed, step_length, incline, phases, data)
    try:
        kept = json.loads(read_whole(folder / "solution.json", "a solution is JSON"))
        stages = tuple(Stage(**stage) for stage in kept.pop("stages"))
        x = np.array(kept.pop("x"))
        problem = build(loaded, task)
        solution = StepSolution(problem=problem, x=x, multipliers=np.zeros(0), stages=stages, **kept)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{folder}: is not a run folder of this version: {error}") from None
    log = tuple(read_whole(folder / "log.txt", "a log is text").splitlines())
    return Walk(loaded, {key: mass for key, mass in load.items() if mass}, solution, log)
