"""Mass matrix and Coriolis matrix: what the sensitivities of a mechanism at rest, or without accelerations, are.

M is the sensitivity to the accelerations and needs nothing but the positions. The torques that are quadratic in the
velocities are C(q, v) v with Christoffel's C, so C is half of their sensitivity to v; dM/dt - 2 C is skew.

Example::

    M = mass_matrix(tree, q)
    C = coriolis_matrix(tree, q, v)         # inverse dynamics = M a + C v + gravity torques
"""

from __future__ import annotations

import casadi as ca

from kinecast.dynamics.spatial.sensitivities import inverse_dynamics_sensitivities
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.dynamics.tree import Tree

_NOWHERE = Surroundings(ca.SX(3, 1), ca.SX(6, 1), ca.SX(6, 1))  # no gravity, a ground at rest


def mass_matrix(tree: Tree, q: Expression) -> Expression:
    """M (n, n), symmetric; structural zeros between branches."""
    still = ca.SX(tree.n, 1)
    return inverse_dynamics_sensitivities(tree, q, still, still, _NOWHERE)[3]


def coriolis_matrix(tree: Tree, q: Expression, v: Expression) -> Expression:
    """C (n, n) of Christoffel's symbols."""
    return 0.5 * inverse_dynamics_sensitivities(tree, q, v, ca.SX(tree.n, 1), _NOWHERE)[2]
