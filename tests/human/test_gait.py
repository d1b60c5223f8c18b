"""Numbers of gait: peaks, correlations with normal gait, the tables of normal gait themselves."""

import numpy as np
import pytest

import kinecast
from kinecast.human.walking.gait import Curves, normal_curves, normative, vertical_peaks

PERCENT = np.linspace(0, 100, 201)


def curves_of(normal, scale=1.0, shift=0.0):
    values = {each.name: scale * each.at(PERCENT) + shift for each in normal}
    angle, moment, force = (
        {name.removesuffix(f"_{kind}"): x for name, x in values.items() if name.endswith(kind)}
        for kind in ("angle", "moment", "force")
    )
    return Curves(PERCENT, angle, moment, force, {})


@pytest.fixture(scope="module")
def normal():
    return normal_curves()


def test_the_tables_turn_where_the_literature_says(normal):
    """Winter 1991 and Schwartz et al. 2008: values and percents of the turning points."""
    at = {each.name: each.at(np.arange(101.0)) for each in normal}
    for name, percent, value, tolerance in (
        ("hip_angle", 52, -11, 1), ("hip_angle", 88, 22, 1), ("knee_angle", 14, 22, 1), ("knee_angle", 40, 8, 1),
        ("knee_angle", 72, 65, 1), ("ankle_angle", 44, 10, 1), ("ankle_angle", 66, -20, 1),
        ("vertical_force", 14, 1.10, 0.02), ("vertical_force", 30, 0.72, 0.02), ("vertical_force", 48, 1.08, 0.02),
        ("fore_aft_force", 10, -0.20, 0.02), ("fore_aft_force", 52, 0.22, 0.02), ("ankle_moment", 48, 1.23, 0.02),
        ("knee_moment", 12, 0.37, 0.02), ("hip_moment", 2, 0.73, 0.07),
    ):  # fmt: skip
        assert at[name][percent] == pytest.approx(value, abs=tolerance), name
    # Over a stride of two steps a foot carries half of the body's weight: 2 means are .97 in Winter's data.
    assert 2 * at["vertical_force"][:-1].mean() == pytest.approx(0.97, abs=0.02)


def test_normal_gait_is_like_itself_and_a_shift_is_seen_in_the_difference(normal):
    for entry in normative(curves_of(normal)):
        assert entry["r"] == pytest.approx(1)
        assert entry["rmse"] == pytest.approx(0, abs=1e-9)
    for entry in normative(curves_of(normal, shift=2.0)):
        assert entry["r"] == pytest.approx(1)
        assert entry["rmse"] == pytest.approx(2)
    assert all(entry["r"] == pytest.approx(-1) for entry in normative(curves_of(normal, scale=-1.0)))


def test_peaks_and_valley_of_the_vertical_force(normal):
    first, valley, second = vertical_peaks(curves_of(normal))
    assert (first, valley, second) == pytest.approx((1.10, 0.72, 1.08), abs=0.01)


@pytest.mark.parametrize(("speed", "step_length"), [(1.2, None), (1.3, 0.65)])
def test_a_predicted_walk_looks_like_walking(speed, step_length):
    """A man of 1.75 m and 75 kg; the ranges hold what the five groups of normal_ranges.csv show, and some room."""
    gait = kinecast.walk(kinecast.human(1.75, 75, "male", freeze="walking"), speed, step_length).gait
    near = {entry["curve"]: entry["r"] for entry in gait["normative"]}
    assert min(near[curve] for curve in ("hip_angle", "knee_angle", "vertical_force", "fore_aft_force")) > 0.95
    assert min(near[curve] for curve in ("ankle_angle", "ankle_moment")) > 0.9
    first, valley, second = gait["vertical_grf_peaks_bw"]
    braking, pushing = gait["fore_aft_grf_peaks_bw"]
    plantar, dorsal = gait["extremes_deg"]["ankle"]
    for value, low, high in (
        (first, 1.0, 1.25), (second, 1.0, 1.25), (valley, 0.6, 0.9), (-braking, 0.1, 0.25), (pushing, 0.1, 0.3),
        (gait["range_deg"]["hip"], 30, 50), (gait["knee_deg"]["stance_flexion"], 10, 25),
        (gait["knee_deg"]["swing"], 55, 70), (dorsal, 5, 15), (-plantar, 10, 25),
        (gait["peak_moment_nm_per_kg"]["ankle_plantarflexion"], 1.0, 1.7),
    ):  # fmt: skip
        assert low < value < high
    assert np.abs([gait["pelvis_deg"][motion] for motion in ("list", "turn")]).max() < 10
