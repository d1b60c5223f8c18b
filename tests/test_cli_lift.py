"""kinecast lift: the run folder it leaves, its answers, and bad input in one line."""

import json

import pytest

# A kernel that compiles fast; the same as in test_lift.py.
FREEZE = "neck,wrist,clavicle,spine2,spine3,spine4"


def test_lift_leaves_a_run_folder_whose_report_can_be_made_again(run, tmp_path):
    out = tmp_path / "run"
    code, answer, err = run(
        "lift", "--mass", 8, "--from", "0.4:0.42", "--to", 1.0, "--stature", 1.62, "--body-mass", 60, "--sex", "female",
        "--freeze", FREEZE, "--weak", "elbow=0.9", "--stiff", "knee=0:90", "--set", "duration=1.2:2", "--set",
        "box.depth=0.35", "--set", "coupling=fair", "--json", "-o", out,
    )  # fmt: skip
    result = json.loads(answer)
    assert code == 0, err
    assert result["lift"]["from"] == [0.4, 0.42]
    assert result["lift"]["to"] == [1.0, pytest.approx(0.375)]  # as the NIOSH manual says for a box this deep
    assert result["ergonomics"]["niosh"]["origin"]["multipliers"]["CM"] == 0.95
    assert 1.2 <= result["duration"] <= 2
    assert "depth: 0.35" in (out / "problem.yaml").read_text()
    assert "female, 33 coordinates: 8 kg from 0.4 m (0.42 m ahead) to 1 m (0.375 m ahead)" in err
    (out / "report.html").unlink()
    code, answer, err = run("report", out, "--quiet")
    assert (code, answer, err) == (0, "", "")
    assert (out / "report.html").stat().st_size > 100_000


def test_a_lift_that_there_is_none_of_exits_with_1(run, tmp_path):
    out = tmp_path / "run"
    code, answer, err = run(
        "lift", "--mass", 10, "--from", 0.4, "--to", 1.0, "--freeze", FREEZE, "--set", "duration=0.25", "-q", "-o", out
    )
    assert (code, answer, err) == (1, "", "")
    assert json.loads((out / "result.json").read_text())["status"] == "infeasible"
    assert (out / "motion_unsolved.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--mass", "0", "--from", "0.2", "--to", "1"], "mass must be between 0.1 and 60 kg, got 0 kg"),
        (["--mass", "10", "--from", "low", "--to", "1"], "--from must be HEIGHT or HEIGHT:DISTANCE in m, got 'low'"),
        (["--mass", "10", "--from", "0.2", "--to", "1:2:3"], "--to must be HEIGHT or HEIGHT:DISTANCE"),
        (["--mass", "10", "--from", "0.5", "--to", "0.5"], "start and end are the same place"),
        (["--mass", "10", "--from", "0.2", "--to", "1", "--set", "shelv=1"], "did you mean 'shelf'"),
        (["--mass", "10", "--from", "0.2", "--to", "1", "--stature", "3", "--body-mass", "75"], "stature must be"),
        (["--mass", "10", "--from", "0.2", "--to", "1", "--stature", "1.75"], "stature and body mass go together"),
        (["--mass", "10", "--from", "0.2", "--to", "1", "--weak", "knee"], "--weak must be NAME=VALUE"),
        (["--mass", "10", "--from", "0.4", "--to", "2.6", "--freeze", FREEZE], "the end is out of reach"),
        (["--mass", "10", "--from", "0.2"], "--to"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, tmp_path, arguments, expected):
    code, out, err = run("lift", *arguments, "--quiet", "-o", tmp_path / "run")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert expected in err
    assert not (tmp_path / "run").exists()
