"""A prediction put together in Python: what is misspelt or misunderstood is refused in words."""

import math

import numpy as np
import pytest

import kinecast as kc

BETWEEN = 0.05  # rad/s, rad: between the checks of five segments only


def plan(**kw):
    kw = {"duration": (0.1, 3.0), "segments": 5, "gravity": [0, 0, 0]} | kw
    return kc.Prediction(kc.load("planar2"), **kw).start(q=[0, -2]).end(q=[1, -1]).limit(torque=10).minimize(time=1)


BAD = {
    "a name in place of a mechanism": (lambda: kc.Prediction("planar2", duration=1), "mechanism must be one"),
    "setting": (lambda: plan(segmens=3).solve(), "segmens: unknown key 'segmens'; did you mean 'segments'"),
    "three durations": (lambda: plan(duration=(1, 2, 3)).solve(), "duration: must be a number of seconds"),
    "term": (lambda: plan().minimize(timee=1).solve(), "did you mean 'time'"),
    "limit": (lambda: plan().limit(torqe=1).solve(), "limits.torqe: unknown key"),
    "state": (lambda: plan().start(p=1).solve(), "start.p: unknown key"),
    "place": (lambda: plan().require(lambda s: s.q[0] <= 1, at="strt"), '"start", "end", a fraction'),
    "point": (lambda: plan().require(lambda s: s.point("tp").position[0] <= 1).solve(), "did you mean 'tip'"),
    "joint": (lambda: plan().require(lambda s: s.joint("elbo").q <= 1).solve(), "did you mean 'elbow'"),
    "joined": (lambda: plan().require(lambda s: s.q[0] <= 1 and s.q[1] <= 1).solve(), "comparisons go in a list"),
    "chained": (lambda: plan().require(lambda s: 0 <= s.q[0] <= 1).solve(), "comparisons go in a list"),
    "if": (lambda: plan().penalize(lambda s: 1 if s.q[0] > 0 else 2).solve(), "a term of the objective asks whether"),
    "math": (lambda: plan().require(lambda s: math.sin(s.q[0]) <= 1).solve(), "must return comparisons"),
    "no comparison": (lambda: plan().require(lambda s: s.q[0] - 1).solve(), "got the expression"),
    "unequal": (lambda: plan().require(lambda s: s.q[0] != 1).solve(), "must return comparisons"),
    "nothing": (lambda: plan().require(lambda s: None).solve(), "must return comparisons"),
    "vector": (lambda: plan().penalize(lambda s: s.q).solve(), "must return one number made of the state"),
    "weight": (lambda: plan().penalize(lambda s: s.q[0], math.nan), "weight must be a finite number"),
    "load": (lambda: plan().load_at("tip", force=5).solve(), "force: must be three numbers"),
    "via": (lambda: plan().via(1.2, q=0).solve(), "at: must be a fraction of the duration"),
    "reference": (lambda: plan().track(([0, 1], [[0, 1]])), "positions (N, 2), got shapes"),
    "unused reference": (lambda: plan().track(([0, 1], [[0, 1], [1, 1]])).solve(), "give minimize.tracking a weight"),
    "solver": (lambda: plan().solver(nam="uno").solve(), "did you mean 'name'"),
}


@pytest.mark.parametrize("case", BAD)
def test_is_refused_in_one_line(case):
    call, words = BAD[case]
    with pytest.raises(kc.InputError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_errors_of_a_users_function_are_its_own():
    with pytest.raises(RuntimeError, match="mine"):
        plan().require(_failing).solve()


def _failing(_state):
    raise RuntimeError("mine")


def test_numpys_functions_and_whole_vectors_may_be_used():
    motion = plan().require(lambda s: [np.sin(s.q[0]) >= -0.01, s.v <= 7, s.q[0] > -0.02]).solve()
    t = np.linspace(0.0, motion.duration, 200)
    assert motion.ok
    assert plan().solve().v(t).max() > 8
    assert motion.v(t).max() <= 7 + BETWEEN
    assert np.sin(motion.q(t)[:, 0]).min() >= -0.01 - BETWEEN


def test_numpys_numbers_and_arrays_are_numbers():
    given = plan(duration=(np.float64(0.1), np.float64(3)), segments=np.int64(5)).start(q=np.array([0.0, -2.0]))
    assert given.solve().duration == plan().solve().duration
    assert given.problem()["duration"] == {"min": 0.1, "max": 3.0}
