"""What a prediction computes at a grid point, as compiled kernels: limited quantities, integrand, and derivatives.

The state is z = (q, v, a[, jerk][, t]). Three kernels answer for all grid points in one call each: `values` (integrand
and limited quantities), `first` (their gradients) and `second` (gradient and Hessian of one weighted sum of all).
Gradients of torques and joint loads are the dynamics' own analytic sensitivities, put together with what is made of
them by the chain rule; second derivatives are automatic differentiation of the traced recursion.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kinecast import dynamics
from kinecast.dynamics.spatial.inverse import inverse_dynamics
from kinecast.dynamics.spatial.loads import joint_loads, joint_loads_sensitivities
from kinecast.dynamics.spatial.sensitivities import inverse_dynamics_sensitivities
from kinecast.dynamics.surroundings import AppliedLoad, Expression, Surroundings, constant
from kinecast.dynamics.tree import build, regrouped
from kinecast.engine import Kernel, Port, kernel
from kinecast.engine.kernel import source_fingerprint
from kinecast.errors import InputError
from kinecast.mechanism import Structure
from kinecast.predict.state import State, answer_of, conditions

UserFunction = Callable[[State], Any]
OBJECTIVES = ("time", "effort", "load", "jerk", "tracking")


@dataclass(frozen=True, eq=False)
class Terms:
    """Which quantities there are. `limited_loads` are (index of the joint, index of the component).

    The objective's integrand is the sum of `objectives` and `costs`, each times its own weight. With `timed`, z ends
    with the time, on which applied loads and the reference depend.
    """

    structure: Structure
    loads_at: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    limited_torques: bool = False
    limited_loads: tuple[tuple[int, int], ...] = ()
    requirements: tuple[UserFunction, ...] = ()
    costs: tuple[UserFunction, ...] = ()
    loads_in_time: bool = False

    @property
    def orders(self) -> int:
        """Time derivatives in z: up to the acceleration, with jerk in the objective one more."""
        return 4 if "jerk" in self.objectives else 3

    @property
    def timed(self) -> bool:
        """Whether the time is part of z."""
        return self.loads_in_time or "tracking" in self.objectives or bool(self.requirements or self.costs)

    @property
    def only_time(self) -> bool:
        """Whether the integrand is a constant."""
        return self.objectives == ("time",) and not self.costs

    @property
    def n_z(self) -> int:
        """Entries of z."""
        return self.orders * self.structure.n + self.timed

    @property
    def n_weights(self) -> int:
        """Weights of the integrand, at least one."""
        return max(1, len(self.objectives) + len(self.costs))

    @cached_property
    def data_shapes(self) -> dict[str, tuple[int, ...]]:
        """What a grid point is told beside its state: loads and reference as Taylor polynomials in time."""
        shapes: dict[str, tuple[int, ...]] = {}
        if self.loads_at:
            shapes["loads"] = (2 if self.loads_in_time else 1, len(self.loads_at), 6)
        if "tracking" in self.objectives:
            shapes["reference"] = (3, self.structure.n)
        return shapes

    @property
    def n_data(self) -> int:
        """Numbers that a grid point is told, at least one."""
        return max(1, sum(int(np.prod(shape)) for shape in self.data_shapes.values()))

    # ------------------------------------------------------------------ expressions

    @cached_property
    def _expressions(self) -> _Expressions:
        return _expressions(self)

    @property
    def user_bounds(self) -> list[tuple[float, float]]:
        """(lower, upper) of the conditions of the requirements, which are the last limited quantities."""
        return self._expressions.user_bounds if self.requirements else []

    @cached_property
    def user_counts(self) -> list[int]:
        """How many conditions each requirement makes."""
        return self._expressions.user_counts if self.requirements else []

    @property
    def n_limited(self) -> int:
        """Limited quantities: torques, then load components, then the conditions of users' requirements."""
        own = self.structure.n * self.limited_torques + len(self.limited_loads)
        return own + sum(self.user_counts)

    # ------------------------------------------------------------------ kernels

    @cached_property
    def _key(self) -> str:
        own = source_fingerprint(*_SOURCES)
        words = [self.structure.fingerprint(), own, self.loads_at, self.objectives, self.limited_torques]
        words += [self.limited_loads, self.loads_in_time]
        if self.requirements or self.costs:
            made = self._expressions
            text = ca.Function("user", [made.z, made.data, made.weights, made.tau, made.loads], [made.l, made.c])
            words.append(hashlib.sha256(text.serialize().encode()).hexdigest())
        return repr(words)

    def _kernel(self, name: str, extra: list[Port], outputs: list[Port], trace: Callable[[], ca.Function]) -> Kernel:
        inputs = [Port("z", (self.n_z,)), Port("data", (self.n_data,)), Port("weights", (self.n_weights,)), *extra]
        return kernel(f"path_{name}", key=self._key, inputs=inputs, outputs=outputs, trace=trace)

    @property
    def _rows(self) -> int:
        return max(1, self.n_limited)  # a kernel has no empty outputs: without limits one row of zeros

    @cached_property
    def values(self) -> Kernel:
        """(z, data, weights) -> integrand (), limited quantities (rows,)."""
        outputs = [Port("integrand", ()), Port("limited", (self._rows,))]
        return self._kernel("values", [], outputs, lambda: self._expressions.values())

    @cached_property
    def first(self) -> Kernel:
        """(z, data, weights) -> gradient of the integrand (n_z,), Jacobian of the limited quantities (rows, n_z)."""
        outputs = [Port("gradient", (self.n_z,)), Port("jacobian", (self._rows, self.n_z))]
        return self._kernel("first", [], outputs, lambda: self._expressions.first())

    @cached_property
    def second(self) -> Kernel:
        """(z, data, weights, multipliers, share) -> gradient, Hessian of multipliers . limited + share * integrand."""
        outputs = [Port("gradient", (self.n_z,)), Port("hessian", (self.n_z, self.n_z))]
        extra = [Port("multipliers", (self._rows,)), Port("share", ())]
        return self._kernel("second", extra, outputs, lambda: self._expressions.second())

    @cached_property
    def gauss_newton(self) -> Kernel:
        """Like `second`, with J^T J of the objective's squares in place of the Hessian."""
        outputs = [Port("gradient", (self.n_z,)), Port("hessian", (self.n_z, self.n_z))]
        extra = [Port("multipliers", (self._rows,)), Port("share", ())]
        return self._kernel("gauss_newton", extra, outputs, lambda: self._expressions.gauss_newton())

    def second_operations(self) -> int:
        """Operations of the exact second derivatives, counted before anything is compiled."""
        return int(self._expressions.second().n_nodes())


