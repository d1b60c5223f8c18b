"""What ``kinecast predict`` and ``kinecast report`` do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from kinecast.files import make_folder, read_whole, write_whole
from kinecast.predict.prediction import Prediction
from kinecast.predict.progress import progress_line
from kinecast.report.html import page
from kinecast.report.run import read_run, write_run
from kinecast.yaml_text import parse

Report = Callable[[int, float, float], None]
# Runs of other commands say in problem.yaml what they are of, and draw their own reports: `renew_report(folder)`.
_TASKS = {"walk": "kinecast.human.walking.run", "lift": "kinecast.human.lifting.run"}


def predict(problem: Path, out: Path, *, quiet: bool, as_json: bool) -> bool:
    """Predict a motion and leave the run folder; whether there is one. Ctrl-C while solving keeps the best so far."""
    plan = Prediction.load(problem)
    plan.task()
    make_folder(out)  # if that cannot be done it is better known before the work
    with _progress(quiet) as (say, report):
        motion = plan.solve(say=say, report=report, progress=False)
    write_run(motion, out)
    if as_json:
        print((out / "result.json").read_text(encoding="utf-8"), end="")
    elif not quiet:
        print(f"{motion.status}: {motion.message}\n{out / 'report.html'}")
    return motion.ok


def report(folder: Path, *, quiet: bool, as_json: bool) -> None:
    """The report of a run folder again."""
    problem = read_whole(folder / "problem.yaml", "a problem file is YAML")
    data, _ = parse(problem, str(folder / "problem.yaml"))
    task = data.get("task") if isinstance(data, dict) else None
    if task in _TASKS:
        import_module(_TASKS[task]).renew_report(folder)
    else:
        motion = read_run(folder)
        closure = json.loads((folder / "result.json").read_text(encoding="utf-8"))["closure"]["max_q_error"]
        write_whole(folder / "report.html", page(motion, problem, closure))
    if as_json:
        print(json.dumps({"report": str(folder / "report.html")}))
    elif not quiet:
        print(folder / "report.html")


@contextmanager
def _progress(quiet: bool) -> Iterator[tuple[Callable[[str], None], Report]]:
    """On a terminal a line that changes; elsewhere the lines of the log; with `quiet` nothing."""
    if quiet:
        yield lambda _: None, lambda *_: None
    elif not sys.stderr.isatty():
        yield lambda line: print(f"kinecast: {line}", file=sys.stderr), lambda *_: None
    else:
        from rich.console import Console

        console = Console(stderr=True)
        with console.status("reading the problem") as status:

            def follow(iteration: int, objective: float, violation: float) -> None:
                status.update(progress_line(iteration, objective, violation))

            yield lambda line: console.print(line, highlight=False, style="dim"), follow
