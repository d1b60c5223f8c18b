"""Simulations against closed forms, energy and each other; events, failures, interruption; what is refused."""

import os
import signal
import sys

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import kinecast as kc
from kinecast.dynamics.tracing import methods_for
from kinecast.mechanism import Joint, Limits, Loop, Place, Structure
from kinecast.motion.files import read_motion
from kinecast.simulate import INTEGRATORS, IntegrationError, simulate
from kinecast.simulate import watch as watching

G = 9.81
# What DOP853 at rtol 1e-11 leaves after some swings.
TIGHT = 1e-9
# (integrator, options, error after a second that it must keep): a tenth of an oscillation of 1 rad.
KINDS = [
    *((name, {"rtol": 1e-9}, 1e-6) for name in ("DOP853", "RK45", "LSODA", "Radau")),
    ("RK4", {"step": 1e-2}, 1e-6),
    ("semi_implicit_euler", {"step": 1e-3}, 1e-2),
]
FREE = {"limits": "ignore", "progress": False}


@pytest.fixture(scope="module")
def pendulum():
    """A uniform rod of 1 m; q = 0 hangs."""
    return kc.load("pendulum")


@pytest.fixture(scope="module")
def lift():
    """A mass of 2 kg on a vertical slider with the range -1 to 0.5 m."""
    body = {"mass": 2.0, "inertia": np.zeros(6), "limits": Limits(q=(-1.0, 0.5))}
    slider = Joint("height", "prismatic", axis=[0, 0, 1], **body)
    return kc.Mechanism("lift", (slider,), gravity=[0, 0, -G])


def swing(t, start):
    """The rod's angle (times,) from rest at `start`: sin(q / 2) = k sn(K - w t, k^2)."""
    k = np.sin(start / 2)
    frequency = np.sqrt(1.5 * G)
    sn, *_ = ellipj(ellipk(k**2) - frequency * t, k**2)
    return 2 * np.arcsin(k * sn)


@pytest.mark.parametrize(("integrator", "options", "error"), KINDS, ids=[kind[0] for kind in KINDS])
def test_every_integrator_follows_the_pendulum(pendulum, integrator, options, error):
    run = simulate(pendulum, 1.0, until=1.0, integrator=integrator, samples=11, **options, **FREE)
    assert run.t == pytest.approx(np.linspace(0, 1, 11))
    assert np.abs(run.q[:, 0] - swing(run.t, 1.0)).max() < error
    assert (run.status, run.message, run.statistics.integrator) == ("completed", "reached t = 1 s", integrator)
    assert run.statistics.steps > 0
    assert {name for name, *_ in KINDS} == set(INTEGRATORS)


@pytest.mark.parametrize(("integrator", "order"), [("RK4", 4), ("semi_implicit_euler", 1)])
def test_fixed_steps_converge_with_their_order(pendulum, integrator, order):
    def error(step):
        run = simulate(pendulum, 1.0, until=0.5, integrator=integrator, step=step, samples=2, **FREE)
        return abs(run.q[-1, 0] - swing(0.5, 1.0))

    assert np.log2(error(0.02) / error(0.01)) == pytest.approx(order, abs=0.3)


def test_a_falling_arm_keeps_its_energy():
    run = simulate(kc.load("planar3"), 0.0, until=10, rtol=1e-9, **FREE)
    assert run.relative_energy_drift < 1e-7
    assert np.abs(run.energy - run.energy[0]).max() == pytest.approx(np.abs(run.energy_drift).max())
    assert run.kinetic_energy.max() > 1  # it does fall


@pytest.mark.parametrize("method", methods_for("forward_dynamics"))
def test_all_methods_give_the_same_motion(method):
    arm = kc.load("planar2")
    given = {"q": [0.5, -1.0], "v": [0.0, 2.0], "until": 1.0, "rtol": 1e-11, "samples": 5}
    expected = simulate(arm, **given, **FREE)
    run = simulate(arm, method=method, **given, **FREE)
    assert np.abs(run.q - expected.q).max() < TIGHT
    assert run.statistics.method == method


# ------------------------------------------------------------------------------------------------------- what acts


def test_torques_do_work_that_the_energy_shows(pendulum):
    run = simulate(pendulum, 0.0, torque=lambda t, q, v: 3 * np.sin(4 * t) - 0.5 * v, until=2, rtol=1e-10, **FREE)
    assert run.tau[:, 0] == pytest.approx(3 * np.sin(4 * run.t) - 0.5 * run.v[:, 0])
    assert np.ptp(run.energy) > 1
    assert run.relative_energy_drift < 1e-8


