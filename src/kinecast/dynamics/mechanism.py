"""`Mechanism`: a `Structure` with its dynamics as methods, each a NumPy gufunc over leading batch axes.

Arrays are float64; the last axes are those named in each method, all axes before them broadcast as in NumPy, so that
one call computes one sample or a million. `out=` takes arrays to write to; ``threads=`` splits a batch. The first call
of a method compiles it (seconds at most, kept on disk); after that a call takes microseconds.

    arm = kinecast.load("puma560")
    tau, d = arm.inverse_dynamics(q, v, a, sensitivities=True)
    tau = arm.inverse_dynamics(q, v, a, loads=kinecast.Load("tip", force=[0, 0, -50]))
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.algorithms import ALGORITHMS, DEFAULT_METHOD, Request, compiled
from kinecast.dynamics.arguments import explained, flat_inputs
from kinecast.dynamics.results import BaseMotion, ForwardSensitivities, Load, Sensitivities, SparseMatrix
from kinecast.engine import Counts, Kernel, call_in_threads
from kinecast.errors import InputError, brief, unknown
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["BaseMotion", "ForwardSensitivities", "Load", "Mechanism", "Sensitivities", "SparseMatrix"]

Loads = Load | Sequence[Load] | None
Out = Array | Sequence[Array] | None


class Mechanism(Structure):
    """A mechanism that computes. All the data of a `Structure`; equal data give the same kernels.

    Symbols: n coordinates q (rad or m), velocities v, accelerations a, torques tau (N m, or N where a joint slides).
    `loads` and `base` enter wherever they are parameters: loads act on bodies at named points, the base is the ground.
    `method` picks a formulation of the literature, the same numbers by another way; "spatial" is the fastest.
    """

    # ------------------------------------------------------------------------------------------ inverse dynamics

    @overload
    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, loads: Loads = ..., base: BaseMotion | None = ...,
        sensitivities: Literal[False] = ..., sparse: bool = ..., method: str = ..., threads: int = ..., out: Out = ...,
    ) -> Array: ...  # fmt: skip

    @overload
    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, sensitivities: Literal[True], loads: Loads = ...,
        base: BaseMotion | None = ..., sparse: bool = ..., method: str = ..., threads: int = ..., out: Out = ...,
    ) -> tuple[Array, Sensitivities[Any]]: ...  # fmt: skip

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        loads: Loads = None,
        base: BaseMotion | None = None,
        sensitivities: bool = False,
        sparse: bool = False,
        method: str = DEFAULT_METHOD,
        threads: int = 1,
        out: Out = None,
    ) -> Array | tuple[Array, Sensitivities[Any]]:
        """Torques tau (..., n) of a motion; with `sensitivities` also d.q, d.v, d.a (..., n, n).

        With `sparse` the matrices are `SparseMatrix`: their structural nonzeros only, which is what an optimiser wants.
        `out` is tau, or with sensitivities (tau, dq, dv, da).
        """
        if not sensitivities:
            return self._compute("inverse_dynamics", (q, v, a), loads, base, method=method, threads=threads, out=out)
        name = "inverse_dynamics_sensitivities"
        found = self._compute(name, (q, v, a), loads, base, sparse, method=method, threads=threads, out=out)
        return found[0], Sensitivities(*found[1:])

    def gravity_torques(
        self, q: ArrayLike, *, loads: Loads = None, base: BaseMotion | None = None, method: str = DEFAULT_METHOD,
        threads: int = 1, out: Out = None,
    ) -> Array:  # fmt: skip
        """Torques (..., n) that hold the mechanism still."""
        return self._compute("gravity_torques", (q,), loads, base, method=method, threads=threads, out=out)

    def bias_torques(
        self, q: ArrayLike, v: ArrayLike, *, loads: Loads = None, base: BaseMotion | None = None,
        method: str = DEFAULT_METHOD, threads: int = 1, out: Out = None,
    ) -> Array:  # fmt: skip
        """Torques (..., n) of a motion without accelerations: gravity, Coriolis and centrifugal forces, loads."""
        return self._compute("bias_torques", (q, v), loads, base, method=method, threads=threads, out=out)

    def joint_loads(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        frame: str = "child",
        loads: Loads = None,
        base: BaseMotion | None = None,
        sensitivities: bool = False,
        sparse: bool = False,
        method: str = DEFAULT_METHOD,
        threads: int = 1,
        out: Out = None,
    ) -> Any:
        """What every joint transmits (..., joints, 6): moment [N m] and force [N] by the parent body ON the child body.

        Of every joint in `joints`, fixed ones included, at the joint's origin (standard DH: that of frame j - 1), in
        the axes of the child body or of the world (``frame="world"``). With `sensitivities` also d.q, d.v, d.a
        (..., joints, 6, n).
        """
        if frame not in ("child", "world"):
            raise unknown("frame of joint loads", frame, ("child", "world"))
        name = "joint_loads_sensitivities" if sensitivities else "joint_loads"
        found = self._compute(
            name, (q, v, a), loads, base, sparse, world=frame == "world", method=method, threads=threads, out=out
        )
        return (found[0], Sensitivities(*found[1:])) if sensitivities else found

    def regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        base: BaseMotion | None = None,
        threads: int = 1,
        out: Out = None,
    ) -> Array:
        """Y (..., n, 10 joints): tau = Y @ `inertial_parameters`, plus rotors, less loads.

        Ten columns a body, in the order of `joints`: m, m cx, m cy, m cz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz, all about the
        origin of the body's frame.
        """
        return self._compute("regressor", (q, v, a), None, base, threads=threads, out=out)

    @property
    def inertial_parameters(self) -> Array:
        """The parameters (10 joints,) that the regressor multiplies."""
        from kinecast.dynamics.spatial.regressor import parameters

        return parameters(self)

    # ------------------------------------------------------------------------------------------ forward dynamics

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        loads: Loads = None,
        base: BaseMotion | None = None,
        sensitivities: bool = False,
        sparse: bool = False,
        method: str = DEFAULT_METHOD,
        threads: int = 1,
        out: Out = None,
    ) -> Any:
        """Accelerations a (..., n) that torques bring; with `sensitivities` also d.q, d.v, d.tau (..., n, n)."""
        name = "forward_dynamics_sensitivities" if sensitivities else "forward_dynamics"
        found = self._compute(name, (q, v, tau), loads, base, sparse, method=method, threads=threads, out=out)
        return (found[0], ForwardSensitivities(*found[1:])) if sensitivities else found

    def forward_dynamics_and_loads(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        loads: Loads = None,
        base: BaseMotion | None = None,
        method: str = DEFAULT_METHOD,
        threads: int = 1,
        out: Out = None,
    ) -> tuple[Array, Array]:
        """Accelerations (..., n) that torques bring, and what every joint then transmits, as `joint_loads` gives it."""
        name = "forward_dynamics_and_loads"
        return tuple(self._compute(name, (q, v, tau), loads, base, method=method, threads=threads, out=out))

    def mass_matrix(self, q: ArrayLike, *, method: str = DEFAULT_METHOD, threads: int = 1, out: Out = None) -> Array:
        """M (..., n, n), symmetric, with the rotors' inertia on the diagonal."""
        return self._compute("mass_matrix", (q,), method=method, threads=threads, out=out)

    def inverse_mass_matrix(
        self, q: ArrayLike, *, method: str = DEFAULT_METHOD, threads: int = 1, out: Out = None
    ) -> Array:
        """M^-1 (..., n, n), computed as such and not by inverting M."""
        return self._compute("inverse_mass_matrix", (q,), method=method, threads=threads, out=out)

    def coriolis_matrix(
        self, q: ArrayLike, v: ArrayLike, *, method: str = DEFAULT_METHOD, threads: int = 1, out: Out = None
    ) -> Array:
        """C (..., n, n) of Christoffel's symbols: dM/dt - 2 C is skew, C v are the Coriolis and centrifugal torques."""
        return self._compute("coriolis_matrix", (q, v), method=method, threads=threads, out=out)

    # ------------------------------------------------------------------------------------------ the whole

    def kinetic_energy(
        self, q: ArrayLike, v: ArrayLike, *, base: BaseMotion | None = None, threads: int = 1, out: Out = None
    ) -> Array:
        """In J (...,), of the bodies and the drives' rotors."""
        return self._compute("kinetic_energy", (q, v), None, base, threads=threads, out=out)

    def potential_energy(self, q: ArrayLike, *, threads: int = 1, out: Out = None) -> Array:
        """In J (...,): of gravity, zero with all mass at the world's origin."""
        return self._compute("potential_energy", (q,), threads=threads, out=out)

    def momentum(
        self, q: ArrayLike, v: ArrayLike, *, base: BaseMotion | None = None, threads: int = 1, out: Out = None
    ) -> Array:
        """Angular momentum about the world's origin [kg m2/s] and momentum [kg m/s] (..., 6), world axes."""
        return self._compute("momentum", (q, v), None, base, threads=threads, out=out)

    def center_of_mass(self, q: ArrayLike, *, threads: int = 1, out: Out = None) -> Array:
        """In m (..., 3), world axes."""
        if self.mass == 0:
            raise InputError(f"mechanism {self.name!r} has no mass, so no centre of mass")
        return self._compute("center_of_mass", (q,), threads=threads, out=out)

    # ------------------------------------------------------------------------------------------ places

    def pose(self, place: str, q: ArrayLike, *, threads: int = 1, out: Out = None) -> Array:
        """Pose (..., 4, 4) of a named point (with its body's axes) or body: x_world = pose @ x_body."""
        return self._compute("pose", (q,), place=place, threads=threads, out=out)

    def velocity(
        self,
        place: str,
        q: ArrayLike,
        v: ArrayLike,
        *,
        base: BaseMotion | None = None,
        threads: int = 1,
        out: Out = None,
    ) -> Array:
        """Angular velocity [rad/s] of the body and velocity [m/s] of the place (..., 6), world axes."""
        return self._compute("velocity", (q, v), None, base, place=place, threads=threads, out=out)

    def acceleration(
        self, place: str, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, base: BaseMotion | None = None,
        threads: int = 1, out: Out = None,
    ) -> Array:  # fmt: skip
        """Rates of `velocity` (..., 6): angular acceleration [rad/s2], acceleration of the place [m/s2], no gravity."""
        return self._compute("acceleration", (q, v, a), None, base, place=place, threads=threads, out=out)

    def jacobian(self, place: str, q: ArrayLike, *, threads: int = 1, out: Out = None) -> Array:
        """J (..., 6, n): `velocity` = J v on a ground at rest."""
        return self._compute("jacobian", (q,), place=place, threads=threads, out=out)

    # ------------------------------------------------------------------------------------------ machinery

    def operation_counts(self, algorithm: str, *, method: str = DEFAULT_METHOD) -> Counts:
        """Multiplications, additions, divisions and sines or cosines of one sample, without compiling anything."""
        from kinecast.dynamics.tracing import traced
        from kinecast.engine.program import read

        if algorithm not in ALGORITHMS:
            raise unknown("algorithm", algorithm, ALGORITHMS)
        place = self.joints[-1].name if ALGORITHMS[algorithm].place else None
        return read(traced(self, Request(algorithm, method, place=place))).counts

    def _compute(
        self,
        algorithm: str,
        state: tuple[ArrayLike, ...],
        loads: Loads = None,
        base: BaseMotion | None = None,
        sparse: bool = False,
        *,
        place: str | None = None,
        world: bool = False,
        method: str = DEFAULT_METHOD,
        threads: int = 1,
        out: Out = None,
    ) -> Any:
        if loads is None and base is None:
            request: Any = (algorithm, method, place, world)
            arguments: Sequence[ArrayLike] = state
        else:
            request, arguments = flat_inputs(self, algorithm, method, world, state, loads, base, place)
        try:
            kernel = self._kernels.get(request)
        except TypeError:  # a method or place that cannot even be looked up: `_kernel` says what is wrong
            kernel = None
        kernel = kernel or self._kernel(request)
        try:
            if threads != 1:
                found: Any = _split(kernel, arguments, threads, out, sparse)
            else:
                ufunc = kernel.sparse_ufunc if sparse else kernel.ufunc
                found = ufunc(*arguments) if out is None else ufunc(*arguments, out=_listed(out))
        except (TypeError, ValueError) as error:
            raise explained(self, algorithm, kernel, arguments, out, sparse, error) from None
        if sparse and len(kernel.outputs) > 1:
            matrices = [_as_sparse(kernel, k, values) for k, values in enumerate(found)]
            whole = found[0].shape[-1:] == kernel.outputs[0].shape
            return found[0] if whole else matrices[0].dense(), *matrices[1:]
        return found

    @cached_property
    def _kernels(self) -> dict[Any, Kernel]:
        return {}

    def _kernel(self, request: Any) -> Kernel:
        """The kernel of a request (or of its short form), kept for the next call."""
        if isinstance(request, Request):
            full = request
        else:
            algorithm, method, place, world = request
            full = Request(algorithm, method, place=place, world=world)
        if not isinstance(full.method, str):
            raise InputError(f"{full.algorithm}: method must be a name, got {brief(full.method)}")
        if ALGORITHMS[full.algorithm].place:
            if not isinstance(full.place, str):
                what = f"{full.algorithm}: place, which comes first, must be the name of a point or body"
                raise InputError(f"{what}, got {brief(full.place)}")
            self.point(full.place)
        kernel = self._kernels[request] = compiled(self, full)
        return kernel

    @classmethod
    def load(cls, source: str | PathLike[str], **options: Any) -> Mechanism:
        """The built-in mechanism of this name, or the one in a file (.yaml, .urdf)."""
        return super().load(source, **options)


def _split(kernel: Kernel, arguments: Sequence[ArrayLike], threads: int, out: Out, sparse: bool) -> Any:
    if not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads must be a whole number, 1 or more, got {brief(threads)}")
    outs = None if out is None else _listed(out)
    found = call_in_threads(kernel, [np.asarray(x) for x in arguments], threads, outs, sparse)
    return found[0] if len(found) == 1 else found


def _listed(out: Array | Sequence[Array]) -> tuple[Array, ...]:
    return (out,) if isinstance(out, np.ndarray) else tuple(out)


def _as_sparse(kernel: Kernel, k: int, values: Array) -> SparseMatrix:
    shape = kernel.outputs[k].shape
    return SparseMatrix(values, np.unravel_index(kernel.patterns[k], shape), shape)
