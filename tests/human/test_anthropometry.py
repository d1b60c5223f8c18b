"""A person's measures: published numbers, sums, physical inertias, measured values in place of the tables'."""

import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.human.anthropometry import Body

ROUNDING = 1e-12  # sums of some dozen masses and lengths
SEXES = ("male", "female")


@pytest.mark.parametrize("sex", SEXES)
def test_masses_add_up_and_every_inertia_is_one_that_a_body_can_have(sex):
    segments = Body.of(1.68, 70, sex).segments()
    assert sum(segment.mass for segment in segments.values()) == pytest.approx(70, rel=ROUNDING)
    for segment in segments.values():
        moments = np.linalg.eigvalsh(segment.inertia)
        assert moments[0] > 0
        assert moments[2] <= moments[0] + moments[1] + ROUNDING


def test_segments_are_de_levas():
    """Men, table 4 of de Leva 1996: thigh 14.16 % of mass, centre at 40.95 %, radii .329, .329, .149 of the length."""
    thigh = Body.of(1.741, 73, "male").segments()["thigh_l"]
    length = (0.53 - 0.285) * 1.741  # Drillis and Contini 1966
    assert thigh.mass == pytest.approx(0.1416 * 73, rel=1e-3)
    assert thigh.com[1] == pytest.approx(0.53 * 1.741 - 0.4095 * length)
    assert np.diag(thigh.inertia) == pytest.approx(thigh.mass * (length * np.array([0.329, 0.149, 0.329])) ** 2)


@pytest.mark.parametrize("sex", SEXES)
def test_parts_of_trunk_and_foot_have_the_mass_and_centre_of_the_whole(sex):
    body = Body.of(1.7, 65, sex)
    segments, s = body.segments(), sex[0]
    fraction = {"m": (0.0137, 0.4415), "f": (0.0129, 0.4014)}[s]
    rear, fore = segments["rearfoot_r"], segments["forefoot_r"]
    mass = rear.mass + fore.mass
    centre = (rear.mass * rear.com + fore.mass * fore.com) / mass
    assert mass == pytest.approx(fraction[0] * 65, rel=1e-3)
    assert centre[2] == pytest.approx(-0.038 * 1.7 + fraction[1] * 0.152 * 1.7)
    high, low = segments["thorax_high"], segments["thorax_low"]
    trunk = body.landmark("cervicale_height") + body.landmark("xiphion_height")
    assert (high.com + low.com)[1] == pytest.approx(trunk)


@pytest.mark.parametrize("sex", SEXES)
def test_head_and_neck_have_the_mass_centre_and_inertia_of_the_whole(sex):
    body = Body.of(1.7, 65, sex)
    parts = [body.segments()[name] for name in ("head", "neck")]
    share, com, trans = {"male": (0.0694, 0.5002, 0.315), "female": (0.0668, 0.4841, 0.295)}[sex]
    length = 1.7 - body.landmark("cervicale_height")
    mass = sum(part.mass for part in parts)
    centre = sum(part.mass * part.com for part in parts) / mass
    assert mass == pytest.approx(share * 65, rel=1e-3)
    assert centre[1] == pytest.approx(1.7 - com * length)
    nodding = sum(part.inertia[0, 0] + part.mass * (part.com - centre)[1] ** 2 for part in parts)
    assert nodding == pytest.approx(mass * (trans * length) ** 2)


def test_left_and_right_are_mirror_images():
    segments = Body.of(1.6, 55, "female").segments()
    flip = np.diag([-1.0, 1.0, 1.0])
    for name, left in segments.items():
        if name.endswith("_l"):
            right = segments[f"{name[:-2]}_r"]
            assert right.mass == left.mass
            np.testing.assert_array_equal(right.com, flip @ left.com)
            np.testing.assert_array_equal(right.inertia, flip @ left.inertia @ flip)


def test_percentiles_of_the_survey():
    """ANSUR II: men 1756 mm, sd 69 mm; the 95th percentile is 1.645 sd above."""
    assert Body.of(percentile=50).stature == pytest.approx(1.756, abs=1e-3)
    assert Body.of(percentile=95).stature == pytest.approx(1.756 + 1.645 * 0.0686, abs=1e-3)
    assert Body.of(percentile=50, sex="female").mass == pytest.approx(67.8, rel=0.01)


def test_measured_values_take_the_tables_place():
    plain = Body.of(1.75, 75)
    body = Body.of(1.75, 75, measured={"thigh.mass": 11.0, "shank.length": 0.46, "thigh.com": 0.45, "hand.mass": 0.5})
    segments = body.segments()
    assert segments["thigh_r"].mass == 11.0
    assert segments["hand_l"].mass == 0.5
    assert sum(segment.mass for segment in segments.values()) == pytest.approx(75, rel=ROUNDING)
    # What is not measured keeps its proportions.
    ratio = segments["shank_l"].mass / plain.segments()["shank_l"].mass
    assert segments["head"].mass / plain.segments()["head"].mass == pytest.approx(ratio)
    # A longer shank lifts the knee and the hip, not what is given from the floor.
    assert body.landmark("knee_height") - body.landmark("ankle_height") == pytest.approx(0.46)
    thigh = plain.landmark("hip_height") - plain.landmark("knee_height")
    assert body.landmark("hip_height") - body.landmark("knee_height") == pytest.approx(thigh)
    assert body.landmark("lumbosacral_height") == plain.landmark("lumbosacral_height")
    assert Body.of(1.75, 75, measured={"forearm.length": 0.27}).landmark("grip_height") == pytest.approx(
        plain.landmark("grip_height") + 0.146 * 1.75 - 0.27
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"stature": 3, "mass": 75}, "stature must be between 1.3 and 2.2 m, got 3 m"),
        ({"stature": 1.75, "mass": 0}, "mass must be between 35 and 180 kg, got 0 kg"),
        ({"stature": 1.9, "mass": 40}, "body mass index of 11.1 .* 51 to 180 kg"),
        ({"stature": 1.75, "mass": 75, "sex": "man"}, "unknown sex 'man'; did you mean 'male'"),
        ({"stature": "tall", "mass": 75}, "stature must be a number, got 'tall'"),
        ({"stature": 1.75}, "stature .* and mass .* are needed"),
        ({"percentile": 0}, "percentile must be between 1 and 99, got 0"),
        ({"percentile": 50, "mass": 75}, "not both"),
        ({"stature": 1.75, "mass": 75, "measured": {"thigs.mass": 9}}, "did you mean 'thigh.mass'"),
        ({"stature": 1.75, "mass": 75, "measured": {"thigh.mass": "9 kg"}}, "thigh.mass must be a positive number"),
        ({"stature": 1.75, "mass": 75, "measured": {"foot.rg": 0.3}}, "foot.rg must be three positive numbers"),
        ({"stature": 1.75, "mass": 75, "measured": {"thigh.mass": 38}}, "leave -1 kg of 75 kg"),
        ({"stature": 1.75, "mass": 75, "measured": {"knee_height": 1.0}}, "knee_height 1.000 m must be below hip"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(given, expected):
    with pytest.raises(InputError, match=expected) as caught:
        Body.of(**given).segments()
    assert "\n" not in str(caught.value)
