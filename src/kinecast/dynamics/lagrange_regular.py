"""The regular (not recursive) Lagrangian equations and their direct sensitivities, for small mechanisms.

After Y. Xiang, J. S. Arora and K. Abdel-Malek (2009), section 3; the numbers beside the lines are its equations.
tau = M(q) a + V(q, v) - gravity - loads, every term a sum over links, of traces of products of derivatives of the
links' poses (6)-(10). The sensitivities are those sums differentiated term by term, of which the paper gives one line
(11), together with the reason to take its recursive form instead: the number of terms.

| symbol here | paper | what | unit |
|---|---|---|---|
| T(j) | 0T_j | pose of link j in world axes (4, 4) | 1, m |
| T(j, k), T(j, k, l), ... | d 0T_j / dq_k, ... | its derivatives by the coordinates of joints k, l, ... (4, 4) | 1, m |
| P(j, i) | I_j (d 0T_j / dq_i)^T | augmented inertia of link j times the derivative (4, 4) | kg m2, ... |
| M, V | M, V | mass matrix (n, n), velocity products (n, 1) | kg m2, N m, ... |
| N(j) | - | acceleration d2(0T_j)/dt2 that link j has when a = 0 (4, 4); V_i = sum of Tr(N(j) P(j, i)) | 1/s2, m/s2 |
| r | r_i, r_s | centre of mass, place of a load, in link axes (4, 1) | m, 1 |

Signs: gravity is the acceleration vector and loads act ON the link, so that they enter with a minus; (6) prints a plus.
External moments are not in (6): they enter as in (16). Any joint maps as in `kinecast.dynamics.lagrange`; a moving base
adds C_0 0T_j + 2 B_0 d(0T_j)/dt to the acceleration of every link, which V takes in.

Cost on a chain of n general revolute joints: 289 multiplications and 199 additions at n = 2, 4,278 and 3,438 at n = 6,
27,156 and 22,578 at n = 12 (docs/theory/lagrange.md has the table). More than 12 coordinates are refused.

Example::

    structure = kinecast.load("planar2")
    q, v, a = (casadi.SX.sym(name, structure.n) for name in "qva")
    tau = inverse_dynamics(structure, q, v, a, at_rest(structure))
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import constant, coordinate_of, loads_on, path_to
from kinecast.dynamics.lagrange import augmented_inertia, axis_in_parent, direction, ground, place, trace, transforms
from kinecast.dynamics.surroundings import AppliedLoad, Expression, Surroundings, nothing
from kinecast.errors import NotSupportedError
from kinecast.mechanism import Structure

# Here the sensitivities take 270,000 operations, over three times those of the recursive form, and n^4 goes on.
LARGEST = 12


def inverse_dynamics(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> Expression:
    """Joint torques and forces tau (n, 1) [N m, N] that cause the accelerations `a` (6)."""
    sums = _Sums(structure, q, v, around)
    return sums.mass_matrix() @ a + sums.velocity_products() - sums.pulls()


def inverse_dynamics_sensitivities(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> tuple[Expression, Expression, Expression, Expression]:
    """(tau, dtau_dq, dtau_dv, dtau_da), the derivatives (n, n) by differentiating (6) term by term (11)."""
    sums = _Sums(structure, q, v, around)
    M = sums.mass_matrix()
    dV_dq, dV_dv = sums.velocity_products_sensitivities()
    dtau_dq = sums.mass_matrix_sensitivity(a) + dV_dq - sums.pulls_sensitivity()
    return M @ a + sums.velocity_products() - sums.pulls(), dtau_dq, dV_dv, M


def mass_matrix(structure: Structure, q: Expression) -> Expression:
    """M (n, n) of (7), with the drives' own inertia on the diagonal."""
    return _Sums(structure, q, ca.SX(structure.n, 1), nothing()).mass_matrix()


