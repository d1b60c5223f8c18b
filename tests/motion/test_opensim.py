"""OpenSim's .mot and .sto: read into our names and units, written so that OpenSim and we read the same again."""

import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.mechanism import Structure
from kinecast.motion.files import parse_motion, read_motion

ARM = Structure.load("slider_arm")  # slide (m), turn (rad)
DEGREES = """Coordinates
version=1
nRows=3
nColumns=4
inDegrees=yes

Units are S.I. units (second, meters, Newtons, ...)
Angles are in degrees.
endheader
time\tslide\tturn\temg
0\t0.5\t90\t0.25
0.5\t0.25\t-180\t7
1\t0.125\t45\t8
"""


def written(tmp_path, text, name="m.mot"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_angles_become_radians_and_lengths_stay(tmp_path):
    file = read_motion(written(tmp_path, DEGREES), ARM)
    assert file.header == ("t", "q.slide", "q.turn", "emg")
    series = file.joint_series(ARM.coordinates)
    np.testing.assert_array_equal(series.t, [0, 0.5, 1])
    np.testing.assert_array_equal(series.q, [[0.5, np.pi / 2], [0.25, -np.pi], [0.125, np.pi / 4]])
    assert [row[3] for row in file.cells] == ["0.25", "7", "8"]
    assert file.lines == (11, 12, 13)


def test_states_of_a_simulation_are_positions_and_speeds(tmp_path):
    text = (
        "states\nversion=1\ninDegrees=no\nendheader\n"
        "time /jointset/a/slide/value /jointset/a/slide/speed /jointset/b/turn/value /jointset/b/turn/speed\n"
        " 0  1 2 3 4\n 1  5 6 7 8\n"
    )
    series = read_motion(written(tmp_path, text, "run.STO"), ARM).joint_series(ARM.coordinates)
    np.testing.assert_array_equal(series.q, [[1, 3], [5, 7]])
    np.testing.assert_array_equal(series.v, [[2, 4], [6, 8]])
    assert series.splined == ("a.slide", "a.turn")


@pytest.mark.parametrize("name", ["out.mot", "out.sto"])
def test_what_is_written_is_read_again(tmp_path, rng, name):
    values = rng.normal(size=(4, 20))
    columns = dict(zip(("q.slide", "q.turn", "tau.turn", "margin"), values, strict=True))
    csv = parse_motion(["n,t\n", *(f"{k},{k / 10}\n" for k in range(20))], "m.csv").with_columns(columns)
    csv.write(tmp_path / name)
    lines = (tmp_path / name).read_text().splitlines()
    assert lines[:6] == ["out", "version=1", "nRows=20", "nColumns=6", "inDegrees=no", "endheader"]
    assert lines[6].split("\t") == ["time", "n", "slide", "turn", "tau.turn", "margin"]
    again = read_motion(tmp_path / name, ARM)
    for column, numbers in columns.items():
        np.testing.assert_array_equal(again.numbers(column), numbers)
    again.write(tmp_path / "again.csv")
    assert read_motion(tmp_path / "again.csv").header == ("t", "n", *columns)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("endheader\n", "", "m.mot: has no line 'endheader', which must end the head of a .mot or .sto file"),
        ("nRows=3", "nRows=4", "m.mot: its head promises 4 rows and there are 3"),
        ("nColumns=4", "nColumns=5", "m.mot: its head promises 5 columns and there are 4"),
        ("\t-180\t", "\tx\t", "m.mot, line 12, column q.turn: 'x' is not a number"),
        ("\t-180\t", "\t", "m.mot, line 12: has 3 cells where the header has 4"),
        ("time\t", "times\t", "m.mot: there is no column t (time in seconds)"),
        ("\tturn\t", "\tturm\t", "m.mot: there is no column q.turn"),
        (DEGREES[DEGREES.index("time") :], "", "m.mot: ends after 'endheader'; a line of labels, time first, must"),
    ],
)
def test_wrong_files_are_refused(tmp_path, old, new, message):
    assert old in DEGREES
    with pytest.raises(InputError) as caught:
        read_motion(written(tmp_path, DEGREES.replace(old, new)), ARM).joint_series(ARM.coordinates)
    assert message in str(caught.value)


def test_degrees_need_a_mechanism(tmp_path):
    with pytest.raises(InputError, match="has inDegrees=yes, and which columns are angles is not known here"):
        read_motion(written(tmp_path, DEGREES))


def test_text_has_no_place_in_a_storage_file(tmp_path):
    file = parse_motion(["t,phase\n", "0,stance\n"], "m.csv")
    with pytest.raises(InputError, match=r"column phase holds 'stance', and .mot and .sto files hold numbers only"):
        file.write(tmp_path / "out.mot")
    assert not (tmp_path / "out.mot").exists()
