"""The DeNOC chapter: its matrices and recursions, examples 9.1 to 9.3, exercises, and the closed form (9.42)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from kinecast.dynamics import denoc
from kinecast.dynamics.denoc_matrices import bodies_in_motion
from kinecast.dynamics.surroundings import at_rest
from kinecast.errors import NotSupportedError
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array
from kinecast.verify.frame import SOLVED, Check, agree, skipped
from kinecast.verify.samples import evaluate, numbers, rods, states, symbols, varied

PAPER = "Saha ch. 9"
# Derivatives of sums over some hundred products.
DIFFERENTIATED = 1e-11


def checks(folder: Path | None) -> Iterator[Check]:
    """The chapter's equations; its figures are in `saha_examples`, its tables in `counts`."""
    yield from _definitions()
    yield from _blocks()
    yield from _points()
    yield from _recursions()
    yield from _one_link()
    yield from _derived_one_link()
    yield from _two_links()
    yield from _three_links()


@dataclass(frozen=True, eq=False)
class ThreeRods:
    """(9.42): uniform rods of masses m and lengths a, gravity g along -y; states (..., 3)."""

    m: tuple[float, float, float]
    a: tuple[float, float, float]
    g: float = 9.81

    def inertia(self, q: Array) -> Array:
        """The matrix I (..., 3, 3) of (9.42b); c_2s is read as cos(theta_2 + theta_3)."""
        (m1, m2, m3), (a1, a2, a3) = self.m, self.a
        c2, c3, c23 = np.cos(q[..., 1]), np.cos(q[..., 2]), np.cos(q[..., 1] + q[..., 2])
        i33 = m3 * a3**2 / 3 + 0 * c2
        i23 = i33 + m3 * a2 * a3 * c3 / 2
        i22 = m2 * a2**2 / 3 + i33 + m3 * (a2**2 + a2 * a3 * c3)
        i13 = i33 + m3 * a3 * (a2 * c3 + a1 * c23) / 2
        i12 = m2 * a2**2 / 3 + i33 + m3 * a2**2 + (m2 / 2 + m3) * a1 * a2 * c2 + m3 * a3 * (2 * a2 * c3 + a1 * c23) / 2
        i11 = (m1 * a1**2 + m2 * a2**2) / 3 + i33 + m2 * a1**2 + m3 * (a1**2 + a2**2)
        i11 = i11 + (m2 + 2 * m3) * a1 * a2 * c2 + m3 * a3 * (a2 * c3 + a1 * c23)
        return _stacked([[i11, i12, i13], [i12, i22, i23], [i13, i23, i33]])

    def convective(self, q: Array, v: Array) -> Array:
        """The matrix C (..., 3, 3) of (9.42c); s_2s and s_2 3 are read as sin(theta_2 + theta_3)."""
        (_, m2, m3), (a1, a2, a3) = self.m, self.a
        s2, s3, s23 = np.sin(q[..., 1]), np.sin(q[..., 2]), np.sin(q[..., 1] + q[..., 2])
        v1, v2, v3 = np.moveaxis(v, -1, 0)
        A = (m2 * a1 * a2 * s2 + m3 * (2 * a1 * a2 * s2 + a1 * a3 * s23)) / 2
        B, D = m3 * (a1 * a3 * s23 + a2 * a3 * s3) / 2, m3 * a2 * a3 * s3 / 2
        v12, v123 = v1 + v2, v1 + v2 + v3
        return _stacked(
            [
                [-A * v2 - B * v3, -A * v12 - B * v3, -B * v123],
                [A * v1 - D * v3, -D * v3, -D * v123],
                [B * v1 + D * v2, D * v12, 0 * D],
            ]
        )

    def gravity(self, q: Array) -> Array:
        """The vector tau^g (..., 3) of (9.42d), with the bracket that its first line lacks."""
        (m1, m2, m3), (a1, a2, a3) = self.m, self.a
        c1, c12, c123 = np.cos(q[..., 0]), np.cos(q[..., 0] + q[..., 1]), np.cos(q.sum(axis=-1))
        third = m3 * a3 * c123
        second = m2 * a2 * c12 + 2 * m3 * a2 * c12 + third
        first = m1 * a1 * c1 + 2 * (m2 + m3) * a1 * c1 + second
        return np.asarray(-self.g / 2 * np.stack([first, second, third], axis=-1))

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """tau (..., 3) of (9.42a)."""
        driven = self.inertia(q) @ a[..., None] + self.convective(q, v) @ v[..., None]
        return np.asarray(driven[..., 0] - self.gravity(q))

    def accelerations(self, q: Array, v: Array) -> Array:
        """Of free fall (3,): (9.42a) with tau = 0."""
        return np.asarray(np.linalg.solve(self.inertia(q), self.gravity(q) - self.convective(q, v) @ v))


