"""Run folders: whole or not at all, the same every time, read back; the report needs nothing but itself."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import kinecast as kc
from kinecast.cli import app
from kinecast.errors import InputError
from kinecast.motion.files import read_motion
from kinecast.report.run import read_run, write_run

PROBLEM = """mechanism: planar2
gravity: [0, 0, 0]
segments: 8
duration: {min: 0.1, max: 3}
start: {q: [0, -2]}
end: {q: [1, -1]}
minimize: {time: 1, effort: 0.001}
refine: 1.0e-2
"""
FILES = ["log.txt", "motion.csv", "problem.yaml", "report.html", "result.json", "solution.json"]
SAMPLED = 1e-9  # torques of a sample just before a jump, relative: the sample is 1e-9 of the duration early


@pytest.fixture(scope="module")
def motion():
    arm = kc.load("planar2")
    plan = kc.Prediction(arm, segments=8, duration=(0.1, 3.0), gravity=[0, 0, 0], refine=1e-2)
    return plan.start(q=[0, -2]).end(q=[1, -1]).minimize(time=1, effort=0.001).solve()


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.yaml"
    path.write_text(PROBLEM)
    return path


def predict(problem, folder):
    with pytest.raises(SystemExit) as stop:
        app(["predict", str(problem), "-o", str(folder), "--quiet"])
    return stop.value.code


def test_what_a_run_leaves(motion, tmp_path):
    folder = motion.save(tmp_path / "a" / "run")
    assert sorted(os.listdir(folder)) == FILES
    result = json.loads((folder / "result.json").read_text())
    assert result["status"] == "optimal"
    assert result["duration"] == motion.duration
    assert result["closure"]["max_q_error"] < 1e-6
    assert set(result["seconds"]) == {"total", "solver", "functions", "compile"}
    assert set(result["violation"]) == {"at_nodes", "between_nodes", "where"}
    series = read_motion(folder / "motion.csv", motion.mechanism)
    joints = series.joint_series(motion.mechanism.coordinates)
    assert joints.splined == ()
    assert len(joints.t) >= 10 * result["segments"] + 1
    tau = motion.mechanism.inverse_dynamics(joints.q, joints.v, joints.a)
    columns = np.stack([series.numbers(f"tau.{name}") for name in motion.mechanism.coordinates], axis=1)
    np.testing.assert_allclose(columns, tau, atol=SAMPLED * np.abs(tau).max())
    assert len(series.numbers("load.elbow.fx")) == len(joints.t)
    assert "iteration" in (folder / "log.txt").read_text()


def test_the_same_problem_gives_the_same_result(problem, tmp_path):
    texts = []
    for k in range(3):
        assert predict(problem, tmp_path / f"run{k}") == 0
        text = (tmp_path / f"run{k}" / "result.json").read_text()
        texts.append(re.sub(r'"seconds": \{[^}]*\}', "", text))
        assert texts[k] != text
    assert texts[0] == texts[1] == texts[2]
    for name in ("motion.csv", "problem.yaml", "solution.json"):
        assert len({(tmp_path / f"run{k}" / name).read_bytes() for k in range(3)}) == 1


def test_the_problem_a_run_leaves_predicts_the_same(problem, tmp_path):
    assert predict(problem, tmp_path / "run") == 0
    assert predict(tmp_path / "run" / "problem.yaml", tmp_path / "again") == 0
    assert (tmp_path / "run" / "motion.csv").read_bytes() == (tmp_path / "again" / "motion.csv").read_bytes()


def test_a_run_is_read_back_and_its_report_drawn_again(motion, tmp_path, capsys):
    folder = motion.save(tmp_path / "run")
    found = read_run(folder)
    t = np.linspace(0.0, motion.duration, 7)
    np.testing.assert_array_equal(found.torque(t), motion.torque(t))
    assert found.summary() == motion.summary()
    assert [e.words for e in found.excesses] == [e.words for e in motion.excesses]
    before = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    with pytest.raises(SystemExit) as stop:
        app(["report", str(folder)])
    assert stop.value.code == 0
    assert (folder / "report.html").read_text() == before
    assert "report.html" in capsys.readouterr().out


def tracked(tmp_path):
    times = np.linspace(0.0, 0.5, 12)
    plan = kc.Prediction(kc.load("planar2"), duration=0.5, segments=5)
    return plan.track((times, np.stack([times, times - 2], axis=1))).minimize(tracking=1, effort=1e-6)


def heavier(tmp_path):
    arm = kc.load("planar2")
    arm = arm.replace(joints=tuple(replace(joint, mass=0.7) for joint in arm.joints), name="heavier")
    return kc.Prediction(arm, duration=(0.2, 2.0), segments=5)


def from_a_file(tmp_path):
    kc.load("planar2").write(tmp_path / "arm.yaml")
    plan = kc.Prediction(kc.load(tmp_path / "arm.yaml"), duration=(0.2, 2.0), segments=5)
    (tmp_path / "arm.yaml").unlink()
    return plan


def guessed(tmp_path):
    (tmp_path / "guess.csv").write_text("t,q.shoulder,q.elbow\n0,0,-2\n0.2,0.4,-1.4\n0.5,1,-1\n")
    return kc.Prediction(kc.load("planar2"), duration=(0.2, 2.0), segments=5, guess=str(tmp_path / "guess.csv"))


MADE_IN_PYTHON = {
    "other gravity": lambda _: kc.Prediction(
        kc.load("planar2").with_gravity([0, -1.6, 0]), duration=(0.2, 2.0), segments=5
    ),
    "random chain": lambda _: kc.Prediction(kc.serial(2, seed=3), duration=1.0, segments=5),
    "changed": heavier,
    "file": from_a_file,
    "tracked": tracked,
    "guess": guessed,
}


@pytest.mark.parametrize("case", MADE_IN_PYTHON)
def test_a_folder_of_a_prediction_made_in_python_needs_nothing_else(case, tmp_path):
    plan = MADE_IN_PYTHON[case](tmp_path).start(q=[0, -2]).end(q=[1, -1])
    motion = plan.solve()
    assert motion.ok
    folder = motion.save(tmp_path / "run")
    moved = folder.rename(tmp_path / "elsewhere")
    found = read_run(moved)
    t = np.linspace(0.0, motion.duration, 7)
    np.testing.assert_array_equal(found.torque(t), motion.torque(t))
    assert predict(moved / "problem.yaml", tmp_path / "again") == 0
    again = json.loads((tmp_path / "again" / "result.json").read_text())
    assert again["objective"] == pytest.approx(motion.objective, rel=1e-9)


def test_what_was_written_in_python_is_said_to_be_missing(tmp_path):
    plan = kc.Prediction(kc.load("planar2"), duration=1.0, segments=5).start(q=[0, -2]).end(q=[1, -1])
    folder = plan.penalize(lambda s: s.joint("elbow").tau ** 2).solve().save(tmp_path / "run")
    assert (folder / "problem.yaml").read_text().startswith("# Conditions and terms that were written in Python are")
    assert read_run(folder).ok


def test_the_report_opens_without_a_network(motion, tmp_path):
    page = (motion.save(tmp_path / "run") / "report.html").read_text()
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert not re.findall(r"<script|@import|url\(", page)
    for heading in ("The motion", "Trajectories", "Torques and forces", "Forces in the joints", "Iterations", "Log"):
        assert heading in page
    assert page.count("data:image/png;base64,") == 5
    assert "<b>optimal.</b>" in page


def test_a_name_in_the_report_is_text(tmp_path):
    arm = kc.Mechanism.load("pendulum")
    plan = kc.Prediction(arm, segments=4, duration=(0.2, 5.0)).start(q=0).end(q=0.5)
    motion = plan.require(lambda s: s.q[0] <= 0.1, name="<script>alert(1)</script>").solve()
    assert motion.status == "infeasible"
    assert "<script>" not in (motion.save(tmp_path / "run") / "report.html").read_text()


def test_a_full_disk_leaves_the_run_before_as_it_was(motion, tmp_path, monkeypatch):
    folder = motion.save(tmp_path / "run")
    before = {name: (folder / name).read_bytes() for name in FILES}
    usual = type(folder).write_text

    def full(path, text, **kw):
        if "report.html" in path.name:
            usual(path, text[: len(text) // 2], **kw)
            raise OSError(28, "No space left on device")
        return usual(path, text, **kw)

    monkeypatch.setattr(type(folder), "write_text", full)
    with pytest.raises(InputError, match="run: cannot be written: no space left on device"):
        write_run(motion, folder)
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


KILLED = """
import os, signal, sys
from kinecast.cli import app
usual, left = os.replace, [int(sys.argv[1])]
def replace(*paths):
    if str(paths[1]).startswith(sys.argv[3]):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    usual(*paths)
