"""Low back, joint strength and the NIOSH equation against hand calculations, for any motion."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinecast as kc
from kinecast.human.carrying import carrying
from kinecast.human.ergonomics.low_back import LIMIT, low_back, sacral_angle
from kinecast.human.ergonomics.niosh import frequency_multiplier, niosh
from kinecast.human.ergonomics.strength import FASTEST, leg_strength, strength_use, surface
from kinecast.human.run_folder import motion_text

ROUNDING = 1e-9  # forces of a thousand newtons in double precision
# The manual rounds every multiplier to two decimals, and its inches make 25.4 cm of the metric form's 25 cm.
MANUAL = 0.015  # of a multiplier
MANUAL_RWL = 0.06


@pytest.fixture(scope="module")
def man():
    return kc.human(1.75, 75, "male", freeze="walking")


def still(man, **degrees):
    """A motion of one sample at rest: the coordinates given, the others at 0."""
    q = np.zeros((1, man.n))
    for name, angle in degrees.items():
        for k, coordinate in enumerate(man.coordinates):
            if coordinate.replace("_r.", ".").replace("_l.", ".") == name.replace("__", "."):
                q[0, k] = np.deg2rad(angle)
    return SimpleNamespace(q=q, v=np.zeros_like(q), a=np.zeros_like(q))


# -------------------------------------------------------------------------------------------------------------- NIOSH


@pytest.mark.parametrize(
    ("given", "multipliers", "rwl"),
    [
        # By hand: 23 x .625 x .835 x .87625.
        ({"horizontal": 0.40, "vertical": 0.20, "travel": 0.80}, [0.625, 0.835, 0.87625, 1, 1, 1], 10.51774),
        # By hand: 23 x 25/35 x .925 x .87625 x .9 x .808 x .88; 30 degrees aside, 3 lifts a minute for an hour, poor.
        (
            {"horizontal": 0.35, "vertical": 1.0, "travel": 0.80, "asymmetry_deg": 30, "lifts_per_minute": 3}
            | {"coupling": "poor"},
            [25 / 35, 0.925, 0.87625, 0.904, 0.88, 0.9],
            23 * 25 / 35 * 0.925 * 0.87625 * 0.904 * 0.88 * 0.9,
        ),
        # The ideal lift: close, at knuckle height, hardly raised.
        ({"horizontal": 0.20, "vertical": 0.75, "travel": 0.10}, [1, 1, 1, 1, 1, 1], 23.0),
    ],
)
def test_niosh_by_hand(given, multipliers, rwl):
    found = niosh(10, **given)
    np.testing.assert_allclose(list(found.multipliers.values()), multipliers, rtol=1e-12)
    assert found.rwl == pytest.approx(rwl, rel=1e-6)
    assert found.index == pytest.approx(10 / rwl, rel=1e-6)
    assert list(found.multipliers) == ["HM", "VM", "DM", "AM", "FM", "CM"]


@pytest.mark.parametrize(
    ("vertical", "multipliers", "rwl"),
    [(15, [0.44, 0.89, 0.86, 1, 1, 0.95], 16.3), (64, [0.44, 0.75, 0.86, 1, 1, 1], 14.5)],
)
def test_niosh_of_the_manual_s_punch_press(vertical, multipliers, rwl):
    """Example 1 of the manual: 44 lb, H 23 in, V 15 in to 64 in, fair coupling; RWL 16.3 lb and 14.5 lb."""
    inch, pound = 0.0254, 0.45359237
    found = niosh(44 * pound, horizontal=23 * inch, vertical=vertical * inch, travel=49 * inch, coupling="fair")
    np.testing.assert_allclose(list(found.multipliers.values()), multipliers, atol=MANUAL)
    assert found.rwl / pound == pytest.approx(rwl, rel=MANUAL_RWL)
    assert found.index == pytest.approx(44 / rwl, rel=MANUAL_RWL)


def test_beyond_its_range_niosh_allows_nothing_and_says_why():
    inside = niosh(10, horizontal=0.63, vertical=1.75, travel=1.75, asymmetry_deg=135)
    assert inside.rwl > 0
    assert not inside.remarks
    outside = niosh(10, horizontal=0.64, vertical=1.8, travel=1.8, asymmetry_deg=140, lifts_per_minute=16)
    assert outside.rwl == 0
    assert outside.index == np.inf
    assert len(outside.remarks) == 5
    assert outside.as_data()["li"] is None


def test_frequency_multipliers_of_table_5():
    assert frequency_multiplier(0.1, 1, 0.5) == 1.0
    assert frequency_multiplier(0.2, 8, 0.5) == 0.85
    assert frequency_multiplier(4, 1.5, 0.5) == 0.72  # up to 2 hours
    assert frequency_multiplier(9, 8, 0.74) == 0.0
    assert frequency_multiplier(9, 8, 0.75) == 0.15
    assert frequency_multiplier(12.5, 1, 1.0) == pytest.approx((0.37 + 0.34) / 2)
    assert frequency_multiplier(15.1, 1, 1.0) == 0.0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"horizontal": -0.1}, "horizontal must be a number of at least 0, got -0.1"),
        ({"vertical": "low"}, "vertical must be a number of at least 0, got 'low'"),
        ({"hours": 9}, "hours must be above 0 and at most 8, got 9"),
        ({"coupling": "godd"}, "did you mean 'good'"),
    ],
)
def test_what_niosh_cannot_take_is_refused_in_one_line(given, expected):
    with pytest.raises(kc.InputError, match=expected):
        niosh(10, **{"horizontal": 0.4, "vertical": 0.5, "travel": 0.5} | given)


# ------------------------------------------------------------------------------------------------------------ low back


def test_the_sacral_angle_of_standing_and_stooping():
    """By hand: 40 - 17.5 + .23 x 180 - .00075 x 180^2 = 39.6; stooped by 60 with straight knees 63.4."""
    assert np.rad2deg(sacral_angle(0.0, np.pi)) == pytest.approx(39.6)
    assert np.rad2deg(sacral_angle(np.deg2rad(60), np.pi)) == pytest.approx(39.6 - 7.2 + 12.96 + 18)


def test_the_low_back_at_rest_is_moment_over_arm_and_weight_along_the_normal(man):
    """Moment and weight from the engine's own inverse dynamics and from the masses above the joint."""
    loaded = carrying(man, hands=20)
    stoop = still(loaded, **{"pelvis.tilt": 40, "spine1.flexion": 15, "shoulder.flexion": 55})
    found = low_back(loaded, stoop)
    mechanism = kc.Mechanism.of(loaded)
    bending = -mechanism.inverse_dynamics(stoop.q, stoop.v, stoop.a)[0, loaded.coordinates.index("spine1.flexion")]
    assert found.moment[0] == pytest.approx(bending, rel=1e-9)
    above = {"spine1.flexion"}
    for k in loaded.order:  # parents first
        joint = loaded.joints[k]
        if joint.parent in above:
            above.add(joint.name)
    weight = 9.81 * sum(joint.mass for joint in loaded.joints if joint.name in above)
    sacral = found.sacral[0]
    assert found.compression[0] == pytest.approx(bending / 0.05 + weight * np.cos(sacral), rel=1e-9)
    assert found.shear[0] == pytest.approx(weight * np.sin(sacral), rel=1e-9)
    further = low_back(loaded, stoop, muscle_arm=0.06)
    assert further.compression[0] == pytest.approx(bending / 0.06 + weight * np.cos(sacral), rel=1e-9)


