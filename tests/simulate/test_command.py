"""`kinecast simulate`: what it writes and prints, its exit codes, and its one-line errors."""

import json

import numpy as np
import pytest

from kinecast.motion.files import read_motion


@pytest.fixture
def simulate(run):
    """Runs ``kinecast simulate ARGUMENTS``: (exit code, stdout, stderr)."""
    return lambda *arguments: run("simulate", *arguments)


FALL = ("planar2", "--q", "0.1,-0.2", "--until", 0.2)


def test_a_fall_goes_to_stdout_as_csv(simulate):
    code, out, err = simulate(*FALL, "--samples", 3)
    rows = out.splitlines()
    assert (code, err) == (0, "")
    assert rows[0].startswith("t,q.shoulder,q.elbow,v.shoulder")
    assert [row.split(",")[0] for row in rows[1:]] == ["0.0", "0.1", "0.2"]
    assert rows[1].split(",")[1:3] == ["0.1", "-0.2"]


def test_a_file_and_a_summary(simulate, tmp_path):
    out = tmp_path / "fall.csv"
    code, text, _ = simulate(*FALL, "--v", "1,0", "-o", out)
    assert code == 0
    assert "DOP853: " in text
    assert "energy drifts by" in text
    assert read_motion(out).joint_series(("shoulder", "elbow")).v[0] == pytest.approx([1, 0])
    code, text, _ = simulate(*FALL, "--integrator", "RK4", "--step", 0.01, "-o", out, "--json")
    answer = json.loads(text)
    assert (answer["status"], answer["until"], answer["statistics"]["integrator"]) == ("completed", 0.2, "RK4")
    assert simulate(*FALL, "-o", out, "--quiet") == (0, "", "")
    columns = json.loads(simulate(*FALL, "--samples", 2, "--json")[1])["columns"]
    assert columns["t"] == [0.0, 0.2]


def test_torques_of_a_file_bring_back_the_motion(run, simulate, tmp_path):
    """`kinecast id` of a fall under no torque gives none; of an accelerated motion those that bring it about."""
    t = np.linspace(0, 0.5, 101)
    motion, torques, out = (tmp_path / name for name in ("motion.csv", "torques.csv", "out.csv"))
    q = np.stack([0.2 * t**2, -1 + 0.5 * t**3], axis=-1)
    rows = [f"{x!r},{a!r},{b!r}" for x, (a, b) in zip(t.tolist(), q.tolist(), strict=True)]
    motion.write_text("\n".join(["t,q.shoulder,q.elbow", *rows, ""]))
    assert run("id", "planar2", motion, "-o", torques, "--quiet")[0] == 0
    code, *_ = simulate("planar2", "--q", "0,-1", "--until", 0.5, "--motion", torques, "-o", out, "--samples", 101)
    assert code == 0
    assert np.abs(read_motion(out).joint_series(("shoulder", "elbow")).q - q).max() < 1e-4  # as far as splines follow


def test_a_limit_is_told(simulate):
    code, _, err = simulate("puma560", "--q", "0,-0.7,0,0,0,0", "--until", 1, "--limits", "stop", "-o", "/dev/null")
    assert code == 0
    assert "shoulder passes its lower limit -0.785398 at t = " in err
    assert "and the simulation stops" in err


def test_an_end_that_is_not_reached_is_exit_code_1(simulate, tmp_path):
    """A torque of 1e300 N m leaves the numbers."""
    path = tmp_path / "torques.csv"
    path.write_text("t,tau.pivot\n0,1e300\n1,1e300\n")
    code, out, err = simulate("pendulum", "--q", "0", "--until", 1, "--motion", path)
    assert (code, out) == (1, "")
    assert "simulation of 'pendulum' with DOP853 stopped at t = 0 s, q = (0), v = (0): " in err
    assert err.count("\n") == 1


def test_what_there_is_until_a_failure_is_kept(simulate, tmp_path):
    """The torque leaves all bounds after half a second."""
    path, out = tmp_path / "torques.csv", tmp_path / "out.csv"
    t = np.linspace(0, 1, 41)
    path.write_text("t,tau.pivot\n" + "".join(f"{x!r},{1e300 if x > 0.5 else 0}\n" for x in t.tolist()))
    code, _, err = simulate("pendulum", "--q", "0.5", "--until", 1, "--motion", path, "-o", out)
    assert code == 1
    kept = read_motion(out).times()
    assert 0.4 < kept[-1] < 0.6
    assert f"the motion until t = {kept[-1]:.6g} s is in {out}" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("planar2", "--q", "0;1", "--until", 1), "--q must be numbers with commas between, such as 0,-1.5, got '0;1'"),
        (("planar2", "--q", "0,1,2", "--until", 1), "the last axis of q must be 2 (shoulder, elbow), got shape (3,)"),
        ((*FALL, "--integrator", "semi_euler"), "unknown integrator 'semi_euler'; did you mean 'semi_implicit_euler'?"),
        (
            (*FALL, "--method", "newton_euler"),
            "method 'newton_euler' has no forward_dynamics; these have: spatial, six",
        ),
        ((*FALL, "--motion", "none.csv"), "none.csv: cannot be read: no such file or directory"),
        ((*FALL, "-o", "nowhere/fall.csv"), "nowhere/fall.csv: cannot be written: there is no folder nowhere"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(simulate, arguments, message):
    code, out, err = simulate(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
