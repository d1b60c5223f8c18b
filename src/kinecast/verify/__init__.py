"""`kinecast verify`: the worked examples, closed forms and tables of the literature, and all methods against all.

A group of checks is a module of this room with a function `checks(folder)` that yields `Check`s and, given a folder,
leaves its figures there. To add one, write the module and name it in `GROUPS`.

Example::

    failed = [check for check in run(["lagrange"]) if check.failed]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from kinecast.errors import unknown
from kinecast.verify.frame import Check

__all__ = ["GROUPS", "Check", "run"]

# In the order of the report; each is the module kinecast.verify.<name>.
GROUPS: tuple[str, ...] = (
    "newton_euler",
    "lagrange",
    "six_by_six",
    "denoc",
    "saha_examples",
    "filtering",
    "counts",
    "methods",
    "prediction",
    "gait",
)


def run(
    names: Sequence[str] = (), folder: Path | None = None, begin: Callable[[str], None] = lambda name: None
) -> Iterator[Check]:
    """The checks of the groups called `names` (none: of all), one by one; `begin` is told of every group."""
    for name in names:
        if name not in GROUPS:
            raise unknown("group of checks", name, GROUPS)
    for name in names or GROUPS:
        begin(name)
        yield from import_module(f"kinecast.verify.{name}").checks(folder)