@pytest.mark.parametrize("how", [{"rtol": 1e-10}, {"integrator": "RK4", "step": 0.01}], ids=["adaptive", "RK4"])
def test_numbers_functions_and_files_are_the_same_torque(lift, how, tmp_path):
    """With the weight held and 1 N more the mass rises by t^2 / 4."""
    force = 2 * G + 1
    file = tmp_path / "force.csv"
    file.write_text("t,tau.height\n" + "".join(f"{t},{force}\n" for t in (0, 0.5, 1)))
    for torque in (force, [force], lambda t, q, v: [force], file, str(file), read_motion(file)):
        run = simulate(lift, -0.5, torque=torque, until=1, samples=3, **how, **FREE)
        assert run.q[:, 0] == pytest.approx(-0.5 + run.t**2 / 4, abs=1e-12)
        assert run.a[:, 0] == pytest.approx(0.5)
        assert run.work[-1] == pytest.approx(force * 0.25)


def test_a_file_of_torques_is_followed_in_time(lift, tmp_path):
    """A force that grows in proportion to t: the mass rises by t^3 / 12. A monotone cubic keeps a straight line."""
    t = np.linspace(0, 1, 21)
    file = tmp_path / "ramp.csv"
    file.write_text("t,tau.height\n" + "".join(f"{x!r},{2 * G + x!r}\n" for x in t.tolist()))
    run = simulate(lift, -0.5, torque=file, until=1, rtol=1e-10, samples=t, **FREE)
    assert run.q[:, 0] == pytest.approx(-0.5 + t**3 / 12, abs=1e-9)


def test_loads_and_a_moving_ground(lift):
    """Of 4 t N for a second the mass of 2 kg rises by t^3 / 3; a ground that falls freely takes its weight away."""
    pull = simulate(
        lift, -0.9, torque=2 * G, loads=lambda t: kc.Load("height", [0, 0, 4 * t]), until=1, rtol=1e-10, **FREE
    )
    assert pull.q[:, 0] == pytest.approx(-0.9 + pull.t**3 / 3, abs=1e-9)
    assert pull.work is None  # the load's work is not counted
    assert pull.relative_energy_drift is None
    falling = kc.BaseMotion(acceleration=[0, 0, 0, 0, 0, -G])
    for how in ({"rtol": 1e-10}, {"integrator": "RK4", "step": 0.1}):
        assert simulate(lift, -0.4, base=falling, until=1, samples=2, **how, **FREE).q[-1, 0] == pytest.approx(-0.4)


def test_a_batch_is_its_members_one_by_one(pendulum):
    starts = np.array([[0.3], [1.0], [-2.0]])
    for how in ({"rtol": 1e-10}, {"integrator": "RK4", "step": 0.01}):
        batch = simulate(pendulum, starts, until=0.5, samples=4, **how, **FREE)
        assert batch.q.shape == (4, 3, 1)
        assert batch.energy.shape == (4, 3)
        for k, start in enumerate(starts):
            alone = simulate(pendulum, start, until=0.5, samples=4, **how, **FREE)
            assert batch.q[:, k] == pytest.approx(alone.q, abs=1e-12)
        with pytest.raises(kc.NotSupportedError, match="a motion file holds one motion and this simulation has 3"):
            batch.motion_file()


def test_compiled_steps_are_those_around_a_torque_function(pendulum):
    given = {"until": 0.5, "step": 0.02, "samples": 6, **FREE}
    for integrator in ("RK4", "semi_implicit_euler"):
        compiled = simulate(pendulum, 1.0, torque=0.7, integrator=integrator, **given)
        plain = simulate(pendulum, 1.0, torque=lambda t, q, v: 0.7, integrator=integrator, **given)
        assert compiled.q == pytest.approx(plain.q, abs=1e-13)
        assert compiled.work == pytest.approx(plain.work, abs=1e-13)


# ---------------------------------------------------------------------------------------------------------- events


@pytest.mark.parametrize("how", [{"rtol": 1e-9}, {"integrator": "RK4", "step": 0.07}], ids=["adaptive", "RK4"])
def test_leaving_a_joints_range_is_an_event(lift, how):
    """A free fall of 0.8 m ends at sqrt(1.6 / g)."""
    when = np.sqrt(1.6 / G)
    run = simulate(lift, -0.2, until=0.6, progress=False, **how)
    assert run.status == "completed"
    assert run.t[-1] == 0.6
    (event,) = run.events
    assert (event.coordinate, event.side, event.bound) == ("height", "lower", -1.0)
    assert event.t == pytest.approx(when, rel=1e-9)
    assert str(event) == f"height passes its lower limit -1 at t = {when:.6g} s"
    stopped = simulate(lift, -0.2, until=0.6, limits="stop", progress=False, **how)
    assert (stopped.status, stopped.t[-1]) == ("limit", pytest.approx(when))
    assert stopped.q[-1, 0] == pytest.approx(-1.0)
    assert stopped.message == f"stopped: {event}"
    assert not simulate(lift, -0.2, until=0.6, **how, **FREE).events


