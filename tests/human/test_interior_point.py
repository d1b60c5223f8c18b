"""The dense interior-point method: textbook problems with published optima, IPOPT as referee, hard cases."""

from dataclasses import dataclass, replace

import casadi
import numpy as np
import pytest

from kinecast.human.interior_point import Settings, solve

# Bounds are given a little room, 1e-8 of their size: no row can be held closer than that.
TIGHT = Settings(feasibility=1e-7, optimality=1e-8, max_iterations=100)
# What that room and a barrier at 1e-9 leave in an objective and, where it is flat, in its place.
OBJECTIVE, POINT = 1e-6, 1e-4
INF = np.inf


class Traced:
    """A problem from CasADi expressions: their derivatives are exact, and IPOPT can be asked about the same one."""

    def __init__(self, n, build, *, low, high, lower=-INF, upper=INF):
        x = casadi.MX.sym("x", n)
        f, c = build(x)
        c = casadi.vertcat(*c)
        m, s = casadi.MX.sym("m", c.numel()), casadi.MX.sym("s")
        lagrangian = s * f + casadi.dot(m, c)
        self._values = casadi.Function("values", [x], [f, c])
        self._derivatives = casadi.Function(
            "derivatives", [x, m, s], [casadi.gradient(f, x), casadi.jacobian(c, x).T, casadi.hessian(lagrangian, x)[0]]
        )
        self.nlp = {"x": x, "f": f, "g": c}
        self.lower, self.upper = (np.broadcast_to(np.asarray(b, float), n).copy() for b in (lower, upper))
        self.low, self.high = (np.broadcast_to(np.asarray(b, float), c.numel()).copy() for b in (low, high))

    def values(self, x):
        f, c = self._values(x)
        return float(f), np.asarray(c).ravel()

    def derivatives(self, x, multipliers, objective):
        gradient, jacobian_t, hessian = (np.asarray(d.full()) for d in self._derivatives(x, multipliers, objective))
        return gradient.ravel(), jacobian_t, hessian

    def ipopt(self, start):
        quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "ipopt.tol": 1e-10}
        solver = casadi.nlpsol("referee", "ipopt", self.nlp, quiet)
        found = solver(x0=start, lbx=self.lower, ubx=self.upper, lbg=self.low, ubg=self.high)
        assert solver.stats()["success"]
        return float(found["f"]), found["x"].full().ravel()


@dataclass(frozen=True)
class Textbook:
    """A problem of Hock and Schittkowski's collection (1981) without equalities, and its optimum there."""

    number: int
    problem: Traced
    start: tuple[float, ...]
    optimum: float


