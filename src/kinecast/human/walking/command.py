"""What ``kinecast walk`` does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kinecast.human.command_line import answer, person_of, progress, settings_of
from kinecast.human.walking.run import write_run
from kinecast.human.walking.walk import walk


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
    structure = person_of(person, weak, stiff)
    how |= settings_of(settings, nested=("phases", "limits", "emphasis"))
    with progress(quiet) as (say, report):
        found = walk(structure, speed, step, say=say, report=report, **how)
    write_run(found, out)
    return answer(found, out, quiet=quiet, as_json=as_json)
