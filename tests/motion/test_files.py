"""Motion files: what is read, what is splined, what is kept, and what is refused with which words."""

import os
import re

import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.motion.files import parse_motion, read_motion

JOINTS = ("shoulder", "elbow")


def motion(text):
    return parse_motion(text.splitlines(keepends=True), "motion.csv")


def test_all_columns_in_any_order():
    series = motion(
        "a.elbow,t,q.elbow,q.shoulder,v.elbow,v.shoulder,a.shoulder\n6,0.0,2,1,4,3,5\n12,0.1,8,7,10,9,11\n"
    ).joint_series(JOINTS)
    np.testing.assert_array_equal(series.t, [0.0, 0.1])
    np.testing.assert_array_equal(series.q, [[1, 2], [7, 8]])
    np.testing.assert_array_equal(series.v, [[3, 4], [9, 10]])
    np.testing.assert_array_equal(series.a, [[5, 6], [11, 12]])
    assert series.splined == ()


def test_missing_velocities_and_accelerations_are_splined_from_positions():
    t = np.linspace(0.0, 1.0, 11)
    rows = "\n".join(f"{x!r},{x**3!r},{x**2!r},7" for x in t.tolist())
    series = motion(f"t,q.shoulder,q.elbow,v.elbow\n{rows}\n").joint_series(JOINTS)
    assert series.splined == ("v.shoulder", "a.shoulder", "a.elbow")
    np.testing.assert_allclose(series.v, np.stack([3 * t**2, np.full(11, 7.0)], axis=-1), atol=1e-12)
    np.testing.assert_allclose(series.a, np.stack([6 * t, np.full(11, 2.0)], axis=-1), atol=1e-11)


def test_extra_columns_are_kept_as_they_were():
    text = 't,q.shoulder,marker,q.elbow\n0,0.10,"left, heel",0\n1,0.20,off,0\n'
    written = motion(text).with_columns({"tau.shoulder": np.array([0.1, 2.0]), "q.elbow": np.array([1.0, 1.5])}).text()
    assert written == 't,q.shoulder,marker,q.elbow,tau.shoulder\n0,0.10,"left, heel",1.0,0.1\n1,0.20,off,1.5,2.0\n'


def test_numbers_survive_writing_and_reading(tmp_path, rng):
    values = rng.standard_normal(20)
    path = tmp_path / "out.csv"
    motion("t\n" + "\n".join(map(str, range(20)))).with_columns({"q.x": values}).write(path)
    np.testing.assert_array_equal(read_motion(path).numbers("q.x"), values)
    assert os.listdir(tmp_path) == ["out.csv"]


def test_byte_order_mark_blank_lines_and_spaces_are_legal(tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(b"\xef\xbb\xbft, q.x\r\n0, 1\r\n\r\n1, 2\r\n\r\n")
    np.testing.assert_array_equal(read_motion(path).joint_series(["x"]).q, [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "motion.csv: is empty; the first line must be a header"),
        ("t,q.shoulder,q.elbow\n", "motion.csv: has a header and no rows"),
        ("t;q.shoulder;q.elbow\n0;1;2\n", "columns must be separated by commas"),
        ("t,q.shoulder,q.elbow\n0,1,2\n1,2\n", "motion.csv, line 3: has 2 cells where the header has 3"),
        ("t,q.shoulder,q.elbow\n0,1,2\n\n1,x,2\n", "motion.csv, line 4, column q.shoulder: 'x' is not a number"),
        ("t,q.shoulder,q.elbow\n0,1,\n", "line 2, column q.elbow: '' is not a number"),
        ("t,q.shoulder,q.elbow\n0,nan,2\n", "line 2, column q.shoulder: nan is not a finite number"),
        ("t,q.shoulder,q.elbow\n0,1,-inf\n", "line 2, column q.elbow: -inf is not a finite number"),
        (
            "t,q.shoulder,q.elbow\n0,1,2\n1,1,2\n.5,1,2\n",
            "line 4: t = 0.5 is before t = 1 of line 3; time must increase",
        ),
        ("t,q.shoulder,q.elbow\n0,1,2\n0,1,2\n", "line 3: t = 0 repeats t = 0 of line 2; time must increase"),
        (
            "time,q.shoulder,q.elbow\n0,1,2\n",
            "there is no column t (time in seconds); the header is time,q.shoulder,q.elbow",
        ),
        ("t,q.shoulder,q.elbow,q.elbow\n0,1,2,3\n", "column q.elbow is there twice"),
        ("t,q.shoulder,q.elbow,\n0,1,2,3\n", "column 4 of the header has no name"),
        ("t,q.shoulder\n0,1\n1,2\n", "motion.csv: there is no column q.elbow; the header is t,q.shoulder"),
        (
            "t,q.shoulder,q.elbw\n0,1,2\n1,1,2\n",
            "column q.elbw names no coordinate of the mechanism; did you mean q.elbow?",
        ),
        (
            "t,q.shoulder,q.elbow,v.shuolder\n0,1,2,3\n",
            "column v.shuolder names no coordinate of the mechanism; did you mean v.shoulder?",
        ),
        ("t,q.shoulder,q.elbow\n0,1,2\n", "v.shoulder is missing and one row is not enough to spline it from q"),
    ],
)
def test_bad_files_are_refused_in_one_line(text, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        motion(text).joint_series(JOINTS)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(InputError, match="nowhere.csv: cannot be read: no such file"):
        read_motion(tmp_path / "nowhere.csv")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        read_motion(binary)