def textbook():
    cases = [
        (10, 2, lambda x: (x[0] - x[1], [-3 * x[0] ** 2 + 2 * x[0] * x[1] - x[1] ** 2 + 1]), {}, (-10, 10), -1.0),
        (
            12, 2,
            lambda x: (
                0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1], [25 - 4 * x[0] ** 2 - x[1] ** 2]
            ),
            {}, (0, 0), -30.0,
        ),
        (
            24, 2,
            lambda x: (
                ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * np.sqrt(3)),
                [x[0] / np.sqrt(3) - x[1], x[0] + np.sqrt(3) * x[1], 6 - x[0] - np.sqrt(3) * x[1]],
            ),
            {"lower": 0}, (1, 0.5), -1.0,
        ),
        (29, 3, lambda x: (-x[0] * x[1] * x[2], [48 - x[0] ** 2 - 2 * x[1] ** 2 - 4 * x[2] ** 2]), {}, (1, 1, 1),
         -16 * np.sqrt(2)),
        (
            35, 3,
            lambda x: (
                9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
                + 2 * x[0] * x[1] + 2 * x[0] * x[2],
                [3 - x[0] - x[1] - 2 * x[2]],
            ),
            {"lower": 0}, (0.5, 0.5, 0.5), 1 / 9,
        ),
        (
            43, 4,
            lambda x: (
                x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
                [
                    8 - casadi.sumsqr(x) - x[0] + x[1] - x[2] + x[3],
                    10 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - 2 * x[3] ** 2 + x[0] + x[3],
                    5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3],
                ],
            ),
            {}, (0, 0, 0, 0), -44.0,
        ),
        (
            65, 3,
            lambda x: ((x[0] - x[1]) ** 2 + ((x[0] + x[1] - 10) / 3) ** 2 + (x[2] - 5) ** 2, [48 - casadi.sumsqr(x)]),
            {"lower": (-4.5, -4.5, -5), "upper": (4.5, 4.5, 5)}, (-5, 5, 0), 0.9535288567,
        ),
        (
            100, 7,
            lambda x: (
                (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
                + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6],
                [
                    127 - 2 * x[0] ** 2 - 3 * x[1] ** 4 - x[2] - 4 * x[3] ** 2 - 5 * x[4],
                    282 - 7 * x[0] - 3 * x[1] - 10 * x[2] ** 2 - x[3] + x[4],
                    196 - 23 * x[0] - x[1] ** 2 - 6 * x[5] ** 2 + 8 * x[6],
                    -4 * x[0] ** 2 - x[1] ** 2 + 3 * x[0] * x[1] - 2 * x[2] ** 2 - 5 * x[5] + 11 * x[6],
                ],
            ),
            {}, (1, 2, 0, 4, 0, 1, 1), 680.6300573,
        ),
    ]  # fmt: skip
    return [Textbook(k, Traced(n, f, low=0, high=INF, **more), start, best) for k, n, f, more, start, best in cases]


@pytest.mark.parametrize("case", textbook(), ids=lambda case: f"HS{case.number}")
def test_published_optima_are_found(case):
    found = solve(case.problem, np.array(case.start, float), TIGHT)
    assert found.status == "optimal"
    assert found.violation <= TIGHT.feasibility
    assert found.objective == pytest.approx(case.optimum, rel=OBJECTIVE, abs=OBJECTIVE)


