"""What ``kinecast walk`` does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kinecast.errors import InputError
from kinecast.human.skeleton import human
from kinecast.human.solving import Report
from kinecast.human.walking.run import write_run
from kinecast.human.walking.walk import walk

# Who walks when nothing is said.
_STATURE, _MASS = 1.75, 75.0


def run(
    person: dict[str, Any],
    speed: float,
    step: float | None,
    out: Path,
    *,
    weak: Iterable[str],
    stiff: Iterable[str],
    settings: Iterable[str],
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> bool:
    """Predict a walk and leave the run folder; whether there is one. Ctrl-C while solving keeps the best so far."""
    if person["stature"] is None and person["mass"] is None and person["percentile"] is None:
        person = person | {"stature": _STATURE, "mass": _MASS}
    freeze = [name for name in person.pop("freeze").split(",") if name]
    structure = human(**person, freeze=freeze, strength=_numbers("--weak", weak, 1), limits=_ranges(stiff))
    how |= _settings(settings)
    with _progress(quiet) as (say, report):
        found = walk(structure, speed, step, say=say, report=report, **how)
    write_run(found, out)
    if as_json:
        print((out / "result.json").read_text(encoding="utf-8"), end="")
    elif not quiet:
        print(f"{found.status}: {found.message}\n{out / 'report.html'}")
    return found.ok


def _pairs(option: str, given: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"{option} must be NAME=VALUE, got {text!r}")
        yield name.strip(), value.strip()


def _numbers(option: str, given: Iterable[str], count: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in _pairs(option, given):
        try:
            numbers = [float(part) for part in value.split(":")]
        except ValueError:
            numbers = []
        if len(numbers) != count:
            wanted = "a number" if count == 1 else "LOW:HIGH"
            raise InputError(f"{option} {name} must be {wanted}, got {value!r}")
        found[name] = numbers[0] if count == 1 else tuple(numbers)
    return found


def _ranges(given: Iterable[str]) -> dict[str, Any]:
    ranges = _numbers("--stiff", given, 2)
    return {name: (float(np.deg2rad(low)), float(np.deg2rad(high))) for name, (low, high) in ranges.items()}


def _settings(given: Iterable[str]) -> dict[str, Any]:
    """NAME=VALUE of settings, PHASE under phases.PHASE, several numbers with colons between."""
    found: dict[str, Any] = {}
    for name, text in _pairs("--set", given):
        value: Any
        try:
            numbers = tuple(float(part) for part in text.split(":"))
            value = numbers[0] if len(numbers) == 1 else numbers
        except ValueError:
            value = {"true": True, "false": False}.get(text, text)
        whole, _, inner = name.partition(".")
        if inner and whole in ("phases", "limits", "emphasis"):
            found.setdefault(whole, {})[inner] = value
        else:
            found[name] = value
    return found


@contextmanager
def _progress(quiet: bool) -> Iterator[tuple[Callable[[str], None], Report | None]]:
    """On a terminal a line that changes; elsewhere the lines of the log; with `quiet` nothing."""
    if quiet:
        yield lambda _: None, None
    elif not sys.stderr.isatty():
        yield lambda line: print(f"kinecast: {line}", file=sys.stderr), None
    else:
        from rich.console import Console

        console = Console(stderr=True)
        with console.status("building the problem (the first time on this machine it is compiled)") as status:

            def follow(stage: str, iteration: int, objective: float, violation: float, optimality: float) -> None:
                status.update(
                    f"{stage}, iteration {iteration}: objective {objective:.6g}, largest violation {violation:.1e}"
                )

            yield lambda line: console.print(line, highlight=False, style="dim"), follow
