"""The filtering report: its boundary-value problem, its filter and smoother, the inertia matrix and its inverse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from kinecast.dynamics import filtering
from kinecast.dynamics.mechanism import Mechanism
from kinecast.dynamics.screws import drive, times
from kinecast.dynamics.spatial.articulated import rigid
from kinecast.dynamics.surroundings import at_rest
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array
from kinecast.verify.frame import SOLVED, Check, agree
from kinecast.verify.samples import State, evaluate, numbers, states, symbols, varied

PAPER = "Rodriguez 1986"


@dataclass(frozen=True, eq=False)
class Joint:
    """The report's quantities of one joint k, as numbers; `phi` leads from it to the next one inward."""

    phi: Array
    M: Array
    H: Array
    P: Array
    G: Array
    D: float
    xi: Array
    eta: Array
    z: Array
    costate: Array
    acceleration: float
    parent: int
    coordinate: int

    @property
    def kept(self) -> Array:
        """The factor I - G_k H_k."""
        return np.eye(6) - self.G @ self.H


def checks(folder: Path | None) -> Iterator[Check]:
    """All lines of the report."""
    yield from _boundary_value_problem()
    yield from _matrices()
    yield from _chain()
    yield from _closed_form_accelerations()


def joints_of(structure: Structure, state: State) -> list[Joint]:
    """Filter and smoother at (q, v, tau), ground at rest without gravity: in the order of the tree's links."""
    around = at_rest(structure)
    q, v, tau = variables = symbols(structure, ("q", "v", "tau"))
    problem = filtering.boundary_value_problem(structure, q, v, around)
    passed = filtering.filtered(problem, tau)
    accelerations, costates = filtering.smoothed(problem, passed)
    unit = ca.horzsplit(ca.SX.eye(6))
    found = []
    for k, link in enumerate(problem.tree.links):
        gain = passed[k].gain
        assert gain is not None  # every joint moves
        parts = [
            ca.horzcat(*(problem.phi[k].force(e) for e in unit)),
            ca.horzcat(*(times(rigid(link), e) for e in unit)),
            ca.horzcat(*(times(passed[k].P, e) for e in unit)),
            ca.vertcat(*gain.K),
            1 / gain.inverse,
            problem.xi[k],
            problem.eta[k],
            passed[k].z,
            costates[k],
            accelerations[link.coordinate],
        ]
        phi, M, P, G, D, xi, eta, z, costate, acceleration = numbers(parts, variables, state)
        H, pivot, rate = np.eye(6)[[drive(link)]], float(D[0, 0]), float(acceleration[0, 0])
        found.append(Joint(phi, M, H, P, G, pivot, xi, eta, z, costate, rate, link.parent, link.coordinate))
    return found


def _example(tree: bool) -> tuple[Mechanism, State, Array]:
    """A mechanism without gravity, (q, v, tau), and the accelerations those torques cause."""
    mechanism = varied(6, tree=tree, seed=4).with_gravity(np.zeros(3))
    q, v, a = (x[0] for x in states(6))
    (tau,) = evaluate(mechanism, "inverse_dynamics", [q, v, a])
    return mechanism, (q, v, tau), a


def _boundary_value_problem() -> Iterator[Check]:
    mechanism, state, a = _example(tree=True)
    joints = joints_of(mechanism, state)
    x = [joint.z + joint.P @ joint.costate for joint in joints]  # (8.1)
    before = [np.zeros((6, 1)) if joint.parent < 0 else joints[joint.parent].costate for joint in joints]
    beyond = [sum((joints[i].phi @ x[i] for i in _carried(joints, k)), np.zeros((6, 1))) for k in range(len(joints))]
    forces = [beyond[k] + joint.M @ joint.costate + joint.xi for k, joint in enumerate(joints)]
    speed = "(4.4) prints v_k^- in the bias force; right: the velocity of the mass centre, v^- + omega x p"
    yield agree(PAPER, "(6.1), (6.2) spatial forces, x = z + P lambda", x, forces, SOLVED, misprint=speed)
    costates = [joint.phi.T @ before[k] + joint.H.T * joint.acceleration + joint.eta for k, joint in enumerate(joints)]
    yield agree(PAPER, "(6.3), (6.4) co-states", [joint.costate for joint in joints], costates, SOLVED)
    felt = [float((joint.H @ x[k])[0, 0]) for k, joint in enumerate(joints)]
    yield agree(PAPER, "(6.5) tau = H x", [state[2][joint.coordinate] for joint in joints], felt, SOLVED)
    innovation = "(8.6) prints tau - H x; right: tau - H z, as (9.5)"
    found = np.array([joint.acceleration for joint in joints])[np.argsort([joint.coordinate for joint in joints])]
    yield agree(PAPER, "(8.2)-(8.13) Result 8.1, accelerations", a, found, SOLVED, misprint=innovation)
    (tau,) = evaluate(mechanism, "inverse_dynamics", [*state[:2], a], "filtering")
    yield agree(PAPER, "section 7, inverse dynamics", state[2], tau)


