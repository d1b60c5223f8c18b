"""What acts on a mechanism over time: joint torques, loads, the motion of the ground; as a kernel takes them.

Each is constant or changes with time; only a Python function for the torques sees the state. Loads and the ground's
motion are along the ground's axes. A ground that turns would turn gravity in its own axes, unless it turns about the
direction of gravity: no other turning is taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.algorithms import Request
from kinecast.dynamics.arguments import flat_inputs
from kinecast.dynamics.mechanism import BaseMotion, Load, Mechanism
from kinecast.errors import InputError, NotSupportedError, brief
from kinecast.mechanism.checks import Array
from kinecast.motion.files import MotionFile
from kinecast.simulate.torques import torques_from

Torque = ArrayLike | Callable[[float, Array, Array], ArrayLike] | MotionFile | os.PathLike[str] | None
Loads = Load | Sequence[Load] | Callable[[float], Load | Sequence[Load]] | None
Base = BaseMotion | Callable[[float], BaseMotion] | None

ALONG_GRAVITY = 1e-9  # sine of the angle between gravity and an axis along it


@dataclass(frozen=True, eq=False)
class Acting:
    """`torque(t, q, v)` (..., n) and `around(t)`, the arrays that a forward-dynamics kernel takes after the torques."""

    request: Request
    torque: Callable[[float, Array, Array], Array]
    around: Callable[[float], list[Array]]
    feedback: bool  # whether the torque depends on the state, not on time alone
    driven: bool  # whether there is a torque at all
    batch: tuple[int, ...]  # of what is constant

    @property
    def does_known_work(self) -> bool:
        """Whether the torques' work is all the work that is done; that of loads and of the ground is not counted."""
        return not self.request.base and not self.request.loads

    def one(self, batch: tuple[int, ...], index: tuple[int, ...]) -> Acting:
        """What acts on one member of a batch."""
        if not batch:
            return self

        def member(x: Array) -> Array:
            return np.broadcast_to(x, batch + x.shape[-1:])[index]

        def torque(t: float, q: Array, v: Array) -> Array:
            found = self.torque(t, q, v)
            return found if self.feedback else member(found)

        return replace(self, torque=torque, around=lambda t: [member(x) for x in self.around(t)], batch=())


def acting(mechanism: Mechanism, torque: Torque, loads: Loads, base: Base, method: str, until: float) -> Acting:
    """What acts, checked as far as that can be done before anything moves."""
    request, around, batch = _surroundings(mechanism, loads, base, method)
    n, coordinates = mechanism.n, mechanism.coordinates
    if callable(torque):
        feedback = _checked(torque, mechanism)
        return Acting(request, feedback, around, feedback=True, driven=True, batch=batch)
    if isinstance(torque, (MotionFile, str, os.PathLike)):
        timed = torques_from(torque, coordinates, until)
        return Acting(request, lambda t, q, v: timed(t), around, feedback=False, driven=True, batch=batch)
    values = vector(0.0 if torque is None else torque, n, "torque", coordinates)
    batch = np.broadcast_shapes(batch, values.shape[:-1])
    return Acting(request, lambda t, q, v: values, around, feedback=False, driven=torque is not None, batch=batch)


def vector(given: Any, size: int, name: str, entries: Sequence[str]) -> Array:
    """Finite numbers (..., size); one number stands for all entries."""
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, one for each of {_some(entries)}, got {brief(given)}") from None
    if values.ndim == 0:
        values = np.full(size, values)
    if values.shape[-1] != size:
        raise InputError(f"the last axis of {name} must be {size} ({_some(entries)}), got shape {values.shape}")
    if not values.size:
        raise InputError(f"{name} has no entries: shape {values.shape}")
    if not np.isfinite(values).all():
        where = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        at = f" (of initial state {', '.join(map(str, where[:-1]))})" if len(where) > 1 else ""
        raise InputError(f"{name} of {entries[where[-1]]}{at} is {values[where]}; it must be a finite number")
    return values


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _checked(torque: Callable[[float, Array, Array], ArrayLike], mechanism: Mechanism) -> Callable[..., Array]:
    """The user's function with what it returns made sure of."""

    def checked(t: float, q: Array, v: Array) -> Array:
        tau = np.asarray(torque(t, q, v), dtype=np.float64)
        if tau.shape != q.shape:
            try:
                tau = np.broadcast_to(tau, q.shape)
            except ValueError:
                raise InputError(
                    f"the torque function must return shape {q.shape}, one torque a coordinate of {mechanism.name!r}; "
                    f"at t = {t:g} it returned {tau.shape}"
                ) from None
        return tau

    return checked


def _surroundings(
    mechanism: Mechanism, loads: Loads, base: Base, method: str
) -> tuple[Request, Callable[[float], list[Array]], tuple[int, ...]]:
    def at(t: float) -> tuple[Request, list[Array]]:
        now = loads(t) if callable(loads) else loads
        ground = base(t) if callable(base) else base
        request, given = flat_inputs(mechanism, "forward_dynamics", method, False, (), now, ground, None)
        names = ["base velocity", "base acceleration"] if request.base else []
        names += [f"{what} at {point}" for point in request.loads for what in ("force", "moment")]
        axes = ("x", "y", "z", "rx", "ry", "rz")
        values = [
            vector(x, 6 if name.startswith("base") else 3, name, axes) for x, name in zip(given, names, strict=True)
        ]
        if request.base:
            _require_level(values[0], values[1], mechanism)
        return request, values

    request, values = at(0.0)
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in values))
    if not callable(loads) and not callable(base):
        return request, lambda t: values, batch

    def around(t: float) -> list[Array]:
        now, found = at(t)
        if now != request:
            raise InputError(
                f"loads act on {', '.join(now.loads) or 'nothing'} at t = {t:g} and on "
                f"{', '.join(request.loads) or 'nothing'} at t = 0; name the same points at all times, with zero "
                "forces where there are none"
            )
        return found

    return request, around, batch


def _require_level(velocity: Array, acceleration: Array, mechanism: Mechanism) -> None:
    """Raise if the ground turns about another axis than that of gravity."""
    gravity = np.linalg.norm(mechanism.gravity)
    for turn in (velocity[..., :3], acceleration[..., :3]):
        across = np.linalg.norm(np.cross(turn, mechanism.gravity), axis=-1)
        if np.any(across > ALONG_GRAVITY * gravity * np.linalg.norm(turn, axis=-1)):
            raise NotSupportedError(
                "a simulated ground may turn about the direction of gravity only, since gravity is constant in the "
                "ground's axes; model any other turning with joints of its own, or set gravity to zero"
            )
