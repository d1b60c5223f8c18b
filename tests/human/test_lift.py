"""kinecast.lift: lifts of two people and three loads, their checks, what is asked and refused, files, no solutions."""

import json
from dataclasses import replace

import numpy as np
import pytest

import kinecast as kc
from kinecast.human.carrying import carrying
from kinecast.human.contact import SIDES
from kinecast.human.lifting.instant import parameter_vector
from kinecast.human.lifting.run import motion_csv, problem_data, read_run
from kinecast.human.lifting.settings import task_of
from kinecast.human.predicted import SealedError
from kinecast.motion.files import parse_motion

ROUNDING = 1e-9  # forces of a thousand newtons in double precision
STILL = 1e-9  # m: feet that no variable moves
BETWEEN = 0.01  # how far limits may be passed between the instants: 1 %
TOUCH = 1e-3  # m: what the solver's spots on the body may miss of a line between them
PLACE = 1e-3  # m: where the torques, integrated forward, may end
SMALL = ("neck", "wrist", "clavicle", "spine2", "spine3", "spine4")  # a kernel that compiles fast


@pytest.fixture(scope="module")
def people():
    return {"man": kc.human(1.75, 75, "male"), "woman": kc.human(1.62, 60, "female")}


@pytest.fixture(scope="module")
def lifts(people):
    return {(who, mass): kc.lift(person, mass, 0.2, 1.0) for who, person in people.items() for mass in (5, 10, 15)}


@pytest.fixture(scope="module")
def lift(lifts):
    return lifts["man", 10]


@pytest.fixture(scope="module")
def small():
    return kc.human(1.75, 75, "male", freeze=SMALL)


def test_lifts_of_two_people_and_three_loads_are_optimal_and_pass_their_checks(lifts):
    for lift in lifts.values():
        assert lift.status == "optimal"
        check = lift.check()
        assert check.clearance > -TOUCH
        assert check.floor > 0
        assert check.slip < STILL
        assert check.penetration < STILL
        assert check.grip < lift.task.grip_slip + TOUCH
        assert check.margin > 0
        assert check.margin == pytest.approx(lift.margin.min(), abs=1e-3)
        assert check.torque <= 1 + BETWEEN
        assert check.angle <= 0
        assert check.friction < lift.task.friction
        assert check.end_speed < STILL
        assert check.root_residual < ROUNDING
        assert check.work_residual < ROUNDING
        assert check.forward_error < PLACE
        assert 0 < check.forward_q_error < PLACE


def test_the_box_goes_from_where_to_where_it_should(lift):
    np.testing.assert_allclose(lift.box[0], [0.0, 0.2, 0.4], atol=TOUCH)
    np.testing.assert_allclose(lift.box[-1], [0.0, 1.0, 0.35], atol=TOUCH)
    assert 1.0 < lift.duration < 2.5
    assert lift.t[-1] == lift.duration


def test_knees_hips_and_trunk_share_the_work(lifts):
    for (_, mass), lift in lifts.items():
        share, ranges = lift.figures["work_share"], lift.figures["range_deg"]
        assert sum(share.values()) == pytest.approx(1)
        assert max(share, key=share.get) == "hips"
        assert 0.1 < share["trunk"] < 0.35
        assert ranges["knee"][1] - ranges["knee"][0] > 40
        if mass <= 10:
            assert share["knees"] > 0.05
    lifted = lifts["man", 10]
    least = lifted.task.mass * 9.81 * 0.8  # raising the box alone
    assert sum(lifted.work().values()) > least


def test_the_load_on_the_low_back_grows_with_the_mass_and_is_of_the_published_order(lifts):
    for who in ("man", "woman"):
        peaks = [lifts[who, mass].ergonomics.low_back.compression.max() for mass in (5, 10, 15)]
        assert peaks == sorted(peaks)
        assert peaks[2] > peaks[0] + 500
        assert 2500 < peaks[0] < 4500  # N
        assert 3500 < peaks[2] < 6400


def test_nothing_is_left_on_the_root_by_the_engine_s_own_inverse_dynamics(lift):
    """Another path than the solver's: ground and box as loads on feet and hands."""
    man, loads = kc.Mechanism.of(lift.person), []
    pull = lift.samples.box_acceleration + np.array([0, 9.81, 0])
    for side in SIDES:
        foot, hand = f"ankle_{side}.eversion", f"grip_{side}"
        force, moment = lift.reaction[side][:, :3], lift.reaction[side][:, 3:]
        loads.append(kc.Load(foot, force, moment - np.cross(man.pose(foot, lift.q)[:, :3, 3], force)))
        loads.append(kc.Load(hand, -0.5 * lift.task.mass * pull, np.zeros_like(pull)))
    tau = man.inverse_dynamics(lift.q, lift.v, lift.a, loads=loads)
    assert np.abs(tau[:, :6]).max() < ROUNDING
    other = [k for k, name in enumerate(man.coordinates) if k >= 6 and not name.startswith("toe")]
    np.testing.assert_allclose(lift.tau[:, other], tau[:, other], atol=ROUNDING)