class _Sums:
    """The sums of (6) over links j and the joints i, k, l, m that move them, and the derivatives of the sums."""

    def __init__(self, structure: Structure, q: Expression, v: Expression, around: Surroundings) -> None:
        structure.require_open("Regular Lagrangian dynamics")
        if structure.n > LARGEST:
            raise NotSupportedError(
                f"regular Lagrangian equations of {structure.name!r}: {structure.n} coordinates are too many for their "
                f"nested sums, at most {LARGEST}; the recursive ones (lagrange) give the same"
            )
        self.structure, self.joints, self.around = structure, structure.joints, around
        self.at = {j: k for j, k in enumerate(coordinate_of(structure)) if k is not None}  # joint -> coordinate
        positions = [q[self.at[j]] if j in self.at else ca.SX(1, 1) for j in range(len(self.joints))]
        self.local = [transforms(joint, position) for joint, position in zip(self.joints, positions, strict=True)]
        self.heavy = [j for j, joint in enumerate(self.joints) if joint.mass or joint.inertia.any()]
        self.v = {j: v[k] for j, k in self.at.items()}
        _, self.B0, self.C0 = ground(around)
        self.known: dict[tuple[int, ...], Expression] = {}

    def movers(self, j: int) -> tuple[int, ...]:
        """The joints that move link j; none for the ground (-1)."""
        return tuple(i for i in path_to(self.structure, j) if i in self.at)

    def T(self, j: int, *by: int) -> Expression:
        """0T_j (5), differentiated once for every joint in `by`, which differentiates that joint's own factor."""
        if j < 0:
            return ca.SX(4, 4) if by else constant(np.eye(4))
        key = (j, *sorted(by))
        if key not in self.known:
            others = (k for k in by if k != j)
            self.known[key] = self.T(self.structure.parents[j], *others) @ self.local[j][by.count(j)]
        return self.known[key]

    def P(self, j: int, *by: int) -> Expression:
        """I_j times the transposed derivative of 0T_j: the right factor of every trace."""
        return augmented_inertia(self.joints[j]) @ self.T(j, *by).T

    def mass_matrix(self) -> Expression:
        """M (7), with the drives' own inertia on the diagonal."""
        M = ca.diag(constant([joint.actuator_inertia for joint in self.structure.movable]))
        for j in self.heavy:
            for i, k in product(self.movers(j), repeat=2):
                M[self.at[i], self.at[k]] += trace(self.T(j, k), self.P(j, i))
        return M

    def mass_matrix_sensitivity(self, a: Expression) -> Expression:
        """d(M a)/dq, the first term of (11); the sum over k of (M a)_i is taken inside the trace."""
        total = ca.SX(self.structure.n, self.structure.n)
        for j in self.heavy:
            movers = self.movers(j)
            Ta = sum((self.T(j, k) * a[self.at[k]] for k in movers), ca.SX(4, 4))
            for l in movers:
                Ta_l = sum((self.T(j, k, l) * a[self.at[k]] for k in movers), ca.SX(4, 4))
                for i in movers:
                    total[self.at[i], self.at[l]] += trace(Ta_l, self.P(j, i)) + trace(Ta, self.P(j, i, l))
        return total

    def N(self, j: int, *by: int) -> Expression:
        """The sum of d2(0T_j)/dq_k dq_m q'_k q'_m, and what a moving base adds; differentiated by the q of `by`."""
        v, total = self.v, self.C0 @ self.T(j, *by)
        for k in self.movers(j):
            total += 2 * v[k] * (self.B0 @ self.T(j, k, *by))
        for k, m in combinations_with_replacement(self.movers(j), 2):
            total += (v[k] * v[m] if k == m else 2 * v[k] * v[m]) * self.T(j, k, m, *by)
        return total

    def N_v(self, j: int, l: int) -> Expression:
        """The derivative of N(j) by the rate of joint l."""
        return 2 * (self.B0 @ self.T(j, l) + sum((self.v[k] * self.T(j, k, l) for k in self.movers(j)), ca.SX(4, 4)))

    def velocity_products(self) -> Expression:
        """V (8), the sum over k and m taken inside the trace."""
        V = ca.SX(self.structure.n, 1)
        for j in self.heavy:
            N = self.N(j)
            for i in self.movers(j):
                V[self.at[i]] += trace(N, self.P(j, i))
        return V

    def velocity_products_sensitivities(self) -> tuple[Expression, Expression]:
        """dV/dq, the second term of (11), and dV/dq'."""
        V_q, V_v = (ca.SX(self.structure.n, self.structure.n) for _ in range(2))
        for j in self.heavy:
            N = self.N(j)
            for l in self.movers(j):
                N_l, N_v = self.N(j, l), self.N_v(j, l)
                for i in self.movers(j):
                    V_q[self.at[i], self.at[l]] += trace(N_l, self.P(j, i)) + trace(N, self.P(j, i, l))
                    V_v[self.at[i], self.at[l]] += trace(N_v, self.P(j, i))
        return V_q, V_v

    def pulls(self) -> Expression:
        """The last two terms of (6) with (9) and (10): gravity and forces; moments as in (16)."""
        total = ca.SX(self.structure.n, 1)
        for j, p, r in self._points():
            for i in self.movers(j):
                total[self.at[i]] += p.T @ self.T(j, i) @ r
        for j, moment in self._moments():
            for i in self.movers(j):
                total[self.at[i]] += moment.T @ self._axis(i)
        return total

    def pulls_sensitivity(self) -> Expression:
        """The last two terms of (11)."""
        total = ca.SX(self.structure.n, self.structure.n)
        for j, p, r in self._points():
            for i in self.movers(j):
                for l in self.movers(j):
                    total[self.at[i], self.at[l]] += p.T @ self.T(j, i, l) @ r
        for j, moment in self._moments():
            for i in self.movers(j):
                for l in self.movers(self.structure.parents[i]):
                    total[self.at[i], self.at[l]] += moment.T @ self._axis(i, l)
        return total

    def _points(self) -> list[tuple[int, Expression, Expression]]:
        """(link, force in world axes, where it acts) of every weight and every external force."""
        weights = [
            (j, constant(joint.mass) * direction(self.around.gravity), place(constant(joint.com)))
            for j, joint in enumerate(self.joints)
        ]
        return weights + [(j, direction(load.force), place(constant(load.at))) for j, load in self._loads()]

    def _moments(self) -> list[tuple[int, Expression]]:
        return [(j, direction(load.moment)) for j, load in self._loads()]

    def _loads(self) -> list[tuple[int, AppliedLoad]]:
        return [(j, load) for j, joint in enumerate(self.joints) for load in loads_on(self.around, joint)]

    def _axis(self, i: int, *by: int) -> Expression:
        """A_{i-1} z_0 of (16)."""
        return self.T(self.structure.parents[i], *by) @ axis_in_parent(self.joints[i])