_SOURCES = (Path(dynamics.__path__[0]), Path(dynamics.__path__[0]) / "spatial", Path(__file__).parent)


@dataclass(frozen=True, eq=False)
class _Expressions:
    """The symbols, the two outer expressions of them, and the torques and loads to be put in."""

    terms: Terms
    z: Expression
    data: Expression
    weights: Expression
    tau: Expression
    loads: Expression
    l: Expression
    c: Expression
    user_bounds: list[tuple[float, float]]
    user_counts: list[int]
    squares: list[tuple[int, Expression]]  # (index of the weight, vector whose square is the term)
    uses_tau: bool
    uses_loads: bool

    def _motion(self) -> tuple[Expression, Expression, Expression]:
        n = self.terms.structure.n
        return self.z[:n], self.z[n : 2 * n], self.z[2 * n : 3 * n]

    def _inner(self, sensitivities: bool) -> tuple[Expression, Expression, Expression, Expression]:
        """Torques, loads, and their derivatives by z (empty when not asked for)."""
        n, n_z = self.terms.structure.n, self.terms.n_z
        q, v, a = self._motion()
        around = _surroundings(self.terms, self.z, self.data)
        structure = self.terms.structure
        tau, d_tau = ca.SX(n, 1), ca.SX(n, n_z)
        loads, d_loads = ca.SX(self.loads.numel(), 1), ca.SX(self.loads.numel(), n_z)
        if self.uses_tau:
            tree = regrouped(build(structure))
            tau = inverse_dynamics(tree, q, v, a, around)
            if sensitivities:
                d_tau = self._by_z(tau, inverse_dynamics_sensitivities(tree, q, v, a, around)[1:])
        if self.uses_loads:
            tree = build(structure, keep_fixed=True)
            loads = joint_loads(tree, q, v, a, around)
            if sensitivities:
                d_loads = self._by_z(loads, joint_loads_sensitivities(tree, q, v, a, around)[1:])
        return tau, loads, d_tau, d_loads

    def _by_z(self, quantity: Expression, by_motion: tuple[Expression, ...]) -> Expression:
        """Derivatives by all of z: by q, v and a as given, by the time through the applied loads."""
        rest = ca.jacobian(quantity, self.z[3 * self.terms.structure.n :]) if self.terms.loads_in_time else None
        width = self.terms.n_z - 3 * self.terms.structure.n
        return ca.horzcat(*by_motion, ca.SX(quantity.numel(), width) if rest is None else rest)

    def _put_in(self, expressions: list[Expression], tau: Expression, loads: Expression) -> list[Expression]:
        return list(ca.substitute(expressions, [self.tau, self.loads], [ca.densify(tau), ca.densify(loads)]))

    def values(self) -> ca.Function:
        tau, loads, _, _ = self._inner(sensitivities=False)
        return ca.Function("values", [self.z, self.data, self.weights], self._put_in([self.l, self.c], tau, loads))

    def _jacobians(self, quantities: list[Expression]) -> list[Expression]:
        """Derivatives by z: what is made of torques and loads by the chain rule, theirs analytic."""
        tau, loads, d_tau, d_loads = self._inner(sensitivities=True)
        found = []
        for quantity in quantities:
            outer = [ca.jacobian(quantity, x) for x in (self.z, self.tau, self.loads)]
            by_z, by_tau, by_loads = self._put_in(outer, tau, loads)
            found.append(by_z + by_tau @ d_tau + by_loads @ d_loads)
        return found

    def first(self) -> ca.Function:
        flat = [_some(ca.reshape(jacobian.T, -1, 1)) for jacobian in self._jacobians([self.l, self.c])]
        return ca.Function("first", [self.z, self.data, self.weights], flat)

    def gauss_newton(self) -> ca.Function:
        by_l, by_c, *by_squares = self._jacobians([self.l, self.c, *(vector for _, vector in self.squares)])
        multipliers, share = ca.SX.sym("multipliers", self.c.numel()), ca.SX.sym("share")
        hessian = ca.SX(self.terms.n_z, self.terms.n_z)
        for (k, _), by_z in zip(self.squares, by_squares, strict=True):
            hessian += (2.0 * share * self.weights[k]) * (by_z.T @ by_z)
        gradient = share * by_l.T + by_c.T @ multipliers
        inputs = [self.z, self.data, self.weights, multipliers, share]
        return ca.Function("gauss_newton", inputs, [_some(gradient), _some(ca.reshape(hessian, -1, 1))])

    def second(self) -> ca.Function:
        tau, loads, _, _ = self._inner(sensitivities=False)
        multipliers, share = ca.SX.sym("multipliers", self.c.numel()), ca.SX.sym("share")
        (total,) = self._put_in([share * self.l + ca.dot(multipliers, self.c)], tau, loads)
        hessian, gradient = ca.hessian(total, self.z)
        inputs = [self.z, self.data, self.weights, multipliers, share]
        return ca.Function("second", inputs, [_some(gradient), _some(ca.reshape(hessian, -1, 1))])


