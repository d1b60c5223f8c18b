"""Arguments of a mechanism's methods: laid out as a kernel takes them, and explained when it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.algorithms import Request
from kinecast.dynamics.results import BaseMotion, Load
from kinecast.engine import Kernel
from kinecast.errors import InputError
from kinecast.mechanism import Structure


def flat_inputs(
    structure: Structure,
    algorithm: str,
    method: str,
    world: bool,
    state: tuple[ArrayLike, ...],
    loads: Load | Sequence[Load] | None,
    base: BaseMotion | None,
    place: str | None,
) -> tuple[Request, list[ArrayLike]]:
    """The request of a call with loads or a moving base, and the arrays in the order of its kernel's inputs."""
    arguments = list(state)
    if base is not None:
        if not isinstance(base, BaseMotion):
            raise InputError(f"{algorithm}: base must be a kinecast.BaseMotion, got {type(base).__name__}")
        if structure.planar_bodies:
            raise InputError(
                f"{algorithm}: the base of {structure.name!r} cannot move because the inertia of body "
                f"{structure.planar_bodies[0]!r} is known about one axis only; give all of its moments"
            )
        arguments += [base.velocity, base.acceleration]
    applied = [] if loads is None else [loads] if isinstance(loads, Load) else list(loads)
    for load in applied:
        if not isinstance(load, Load):
            raise InputError(f"{algorithm}: loads must be kinecast.Load objects, got {type(load).__name__}")
        structure.point(load.point)
        arguments += [load.force, load.moment]
    request = Request(algorithm, method, base is not None, tuple(load.point for load in applied), place, world)
    return request, arguments


def explained(
    structure: Structure, algorithm: str, kernel: Kernel, arguments: Sequence[ArrayLike], out: Any, error: Exception
) -> Exception:
    """One line on what is wrong with the arguments of a call that NumPy refused; the error itself if they are right."""
    batches: dict[str, tuple[int, ...]] = {}
    for port, given in zip(kernel.inputs, arguments, strict=True):
        try:
            array = np.asarray(given)
        except ValueError:
            return InputError(f"{algorithm}: {port.name} must be an array, its rows have different lengths")
        if array.dtype.kind not in "biuf":
            return InputError(f"{algorithm}: {port.name} must be real numbers, got dtype {array.dtype}")
        if not np.can_cast(array.dtype, np.float64, "same_kind") or array.dtype.itemsize > 8:
            return InputError(
                f"{algorithm}: {port.name} must be float64, got {array.dtype}; convert it with astype(float)"
            )
        core = port.shape
        if array.ndim < len(core) or array.shape[array.ndim - len(core) :] != core:
            names = ", ".join(structure.coordinates[:3]) + (", ..." if structure.n > 3 else "")
            what = (
                f"the {structure.n} coordinates of {structure.name!r} ({names})"
                if core == (structure.n,)
                else "3 + 3"
                if core == (6,)
                else "x, y, z"
            )
            return InputError(
                f"{algorithm}: the last axis of {port.name} must be {core[-1]} ({what}), got shape {array.shape}"
            )
        batches[port.name] = array.shape[: array.ndim - len(core)]
    try:
        batch = np.broadcast_shapes(*batches.values())
    except ValueError:
        shapes = ", ".join(f"{shape} of {name}" for name, shape in batches.items())
        return InputError(f"{algorithm}: the batch axes do not broadcast: {shapes}")
    if out is not None:
        return _about_out(algorithm, kernel, out, batch) or error
    return error


def _about_out(algorithm: str, kernel: Kernel, out: Any, batch: tuple[int, ...]) -> Exception | None:
    arrays = [out] if isinstance(out, np.ndarray) else list(out)
    if len(arrays) != len(kernel.outputs):
        names = ", ".join(port.name for port in kernel.outputs)
        return InputError(f"{algorithm}: out must be {len(kernel.outputs)} arrays ({names}), got {len(arrays)}")
    for port, array in zip(kernel.outputs, arrays, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != np.float64:
            kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            return InputError(f"{algorithm}: out for {port.name} must be a float64 array, got {kind}")
        if array.shape != batch + port.shape:
            return InputError(
                f"{algorithm}: out for {port.name} must have shape {batch + port.shape}, got {array.shape}"
            )
    return None
