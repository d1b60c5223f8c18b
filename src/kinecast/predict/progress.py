"""A line on the terminal that follows a solve which takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kinecast.predict.solvers import Report

PATIENCE = 1.0  # s before a solve counts as long


@contextmanager
def followed(report: Report | None, show: bool) -> Iterator[Report | None]:
    """`report`, which if `show` and on a terminal moves a line as well; the line goes when the solve is done."""
    if not show or not sys.stderr.isatty():
        yield report
        return
    due, status = time.perf_counter() + PATIENCE, None

    def follow(iteration: int, objective: float, violation: float) -> None:
        nonlocal status
        if report is not None:
            report(iteration, objective, violation)
        if time.perf_counter() < due:
            return
        if status is None:
            status = _begun()
        status.update(progress_line(iteration, objective, violation))

    try:
        yield follow
    finally:
        if status is not None:
            status.stop()


def progress_line(iteration: int, objective: float, violation: float) -> str:
    """What is said of an iteration."""
    return f"iteration {iteration}: objective {objective:.6g}, largest violation {violation:.1e}"


def _begun() -> Any:
    from rich.console import Console

    status = Console(stderr=True).status("solving")
    status.start()
    return status
