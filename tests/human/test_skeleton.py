"""The skeleton: coordinates, symmetry, standing on the floor, frozen and changed joints; the room as a function."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import kinecast as kc
from kinecast.human.skeleton import human, mirror, stature
from kinecast.human.tables import rows
from kinecast.mechanism import Limits

ROUNDING = 1e-12
BRANCHES = {"pelvis": 6, "spine": 12, "neck": 5, "clavicle": 4, "shoulder": 6, "elbow": 4, "wrist": 4}
BRANCHES |= {"hip": 6, "knee": 2, "ankle": 4, "toe": 2}
# What papers on recursive dynamics of this skeleton need, 36 massless links folded away.
PUBLISHED_OPERATIONS = 4613


@pytest.fixture(scope="module")
def man():
    return kc.human(1.75, 75, "male")


def test_fifty_five_coordinates_in_six_branches(man):
    assert man.n == 55
    for joint, count in BRANCHES.items():
        assert sum(name.startswith(joint) for name in man.coordinates) == count
    assert kc.human(1.75, 75, "male", freeze="walking").n == 39
    assert man.mass == pytest.approx(75, rel=ROUNDING)


def test_massless_links_fold_away(man):
    """Of 55 links 34 carry no mass; they cost nothing but the turning of axes."""
    counts = man.operation_counts("inverse_dynamics")
    assert sum(joint.mass == 0 for joint in man.joints) == 34
    assert counts.multiplications + counts.additions + counts.trig <= PUBLISHED_OPERATIONS


def test_the_standing_person_is_on_the_floor_as_tall_as_said_and_in_balance(man):
    q = np.zeros(55)
    for point in ("heel_r", "ball_r", "toe_r", "heel_inner_l", "ball_outer_l", "toe_l"):
        assert man.pose(point, q)[1, 3] == pytest.approx(0, abs=ROUNDING)
    assert man.pose("head_top", q)[1, 3] == pytest.approx(1.75)
    assert stature(man) == pytest.approx(1.75)
    x, height, z = man.center_of_mass(q)
    assert abs(x) < ROUNDING
    assert 0.54 * 1.75 < height < 0.58 * 1.75  # 55 to 57 % of stature in every textbook
    assert man.pose("heel_r", q)[2, 3] < z < man.pose("toe_r", q)[2, 3]


def test_mirrored_motions_have_mirrored_torques(man, rng):
    exchange = mirror(man)
    q, v, a = (0.3 * rng.normal(size=(5, 55)) for _ in range(3))
    mirrored = man.inverse_dynamics(exchange(q), exchange(v), exchange(a))
    expected = exchange(man.inverse_dynamics(q, v, a))
    np.testing.assert_allclose(mirrored, expected, atol=ROUNDING * np.abs(expected).max())


@pytest.mark.parametrize(
    ("coordinate", "point", "axis", "sign"),
    [
        ("hip_r.flexion", "ball_r", 2, 1),  # the foot goes forward
        ("knee_r.flexion", "ball_r", 2, -1),
        ("ankle_l.dorsiflexion", "toe_l", 1, 1),
        ("hip_l.abduction", "ball_l", 0, 1),  # the left foot goes left
        ("hip_r.abduction", "ball_r", 0, -1),
        ("hip_r.internal_rotation", "toe_r", 0, 1),
        ("spine1.flexion", "head_top", 2, 1),
        ("shoulder_l.flexion", "grip_l", 2, 1),
        ("elbow_r.flexion", "grip_r", 2, 1),
        ("toe_r.extension", "toe_r", 1, 1),
    ],
)
def test_coordinates_are_positive_in_the_direction_of_their_names(man, coordinate, point, axis, sign):
    q = np.zeros(55)
    q[man.coordinates.index(coordinate)] = 0.1
    assert sign * (man.pose(point, q)[axis, 3] - man.pose(point, np.zeros(55))[axis, 3]) > 0.003


def test_strength_grows_with_size_and_percentile_and_every_limit_says_its_source(man):
    def knee(**given):
        return kc.human(**({"stature": 1.75, "mass": 75, "sex": "male"} | given)).joint("knee_r.flexion").limits.tau

    assert knee() == pytest.approx((-168, 100))
    assert knee(mass=90) == pytest.approx((-168 * 1.2, 120))
    assert knee(sex="female") == pytest.approx((-126, 75))
    assert knee(strength_percentile=5)[1] < 100 < knee(strength_percentile=95)[1]
    for row in rows("coordinates"):
        assert bool(row["limit_source"]) == bool(row["lower_deg"])
        assert bool(row["torque_source"]) == bool(row["torque_lower"])
    for table, column in (("landmarks", "source"), ("segments", "row")):
        assert all(row[column] for row in rows(table))


def test_weak_and_stiff_joints():
    person = kc.human(
        1.75,
        75,
        strength={"knee": 0.5, "knee_l": 0.25},
        limits={"ankle.dorsiflexion": (-0.1, 0.2), "toe_r": Limits(tau=5)},
    )
    assert person.joint("knee_r.flexion").limits.tau == pytest.approx((-84, 50))
    assert person.joint("knee_l.flexion").limits.tau == pytest.approx((-42, 25))
    assert person.joint("ankle_l.dorsiflexion").limits.q == (-0.1, 0.2)
    assert person.joint("ankle_l.dorsiflexion").limits.tau == pytest.approx((-200, 43))
    assert person.joint("toe_r.extension").limits.q == pytest.approx(np.deg2rad([-30, 70]))
    assert person.joint("toe_r.extension").limits.tau == (-5, 5)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"freeze": "wirst"}, "did you mean 'wrist'"),
        ({"freeze": ["neck", "pelvis.up"]}, "'pelvis.up' cannot be frozen"),
        ({"strength": {"knees": 0.5}}, "did you mean 'knee'"),
        ({"strength": {"knee": -1}}, "strength of knee_r.flexion must be between 0 and 10"),
        ({"limits": {"elbow": (1, 0)}}, "lower <= upper"),
        ({"strength_percentile": 100}, "strength_percentile must be between 1 and 99"),
    ],
)
def test_what_cannot_be_is_refused(given, expected):
    with pytest.raises(kc.InputError, match=expected):
        human(1.75, 75, "male", **given)


def test_the_room_is_a_function_whatever_was_imported_first():
    assert list(inspect.signature(kc.human).parameters)[:3] == ["stature", "mass", "sex"]
    code = (
        "import kinecast.human.contact, kinecast as kc; assert kc.human(1.75, 75).n == 55; from kinecast import human"
    )
    code += "; assert human(percentile=5, sex='female').n == 55; import kinecast.human as room; assert room is human"
    subprocess.run([sys.executable, "-c", code], check=True)
