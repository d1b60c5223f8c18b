"""From a request to a ``casadi.Function``: symbols made, the formulation called with what it wants. Imports CasADi."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import casadi as ca
import numpy as np

from kinecast.dynamics import kinematics
from kinecast.dynamics.algorithms import ALGORITHMS, DEFAULT_METHOD, Request, ports
from kinecast.dynamics.spatial import forward, inertia, inverse, loads, regressor, sensitivities
from kinecast.dynamics.spatial.articulated import hinges
from kinecast.dynamics.spatial.cheapest import cheapest
from kinecast.dynamics.spatial.frames import link_poses
from kinecast.dynamics.surroundings import AppliedLoad, Expression, Surroundings, constant
from kinecast.dynamics.tree import Tree, build, regrouped
from kinecast.errors import InputError, NotSupportedError, unknown
from kinecast.mechanism import Structure

# The formulations of the literature, each a module whose functions are called like the algorithms.
METHODS: dict[str, str] = {
    "newton_euler": "kinecast.dynamics.newton_euler",
    "lagrange": "kinecast.dynamics.lagrange",
    "lagrange_regular": "kinecast.dynamics.lagrange_regular",
    "six_by_six": "kinecast.dynamics.six_by_six",
    "denoc": "kinecast.dynamics.denoc",
    "filtering": "kinecast.dynamics.filtering",
}
# Where a formulation of the literature needs fewer operations than our own on many mechanisms, and is then the default.
_RIVALS = {"joint_loads_sensitivities": "newton_euler", "forward_dynamics_and_loads": "six_by_six"}
_NEEDS_REGULAR_MASS = (
    "forward_dynamics",
    "forward_dynamics_and_loads",
    "forward_dynamics_sensitivities",
    "inverse_mass_matrix",
)
# Statics and bias are inverse dynamics with so many of q, v, a zero.
_ZEROS = {"gravity_torques": 2, "bias_torques": 1}
# Relative to the largest diagonal entry of the mass matrix. Rounding leaves 1e-16; the lightest fingertips are 1e-9.
_SINGULAR = 1e-13


def traced(structure: Structure, request: Request) -> ca.Function:
    """The function of a request; inputs and outputs as `algorithms.ports` says."""
    inputs, _ = ports(structure, request)
    symbols = [ca.SX.sym(port.name, port.size) for port in inputs]
    count = len(ALGORITHMS[request.algorithm].state)
    state, rest = symbols[:count], symbols[count:]
    around = _surroundings(structure, request, rest)
    if request.algorithm in _NEEDS_REGULAR_MASS:
        require_regular(build(structure))
    method = _spatial if request.method == DEFAULT_METHOD else _formulation(request)
    results = method(structure, request, state, around)
    outputs = [ca.sparsify(x) for x in (results if isinstance(results, tuple) else (results,))]
    return ca.Function(request.algorithm, symbols, outputs)


def _surroundings(structure: Structure, request: Request, rest: list[Expression]) -> Surroundings:
    velocity, acceleration = (rest.pop(0), rest.pop(0)) if request.base else (ca.SX(6, 1), ca.SX(6, 1))
    applied = []
    for name in request.loads:
        point = structure.point(name)
        applied.append(AppliedLoad(point.joint, point.at, rest.pop(0), rest.pop(0)))
    return Surroundings(constant(structure.gravity), velocity, acceleration, tuple(applied))


def _spatial(structure: Structure, request: Request, state: list[Expression], around: Surroundings) -> Any:
    whole = build(structure, keep_fixed="loads" in request.algorithm)
    light = whole if around.base_turns else regrouped(whole)
    if request.place is not None:
        entering = (around,) if ALGORITHMS[request.algorithm].around else ()
        return getattr(kinematics, request.algorithm)(whole, whole.place(request.place), *state, *entering)
    still = ca.SX(structure.n, 1)
    # The function, the tree it walks, and what follows the state.
    functions: dict[str, tuple[Callable[..., Any], Tree, tuple[Any, ...]]] = {
        "inverse_dynamics": (inverse.inverse_dynamics, light, (around,)),
        "inverse_dynamics_sensitivities": (sensitivities.inverse_dynamics_sensitivities, light, (around,)),
        "joint_loads": (loads.joint_loads, whole, (around, request.world)),
        "joint_loads_sensitivities": (loads.joint_loads_sensitivities, whole, (around, request.world)),
        "gravity_torques": (inverse.inverse_dynamics, light, (still, still, around)),
        "bias_torques": (inverse.inverse_dynamics, light, (still, around)),
        "forward_dynamics": (forward.forward_dynamics, light, (around,)),
        "forward_dynamics_and_loads": (forward.forward_dynamics_and_loads, whole, (around,)),
        "forward_dynamics_sensitivities": (forward.forward_dynamics_sensitivities, light, (around,)),
        "mass_matrix": (inertia.mass_matrix, light, ()),
        "inverse_mass_matrix": (forward.inverse_mass_matrix, light, ()),
        "coriolis_matrix": (inertia.coriolis_matrix, light, ()),
        "regressor": (regressor.regressor, whole, (around,)),
        "kinetic_energy": (kinematics.kinetic_energy, whole, (around,)),
        "potential_energy": (kinematics.potential_energy, whole, (around,)),
        "momentum": (kinematics.momentum, whole, (around,)),
        "center_of_mass": (kinematics.center_of_mass, whole, ()),
    }
    function, tree, rest = functions[request.algorithm]
    found = function(tree, *state, *rest)
    rival = function_of(_RIVALS[request.algorithm], request.algorithm) if request.algorithm in _RIVALS else None
    return found if rival is None or request.world else cheapest([found, rival(structure, *state, around)])


def _formulation(request: Request) -> Callable[[Structure, Request, list[Expression], Surroundings], Any]:
    if request.method not in METHODS:
        raise unknown("method", request.method, [DEFAULT_METHOD, *METHODS])
    function = function_of(request.method, request.algorithm)
    if function is None:
        able = ", ".join([DEFAULT_METHOD, *methods_for(request.algorithm)])
        raise NotSupportedError(f"method {request.method!r} has no {request.algorithm}; these have: {able}")
    if request.world:
        raise NotSupportedError(
            f"method {request.method!r} gives joint loads in the child's axes only, frame='child'; "
            f"method {DEFAULT_METHOD!r} also in the world's"
        )
    zeros = _ZEROS.get(request.algorithm, 0)

    def call(structure: Structure, request: Request, state: list[Expression], around: Surroundings) -> Any:
        still = [ca.SX(structure.n, 1)] * zeros
        entering = (around,) if ALGORITHMS[request.algorithm].around else ()
        return function(structure, *state, *still, *entering)

    return call


def methods_for(algorithm: str) -> list[str]:
    """The formulations of the literature that have an algorithm."""
    return [method for method in METHODS if function_of(method, algorithm) is not None]


def function_of(method: str, algorithm: str) -> Callable[..., Any] | None:
    """The function by which a formulation computes an algorithm, None if it has none.

    For statics and bias torques it is inverse dynamics, to be called with zeros for the rest of the state.
    """
    name = "inverse_dynamics" if algorithm in _ZEROS else algorithm
    function: Callable[..., Any] | None = getattr(import_module(METHODS[method]), name, None)
    return function


def require_regular(tree: Tree) -> None:
    """Raise if a joint can move without moving any mass: the mass matrix is then singular everywhere."""
    q = ca.SX(ca.DM(np.random.default_rng(0).uniform(0.3, 0.9, tree.n)))
    joints = hinges(tree, link_poses(tree, q))
    felt = [0.0 if j is None else float(ca.DM(ca.evalf(j.U[j.axis]))) + j.rotor for j in joints]
    whole = [0.0 if j is None else float(ca.norm_inf(ca.DM(ca.evalf(ca.vertcat(*j.U))))) + j.rotor for j in joints]
    for k in reversed(range(len(joints))):  # from the tips: what comes after a singular joint is not a number
        if joints[k] is not None and not felt[k] > _SINGULAR * max(x for x in whole if np.isfinite(x)):
            carried = [link for i, link in enumerate(tree.links) if k in (i, *tree.ancestors(i))]
            why = "moves nothing that has mass"
            if any(link.pseudo_inertia.any() for link in carried):
                why = (
                    "can move while no mass does: its axis is that of a joint it carries, with no mass between, or "
                    "goes through all the mass it carries"
                )
            raise InputError(
                f"mechanism {tree.structure.name!r}: the mass matrix is singular because joint {tree.links[k].name!r} "
                f"{why}; give its body a mass or an inertia, the joint an actuator_inertia, or fix it"
            )
