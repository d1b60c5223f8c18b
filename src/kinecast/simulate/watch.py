"""A long run watched: Ctrl-C asks it to stop where it is, and a terminal shows how far it has come."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import AbstractContextManager
from typing import Any

PATIENCE = 1.0  # s before a run counts as long


class Watch(AbstractContextManager["Watch"]):
    """Inside it the first Ctrl-C only sets `stop`; the second is the usual exception."""

    def __init__(self, title: str, until: float, members: int, show: bool) -> None:
        self.stop = False
        self._title, self._until, self._members = title, until, members
        self._due = time.perf_counter() + PATIENCE if show and sys.stderr.isatty() else float("inf")
        self._usual: Any = None
        self._bar: Any = None

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            self._usual = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        if self._usual is not None:
            signal.signal(signal.SIGINT, self._usual)
        if self._bar is not None:
            self._bar.stop()

    def _interrupted(self, *_: object) -> None:
        self.stop = True
        signal.signal(signal.SIGINT, self._usual)

    def at(self, t: float, member: int = 0) -> None:
        """The run has come to time `t` in this member of a batch."""
        now = time.perf_counter()
        if now < self._due:
            return
        if self._bar is None:
            self._bar = _started_bar()
            self._task = self._bar.add_task(self._title, total=self._until * self._members)
        self._due = now + 0.1
        self._bar.update(self._task, completed=member * self._until + t)


def _started_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    bar.start()
    return bar
