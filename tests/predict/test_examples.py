"""The examples: every problem file is solved, and its torques lead to where it says; the script of many starts."""

import csv
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import kinecast as kc

EXAMPLES = Path(__file__).parents[2] / "examples"
CLOSED = 1e-6  # rad or m at the end, torques integrated at rtol 1e-10


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.yaml")))
def test_a_problem_file(name):
    motion = kc.Prediction.load(EXAMPLES / name).solve()
    assert motion.status == "optimal"
    assert motion.check().max_q_error < CLOSED
    assert motion.between_nodes.relative < 1e-3


def test_the_load_limits_of_the_pick_and_place_hold_and_matter():
    plan = kc.Prediction.load(EXAMPLES / "puma_pick_and_place.yaml")
    motion = plan.solve()
    t = np.linspace(0.0, motion.duration, 300)
    elbow = [joint.name for joint in motion.mechanism.joints].index("elbow")
    forces = np.abs(motion.joint_loads(t)[:, elbow, 3:]).max(axis=0)
    np.testing.assert_allclose(forces, 70.0, rtol=1e-3)
    tip = motion.mechanism.pose("tip", motion.q([0.0, 0.5 * motion.duration, motion.duration]))
    np.testing.assert_allclose(tip[:, :3, 2], [[0, 0, -1]] * 3, atol=5e-3)  # angles are given to 0.01 rad


def test_a_batch_of_starts(tmp_path, monkeypatch, capsys):
    out = tmp_path / "starts.csv"
    monkeypatch.setattr(sys, "argv", ["batch_of_starts.py", "--count", "4", "--out", str(out)])
    runpy.run_path(str(EXAMPLES / "batch_of_starts.py"), run_name="__main__")
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 4
    assert all(row["status"] == "optimal" and float(row["off"]) < CLOSED for row in rows)
    assert "4 starts in" in capsys.readouterr().out
