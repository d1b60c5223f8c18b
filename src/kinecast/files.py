"""Reading and writing text files: errors that say where in the file, and never half a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kinecast.errors import InputError


@dataclass(frozen=True)
class Source:
    """What errors call the origin of some data, and the line of each part of them (`joints[1].mass`: 12)."""

    name: str
    lines: Mapping[str, int] = field(default_factory=dict)

    def error(self, path: str, message: str, like: InputError | None = None) -> InputError:
        """The error to raise for the part at `path`, of the kind of `like`."""
        line = self._line(path)
        where = [self.name, *([f"line {line}"] if line else []), *([path] if path else [])]
        kind = InputError if like is None else type(like)
        return kind(f"{', '.join(where)}: {message}", key=path or None)

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Errors raised inside are about the part at `path`, or about the one that their key names in it."""
        try:
            yield
        except InputError as error:
            inner = ".".join(part for part in (path, error.key) if part)
            raise self.error(inner, str(error), like=error) from None

    def _line(self, path: str) -> int | None:
        """The line of the part, or of the smallest whole around it that has one: what is missing has no line."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path)


def read_whole(path: str | os.PathLike[str], what: str) -> str:
    """The text of a file that should be `what` ("a mechanism file is YAML ...")."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{os.fspath(path)}: is not text in UTF-8; {what}") from None


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that no reader ever sees a part of it: to a temporary file beside it, then renamed."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe: must not be replaced
            path.write_text(text, encoding="utf-8", newline="")
            return
        _write_all({path: text})
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def make_folder(folder: Path) -> None:
    """Make a folder, and those around it, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: no folder can be made there: {(error.strerror or str(error)).lower()}") from None


def write_folder(folder: Path, files: Mapping[str, str], stale: Iterable[str] = ()) -> None:
    """Write text files by name into a folder, which is made if need be; `stale` ones are taken away.

    What was there stays as it was until all are written. The last file is taken away first and gets its name last, so
    that a folder that has it belongs to one finished run.
    """
    make_folder(folder)
    last = list(files)[-1]
    try:
        _write_all({folder / name: text for name, text in files.items()}, [folder / name for name in (last, *stale)])
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _write_all(files: Mapping[Path, str], stale: Iterable[Path] = ()) -> None:
    """Write all files beside where they belong; then take the stale ones away and give the new ones their names."""
    targets = [path.resolve() for path in files]  # a link stays a link
    temporary = [target.with_name(f".{target.name}.{os.getpid()}") for target in targets]
    try:
        for path, text in zip(temporary, files.values(), strict=True):
            path.write_text(text, encoding="utf-8", newline="")
        for path in stale:
            path.unlink(missing_ok=True)
        for path, target in zip(temporary, targets, strict=True):
            os.replace(path, target)
    finally:
        for path in temporary:
            path.unlink(missing_ok=True)
