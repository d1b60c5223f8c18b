"""What ``kinecast lift`` does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kinecast.human.command_line import answer, person_of, place_of, progress, settings_of
from kinecast.human.lifting.lift import lift
from kinecast.human.lifting.run import write_run


def run(
    person: dict[str, Any],
    mass: float,
    from_: str,
    to: str,
    out: Path,
    *,
    weak: Iterable[str],
    stiff: Iterable[str],
    settings: Iterable[str],
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> bool:
    """Predict a lift and leave the run folder; whether there is one. Ctrl-C while solving keeps the best so far."""
    structure, start, end = person_of(person, weak, stiff), place_of("--from", from_), place_of("--to", to)
    how |= settings_of(settings, nested=("box", "emphasis"))
    with progress(quiet) as (say, report):
        found = lift(structure, mass, start, end, say=say, report=report, **how)
    write_run(found, out)
    return answer(found, out, quiet=quiet, as_json=as_json)
