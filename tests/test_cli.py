"""The command line: what it prints, its exit codes, and that a foreseen error is one line on stderr."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import kinecast as kc
from kinecast.dynamics.algorithms import ALGORITHMS
from kinecast.dynamics.tracing import methods_for

TO_ROUNDING = 1e-12  # numbers are written with all their digits


def test_version_and_help(run):
    assert run("--version") == (0, f"kinecast {kc.__version__}\n", "")
    code, out, _ = run()
    assert code == 0
    assert all(command in out for command in ("list", "info", "id", "predict", "ops", "bench", "doctor"))


def test_list_names_every_built_in_mechanism(run):
    _, text, _ = run("list")
    _, answer, _ = run("list", "--json")
    _, names, _ = run("list", "--quiet")
    assert "puma560" in text
    rows = json.loads(answer)
    assert [row["name"] for row in rows] == names.split()
    assert {row["name"]: row["coordinates"] for row in rows}["puma560"] == 6


def test_info_shows_joints_and_gives_the_file_as_json(run):
    code, text, _ = run("info", "planar2")
    assert code == 0
    assert "shoulder" in text
    _, answer, _ = run("info", "planar2", "--json")
    assert json.loads(answer)["joints"][0]["name"] == "shoulder"


def test_inverse_dynamics_of_a_file_keeps_its_columns_and_adds_torques(run, planar2_swing, tmp_path):
    out = tmp_path / "out.csv"
    code, _, err = run("id", "planar2", planar2_swing, "-o", out, "--loads")
    assert code == 0
    assert "splined from q" in err
    with open(out) as file:
        rows = list(csv.DictReader(file))
    arm = kc.load("planar2")
    state = [np.array([[float(row[f"{x}.{name}"]) for name in arm.coordinates] for row in rows]) for x in "qva"]
    tau = [[float(row[f"tau.{name}"]) for name in arm.coordinates] for row in rows]
    np.testing.assert_allclose(tau, arm.inverse_dynamics(*state), rtol=TO_ROUNDING, atol=TO_ROUNDING)
    load = arm.joint_loads(*state)
    assert float(rows[3]["load.elbow.fx"]) == pytest.approx(load[3, 1, 3], rel=TO_ROUNDING)
    assert float(rows[3]["load.elbow.mz"]) == pytest.approx(load[3, 1, 2], rel=TO_ROUNDING)
    assert rows[4]["frame"] == "4"


def test_inverse_dynamics_by_another_method_and_as_json(run, planar2_swing):
    _, one, _ = run("id", "planar2", planar2_swing, "--json", "--quiet")
    _, other, _ = run("id", "planar2", planar2_swing, "--json", "--quiet", "--method", "lagrange")
    one, other = json.loads(one), json.loads(other)
    assert other["method"] == "lagrange"
    np.testing.assert_allclose(one["columns"]["tau.elbow"], other["columns"]["tau.elbow"], rtol=1e-10, atol=1e-10)


def test_ops_counts_every_method_beside_the_published_formulas(run):
    code, answer, _ = run("ops", "serial6", "--json")
    assert code == 0
    answer = json.loads(answer)
    counts = {(row["algorithm"], row["method"]): row for row in answer["counts"]}
    inverse, forward = counts["inverse_dynamics", "spatial"], counts["forward_dynamics", "spatial"]
    # Khalil and Kleinfinger's base parameters need 92 n - 127 and 81 n - 117.
    assert inverse["multiplications"] <= 425
    assert inverse["additions"] <= 369
    # Table 9.6 of the DeNOC chapter; divisions count as multiplications there.
    assert forward["multiplications"] + forward["divisions"] <= 694
    assert forward["additions"] <= 663
    for algorithm in ALGORITHMS:
        assert {method for a, method in counts if a == algorithm} == {"spatial", *methods_for(algorithm)}
    assert answer["refused"] == []
    assert any(row["source"].startswith("ReDySim") for row in answer["published"])
    _, text, _ = run("ops", "pendulum")
    assert "inverse_dynamics" in text


def test_ops_says_what_it_could_not_count(run):
    """Thirteen joints are too many for nested sums."""
    _, answer, _ = run("ops", "serial13", "--json")
    refused = json.loads(answer)["refused"]
    assert {row["method"] for row in refused} == {"lagrange_regular"}
    code, text, err = run("ops", "serial13")
    assert code == 0
    assert "forward_dynamics, bias torques given  filtering" in text
    assert err.count("not counted: ") == 1
    assert "13 coordinates are too many for their nested sums" in err


def test_doctor_finds_this_installation_in_order(run):
    code, answer, _ = run("doctor", "--json")
    answer = json.loads(answer)
    assert code == 0
    assert answer["healthy"]
    assert {"engine", "vectors", "cache"} <= {finding["topic"] for finding in answer["findings"]}


def test_a_cache_that_is_not_used_is_said_in_one_line(planar2_swing, tmp_path):
    tmp_path.chmod(0o777)
    command = [sys.executable, "-m", "kinecast", "id", "planar2", str(planar2_swing), "-o", str(tmp_path / "out.csv")]
    done = subprocess.run(command, env=os.environ | {"KINECAST_CACHE": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0
    first, *others = done.stderr.splitlines()
    assert first.startswith(f"kinecast: kernel cache {tmp_path} is writable by other users")
    assert all(line.startswith("kinecast: ") for line in others)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a file that is always full")
def test_an_output_that_cannot_be_written_is_said_in_one_line():
    command = [sys.executable, "-m", "kinecast", "list"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "kinecast: the output cannot be written: no space left on device\n"


def test_a_reader_that_has_read_enough_is_no_error():
    command = [sys.executable, "-m", "kinecast", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_bench_rows_name_model_algorithm_batch_and_time(monkeypatch, run):
    from kinecast.bench import runner

    monkeypatch.setattr(runner, "_plan", lambda arm, quick: [("chain6", (1, 16))])
    monkeypatch.setattr(runner, "TIMED", ("inverse_dynamics", "jacobian", "mass_matrix"))
    monkeypatch.setattr(runner, "MEASURE_SECONDS", 0.001)
    code, answer, _ = run("bench", "--json", "--quick", "--quiet")
    assert code == 0
    rows = json.loads(answer)
    assert {(row["model"], row["algorithm"], row["batch"]) for row in rows} >= {("chain6", "inverse_dynamics", 16)}
    assert all(row["us"] > 0 and {"peer", "peer_us", "ratio"} <= row.keys() for row in rows)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["info", "puma506"], ["puma506", "did you mean 'puma560'"]),
        (["info", "missing.yaml"], ["missing.yaml"]),
        (["id", "planar2", "nowhere.csv"], ["nowhere.csv", "cannot be read"]),
        (["id", "planar2", "{swing}", "--method", "lagrage"], ["unknown method 'lagrage'", "did you mean 'lagrange'"]),
        (["nonsense"], ["nonsense"]),
        (["info"], ["MECH"]),
        (["ops", "serial0"], ["1 or more joints"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, planar2_swing, arguments, expected):
    code, out, err = run(*(str(planar2_swing) if x == "{swing}" else x for x in arguments))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("kinecast: ")
    assert all(text in err for text in expected), err
