"""What the run folders of people's motions share: the text of motion.csv, solution.json, the versions.

Every file is there whole or not at all. result.json is taken away first and written last, so that a folder that has one
belongs to one finished run. What is not a solution leaves motion_unsolved.csv in place of motion.csv.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kinecast import __version__
from kinecast.errors import InputError
from kinecast.files import read_whole, write_folder
from kinecast.human.predicted import Predicted, Solution, finite
from kinecast.human.solving import Stage
from kinecast.mechanism import Structure
from kinecast.yaml_text import dump, parse

MOTION, UNSOLVED = "motion.csv", "motion_unsolved.csv"
_KEPT = ("status", "message", "objective", "violation", "optimality", "active", "seconds")
Made = TypeVar("Made")


def write_folder_of(
    found: Predicted[Any], folder: Path, *, person: Any, problem: str, motion: str, page: str, result: Mapping[str, Any]
) -> Path:
    """Write the folder, which is made if need be; `person` is a structure, without what is carried."""
    versions = {"kinecast": __version__} | {name: version(name) for name in ("casadi", "numpy", "llvmlite")}
    files = {
        "problem.yaml": problem,
        "person.yaml": dump(person.as_data()),
        MOTION if found.ok else UNSOLVED: motion,
        "solution.json": json.dumps(_solution(found.unsealed)) + "\n",
        "log.txt": "\n".join([*found.log, ""]),
        "report.html": page,
        "result.json": json.dumps({**result, "versions": versions}, indent=1, ensure_ascii=False) + "\n",
    }
    write_folder(folder, files, stale=(UNSOLVED if found.ok else MOTION,))
    return folder


def motion_text(columns: Mapping[str, Iterable[Any]]) -> str:
    """A motion file: numbers to the last bit, empty cells for what is not a number."""
    cells = [[_cell(x) for x in column] for column in columns.values()]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([list(columns), *zip(*cells, strict=True)])
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return repr(float(value)) if np.isfinite(value) else ""


def worst(found: Mapping[str, float]) -> dict[str, Any]:
    """The largest violation between the instants, by what it is of (1 is a radian, a metre, a joint's strength)."""
    where = max(found, key=lambda name: found[name])
    return {"between_nodes": max(0.0, found[where]), "where": where if found[where] > 0 else ""}


def checks_data(check: Any) -> dict[str, Any]:
    """The numbers of a check for result.json."""
    return {key: finite(value) if isinstance(value, float) else value for key, value in asdict(check).items()}


def closure_data(check: Any) -> dict[str, float | None]:
    """How far torques integrated forward end up from the prediction, for result.json."""
    return {"max_q_error": finite(check.forward_q_error), "max_place_error_m": finite(check.forward_error)}


def read_problem(folder: Path, kind: str) -> tuple[dict[str, Any], Structure]:
    """The problem of a run folder, of a task of this kind, and the person."""
    data, source = parse(read_whole(folder / "problem.yaml", "a problem file is YAML"), str(folder / "problem.yaml"))
    if not isinstance(data, dict) or data.pop("task", None) != kind:
        raise source.error("task", f"must be {kind}")
    return data, Structure.read(folder / str(data.pop("mechanism", "person.yaml")))


def _solution(solution: Solution) -> dict[str, Any]:
    return {key: getattr(solution, key) for key in _KEPT} | {
        "x": solution.x.tolist(),
        "stages": [asdict(stage) for stage in solution.stages],
    }


def read_solution(folder: Path, make: Callable[..., Made]) -> tuple[Made, tuple[str, ...]]:
    """What `make(x=, stages=, status=, ...)` makes of a run folder's solution, and the log."""
    try:
        kept = json.loads(read_whole(folder / "solution.json", "a solution is JSON"))
        stages = tuple(Stage(**stage) for stage in kept.pop("stages"))
        solution = make(x=np.array(kept.pop("x")), stages=stages, **kept)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{folder}: is not a run folder of this version: {error}") from None
    return solution, tuple(read_whole(folder / "log.txt", "a log is text").splitlines())
