"""kinecast.walk: what is asked and refused, one stride, its files, its figures, and walks that are not solutions."""

import json
from dataclasses import replace

import numpy as np
import pytest

import kinecast as kc
from kinecast.human.carrying import carried, carrying, own_mass, unloaded
from kinecast.human.predicted import SealedError
from kinecast.human.recursion import measures
from kinecast.human.skeleton import mirror
from kinecast.human.walking import figures
from kinecast.human.walking.problem import EDGES, PLACES
from kinecast.human.walking.run import motion_csv, problem_data, read_run
from kinecast.human.walking.settings import task_of
from kinecast.motion.files import parse_motion

ROUNDING = 1e-9  # forces of a thousand newtons in double precision
PLACE = 0.01  # m: where the step, integrated forward, may end
LAST_BIT = 1e-12


@pytest.fixture(scope="module")
def man():
    return kc.human(1.75, 75, "male", freeze="walking")


@pytest.fixture(scope="module")
def walk(man):
    return kc.walk(man, 1.2, 0.6)


def test_a_walk_is_optimal_and_passes_its_checks(walk):
    assert walk.ok
    assert walk.status == "optimal"
    check = walk.check()
    assert check.torque <= 1.01
    assert check.forward_error < PLACE
    assert 0 < check.forward_q_error < PLACE
    assert walk.margin.min() == pytest.approx(check.margin, abs=2e-3)
    assert walk.margin.min() > 0


