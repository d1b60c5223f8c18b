"""Motion files (CSV): header ``t,q.shoulder,...,v.shoulder,...``, time [s] down the rows, SI units; and OpenSim's.

What is read is kept as text until a number is asked for, so that columns nobody asked about are written back as they
were.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kinecast.errors import InputError, nearest
from kinecast.files import write_whole
from kinecast.motion import opensim
from kinecast.motion.spline import Array, derivatives

if TYPE_CHECKING:
    from kinecast.mechanism import Structure


@dataclass(frozen=True)
class JointSeries:
    """Position, velocity and acceleration, each (N, n) in the mechanism's order, at the times `t` (N,) [s]."""

    t: Array
    q: Array
    v: Array
    a: Array
    splined: tuple[str, ...]  # the columns that the file did not have


@dataclass(frozen=True)
class MotionFile:
    """A motion file as it stands: `cells[row][column]` is text, `lines[row]` the row's line number in `source`."""

    source: str
    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def numbers(self, column: str) -> Array:
        """The finite numbers (N,) of one column."""
        index = self.header.index(column)
        values = np.empty(len(self.cells))
        for row, cells in enumerate(self.cells):
            values[row] = self._number(cells[index], row, column)
        return values

    def _number(self, cell: str, row: int, column: str) -> float:
        where = f"{self.source}, line {self.lines[row]}, column {column}"
        try:
            value = float(cell)
        except ValueError:
            raise InputError(f"{where}: {cell!r} is not a number") from None
        if not math.isfinite(value):
            raise InputError(f"{where}: {cell} is not a finite number")
        return value

    def times(self) -> Array:
        """The times (N,) [s], which increase from row to row."""
        if "t" not in self.header:
            raise self._no_column("t (time in seconds)")
        t = self.numbers("t")
        back = np.flatnonzero(np.diff(t) <= 0.0)
        if back.size:
            row = int(back[0]) + 1
            verb = "repeats" if t[row] == t[row - 1] else "is before"
            raise InputError(
                f"{self.source}, line {self.lines[row]}: t = {t[row]:g} {verb} t = {t[row - 1]:g} "
                f"of line {self.lines[row - 1]}; time must increase from row to row"
            )
        return t

    def joint_series(self, coordinates: Sequence[str]) -> JointSeries:
        """Motion of the named coordinates; velocities and accelerations that are missing are splined from q."""
        t = self.times()
        absent = {kind: [name for name in coordinates if f"{kind}.{name}" not in self.header] for kind in "qva"}
        for kind, names in absent.items():
            self._refuse_misspelt(kind, names, coordinates)
        if absent["q"]:
            raise self._no_column(f"q.{absent['q'][0]}")
        q = self._columns("q", coordinates)
        splined = tuple(f"{kind}.{name}" for kind in "va" for name in absent[kind])
        if splined and len(t) < 2:
            raise InputError(f"{self.source}: {splined[0]} is missing and one row is not enough to spline it from q")
        v, a = derivatives(t, q) if splined else (np.empty_like(q), np.empty_like(q))
        for kind, values in (("v", v), ("a", a)):
            present = [k for k, name in enumerate(coordinates) if f"{kind}.{name}" in self.header]
            values[:, present] = self._columns(kind, [coordinates[k] for k in present])
        return JointSeries(t, q, v, a, splined)

    def _columns(self, kind: str, names: Sequence[str]) -> Array:
        columns = [self.numbers(f"{kind}.{name}") for name in names]
        return np.stack(columns, axis=-1) if columns else np.empty((len(self.cells), 0))

    def _refuse_misspelt(self, kind: str, absent: Iterable[str], coordinates: Sequence[str]) -> None:
        """An absent column may be splined; one that is there under a slightly wrong name is always an error."""
        named = {column.removeprefix(f"{kind}.") for column in self.header if column.startswith(f"{kind}.")}
        for name in absent:
            alike = nearest(name, sorted(named - set(coordinates)))
            if alike is not None:
                raise InputError(
                    f"{self.source}: column {kind}.{alike} names no coordinate of the mechanism; "
                    f"did you mean {kind}.{name}?"
                )

    def _no_column(self, name: str) -> InputError:
        shown = ",".join(self.header[:6]) + (",..." if len(self.header) > 6 else "")
        return InputError(f"{self.source}: there is no column {name}; the header is {shown}")

    def with_columns(self, columns: Mapping[str, Array]) -> MotionFile:
        """The same file with columns added at the end, or replaced where they stood."""
        header = list(self.header) + [name for name in columns if name not in self.header]
        text = {name: [repr(float(value)) for value in values] for name, values in columns.items()}
        old = {name: index for index, name in enumerate(self.header)}
        cells = tuple(
            tuple(text[name][row] if name in text else cells[old[name]] for name in header)
            for row, cells in enumerate(self.cells)
        )
        return MotionFile(self.source, tuple(header), cells, self.lines)

    def text(self) -> str:
        """The file's text."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([self.header, *self.cells])
        return buffer.getvalue()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file (.mot, .sto: OpenSim's layout); it appears under `path` complete or not at all."""
        path = Path(path)
        storage = opensim.is_storage(path)
        write_whole(path, opensim.text(path.stem, self.header, self.cells) if storage else self.text())


def read_motion(path: str | os.PathLike[str], structure: Structure | None = None) -> MotionFile:
    """Read a motion file and check its shape; numbers are checked when they are asked for.

    Of OpenSim's files (.mot, .sto) the columns named like coordinates of the `structure` become those of q and v.
    """
    source = os.fspath(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            if opensim.is_storage(Path(path)):
                return _motion(*opensim.parse(file, source, structure), source)
            return parse_motion(file, source)
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{source}: is not text in UTF-8; a motion file is CSV with a header t,q.NAME,...") from None


def parse_motion(lines: Iterable[str], source: str) -> MotionFile:
    """A motion file from its lines; `source` is what errors call it."""
    reader = csv.reader(lines, skipinitialspace=True)
    rows: list[tuple[str, ...]] = []
    numbers: list[int] = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(tuple(cell.strip() for cell in cells))
                numbers.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{source}, line {reader.line_num}: is not CSV: {error}") from None
    if not rows:
        raise InputError(f"{source}: is empty; the first line must be a header, t,q.NAME,...")
    return _motion(rows, numbers, source)


def _motion(rows: list[tuple[str, ...]], numbers: list[int], source: str) -> MotionFile:
    """The file of a header and rows, and the line number of each."""
    header = rows[0]
    _check_header(header, source)
    for row, number in zip(rows[1:], numbers[1:], strict=True):
        if len(row) != len(header):
            raise InputError(f"{source}, line {number}: has {len(row)} cells where the header has {len(header)}")
    if len(rows) == 1:
        raise InputError(f"{source}: has a header and no rows; one row a sample must follow")
    return MotionFile(source, header, tuple(rows[1:]), tuple(numbers[1:]))


def _check_header(header: tuple[str, ...], source: str) -> None:
    if len(header) == 1 and any(separator in header[0] for separator in ";\t"):
        raise InputError(f"{source}: columns must be separated by commas")
    for index, name in enumerate(header):
        if not name:
            raise InputError(f"{source}: column {index + 1} of the header has no name")
        if name in header[:index]:
            raise InputError(f"{source}: column {name} is there twice")
