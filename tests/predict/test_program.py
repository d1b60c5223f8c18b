"""Derivatives of the program against differences of the program, for everything that can be part of one."""

import numpy as np
import pytest

import kinecast as kc
from kinecast.predict import guess
from kinecast.predict.mesh import Mesh
from kinecast.predict.solve import Workshop
from kinecast.predict.transcribe import transcribe, uniform_mesh

DIFFERENCE = 2e-8  # central differences, step 1e-6, relative to the largest entry


def plan(name="planar2", segments=4, **kw):
    kw = {"duration": (0.3, 3.0), "check_points": 2} | kw
    mechanism = kc.load(name)
    start, end = np.linspace(0.2, -0.5, mechanism.n), np.linspace(0.9, 0.4, mechanism.n)
    return kc.Prediction(mechanism, segments=segments, **kw).start(q=start).end(q=end)


CASES = {
    "time and effort": lambda: plan().limit(torque=10).minimize(time=1, effort=0.01),
    "limits of all kinds": lambda: plan().limit(
        torque=[[-10, 8], [-3, 3]], position=2, velocity=5, load={"elbow": {"fx": 30, "mz": [-1, 2]}}
    ),
    "every objective": lambda: (
        plan().minimize(time=1, effort=0.1, load=0.01, jerk=1e-4, tracking=2)
        .track(([0.0, 0.4, 0.7, 1.1, 2.0], np.random.default_rng(3).normal(size=(5, 2))))
    ),
    "loads in time": lambda: (
        plan().limit(torque=10).minimize(effort=1)
        .load_at("tip", force=[[0, -10, 0], [3, 5, 0]], moment=[0, 0, 1], t=[0.1, 2.5])
        .load_at("elbow", force=[1, 0, 0])
    ),
    "users' terms": lambda: (
        plan().require(lambda s: [s.point("tip").position[1] >= -0.7, s.joint("elbow").tau * s.t <= 9])
        .require(lambda s: s.point("tip").velocity[0] == 0.2, at=0.4)
        .require(lambda s: s.center_of_mass[0] <= 1, at="end")
        .penalize(lambda s: s.load("shoulder").force[0] ** 2 * s.joint("shoulder").v, 0.1)
        .penalize(lambda s: s.point("tip").acceleration[1], 0.1)
        .minimize(time=1)
    ),
    "boundaries": lambda: (
        plan().start(q=[0.1, None], v=[0.3, None], a=[None, 1.0]).end(q=None, v=None).periodic().via(0.3, q=[0.5, None])
        .limit(torque=10)
    ),
    "sliding joint": lambda: plan("slider_arm").limit(torque=10, load={"turn": 20}).minimize(time=1, effort=0.01),
    "free knots": lambda: (
        plan(knots="free").via(0.5, q=[0.5, None]).limit(torque=10).minimize(time=1, effort=0.01, jerk=1e-4)
    ),
}  # fmt: skip


def matrix(pattern, entries, shape):
    dense = np.zeros(shape)
    dense[pattern.rows, pattern.columns] = entries
    return dense


def assert_derivatives(program, x, rng):
    step = 1e-6

    def differences(f):
        return np.stack([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(program.n_x)], axis=-1)

    def jacobian(y):
        return matrix(program.jacobian_pattern, program.jacobian(y), (program.n_rows, program.n_x))

    expected = differences(program.g)
    np.testing.assert_allclose(jacobian(x), expected, atol=DIFFERENCE * max(1.0, np.abs(expected).max()))
    expected = differences(lambda y: np.array(program.f(y)))
    np.testing.assert_allclose(program.gradient(x), expected, atol=DIFFERENCE * max(1.0, np.abs(expected).max()))
    multipliers = rng.normal(size=program.n_rows)
    upper = matrix(program.hessian_pattern, program.lagrangian_hessian(x, 0.7, multipliers), (program.n_x, program.n_x))
    assert np.array_equal(upper, np.triu(upper))
    expected = differences(lambda y: 0.7 * program.gradient(y) + jacobian(y).T @ multipliers)
    tolerance = DIFFERENCE * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(upper + np.triu(upper, 1).T, expected, atol=tolerance)


@pytest.mark.parametrize("case", CASES)
def test_derivatives(case, rng):
    workshop = Workshop.of(CASES[case]().task(), lambda _: None)
    program = workshop.program(uniform_mesh(workshop.task))
    x = guess.line(workshop.task, program, 0.7) + 0.03 * rng.normal(size=program.n_x)
    assert_derivatives(program, x, rng)


def test_derivatives_of_arcs_with_double_knots(rng):
    workshop = Workshop.of(CASES["time and effort"]().task(), lambda _: None)
    program = workshop.program(Mesh((2, 3, 1), 2))
    x = guess.line(workshop.task, program, 0.7) + 0.02 * rng.normal(size=program.n_x)
    assert_derivatives(program, x, rng)


def test_derivatives_of_relaxed_limits(rng):
    workshop = Workshop.of(CASES["limits of all kinds"]().task(), lambda _: None)
    names = ["tau.shoulder", "q.elbow", "load.elbow.mz", "duration"]
    program = transcribe(workshop.task, Mesh((4,)), workshop.terms, "exact", relaxed=names)
    x = np.append(guess.line(workshop.task, program, 0.7)[: program.n_motion], [0.1, 0.2, 0.3, 0.4])
    assert_derivatives(program, x + 0.01 * rng.normal(size=program.n_x), rng)
    slack, size = 0.25, 10.0  # of the torque limit [-10, 8]
    wider = x.copy()
    wider[program.n_motion] += slack
    moved = program.g(wider) - program.g(x)
    _, high = program.row_bounds()
    own = np.flatnonzero(moved)
    np.testing.assert_allclose(moved[own], np.where(np.isfinite(high[own]), -slack * size, slack * size))


def test_gauss_newton_is_exact_where_residuals_vanish(rng):
    """With q on the reference the tracking term has no curvature but that of its squares."""
    t = np.linspace(0.0, 1.0, 9)
    q = np.stack([np.full(9, 0.3), np.full(9, -0.4)], axis=1)
    task = plan(duration=1.0).start(q=q[0]).end(q=q[0]).minimize(tracking=1).track((t, q)).limit(torque=None).task()
    entries = {}
    for hessian in ("exact", "gauss-newton"):
        workshop = Workshop.of(task.replace(hessian=hessian), lambda _: None)
        program = workshop.program(Mesh((4,)))
        x = np.append(np.tile(q[0], program.grid.mesh.n_control), 1.0)
        upper = program.lagrangian_hessian(x, 1.0, np.zeros(program.n_rows))
        entries[hessian] = matrix(program.hessian_pattern, upper, (program.n_x, program.n_x))
    np.testing.assert_allclose(entries["gauss-newton"], entries["exact"], atol=1e-12)


def test_quantities_are_those_of_the_mechanism(rng):
    arm = kc.load("puma560")
    task = plan("puma560").limit(load={"elbow": 200}).task()
    terms = Workshop.of(task, lambda _: None).terms
    z = rng.normal(size=(5, 18))
    _, limited = terms.values.ufunc(z, np.zeros((5, terms.n_data)), np.ones(1))
    tau = arm.inverse_dynamics(z[:, :6], z[:, 6:12], z[:, 12:])
    elbow = [joint.name for joint in arm.joints].index("elbow")
    force = arm.joint_loads(z[:, :6], z[:, 6:12], z[:, 12:])[:, elbow, 3:]
    np.testing.assert_allclose(limited, np.concatenate([tau, force], axis=1), rtol=1e-12, atol=1e-9)
