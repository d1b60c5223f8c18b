"""Decoupled natural orthogonal complement (DeNOC): inverse and forward dynamics in two and three recursions.

After S. K. Saha, Introduction to Robotics, chapter 9 (equation numbers are its). The twists of all bodies are
t = N theta', and N = N_l N_d splits into passing twists on (N_l, of the B_ij) and adding the joints' (N_d, of the p_i).
Newton's and Euler's equations premultiplied by N^T lose the constraint wrenches; each product with N_l or its
transpose is a recursion.

| symbol | what, in the axes of link i about its origin O_i | unit |
|---|---|---|
| p_i | joint-motion propagation vector: z, turning or sliding | 1 |
| B_i,i-1 | twist propagation, parent to link (`Passage.motion`; its transpose is `Passage.force`) | 1, m |
| t_i = (omega; v), t'_i | twist and its rate, the latter less gravity | rad/s, m/s, ... |
| w_i | wrench that moves body i by itself; w~_i with all that hangs on it | N m, N |
| M_i, M~_i, M^_i | inertia of body i; composite (joints locked); articulated (joints free) | kg m2, kg m, kg |
| psi^_i, m^_i, psi_i | M^_i p_i, its part along p_i, their ratio | |
| phi_i, phi^_i, phi~_i | tau_i - h_i; U^-1 phi; D^-1 U^-1 phi | N m, N |
| eta_i, mu_i | wrench handed inward, twist rate handed outward, by U^-1 and U^-T | |

Twists are those of the joint's origin, t^O of (9.7), for they cost less than those of the mass centre; the matrices
N_l, N_d, C as printed, with mass centres, are in `denoc_matrices`. B is applied as two plane screws. A joint of several
freedoms is stored as a sequence of one-freedom joints with massless bodies between, so p_i stays a vector; on a tree B
has as many blocks as the branches ask for. Moving ground and loads enter as in (9.34), (9.35).

Cost on a general chain of n > 2 revolute joints, divisions counted as multiplications: inverse dynamics 91 n - 114
multiplications, 79 n - 103 additions; accelerations from phi (`solve`) 132 n - 227 and 130 n - 240; accelerations from
tau 203 n - 318 and 196 n - 327. docs/theory/denoc.md compares with tables 9.1 and 9.6.

Example::

    structure = kinecast.load("planar3")
    q, v, a = (casadi.SX.sym(name, structure.n) for name in "qva")
    tau = inverse_dynamics(structure, q, v, a, at_rest(structure))
    acceleration = forward_dynamics(structure, q, v, tau, at_rest(structure))
    casadi.Function("there_and_back", [q, v, a], [acceleration])
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from kinecast.dynamics.denoc_matrices import convective_matrix, joint_motion, twist_propagation
from kinecast.dynamics.screws import (
    Passage,
    along_axis,
    as_joint_loads,
    composite_inertias,
    drive,
    external_wrenches,
    ground_twist_rate,
    passages,
)
from kinecast.dynamics.spatial.articulated import Hinge, eliminated, hinge, rigid
from kinecast.dynamics.spatial.inverse import LinkMotion, body_wrench, spin_rate
from kinecast.dynamics.surroundings import Expression, Surroundings, nothing
from kinecast.dynamics.tree import Tree, build
from kinecast.mechanism import Structure

__all__ = [
    "convective_matrix",
    "convective_vector",
    "forward_dynamics",
    "generalized_forces",
    "inverse_dynamics",
    "inverse_mass_matrix",
    "joint_loads",
    "joint_motion",
    "mass_matrix",
    "solve",
    "twist_propagation",
]


# ------------------------------------------------------------------------------------------------ inverse dynamics


def inverse_dynamics(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> Expression:
    """The torques tau (n, 1) [N m or N] by the recursions (9.32)-(9.35)."""
    tree, ways = _open_tree(structure, q)
    wrenches = _handed_inward(tree, ways, _body_wrenches(tree, ways, v, a, around))
    tau = ca.SX(tree.n, 1)
    for link, w in zip(tree.links, wrenches, strict=True):
        tau[link.coordinate] = w[drive(link)] + link.actuator_inertia * a[link.coordinate]  # (9.33) tau_i = p_i^T w~_i
    return tau


def joint_loads(structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings) -> Expression:
    """(6 joints, 1): w~_i of (9.33) at the joints' origins, parent on child, [moment; force] in child axes."""
    tree, ways = _open_tree(structure, q, keep_fixed=True)
    return as_joint_loads(tree, ways, _handed_inward(tree, ways, _body_wrenches(tree, ways, v, a, around)))


