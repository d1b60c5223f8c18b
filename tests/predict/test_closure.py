"""The way back: predicted torques integrated forward, which finds what is wrong with them."""

import numpy as np
import pytest

import kinecast as kc
from kinecast.predict.result import Motion

CLOSED = 1e-6  # rad at the end, at rtol 1e-10


@pytest.fixture
def motion():
    plan = kc.Prediction(kc.load("planar2"), segments=8, duration=(0.1, 3.0))
    return plan.start(q=[0, -2]).end(q=[1, -1]).minimize(time=1, effort=0.01).solve()


def test_the_torques_lead_where_the_motion_says(motion):
    check = motion.check()
    assert check.max_q_error < CLOSED
    assert check.max_v_error < 10 * CLOSED
    np.testing.assert_array_equal(check.t, motion.spline.breaks)
    assert check.q_error.shape == check.v_error.shape == (9, 2)
    assert motion.check(rtol=1e-4, atol=1e-6).evaluations < check.evaluations


def test_a_torque_that_is_a_little_off_is_seen(motion, monkeypatch):
    usual = Motion.torque_in_segment
    monkeypatch.setattr(Motion, "torque_in_segment", lambda *given: usual(*given) + 1e-3)
    assert motion.check().max_q_error > 1e3 * CLOSED


def test_loads_that_change_between_knots():
    plan = kc.Prediction(kc.load("planar2"), segments=10, duration=0.7).start(q=[0, -2]).end(q=[1, -1])
    plan.load_at("tip", t=[0.0, 0.23, 0.31, 0.7], force=[[0, 0, 0], [0, -8, 0], [3, 0, 0], [0, 0, 0]])
    motion = plan.limit(torque=None).minimize(effort=1).solve()
    assert motion.status == "optimal"
    assert motion.check().max_q_error < CLOSED
    middle = motion.mechanism.inverse_dynamics(
        motion.q(0.27), motion.v(0.27), motion.a(0.27), loads=kc.Load("tip", force=[1.5, -4, 0])
    )
    np.testing.assert_allclose(motion.torque(0.27), middle, atol=1e-12)


def test_several_loads_add_up():
    def effort(*forces):
        plan = kc.Prediction(kc.load("planar2"), segments=6, duration=0.8).start(q=[0, -2]).end(q=[1, -1])
        for force in forces:
            plan.load_at("tip", force=force)
        return plan.limit(torque=None).minimize(effort=1).solve().objective

    assert effort([0, -6, 0], [0, -4, 0]) == pytest.approx(effort([0, -10, 0]), rel=1e-9)
    assert effort([0, -10, 0]) > 1.1 * effort()