def test_compression_grows_with_load_and_stoop_and_is_of_the_published_order(man):
    def compression(hands, tilt):
        loaded = carrying(man, hands=hands)
        return low_back(loaded, still(loaded, **{"pelvis.tilt": tilt, "shoulder.flexion": tilt})).compression[0]

    assert 200 < compression(0, 0) < 900  # N: standing
    by_load, by_tilt = [compression(m, 60) for m in (0, 5, 10, 20)], [compression(10, x) for x in (0, 20, 40, 60)]
    assert by_load == sorted(by_load)
    assert by_tilt == sorted(by_tilt)
    assert by_load[0] < LIMIT + 500
    assert 3000 < by_load[-1] < 6500


def test_low_back_refuses_what_it_is_not_for(man):
    with pytest.raises(kc.InputError, match=r"muscle_arm must be between 0.02 and 0.15 m, got 5"):
        low_back(man, still(man), muscle_arm=5)
    with pytest.raises(kc.InputError, match=r"has no coordinate spine1.flexion"):
        low_back(kc.human(1.75, 75, freeze=["spine"]), still(man))


# ------------------------------------------------------------------------------------------------------------ strength


def test_legs_have_three_quarters_and_half_of_their_strength_at_the_published_speeds():
    for sex in ("male", "female"):
        for coefficients in leg_strength(sex, 75, 1.75).values():
            most, _, best, three_quarters, half, _ = coefficients
            assert surface(coefficients, best, 0.0) == pytest.approx(most)
            assert surface(coefficients, best, three_quarters) == pytest.approx(0.75 * most)
            assert surface(coefficients, best, half) == pytest.approx(0.5 * most)
            assert surface(coefficients, best, 2 * FASTEST) == surface(coefficients, best, FASTEST)
    # A man's knee extension (Anderson et al. 2007, table 3): 0.163 m g H; by hand at -1 rad/s, lengthening:
    # (2 x 1.517 x 3.952 + 3.952 - 4.551) / (2 x 1.517 x 3.952 + 7.904 - 6.068) x (1 + .095) = 0.9023
    knee = leg_strength("male", 75, 1.75)["knee_extension"]
    assert knee[0] == pytest.approx(0.163 * 75 * 9.81 * 1.75)
    assert surface(knee, knee[2], -1.0) == pytest.approx(0.9022 * knee[0], rel=1e-4)


