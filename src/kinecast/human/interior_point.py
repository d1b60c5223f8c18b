"""A primal-dual interior-point method for problems with few variables, many dense inequality rows and no equalities.

    minimise f(x)   subject to   lower <= x <= upper,   low <= c(x) <= high

Rows get slacks s = c(x); logarithmic barriers keep x and s inside their bounds. Each step solves the primal-dual equations,
condensed to the variables,

    (H + Sx + d 1 + J' Ss J) dx = -(grad_x L) - J' (Ss (c - s) + r_s),

by a dense Cholesky factorisation; d > 0 is raised until there is one (then the step is a descent direction). The line
search is a filter on the violation |c - s|_1 and the barrier function, with second-order corrections; the barrier parameter follows the
predicted complementarity of the affine step while that works, and falls monotonically when it does not (Waechter and
Biegler, Math. Prog. 106 (2006); Nocedal, Waechter and Waltz, SIAM J. Optim. 19 (2009)).

General solvers keep the rows in a sparse factorisation; with 150 variables and 1,300 dense rows condensing is ten times as fast.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kinecast.mechanism.checks import Array


class Problem(Protocol):
    """What the method asks of a problem; every row needs at least one finite bound."""

    lower: Array
    upper: Array
    low: Array
    high: Array

    def values(self, x: Array) -> tuple[float, Array]:
        """(f, c)."""

    def derivatives(self, x: Array, multipliers: Array, objective: float) -> tuple[Array, Array, Array]:
        """(gradient of f (n,), Jacobian of c transposed (n, m), Hessian of objective f + multipliers . c (n, n))."""


@dataclass(frozen=True)
class Settings:
    """Tolerances and limits of the method."""

    feasibility: float = 1e-6  # largest violation of a row
    optimality: float = 1e-4  # scaled dual residual and complementarity
    max_iterations: int = 400
    max_seconds: float = np.inf
    start_barrier: float = 0.1
    push: float = 1e-2  # how far inside its bounds the start is moved, as a fraction of their distance


@dataclass
class Outcome:
    """Where the method ended."""

    status: str  # optimal, iteration_limit, time_limit, stalled
    x: Array
    multipliers: Array
    objective: float
    violation: float
    optimality: float
    iterations: int
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class _Point:
    x: Array
    f: float
    c: Array
    s: Array

    def violation(self) -> float:
        return float(np.abs(self.c - self.s).sum())


class InteriorPoint:
    """One run of the method; `solve` is the way in."""

    def __init__(self, problem: Problem, settings: Settings, report: Callable[[int, float, float, float], None] | None) -> None:
        self.problem, self.settings, self.report = problem, settings, report
        self.n = len(problem.lower)
        self.low = np.concatenate([problem.lower, problem.low])
        self.high = np.concatenate([problem.upper, problem.high])
        # A little room: bounds that leave none (a fixed value) or are met exactly have no interior otherwise.
        room = 1e-8 * np.maximum(1.0, np.abs(np.concatenate([self.low, self.high]))).reshape(2, -1)
        self.low, self.high = self.low - np.where(np.isfinite(self.low), room[0], 0), self.high + np.where(np.isfinite(self.high), room[1], 0)
        self.has_low, self.has_high = np.isfinite(self.low), np.isfinite(self.high)
        self.seconds = {"functions": 0.0, "derivatives": 0.0, "linear algebra": 0.0}
        self.last_shift = 0.0

    # ---------------------------------------------------------------- pieces

    def inside(self, w: Array, part: slice, push: float) -> Array:
        """`w` moved at least a fraction of the distance of its bounds (or of 1) inside them."""
        low, high = self.low[part], self.high[part]
        with np.errstate(invalid="ignore"):
            width = np.where(np.isfinite(high - low), high - low, np.inf)
        near = np.minimum(push * np.maximum(1.0, np.where(np.isfinite(low), np.abs(low), 0)), push * width)
        far = np.minimum(push * np.maximum(1.0, np.where(np.isfinite(high), np.abs(high), 0)), push * width)
        return np.minimum(np.maximum(w, low + near), high - far)

    def gaps(self, w: Array) -> tuple[Array, Array]:
        """Distances to the lower and upper bounds (1 where there is none)."""
        return np.where(self.has_low, w - self.low, 1.0), np.where(self.has_high, self.high - w, 1.0)

    def barrier(self, point: _Point, mu: float) -> float:
        """The barrier function at a point inside the bounds."""
        below, above = self.gaps(np.concatenate([point.x, point.s]))
        return point.f - mu * float(np.log(below).sum() + np.log(above).sum())

    def at(self, x: Array, s: Array) -> _Point:
        """A point with its values."""
        start = time.perf_counter()
        f, c = self.problem.values(x)
        self.seconds["functions"] += time.perf_counter() - start
        return _Point(x, f, c, s)

    def factor(self, matrix: Array) -> Array:
        """Cholesky factor of matrix + d 1 with the smallest d of a growing sequence that allows one."""
        shift, diagonal = 0.0, np.diag_indices(self.n)
        plain = matrix[diagonal].copy()
        while True:
            try:
                factor = np.linalg.cholesky(matrix)
                break
            except np.linalg.LinAlgError:
                if shift == 0.0:
                    shift = max(1e-8, self.last_shift / 3) if self.last_shift else 1e-4
                else:
                    shift *= 8 if self.last_shift else 100
                if shift > 1e20:
                    raise
                matrix[diagonal] = plain + shift
        if shift:
            self.last_shift = shift
        return factor

    # ---------------------------------------------------------------- the loop

    def run(self, start: Array) -> Outcome:
        """Iterate from a start."""
        began = time.perf_counter()
        set_, xs, ss = self.settings, slice(0, self.n), slice(self.n, None)
        x = self.inside(np.asarray(start, dtype=float), xs, set_.push)
        point = self.at(x, x[:0])
        point.s = self.inside(point.c, ss, set_.push)
        z_low, z_high = self.has_low.astype(float), self.has_high.astype(float)
        y = np.zeros(len(point.c))
        mu, free, errors = set_.start_barrier, True, [np.inf]
        filter_: list[tuple[float, float]] = []
        violation_limit = 1e4 * max(1.0, point.violation())
        status, iteration, error = "iteration_limit", 0, np.inf
        stalls = 0
        for iteration in range(set_.max_iterations + 1):
            start_d = time.perf_counter()
            gradient, jacobian_t, hessian = self.problem.derivatives(point.x, y, 1.0)
            self.seconds["derivatives"] += time.perf_counter() - start_d
            w = np.concatenate([point.x, point.s])
            below, above = self.gaps(w)
            dual = np.concatenate([gradient + jacobian_t @ y, -y]) - z_low + z_high
            size = (np.abs(y).sum() + z_low.sum() + z_high.sum()) / (len(y) + 2 * len(w))
            scale = max(1.0, size / 100)
            products = np.concatenate([(z_low * below)[self.has_low], (z_high * above)[self.has_high]])
            residual = float(np.abs(point.c - point.s).max(initial=0.0))
            bounds_error = float(np.maximum(self.low[ss] - point.c, point.c - self.high[ss]).max(initial=0.0))
            error = max(float(np.abs(dual).max()) / scale, float(products.max(initial=0.0)) / scale)
            if self.report:
                self.report(iteration, point.f, max(residual, bounds_error), error)
            if error <= set_.optimality and max(residual, bounds_error) <= set_.feasibility:
                status = "optimal"
                break
            if iteration == set_.max_iterations:
                break
            if time.perf_counter() - began > set_.max_seconds:
                status = "time_limit"
                break
            start_l = time.perf_counter()
            weight = z_low / below + z_high / above
            weighted = jacobian_t * weight[ss]
            matrix = hessian + weighted @ jacobian_t.T
            matrix[np.diag_indices(self.n)] += weight[xs]
            factor = self.factor(matrix)

            def step(mu: float, c: Array, affine: tuple[Array, Array] | None = None) -> tuple[Array, Array, Array, Array]:
                target_low, target_high = (mu / below, mu / above) if affine is None else (affine[0], affine[1])
                rw = np.concatenate([gradient + jacobian_t @ y, -y]) - np.where(self.has_low, target_low, 0) + np.where(self.has_high, target_high, 0)
                rc = c - point.s
                dx = -_solve(factor, rw[xs] + jacobian_t @ (weight[ss] * rc + rw[ss]))
                ds = jacobian_t.T @ dx + rc
                dy = weight[ss] * ds + rw[ss]
                dw = np.concatenate([dx, ds])
                dz_low = np.where(self.has_low, target_low - z_low - z_low / below * dw, 0.0)
                dz_high = np.where(self.has_high, target_high - z_high + z_high / above * dw, 0.0)
                return dw, dy, dz_low, dz_high

            # ---- barrier parameter
            average = float(products.mean()) if len(products) else 0.0
            new_mu = mu
            total_error = max(error, residual)
            if free:
                if total_error > 0.9999 * max(errors[-4:]) and len(errors) > 4:
                    free = False
                    new_mu = max(0.8 * average, 1e-9)
                    stalls += 1
                else:
                    dw, _, dl, dh = step(0.0, point.c)
                    ap, ad = _longest(dw, below, above, self.has_low, self.has_high, 1.0), _dual_longest(z_low, dl, z_high, dh, 1.0)
                    after = np.concatenate([((z_low + ad * dl) * (below + ap * dw))[self.has_low], ((z_high + ad * dh) * (above - ap * dw))[self.has_high]])
                    sigma = min(1.0, max(1e-6, (float(after.mean()) / average) ** 3)) if average > 0 else 1e-6
                    new_mu = max(sigma * average, set_.optimality / 20)
            else:
                barrier_error = max(float(np.abs(dual).max()) / scale, float(np.abs(products - mu).max(initial=0.0)) / scale, residual)
                if total_error < 0.9 * min(errors[-4:]):
                    free = True
                elif barrier_error < 10 * mu:
                    new_mu = max(set_.optimality / 20, min(0.2 * mu, mu**1.5))
            errors.append(total_error)
            if new_mu != mu:
                filter_.clear()
            mu = new_mu
            dw, dy, dz_low, dz_high = step(mu, point.c)
            self.seconds["linear algebra"] += time.perf_counter() - start_l
            tau = max(0.99, 1 - mu)
            longest = _longest(dw, below, above, self.has_low, self.has_high, tau)
            # ---- line search
            theta, phi = point.violation(), self.barrier(point, mu)
            slope = float(gradient @ dw[xs]) - mu * float((dw / below)[self.has_low].sum()) + mu * float((dw / above)[self.has_high].sum())
            if not filter_:
                filter_.append((violation_limit, -np.inf))
            small_theta = 1e-4 * max(1.0, violation_limit / 1e4)
            alpha, accepted, tried_correction = longest, None, False
            while alpha > 1e-10 * longest and alpha > 1e-12:
                trial = self.at(point.x + alpha * dw[xs], point.s + alpha * dw[ss])
                if np.isfinite(trial.f) and np.all(np.isfinite(trial.c)):
                    accepted = self._accept(trial, theta, phi, slope, alpha, mu, filter_, small_theta)
                    if accepted is None and not tried_correction and trial.violation() >= theta:
                        tried_correction = True
                        # the slack equation's residual at the full step, added to the right-hand side
                        c_soc, theta_old = alpha * (point.c - point.s) + (trial.c - trial.s), theta
                        for _ in range(4):
                            dsoc, dysoc, dlsoc, dhsoc = step(mu, c_soc + point.s)
                            a = _longest(dsoc, below, above, self.has_low, self.has_high, tau)
                            better = self.at(point.x + a * dsoc[xs], point.s + a * dsoc[ss])
                            accepted = self._accept(better, theta, phi, slope, alpha, mu, filter_, small_theta)
                            if accepted is not None:
                                dy, dz_low, dz_high, trial = dysoc, dlsoc, dhsoc, better
                                break
                            if better.violation() > 0.99 * theta_old:
                                break
                            theta_old = better.violation()
                            c_soc = a * c_soc + (better.c - better.s)
                    if accepted is not None:
                        break
                alpha *= 0.5
            if accepted is None:
                stalls += 1
                if stalls > 12:
                    status = "stalled"
                    break
                # Slacks back to where the rows are: cancels the violation as far as bounds allow, without moving x.
                s = self.inside(point.c, ss, min(1e-2, mu))
                point = _Point(point.x, point.f, point.c, s)
                filter_.clear()
                free, mu = False, min(max(10 * mu, 1e-3), 0.1)
                below, above = self.gaps(np.concatenate([point.x, point.s]))
                z_low, z_high = _safe(z_low, mu, below, self.has_low), _safe(z_high, mu, above, self.has_high)
                continue
            if not accepted:  # not an Armijo step on the barrier function: the filter grows
                filter_.append(((1 - 1e-5) * theta, phi - 1e-5 * theta))
            ad = _dual_longest(z_low, dz_low, z_high, dz_high, tau)
            y = y + alpha * dy
            z_low, z_high = z_low + ad * dz_low, z_high + ad * dz_high
            point = trial
            below, above = self.gaps(np.concatenate([point.x, point.s]))
            z_low, z_high = _safe(z_low, mu, below, self.has_low), _safe(z_high, mu, above, self.has_high)
        violation = float(np.maximum(self.problem.low - point.c, point.c - self.problem.high).max(initial=0.0))
        self.seconds["total"] = time.perf_counter() - began
        return Outcome(status, point.x, y, point.f, violation, error, iteration, dict(self.seconds))

    def _accept(self, trial: _Point, theta: float, phi: float, slope: float, alpha: float, mu: float,
                filter_: list[tuple[float, float]], small: float) -> bool | None:  # fmt: skip
        """None: refused; True: taken for the barrier function; False: taken for the filter."""
        theta_trial, phi_trial = trial.violation(), self.barrier(trial, mu)
        slack = 10 * np.finfo(float).eps * abs(phi)
        if any(theta_trial >= t and phi_trial - slack >= p for t, p in filter_) or theta_trial >= filter_[0][0]:
            return None
        switching = slope < 0 and alpha * (-slope) ** 2.3 > theta**1.1
        if switching and theta <= small:
            return True if phi_trial - slack <= phi + 1e-8 * alpha * slope else None
        if theta_trial <= (1 - 1e-5) * theta or phi_trial - slack <= phi - 1e-8 * theta:
            return False
        return None


def _solve(factor: Array, right: Array) -> Array:
    """Solve L L' x = right."""
    return np.linalg.solve(factor.T, np.linalg.solve(factor, right))


