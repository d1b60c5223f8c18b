"""What an installation is made of, what is missing, what does not work: the findings of ``kinecast doctor``."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Literal

from kinecast import __version__
from kinecast.errors import KinecastError

PEERS = ("pin", "mujoco", "example-robot-data")


@dataclass(frozen=True)
class Finding:
    """One line of the report. `missing` is something optional; `broken` is something that must work and does not."""

    topic: str
    state: Literal["ok", "missing", "broken"]
    text: str


def examine() -> list[Finding]:
    """All findings. Takes a second or two: it loads the engine and computes a torque with it."""
    steps: tuple[Callable[[], Iterator[Finding]], ...] = (
        _machine,
        _packages,
        _vectors,
        _cache,
        _torque,
        _peers,
        _compiler,
    )
    return [finding for step in steps for finding in step()]


def _machine() -> Iterator[Finding]:
    yield Finding("kinecast", "ok", __version__)
    yield Finding("python", "ok", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}")
    yield Finding("machine", "ok", f"{platform.platform()}, {os.cpu_count()} cores")


def _packages() -> Iterator[Finding]:
    for name in _needed():
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError:
            yield Finding(name, "broken", f"is not installed; pip install {name}")


def _needed() -> list[str]:
    """The packages that kinecast cannot do without, from its own metadata."""
    try:
        wanted = requires("kinecast") or []
    except PackageNotFoundError:  # run from a source tree that was never installed
        return []
    names = [line.split(";")[0] for line in wanted if "extra ==" not in line]
    return [name.translate({ord(c): " " for c in "<>=!~[("}).split()[0] for name in names]


def _vectors() -> Iterator[Finding]:
    from kinecast.engine import simd

    try:
        chosen, runs = simd.target(), ", ".join(simd.supported())
    except KinecastError as error:
        yield Finding("vectors", "broken", str(error))
        return
    why = "KINECAST_SIMD" if os.environ.get("KINECAST_SIMD") else "the widest"
    yield Finding("vectors", "ok", f"{chosen.name}, {chosen.width} samples at once ({why}; this CPU runs {runs})")


def _cache() -> Iterator[Finding]:
    from kinecast.engine import cache

    status = cache.status()
    size = f"{status.files} kernels, {status.bytes / 1e6:.1f} MB"
    if status.usable:
        yield Finding("cache", "ok", f"{status.folder}: {status.reason or size}")
    else:
        yield Finding("cache", "missing", f"{status.folder} {status.reason}: every process compiles anew")


def _torque() -> Iterator[Finding]:
    """The whole way there and back: a moving pendulum's torque, and the acceleration this torque gives it."""
    import numpy as np

    from kinecast import load

    start = time.perf_counter()
    try:
        pendulum = load("pendulum")
        q, v, a = (np.full(pendulum.n, x) for x in (0.3, -0.7, 1.9))
        back = pendulum.forward_dynamics(q, v, pendulum.inverse_dynamics(q, v, a))
    except Exception as error:  # whatever it is, the report must say so and go on
        yield Finding("engine", "broken", f"cannot compute a pendulum's motion: {type(error).__name__}: {error}")
        return
    seconds = time.perf_counter() - start
    if np.allclose(back, a, rtol=1e-12):
        yield Finding("engine", "ok", f"computed a pendulum's torque and acceleration in {seconds:.2f} s")
    else:
        yield Finding("engine", "broken", f"a pendulum's torque gives it the acceleration {back}, not {a}")


def _peers() -> Iterator[Finding]:
    for name in PEERS:
        try:
            yield Finding(name, "ok", f"{version(name)} (for comparison only)")
        except PackageNotFoundError:
            yield Finding(name, "missing", "only needed to compare with; pip install 'kinecast[peers]'")


def _compiler() -> Iterator[Finding]:
    path = shutil.which("g++")
    if path:
        yield Finding("g++", "ok", f"{path} (for kinecast bench --peers only)")
    else:
        yield Finding("g++", "missing", "only needed by kinecast bench --peers, to time Pinocchio's C++")
