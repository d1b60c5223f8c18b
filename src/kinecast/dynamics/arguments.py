"""Arguments of a mechanism's methods: laid out as a kernel takes them, and explained when it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.algorithms import Request
from kinecast.dynamics.results import BaseMotion, Load
from kinecast.engine import Kernel, Port
from kinecast.errors import InputError, brief
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
        if structure.planar_bodies and _turns(base):
            raise InputError(
                f"{algorithm}: the base of {structure.name!r} cannot turn because the inertia of body "
                f"{structure.planar_bodies[0]!r} is known about one axis only; give all of its moments"
            )
        arguments += [base.velocity, base.acceleration]
    applied = [] if loads is None else [loads] if isinstance(loads, Load) else loads
    if not isinstance(applied, Sequence) or not all(isinstance(load, Load) for load in applied):
        raise InputError(f"{algorithm}: loads must be a kinecast.Load or a list of them, got {brief(loads)}")
    for load in applied:
        if not isinstance(load.point, str):
            raise InputError(
                f"{algorithm}: point of a load must be the name of a point or body, got {brief(load.point)}"
            )
        structure.point(load.point)
        arguments += [load.force, load.moment]
    request = Request(algorithm, method, base is not None, tuple(load.point for load in applied), place, world)
    return request, arguments


def _turns(base: BaseMotion) -> bool:
    """Whether an angular part of the motion is there; arrays that are none are left to NumPy to refuse."""
    try:
        return any(bool(np.any(np.asarray(x, dtype=float)[..., :3])) for x in (base.velocity, base.acceleration))
    except (TypeError, ValueError, IndexError):
        return False


def explained(
    structure: Structure,
    algorithm: str,
    kernel: Kernel,
    arguments: Sequence[ArrayLike],
    out: Any,
    sparse: bool,
    error: Exception,
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
            return InputError(
                f"{algorithm}: the last axis of {port.name} must be {core[-1]} ({_entries(structure, port)}), "
                f"got shape {array.shape}"
            )
        batches[port.name] = array.shape[: array.ndim - len(core)]
    try:
        batch = np.broadcast_shapes(*batches.values())
    except ValueError:
        shapes = ", ".join(f"{shape} of {name}" for name, shape in batches.items())
        return InputError(f"{algorithm}: the batch axes do not broadcast: {shapes}")
    if out is not None:
        return _about_out(algorithm, kernel, out, sparse, batch) or error
    return error


def _entries(structure: Structure, port: Port) -> str:
    """What the last axis of an input holds."""
    if port.name not in ("q", "v", "a", "tau"):
        return "angular x, y, z; linear x, y, z" if port.shape == (6,) else "x, y, z"
    names = ", ".join(structure.coordinates[:3]) + (", ..." if structure.n > 3 else "")
    return f"the coordinates of {structure.name!r}: {names}"


def _about_out(algorithm: str, kernel: Kernel, out: Any, sparse: bool, batch: tuple[int, ...]) -> Exception | None:
    ports, names = kernel.outputs, ", ".join(port.name for port in kernel.outputs)
    wanted = f"a float64 array for {names}" if len(ports) == 1 else f"{len(ports)} float64 arrays ({names})"
    arrays = [out] if isinstance(out, np.ndarray) else out
    if not isinstance(arrays, (list, tuple)) or len(arrays) != len(ports):
        one, many = isinstance(out, np.ndarray), isinstance(out, (list, tuple))
        got = "one array" if one else f"a {type(out).__name__} of {len(out)}" if many else brief(out)
        return InputError(f"{algorithm}: out must be {wanted}, got {got}")
    for port, pattern, array in zip(ports, kernel.patterns, arrays, strict=True):
        shape = batch + ((len(pattern),) if sparse else port.shape)
        if not isinstance(array, np.ndarray) or array.dtype != np.float64:
            kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            return InputError(f"{algorithm}: out for {port.name} must be a float64 array, got {kind}")
        if array.shape != shape:
            return InputError(f"{algorithm}: out for {port.name} must have shape {shape}, got {array.shape}")
        if not array.flags.writeable:
            return InputError(f"{algorithm}: out for {port.name} must be writable, got a read-only array")
    return None