def test_one_stride_is_two_mirrored_steps(walk):
    n = (len(walk.t) - 1) // 2
    exchange, forward = mirror(walk.person), np.zeros(walk.person.n)
    forward[2] = 0.6
    assert walk.t[-1] == pytest.approx(1.0)
    np.testing.assert_allclose(walk.q[n + 1 :], exchange(walk.q[1 : n + 1]) + forward, atol=LAST_BIT)
    np.testing.assert_allclose(walk.q[-1, 3:], walk.q[0, 3:], atol=1e-6)  # cyclic: as good as the linear algebra
    np.testing.assert_allclose(walk.v[-1], walk.v[0], atol=1e-5)
    assert walk.q[-1, 2] - walk.q[0, 2] == pytest.approx(1.2)
    assert [walk.phase[k] for k in (0, n // 2, n + 2, -1)] == [
        "double_right", "single_right", "double_left", "single_left"
    ]  # fmt: skip


def test_nothing_is_left_on_the_root_by_the_engine_s_own_inverse_dynamics(walk):
    """Another path than the solver's: the predicted reactions as loads on the feet."""
    man, loads = kc.Mechanism.of(walk.person), []
    for side in "rl":
        body = f"ankle_{side}.eversion"
        force, moment = walk.reaction[side][:, :3], walk.reaction[side][:, 3:]
        loads.append(kc.Load(body, force, moment - np.cross(man.pose(body, walk.q)[:, :3, 3], force)))
    tau = man.inverse_dynamics(walk.q, walk.v, walk.a, loads=loads)
    assert np.abs(tau[:, :6]).max() < ROUNDING
    assert walk.gait["root_residual_n"] < ROUNDING
    other = [k for k, name in enumerate(man.coordinates) if k >= 6 and not name.startswith("toe")]
    np.testing.assert_allclose(walk.tau[:, other], tau[:, other], atol=1e-8)


def test_any_motion_s_ground_reaction_finds_the_walk_s_without_being_told_when_a_foot_is_down(walk):
    found, weight = kc.ground_reaction(walk.person, walk), 75 * 9.81
    for side in "rl":
        apart = np.abs(found.reaction[side][:, 1] - walk.reaction[side][:, 1])
        assert np.mean(apart) < 0.01 * weight


def test_the_run_folder_holds_everything_and_gives_the_walk_back(walk, tmp_path):
    walk.save(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {
        "problem.yaml", "person.yaml", "result.json", "motion.csv", "solution.json", "log.txt", "report.html"
    }  # fmt: skip
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "optimal"
    assert {
        "objective",
        "iterations",
        "seconds",
        "violation",
        "closure",
        "variables",
        "constraints",
        "versions",
    } <= set(result)
    assert set(result["closure"]) == {"max_q_error", "max_place_error_m"}
    assert {
        "speed", "step_length", "step_time", "cadence", "double_support", "bodyweight", "vertical_grf_peaks_bw",
        "range_deg", "peak_moment_nm_per_kg", "root_residual_n", "normative",
    } <= set(result["gait"])  # fmt: skip
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 5
    assert "://" not in page  # opens without a network
    again = read_run(tmp_path / "run")
    np.testing.assert_allclose(again.q, walk.q, atol=LAST_BIT)  # products of matrices elsewhere in memory
    assert again.person == walk.person
    assert again.gait == walk.gait
    assert problem_data(again) == problem_data(walk)


def test_the_motion_file_is_one_that_kinecast_reads(walk):
    file = parse_motion(motion_csv(walk).splitlines(keepends=True), "motion.csv")
    series = file.joint_series(walk.person.coordinates)
    np.testing.assert_array_equal(series.a, walk.a)
    np.testing.assert_array_equal(file.numbers("grf.left.my"), walk.reaction["l"][:, 4])
    np.testing.assert_array_equal(file.numbers("zmp.z"), walk.zmp[:, 1])
    pressed = file.header.index("cop.right.x")
    assert file.cells[-5][pressed] == ""  # in the air a foot has no centre of pressure
    assert {"margin", "phase", "force.right.hip", "tau.ankle_l.dorsiflexion"} <= set(file.header)


def test_figures_are_drawn_and_sticks_stand_where_the_engine_says(walk, man):
    assert walk.plot().axes
    names = ["grip_l", "head_top", "ankle_r.dorsiflexion"]
    at = figures.places(walk.person, walk.q[::50], names)
    for name in names:
        np.testing.assert_allclose(at[name], man.pose(name, walk.q[::50])[:, :3, 3], atol=LAST_BIT)


def test_a_walk_that_is_not_a_solution_is_sealed_and_says_so_in_its_files(walk, tmp_path):
    failed = replace(walk, unsealed=replace(walk.unsealed, status="interrupted", message="Interrupted."))
    with pytest.raises(SealedError, match="not a solution"):
        failed.q  # noqa: B018
    assert failed.acknowledge().q.shape == walk.q.shape
    failed.save(tmp_path)
    assert (tmp_path / "motion_unsolved.csv").exists()
    assert not (tmp_path / "motion.csv").exists()
    assert "not a solution" in (tmp_path / "report.html").read_text()


def test_the_limit_of_time_ends_with_the_best_step_so_far(man):
    lines = []
    found = kc.walk(man, 1.2, 0.6, max_seconds=0.0, say=lines.append)
    assert found.status == "time_limit"
    assert not found.ok
    assert lines[-2].startswith("time_limit")


def test_loads_are_carried_without_another_kernel(man):
    loaded = carrying(man, backpack=12, hands=10)
    assert loaded.mass == pytest.approx(97)
    assert own_mass(loaded) == pytest.approx(75)
    assert carried(loaded) == {"backpack": 12, "hands": 10}
    assert unloaded(loaded) == man
    assert carrying(man) is man
    places = (*PLACES, *EDGES)
    assert measures(loaded, places)[0] == measures(man, places)[0]
    shift = loaded.center_of_mass(np.zeros(man.n)) - man.center_of_mass(np.zeros(man.n))
    assert shift[2] < -0.01  # the backpack is behind
    assert shift[0] == pytest.approx(0, abs=LAST_BIT)


def test_what_is_asked_becomes_a_task_with_defaults_filled_in(man):
    settings = {"step_width": 0.12, "limits": {"ankle.dorsiflexion": (-10, 10)}, "emphasis": {"elbow": 2}}
    task = task_of(man, 1.3, None, 0, {"double_support": 0.22, "clear": [0.3, 0.9]}, settings)
    assert task.step_length == pytest.approx(0.72, abs=0.02)  # a walk ratio of 0.0066 m per step/min
    assert task.phases.double_support == 0.22
    assert task.limits == (("ankle.dorsiflexion", -10.0, 10.0),)
    assert task.limits_of("ankle_r.dorsiflexion") == pytest.approx((np.deg2rad(-10), np.deg2rad(10)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"speed": 4}, "speed must be between 0.3 and 2.13 m/s .* people run"),
        ({"speed": "fast"}, "speed must be a number, got 'fast'"),
        (
            {"speed": 1.2, "step_length": 1.5},
            "step length must be between 0.23 and 0.97 m for legs of 0.93 m, got 1.5 m",
        ),
        ({"speed": 1.2, "incline": 40}, "incline must be between -15 and 15 degrees, got 40"),
        ({"speed": 1.2, "backpack": 100}, "backpack must be between 0 and 60 kg, got 100 kg"),
        ({"speed": 1.2, "step_with": 0.1}, "did you mean 'step_width'"),
        ({"speed": 1.2, "knee": 60}, "knee must be 2 numbers, got 60"),
        ({"speed": 1.2, "instants": 20.5}, "instants must be a whole number"),
        ({"speed": 1.2, "periodic_acceleration": 1}, "must be true or false"),
        ({"speed": 1.2, "phases": {"heeloff": 0.5}}, "did you mean 'heel_off'"),
        ({"speed": 1.2, "instants": 3}, "instants must be between 13 and 201, got 3"),
        ({"speed": 1.2, "breaks": (0.6, 0.3)}, "breaks must be 1 to 11 increasing fractions .* got 0.6, 0.3"),
        ({"speed": 1.2, "limits": {"kne.flexion": (0, 1)}}, "did you mean 'knee.flexion'"),
        ({"speed": 1.2, "limits": {"knee.flexion": 5}}, "limits.knee.flexion must be two increasing numbers, got 5"),
        ({"speed": 1.2, "emphasis": {"kneee": 2}}, "did you mean 'knee"),
        ({"speed": 1.2, "emphasis": 5}, "emphasis must be numbers by name"),
        ({"speed": 1.2, "limits": {"knee.flexion": "0,5"}}, "limits.knee.flexion must be a number, got '0,5'"),
        ({"speed": 1.2, "phases": {"double_support": 0.7}}, r"double_support \(0.7\) must be before knee \(0.44\)"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(man, given, expected):
    with pytest.raises(kc.InputError, match=expected) as caught:
        kc.walk(man, **given)
    assert "\n" not in str(caught.value)


def test_a_person_with_one_weak_knee_is_refused_as_the_step_is_mirrored():
    with pytest.raises(kc.InputError, match="knee_r.flexion and knee_l.flexion differ in strength"):
        kc.walk(kc.human(1.75, 75, strength={"knee_r": 0.5}), 1.2)
    with pytest.raises(kc.InputError, match="has no mirror image"):
        kc.walk(kc.human(1.75, 75, freeze=["wrist_r"]), 1.2)


def test_a_stiff_knee_walks_without_the_bend_it_cannot_make():
    stiff = kc.human(1.75, 75, "male", freeze="walking", limits={"knee": (0.0, np.deg2rad(20))})
    walk = kc.walk(stiff, 1.2)
    assert walk.status == "optimal"
    assert walk.gait["extremes_deg"]["knee"][1] < 20
    assert walk.check().clearance > 0


def test_emphasis_changes_only_what_it_names(man):
    emphasis = dict(task_of(man, 1.2, None, 0.0, None, {"emphasis": {"knee": 2.0}}).emphasis)
    assert emphasis["knee"] == 2.0
    assert emphasis["shoulder"] == dict(task_of(man, 1.2, None, 0.0, None, {}).emphasis)["shoulder"]
