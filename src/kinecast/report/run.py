"""The run folder: problem.yaml, motion.csv, solution.json, log.txt, report.html, result.json.

What the problem names goes with it: a mechanism that is not built in, the motion that is tracked, that of the guess.
Every file is there whole or not at all; a folder that has a result.json belongs to one finished run. solution.json
holds the spline and what else it takes to look at the run again.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kinecast import __version__
from kinecast.errors import InputError
from kinecast.files import read_whole, write_folder
from kinecast.mechanism import builtin
from kinecast.motion.basis import Array
from kinecast.motion.bspline import BSpline
from kinecast.predict.excess import Excess
from kinecast.predict.limits import COMPONENTS
from kinecast.predict.prediction import GUESSES, Prediction
from kinecast.predict.refine import Switch
from kinecast.predict.result import Motion, Seconds
from kinecast.predict.rows import Group
from kinecast.report.html import page
from kinecast.yaml_text import dump

MOTION, UNSOLVED = "motion.csv", "motion_unsolved.csv"
MECHANISM, REFERENCE = "mechanism.yaml", "reference.csv"


def write_run(motion: Motion, folder: Path) -> Path:
    """Write the folder, which is made if need be. What is no solution is called motion_unsolved.csv."""
    closure = motion.check().max_q_error if motion.ok else None
    problem, files = _portable(motion)
    result = motion.summary() | {
        "closure": {"max_q_error": closure},
        "versions": {"kinecast": __version__} | {name: version(name) for name in ("casadi", "numpy", "llvmlite")},
    }
    files |= {
        "problem.yaml": problem,
        MOTION if motion.ok else UNSOLVED: motion_csv(motion if motion.ok else motion.acknowledge()),
        "solution.json": json.dumps(_solution(motion)) + "\n",
        "log.txt": "\n".join([*motion.log, *_history(motion), ""]),
        "report.html": page(motion, problem, closure),
    }
    files["result.json"] = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    write_folder(folder, files, stale=[name for name in (MOTION, UNSOLVED, MECHANISM, REFERENCE) if name not in files])
    return folder


def _portable(motion: Motion) -> tuple[str, dict[str, str]]:
    """The problem file's text, and the files that it names, so that the folder can be read anywhere."""
    problem, task, files = dict(motion.problem), motion.task, {}
    name, structure = problem["mechanism"], task.structure
    if name not in builtin.names() or builtin.load(name).with_gravity(structure.gravity) != structure:
        problem["mechanism"] = MECHANISM
        files[MECHANISM] = dump(structure.as_data())
    if task.reference is not None:
        problem["reference"] = REFERENCE
        times, q = task.reference
        header = ["t", *(f"q.{name}" for name in structure.coordinates)]
        files[REFERENCE] = _table(header, np.column_stack([times, q]))
    if task.guess not in GUESSES:
        problem["guess"] = f"guess{Path(task.guess).suffix}"
        files[problem["guess"]] = read_whole(task.guess, "a motion file is text")
    remark = "# Conditions and terms that were written in Python are not in this file.\n"
    return (remark if task.requirements or task.costs else "") + dump(problem), files


def read_run(folder: Path) -> Motion:
    """The motion of a run folder."""
    plan = Prediction.load(folder / "problem.yaml")
    result, solution = (_json(folder / name) for name in ("result.json", "solution.json"))
    log = read_whole(folder / "log.txt", "a log is text").split("\n\niteration")[0].splitlines()
    try:
        excesses = [Excess(Group(**entry.pop("group")), **entry) for entry in solution["excesses"]]
        at_nodes, between = (Excess(Group(**e.pop("group")), **e) if e else None for e in solution["worst"])
        return Motion(
            task=plan.task(),
            mechanism=plan.mechanism.with_gravity(plan.task().structure.gravity),
            problem=plan.problem(),
            status=result["status"],
            message=result["message"],
            objective=result["objective"],
            iterations=result["iterations"],
            seconds=Seconds(**result["seconds"]),
            at_nodes=at_nodes,
            between_nodes=between,
            excesses=excesses,
            switches=[Switch(**entry) for entry in solution["switches"]],
            history=[(f, v) for f, v in solution["history"]],
            variables=result["variables"],
            constraints=result["constraints"],
            log=log,
            unsealed=BSpline(solution["knots"], solution["control"], solution["degree"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{folder}: is not a run folder of this version: {error}") from None


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_whole(path, "a run's result is JSON"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: must hold an object")
    return found


def _solution(motion: Motion) -> dict[str, Any]:
    spline = motion.unsealed
    return {
        "degree": spline.degree,
        "knots": spline.knots.tolist(),
        "control": spline.control.tolist(),
        "switches": [asdict(switch) for switch in motion.switches],
        "worst": [None if e is None else asdict(e) for e in (motion.at_nodes, motion.between_nodes)],
        "excesses": [asdict(excess) for excess in motion.excesses],
        "history": [list(entry) for entry in motion.history],
    }


def motion_csv(motion: Motion) -> str:
    """The motion as a motion file: q, v, a, tau of every coordinate, the load in every joint."""
    samples, structure = motion.sample(), motion.task.structure
    header = ["t"]
    columns = [samples.t]
    for kind in ("q", "v", "a", "tau"):
        for k, name in enumerate(structure.coordinates):
            header.append(f"{kind}.{name}")
            columns.append(getattr(samples, kind)[:, k])
    for k, joint in enumerate(structure.joints):
        for c in (3, 4, 5, 0, 1, 2):
            header.append(f"load.{joint.name}.{COMPONENTS[c]}")
            columns.append(samples.loads[:, k, c])
    return _table(header, np.column_stack(columns))


def _table(header: list[str], rows: Array) -> str:
    """CSV, numbers to the last digit."""
    return "\n".join([",".join(header), *(",".join(map(repr, row)) for row in rows.tolist()), ""])


def _history(motion: Motion) -> list[str]:
    lines = ["", "iteration  objective          largest violation, part of the limit"]
    return lines + [f"{k:9d}  {f:.10e}  {v:.3e}" for k, (f, v) in enumerate(motion.history)]