def _longest(dw: Array, below: Array, above: Array, has_low: Array, has_high: Array, tau: float) -> float:
    """Longest step up to 1 that keeps a fraction 1 - tau of the distance to every bound."""
    with np.errstate(divide="ignore"):
        down = np.where(has_low & (dw < 0), -tau * below / np.where(dw < 0, dw, -1.0), np.inf)
        up = np.where(has_high & (dw > 0), tau * above / np.where(dw > 0, dw, 1.0), np.inf)
    return float(min(1.0, down.min(initial=np.inf), up.min(initial=np.inf)))


def _dual_longest(z_low: Array, dz_low: Array, z_high: Array, dz_high: Array, tau: float) -> float:
    z, dz = np.concatenate([z_low, z_high]), np.concatenate([dz_low, dz_high])
    falling = dz < 0
    return float(min(1.0, (-tau * z[falling] / dz[falling]).min(initial=np.inf)))


def _safe(z: Array, mu: float, gap: Array, has: Array) -> Array:
    """Multipliers kept within a large factor of mu / gap."""
    return np.where(has, np.clip(z, mu / gap / 1e10, mu / gap * 1e10), 0.0)


def solve(
    problem: Problem,
    start: Array,
    settings: Settings | None = None,
    report: Callable[[int, float, float, float], None] | None = None,
) -> Outcome:
    """Minimise from a start. `report(iteration, objective, violation, optimality)` is called at every iterate."""
    return InteriorPoint(problem, settings or Settings(), report).run(start)