def _matrices() -> Iterator[Check]:
    mechanism, state, _ = _example(tree=True)
    joints = joints_of(mechanism, state)
    predicted = []
    for k, joint in enumerate(joints):
        updated = (joints[i].kept @ joints[i].P @ joints[i].kept.T for i in _carried(joints, k))
        carried = zip(_carried(joints, k), updated, strict=True)
        predicted.append(joint.M + sum((joints[i].phi @ P @ joints[i].phi.T for i, P in carried), np.zeros((6, 6))))
    yield agree(PAPER, "(8.4), (8.25) P: articulated inertia", [joint.P for joint in joints], predicted, SOLVED)
    riccati = [joint.P - joint.P @ joint.H.T @ joint.H @ joint.P / joint.D for joint in joints]
    slip = "(9.9) prints P H D^-1 H^T P; right: P H^T D^-1 H P, as (8.9)"
    kept = [joint.kept @ joint.P for joint in joints]
    yield agree(PAPER, "(8.9), (9.9) P updated", riccati, kept, SOLVED, misprint=slip)
    gains = [joint.P @ joint.H.T / joint.D for joint in joints]
    yield agree(PAPER, "(8.5) G: Kalman's gain", gains, [joint.G for joint in joints], SOLVED)
    (M,) = evaluate(mechanism, "mass_matrix", [state[0]])
    (covariance,) = evaluate(mechanism, "mass_matrix", [state[0]], "filtering")
    yield agree(PAPER, "(7.7)-(7.11) inertia matrix as a covariance", M, covariance)
    determinant = float(np.prod([joint.D for joint in joints]))
    yield agree(PAPER, "(8.5) product of all D = det M", np.linalg.det(M), determinant, SOLVED)
    for item, chain in (("chain", varied(6, seed=4)), ("tree", mechanism)):
        (M,) = evaluate(chain, "mass_matrix", [state[0]])
        (inverse,) = evaluate(chain, "inverse_mass_matrix", [state[0]], "filtering")
        yield agree(PAPER, f"(10.1)-(10.3) M^-1 in closed form, {item}", np.linalg.inv(M), inverse, SOLVED)


def _chain() -> Iterator[Check]:
    """Sections 3, 5 and 7 on a chain numbered from its tip: velocities, and the weighting sums."""
    mechanism, state, a = _example(tree=False)
    joints = joints_of(mechanism, state)[::-1]
    order = [joint.coordinate for joint in joints]
    yield agree(PAPER, "(3.6) Phi_k,m = Phi_k,i Phi_i,m", _phi(joints, 4, 1), _phi(joints, 4, 2) @ _phi(joints, 2, 1))
    V, energy = np.zeros((6, 1)), 0.0
    for joint in reversed(joints):
        V = joint.phi.T @ V + joint.H.T * state[1][joint.coordinate]
        energy += 0.5 * (V.T @ joint.M @ V).item()
    yield agree(PAPER, "(5.1)-(5.3), (3.2) kinetic energy", mechanism.kinetic_energy(*state[:2]), energy)
    r, driven = _weights(joints), _driven(joints)
    pushes = [joint.H.T * a[joint.coordinate] + joint.eta for joint in joints]
    summed = [sum((w @ push for w, push in zip(row, pushes, strict=True)), x) for row, x in zip(r, driven, strict=True)]
    states_ = [joint.z + joint.P @ joint.costate for joint in joints]
    yield agree(PAPER, "(7.2)-(7.7) spatial forces as sums", states_, summed, SOLVED)
    (M,) = evaluate(mechanism, "mass_matrix", [state[0]])
    inertia = _felt_weights(joints, r)
    yield agree(PAPER, "(7.11) m_ki = H_k r_ki H_i^T", M[np.ix_(order, order)], inertia)
    (h,) = evaluate(mechanism, "bias_torques", list(state[:2]))
    bias = [(joint.H @ x).item() for joint, x in zip(joints, summed, strict=True)] - inertia @ a[order]
    yield agree(PAPER, "(7.10), (7.11) V^k", h[order], bias, SOLVED)
    yield from _estimates(joints, state[2][order], r, driven, inertia)


