"""The literature's worked optima, against values computed by independent collocation to 1e-8."""

import numpy as np
import pytest

import kinecast as kc

SPLINE = 5e-4  # relative: what 20 cubic segments cost where torques do not jump
REFINED = 2e-4  # relative: twice the tolerance that refinement is asked for
MILLISECOND = 1e-3


def two_link(**kw):
    kw = {"duration": (0.1, 3.0), "segments": 20, "check_points": 5, "gravity": [0, 0, 0]} | kw
    plan = kc.Prediction(kc.load("planar2"), **kw)
    return plan.start(q=[0, -2]).end(q=[1, -1]).limit(torque=10).minimize(time=1)


def lifting():
    plan = kc.Prediction(kc.load("planar2"), duration=(0.1, 3.0), check_points=5).load_at("tip", force=[0, -10, 0])
    return plan.start(q=[1.32, -2.37]).end(q=[2.80, -2.37]).limit(torque=10).minimize(time=0.99, effort=0.01)


def slider(name):
    plan = kc.Prediction(kc.load(name), duration=(0.1, 3.0), check_points=5)
    return plan.start(q=[0.1, 0.6]).end(q=[np.pi / 4, -np.pi / 4]).limit(torque=10).minimize(time=0.99, effort=0.01)


@pytest.mark.parametrize("solver", ["ipopt", "uno"])
def test_two_link_arm_in_the_least_time(solver):
    motion = two_link().solver(name=solver).solve()
    assert motion.status == "optimal"
    assert motion.duration == pytest.approx(0.3931, abs=2e-4)
    assert motion.at_nodes.amount < 1e-6
    assert motion.between_nodes.amount < 0.005


def test_refined_to_its_switches():
    motion = two_link(refine=1e-4).solve()
    assert motion.status == "optimal"
    assert motion.duration == pytest.approx(0.3918545, rel=REFINED)
    assert motion.between_nodes.amount < 1e-3
    found = [(switch.name, switch.fraction * motion.duration) for switch in motion.switches]
    assert [name for name, _ in found] == ["tau.elbow", "tau.shoulder", "tau.elbow"]
    np.testing.assert_allclose([t for _, t in found], [0.04571, 0.19593, 0.23530], atol=MILLISECOND)
    assert np.abs(motion.torque(np.linspace(0.0, motion.duration, 5001))).max() < 10.0 + 1e-3
    assert motion.check().max_q_error < 1e-6


def test_free_knots_beat_fixed_ones():
    fixed, free = two_link(segments=12).solve(), two_link(segments=12, knots="free").solve()
    assert free.ok
    assert free.duration < fixed.duration - 5e-4
    assert np.ptp(np.diff(free.spline.breaks)) > 1e-3


@pytest.mark.parametrize(
    ("plan", "J", "T"),
    [
        (lifting, 0.8448780, 0.51886),
        (lambda: slider("slider_arm"), 0.8530628, 0.6462597),
        (lambda: slider("slider_arm_no_offset"), 0.7732348, 0.5857839),
    ],
    ids=["lifting", "slider_arm", "slider_arm_no_offset"],
)
def test_time_and_effort(plan, J, T):
    motion = plan().solve()
    assert motion.objective == pytest.approx(J, rel=SPLINE)
    assert motion.duration == pytest.approx(T, rel=2e-3)
    assert motion.check().max_q_error < 1e-6


def test_effort_of_a_point_mass_is_the_cubic():
    """A sliding joint alone, no limits, time given: the least effort is the cubic, J = 12 m^2 d^2 / T^3."""
    arm = kc.load("slider_arm")
    plan = kc.Prediction(arm, duration=1.5, segments=6).start(q=[0, 0]).end(q=[0.5, 0])
    motion = plan.limit(torque=None).require(lambda s: s.joint("turn").q == 0).minimize(effort=0).penalize(
        lambda s: s.joint("slide").tau ** 2
    ).solve()  # fmt: skip
    assert motion.objective == pytest.approx(12 * 1.0**2 * 0.5**2 / 1.5**3, rel=1e-6)


def test_a_slow_swing_is_found_where_it_is_cheaper():
    """Two local optima: the direct motion (J = 1.460) and one that swings back first (J = 1.376)."""
    plan = kc.Prediction(kc.load("planar2"), duration=(0.1, 4.0)).load_at("tip", force=[2, -5, 0])
    plan.start(q=[0.98310778, -0.27240259]).end(q=[1.13188884, -1.68972525])
    motion = plan.limit(torque={"shoulder": 9.58, "elbow": 13.57}).minimize(time=0.95, effort=0.05).solve()
    assert motion.objective < 1.38


def test_a_joint_without_a_drive_swings_along():
    """Equations on a path are asked for on knots: a spline could not meet one more."""
    down = -np.pi / 2
    plan = kc.Prediction(kc.load("planar2"), duration=(0.3, 3.0)).limit(torque={"shoulder": 10, "elbow": 0})
    motion = plan.start(q=[-1.8, down + 1.8]).end(q=[-1.2, down + 1.2]).solve()
    assert motion.status == "optimal"
    np.testing.assert_allclose(motion.torque(motion.spline.breaks[:-1])[:, 1], 0.0, atol=1e-7)
    assert motion.between_nodes.amount < 0.05  # N m


def test_more_equations_than_variables_are_no_motion():
    plan = two_link(segments=6, gravity=[0, -9.8, 0]).limit(torque=0)
    motion = plan.solve()
    assert motion.status == "infeasible"
    assert "beyond its limit of 0 N m" in motion.message


