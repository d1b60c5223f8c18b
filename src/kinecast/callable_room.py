"""Rooms that can be called: ``kinecast.human(...)``, ``kinecast.simulate(...)``.

A function of a room's name in the package would give way to the room as soon as anything of it is imported. So the room
itself is what the package offers under that name, and calling it calls the room's main function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    __wrapped__: Callable[..., Any]  # whose signature help() and editors show

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


def make_callable(room: str, function: Callable[..., Any]) -> None:
    """Calling the imported module `room` calls `function` from now on."""
    module = sys.modules[room]
    module.__class__ = _Room
    module.__dict__["__wrapped__"] = function
