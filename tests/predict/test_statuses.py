"""Every status, what it says, what it lets be done; interruptions; the limits that stand in the way."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import kinecast as kc
from kinecast.predict.solvers import STATUSES


def plan(**kw):
    kw = {"duration": (0.1, 3.0), "segments": 10, "gravity": [0, 0, 0]} | kw
    return kc.Prediction(kc.load("planar2"), **kw).start(q=[0, -2]).end(q=[1, -1]).limit(torque=10).minimize(time=1)


def interrupted_at(iteration, **kw):
    def report(number, _objective, _violation):
        if number == iteration:
            signal.raise_signal(signal.SIGINT)

    return plan(**kw).solve(report=report)


def not_a_number():
    return plan().require(lambda s: (s.q[0] - 2.0) ** 0.5 <= 2, name="root").solve()


CASES = {
    "optimal": lambda: plan().solve(),
    "acceptable": lambda: plan(segments=2, refine=1e-14).solve(),
    "infeasible": lambda: plan(duration=(0.1, 0.3)).solve(),
    "iteration_limit": lambda: plan().solver(max_iterations=3).solve(),
    "time_limit": lambda: plan(segments=100).solver(time_limit=1e-3).solve(),
    "interrupted": lambda: interrupted_at(3),
    "failed": not_a_number,
}


def test_there_are_no_others():
    assert set(CASES) == set(STATUSES)


@pytest.mark.parametrize("status", CASES)
def test_status(status, tmp_path):
    motion = CASES[status]()
    assert motion.status == status
    assert motion.message
    assert "\n" not in motion.message
    assert motion.ok == (status in ("optimal", "acceptable"))
    folder = motion.save(tmp_path / "run")
    assert (folder / "report.html").exists()
    assert (folder / "motion.csv").exists() == motion.ok
    if motion.ok:
        assert np.isfinite(motion.q(0.1)).all()
        return
    with pytest.raises(kc.SealedError, match=status):
        motion.q(0.1)
    assert motion.acknowledge().q(0.1).shape == (2,)


def test_the_time_limit_is_for_everything_together():
    start = time.process_time()
    motion = plan(segments=60, refine=1e-13, gravity=[0, -9.8, 0]).solver(time_limit=0.3, starts=500).solve()
    assert motion.status == "time_limit"
    assert time.process_time() - start < 30.0  # without the limit: minutes
    assert "Stopped at the time limit of 0.3 s" in motion.message


@pytest.mark.parametrize("where", [{}, {"refine": 1e-13}, {"knots": "free"}, {"gravity": [0, -9.8, 0]}])
def test_an_interruption_ends_everything_and_keeps_the_best(where):
    """Also in the middle of a refinement, of moving knots, of trying starts."""
    begun = []

    def report(number, _objective, _violation):
        if number == 2:
            begun.append(number)
            if len(begun) == (1 if where == {} else 2):
                signal.raise_signal(signal.SIGINT)

    motion = plan(**where).solve(report=report)
    assert motion.status == "interrupted"
    assert motion.message.startswith("Interrupted after")
    if where and "gravity" not in where:
        assert motion.unsealed.duration == pytest.approx(0.4, abs=0.02)  # of the solve before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_interruption_is_the_usual_one():
    def report(number, _objective, _violation):
        if number in (2, 3):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        plan().solve(report=report)


def test_ctrl_c_on_the_command_line_leaves_the_best_so_far(tmp_path):
    (tmp_path / "long.yaml").write_text(
        "mechanism: planar2\nsegments: 200\ncheck_points: 8\nduration: {min: 0.1, max: 3}\nstart: {q: [0, -2]}\n"
        "end: {q: [1, -1]}\nminimize: {time: 1, effort: 0.01}\nsolver: {starts: 100000}\n"
    )
    command = [sys.executable, "-m", "kinecast", "predict", "long.yaml", "-o", "run"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as run:
        for line in run.stderr:
            if "start 3 of" in line:  # two whole solves are behind it
                run.send_signal(signal.SIGINT)
                break
        out, _ = run.communicate()
    assert run.returncode == 1
    assert out.startswith("interrupted: Interrupted after")
    assert "all limits hold" in out or "beyond" in out
    assert (tmp_path / "run" / "result.json").exists()


def test_what_stands_in_the_way_is_named_with_what_would_help():
    message = plan(duration=(0.1, 0.3)).solve().message
    assert message.startswith("No motion was found that keeps all limits: ")
    assert "duration" in message
    assert "A motion becomes possible if the duration may be at most" in message
    assert "in place of 0.3 s" in message
    allowed = float(message.split("at most ")[1].split(" s")[0])
    assert plan(duration=(0.1, allowed * 1.001)).solve().ok
    assert not plan(duration=(0.1, allowed * 0.98)).solve().ok


def test_torque_limits_that_cannot_hold_the_arm():
    """At the start it is to be still, which takes 2.5 N m in the shoulder."""
    heavy = plan(gravity=[0, -9.8062, 0]).start(q=[0, -2], a=0).limit(torque={"shoulder": 1, "elbow": 10})
    motion = heavy.solve()
    assert motion.status == "infeasible"
    assert "tau.shoulder" in motion.message
    assert "N m" in motion.message
    assert " at t = " in motion.message
    assert "the torque limit of shoulder goes from 1 to" in motion.message
    worst = motion.excesses[0]
    assert worst.group.name == "tau.shoulder"
    relative = [excess.relative for excess in motion.excesses]
    assert relative == sorted(relative, reverse=True)


def test_a_condition_of_the_user_is_named():
    motion = plan().require(lambda s: s.point("tip").position[1] >= 0.1, name="tip above 0.1 m").solve()
    assert motion.status == "infeasible"
    assert "tip above 0.1 m is missed by 0.46" in motion.message
    assert "at t = 0 s" in motion.message


def test_two_limits_that_must_both_give_way():
    """Either alone leaves the other in the way."""
    both = plan(duration=1.0).via(0.5, q=[0.5, -1.5]).limit(position=None, torque=None)
    both = both.require(lambda s: s.q[0] <= 0.9, name="first").require(lambda s: s.q[1] <= -1.1, name="second")
    message = both.solve().message
    way = message.split("A motion becomes possible if ")[1]
    assert "first gives way by 0.1" in way
    assert " and " in way
    assert "second gives way by 0.1" in way
    assert " or " not in way


@pytest.mark.parametrize("solver", ["ipopt", "uno"])
def test_what_is_not_a_number_at_the_start_is_named(solver, capfd):
    motion = plan().require(lambda s: (s.q[0] - 2.0) ** 0.5 <= 2, name="root").solver(name=solver).solve()
    assert motion.status == "failed"
    assert motion.message == (
        "The solver gave up (not a number at the start); in the best motion so far root is not a number at t = 0 s."
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("status", "changed"),
    [
        ("infeasible", lambda: plan(duration=(0.1, 0.3))),
        ("iteration_limit", lambda: plan().solver(max_iterations=3)),
        ("time_limit", lambda: plan(segments=60).solver(time_limit=1e-3)),
    ],
)
def test_uno_ends_with_the_same_words(status, changed, capfd):
    motion = changed().solver(name="uno").solve()
    assert motion.status == status
    with pytest.raises(kc.SealedError):
        motion.torque(0.1)
    assert capfd.readouterr() == ("", "")


def test_what_is_impossible_for_the_spline_is_said_before():
    with pytest.raises(kc.errors.InputError, match="segments: must be 3 or more to meet the 6 conditions on shoulder"):
        plan(segments=1).via(0.5, q=[0.2, 0.3], v=[1, 1]).solve()