def _stacked(rows: list[list[Array]]) -> Array:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def matrices(structure: Structure, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
    """(I, C, h, generalized forces) by the DeNOC formulation, at numbers."""
    x, y = symbols(structure, "qv")
    parts = [
        denoc.mass_matrix(structure, x),
        denoc.convective_matrix(structure, x, y),
        denoc.convective_vector(structure, x, y),
        denoc.generalized_forces(structure, x, at_rest(structure)),
    ]
    inertia, convective, vector, forces = numbers(parts, [x, y], [q, v])
    return inertia, convective, vector[:, 0], forces[:, 0]


def _definitions() -> Iterator[Check]:
    """(9.6), (9.11a), (9.16a): products of the complement, its rate by automatic differentiation."""
    mechanism = varied(6, tree=True, seed=5)
    q, v, a = (x[0] for x in states(6))
    x, y = symbols(mechanism, "qv")
    N = denoc.twist_propagation(mechanism, x) @ denoc.joint_motion(mechanism, x)
    N_rate = ca.reshape(ca.jtimes(ca.vec(ca.densify(N)), x, y), N.shape)
    bodies = bodies_in_motion(mechanism, x, y)
    M, W = (ca.diagcat(*(getattr(body, which) for body in bodies)) for which in "MW")
    inertia, convective, twist = numbers([N.T @ M @ N, N.T @ (M @ N_rate + W @ M @ N), N @ y], [x, y], [q, v])
    I, C, h, forces = matrices(mechanism, q, v)
    velocities = [mechanism.velocity(body.name, q, v) for body in mechanism.joints]
    offsets = [mechanism.pose(body.name, q)[:3, :3] @ body.com for body in mechanism.joints]
    centres = [[*V[:3], *(V[3:] + np.cross(V[:3], r))] for V, r in zip(velocities, offsets, strict=True)]
    yield agree(PAPER, "(9.6a) t = N theta', twists of a 6-joint tree", centres, twist.reshape(-1, 6))
    yield agree(PAPER, "(9.11a), (9.15b) I = N^T M N", inertia, I)
    slip = "(9.16k), i <= j, prints H_{j+1,i}; right: H_{j+1,j}; (9.16i) is not symmetric"
    yield agree(PAPER, "(9.16a), (9.16k) C = N^T (M N' + W M N)", convective, C, DIFFERENTIATED, misprint=slip)
    yield agree(PAPER, "(9.17), (9.19) h = C theta'", convective @ v, h, DIFFERENTIATED)
    (tau,) = evaluate(mechanism, "inverse_dynamics", [q, v, a])
    yield agree(PAPER, "(9.10a), (9.21) I theta'' + h = tau", tau, I @ a + h - forces)


def _blocks() -> Iterator[Check]:
    """The blocks of the complement on a chain, as the chapter writes them."""
    mechanism = varied(5, seed=5)
    n = mechanism.n
    q, v, _ = (x[1] for x in states(n))
    x, y = symbols(mechanism, "qv")
    propagation, motion = denoc.twist_propagation(mechanism, x), denoc.joint_motion(mechanism, x)
    bodies = bodies_in_motion(mechanism, x, y)
    exact = [ca.vertcat(*(ca.horzcat(body.c.T, body.c_rate.T, body.omega.T) for body in bodies))]
    N_l, N_d, M, state = numbers([propagation, motion, ca.diagcat(*(b.M for b in bodies)), *exact], [x, y], [q, v])
    c, c_rate, omega = state[:, :3], state[:, 3:6], state[:, 6:]

    def B(i: int, j: int) -> Array:
        """The block B_ij, for any i and j."""
        block = np.eye(6)
        block[3:, :3] = _cross(c[j] - c[i])
        return block

    lower = np.vstack([np.hstack([B(i, j) if j <= i else np.zeros((6, 6)) for j in range(n)]) for i in range(n)])
    yield agree(PAPER, "(9.4d), (9.6b) N_l of the blocks B_ij", lower, N_l)
    yield agree(PAPER, "(9.5a) B_42 B_21 = B_41", B(4, 1), B(4, 2) @ B(2, 1))
    yield agree(PAPER, "(9.5a) B_21^-1 = B_12", np.linalg.inv(B(2, 1)), B(1, 2))
    twists = np.hstack([omega, c_rate])
    passed = [B(i, i - 1) @ twists[i - 1] + N_d[6 * i : 6 * i + 6, i] * v[i] for i in range(1, n)]
    yield agree(PAPER, "(9.4c) t_i = B t_{i-1} + p_i theta_i'", twists[1:], passed)
    blocks = [M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] for i in range(n)]
    composite = N_l.T @ M @ N_l
    summed, recursive = list(blocks), list(blocks)
    for i in reversed(range(n)):
        summed[i] = blocks[i] + sum((B(k, i).T @ blocks[k] @ B(k, i) for k in range(i + 1, n)), np.zeros((6, 6)))
        if i + 1 < n:
            recursive[i] = blocks[i] + B(i + 1, i).T @ recursive[i + 1] @ B(i + 1, i)
    printed = "(9.11c) prints M~_k in the sum; right: M_k, else what hangs on k counts more than once"
    yield agree(PAPER, "(9.11c) M~_i as a sum", recursive, summed, misprint=printed)
    diagonal = [composite[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] for i in range(n)]
    yield agree(PAPER, "(9.11b), (9.11d) M~ = N_l^T M N_l", diagonal, recursive)
    mass, first, second = blocks[n - 1][5, 5], np.zeros(3), blocks[n - 1][:3, :3]
    built = []
    for i in reversed(range(n - 1)):
        arm = c[i] - c[i + 1]  # c_{i+1,i} = - d_{i+1} - r_i
        before, first = first, mass * arm + first
        second = blocks[i][:3, :3] + second - _cross(before) @ _cross(arm) - _cross(arm) @ _cross(first)
        mass = blocks[i][5, 5] + mass
        built.append(np.block([[second, -_cross(first)], [_cross(first), mass * np.eye(3)]]))
    yield agree(PAPER, "(9.12c), (9.14) M~_i by mass, delta, I~", recursive[-2::-1], built)
    I = matrices(mechanism, q, v)[0]
    energy = 0.5 * twists.ravel() @ M @ twists.ravel()
    yield agree(PAPER, "exercise 9.8 T = t^T M t / 2", mechanism.kinetic_energy(q, v), energy)
    yield agree(PAPER, "exercise 9.9 T = theta'^T I theta' / 2", mechanism.kinetic_energy(q, v), 0.5 * v @ I @ v)
    U, D = _udu(I)
    yield agree(PAPER, "(9.38), exercise 9.10 I = U D U^T", I, U @ np.diag(D) @ U.T)
    free, pivots = list(blocks), np.zeros(n)
    for i in reversed(range(n)):
        axis = N_d[6 * i : 6 * i + 6, i]
        psi = free[i] @ axis
        pivots[i] = axis @ psi
        if i:
            remaining = free[i] - np.outer(psi, psi) / pivots[i]
            free[i - 1] = blocks[i - 1] + B(i, i - 1).T @ remaining @ B(i, i - 1)
    yield agree(PAPER, "(9.39c), (9.39d) the pivots m-hat are D", D, pivots, SOLVED)


