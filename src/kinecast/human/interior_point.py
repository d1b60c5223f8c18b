"""A primal-dual interior-point method for problems with few variables, many dense inequality rows and no equalities.

    minimise f(x)   subject to   lower <= x <= upper,   low <= c(x) <= high

Rows get slacks s = c(x); logarithmic barriers keep w = (x, s) inside its bounds. Each step solves the primal-dual
equations, condensed to the variables,

    (H + W_x + d 1 + J' W_s J) dx = -(r_x + J' (W_s (c - s) + r_s)),       W = z_low / (w - low) + z_high / (high - w),

by a dense Cholesky factorisation; d is raised from 0 until there is one (then the step is a descent direction). The
line search is a filter on the violation |c - s|_1 and the barrier function, with second-order corrections (Waechter
and Biegler, Math. Prog. 106, 2006). The barrier parameter follows the complementarity that the affine step predicts
(Mehrotra), but falls by half at the most, and not at all while bounds cut steps short: otherwise the iterates crawl
along the boundary.

General solvers keep the rows in a sparse factorisation; with 200 variables and 1,300 dense rows condensing is ten
times as fast.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from kinecast.human.one_thread import one_thread
from kinecast.mechanism.checks import Array

Status = Literal["optimal", "iteration_limit", "time_limit", "interrupted", "stalled"]
Report = Callable[[int, float, float, float], None]

PUSH = 1e-2  # how far inside its bounds the start is moved, as a fraction of their distance
FALL = 0.5  # the barrier parameter keeps at least this share from one iteration to the next
SHORT_STEP = 0.5  # and stays where it is after a step that bounds cut shorter than this
CORRECTIONS = 4  # second-order corrections of one step
STALLS = 12  # failed line searches until the method gives up
CRAWL, CRAWLS = 0.01, 6  # or so many steps in a row shorter than that
_EPS = float(np.finfo(float).eps)
_LEAST_GAP = 1e-14  # to a bound: what rounding leaves is never 0 or beyond


class Problem(Protocol):
    """What the method asks of a problem; every row needs at least one finite bound."""

    lower: Array
    upper: Array
    low: Array
    high: Array

    def values(self, x: Array) -> tuple[float, Array]:
        """(f, c)."""

    def derivatives(self, x: Array, multipliers: Array, objective: float) -> tuple[Array, Array, Array]:
        """(gradient of f (n,), Jacobian of c transposed (n, m), Hessian of objective f + multipliers . c (n, n)).

        The matrices may be overwritten by the next call.
        """


@dataclass(frozen=True)
class Settings:
    """Tolerances and limits of the method."""

    feasibility: float = 1e-6  # largest violation of a row
    optimality: float = 1e-4  # scaled dual residual and complementarity
    max_iterations: int = 400
    max_seconds: float = np.inf
    start_barrier: float = 0.1
    push: float = PUSH
    fall: float = FALL
    feasible_is_enough: bool = False
    curvature: bool = (
        True  # of the rows; without it (Gauss-Newton) steps are slower but do not follow large multipliers astray
    )


@dataclass(frozen=True)
class Outcome:
    """Where the method ended; `active` counts rows and bounds whose multiplier exceeds the distance that is left."""

    status: Status
    x: Array
    multipliers: Array
    objective: float
    violation: float
    optimality: float
    iterations: int
    active: int
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Point:
    """An iterate and its values; `below` and `above`: distances of w = (x, s) to its bounds (1 where there is none)."""

    x: Array
    s: Array
    f: float
    c: Array
    below: Array
    above: Array

    @property
    def violation(self) -> float:
        return float(np.abs(self.c - self.s).sum())


@dataclass(frozen=True)
class _Step:
    dw: Array
    dy: Array
    dz_low: Array
    dz_high: Array


@dataclass
class _State:
    """What changes from iteration to iteration."""

    point: _Point
    y: Array  # multipliers of c(x) = s
    z_low: Array  # and of the bounds of w
    z_high: Array
    mu: float  # barrier parameter
    room: float = 1.0  # how far bounds let the last step go
    stalls: int = 0
    crawls: int = 0
    iteration: int = 0
    error: float = np.inf


class _Method:
    def __init__(self, problem: Problem, settings: Settings, report: Report | None) -> None:
        self.problem, self.settings, self.report = problem, settings, report
        self.n = len(problem.lower)
        self.of_x, self.of_s = slice(0, self.n), slice(self.n, None)
        low, high = np.concatenate([problem.lower, problem.low]), np.concatenate([problem.upper, problem.high])
        # A little room: bounds that leave none (a fixed value) have no interior otherwise.
        self.has_low, self.has_high = np.isfinite(low), np.isfinite(high)
        self.low = np.where(self.has_low, low - 1e-8 * np.maximum(1.0, np.abs(low)), low)
        self.high = np.where(self.has_high, high + 1e-8 * np.maximum(1.0, np.abs(high)), high)
        self.seconds = {"functions": 0.0, "derivatives": 0.0, "linear algebra": 0.0}
        # Used again at every iterate: fresh memory costs more than the product.
        self.scaled, self.matrix = np.empty((self.n, len(problem.low))), np.empty((self.n, self.n))
        self.shift = 0.0  # the last d that a factorisation needed
        self.filter: list[tuple[float, float]] = []
        self.largest = np.inf  # violation that the filter never takes

    # ---------------------------------------------------------------- points

    def inside(self, w: Array, part: slice, push: float) -> Array:
        """`w` at least a fraction of the distance of its bounds (or of 1) inside them."""
        low, high = self.low[part], self.high[part]
        width = push * np.where(self.has_low[part] & self.has_high[part], high - low, np.inf)
        near = np.minimum(push * np.maximum(1.0, np.where(self.has_low[part], np.abs(low), 0)), width)
        far = np.minimum(push * np.maximum(1.0, np.where(self.has_high[part], np.abs(high), 0)), width)
        return np.minimum(np.maximum(w, low + near), high - far)

    def point(self, x: Array, s: Array | None) -> _Point:
        """A point with its values; without s, the slacks are where the rows are, moved inside their bounds."""
        start = time.perf_counter()
        f, c = self.problem.values(x)
        self.seconds["functions"] += time.perf_counter() - start
        return self.placed(x, self.inside(c, self.of_s, self.settings.push) if s is None else s, f, c)

    def placed(self, x: Array, s: Array, f: float, c: Array) -> _Point:
        w = np.concatenate([x, s])
        below, above = (
            np.where(has, np.maximum(gap, _LEAST_GAP), 1.0)
            for has, gap in ((self.has_low, w - self.low), (self.has_high, self.high - w))
        )
        return _Point(x, s, f, c, below, above)

    def barrier(self, point: _Point, mu: float) -> float:
        """The barrier function; the distances must be positive."""
        return point.f - mu * float(np.log(point.below).sum() + np.log(point.above).sum())

    def outside(self, c: Array) -> float:
        """Largest violation of the rows as they were given."""
        return float(np.maximum(self.problem.low - c, c - self.problem.high).max(initial=0.0))

    # ---------------------------------------------------------------- steps

    def factor(self, matrix: Array) -> Array:
        """Inverse of the Cholesky factor of matrix + d 1 with the smallest d of a growing sequence that allows one."""
        shift, diagonal = 0.0, np.diag_indices(self.n)
        plain = matrix[diagonal].copy()
        while True:
            try:
                factor = np.linalg.cholesky(matrix)
                break
            except np.linalg.LinAlgError:
                if shift == 0.0:
                    shift = max(1e-8, self.shift / 3) if self.shift else 1e-4
                else:
                    shift *= 8 if self.shift else 100
                if not shift < 1e30:
                    raise
                matrix[diagonal] = plain + shift
        if shift:
            self.shift = shift
        return _inverse_lower(np.asarray(factor))

    def longest(self, dw: Array, point: _Point, tau: float) -> float:
        """Longest step up to 1 that keeps a share 1 - tau of the distance to every bound."""
        down, up = self.has_low & (dw < 0), self.has_high & (dw > 0)
        room = (tau * point.below[down] / -dw[down]).min(initial=np.inf)
        return float(min(1.0, room, (tau * point.above[up] / dw[up]).min(initial=np.inf)))

    def run(self, start: Array) -> Outcome:
        """Iterate from a start; Ctrl-C ends the method where it is."""
        began = time.perf_counter()
        point = self.point(self.inside(np.asarray(start, dtype=float), self.of_x, self.settings.push), None)
        self.largest = 1e4 * max(1.0, point.violation)
        rows, z_low, z_high = len(point.c), self.has_low.astype(float), self.has_high.astype(float)
        state = _State(point, np.zeros(rows), z_low, z_high, self.settings.start_barrier)
        try:
            status = self.iterate(state, began)
        except KeyboardInterrupt:
            status = "interrupted"
        point = state.point
        held = self.has_low & (state.z_low > point.below) | self.has_high & (state.z_high > point.above)
        seconds = self.seconds | {"total": time.perf_counter() - began}
        return Outcome(
            status,
            point.x,
            state.y,
            point.f,
            self.outside(point.c),
            state.error,
            state.iteration,
            int(held.sum()),
            seconds,
        )

    def iterate(self, state: _State, began: float) -> Status:
        """Steps until the tolerances or a limit are met."""
        settings = self.settings
        while True:
            point = state.point
            start_time = time.perf_counter()
            seen = state.y if settings.curvature else np.zeros_like(state.y)
            gradient, jacobian_t, hessian = self.problem.derivatives(point.x, seen, 1.0)
            now = time.perf_counter()
            self.seconds["derivatives"] += now - start_time
            lagrangian = np.concatenate([gradient + jacobian_t @ state.y, -state.y])
            residual = self.errors(state, lagrangian)
            if self.report:
                self.report(state.iteration, point.f, residual, state.error)
            good_enough = settings.feasible_is_enough or state.error <= settings.optimality
            if residual <= settings.feasibility and good_enough:
                return "optimal"
            if state.iteration == settings.max_iterations:
                return "iteration_limit"
            if state.stalls > STALLS or state.crawls >= CRAWLS:
                return "stalled"
            if now - began > settings.max_seconds:
                return "time_limit"
            self.advance(state, gradient, lagrangian, jacobian_t, hessian)
            state.iteration += 1

    def errors(self, state: _State, lagrangian: Array) -> float:
        """Largest residual of the rows; the scaled dual residual and complementarity go to the state."""
        point, y = state.point, state.y
        size = (np.abs(y).sum() + state.z_low.sum() + state.z_high.sum()) / (len(y) + 2 * len(lagrangian))
        dual = float(np.abs(lagrangian - state.z_low + state.z_high).max())
        state.error = max(dual, float(self.products(state).max(initial=0.0))) / max(1.0, size / 100)
        return max(float(np.abs(point.c - point.s).max(initial=0.0)), self.outside(point.c))

    def products(self, state: _State) -> Array:
        """Multipliers times distances, of all bounds that there are."""
        point = state.point
        low, high = (state.z_low * point.below)[self.has_low], (state.z_high * point.above)[self.has_high]
        return np.concatenate([low, high])

    def advance(self, state: _State, gradient: Array, lagrangian: Array, jacobian_t: Array, hessian: Array) -> None:
        """One step, found by the line search; when there is none, the slacks go back to where the rows are."""
        start_time, point, z_low, z_high = time.perf_counter(), state.point, state.z_low, state.z_high
        weight = z_low / point.below + z_high / point.above
        scaled = np.multiply(jacobian_t, np.sqrt(weight[self.of_s]), out=self.scaled)
        matrix = np.matmul(scaled, scaled.T, out=self.matrix)
        matrix += hessian
        matrix[np.diag_indices(self.n)] += weight[self.of_x]
        factor = self.factor(matrix)

        def step(mu: float, residual: Array) -> _Step:
            """The primal-dual step for a barrier parameter and a residual of the slack equation."""
            target_low, target_high = self.has_low * mu / point.below, self.has_high * mu / point.above
            r = lagrangian - target_low + target_high
            right = r[self.of_x] + jacobian_t @ (weight[self.of_s] * residual + r[self.of_s])
            dx = -(factor.T @ (factor @ right))
            ds = dx @ jacobian_t + residual
            dw = np.concatenate([dx, ds])
            dz_low = np.where(self.has_low, target_low - z_low - z_low / point.below * dw, 0.0)
            dz_high = np.where(self.has_high, target_high - z_high + z_high / point.above * dw, 0.0)
            return _Step(dw, weight[self.of_s] * ds + r[self.of_s], dz_low, dz_high)

        before = state.mu
        mu = self.next_barrier(step(0.0, point.c - point.s), state)
        taken = step(mu, point.c - point.s)
        self.seconds["linear algebra"] += time.perf_counter() - start_time
        if mu != before or not self.filter:
            self.filter = [(self.largest, -np.inf)]
        state.mu, state.room = mu, self.longest(taken.dw, point, max(0.99, 1 - mu))
        found = self.search(point, taken, step, gradient, mu)
        if found is None:
            # Cancels the violation as far as bounds allow, without moving x.
            state.stalls += 1
            s = self.inside(point.c, self.of_s, min(1e-2, mu))
            state.point = self.placed(point.x, s, point.f, point.c)
            self.filter, state.mu, state.room = [], min(max(10 * mu, 1e-3), 0.1), 1.0
        else:
            state.point, taken, alpha = found
            state.crawls = state.crawls + 1 if alpha < CRAWL else 0
            state.y = state.y + alpha * taken.dy
            along = _longest_dual(z_low, z_high, taken, max(0.99, 1 - mu))
            z_low, z_high = z_low + along * taken.dz_low, z_high + along * taken.dz_high
        state.z_low = _kept(z_low, state.mu, state.point.below, self.has_low)
        state.z_high = _kept(z_high, state.mu, state.point.above, self.has_high)

    def next_barrier(self, affine: _Step, state: _State) -> float:
        """The barrier parameter, from the complementarity after the affine step and from how far the last step went."""
        point, products = state.point, self.products(state)
        average = float(products.mean()) if len(products) else 0.0
        primal = self.longest(affine.dw, point, 1.0)
        dual = _longest_dual(state.z_low, state.z_high, affine, 1.0)
        below = (state.z_low + dual * affine.dz_low) * (point.below + primal * affine.dw)
        above = (state.z_high + dual * affine.dz_high) * (point.above - primal * affine.dw)
        after = np.concatenate([below[self.has_low], above[self.has_high]])
        centring = (float(after.mean()) / average) ** 3 if average > 0 else 0.0
        keep = 1.0 if state.room < SHORT_STEP else self.settings.fall
        wanted = min(1.0, max(1e-6, centring)) * average
        return float(min(1.0, max(wanted, self.settings.optimality / 20, keep * state.mu)))

    # ---------------------------------------------------------------- line search

    def search(
        self, point: _Point, taken: _Step, step: Callable[[float, Array], _Step], gradient: Array, mu: float
    ) -> tuple[_Point, _Step, float] | None:
        """The next point, the step that leads there and its length; None when no length is acceptable."""
        tau = max(0.99, 1 - mu)
        dw = taken.dw
        slope = float(gradient @ dw[self.of_x]) - mu * float((dw / point.below)[self.has_low].sum())
        slope += mu * float((dw / point.above)[self.has_high].sum())
        alpha = longest = self.longest(dw, point, tau)
        corrected = False
        while alpha > 1e-10 * longest and alpha > 1e-12:
            trial = self.point(point.x + alpha * dw[self.of_x], point.s + alpha * dw[self.of_s])
            if np.isfinite(trial.f) and np.all(np.isfinite(trial.c)):
                if self.accepts(trial, point, slope, alpha, mu):
                    return trial, taken, alpha
                if not corrected and trial.violation >= point.violation:
                    corrected = True
                    found = self.correct(point, trial, step, slope, alpha, mu)
                    if found is not None:
                        return *found, alpha
            alpha *= 0.5
        return None

    def correct(
        self, point: _Point, trial: _Point, step: Callable[[float, Array], _Step], slope: float, alpha: float, mu: float
    ) -> tuple[_Point, _Step] | None:
        """Second-order corrections: the rows' curvature, seen at the trial point, enters the right-hand side."""
        residual, before = alpha * (point.c - point.s) + (trial.c - trial.s), point.violation
        for _ in range(CORRECTIONS):
            better_step = step(mu, residual)
            a = self.longest(better_step.dw, point, max(0.99, 1 - mu))
            better = self.point(point.x + a * better_step.dw[self.of_x], point.s + a * better_step.dw[self.of_s])
            if not (np.isfinite(better.f) and np.all(np.isfinite(better.c))):
                return None
            if self.accepts(better, point, slope, alpha, mu):
                return better, better_step
            if better.violation > 0.99 * before:
                return None
            before, residual = better.violation, a * residual + (better.c - better.s)
        return None

    def accepts(self, trial: _Point, point: _Point, slope: float, alpha: float, mu: float) -> bool:
        """Whether the filter takes a trial point; one taken for its violation is added to the filter."""
        theta, phi = point.violation, self.barrier(point, mu)
        theta_trial, phi_trial = trial.violation, self.barrier(trial, mu) - 10 * _EPS * abs(phi)
        if any(theta_trial >= t and phi_trial >= p for t, p in self.filter) or theta_trial >= self.filter[0][0]:
            return False
        enough_violation = 1e-4 * max(1.0, self.filter[0][0] / 1e4)
        if slope < 0 and alpha * (-slope) ** 2.3 > theta**1.1 and theta <= enough_violation:
            return phi_trial <= phi + 1e-8 * alpha * slope
        if theta_trial <= (1 - 1e-5) * theta or phi_trial <= phi - 1e-8 * theta:
            self.filter.append(((1 - 1e-5) * theta, phi - 1e-5 * theta))
            return True
        return False


