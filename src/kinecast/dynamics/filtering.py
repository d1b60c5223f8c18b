"""Robot dynamics as estimation: a Kalman filter inward, a Bryson-Frazier smoother outward.

After G. Rodriguez, "Kalman filtering, smoothing and recursive robot arm forward and inverse dynamics", JPL
publication 86-48, 1986 (equation numbers are its). The spatial forces x_k and spatial accelerations lambda_k obey a
two-point boundary-value problem in which x is the state, lambda the co-state, the links' inertias the covariance of
the process, and the joints' torques the measurements. Solved with given accelerations it is inverse dynamics; with
given torques, forward dynamics.

| symbol | what, in the axes of link k about its origin | unit |
|---|---|---|
| x_k = (moment; force) | spatial force of the parent on link k | N m, N |
| V_k, lambda_k | spatial velocity (angular; linear), and its rate in link axes, less gravity | rad/s, m/s, ... |
| phi | transition: wrenches to the parent (`Passage.force`; its transpose is `Passage.motion`) | 1, m |
| H_k | projection on the joint's axis; u_k its coordinate | 1 |
| M_k, r_kk | inertia of the link; of all it carries: the covariance of the state | kg m2, kg m, kg |
| xi_k, eta_k | bias force (4.4) and bias acceleration (5.6) | N m, N; rad/s2, m/s2 |
| z_k, P_k | predicted state, its error's covariance: the articulated inertia | |
| D_k, G_k, e_k | innovation's covariance, Kalman's gain, innovation | |
| Lambda_k | covariance of the co-state | |

Minus and plus mark the sides of joint k towards the tip and towards the ground. The paper numbers links from the
tip; here the parent of link k stands for its link k + 1, and where several links hang on one, their forces add up.
Beyond the paper: a sliding joint has H = (0; z) and eta = (0; omega x z u'); moving ground and gravity make lambda+
of the ground other than zero; a drive's own inertia R_k enters as covariance of the measurement's noise, D = H P
H^T + R, as the general form of (9.7) has it.

Cost on a general chain of n > 2 revolute joints, divisions counted as multiplications: forward dynamics 218 n - 319
multiplications and 206 n - 324 additions, inverse dynamics 130 n - 164 and 105 n - 138.

Example::

    structure = kinecast.load("planar3")
    q, v, tau = (casadi.SX.sym(name, structure.n) for name in ("q", "v", "tau"))
    a = forward_dynamics(structure, q, v, tau, at_rest(structure))
    inverse = inverse_mass_matrix(structure, q)
    casadi.Function("forward", [q, v, tau], [a, inverse])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from kinecast.dynamics.algebra import cross
from kinecast.dynamics.screws import (
    NO_ROWS,
    Passage,
    along_axis,
    as_joint_loads,
    composite_inertias,
    drive,
    external_wrenches,
    first_moment,
    ground_twist_rate,
    gyroscopic,
    passages,
    quadratic,
    times,
)
from kinecast.dynamics.spatial.articulated import Articulated, Hinge, Rows, eliminated, hinge, rigid
from kinecast.dynamics.surroundings import Expression, Surroundings, nothing
from kinecast.dynamics.tree import Link, Tree, build
from kinecast.mechanism import Structure

_UNMOVED = Articulated(NO_ROWS, NO_ROWS, NO_ROWS)


@dataclass(frozen=True, eq=False)
class BoundaryValueProblem:
    """(6.1)-(6.6): x- = phi x+ + M lambda- + xi, lambda- = lambda+ + H^T u'' + eta, tau = H x; beyond tips x+ = 0."""

    tree: Tree
    phi: tuple[Passage, ...]
    xi: tuple[Expression, ...]
    eta: tuple[Expression, ...]
    ground: Expression  # lambda+ where the mechanism is held


def boundary_value_problem(
    structure: Structure, q: Expression, v: Expression, around: Surroundings, keep_fixed: bool = False
) -> BoundaryValueProblem:
    """The problem at one state; with ``keep_fixed`` fixed joints have links of their own, without u and tau."""
    structure.require_open("the filtering formulation")
    tree = build(structure, keep_fixed)
    phi = passages(tree, q)
    external = external_wrenches(tree, phi, around)
    omega, speed = around.base_velocity[:3], around.base_velocity[3:]
    turning = ca.vertcat(ca.SX(3, 1), cross(omega, speed))
    velocities: list[Expression] = []
    xi, eta = [], []
    for k, link in enumerate(tree.links):
        V = phi[k].motion(around.base_velocity if link.parent < 0 else velocities[link.parent])  # (5.1)
        eta.append(_bias_acceleration(link, V, v))
        if link.coordinate >= 0:
            V = V + along_axis(link, v[link.coordinate])  # (5.2)
        velocities.append(V)
        bias = _bias_force(link, V)
        xi.append(bias - external[k] if k in external else bias)
    return BoundaryValueProblem(tree, tuple(phi), tuple(xi), tuple(eta), ground_twist_rate(around) - turning)


def _bias_acceleration(link: Link, V: Expression, v: Expression) -> Expression:
    """The eta_k of (5.6): (omega+ x h u'; v+ x h u'); of a sliding joint (0; omega+ x h u')."""
    if link.coordinate < 0:
        return ca.SX(6, 1)
    rate = v[link.coordinate]
    turned = ca.vertcat(V[1] * rate, -V[0] * rate, ca.SX(1, 1))
    if link.kind == "prismatic":
        return ca.vertcat(ca.SX(3, 1), turned)
    return ca.vertcat(turned, V[4] * rate, -V[3] * rate, ca.SX(1, 1))


def _bias_force(link: Link, V: Expression) -> Expression:
    """The xi_k of (4.4) without the loads; the v_k in its force is that of the mass centre, v- + omega x p."""
    omega, mp = V[:3], first_moment(link)
    turning = cross(omega, V[3:])
    moment = gyroscopic(link, omega) + cross(mp, turning)
    return ca.vertcat(moment, link.mass * turning + quadratic(omega) @ mp)


# ------------------------------------------------------------------------------------------------ inverse dynamics


def inverse_dynamics(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> Expression:
    """The torques tau (n, 1) [N m or N]: co-states outward, states inward (section 7)."""
    problem = boundary_value_problem(structure, q, v, around)
    tau = ca.SX(structure.n, 1)
    for link, x in zip(problem.tree.links, _states(problem, a), strict=True):
        tau[link.coordinate] = x[drive(link)] + link.actuator_inertia * a[link.coordinate]  # (6.5)
    return tau


def joint_loads(structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings) -> Expression:
    """(6 joints, 1): the states x_k at the joints' origins, parent on child, [moment; force] in child axes."""
    problem = boundary_value_problem(structure, q, v, around, keep_fixed=True)
    return as_joint_loads(problem.tree, problem.phi, _states(problem, a))


def _states(problem: BoundaryValueProblem, a: Expression) -> list[Expression]:
    """The x_k for given accelerations of the joints."""
    tree, phi = problem.tree, problem.phi
    costates: list[Expression] = []
    for k, link in enumerate(tree.links):
        costate = phi[k].motion(problem.ground if link.parent < 0 else costates[link.parent])  # (6.3)
        if link.coordinate >= 0:
            costate = costate + along_axis(link, a[link.coordinate])
        costates.append(costate + problem.eta[k])  # (6.4)
    states = [times(rigid(link), y) + xi for link, y, xi in zip(tree.links, costates, problem.xi, strict=True)]
    for k in reversed(range(len(tree.links))):
        parent = tree.links[k].parent
        if parent >= 0:
            states[parent] = states[parent] + phi[k].force(states[k])  # (6.1), (6.2)
    return states


def mass_matrix(structure: Structure, q: Expression) -> Expression:
    """The matrix (n, n) of m_ki = H_k r_ki H_i^T, (7.11), with r_ki = phi_ki r_ii and the covariances of (7.9)."""
    structure.require_open("the filtering formulation")
    tree = build(structure)
    phi = passages(tree, q)
    return from_covariances(tree, phi, composite_inertias(tree, phi))


def from_covariances(tree: Tree, phi: Sequence[Passage], covariance: Sequence[Articulated]) -> Expression:
    """M (n, n) from the covariances r_ii of (7.9), by (7.11)."""
    matrix = ca.SX(tree.n, tree.n)
    for i, link in enumerate(tree.links):
        if link.kind == "fixed":
            continue
        column: Expression = ca.vertcat(*covariance[i].column(2, link.kind))  # r_ii H_i^T
        at, k = link.coordinate, i
        matrix[at, at] = column[drive(link)] + link.actuator_inertia
        while tree.links[k].parent >= 0:
            column = phi[k].force(column)
            k = tree.links[k].parent
            if tree.links[k].kind != "fixed":
                row = tree.links[k].coordinate
                matrix[row, at] = matrix[at, row] = column[drive(tree.links[k])]
    return matrix


# ------------------------------------------------------------------------------------------------ forward dynamics


@dataclass(frozen=True, eq=False)
class Filtered:
    """What the filter leaves behind at joint k for the smoother (`gain` None: fixed joint)."""

    z: Expression  # z-, the predicted state
    P: Articulated  # P-, its error's covariance
    gain: Hinge | None  # P- H^T (`U`), G = P- H^T / D (`K`), 1 / D (`inverse`)
    residual: Expression  # e+ = e- / D


def forward_dynamics(
    structure: Structure, q: Expression, v: Expression, tau: Expression, around: Surroundings
) -> Expression:
    """Joint accelerations (n, 1) by Result 8.1: one pass inward and one outward, bias terms included."""
    problem = boundary_value_problem(structure, q, v, around)
    accelerations, _ = smoothed(problem, filtered(problem, tau))
    return accelerations


def forward_dynamics_and_loads(
    structure: Structure, q: Expression, v: Expression, tau: Expression, around: Surroundings
) -> tuple[Expression, Expression]:
    """Joint accelerations (n, 1) and all joint loads (6 joints, 1): the smoothed states x = z + P lambda, (8.1)."""
    problem = boundary_value_problem(structure, q, v, around, keep_fixed=True)
    filter_ = filtered(problem, tau)
    accelerations, costates = smoothed(problem, filter_)
    states = [at.z + times(at.P, costate) for at, costate in zip(filter_, costates, strict=True)]
    return accelerations, as_joint_loads(problem.tree, problem.phi, states)


def filtered(problem: BoundaryValueProblem, tau: Expression) -> list[Filtered]:
    """The filter (8.2)-(8.9), from the tips to the ground."""
    tree, phi = problem.tree, problem.phi
    z, P = list(problem.xi), [rigid(link) for link in tree.links]
    found: list[Filtered] = []
    for k in reversed(range(len(tree.links))):
        link = tree.links[k]
        z_plus, P_plus, gain, residual = z[k], P[k], None, ca.SX(1, 1)
        if link.coordinate >= 0:
            at = drive(link)
            gain = hinge(P[k], link)  # (8.5) D = H P- H^T (+ R), G = P- H^T / D
            innovation = tau[link.coordinate] - z[k][at]  # (8.6) e- = tau - H z-
            residual = gain.inverse * innovation  # (8.8)
            z_plus = z[k] + ca.vertcat(*gain.K) * innovation  # (8.7)
            if not link.actuator_inertia:
                z_plus[at] = tau[link.coordinate]  # a measurement without noise is believed
            P_plus = eliminated(P[k], gain)  # (8.9)
        found.append(Filtered(z[k], P[k], gain, residual))
        if link.parent >= 0:
            z_plus = z_plus + times(P_plus, problem.eta[k])  # (8.7), its last term
            z[link.parent] = z[link.parent] + phi[k].force(z_plus)  # (8.3)
            P[link.parent] += phi[k].inertia(P_plus)  # (8.4)
    return found[::-1]


def smoothed(problem: BoundaryValueProblem, filter_: Sequence[Filtered]) -> tuple[Expression, list[Expression]]:
    """The smoother (8.10)-(8.13): (u'' (n, 1), lambda- of every link), from the ground to the tips."""
    tree, phi = problem.tree, problem.phi
    accelerations = ca.SX(tree.n, 1)
    costates: list[Expression] = []
    for k, link in enumerate(tree.links):
        costate = phi[k].motion(problem.ground if link.parent < 0 else costates[link.parent])  # (8.10), (8.11)
        costate = costate + problem.eta[k]
        gain = filter_[k].gain
        if gain is not None:
            # (8.12) u'' = e+ - G^T (lambda+ + eta)
            acceleration = filter_[k].residual - ca.dot(ca.vertcat(*gain.K), costate)
            accelerations[link.coordinate] = acceleration
            costate = costate + along_axis(link, acceleration)  # (8.13)
        costates.append(costate)
    return accelerations, costates


# ------------------------------------------------------------------------------------------------ inverse inertia


def inverse_mass_matrix(structure: Structure, q: Expression) -> Expression:
    """The inverse M^-1 (n, n) in closed form: what multiplies tau_i in alpha1_k of (10.2).

    On a chain: c_k on the diagonal and d_k psi(k-, i+) G_i for i beyond k. Two joints k, i on branches that part at
    link j, which chains have not, are correlated through its co-state: G_k^T psi^T(j-, k+) Lambda_j- psi(j-, i+) G_i.
    """
    problem = boundary_value_problem(structure, q, ca.SX(structure.n, 1), nothing())
    gains = [at.gain for at in filtered(problem, ca.SX(structure.n, 1))]
    return from_gains(problem.tree, problem.phi, gains)


def from_gains(tree: Tree, phi: Sequence[Passage], gains: Sequence[Hinge | None]) -> Expression:
    """M^-1 (n, n) from the filter's gains: (10.2), (10.3), (10.30), (10.31). No joint of the tree is fixed."""
    inverse = ca.SX(tree.n, tree.n)
    # psi(k-, i+) G_i of all links i beyond k, by the child of k through which they come: (10.6).
    beyond: list[dict[int, dict[int, Expression]]] = [{} for _ in tree.links]
    for k in reversed(range(len(tree.links))):
        link, gain = tree.links[k], gains[k]
        if link.parent >= 0 and gain is not None:
            G, at = ca.vertcat(*gain.K), drive(link)
            handed = {i: g - G * g[at] for branch in beyond[k].values() for i, g in branch.items()}  # (I - G H) psi G
            handed[k] = G
            beyond[link.parent][k] = {i: phi[k].force(g) for i, g in handed.items()}
    covariance: list[Articulated] = []  # Lambda-, rows and columns (linear; angular)
    for k, link in enumerate(tree.links):
        gain = gains[k]
        if gain is None:
            continue
        before = _UNMOVED if link.parent < 0 else phi[k].mobility(covariance[link.parent])  # (10.30) Lambda+
        G, at = ca.vertcat(*gain.K), drive(link)
        felt = _times(before, G)
        c = gain.inverse + ca.dot(G, felt)  # (10.3)
        d = felt - along_axis(link, c)
        covariance.append(_updated(before, link, felt, c - 2 * felt[at]))
        row = link.coordinate
        inverse[row, row] = c
        for branch in beyond[k].values():
            for i, g in branch.items():
                column = tree.links[i].coordinate
                inverse[row, column] = inverse[column, row] = ca.dot(d, g)
        _correlate_branches(inverse, tree, covariance[k], list(beyond[k].values()))
    return inverse


def _updated(before: Articulated, link: Link, felt: Expression, rest: Expression) -> Articulated:
    """Lambda- = (I - G H)^T Lambda+ (I - G H) + H^T H / D, (10.31): Lambda+ but for the row and column of the axis.

    From that row Lambda+ G (`felt`) goes off, and `rest` = c - 2 H Lambda+ G is added where they cross.
    """
    axis = (drive(link) + 3) % 6  # (linear; angular)
    less = ca.vertcat(felt[3:], felt[:3])

    def entry(value: Expression, i: int, k: int) -> Expression:
        if axis not in (i, k):
            return value
        return value + rest if i == k else value - less[i + k - axis]

    def rows(block: Rows, top: int, left: int) -> Rows:
        return tuple(tuple(entry(block[i][k], top + i, left + k) for k in range(3)) for i in range(3))

    return Articulated(rows(before.J, 0, 0), rows(before.B, 0, 3), rows(before.M, 3, 3))


def _correlate_branches(
    inverse: Expression, tree: Tree, covariance: Articulated, branches: Sequence[dict[int, Expression]]
) -> None:
    """Enters the pairs of joints whose branches part at one link."""
    for b, first in enumerate(branches[:-1]):
        for i, g in first.items():
            felt = _times(covariance, g)
            for second in branches[b + 1 :]:
                for k, other in second.items():
                    row, column = tree.links[k].coordinate, tree.links[i].coordinate
                    inverse[row, column] = inverse[column, row] = ca.dot(other, felt)


def _times(covariance: Articulated, w: Expression) -> Expression:
    """A covariance of co-states, kept as (linear; angular), times a wrench."""
    product = times(covariance, ca.vertcat(w[3:], w[:3]))
    return ca.vertcat(product[3:], product[:3])