def _estimates(
    joints: list[Joint], tau: Array, r: list[list[Array]], mean: list[Array], inertia: Array
) -> Iterator[Check]:
    """Section 9: means and covariances of x given measured torques, by Gauss's rule; eta is zero in this section."""
    count = len(joints)
    felt = np.array([(joint.H @ x).item() for joint, x in zip(joints, mean, strict=True)])

    def given(k: int, seen: int) -> tuple[Array, Array]:
        """Mean and covariance of x_k when the torques of the first joints from the tip are known."""
        shared = np.hstack([np.zeros((6, 0)), *(r[k][i] @ joints[i].H.T for i in range(seen))])
        gain = np.linalg.solve(inertia[:seen, :seen], shared.T).T
        return mean[k][:, 0] + gain @ (tau - felt)[:seen], r[k][k] - gain @ shared.T

    filtered: list[Array] = []
    z = np.zeros((6, 1))  # (8.2), (8.3), (8.6), (8.7)
    for joint in joints:
        z = z + joint.xi
        filtered.append(z[:, 0])
        z = joint.phi @ (z + joint.G * (tau[len(filtered) - 1] - (joint.H @ z).item()))
    means, covariances = zip(*(given(k, k) for k in range(count)), strict=True)
    yield agree(PAPER, "(9.4), (9.11) z: mean of x given the torques outward", means, filtered, SOLVED)
    found = [joint.P for joint in joints]
    yield agree(PAPER, "(9.6) P: its covariance", covariances, found, SOLVED)
    innovation = [(joint.H @ P @ joint.H.T).item() for joint, P in zip(joints, covariances, strict=True)]
    yield agree(PAPER, "(9.7) D: that of the innovation", innovation, [joint.D for joint in joints], SOLVED)
    smoothed = [given(k, count)[1] for k in range(count)]
    pairs = zip(joints, _costate_covariances(joints)[1], strict=True)
    computed = [joint.P - joint.P @ Lambda @ joint.P for joint, Lambda in pairs]
    yield agree(PAPER, "(9.17)-(9.21) S = P - P Lambda P: given all torques", smoothed, computed, SOLVED)


def _phi(joints: list[Joint], k: int, m: int) -> Array:
    """Phi_{k,m} of (3.5), from joint m inward to joint k."""
    product = np.eye(6)
    for joint in joints[m:k]:
        product = joint.phi @ product
    return product


def _weights(joints: list[Joint]) -> list[list[Array]]:
    """The kernel r_{k,i} of (7.7)."""
    nothing, every = np.zeros((6, 6)), range(len(joints))

    def weight(k: int, i: int) -> Array:
        terms = (_phi(joints, k, j) @ joints[j].M @ _phi(joints, i, j).T for j in range(min(i, k) + 1))
        return np.asarray(sum(terms, nothing))

    return [[weight(k, i) for i in every] for k in every]


def _driven(joints: list[Joint]) -> list[Array]:
    """What the bias forces xi add to the states, (7.6)."""
    every = range(len(joints))
    return [sum((_phi(joints, k, i) @ joints[i].xi for i in range(k + 1)), np.zeros((6, 1))) for k in every]


def _felt_weights(joints: list[Joint], r: list[list[Array]]) -> Array:
    """The numbers H_k r_ki H_i^T."""
    rows = zip(joints, r, strict=True)
    return np.array([[(k.H @ w @ i.H.T).item() for i, w in zip(joints, row, strict=True)] for k, row in rows])