def test_ground_reaction_of_any_motion_finds_the_lift_s(lift):
    found = kc.ground_reaction(carrying(lift.person, hands=lift.task.mass), lift)
    for side in SIDES:
        np.testing.assert_allclose(found.reaction[side], lift.reaction[side], atol=ROUNDING)


def test_first_and_second_derivatives_of_an_instant_against_differences(lift, rng):
    """All outputs by (y, y', y'', T), and second derivatives of their weighted sum: step 1e-6, error about 1e-8."""
    problem = lift.unsealed.problem
    node, h = problem.instant.node, 1e-6
    p = parameter_vector(problem.instant, problem.values)
    n, spline = problem.instant.n, problem.spline(lift.unsealed.x)
    z = np.concatenate([*(spline(np.array([0.4]), order)[0] for order in range(3)), [lift.duration]])
    z[: 3 * n] += rng.normal(scale=0.02, size=3 * n)
    m = rng.normal(size=node.size)
    dy, dz = node.derivatives(z[None], p[None], m[None])
    shifted = np.concatenate([z + h * np.eye(len(z)), z - h * np.eye(len(z))])
    y = node.value.ufunc(shifted, p)
    difference = (y[: len(z)] - y[len(z) :]) / (2 * h)
    scale = 1 + np.abs(difference).max(axis=0)
    assert (np.abs(dy[0] - difference) / scale).max() < 1e-6
    many = np.tile(p, (len(shifted), 1)), np.tile(m, (len(shifted), 1))
    gradient = node.derivatives(shifted, *many)[0] @ m
    second = (gradient[: len(z)] - gradient[len(z) :]) / (2 * h)
    assert np.abs(dz[0] - second).max() < 1e-6 * (1 + np.abs(second).max())


def test_a_fixed_duration_is_kept_and_one_too_short_says_what_would_be_possible(small):
    fixed = kc.lift(small, 10, 0.4, 1.0, duration=1.2)
    assert fixed.status == "optimal"
    assert fixed.duration == pytest.approx(1.2)
    hasty = kc.lift(small, 10, 0.4, 1.0, duration=0.25)
    assert hasty.status == "infeasible"
    assert "With more time it can be done: the shortest lift found takes" in hasty.message


@pytest.mark.parametrize(
    ("from_", "boards"), [((0.5, 0.33), {"shelf": 0.52}), ((0.75, 0.5), {"shelf": 0.52, "table": 0.5})]
)
def test_box_and_body_go_round_shelf_and_table(small, from_, boards):
    """On the ground before the shelf; on a table, with the shelf above the box."""
    lift = kc.lift(small, 5, from_, (1.3, 0.55), **boards)
    assert lift.status == "optimal"
    assert lift.check().boards > -0.005  # m: round edges
    assert lift.box[:, 2].min() < 0.37  # not straight up: the shelf is in the way


def test_niosh_of_the_task(lift):
    """By hand: 23 kg x 25/40 x (1 - .003 x 55) x (.82 + 4.5/80), and the same with 25/35 and 1 - .003 x 25."""
    assert lift.niosh["origin"].rwl == pytest.approx(23 * 0.625 * 0.835 * 0.87625)
    assert lift.niosh["destination"].rwl == pytest.approx(23 * 25 / 35 * 0.925 * 0.87625)
    assert lift.niosh["origin"].index == pytest.approx(0.9508, abs=5e-5)


