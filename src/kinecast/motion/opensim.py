"""OpenSim's storage files (.mot, .sto): a head of ``key=value`` lines up to ``endheader``, then labels and rows.

Only the layout is here, and what names and units become; `files` makes motions of it. OpenSim's column ``time`` is t,
and a column under the bare name of a coordinate (or its state ``.../NAME/value``, ``.../NAME/speed``) is q or v of it.
With ``inDegrees=yes`` the columns of coordinates that turn are degrees.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kinecast.errors import InputError

if TYPE_CHECKING:
    from kinecast.mechanism import Structure

SUFFIXES = (".mot", ".sto")
STATES = {"value": "q", "speed": "v"}

Table = tuple[list[tuple[str, ...]], list[int]]  # header and rows as text, and the line number of each


def is_storage(path: Path) -> bool:
    """Whether a file of this name is one of OpenSim's."""
    return path.suffix.lower() in SUFFIXES


def parse(lines: Iterable[str], source: str, structure: Structure | None) -> Table:
    """Header and rows as a motion file has them: named as in ours, angles in rad."""
    head: dict[str, str] = {}
    table: list[tuple[str, ...]] = []
    numbers: list[int] = []
    ended = False
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not ended:
            ended = text.lower() == "endheader"
            key, equals, value = text.partition("=")
            if equals:
                head[key.strip().lower()] = value.strip()
        elif text:
            table.append(tuple(cell.strip() for cell in text.split("\t")) if "\t" in text else tuple(text.split()))
            numbers.append(number)
    if not ended:
        raise InputError(
            f"{source}: has no line 'endheader', which must end the head of a {' or '.join(SUFFIXES)} file"
        )
    if not table:
        raise InputError(f"{source}: ends after 'endheader'; a line of labels, time first, must follow")
    _check_size(head, table, source)
    labels = table[0]
    table[0] = tuple(_our_name(label, structure) for label in labels)
    if head.get("indegrees", "no").lower() == "yes":
        if structure is None:
            raise InputError(
                f"{source}: has inDegrees=yes, and which columns are angles is not known here; write radians"
            )
        table[1:] = _in_radians(table, numbers, source, structure)
    return table, numbers


def _check_size(head: dict[str, str], table: list[tuple[str, ...]], source: str) -> None:
    """The head tells the size: a file cut short is noticed."""
    for key, found, what in (("nrows", len(table) - 1, "rows"), ("ncolumns", len(table[0]), "columns")):
        if head.get(key, str(found)) != str(found):
            raise InputError(f"{source}: its head promises {head[key]} {what} and there are {found}")


def _our_name(label: str, structure: Structure | None) -> str:
    if label.lower() == "time":
        return "t"
    coordinates = () if structure is None else structure.coordinates
    *outer, last = label.split("/")
    if outer and outer[-1] in coordinates and last in STATES:
        return f"{STATES[last]}.{outer[-1]}"
    return f"q.{label}" if label in coordinates else label


def _in_radians(
    table: list[tuple[str, ...]], lines: list[int], source: str, structure: Structure
) -> list[tuple[str, ...]]:
    angles = {f"{kind}.{joint.name}" for joint in structure.movable if joint.turns for kind in "qva"}
    turned = [name in angles for name in table[0]]

    def cell(text: str, line: int, name: str) -> str:
        try:
            return repr(math.radians(float(text)))
        except ValueError:
            raise InputError(f"{source}, line {line}, column {name}: {text!r} is not a number") from None

    return [
        tuple(cell(x, line, name) if t else x for x, t, name in zip(row, turned, table[0], strict=False))
        for row, line in zip(table[1:], lines[1:], strict=True)
    ]


def text(name: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A storage file, angles in rad. Columns must be numbers: the format knows nothing else."""
    for row in rows:
        for column, cell in zip(header, row, strict=True):
            try:
                float(cell)
            except ValueError:
                raise InputError(
                    f"{name}: column {column} holds {cell!r}, and {' and '.join(SUFFIXES)} files hold numbers only; "
                    "write a .csv"
                ) from None
    order = ["t", *(column for column in header if column != "t")] if "t" in header else list(header)
    at = [list(header).index(column) for column in order]
    labels = ["time" if column == "t" else column.removeprefix("q.") for column in order]
    head = [name, "version=1", f"nRows={len(rows)}", f"nColumns={len(header)}", "inDegrees=no", "endheader"]
    body = ["\t".join(labels), *("\t".join(row[k] for k in at) for row in rows)]
    return "\n".join([*head, *body, ""])