def convective_vector(structure: Structure, q: Expression, v: Expression) -> Expression:
    """The vector h (n, 1) = C theta' by (9.18b), (9.19b): what velocities ask of the drives, ground at rest."""
    return inverse_dynamics(structure, q, v, ca.SX(structure.n, 1), nothing())


def generalized_forces(structure: Structure, q: Expression, around: Surroundings) -> Expression:
    """What gravity and loads contribute, (n, 1), by (9.20b), (9.21b): I theta'' + h = tau + this, ground at rest."""
    no_motion = ca.SX(structure.n, 1)
    return -inverse_dynamics(structure, q, no_motion, no_motion, around)


def _body_wrenches(
    tree: Tree, ways: Sequence[Passage], v: Expression, a: Expression, around: Surroundings
) -> list[Expression]:
    """The w_i of (9.33), (9.34) for every link by itself, with the twists and twist rates of (9.32), (9.35)."""
    external = external_wrenches(tree, list(ways), around)
    omega, rate = around.base_velocity[:3], around.base_acceleration[:3]
    acceleration = ground_twist_rate(around)[3:]  # (9.35): rho = -g
    ground = LinkMotion(omega, rate, acceleration)
    motions: list[LinkMotion] = []
    wrenches = []
    for i, link in enumerate(tree.links):
        parent = ground if link.parent < 0 else motions[link.parent]
        pose = ways[i].pose
        omega, rate = pose.to_child(parent.w), pose.to_child(parent.wd)
        # B t' + B' t: what the parent's point at the foot of the common normal does ...
        acceleration = pose.to_child(parent.a + spin_rate(parent.w, parent.wd) @ pose.offset)
        # ... and t_i = B t_{i-1} + p_i theta', t'_i = ... + p_i theta'' + Omega_i p_i theta'
        if link.kind == "revolute":
            speed, change = v[link.coordinate], a[link.coordinate]
            rate = rate + ca.vertcat(omega[1] * speed, -omega[0] * speed, change)
            omega = omega + ca.vertcat(ca.SX(2, 1), speed)
        elif link.kind == "prismatic":
            twice, change = 2 * v[link.coordinate], a[link.coordinate]
            acceleration = acceleration + ca.vertcat(omega[1] * twice, -omega[0] * twice, change)
        # From that foot to O_i along z, an axis that link and parent share.
        acceleration = acceleration + spin_rate(omega, rate)[:, 2] * pose.slide
        motions.append(LinkMotion(omega, rate, acceleration))
        w = ca.vertcat(*body_wrench(link, motions[i]))  # (9.33a) w_i = M_i t'_i + W_i M_i t_i
        wrenches.append(w - external[i] if i in external else w)  # (9.34)
    return wrenches


def _handed_inward(tree: Tree, ways: Sequence[Passage], wrenches: Sequence[Expression]) -> list[Expression]:
    """The sums w~_i = w_i + B_{i+1,i}^T w~_{i+1}, (9.33b)."""
    total = list(wrenches)
    for i in reversed(range(len(tree.links))):
        parent = tree.links[i].parent
        if parent >= 0:
            total[parent] = total[parent] + ways[i].force(total[i])
    return total


# ------------------------------------------------------------------------------------------------ inertia matrix


def mass_matrix(structure: Structure, q: Expression) -> Expression:
    """The generalized inertia matrix I (n, n): i_ij = p_i^T M~_i B_ij p_j, (9.15b), by the composites of (9.11d)."""
    tree, ways = _open_tree(structure, q)
    composites = composite_inertias(tree, ways)
    inertia = ca.SX(tree.n, tree.n)
    twists: list[dict[int, Expression]] = []  # of link i: j -> B_ij p_j
    for i, link in enumerate(tree.links):
        own = {} if link.parent < 0 else {j: ways[i].motion(t) for j, t in twists[link.parent].items()}
        own[i] = along_axis(link, ca.SX(1))
        momentum = ca.vertcat(*composites[i].column(2, link.kind))  # M~_i p_i
        for j, t in own.items():
            row, column = link.coordinate, tree.links[j].coordinate
            inertia[row, column] = inertia[column, row] = ca.dot(momentum, t)
        inertia[link.coordinate, link.coordinate] += link.actuator_inertia
        twists.append(own)
    return inertia