def test_other_guesses_lead_to_the_same_motion():
    reference = two_link().solve()
    for changed in (two_link(guess="coarse"), two_link(guess="quasi-static"), two_link().solver(starts=3)):
        assert changed.solve().duration == pytest.approx(reference.duration, rel=1e-5)
    again = two_link().solve(previous=reference)
    assert again.duration == pytest.approx(reference.duration, rel=1e-5)


def test_a_swing_that_few_starts_lead_to():
    """Most starts end at J = 2.470; the least known, by independent collocation from 16 starts, is 2.28285."""
    plan = kc.Prediction(kc.load("planar2"), duration=(0.1, 5.0), check_points=5)
    plan.start(q=[-1.127, 2.126]).end(q=[2.446, 2.171]).limit(torque={"shoulder": 11.8, "elbow": 12.1})
    assert plan.minimize(time=0.9, effort=0.1).solve().objective == pytest.approx(2.28285, rel=1e-3)


def test_the_objective_is_the_integral_that_it_says():
    """All terms at once, a user's too, against the trapezoidal rule on a dense sample."""
    t, q = np.linspace(0.0, 0.8, 9), np.linspace([0.1, -1.8], [0.9, -1.1], 9)
    weights = {"time": 0.7, "effort": 0.02, "load": 0.003, "jerk": 1e-6, "tracking": 5.0}
    plan = kc.Prediction(kc.load("planar2"), duration=(0.3, 2.0), segments=8).start(q=[0, -2]).end(q=[1, -1])
    plan.limit(torque=None).minimize(**weights).track((t, q)).penalize(lambda s: s.point("tip").velocity[0] ** 2, 0.4)
    motion = plan.solve()
    s = np.linspace(0.0, motion.duration, 20001)
    integrand = np.full(len(s), 0.7)
    integrand += 0.02 * (motion.torque(s) ** 2).sum(axis=1)
    integrand += 0.003 * (motion.joint_loads(s)[:, :, 3:] ** 2).sum(axis=(1, 2))
    integrand += 1e-6 * (motion.spline(s, 3) ** 2).sum(axis=1)
    reference = kc.motion.splined(t, q, at=np.clip(s, 0.0, 0.8)).q
    integrand += 5.0 * ((motion.q(s) - reference) ** 2).sum(axis=1)
    jacobian = motion.mechanism.jacobian("tip", motion.q(s))
    integrand += 0.4 * np.einsum("tj,tj->t", jacobian[:, 3], motion.v(s)) ** 2
    assert motion.objective == pytest.approx(np.trapezoid(integrand, s), rel=1e-4)


def test_a_motion_file_is_a_guess(tmp_path):
    first = two_link(segments=8).solve()
    first.save(tmp_path / "run")
    again = two_link(guess=str(tmp_path / "run" / "motion.csv")).solve()
    assert again.duration == pytest.approx(two_link().solve().duration, rel=1e-6)
    (tmp_path / "wrong.csv").write_text("t,q.shoulder\n0,1\n1,2\n")
    with pytest.raises(kc.InputError, match="q.elbow"):
        two_link(guess=str(tmp_path / "wrong.csv")).solve()


def test_random_starts_are_repeatable_and_never_worse():
    """Of several starts the best is kept; a seed makes the same ones."""

    def hard(**kw):
        plan = kc.Prediction(kc.load("planar2"), duration=(0.1, 4.0), segments=8, gravity=[0, 0, 0], **kw)
        return plan.start(q=[0, -2]).end(q=[2.5, 1]).limit(torque=10).minimize(time=1)

    one, many = hard().solve(), hard(seed=4).solver(starts=5).solve()
    assert many.duration <= one.duration * (1 + 1e-7)
    again = hard(seed=4).solver(starts=5).solve()
    assert [line for line in again.log if "ipopt" in line] == [line for line in many.log if "ipopt" in line]
    other = hard(seed=5).solver(starts=5).solve()
    assert [line for line in other.log if "ipopt" in line] != [line for line in many.log if "ipopt" in line]


def test_tracking_comes_near_its_reference():
    t = np.linspace(0.0, 1.0, 30)
    q = np.stack([np.sin(t), -2.0 + t**2], axis=1)
    plan = kc.Prediction(kc.load("planar2"), duration=1.0, segments=10).track((t, q)).minimize(tracking=1)
    motion = plan.start(q=q[0], v=[1, 0]).end(q=q[-1], v=None).limit(torque=None).solve()
    np.testing.assert_allclose(motion.q(t), q, atol=1e-5)


def test_a_periodic_motion_ends_as_it_began():
    plan = kc.Prediction(kc.load("planar2"), duration=1.0, segments=10).periodic().via(0.5, q=[0.5, 0.3])
    motion = plan.start(q=[-0.5, 0.1], v=None).end(v=None).limit(torque=None).minimize(effort=1).solve()
    for order in range(3):
        np.testing.assert_allclose(*motion.spline([0.0, 1.0], order), atol=1e-7)
    np.testing.assert_allclose(motion.q(0.5), [0.5, 0.3], atol=1e-8)


@pytest.mark.parametrize(("hessian", "plan"), [("gauss-newton", lifting), ("bfgs", two_link)])
def test_other_second_derivatives_find_the_same_optimum(hessian, plan):
    exact, other = plan().solve(), plan().solver(hessian=hessian).solve()
    assert hessian in " ".join(other.log)
    assert other.objective == pytest.approx(exact.objective, rel=1e-5)
