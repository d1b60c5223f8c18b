"""Mass matrix and Coriolis matrix: what the sensitivities of a mechanism at rest, or without accelerations, are.

M is the sensitivity to the accelerations and needs nothing but the positions. The torques that are quadratic in the
velocities are C(q, v) v with Christoffel's C, so C is half of their sensitivity to v; dM/dt - 2 C is skew.

M alone is cheaper by composite bodies up to a dozen joints in a row: F_k, what link k and all that it carries need when
joint k alone accelerates, is handed inward from link to link, and M[i, k] is its part along joint i.

Example::

    M = mass_matrix(tree, q)
    C = coriolis_matrix(tree, q, v)         # inverse dynamics = M a + C v + gravity torques
"""

from __future__ import annotations

import casadi as ca

from kinecast.dynamics import filtering
from kinecast.dynamics.screws import composite_inertias, passages
from kinecast.dynamics.spatial import short_chain
from kinecast.dynamics.spatial.cheapest import cheapest
from kinecast.dynamics.spatial.sensitivities import inverse_dynamics_sensitivities
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.dynamics.tree import Tree

_NOWHERE = Surroundings(ca.SX(3, 1), ca.SX(6, 1), ca.SX(6, 1))  # no gravity, a ground at rest


def mass_matrix(tree: Tree, q: Expression) -> Expression:
    """M (n, n), symmetric; structural zeros between branches. In the way that needs the fewest operations."""
    ways = [beside_sensitivities(tree, q), by_composite_bodies(tree, q)]
    return cheapest([*ways, *(short_chain.mass_matrix(tree, q, link) for link in short_chain.meeting_links(tree))])


def beside_sensitivities(tree: Tree, q: Expression) -> Expression:
    """M as the sensitivity to the accelerations: nearly free where the other sensitivities are computed as well."""
    still = ca.SX(tree.n, 1)
    return inverse_dynamics_sensitivities(tree, q, still, still, _NOWHERE)[3]


def by_composite_bodies(tree: Tree, q: Expression) -> Expression:
    """M by composite bodies: the covariances of the filtering formulation."""
    phi = passages(tree, q)
    return filtering.from_covariances(tree, phi, composite_inertias(tree, phi))


def coriolis_matrix(tree: Tree, q: Expression, v: Expression) -> Expression:
    """C (n, n) of Christoffel's symbols."""
    return 0.5 * inverse_dynamics_sensitivities(tree, q, v, ca.SX(tree.n, 1), _NOWHERE)[2]
