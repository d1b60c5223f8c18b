"""The DeNOC chapter: its matrices and recursions, examples 9.1 to 9.3, and the closed form (9.42)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from kinecast.dynamics import denoc
from kinecast.dynamics.denoc_matrices import bodies_in_motion
from kinecast.dynamics.surroundings import at_rest
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array
from kinecast.verify.frame import SOLVED, Check, agree
from kinecast.verify.samples import evaluate, numbers, rods, states, symbols, varied

PAPER = "Saha ch. 9"
# Derivatives of sums over some hundred products.
DIFFERENTIATED = 1e-11


def checks(folder: Path | None) -> Iterator[Check]:
    """The chapter's equations; its figures are in `saha_examples`, its tables in `counts`."""
    yield from _definitions()
    yield from _recursions()
    yield from _one_link()
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
