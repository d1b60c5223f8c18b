"""YAML text to plain data, with the line of every value and what YAML is otherwise lax about made strict.

Numbers are read as YAML 1.2 and JSON do (1e-3 is a number, 010 is ten, `no` is a word); a key given twice is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from kinecast.errors import InputError
from kinecast.files import Source

# The C loader is ten times faster; PyYAML is built without it in places.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SafeDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_PLAIN = (None, "")  # the style of a word without quotation marks
_DEEPEST = 50
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_WORDS |= {".nan": float("nan"), ".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf")}


def parse(text: str, name: str) -> tuple[Any, Source]:
    """The data in `text`, and their source, which is called `name`."""
    lines: dict[str, int] = {}
    source = Source(name, lines)
    events = yaml.parse(text, Loader=_Loader)  # not load(): the C code behind it crashes on a thousand brackets
    try:
        first = [next(events), next(events)][1]  # the start of the stream, then of a document, or the end
        data = None
        if isinstance(first, yaml.DocumentStartEvent):
            data = _Builder(events, source, lines).value(next(events), "", 0)
            _, after = next(events), next(events)
            if not isinstance(after, yaml.StreamEndEvent):
                raise _at(source, after, "", "a second document begins; there must be one")
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        where = Source(name, {} if mark is None else {"": mark.line + 1})
        raise where.error("", f"is not YAML: {' '.join(str(problem).split())}") from None
    return data, source


def _at(source: Source, event: Any, path: str, message: str) -> InputError:
    """The error about the part at `path`, which begins at the line of `event`."""
    return Source(source.name, {path: event.start_mark.line + 1}).error(path, message)


@dataclass(frozen=True)
class _Builder:
    """Makes data of the parser's events, and keeps the line of every value."""

    events: Iterator[Any]
    source: Source
    lines: dict[str, int]
    anchors: dict[str, Any] = field(default_factory=dict)

    def value(self, event: Any, path: str, depth: int) -> Any:
        """The value that begins with `event`."""
        self.lines.setdefault(path, event.start_mark.line + 1)
        if depth > _DEEPEST:
            raise _at(self.source, event, "", "is nested too deeply")
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise _at(self.source, event, path, f"*{event.anchor} must stand after the end of &{event.anchor}")
            return self.anchors[event.anchor]
        if isinstance(event, yaml.ScalarEvent):
            data: Any = _scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            data = []
            while not isinstance(inner := next(self.events), yaml.SequenceEndEvent):
                data.append(self.value(inner, f"{path}[{len(data)}]", depth + 1))
        else:
            data = {}
            while not isinstance(inner := next(self.events), yaml.MappingEndEvent):
                key = self.key(inner, path, data)
                data[key] = self.value(next(self.events), f"{path}.{key}" if path else key, depth + 1)
        if event.anchor:
            self.anchors[event.anchor] = data
        return data

    def key(self, event: Any, path: str, before: dict[str, Any]) -> str:
        """A key of the mapping at `path`, which has the keys of `before` so far."""
        key: str = event.value if isinstance(event, yaml.ScalarEvent) else ""
        if not key or (key == "<<" and event.style in _PLAIN):
            raise _at(self.source, event, path, "a key must be a word")
        inner = f"{path}.{key}" if path else key
        if key in before:
            raise _at(self.source, event, inner, f"is there twice, first in line {self.lines[inner]}")
        self.lines[inner] = event.start_mark.line + 1
        return key


def _scalar(event: Any) -> Any:
    text: str = event.value
    if event.style not in _PLAIN:  # quoted, or a block of text
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


class _Dumper(_SafeDumper):  # type: ignore[misc]
    """Writes numbers as PyYAML does, and puts words in quotation marks that `parse` would take for a number."""


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(f"^(?:{_FLOAT.pattern})$"), list("-+.0123456789"))


def dump(data: Any) -> str:
    """YAML text of plain data; a list of numbers stays on its line, numbers keep every digit."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
    return text