def _points() -> Iterator[Check]:
    """Twists of joints' origins and of mass centres, (9.7), on a chain of turning joints."""
    mechanism = varied(4, sliding="none", seed=5)
    q, v, _ = (x[1] for x in states(4))
    names = mechanism.coordinates
    poses = [mechanism.pose(name, q) for name in names]
    at = np.array([np.zeros(3), *(pose[:3, 3] for pose in poses[:-1])])  # O_i: that of the frame before
    axes = np.array([[0.0, 0.0, 1.0], *(pose[:3, 2] for pose in poses[:-1])])
    centres = np.array(
        [pose[:3, 3] + pose[:3, :3] @ joint.com for pose, joint in zip(poses, mechanism.joints, strict=True)]
    )
    frames = np.array([mechanism.velocity(name, q, v) for name in names])
    omega = frames[:, :3]
    of_centres = frames[:, 3:] + np.cross(omega, centres - [pose[:3, 3] for pose in poses])
    of_origins = of_centres + np.cross(omega, at - centres)
    d = centres - at
    found_c, found_o = [], []
    for i in range(1, 4):
        turn, before = axes[i] * v[i], omega[i - 1]
        # B_{i,i-1} + P^d_{i-1} and p^O_i + p^d_i, then A_{i,i-1} - P^d_{i-1} and p^C_i - p^d_i, applied.
        step = centres[i - 1] - centres[i]
        found_c.append(of_origins[i - 1] + np.cross(step - d[i - 1], before) + np.cross(turn, d[i]))
        found_o.append(of_centres[i - 1] + np.cross(at[i - 1] - at[i] + d[i - 1], before))
    yield agree(PAPER, "(9.7a) twists of mass centres from those of origins", of_centres[1:], found_c)
    yield agree(PAPER, "(9.7b) twists of origins from those of mass centres", of_origins[1:], found_o)


