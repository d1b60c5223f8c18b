"""kinecast walk: the run folder it leaves, its answers, and bad input in one line."""

import json

import pytest


def test_walk_leaves_a_run_folder_whose_report_can_be_made_again(run, tmp_path):
    out = tmp_path / "run"
    code, answer, err = run(
        "walk", "--speed", 1.1, "--stature", 1.62, "--mass", 60, "--sex", "female", "--backpack", 8, "--weak",
        "hip.internal_rotation=0.9", "--stiff", "ankle.eversion=-5:5", "--set", "phases.double_support=0.21",
        "--json", "-o", out,
    )  # fmt: skip
    result = json.loads(answer)
    assert code == 0, err
    assert result["gait"]["speed"] == 1.1
    assert "double_support: 0.21" in (out / "problem.yaml").read_text()
    assert "female carrying 8 kg, 39 coordinates: 1.1 m/s" in err
    (out / "report.html").unlink()
    code, answer, _ = run("report", out)
    assert code == 0
    assert (out / "report.html").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--speed", "4"], "speed must be between"),
        (["--speed", "1.2", "--stature", "3", "--mass", "75"], "stature must be between 1.3 and 2.2 m, got 3 m"),
        (["--speed", "1.2", "--stature", "1.75", "--mass", "0"], "mass must be between 35 and 180 kg, got 0 kg"),
        (["--speed", "1.2", "--sex", "man"], "did you mean 'male'"),
        (["--speed", "1.2", "--step", "1.2"], "step length must be between"),
        (["--speed", "1.2", "--weak", "knee"], "--weak must be NAME=VALUE"),
        (["--speed", "1.2", "--stiff", "knee=30"], "--stiff knee must be LOW:HIGH"),
        (["--speed", "1.2", "--weak", "kneee=0.5"], "did you mean 'knee'"),
        (["--speed", "1.2", "--set", "clearence=0.02"], "did you mean 'clearance'"),
        (["--speed", "1.2", "--freeze", "rist"], "did you mean 'wrist'"),
        ([], "--speed"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, tmp_path, arguments, expected):
    code, out, err = run("walk", *arguments, "-o", tmp_path / "run")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert expected in err
    assert not (tmp_path / "run").exists()
