"""What the commands about people share: who it is, NAME=VALUE options, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kinecast.errors import InputError
from kinecast.human.predicted import Predicted
from kinecast.human.skeleton import human
from kinecast.human.solving import Report
from kinecast.mechanism import Structure

# Who it is when nothing is said.
_STATURE, _MASS = 1.75, 75.0


def person_of(given: dict[str, Any], weak: Iterable[str], stiff: Iterable[str]) -> Structure:
    """The person of a command's options; `given` holds those of `human` by name, frozen joints as one text."""
    if given["stature"] is None and given["mass"] is None and given["percentile"] is None:
        given = given | {"stature": _STATURE, "mass": _MASS}
    if given["percentile"] is None and (given["stature"] is None or given["mass"] is None):
        raise InputError("stature and body mass go together: give both, or a --percentile", key="stature")
    freeze = [name for name in given["freeze"].split(",") if name]
    return human(**given | {"freeze": freeze}, strength=_numbers("--weak", weak, 1), limits=_ranges(stiff))


def place_of(option: str, text: str) -> tuple[float, ...]:
    """HEIGHT or HEIGHT:DISTANCE."""
    return _split_numbers(option, text, (1, 2), "HEIGHT or HEIGHT:DISTANCE in m")


def settings_of(given: Iterable[str], nested: Sequence[str] = ()) -> dict[str, Any]:
    """NAME=VALUE of settings, several numbers with colons between; WHOLE.NAME under those that are `nested`."""
    found: dict[str, Any] = {}
    for name, text in _pairs("--set", given):
        value: Any
        try:
            numbers = tuple(float(part) for part in text.split(":"))
            value = numbers[0] if len(numbers) == 1 else numbers
        except ValueError:
            value = {"true": True, "false": False}.get(text, text)
        whole, _, inner = name.partition(".")
        if inner and whole in nested:
            found.setdefault(whole, {})[inner] = value
        else:
            found[name] = value
    return found


def _pairs(option: str, given: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"{option} must be NAME=VALUE, got {text!r}")
        yield name.strip(), value.strip()


def _numbers(option: str, given: Iterable[str], count: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in _pairs(option, given):
        numbers = _split_numbers(f"{option} {name}", value, (count,), "a number" if count == 1 else "LOW:HIGH")
        found[name] = numbers[0] if count == 1 else numbers
    return found


def _split_numbers(option: str, text: str, counts: Sequence[int], wanted: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(":"))
    except ValueError:
        numbers = ()
    if len(numbers) not in counts:
        raise InputError(f"{option} must be {wanted}, got {text!r}")
    return numbers


def _ranges(given: Iterable[str]) -> dict[str, Any]:
    ranges = _numbers("--stiff", given, 2)
    return {name: (float(np.deg2rad(low)), float(np.deg2rad(high))) for name, (low, high) in ranges.items()}


def answer(found: Predicted[Any], out: Path, *, quiet: bool, as_json: bool) -> bool:
    """Say how a prediction ended whose run folder is there; whether there is what was asked for."""
    if as_json:
        print((out / "result.json").read_text(encoding="utf-8"), end="")
    elif not quiet:
        print(f"{found.status}: {found.message}\n{out / 'report.html'}")
    return found.ok


@contextmanager
def progress(quiet: bool) -> Iterator[tuple[Callable[[str], None], Report | None]]:
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