os.replace = replace
app(["predict", sys.argv[2], "-o", sys.argv[3], "--quiet"])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
@pytest.mark.parametrize("after", [0, 3])
def test_a_killed_run_leaves_no_half_written_file(problem, tmp_path, after):
    folder = (tmp_path / "run").resolve()
    command = [sys.executable, "-c", KILLED, str(after), str(problem), str(folder)]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == -signal.SIGKILL
    assert not (folder / "result.json").exists()
    left = [name for name in os.listdir(folder) if not name.startswith(".")]
    assert len(left) == after
    assert predict(problem, tmp_path / "whole") == 0
    for name in set(left) - {"log.txt", "report.html"}:  # which tell how long it took
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    with pytest.raises(InputError):
        read_run(folder)


@pytest.mark.parametrize(("changes", "code", "status"), [("", 0, "optimal"), ("limits: {v: 0.1}\n", 1, "infeasible")])
def test_json_and_nothing_else_on_stdout(problem, tmp_path, capfd, changes, code, status):
    problem.write_text(PROBLEM.replace("max: 3}", "max: 1}") + changes)
    with pytest.raises(SystemExit) as stop:
        app(["predict", str(problem), "-o", str(tmp_path / "run"), "--json", "--quiet"])
    said = capfd.readouterr()
    assert (stop.value.code, said.err) == (code, "")
    assert json.loads(said.out)["status"] == status
    assert (tmp_path / "run" / "motion.csv").exists() == (code == 0)
    assert (tmp_path / "run" / "motion_unsolved.csv").exists() == (code == 1)


def test_where_no_folder_can_be_made_is_said_before_the_work(problem, tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    assert predict(problem, tmp_path / "file" / "run") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no folder can be made there" in error


@pytest.mark.parametrize("name", ["result.json", "solution.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_broken_run_is_refused(motion, tmp_path, name, text):
    folder = motion.save(tmp_path / "run")
    (folder / name).write_text(text)
    with pytest.raises(InputError, match="run"):
        read_run(folder)
