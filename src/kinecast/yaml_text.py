"""YAML text to plain data, with the line of every value and what YAML is otherwise lax about made strict.

Numbers are read as YAML 1.2 and JSON do (1e-3 is a number, 010 is ten, `no` is a word); a key given twice is refused.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from kinecast.files import Source

# The C loader is ten times faster; PyYAML is built without it in places.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SafeDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_MOST_VALUES = 1_000_000  # a file of a hundred lines can hold more, through aliases of aliases
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_WORDS |= {".nan": float("nan"), ".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf")}


def parse(text: str, name: str) -> tuple[Any, Source]:
    """The data in `text`, and their source, which is called `name`."""
    lines: dict[str, int] = {}
    source = Source(name, lines)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        data = None if node is None else _plain(node, "", source, lines, ())
    except yaml.YAMLError as error:
        raise source.error("", _broken(error)) from None
    except RecursionError:
        raise source.error("", "is nested too deeply") from None
    finally:
        loader.dispose()
    return data, source


def _plain(node: Any, path: str, source: Source, lines: dict[str, int], inside: tuple[int, ...]) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if id(node) in inside:
        raise source.error(path, "contains itself through an alias (*)")
    if len(lines) > _MOST_VALUES:
        raise source.error(path, f"is one value more than {_MOST_VALUES}")
    inside = (*inside, id(node))
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, f"{path}[{i}]", source, lines, inside) for i, child in enumerate(node.value)]
    data: dict[str, Any] = {}
    for key_node, child in node.value:
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else ""
        inner = f"{path}.{key}" if path else key
        repeated = key in data
        if not repeated:
            lines.setdefault(inner, key_node.start_mark.line + 1)
        if key in ("", "<<") or repeated:
            what = f"the key {key!r} is there twice" if repeated else "a key must be a word"
            raise source.error(path, f"line {key_node.start_mark.line + 1}: {what}")
        data[key] = _plain(child, inner, source, lines, inside)
    return data


def _scalar(node: Any) -> Any:
    text: str = node.value
    if node.style not in (None, ""):  # quoted, or a block of text
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _broken(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    return f"is not YAML: {where}{' '.join(str(problem).split())}"


class _Dumper(_SafeDumper):  # type: ignore[misc]
    """Writes numbers as PyYAML does, and puts words in quotation marks that `parse` would take for a number."""


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(f"^(?:{_FLOAT.pattern})$"), list("-+.0123456789"))


def dump(data: Any) -> str:
    """YAML text of plain data; a list of numbers stays on its line, numbers keep every digit."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
    return text
