"""Whole files or none, and errors that say where."""

import os

import pytest

from kinecast.errors import InputError, UnknownNameError
from kinecast.files import Source, write_whole


def test_writing_where_one_cannot_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot be written: no such file or directory"):
        write_whole(tmp_path / "no" / "out.csv", "x")
    with pytest.raises(InputError, match="cannot be written: is a directory"):
        write_whole(tmp_path, "x")
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    write_whole(type(link)(os.devnull), "x")
    assert not os.path.isfile(os.devnull)


LINES = {"joints": 3, "joints[1]": 8, "joints[1].mass": 9}


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("joints[1].mass", "m.yaml, line 9, joints[1].mass: wrong"),
        ("joints[1].com[2]", "m.yaml, line 8, joints[1].com[2]: wrong"),
        ("joints[7].com", "m.yaml, line 3, joints[7].com: wrong"),
        ("points", "m.yaml, points: wrong"),
        ("", "m.yaml: wrong"),
    ],
)
def test_an_error_names_the_line_of_the_smallest_part_that_has_one(path, where):
    assert str(Source("m.yaml", LINES).error(path, "wrong")) == where


def test_errors_get_their_place_and_keep_their_class():
    source = Source("m.yaml", LINES)
    with (
        pytest.raises(UnknownNameError, match="^m.yaml, line 9, joints.1..mass: which$") as caught,
        source.at("joints[1]"),
    ):
        raise UnknownNameError("which", key="mass")
    assert caught.value.key == "joints[1].mass"
    with pytest.raises(InputError, match="^m.yaml, line 3, joints: what$"), source.at("joints"):
        raise InputError("what")
