"""Bad problem files: one line that says what is wrong, where, and what would be right."""

import pytest

import kinecast as kc
from kinecast.cli import app
from kinecast.errors import KinecastError
from kinecast.yaml_text import dump

GOOD = {
    "mechanism": "planar2",
    "duration": "{min: 0.1, max: 3.0}",
    "start": "{q: [0, -2]}",
    "end": "{q: [1, -1]}",
}
BAD = [
    ({"segmens": "20"}, "line 5, segmens: unknown key 'segmens'; did you mean 'segments'?"),
    ({"limits": "{torque: 10}"}, "limits.torque: unknown key 'torque'"),
    ({"segments": "0"}, "segments: must be a whole number, 1 or more (to 10000), got 0"),
    ({"segments": "2.5"}, "segments: must be a whole number, 1 or more (to 10000), got 2.5"),
    ({"segments": "1000000000"}, "segments: must be a whole number, 1 or more (to 10000), got 1000000000"),
    ({"check_points": "0"}, "check_points: must be a whole number, 1 or more (to 100), got 0"),
    ({"duration": "1e-300"}, "duration: must be a number of seconds above 0 (1e-6 to 1e6)"),
    ({"duration": "{min: 0.1, max: .inf}"}, "duration: must be"),
    ({"duration": "{min: 0.1}"}, "duration: max is missing"),
    ({"start": "{q: {shoulder: 0, shoulder: 1}}"}, "start.q.shoulder: is there twice"),
    ({"limits": "{load: {elbow: {fx: [3, 1]}}}"}, "load.elbow.fx: the lower limit 3 is above the upper limit 1"),
    ({"via": "[{at: 0.5, q: [1, 1]}, {at: 0.5, v: [0, 0]}]"}, "via[1].at: 0.5 is there twice; one entry holds both"),
    ({"loads": "[{point: tip, force: [0, .nan, 0]}]"}, "loads[0].force: must be three numbers"),
    ({"minimize": "{time: .nan}"}, "minimize.time: must be a number, 0 or more, got nan"),
    ({"refine": "0"}, "refine: must be a tolerance above 0, or null, got 0"),
    ({"gravity": "[0, -9.81]"}, "gravity: must be three numbers"),
    ({"duration": "0"}, "duration: must be a number of seconds above 0"),
    ({"duration": "{min: 0, max: 1}"}, "duration: must be"),
    ({"duration": "{min: 2, max: 1}"}, "duration: min 2 is above max 1"),
    ({"duration": ".nan"}, "duration: must be"),
    ({"start": "{q: [0, .nan]}"}, "start.q: must be"),
    ({"start": "{q: [0, -2, 1]}"}, "start.q: q must have 2 numbers, one a coordinate (shoulder, elbow), got 3"),
    ({"start": "{q: {elbo: 1}}"}, "start.q: unknown joint in q: 'elbo'; did you mean 'elbow'?"),
    ({"start": "{q: [0, -2], w: 1}"}, "start.w: unknown key"),
    ({"limits": "{tau: [10, -10]}"}, "limits.tau: tau: the lower limit 10 is above the upper limit -10"),
    ({"limits": "{tau: -10}"}, "limits.tau: tau: a symmetric limit must be 0 or more"),
    ({"limits": "{tau: .nan}"}, "limits.tau: must be a number"),
    ({"limits": "{tau: [5, 10]}"}, "could be one interval or one limit for each of the two joints"),
    ({"limits": "{tau: [20, 10]}"}, "could be one interval or one limit for each of the two joints"),
    ({"limits": "{tau: [1, 2, 3]}"}, "tau must have 2 limits, one a coordinate"),
    ({"limits": "{tau: {wrist: 3}}"}, "unknown joint in tau: 'wrist'"),
    ({"limits": "{load: {elbow: {fq: 3}}}"}, "unknown load component in load.elbow: 'fq'"),
    ({"limits": "{q: 1.5}"}, "start.q: q.elbow = -2 rad is outside its limits [-1.5, 1.5]"),
    ({"limits": "{v: 1}", "end": "{q: [1, -1], v: [0, 2]}"}, "end.v: v.elbow = 2 rad/s is outside its limits [-1, 1]"),
    ({"via": "[{at: 0.5, q: [1, 4]}]", "limits": "{q: 3}"}, "via[0].q: q.elbow = 4 rad is outside"),
    ({"via": "[{at: 1.5, q: [1, 1]}]"}, "via[0].at: must be a fraction of the duration between 0 and 1"),
    ({"loads": "[{point: hand, force: [0, 1, 0]}]"}, "loads[0].point: unknown point 'hand'"),
    ({"loads": "[{point: tip, force: [0, 1]}]"}, "loads[0].force: must be three numbers"),
    ({"loads": "[{point: tip, t: [0, 1], force: [[0, 1, 0]]}]"}, "loads[0].force: must be 2 rows, one for each time"),
    ({"loads": "[{point: tip, force: [[0, 1, 0]]}]"}, "loads[0].force: must be three numbers, got 1 rows"),
    ({"loads": "[{point: tip, t: [1, 0], force: [0, 1, 0]}]"}, "loads[0].t: times must increase"),
    ({"minimize": "{time: 0}"}, "minimize: must give at least one of time, effort, load, jerk, tracking"),
    ({"minimize": "{time: -1}"}, "minimize.time: must be a number, 0 or more"),
    ({"minimize": "{tracking: 1}"}, "minimize.tracking: needs a motion to track"),
    ({"periodic": "[elbo]"}, "periodic: unknown joint in periodic: 'elbo'"),
    ({"periodic": "[elbow]"}, "periodic: q.elbow starts as -2 and ends as -1; leave one of them free"),
    ({"periodic": "true", "end": "{v: [0, 1]}"}, "periodic: v.elbow starts as 0 and ends as 1"),
    ({"solver": "{name: snopt}"}, "solver.name: must be ipopt or uno, got 'snopt'"),
    ({"solver": "{name: uno, hessian: bfgs}"}, "solver.hessian: must be auto, exact or gauss-newton for uno"),
    ({"guess": "nowhere.csv"}, "guess: must be line, quasi-static, coarse or the path of a motion file"),
    ({"mechanism": "planar3x"}, "mechanism"),
    ({"reference": "nowhere.csv"}, "reference"),
    ({"segments": "2", "via": "[{at: 0.5, q: [1, 1]}, {at: 0.6, q: [1, 1]}]"}, "segments: must be 3 or more to meet"),
    ({"knots": "free", "segments": "3", "via": "[{at: 0.5, q: [1, 1]}, {at: 0.6, q: [1, 1]}]"}, "3 segments are too"),
]