def inverse_mass_matrix(structure: Structure, q: Expression) -> Expression:
    """The inverse I^-1 (n, n) = U^-T D^-1 U^-1 applied to the columns of 1 by (9.39)-(9.41)."""
    tree, ways = _open_tree(structure, q)
    hinges = _articulated(tree, ways)
    rest = [ca.SX(6, 1)] * len(tree.links)
    unit = ca.SX.eye(tree.n)
    return ca.horzcat(*(_accelerations(tree, ways, hinges, unit[:, k], rest) for k in range(tree.n)))


# ------------------------------------------------------------------------------------------------ forward dynamics


def forward_dynamics(
    structure: Structure, q: Expression, v: Expression, tau: Expression, around: Surroundings
) -> Expression:
    """Joint accelerations theta'' (n, 1) from I theta'' = phi = tau - h, (9.38).

    h and U^-1 phi come from recursions inward with the same B^T, (9.18b) and (9.39b): the sum of what both hand on is
    handed on once.
    """
    tree, ways = _open_tree(structure, q)
    wrenches = _body_wrenches(tree, ways, v, ca.SX(tree.n, 1), around)
    return _accelerations(tree, ways, _articulated(tree, ways), tau, wrenches)


def solve(structure: Structure, q: Expression, phi: Expression) -> Expression:
    """The product I^-1 phi (n, 1) without I: the three steps (9.39), (9.40), (9.41) by themselves."""
    tree, ways = _open_tree(structure, q)
    return _accelerations(tree, ways, _articulated(tree, ways), phi, [ca.SX(6, 1)] * len(tree.links))


def _articulated(tree: Tree, ways: Sequence[Passage]) -> list[Hinge]:
    """Of every joint psi^_i (`U`), psi_i (`K`) and 1 / m^_i (`inverse`), (9.39c), with M^_i by (9.39d)."""
    inertias = [rigid(link) for link in tree.links]
    hinges: list[Hinge] = []
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        hinges.append(hinge(inertias[i], link))  # psi^ = M^ p, m^ = p^T psi^ + actuator inertia, psi = psi^ / m^
        if link.parent >= 0:
            remaining = eliminated(inertias[i], hinges[-1])  # M- = M^ - psi^ psi^T
            inertias[link.parent] += ways[i].inertia(remaining)
    return hinges[::-1]


def _accelerations(
    tree: Tree, ways: Sequence[Passage], hinges: Sequence[Hinge], phi: Expression, wrenches: Sequence[Expression]
) -> Expression:
    """Accelerations for torques phi of which the joints' shares of `wrenches` (w' of (9.18)) are still to be taken."""
    eta = list(wrenches)
    phi_hat = []
    for i in reversed(range(len(tree.links))):
        link, k = tree.links[i], drive(tree.links[i])
        phi_hat.append(phi[link.coordinate] - eta[i][k])  # (9.39a) phi^_i = phi_i - p_i^T eta_{i,i+1}
        if link.parent >= 0:
            handed = eta[i] + ca.vertcat(*hinges[i].K) * phi_hat[-1]  # (9.39b) eta_i = psi_i phi^_i + eta_{i,i+1}
            if not link.actuator_inertia:
                handed[k] = phi[link.coordinate]  # what psi_i = 1 along the axis comes to
            eta[link.parent] = eta[link.parent] + ways[i].force(handed)
    phi_hat.reverse()
    theta = ca.SX(tree.n, 1)
    mu: list[Expression] = []
    for i, link in enumerate(tree.links):
        arriving = ca.SX(6, 1) if link.parent < 0 else ways[i].motion(mu[link.parent])  # (9.41b)
        phi_tilde = phi_hat[i] * hinges[i].inverse  # (9.40)
        theta[link.coordinate] = phi_tilde - ca.dot(ca.vertcat(*hinges[i].K), arriving)  # (9.41a)
        mu.append(arriving + along_axis(link, theta[link.coordinate]))
    return theta


def _open_tree(structure: Structure, q: Expression, keep_fixed: bool = False) -> tuple[Tree, list[Passage]]:
    structure.require_open("the DeNOC formulation")
    tree = build(structure, keep_fixed)
    return tree, passages(tree, q)
