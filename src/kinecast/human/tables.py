"""The tables of published numbers behind the digital human: ``data/*.csv``, lines that start with # are comments."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

_FOLDER = Path(__file__).parent / "data"


@functools.cache
def rows(table: str) -> tuple[dict[str, str], ...]:
    """The rows of one table, each a mapping of the header's names to text."""
    with (_FOLDER / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(line for line in file if not line.startswith("#")))


def number(cell: str) -> float | None:
    """A cell as a number; an empty one is None."""
    return float(cell) if cell else None
