"""Other ends, limits, loads and weights on the same arms, refined, against optima found independently.

The references are from Radau collocation of order 5 on 500 elements with closed-form dynamics written for the purpose,
the best of several starts; where torques switch they are good to 2e-5.
"""

import numpy as np
import pytest

import kinecast as kc

REFINED = 2e-4  # relative: twice the tolerance that refinement is asked for
SPLINE = 5e-4  # relative: 20 segments where torques do not jump
BEYOND = 1e-3  # of a limit, at any time
FLAT = [0, 0, 0]


def arm(name="planar2", **kw):
    return kc.Prediction(kc.load(name), **({"duration": (0.1, 3.0), "check_points": 5, "refine": 1e-4} | kw))


def reach(**kw):
    return arm(gravity=FLAT, **kw).start(q=[0, -2]).end(q=[1, -1]).minimize(time=1)


def lift(**kw):
    return arm(**kw).load_at("tip", force=[0, -10, 0]).start(q=[1.32, -2.37]).end(q=[2.8, -2.37])


def slide(name="slider_arm", **kw):
    return arm(name, **kw).start(q=[0.1, 0.6]).end(q=[np.pi / 4, -np.pi / 4]).minimize(time=0.99, effort=0.01)


CASES = {
    "a weak elbow": (lambda: reach().limit(torque={"shoulder": 10, "elbow": 5}), 0.4356924),
    "limited velocity": (lambda: reach().limit(torque=10, velocity=4), 0.4194090),
    "uneven torque limits": (
        lambda: lift().limit(torque={"shoulder": [-5, 10], "elbow": 8}).minimize(time=0.99, effort=0.01),
        0.8971631,
    ),
    "above a line": (
        lambda: (
            arm(gravity=FLAT).start(q=[0, -1]).end(q=[1, -1.5]).limit(torque=10).minimize(time=1)
            .require(lambda s: s.point("tip").position[1] >= -0.36, name="above -0.36 m")
        ),
        0.3115503,
    ),
    "sliding fast": (
        lambda: arm("slider_arm_no_offset").start(q=0).end(q=1).limit(torque={"slide": 10, "turn": 3}).minimize(time=1),
        0.6585316,
    ),
    "sliding, weak": (lambda: slide().limit(torque={"slide": 5, "turn": 1}), 0.9128433),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_refined_motions_come_near_the_true_optimum(case):
    plan, best = CASES[case]
    motion = plan().solve()
    assert motion.status == "optimal"
    assert motion.objective == pytest.approx(best, rel=REFINED)
    assert motion.between_nodes.relative < BEYOND
    assert motion.check().max_q_error < 1e-6


@pytest.mark.parametrize(
    ("plan", "best"),
    [
        (lambda **kw: lift(**kw).limit(torque=10).minimize(time=0.9, effort=0.1), 1.9855848),
        (
            lambda **kw: (
                arm(**kw).start(q=[-1.57, 0]).end(q=[1.57, 0]).limit(torque=10).minimize(time=0.99, effort=0.01)
            ),
            1.0881513,
        ),
    ],
    ids=["slow lift", "swing up"],
)
@pytest.mark.parametrize("solver", ["ipopt", "uno"])
def test_smooth_motions_need_no_refinement(plan, best, solver):
    motion = plan(refine=None).solver(name=solver).solve()
    assert motion.status == "optimal"
    assert motion.objective == pytest.approx(best, rel=SPLINE)


def test_what_is_asked_for_on_the_way_stays_where_it_is():
    motion = reach(refine=1e-3).limit(torque=10).via(0.4, q=[0.5, None]).solve()
    assert motion.status == "optimal"
    assert motion.q(0.4 * motion.duration)[0] == pytest.approx(0.5, abs=1e-7)
    assert len(motion.spline.breaks) - 1 > 20


def test_with_jerk_in_the_objective_accelerations_stay_continuous():
    plan = reach(refine=1e-3).limit(torque=10).minimize(time=1, jerk=1e-9)
    motion = plan.solve()
    assert motion.ok
    inner = motion.spline.knots[4:-4]
    assert len(np.unique(inner)) == len(inner)


def test_a_tolerance_that_is_not_reached_is_said():
    motion = reach(refine=1e-9, segments=2).limit(torque=10).solver(max_iterations=60).solve()
    assert motion.status == "acceptable"
    assert "not to the accuracy asked for" in motion.message