def _derived_one_link() -> Iterator[Check]:
    """Example 9.2: the equation of motion of the one-link arm, derived by a computer algebra system."""
    item = "9.2 m a^2 / 3 theta'' = tau - m g a sin(theta) / 2"
    try:
        from kinecast.equations import derive
    except NotSupportedError as error:
        yield skipped(PAPER, item, str(error))
        return
    found = derive(rods((0.6,), (1.7,), gravity=(9.81, 0, 0)), symbols=True)
    m, a, g, theta = 0.9, 1.3, 9.7, 0.8  # other numbers than the arm's: the letters must be right
    given = {found.q[0]: theta, **{x: {"m1": m, "L1": a, "g": g}[x.name] for x in found.constants}}
    sides = [float(x.subs(given)) for x in (found.M[0, 0], found.h[0], found.g[0])]
    yield agree(PAPER, item, [m * a**2 / 3, 0.0, m * g * a * np.sin(theta) / 2], sides)
    yield agree(PAPER, "exercise 9.6 T = m a^2 theta'^2 / 6", m * a**2 * 1.1**2 / 6, 0.5 * sides[0] * 1.1**2)


def _udu(matrix: Array) -> tuple[Array, Array]:
    """The factors U (unit upper triangular) and D of a symmetric matrix, from its last row up."""
    A, n = matrix.copy(), len(matrix)
    U, D = np.eye(n), np.zeros(n)
    for k in reversed(range(n)):
        D[k] = A[k, k]
        U[:k, k] = A[:k, k] / D[k]
        A[:k, :k] -= D[k] * np.outer(U[:k, k], U[:k, k])
    return U, D


