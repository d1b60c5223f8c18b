"""Text tables for terminals and pipes: aligned columns, no frames, nothing that a `grep` would trip over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def text_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns aligned under their header, two spaces apart: text to the left, columns of numbers to the right."""
    body = [list(row) for row in rows]
    cells = [list(header), *([_text(cell) for cell in row] for row in body)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(header))]
    right = [
        bool(body) and all(isinstance(row[k], (int, float)) or row[k] is None for row in body)
        for k in range(len(header))
    ]
    lines = []
    for line in cells:
        padded = [
            cell.rjust(width) if r else cell.ljust(width) for cell, width, r in zip(line, widths, right, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _text(cell: object) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