def _inverse_lower(factor: Array) -> Array:
    """Inverse of a lower triangular matrix, by halves: NumPy has no triangular solve, and products are fast."""
    n = len(factor)
    if n <= 48:
        return np.asarray(np.linalg.inv(factor))
    half = n // 2
    inverse = np.zeros_like(factor)
    inverse[:half, :half] = _inverse_lower(factor[:half, :half])
    inverse[half:, half:] = _inverse_lower(factor[half:, half:])
    inverse[half:, :half] = -inverse[half:, half:] @ (factor[half:, :half] @ inverse[:half, :half])
    return inverse


def _longest_dual(z_low: Array, z_high: Array, taken: _Step, tau: float) -> float:
    """Longest step up to 1 that keeps a share 1 - tau of every multiplier."""
    z, dz = np.concatenate([z_low, z_high]), np.concatenate([taken.dz_low, taken.dz_high])
    falling = dz < 0
    return min(1.0, float((-tau * z[falling] / dz[falling]).min(initial=np.inf)))


def _kept(z: Array, mu: float, gap: Array, has: Array) -> Array:
    """Multipliers kept within a large factor of mu / gap."""
    return np.where(has, np.clip(z, mu / gap / 1e10, mu / gap * 1e10), 0.0)


def solve(problem: Problem, start: Array, settings: Settings | None = None, report: Report | None = None) -> Outcome:
    """Minimise from a start. `report(iteration, objective, violation, optimality)` is called at every iterate."""
    with one_thread():
        return _Method(problem, settings or Settings(), report).run(start)