def _cross(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _recursions() -> Iterator[Check]:
    mechanism = varied(6, tree=True, seed=5)
    q, v, a = (x[0] for x in states(6))
    (tau,) = evaluate(mechanism, "inverse_dynamics", [q, v, a])
    (ours,) = evaluate(mechanism, "inverse_dynamics", [q, v, a], "denoc")
    yield agree(PAPER, "(9.32)-(9.35) recursive inverse dynamics", tau, ours)
    x, y = symbols(mechanism, ("q", "phi"))
    (solution,) = numbers([denoc.solve(mechanism, x, y)], [x, y], [q, tau])
    (M,) = evaluate(mechanism, "mass_matrix", [q])
    psi = "(9.41a) prints psi-hat; right: psi, divided by m-hat"
    reference = np.linalg.solve(M, tau)
    yield agree(PAPER, "(9.38)-(9.41) I^-1 phi by U D U^T", reference, solution[:, 0], SOLVED, misprint=psi)
    (found,) = evaluate(mechanism, "forward_dynamics", [q, v, tau], "denoc")
    yield agree(PAPER, "(9.38)-(9.41) recursive forward dynamics", a, found, SOLVED)


def _one_link() -> Iterator[Check]:
    """Example 9.1: gravity along x, the link's angle from x."""
    m, a, g = 1.7, 0.6, 9.81
    q, v = np.array([0.8]), np.array([1.3])
    I, C, _, forces = matrices(rods((a,), (m,), gravity=(g, 0, 0)), q, v)
    yield agree(PAPER, "9.1 (9.23f) I = m a^2 / 3", [m * a**2 / 3], I[0])
    yield agree(PAPER, "9.1 (9.24a) C = 0", [0.0], C[0])
    yield agree(PAPER, "9.1 (9.24c) gravity's force -m g a sin(theta) / 2", [-m * g * a * np.sin(0.8) / 2], forces)


def _two_links() -> Iterator[Check]:
    """Example 9.3."""
    (m1, m2), (a1, a2) = (1.3, 0.7), (0.5, 0.35)
    q, v = np.array([0.4, -1.1]), np.array([0.7, 1.6])
    I, C, h, _ = matrices(rods((a1, a2), (m1, m2)), q, v)
    c2, k = np.cos(q[1]), m2 * a1 * a2 * np.sin(q[1]) / 2
    i22 = m2 * a2**2 / 3
    for item, reference, computed in (
        ("(9.27a) i_22", i22, I[1, 1]),
        ("(9.27d) i_21", i22 + m2 * a1 * a2 * c2 / 2, I[1, 0]),
        ("(9.29) i_11", (m1 * a1**2 + m2 * a2**2) / 3 + m2 * a1**2 + m2 * a1 * a2 * c2, I[0, 0]),
        ("(9.30a) c_22", 0.0, C[1, 1]),
        ("(9.30b) c_21", k * v[0], C[1, 0]),
        ("(9.30c) c_12", -k * (v[0] + v[1]), C[0, 1]),
        ("(9.30d) c_11", -k * v[1], C[0, 0]),
        ("(9.31a) h_2", k * v[0] ** 2, h[1]),
        ("(9.31b) h_1", -2 * k * (v[1] / 2 + v[0]) * v[1], h[0]),
    ):
        yield agree(PAPER, f"9.3 {item}", reference, computed)
    a = np.array([1.4, -0.6])
    weight = 9.81 / 2 * np.array([(m1 + 2 * m2) * a1 * np.cos(q[0]), 0.0]) + 9.81 / 2 * m2 * a2 * np.cos(q.sum())
    (tau,) = evaluate(rods((a1, a2), (m1, m2)), "inverse_dynamics", [q, v, a], "denoc")
    yield agree(PAPER, "exercise 9.14 torques by (9.27)-(9.31) and weights", I @ a + h + weight, tau)


def _three_links() -> Iterator[Check]:
    """The entries of (9.42), by which examples 9.4, 9.8 and exercises 9.11, 9.12, 9.15 are checked."""
    arm = ThreeRods((1.1, 0.8, 0.5), (0.45, 0.3, 0.2))
    q, v = np.array([0.4, -1.1, 2.0]), np.array([0.7, 1.6, -0.9])
    mechanism = rods(arm.a, arm.m)
    I, C, _, forces = matrices(mechanism, q, v)
    sum_angle = "printed c_2s, s_2s or s_2 3; right: c_23, s_23"
    inertia, convective, gravity = arm.inertia(q), arm.convective(q, v), arm.gravity(q)
    for i, k in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        misprint = sum_angle if i == 0 else ""
        yield agree(PAPER, f"(9.42b) i_{i + 1}{k + 1}", inertia[i, k], I[i, k], misprint=misprint)
    for i in range(3):
        for k in range(3):
            rates = "theta_12, theta_123 are meant as rates" if (i, k) in ((0, 1), (0, 2), (1, 2), (2, 1)) else ""
            misprint = "; ".join(filter(None, (sum_angle if i == 0 else "", rates)))
            yield agree(PAPER, f"(9.42c) c_{i + 1}{k + 1}", convective[i, k], C[i, k], misprint=misprint)
    for i in range(3):
        misprint = "a bracket is missing at the end" if i == 0 else ""
        yield agree(PAPER, f"(9.42d) tau^g_{i + 1}", gravity[i], forces[i], misprint=misprint)
    name = "(9.42c) is Christoffel's matrix (in a plane)"
    yield agree(PAPER, name, convective, evaluate(mechanism, "coriolis_matrix", [q, v])[0])
