"""What kinecast raises: one line that says what is wrong, where, and what would be right."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches

_NAMES_SHOWN = 8


class KinecastError(Exception):
    """Base of every error that kinecast raises on purpose."""


class InputError(KinecastError, ValueError):
    """Something given to kinecast is wrong; `key` names the entry at fault where there is one."""

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class UnknownNameError(InputError, KeyError):
    """A name that nothing has; made by `unknown`, which also names the nearest one."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message in quotation marks


class NotSupportedError(KinecastError, NotImplementedError):
    """A sound request that no algorithm here can serve."""


class SealedError(KinecastError):
    """A predicted motion that is not a solution was used without saying so."""


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None when none is alike."""
    by_lower = {word.lower(): word for word in known}
    close = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.5)
    return by_lower[close[0]] if close else None


def unknown(kind: str, name: object, known: Iterable[str], *, key: str | None = None) -> UnknownNameError:
    """The error for a `kind` (joint, point, key, ...) called `name` that is none of the `known` names."""
    names = list(known)
    close = nearest(name, names)
    hint = f"did you mean {close!r}? " if close is not None else ""
    shown = ", ".join(names[:_NAMES_SHOWN]) or "none"
    more = f", and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return UnknownNameError(f"unknown {kind} {name!r}; {hint}known: {shown}{more}", key=key)


def brief(value: object) -> str:
    """What was given, in at most 60 characters of one line."""
    text = " ".join(reprlib.repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
