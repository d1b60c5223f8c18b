"""Pieces of the pages that report the motions of people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def section(heading: str, content: str) -> str:
    """A heading with what belongs to it, which is HTML."""
    return f"<h2>{escape(heading)}</h2>\n{content}"


def table(rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """A table of texts."""
    head = "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in header) + "</tr>" if header else ""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{head}{body}</table>"