def test_the_run_folder_holds_everything_and_gives_the_lift_back(lift, tmp_path):
    lift.save(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {
        "problem.yaml", "person.yaml", "result.json", "motion.csv", "solution.json", "log.txt", "report.html"
    }  # fmt: skip
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "optimal"
    assert {
        "message", "duration", "objective", "iterations", "seconds", "violation", "closure", "variables", "constraints",
        "versions", "lift", "ergonomics", "checks",
    } <= set(result)  # fmt: skip
    assert result["violation"]["between_nodes"] < BETWEEN
    asked = result["ergonomics"]
    assert asked["l5s1"]["peak_compression_n"] == lift.ergonomics.low_back.compression.max()
    assert asked["niosh"]["origin"]["li"] == lift.niosh["origin"].index
    for part in (asked["l5s1"], asked["niosh"]):
        assert part["source"]
        assert part["valid"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 4
    assert "://" not in page  # opens without a network
    again = read_run(tmp_path / "run")
    np.testing.assert_array_equal(again.q, lift.q)
    assert again.person == lift.person
    assert problem_data(again) == problem_data(lift)


def test_the_motion_file_is_one_that_kinecast_reads(lift):
    file = parse_motion(motion_csv(lift).splitlines(keepends=True), "motion.csv")
    series = file.joint_series(lift.person.coordinates)
    np.testing.assert_array_equal(series.a, lift.a)
    np.testing.assert_array_equal(file.numbers("grf.left.fy"), lift.reaction["l"][:, 1])
    np.testing.assert_array_equal(file.numbers("box.y"), lift.box[:, 1])
    np.testing.assert_allclose(file.numbers("cop.right.z"), lift.zmp[:, 1], atol=STILL)  # both feet alike
    assert {"cop.right.x", "zmp.z", "margin", "phase", "l5s1.compression", "tau.knee_l.flexion"} <= set(file.header)


def test_a_lift_that_is_not_a_solution_is_sealed_and_says_so_in_its_files(lift, tmp_path):
    assert lift.plot().axes
    failed = replace(lift, unsealed=replace(lift.unsealed, status="interrupted", message="Interrupted."))
    with pytest.raises(SealedError, match=r"this lift is not a solution .* use lift.acknowledge\(\)"):
        failed.q  # noqa: B018
    failed.save(tmp_path)
    assert (tmp_path / "motion_unsolved.csv").exists()
    assert not (tmp_path / "motion.csv").exists()
    assert "not a solution" in (tmp_path / "report.html").read_text()


def test_the_limit_of_time_ends_with_the_best_lift_so_far(small):
    lines, iterations = [], []
    found = kc.lift(
        small, 10, 0.4, 1.0, max_seconds=0.0, say=lines.append, report=lambda *told: iterations.append(told)
    )
    assert found.status == "time_limit"
    assert not found.ok
    assert lines[-2].startswith("time_limit")
    assert iterations[0][0] == "lift"


def test_ctrl_c_ends_with_the_best_lift_so_far(small):
    def interrupt(stage, iteration, *_):
        if iteration == 5:
            raise KeyboardInterrupt

    found = kc.lift(small, 10, 0.4, 1.0, report=interrupt)
    assert found.status == "interrupted"
    assert found.message.startswith("Interrupted after")
    assert found.acknowledge().q.shape == (201, small.n)


def test_what_is_asked_becomes_a_task_with_defaults_filled_in(small):
    settings = {"box": {"depth": 0.4}, "duration": (1, 2), "emphasis": {"knee": 2}, "shelf": 0.6, "coupling": "fair"}
    task = task_of(small, 10, 0.3, (1.0, 0.5), settings)
    assert task.from_ == (0.3, pytest.approx(0.4))  # 0.20 m and half the depth, as the NIOSH manual says
    assert task.to == (1.0, 0.5)
    assert task.box.width == 0.4
    assert task.duration == (1, 2)
    assert task.emphasis_of("knee_r.flexion") == 2
    assert len(task.boards) == 1


@pytest.mark.parametrize(
    ("mass", "from_", "to", "settings", "expected"),
    [
        (0, 0.2, 1.0, {}, "mass must be between 0.1 and 60 kg, got 0 kg"),
        ("ten", 0.2, 1.0, {}, "mass must be a number, got 'ten'"),
        (10, 0.05, 1.0, {}, "from_ height must be between 0.125 and 3 m, got 0.05 m"),
        (10, 0.2, (1.0, 0.4, 0.1), {}, "to must be a height or"),
        (10, 0.4, 0.4, {}, "start and end are the same place"),
        (10, 0.2, 1.0, {"boks": 1}, "did you mean 'box'"),
        (10, 0.2, 1.0, {"box": {"hight": 0.2}}, "did you mean 'height'"),
        (10, 0.2, 1.0, {"box": (0.3, 0.4)}, "box must be depth, width, height"),
        (10, 0.2, 1.0, {"duration": (2, 1)}, r"duration must be \(shortest, longest\), got \(2, 1\)"),
        (10, 0.2, 1.0, {"friction": -0.1}, "friction must not be negative"),
        (10, 0.2, 1.0, {"coupling": "god"}, "did you mean 'good'"),
        (10, 0.2, 1.0, {"hours": 12}, "hours must be above 0 and at most 8"),
        (10, 0.2, 1.0, {"control_points": 5}, "control_points must be 7 or more"),
        (10, 0.4, (2.6, 0.3), {}, r"the end is out of reach: .* nearest for this person is [12]\.\d{3} m high and"),
        (10, 0.6, (1.0, 0.05), {}, r"this person has not the strength or balance .* 10 kg can be held \d\.\d{3} m"),
        (10, 0.6, (0.3, 0.05), {}, r"the end is out of reach: .* clear of the body the nearest for this person is .*"),
        (55, 0.4, 1.0, {}, r"55 kg is beyond this person's strength or balance .* up to \d+\.\d kg can be held there"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(small, mass, from_, to, settings, expected):
    with pytest.raises(kc.InputError, match=expected) as caught:
        kc.lift(small, mass, from_, to, **settings)
    assert "\n" not in str(caught.value)


def test_people_who_cannot_lift_alike_with_both_sides_are_refused(people):
    with pytest.raises(kc.InputError, match="both sides lift alike, so left and right must be alike"):
        kc.lift(kc.human(1.75, 75, strength={"knee_r": 0.5}), 10, 0.2, 1.0)
    with pytest.raises(kc.InputError, match=r"cannot move elbow_r.flexion: a lift needs it free"):
        kc.lift(kc.human(1.75, 75, freeze=["elbow"]), 10, 0.2, 1.0)
    with pytest.raises(kc.InputError, match="carries something already"):
        kc.lift(carrying(people["man"], backpack=5), 10, 0.2, 1.0)