def _costate_covariances(joints: list[Joint]) -> tuple[list[Array], list[Array]]:
    """Lambda+ and Lambda- of every joint by (10.30), (10.31)."""
    after, before = [np.zeros((6, 6))] * len(joints), [np.zeros((6, 6))] * len(joints)
    for k, joint in reversed(list(enumerate(joints))):
        if k + 1 < len(joints):
            after[k] = joint.phi.T @ before[k + 1] @ joint.phi
        before[k] = joint.kept.T @ after[k] @ joint.kept + joint.H.T @ joint.H / joint.D
    return after, before


def _closed_form_accelerations() -> Iterator[Check]:
    """(10.1)-(10.6), (10.29)-(10.31) as printed, on a chain numbered from its tip as in the report."""
    mechanism, state, a = _example(tree=False)
    joints = joints_of(mechanism, state)[::-1]
    count = len(joints)

    def psi(k: int, i: int) -> Array:
        """(10.6): how the filter carries a wrench from i+ to k-."""
        product = joints[i].phi
        for j in range(i + 1, k):
            product = joints[j].phi @ joints[j].kept @ product
        return product

    after, before = _costate_covariances(joints)
    summed = []
    for k in range(count):
        terms = ((joints[i].H @ psi(i, k), joints[i].D) for i in range(k + 1, count))
        summed.append(sum((row.T @ row / D for row, D in terms), np.zeros((6, 6))))
    slip = "(10.29) prints D_k; right: D_i"
    yield agree(PAPER, "(10.29)-(10.31) Lambda: co-state covariance", summed, after, SOLVED, misprint=slip)
    eye, tau = np.eye(6), [state[2][joint.coordinate] for joint in joints]
    P_plus = [joint.kept @ joint.P for joint in joints]
    pushed_in = [j.kept @ j.xi + j.G * t + P @ j.eta for j, t, P in zip(joints, tau, P_plus, strict=True)]  # (10.7)
    z = [joints[k].xi + sum(psi(k, i) @ pushed_in[i] for i in range(k)) for k in range(count)]
    yield agree(PAPER, "(10.4) z by the filter's transition", [joint.z for joint in joints], z, SOLVED)
    residual = [(t - (joint.H @ x).item()) / joint.D for joint, t, x in zip(joints, tau, z, strict=True)]  # (10.5)
    handed = [j.kept.T @ j.eta + j.H.T * e for j, e in zip(joints, residual, strict=True)]  # (10.15)
    lambdas = [sum((psi(i, k).T @ handed[i] for i in range(k + 1, count)), np.zeros((6, 1))) for k in range(count - 1)]
    expected = [joint.phi.T @ joints[k + 1].costate for k, joint in enumerate(joints[:-1])]
    yield agree(PAPER, "(10.14) co-states by the transposed transition", expected, lambdas, SOLVED)
    c = [1 / joint.D + joint.G.T @ after[k] @ joint.G for k, joint in enumerate(joints)]  # (10.3)
    d = [joint.G.T @ after[k] - c[k] @ joint.H for k, joint in enumerate(joints)]
    found = []
    for k, joint in enumerate(joints):
        G = joint.G
        alpha = c[k] * tau[k] + d[k] @ joint.xi + G.T @ (after[k] @ P_plus[k] - eye) @ joint.eta
        for i in range(k):  # towards the tip
            alpha += (
                d[k] @ psi(k, i) @ (joints[i].G * tau[i] + joints[i].kept @ joints[i].xi + P_plus[i] @ joints[i].eta)
            )
        for i in range(k + 1, count):  # towards the ground
            pushed = d[i].T * tau[i] + before[i] @ joints[i].xi
            pushed += joints[i].kept.T @ (after[i] @ P_plus[i] - eye) @ joints[i].eta
            alpha += G.T @ psi(i, k).T @ pushed
        found.append(float(alpha[0, 0]))
    slip = "alpha^2 of (10.2) prints Lambda_i; right: Lambda_i^-"
    expected = [a[joint.coordinate] for joint in joints]
    yield agree(PAPER, "(10.1), (10.2) accelerations, chain", expected, found, SOLVED, misprint=slip)


def _carried(joints: list[Joint], k: int) -> list[int]:
    """The links that hang on link k."""
    return [i for i, joint in enumerate(joints) if joint.parent == k]