def _some(x: Expression) -> Expression:
    """The same with zeros that are entries, if it would have no entries at all: a kernel has no empty outputs."""
    return x if x.nnz() else ca.densify(x)


def _expressions(terms: Terms) -> _Expressions:
    structure, n = terms.structure, terms.structure.n
    z, data = ca.SX.sym("z", terms.n_z), ca.SX.sym("data", terms.n_data)
    weights = ca.SX.sym("weights", terms.n_weights)
    tau, loads = ca.SX.sym("tau", n), ca.SX.sym("loads", 6 * len(structure.joints))
    time = z[-1] if terms.timed else ca.SX(0.0)
    state = State(structure, z[:n], z[n : 2 * n], z[2 * n : 3 * n], time, tau, loads)
    squared: dict[str, Callable[[], Expression]] = {
        "effort": lambda: tau,
        "load": lambda: ca.vertcat(*(loads[6 * k + 3 : 6 * k + 6] for k in range(len(structure.joints)))),
        "jerk": lambda: z[3 * n : 4 * n],
        "tracking": lambda: z[:n] - _reference(terms, data, time),
    }
    squares = [(k, squared[name]()) for k, name in enumerate(terms.objectives) if name != "time"]
    vectors = dict(squares)
    summands = [ca.sumsqr(vectors[k]) if k in vectors else ca.SX(1.0) for k in range(len(terms.objectives))]
    for cost in terms.costs:
        value = answer_of(cost, state, "a term of the objective")
        if not isinstance(value, ca.SX) or value.numel() != 1:
            raise InputError(f"a term of the objective must return one number made of the state, got {value!r}")
        summands.append(value)
    l = sum((weights[k] * term for k, term in enumerate(summands)), ca.SX(0.0))
    limited = [tau] if terms.limited_torques else []
    limited += [loads[6 * joint + component] for joint, component in terms.limited_loads]
    bounds, counts = [], []
    for k, requirement in enumerate(terms.requirements):
        where = f"requirement {k + 1}"
        found = conditions(answer_of(requirement, state, where), where)
        limited += [expression for expression, _, _ in found]
        bounds += [(low, high) for _, low, high in found]
        counts.append(len(found))
    c = ca.vertcat(*limited) if limited else ca.SX(1, 1)
    needs = [ca.depends_on(ca.vertcat(l, c), x) for x in (tau, loads)]
    return _Expressions(terms, z, data, weights, tau, loads, l, c, bounds, counts, squares, *needs)


def _reference(terms: Terms, data: Expression, time: Expression) -> Expression:
    """The reference position at z's own time: a Taylor polynomial about the grid point's time."""
    n = terms.structure.n
    r = data[terms.n_data - 3 * n :]
    return r[:n] + time * (r[n : 2 * n] + 0.5 * time * r[2 * n :])


def _surroundings(terms: Terms, z: Expression, data: Expression) -> Surroundings:
    applied = []
    for k, name in enumerate(terms.loads_at):
        wrench = data[6 * k : 6 * k + 6]
        if terms.loads_in_time:
            slope = data[6 * (len(terms.loads_at) + k) :][:6]
            wrench = wrench + z[-1] * slope
        point = terms.structure.point(name)
        applied.append(AppliedLoad(point.joint, point.at, wrench[3:], wrench[:3]))
    return Surroundings(constant(terms.structure.gravity), ca.SX(6, 1), ca.SX(6, 1), tuple(applied))
