"""Mechanisms, states and evaluations that the checks share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.algorithms import DEFAULT_METHOD, Request, ports
from kinecast.dynamics.mechanism import Mechanism
from kinecast.dynamics.tracing import METHODS, methods_for, traced
from kinecast.mechanism import DH, Joint, Point, Structure
from kinecast.mechanism.checks import Array

State = tuple[Array, Array, Array]
# Named points of `varied` mechanisms at which loads act.
LOADED = ("grip", "elbow")


def states(n: int, count: int = 20, seed: int = 0) -> State:
    """Random (q, v, a), each (count, n)."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-3, 3, (count, n)), rng.normal(size=(count, n)), 2 * rng.normal(size=(count, n))


def rods(lengths: Sequence[float], masses: Sequence[float], gravity: ArrayLike = (0.0, -9.81, 0.0)) -> Mechanism:
    """Uniform slender rods in the x-y plane, each hinged to the end of the one before: moment m a^2 / 12 each."""
    joints: list[Joint] = []
    for a, m in zip(lengths, masses, strict=True):
        moment = m * a * a / 12
        parent = joints[-1].name if joints else None
        body: dict[str, Any] = {"mass": m, "com": (-a / 2, 0, 0), "inertia": (0, moment, moment, 0, 0, 0)}
        joints.append(Joint.from_dh(f"theta{len(joints) + 1}", DH(a=a), parent=parent, **body))
    return Mechanism("rods", tuple(joints), gravity=np.asarray(gravity, dtype=float))


@cache
def varied(n: int, *, tree: bool = False, sliding: str = "mixed", gears: bool = False, seed: int = 0) -> Mechanism:
    """A general chain or tree of `n` joints: turning, sliding or "mixed", with or without actuator inertia.

    Twists, offsets, inertias and the direction of gravity are random; `LOADED` names two points for loads.
    """
    rng = np.random.default_rng((n, seed))
    slides = {"none": 0.0, "mixed": 0.35, "all": 1.0}[sliding]
    joints: list[Joint] = []
    for i, joint in enumerate(Structure.serial(n, seed).joints):
        parent = None if i == 0 else joints[int(rng.integers(i)) if tree else -1].name
        kind: Any = "prismatic" if rng.random() < slides else "revolute"
        actuator = rng.uniform(0.01, 0.5) if gears else 0.0
        joints.append(replace(joint, kind=kind, parent=parent, actuator_inertia=actuator))
    points = (
        Point(LOADED[0], joints[-1].name, rng.uniform(-0.3, 0.3, 3)),
        Point(LOADED[1], joints[n // 2].name, rng.uniform(-0.3, 0.3, 3)),
    )
    return Mechanism(f"varied {n}", tuple(joints), points, gravity=rng.normal(size=3) * 6)


def evaluate(
    mechanism: Structure,
    algorithm: str,
    arguments: Sequence[Array],
    method: str = DEFAULT_METHOD,
    *,
    base: bool = False,
    loads: tuple[str, ...] = (),
) -> list[Array]:
    """An algorithm's outputs at numbers, by CasADi and one operation after the other: nothing is compiled.

    `arguments` are the state, then with `base` its velocity and acceleration, then force and moment of each load.
    """
    request = Request(algorithm, method, base=base, loads=loads)
    _, outputs = ports(mechanism, request)
    results = traced(mechanism, request).call([ca.DM(x) for x in arguments])
    return [np.asarray(x.full()).reshape(port.shape) for x, port in zip(results, outputs, strict=True)]


def numbers(expressions: Sequence[Any], symbols: Sequence[Any], at: Sequence[Array]) -> list[Array]:
    """CasADi expressions in some symbols, as arrays at numbers."""
    function = ca.Function("numbers", list(symbols), [ca.densify(x) for x in expressions])
    return [np.asarray(x.full()) for x in function.call([ca.DM(x) for x in at])]


def symbols(mechanism: Structure, names: Sequence[str]) -> list[Any]:
    """One CasADi column of n symbols for each name."""
    return [ca.SX.sym(name, mechanism.n) for name in names]


def able(algorithm: str, among: Sequence[str] = tuple(METHODS)) -> list[str]:
    """The formulations of the literature that have an algorithm."""
    return [method for method in methods_for(algorithm) if method in among]


def by_method(call: Callable[[str], Array], methods: Sequence[str]) -> dict[str, ArrayLike]:
    """What a call gives with each method."""
    return {method: call(method) for method in methods}
