"""Options that every command has."""

from __future__ import annotations

from typing import Annotated

import typer

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors, no summary on stdout.")]
Json = Annotated[bool, typer.Option("--json", help="The answer as JSON on stdout.")]