def quadratic_program(seed, n=30, rows=80):
    """Strictly convex, with bounds, rows bounded on one side and on both, and a point inside all of them."""
    random = np.random.default_rng(seed)
    root, pull, matrix = random.normal(size=(n, n)), random.normal(size=n) * 10, random.normal(size=(rows, n))
    inside = matrix @ random.uniform(-0.5, 0.5, n)
    low, high = inside - random.uniform(0.01, 2, rows), inside + random.uniform(0.01, 2, rows)
    low[: rows // 4], high[rows // 2 :] = -INF, INF

    def build(x):
        return 0.5 * casadi.sumsqr(root.T @ x) + casadi.dot(pull, x), [matrix @ x]

    return Traced(n, build, low=low, high=high, lower=-1, upper=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("curvature", [True, False])
def test_convex_programs_end_where_ipopt_ends(seed, curvature):
    problem = quadratic_program(seed)
    found = solve(problem, np.zeros(30), replace(TIGHT, curvature=curvature))
    objective, x = problem.ipopt(np.zeros(30))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(objective, rel=OBJECTIVE)
    np.testing.assert_allclose(found.x, x, atol=POINT)
    assert found.active >= 10  # else the program tests nothing


def test_multipliers_balance_the_gradient():
    problem = quadratic_program(7)
    found = solve(problem, np.zeros(30), TIGHT)
    gradient, jacobian_t, _ = problem.derivatives(found.x, np.zeros(80), 1.0)
    left = gradient + jacobian_t @ found.multipliers
    free = (found.x > -1 + POINT) & (found.x < 1 - POINT)
    assert np.abs(left[free]).max() <= POINT
    assert left[found.x < -1 + 1e-7].min(initial=0.0) >= -POINT  # bounds push inward
    assert left[found.x > 1 - 1e-7].max(initial=0.0) <= POINT


def test_a_curved_valley_with_bounds():
    """Rosenbrock's function in ten variables from the usual bad start; a bound cuts off the optimum at (1, ..., 1)."""
    def build(x):
        return casadi.sumsqr(10 * (x[1:] - x[:-1] ** 2)) + casadi.sumsqr(1 - x[:-1]), [casadi.sum1(x)]

    problem = Traced(10, build, low=-INF, high=9.0, lower=-2, upper=2)
    start = np.tile([-1.2, 1.0], 5)
    found = solve(problem, start, TIGHT)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(problem.ipopt(start)[0], rel=OBJECTIVE)


def test_full_steps_are_taken_where_the_rows_curve():
    """Maratos' problem: without second-order corrections every step is cut short."""
    def build(x):
        return 2 * (casadi.sumsqr(x) - 1) - x[0], [casadi.sumsqr(x)]

    problem = Traced(2, build, low=1 - 1e-9, high=1 + 1e-9)
    found = solve(problem, np.array([np.cos(1.5), np.sin(1.5)]), TIGHT)
    assert found.status == "optimal"
    np.testing.assert_allclose(found.x, [1, 0], atol=POINT)
    assert found.iterations <= 60


def test_a_fixed_variable_stays_where_it_is():
    bounds = {"lower": (1, -INF), "upper": (1, 9)}
    problem = Traced(2, lambda x: (casadi.sumsqr(x - 3), [x[0] + x[1]]), low=-INF, high=4, **bounds)
    found = solve(problem, np.array([5.0, 0.0]), TIGHT)
    assert found.status == "optimal"
    np.testing.assert_allclose(found.x, [1, 3], atol=POINT)


def test_where_functions_are_not_defined_steps_are_cut_short():
    def build(x):
        return x[0] - 2 * casadi.log(x[0]) + x[1] ** 2, [x[0] * x[0]]

    problem = Traced(2, build, low=-INF, high=100)
    found = solve(problem, np.array([1e-3, 0.5]), TIGHT)
    assert found.status == "optimal"
    np.testing.assert_allclose(found.x, [2, 0], atol=POINT)


@pytest.mark.parametrize("start", [(0.0, 0.0), (3.0, -2.0), (50.0, 50.0)])
def test_rows_that_contradict_each_other_are_never_called_optimal(start):
    problem = Traced(2, lambda x: (casadi.sumsqr(x), [casadi.sumsqr(x), x[0] + x[1]]), low=(-INF, 4), high=(1, INF))
    found = solve(problem, np.array(start), replace(TIGHT, max_iterations=200))
    assert found.status in ("stalled", "iteration_limit")
    # On the diagonal, where x1 = x2 = t, both are equally far from holding when 2 t t - 1 = 4 - 2 t.
    assert found.violation >= 5 - np.sqrt(11) - 1e-6
    assert np.all(np.isfinite(found.x))


def test_the_first_feasible_point_is_enough_when_asked():
    case = next(case for case in textbook() if case.number == 10)
    found = solve(case.problem, np.array(case.start, float), replace(TIGHT, feasible_is_enough=True))
    best = solve(case.problem, np.array(case.start, float), TIGHT)
    assert found.status == "optimal"
    assert found.violation <= TIGHT.feasibility
    assert found.iterations < best.iterations


def test_limits_and_ctrl_c_end_the_method_with_what_it_has():
    case = next(case for case in textbook() if case.number == 100)
    start, seen = np.array(case.start, float), []

    def interrupt(iteration, objective, violation, optimality):
        seen.append((iteration, objective, violation, optimality))
        if iteration == 5:
            raise KeyboardInterrupt

    assert solve(case.problem, start, replace(TIGHT, max_iterations=3)).iterations == 3
    assert solve(case.problem, start, replace(TIGHT, max_iterations=3)).status == "iteration_limit"
    assert solve(case.problem, start, replace(TIGHT, max_seconds=0.0)).status == "time_limit"
    found = solve(case.problem, start, TIGHT, interrupt)
    assert found.status == "interrupted"
    assert [entry[0] for entry in seen] == list(range(6))
    assert found.objective == seen[-1][1]
