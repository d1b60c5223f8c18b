"""Mechanisms that come with kinecast: one file each in `data/`, with the source of every number; random chains."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from kinecast.errors import InputError, unknown
from kinecast.mechanism.checks import Array
from kinecast.mechanism.joints import DH, Joint
from kinecast.mechanism.model import Point, Structure

_FOLDER = Path(__file__).parent / "data"


@cache
def names() -> tuple[str, ...]:
    """Every mechanism that `load` knows."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def load(name: str) -> Structure:
    """The built-in mechanism called `name`, one of `names()`."""
    from kinecast.mechanism import files

    if name not in names():
        raise unknown("built-in mechanism", name, names())
    path = _FOLDER / f"{name}.yaml"
    return files.parse(path.read_text(encoding="utf-8"), name, checked=True)


def serial(n: int, seed: int = 0) -> Structure:
    """A chain of `n` revolute joints `j1` ... with general d, a, alpha and random, physical inertias.

    Standard DH; nothing is zero, right or parallel, so that no operation folds away. `tip` is the last body's frame.
    The same (n, seed) is always the same chain.
    """
    if n < 1:
        raise InputError(f"serial: n must be 1 or more joints, got {n}", key="n")
    random = np.random.default_rng(seed)
    joints = [
        Joint.from_dh(
            f"j{i + 1}",
            DH(theta=0.0, d=random.uniform(0.1, 0.4), a=random.uniform(0.1, 0.5), alpha=random.uniform(0.4, 1.2)),
            parent=f"j{i}" if i else None,
            mass=random.uniform(0.5, 5.0),
            com=random.uniform(-0.25, 0.25, 3),
            inertia=_random_inertia(random),
        )
        for i in range(n)
    ]
    return Structure(
        f"serial{n}",
        tuple(joints),
        points=(Point("tip", joints[-1].name),),
        notes=(f"random chain of {n} revolute joints, seed {seed}",),
    )


def _random_inertia(random: np.random.Generator) -> Array:
    """A full inertia matrix of a real body (kg m2): second moments of mass along three random directions."""
    directions, _ = np.linalg.qr(random.normal(size=(3, 3)))
    second_moment = directions @ np.diag(random.uniform(0.005, 0.05, 3)) @ directions.T
    inertia = np.trace(second_moment) * np.eye(3) - second_moment
    return np.asarray(0.5 * (inertia + inertia.T))