def test_strength_use_is_torque_over_strength_in_its_direction(man):
    q, v, tau = np.zeros((3, 1, man.n))
    knee, elbow = (man.coordinates.index(name) for name in ("knee_r.flexion", "elbow_r.flexion"))
    tau[0, knee], tau[0, elbow] = -50.0, 20.0
    q[0, knee], v[0, knee] = 1.0, -1.5
    use = strength_use(man, q, v, tau)
    extension = leg_strength("male", 75, 1.75)["knee_extension"]
    assert use[0, knee] == pytest.approx(50 / surface(extension, 1.0, 1.5))
    assert use[0, elbow] == pytest.approx(20 / man.movable[elbow].limits.tau[1])
    assert use[0, :6].max() == 0
    woman = strength_use(man, q, v, tau, sex="female")
    assert woman[0, knee] != use[0, knee]
    with pytest.raises(kc.InputError, match="did you mean 'male'"):
        strength_use(man, q, v, tau, sex="mael")


# ------------------------------------------------------------------------------------------------------------- motions


def test_a_recorded_motion_is_assessed_from_its_file(man, tmp_path):
    """Bending and rising within 4 s, written to a file without torques and read again."""
    t = np.linspace(0, 4, 81)
    bend = 0.5 * (1 - np.cos(2 * np.pi * t / 4))
    q = np.outer(bend, still(man, **{"spine1.flexion": 18, "shoulder.flexion": 40, "hip.flexion": 30}).q[0])
    q[:, man.coordinates.index("pelvis.tilt")] = np.deg2rad(30) * bend
    path = tmp_path / "bending.csv"
    path.write_text(motion_text({"t": t} | {f"q.{name}": q[:, k] for k, name in enumerate(man.coordinates)}))
    loaded = carrying(man, hands=10)
    found = kc.assess(loaded, path)
    peak = int(np.argmax(found.low_back.compression))
    assert abs(peak - 40) <= 4  # in the middle, where the trunk is bent most
    summary = found.summary()
    assert summary["l5s1"]["peak_compression_n"] == pytest.approx(found.low_back.compression[peak])
    assert summary["hardest_joint"] in found.peak_use()
    assert found.peak_use()["spine1.flexion"] > 0.2
    alone = kc.assess(man, path)
    assert alone.low_back.compression.max() < found.low_back.compression.max() - 300


def test_a_walk_is_assessed_with_its_own_torques_or_by_inverse_dynamics(man):
    walk = kc.walk(man, 1.2, 0.6)
    own = kc.assess(walk.person, walk, tau=walk.tau)
    compression = own.low_back.compression
    assert compression.min() > 0
    assert 300 < compression.mean() < 1500  # N: one or two times the weight of the trunk
    assert compression.max() < LIMIT
    ankle = man.coordinates.index("ankle_r.dorsiflexion")
    anew = kc.assess(walk.person, walk)
    np.testing.assert_allclose(anew.low_back.compression, compression, atol=ROUNDING)
    # Between both feet the ground is split otherwise than in the walk's own solution.
    assert anew.use[:, ankle].max() == pytest.approx(own.use[:, ankle].max(), abs=0.15)