@pytest.fixture
def problem(tmp_path):
    def write(changes):
        path = tmp_path / "problem.yaml"
        path.write_text("".join(f"{key}: {value}\n" for key, value in (GOOD | changes).items()))
        return path

    return write


@pytest.mark.parametrize(("changes", "words"), BAD, ids=[str(changes) for changes, _ in BAD])
def test_a_bad_file_is_refused_in_one_line(problem, capsys, tmp_path, changes, words):
    with pytest.raises(SystemExit) as stop:
        app(["predict", str(problem(changes)), "-o", str(tmp_path / "run"), "--quiet"])
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert error.startswith("kinecast: ")
    assert error.count("\n") == 1
    assert words in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("text", ["", "- 1", "mechanism: planar2"])
def test_what_is_no_problem_at_all_is_refused(tmp_path, text):
    path = tmp_path / "problem.yaml"
    path.write_text(text)
    with pytest.raises(KinecastError):
        kc.Prediction.load(path)


def test_limits_that_are_left_out_are_the_mechanisms_own_and_null_takes_them_away(problem):
    own = kc.Prediction.load(problem({})).task()
    assert own.tau_limits.tolist() == [[-10, 10], [-10, 10]]
    none = kc.Prediction.load(problem({"limits": "{tau: null}"})).task()
    assert none.tau_limits[0, 1] == float("inf")


@pytest.mark.parametrize(
    ("limit", "meaning"),
    [
        ("3", [[-3, 3], [-3, 3]]),
        ("[-3, 4]", [[-3, 4], [-3, 4]]),
        ("[[-3, 4], 5]", [[-3, 4], [-5, 5]]),
        ("{elbow: [null, 2]}", [[-float("inf"), float("inf")], [-float("inf"), 2]]),
    ],
)
def test_ways_to_write_a_limit(problem, limit, meaning):
    assert kc.Prediction.load(problem({"limits": f"{{tau: {limit}}}"})).task().tau_limits.tolist() == meaning


def test_one_load_limit_means_the_forces(problem):
    task = kc.Prediction.load(problem({"limits": "{load: {elbow: 5, shoulder: {mz: [-1, 2]}}}"})).task()
    assert task.load_limits == ((1, 3, -5, 5), (1, 4, -5, 5), (1, 5, -5, 5), (0, 2, -1, 2))


def test_defaults_are_filled_in(problem, tmp_path):
    filled = kc.Prediction.load(problem({})).problem()
    assert filled["limits"]["tau"] == {"shoulder": [-10, 10], "elbow": [-10, 10]}
    assert filled["minimize"]["time"] == 1.0
    assert filled["solver"]["name"] == "ipopt"
    path = tmp_path / "filled.yaml"
    path.write_text(dump(filled))
    again = kc.Prediction.load(path)
    assert again.problem() == filled