def test_a_throw_passes_the_upper_limit_and_comes_back(lift):
    """Half a metre up is passed at the smaller of two times, a metre down at the larger one."""
    run = simulate(lift, 0.0, 4.0, until=1.1, integrator="RK45", rtol=1e-6, progress=False)
    first, second = run.events
    assert (first.side, second.side) == ("upper", "lower")
    assert first.t == pytest.approx((4 - np.sqrt(16 - G)) / G, rel=1e-6)
    assert second.t == pytest.approx((4 + np.sqrt(16 + 2 * G)) / G, rel=1e-6)


def test_a_start_outside_is_an_event_and_cannot_be_stopped_at(lift):
    run = simulate(lift, 0.7, until=0.1, progress=False)
    assert [(event.t, event.side) for event in run.events] == [(0.0, "upper")]
    with pytest.raises(kc.InputError, match=r"q of height is 0.7, already beyond its upper limit 0.5; limits='report'"):
        simulate(lift, 0.7, until=0.1, limits="stop")


# -------------------------------------------------------------------------------------------------------- failures


def runaway(t, q, v):
    """A push that grows faster than any motion lasts: v' = v^2 reaches infinity at t = 1 / v0."""
    return 2 * v**2 + 2 * G


@pytest.mark.parametrize("integrator", ["DOP853", "RK45", "Radau"])
def test_an_integrator_that_gives_up_names_time_and_state(lift, integrator):
    with np.errstate(all="ignore"), pytest.raises(IntegrationError) as caught:
        simulate(lift, 0.0, 2.0, torque=runaway, until=1.0, integrator=integrator, rtol=1e-6, **FREE)
    failure = caught.value.failure
    assert failure.t == pytest.approx(0.5, abs=0.01)
    assert f"simulation of 'lift' with {integrator} stopped at t = {failure.t:.6g} s, q = (" in str(caught.value)
    assert f"v = ({failure.v[0]:.6g}): " in str(caught.value)
    reached = caught.value.simulation  # what there is until then
    assert reached.t[-1] <= failure.t
    assert np.isfinite(reached.q).all()
    assert reached.q[-2, 0] == pytest.approx(-np.log(1 - 2 * reached.t[-2]), rel=1e-3)


def test_a_torque_that_is_no_number_is_told(lift):
    with pytest.raises(IntegrationError, match=r"stopped at t = 0\.\d+ s, q = .*: the torque is not finite"):
        simulate(lift, 0.0, torque=lambda t, q, v: 0.0 if t < 0.5 else np.nan, until=1.0, **FREE)


def test_fixed_steps_that_are_too_long_are_told(lift):
    with pytest.raises(IntegrationError, match=r"with RK4 stopped at t = .* the next state is not finite; a shorter"):
        simulate(lift, 0.0, 2.0, torque=runaway, until=5.0, integrator="RK4", step=0.1, **FREE)


@pytest.mark.parametrize("how", [{"rtol": 1e-6}, {"integrator": "RK4", "step": 0.01}], ids=["adaptive", "RK4"])
def test_a_member_of_a_batch_fails_alone(lift, how):
    with np.errstate(all="ignore"):
        run = simulate(lift, [[0.0], [0.0]], [[0.1], [2.0]], torque=runaway, until=1.0, **how, **FREE)
    (failure,) = run.failures
    assert failure.index == (1,)
    assert np.isfinite(run.q[:, 0]).all()
    assert run.q[-1, 0, 0] == pytest.approx(-np.log(1 - 0.1), rel=1e-4)
    assert np.isnan(run.q[-1, 1]).all()
    assert run.message.startswith("1 initial states could not be followed to the end; the first stopped in initial")


