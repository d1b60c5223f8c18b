"""What ``kinecast verify`` does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from kinecast.files import make_folder
from kinecast.tables import text_table
from kinecast.verify import GROUPS, Check, run
from kinecast.verify.frame import summary

COLUMNS = ("document", "item", "reference", "computed", "difference", "tolerance", "verdict", "note")


def verify(names: Sequence[str], out: Path | None, *, quiet: bool, as_json: bool) -> bool:
    """Print a line for every check (with `quiet`: for those that failed); whether none failed."""
    if out is not None:
        make_folder(out)  # before the work and not after it
    with _progress(quiet, len(names) or len(GROUPS)) as begin:
        checks = list(run(names, out, begin))
    failed = [check for check in checks if check.failed]
    if as_json:
        answer = {"passed": not failed, "verdicts": summary(checks), "checks": [_data(check) for check in checks]}
        print(json.dumps(answer, indent=1, ensure_ascii=False))
        return not failed
    shown = failed if quiet else checks
    if shown:
        print(text_table(COLUMNS, (_row(check) for check in shown)))
    if not quiet:
        counted = ", ".join(f"{count} {verdict}" for verdict, count in summary(checks).items())
        print(f"\n{len(checks)} checks: {counted}")
    return not failed


def _row(check: Check) -> tuple[object, ...]:
    numbers = (" + ".join(f"{x:.7g}" for x in values) or "-" for values in (check.reference, check.computed))
    difference = f"{check.difference:+.1%}" if check.verdict == "below" else f"{check.difference:.1e}"
    return (check.document, check.item, *numbers, difference, f"{check.tolerance:.0e}", check.verdict, check.note)


def _data(check: Check) -> dict[str, Any]:
    """For JSON, which has no NaN."""
    return asdict(check) | {"difference": check.difference if isfinite(check.difference) else None}


@contextmanager
def _progress(quiet: bool, total: int) -> Iterator[Callable[[str], None]]:
    """On a terminal a line that changes; elsewhere one line a group; with `quiet` nothing."""
    done = 0

    def line(name: str) -> str:
        nonlocal done
        done += 1
        return f"verifying {name} ({done} of {total})"

    if quiet:
        yield lambda name: None
    elif not sys.stderr.isatty():
        yield lambda name: print(f"kinecast: {line(name)}", file=sys.stderr)
    else:
        from rich.console import Console

        with Console(stderr=True).status("verifying") as status:
            yield lambda name: status.update(line(name))
