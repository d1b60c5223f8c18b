"""What can be computed, and the compiled kernel of each: names, inputs, shapes of outputs. Needs no CasADi.

A kernel takes the state, then (if the ground moves) its velocity and acceleration, then force and moment of each load.
It is known by a key that says all that its numbers depend on, so that one found in the cache need not be traced.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kinecast.engine import Kernel, Port, kernel
from kinecast.engine.kernel import source_fingerprint
from kinecast.mechanism import Structure

if TYPE_CHECKING:
    import casadi

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
DEFAULT_METHOD = "spatial"


@dataclass(frozen=True)
class Algorithm:
    """`state`: one letter an input; `outputs`: named shapes in which n, joints and ten (per body) stand for numbers."""

    state: tuple[str, ...]
    outputs: tuple[tuple[str, tuple[str | int, ...]], ...]
    around: bool = True  # whether a moving ground and loads enter
    place: bool = False  # whether it is about one named point or body


def _with_sensitivities(output: str, shape: tuple[str | int, ...], state: tuple[str, ...]) -> Algorithm:
    return Algorithm(state, ((output, shape), *((f"d{output}_d{x}", (*shape, "n")) for x in state)))


QVA, QVT = ("q", "v", "a"), ("q", "v", "tau")

ALGORITHMS: dict[str, Algorithm] = {
    "inverse_dynamics": Algorithm(QVA, (("tau", ("n",)),)),
    "inverse_dynamics_sensitivities": _with_sensitivities("tau", ("n",), QVA),
    "joint_loads": Algorithm(QVA, (("load", ("joints", 6)),)),
    "joint_loads_sensitivities": _with_sensitivities("load", ("joints", 6), QVA),
    "gravity_torques": Algorithm(("q",), (("tau", ("n",)),)),
    "bias_torques": Algorithm(("q", "v"), (("tau", ("n",)),)),
    "forward_dynamics": Algorithm(QVT, (("a", ("n",)),)),
    "forward_dynamics_and_loads": Algorithm(QVT, (("a", ("n",)), ("load", ("joints", 6)))),
    "forward_dynamics_sensitivities": _with_sensitivities("a", ("n",), QVT),
    "mass_matrix": Algorithm(("q",), (("M", ("n", "n")),), around=False),
    "inverse_mass_matrix": Algorithm(("q",), (("Minv", ("n", "n")),), around=False),
    "coriolis_matrix": Algorithm(("q", "v"), (("C", ("n", "n")),), around=False),
    "regressor": Algorithm(QVA, (("Y", ("n", "ten")),)),
    "kinetic_energy": Algorithm(("q", "v"), (("T", ()),)),
    "potential_energy": Algorithm(("q",), (("V", ()),), around=False),
    "momentum": Algorithm(("q", "v"), (("momentum", (6,)),)),
    "center_of_mass": Algorithm(("q",), (("c", (3,)),), around=False),
    "pose": Algorithm(("q",), (("pose", (4, 4)),), around=False, place=True),
    "velocity": Algorithm(("q", "v"), (("velocity", (6,)),), place=True),
    "acceleration": Algorithm(QVA, (("acceleration", (6,)),), place=True),
    "jacobian": Algorithm(("q",), (("J", (6, "n")),), around=False, place=True),
}
_ALL_FOUNDATIONS = (Path(__file__).parent, Path(__file__).parent / "spatial")


@dataclass(frozen=True)
class Request:
    """One thing to compute, in one setting."""

    algorithm: str
    method: str = DEFAULT_METHOD
    base: bool = False
    loads: tuple[str, ...] = ()  # the points at which they act
    place: str | None = None
    world: bool = False  # joint loads in world axes


def ports(structure: Structure, request: Request) -> tuple[list[Port], list[Port]]:
    """The kernel's inputs and outputs."""
    algorithm, n = ALGORITHMS[request.algorithm], structure.n
    inputs = [Port(x, (n,)) for x in algorithm.state]
    if request.base:
        inputs += [Port("base velocity", (6,)), Port("base acceleration", (6,))]
    for point in request.loads:
        inputs += [Port(f"force at {point}", (3,)), Port(f"moment at {point}", (3,))]
    sizes = {"n": n, "joints": len(structure.joints), "ten": 10 * len(structure.joints)}
    outputs = [
        Port(name, tuple(sizes[x] if isinstance(x, str) else x for x in shape)) for name, shape in algorithm.outputs
    ]
    return inputs, outputs


def compiled(structure: Structure, request: Request) -> Kernel:
    """The kernel of a request: from memory, from disk, or traced and compiled now."""
    inputs, outputs = ports(structure, request)
    key = "\n".join([structure.fingerprint(), repr(request), source_fingerprint(*_ALL_FOUNDATIONS)])

    def trace() -> casadi.Function:
        from kinecast.dynamics.tracing import traced

        return traced(structure, request)

    return kernel(request.algorithm, key=key, inputs=inputs, outputs=outputs, trace=trace)