@pytest.mark.parametrize("how", [{}, {"integrator": "RK4", "step": 0.01}], ids=["adaptive", "RK4"])
def test_an_interrupted_run_returns_what_there_is(lift, how):
    asked = []

    def torque(t, q, v):
        if t > 0.3 and not asked:
            asked.append(t)
            os.kill(os.getpid(), signal.SIGINT)
        return 2 * G

    before = signal.getsignal(signal.SIGINT)
    run = simulate(lift, 0.0, torque=torque, until=10, samples=101, **how, **FREE)
    assert run.status == "interrupted"
    assert 0.3 < run.t[-1] < 10
    assert run.message == f"interrupted at t = {run.t[-1]:.6g} s of 10 s"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_long_run_shows_progress_on_a_terminal(lift, monkeypatch, capsys):
    monkeypatch.setattr(watching, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    simulate(lift, 0.0, until=0.1, integrator="RK4", step=0.001, limits="ignore")
    assert "simulating lift" in capsys.readouterr().err
    simulate(lift, 0.0, until=0.1, integrator="RK4", step=0.001, limits="ignore", progress=False)
    assert not capsys.readouterr().err


# --------------------------------------------------------------------------------------------------------- refused

REFUSED = {
    "mechanism must be a kinecast.Mechanism": {"mechanism": "pendulum"},
    "unknown integrator 'RK5'; did you mean 'RK45'": {"integrator": "RK5"},
    "RK4 needs step=": {"integrator": "RK4"},
    "step is for RK4 and semi_implicit_euler; DOP853 chooses": {"step": 0.1},
    "rtol and atol are for DOP853, RK45, LSODA, Radau; RK4": {"integrator": "RK4", "step": 0.1, "rtol": 1e-3},
    "rtol must be at least 1e-13 and less than 1": {"rtol": 1e-15},
    "until must be positive and finite": {"until": -1},
    "step must be a number": {"integrator": "RK4", "step": "fast"},
    "samples must be at least 2": {"samples": 1},
    "samples must be how many rows, or their times": {"samples": [0.1, 0.2]},
    "unknown value of limits 'stp'; did you mean 'stop'": {"limits": "stp"},
    "the last axis of q must be 1": {"q": [0.1, 0.2]},
    "q of pivot is nan": {"q": np.nan},
    "v must be numbers, one for each of pivot": {"v": "fast"},
    "q has no entries": {"q": np.empty((0, 1))},
    "the batch axes do not broadcast": {"q": np.zeros((2, 1)), "v": np.zeros((3, 1))},
    "torque function must return shape": {"torque": lambda t, q, v: np.zeros(3)},
    "unknown method 'filter'; did you mean 'filtering'": {"method": "filter"},
    "method 'lagrange' has no forward_dynamics; these have: spatial, six_by_six, denoc, filtering": {
        "method": "lagrange"
    },
    "loads act on tip at t = .* and on nothing at t = 0; name the same points": {
        "loads": lambda t: [] if t == 0 else [kc.Load("tip")]
    },
    "a simulated ground may turn about the direction of gravity only": {"base": kc.BaseMotion(velocity=[1, 0, 0] * 2)},
    "limits='stop' is for one initial state": {"q": np.zeros((2, 1)), "limits": "stop"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message, pendulum):
    given = {"mechanism": pendulum, "q": 0.1, "until": 1.0, "progress": False} | REFUSED[message]
    with pytest.raises(kc.KinecastError, match=message):
        simulate(**given)


def test_a_closed_loop_is_refused():
    ends = Place("j2", np.zeros(3)), Place(None, np.zeros(3))
    with pytest.raises(kc.NotSupportedError, match=r"simulation of 'serial2': closed loops \(ring\)"):
        simulate(Structure.serial(2).replace(loops=(Loop("ring", *ends),)), 0.0, until=1)


def test_a_mistake_in_the_torque_function_is_the_users_own(pendulum):
    with pytest.raises(ValueError, match="mine"):
        simulate(pendulum, 0.1, torque=lambda t, q, v: int("mine"), until=1, **FREE)


# ------------------------------------------------------------------------------------------------------------ files


def test_a_simulation_is_saved_as_a_motion_file(tmp_path):
    arm = kc.load("planar2")
    run = simulate(arm, [0.1, -0.2], until=0.5, samples=6, **FREE)
    run.save(tmp_path / "fall.csv")
    file = read_motion(tmp_path / "fall.csv")
    kinds = [f"{kind}.{name}" for kind in ("q", "v", "a", "tau") for name in ("shoulder", "elbow")]
    assert list(file.header) == ["t", *kinds, "energy"]
    series = file.joint_series(arm.coordinates)
    for name in ("q", "v", "a"):
        np.testing.assert_array_equal(getattr(series, name), getattr(run, name))
    assert arm.inverse_dynamics(series.q, series.v, series.a) == pytest.approx(0.0, abs=1e-11)
    assert run.summary()["relative_energy_drift"] < 1e-8
