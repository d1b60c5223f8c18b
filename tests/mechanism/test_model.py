"""Structures: names, trees, fingerprints, copies, text."""

import numpy as np
import pytest

from kinecast.errors import InputError, NotSupportedError, UnknownNameError
from kinecast.mechanism import DH, Joint, Limits, Loop, Place, Point, Structure, Transform


def branched():
    """A trunk with two branches, listed children first."""
    return Structure(
        "branched",
        (
            Joint("left", parent="trunk", mass=2),
            Joint("trunk", mass=1),
            Joint("weld", "fixed", parent="trunk"),
            Joint("right", "prismatic", parent="weld", mass=3),
        ),
        points=(Point("tip", "right", [0, 0, 1]), Point("wall", None, [1, 0, 0])),
    )


def test_the_tree_is_read_off_the_parents():
    mechanism = branched()
    assert mechanism.parents == (1, -1, 1, 2)
    assert mechanism.order == (1, 0, 2, 3)
    assert mechanism.coordinates == ("left", "trunk", "right")
    assert mechanism.n == 3
    assert mechanism.mass == 6
    assert mechanism.children("trunk") == ("left", "weld")
    assert mechanism.children(None) == ("trunk",)
    assert mechanism.chain("right") == ("trunk", "weld", "right")
    assert mechanism.chain(None) == ()


def test_the_name_of_a_joint_is_also_a_place():
    mechanism = branched()
    assert mechanism.point("tip").at.tolist() == [0, 0, 1]
    assert mechanism.point("left").joint == "left"
    assert mechanism.point("wall").joint is None


def test_unknown_names_are_met_with_the_nearest():
    mechanism = branched()
    with pytest.raises(UnknownNameError, match="unknown joint 'rigth'; did you mean 'right'"):
        mechanism.joint("rigth")
    with pytest.raises(UnknownNameError, match="unknown point 'tipp'; did you mean 'tip'"):
        mechanism.point("tipp")
    with pytest.raises(KeyError):  # for those who look names up as in a dict
        mechanism.joint("nothing like it")


@pytest.mark.parametrize(
    ("changes", "message", "key"),
    [
        ({"joints": ()}, "joints must hold at least one that moves", "joints"),
        ({"joints": (Joint("a", "fixed"),)}, "joints must hold at least one that moves", "joints"),
        ({"joints": (Joint("a"), Joint("a"))}, "joint 'a': a joint already has this name", "joints[1].name"),
        ({"joints": (Joint("a", parent="b"),)}, "unknown parent of joint 'a': 'b'", "joints[0].parent"),
        (
            {"joints": (Joint("a", parent="c"), Joint("b", parent="a"), Joint("c", parent="b"))},
            "joints a -> c -> b -> a are each other's parents: a cycle; one of them must hang on the ground",
            "joints[0].parent",
        ),
        ({"joints": (Joint("a", parent="a"),)}, "a -> a are each other's parents: a cycle", "joints[0].parent"),
        ({"points": (Point("a", None),)}, "point 'a': a joint already has this name", "points.a"),
        ({"points": (Point("p", "x"),)}, "unknown joint of point 'p': 'x'", "points.p.joint"),
        (
            {"loops": (Loop("l", Place("a", [0] * 3), Place("x", [0] * 3)),)},
            "unknown joint of loop 'l', end b: 'x'",
            "loops[0].b.joint",
        ),
        (
            {"loops": (Loop("l", Place("a", [0] * 3), Place(None, [0] * 3)),) * 2},
            "loop 'l': names must be unique",
            "loops[1].name",
        ),
        ({"gravity": [0, 0]}, "mechanism 'm': gravity must be an array of 3 numbers, got shape .2,.", "gravity"),
        ({"gravity": [0, 0, np.nan]}, "mechanism 'm': gravity must be finite", "gravity"),
        ({"convention": "craig"}, "unknown DH convention 'craig'; known: standard, modified", "convention"),
        ({"name": ""}, "the name of a mechanism must be printable text", "name"),
        ({"joints": (Joint.from_dh("a", DH(a=1), "modified"),)}, "before, axis and after are not those of", "dh"),
        ({"joints": (Joint("a", axis=[1, 0, 0], dh=DH()),)}, "before, axis and after are not those of", "dh"),
    ],
)
def test_what_makes_no_mechanism_is_refused(changes, message, key):
    with pytest.raises(InputError, match=message) as caught:
        Structure(**{"name": "m", "joints": (Joint("a"),)} | changes)
    assert caught.value.key == key


def test_the_fingerprint_is_of_what_changes_a_number():
    mechanism = branched()
    trunk = mechanism.joint("trunk")

    def with_trunk(**changes):
        joints = [Joint("trunk", mass=1, **changes) if j is trunk else j for j in mechanism.joints]
        return mechanism.replace(joints=tuple(joints))

    same = [mechanism.replace(name="other", notes=("a note",)), with_trunk(limits=Limits(q=1))]
    same += [with_trunk(kind="continuous"), mechanism.replace(points=mechanism.points[::-1])]
    other = [mechanism.with_gravity([0, -9.81, 0]), with_trunk(axis=[1, 0, 0]), with_trunk(com=[0, 0, 1e-9])]
    other += [with_trunk(before=Transform.from_xyz_rpy((0, 0, 1e-9))), with_trunk(actuator_inertia=1)]
    other += [mechanism.replace(points=())]
    assert {s.fingerprint() for s in same} == {mechanism.fingerprint()}
    assert len({s.fingerprint() for s in [mechanism, *other]}) == 1 + len(other)


def test_mechanisms_are_equal_when_all_their_data_are():
    assert branched() == branched()
    assert hash(branched()) == hash(branched())
    assert branched() != branched().replace(notes=("a note",))
    assert branched() != "branched"


def test_subclasses_keep_their_class():
    class Special(Structure):
        pass

    special = Special.of(branched())
    assert type(special) is type(special.with_gravity([0, 0, 0])) is Special
    assert type(Special.load("pendulum")) is type(Special.serial(2)) is Special
    assert special == branched()
    assert Special.of(special) is special


def test_closed_loops_are_kept_and_refused_by_those_who_cannot():
    loop = Loop("chain", Place("left", [0, 0, 0]), Place("right", [1, 0, 0]))
    closed = branched().replace(loops=(loop,))
    branched().require_open("anything")
    with pytest.raises(NotSupportedError, match="simulation of 'branched': closed loops .chain. are not supported yet"):
        closed.require_open("simulation")


def test_the_description_names_everything():
    loop = Loop("chain", Place("left", [0, 0, 0]), Place(None, [1, 0, 0]), "weld")
    dh = Joint.from_dh("arm", DH(a=0.25), parent="right", mass=4, limits=Limits(q=(-1, 2), tau=30))
    mechanism = branched().replace(joints=(*branched().joints, dh), loops=(loop,), notes=("from nowhere",))
    text = mechanism.describe()
    assert text.splitlines()[0] == "branched: 4 coordinates, 5 joints, 10 kg; gravity [0, 0, -9.81] m/s2"
    for part in ("standard DH", "0.25", "-1 .. 2", "+-30", "tip", "(ground) [1, 0, 0]", "weld", "note: from nowhere"):
        assert part in text
