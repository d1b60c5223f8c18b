"""Torque files: what is read from them, and what is refused with file, line and what would be right."""

import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.simulate.torques import torques_from

JOINTS = ("shoulder", "elbow")
HEADER = "t,tau.shoulder,tau.elbow"


def written(folder, rows, header=HEADER):
    path = folder / "torques.csv"
    path.write_text("\n".join([header, *rows, ""]))
    return path


def even(*times):
    return [f"{t:g},1,2" for t in times]


def test_torques_are_interpolated_without_overshoot(tmp_path):
    """A switch from -10 to 10 between two rows stays between them, and what is constant stays so."""
    rows = [f"{t},{-10 if t < 0.5 else 10},{3 * t}" for t in (0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    torque = torques_from(written(tmp_path, rows), JOINTS, 1.0)
    values = np.array([torque(t) for t in np.linspace(0, 1, 101)])
    assert values[:, 0].min() == -10
    assert values[:, 0].max() == 10
    assert np.abs(np.diff(values[:, 0])).max() < 2  # smooth, not a jump
    assert values[:, 1] == pytest.approx(3 * np.linspace(0, 1, 101))


def test_a_last_row_that_is_early_by_rounding_is_enough(tmp_path):
    torque = torques_from(written(tmp_path, even(0, 1, 1.9999999999)), JOINTS, 2.0)
    assert torque(2.0) == pytest.approx([1, 2])


def test_columns_may_stand_in_any_order_beside_others(tmp_path):
    torque = torques_from(written(tmp_path, ["0,7,2,1", "1,x,2,1"], "t,note,tau.elbow,tau.shoulder"), JOINTS, 1.0)
    assert torque(0.5) == pytest.approx([1, 2])


REFUSED = {
    "a gap": (
        even(*np.arange(0, 1, 0.05), *np.arange(2, 3.01, 0.05)),
        HEADER,
        r"torques.csv: a gap from t = 0.95 \(line 21\) to t = 2 s \(line 22\), where rows are 0.05 s apart; add",
    ),
    "time going back": (
        even(0, 0.5, 0.4, 1),
        HEADER,
        r"torques.csv, line 4: t = 0.4 is before t = 0.5 of line 3; time must increase",
    ),
    "time standing still": (even(0, 0.5, 0.5, 1), HEADER, r"line 4: t = 0.5 repeats t = 0.5 of line 3"),
    "a misspelt column": (
        even(0, 1),
        "t,tau.shoulder,tau.elbo",
        r"column tau.elbo names no coordinate of the mechanism; did you mean tau.elbow\?",
    ),
    "a column of another mechanism": (
        even(0, 1),
        "t,tau.shoulder,tau.x99",
        r"column tau.x99 names no coordinate of the mechanism; ",
    ),
    "a missing column": (["0,1", "1,1"], "t,tau.shoulder", r"torques.csv: there is no column tau.elbow$"),
    "no torques": (["0,1", "1,1"], "t,q.shoulder", r"there is no column tau.shoulder; `kinecast id` computes torques"),
    "no time": (["0,1,2", "1,1,2"], "s,tau.shoulder,tau.elbow", r"there is no column t \(time in seconds\)"),
    "too short": (even(0, 0.5), HEADER, r"has torques from t = 0 to 0.5 s, the simulation goes from 0 to 1 s"),
    "too late": (even(0.5, 1), HEADER, r"has torques from t = 0.5 to 1 s, the simulation goes from 0 to 1 s"),
    "one row": (even(0), HEADER, r"one row is not enough for torques over time"),
    "not a number": (["0,1,2", "1,?,2"], HEADER, r"line 3, column tau.shoulder: '\?' is not a number"),
    "not finite": (["0,1,2", "1,nan,2"], HEADER, r"line 3, column tau.shoulder: nan is not a finite number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, tmp_path):
    rows, header, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        torques_from(written(tmp_path, rows, header), JOINTS, 1.0 if "gap" not in name else 3.0)
