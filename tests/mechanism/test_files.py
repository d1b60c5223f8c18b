"""Mechanism files: what they mean, that writing loses nothing, and what is said about wrong ones."""

import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kinecast.errors import InputError, UnknownNameError
from kinecast.mechanism import DH, Joint, Limits, Loop, Place, Point, Structure, Transform
from kinecast.mechanism.files import as_data, parse
from kinecast.yaml_text import dump

ROUNDING = 1e-15

TWO_LINKS = """\
name: planar2
convention: standard            # standard | modified
gravity: [0, -9.8062, 0]        # world axes, m/s2
angles: rad                     # rad | deg: for this file's angles only
joints:                         # in order; parent defaults to the one before, null is the ground
  - name: shoulder
    type: revolute              # revolute | prismatic | fixed
    parent: null
    theta: 0
    d: 0
    a: 0.4
    alpha: 0
    mass: 0.5
    com: [-0.2, 0, 0]
    inertia: [0, 0, 0.1, 0, 0, 0]
    actuator_inertia: 0
    limits: {q: [-3.2, 3.2], v: 10, tau: 10}
  - {name: elbow, a: 0.4, mass: 0.5, com: [-0.2, 0, 0], inertia: [0, 0, 1e-1, 0, 0, 0]}
points: {tip: {joint: elbow, at: [0, 0, 0]}}
loops: []
"""


def read(text):
    return parse(textwrap.dedent(text), "mech.yaml")


def joint(text):
    """The structure of one joint, written as a flow mapping."""
    return read(f"joints: [{text}]")


def test_the_documented_file():
    mechanism = read(TWO_LINKS)
    shoulder, elbow = mechanism.joints
    assert mechanism.name == "planar2"
    assert mechanism.gravity.tolist() == [0, -9.8062, 0]
    assert (shoulder.parent, elbow.parent) == (None, "shoulder")
    assert shoulder.dh == elbow.dh == DH(0, 0, 0.4, 0)
    assert shoulder.limits == Limits((-3.2, 3.2), (-10, 10), (-10, 10))
    assert elbow.inertia[2, 2] == 0.1  # 1e-1 is a number
    assert mechanism.point("tip").joint == "elbow"


def test_what_is_left_out_has_its_default():
    mechanism = read("joints: [{name: a}]")
    assert mechanism.name == "mech"
    assert mechanism.gravity.tolist() == [0, 0, -9.81]
    (only,) = mechanism.joints
    assert (only.kind, only.parent, only.mass, only.dh) == ("revolute", None, 0, DH())


def test_degrees_are_for_all_angles_of_the_file():
    mechanism = read("""
        angles: deg
        joints:
          - {name: a, theta: 90, alpha: -45, limits: {q: [-180, 90], v: 360, tau: 5}}
          - {name: b, origin: {rpy: [0, 90, 0]}, axis: [0, 1, 0]}
          - {name: c, type: prismatic, d: 2, limits: {q: 90, v: 90}}
          - {name: d, type: spherical, limits: [{q: 90}, null, null]}
    """)
    a, b, c, d, *_ = mechanism.joints
    assert a.dh == DH(np.pi / 2, 0, 0, -np.pi / 4)
    assert a.limits == Limits((-np.pi, np.pi / 2), 2 * np.pi, 5)
    assert b.before == Transform.from_xyz_rpy(rpy=(0, np.pi / 2, 0))
    assert (c.dh.d, c.limits) == (2, Limits(q=90, v=90))
    assert d.limits == Limits(q=np.pi / 2)


def test_modified_dh():
    mechanism = read("convention: modified\njoints: [{name: a, a: 1, d: 2, alpha: 1.5707963267948966}]")
    np.testing.assert_allclose(mechanism.joints[0].before.translation, [1, -2, 0], atol=ROUNDING)


def test_trees_are_placed_by_origin_and_axis():
    mechanism = read("""
        joints:
          - {name: a, type: fixed, origin: {xyz: [0, 0, 1]}}
          - {name: b, origin: {xyz: [1, 0, 0], rpy: [0.1, 0.2, 0.3]}, axis: [0, 3, 4], after: {xyz: [0, 1, 0]}}
          - {name: c, parent: a, origin: {rotation: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}}
          - {name: d, parent: e}
          - {name: e, parent: null}
    """)
    a, b, c, d, e = mechanism.joints
    assert a.dh is None
    assert not a.moves
    assert b.before == Transform.from_xyz_rpy((1, 0, 0), (0.1, 0.2, 0.3))
    np.testing.assert_allclose(b.axis, [0, 0.6, 0.8])
    assert b.after.translation.tolist() == [0, 1, 0]
    assert c.before.rotation[0].tolist() == [0, -1, 0]
    assert [joint.parent for joint in (a, b, c, d, e)] == [None, "a", "a", "e", None]


def test_joints_of_several_coordinates_become_sequences():
    mechanism = read("""
        joints:
          - {name: pelvis, type: free, mass: 10, inertia: [1, 1, 1, 0, 0, 0]}
          - name: hip
            type: spherical
            origin: {xyz: [0, -0.1, 0]}
            axes: [x, z, [0, 1, 0]]
            coordinates: [flexion, abduction, rotation]
            limits: [{q: 2, tau: 100}, {tau: 50}, null]
            actuator_inertia: [0.1, 0, 0]
            mass: 8
          - {name: knee}
          - {name: other, type: universal, parent: hip}
        points: {marker: {joint: hip, at: [0, 0, 1]}}
        loops: [{name: belt, a: {joint: hip}, b: {joint: other, at: [1, 0, 0]}, kind: weld}]
    """)
    assert mechanism.coordinates == (
        *(f"pelvis.{c}" for c in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"hip.{c}" for c in ("flexion", "abduction", "rotation")),
        *("knee", "other.x", "other.y"),
    )
    assert mechanism.joint("hip.flexion").parent == "pelvis.rz"
    assert mechanism.joint("knee").parent == mechanism.joint("other.x").parent == "hip.rotation"
    assert mechanism.joint("hip.rotation").mass == 8
    assert mechanism.joint("hip.flexion").limits == Limits(q=2, tau=100)
    assert mechanism.joint("hip.flexion").actuator_inertia == 0.1
    assert mechanism.point("hip").joint == mechanism.point("marker").joint == "hip.rotation"
    assert mechanism.loops[0].b.joint == "other.y"
    assert mechanism.loops[0].kind == "weld"
    assert parse(dump(as_data(mechanism)), "again") == mechanism


# ---------------------------------------------------------------- there and back

numbers = st.floats(-1e3, 1e3)
vectors = arrays(float, 3, elements=numbers)
words = st.text(min_size=1, max_size=8).filter(lambda s: s.isprintable() and s == s.strip())
bounds = st.none() | st.tuples(st.floats(max_value=0), st.floats(min_value=0))
poses = st.builds(Transform.from_xyz_rpy, vectors, vectors)
products = st.builds(lambda a, b: a @ b, poses, poses)  # a rotation that no angles were given for
directions = vectors.filter(lambda v: np.linalg.norm(v) > 1e-3)


@st.composite
def joints(draw, name, parents):
    spread = draw(arrays(float, (3, 3), elements=st.floats(-1, 1)))
    second = spread @ spread.T
    other = {
        "parent": draw(st.sampled_from(parents)),
        "kind": draw(st.sampled_from(["revolute", "continuous", "prismatic", "fixed"])),
        "mass": draw(st.floats(0, 1e6)),
        "com": draw(vectors),
        "inertia": np.trace(second) * np.eye(3) - second,
        "actuator_inertia": draw(st.floats(0, 10)),
        "limits": Limits(draw(bounds), draw(bounds), draw(bounds)),
    }
    if draw(st.booleans()):
        return Joint.from_dh(name, DH(*draw(st.tuples(*[numbers] * 4))), **other)
    before, after = draw(poses | products), draw(st.just(Transform.identity()) | products)
    return Joint(name, before=before, axis=draw(directions), after=after, **other)


@st.composite
def structures(draw):
    names = draw(st.lists(words, min_size=2, max_size=5, unique=True))
    *bodies, point = names
    made = [draw(joints(name, [None, *bodies[:k]])) for k, name in enumerate(bodies)]
    loop = Loop("loop", Place(bodies[0], draw(vectors)), Place(None, draw(vectors)), "weld")
    return Structure(
        draw(words),
        (*made, Joint("\u00e9 moves: #1")),
        points=(Point(point, draw(st.sampled_from([None, *bodies])), draw(vectors)),),
        loops=draw(st.sampled_from([(), (loop,)])),
        gravity=draw(vectors),
        notes=tuple(draw(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=2))),
        allow_unphysical=draw(st.booleans()),
    )


@settings(max_examples=60, deadline=None)  # other processes may hold the machine up
@given(structures())
def test_writing_and_reading_gives_the_same_to_the_last_bit(mechanism):
    again = parse(dump(as_data(mechanism)), "again.yaml")
    assert again.fingerprint() == mechanism.fingerprint()
    assert again == mechanism


@pytest.mark.parametrize(
    "name", ["1e3", ".5e3", "1.5e3", "010", "0x1f", "null", "~", "yes", "no", "on", "1:30", ".inf"]
)
def test_words_that_look_like_something_else_stay_words(name):
    mechanism = Structure(name, (Joint(name),))
    assert parse(dump(as_data(mechanism)), "again") == mechanism


def test_the_file_written_is_the_file_documented(tmp_path):
    path = tmp_path / "arm.yaml"
    Structure.load("planar2").write(path)
    assert Structure.read(path) == Structure.load("planar2") == Structure.load(str(path)) == Structure.load(path)
    assert "inertia: [0.0, 0.0, 0.1, 0.0, 0.0, 0.0]" in path.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="arm.txt: a mechanism is written as YAML; let the name end in .yaml"):
        Structure.load("planar2").write(tmp_path / "arm.txt")
    with pytest.raises(InputError, match="cannot be written"):
        Structure.load("planar2").write(tmp_path / "no" / "arm.yaml")


def test_an_unphysical_inertia_can_be_let_pass(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text("joints: [{name: a, axis: [1, 0, 0], inertia: [1, 2, 9, 0, 0, 0]}]", encoding="utf-8")
    with pytest.raises(InputError, match="m.yaml, line 1, joints.0..inertia: joint 'a': inertia violates"):
        Structure.read(path)
    assert Structure.read(path, allow_unphysical=True) == Structure.load(path, allow_unphysical=True)
    path.write_text("allow_unphysical: true\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert Structure.read(path).allow_unphysical


# ---------------------------------------------------------------- wrong files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("mass: 0.5", "mas: 0.5"), "line 13, joints[0].mas: unknown key 'mas'; did you mean 'mass'?"),
        (("gravity", "gravty"), "line 3, gravty: unknown key 'gravty'; did you mean 'gravity'?"),
        (
            ("q: [-3.2, 3.2]", "qq: 1"),
            "line 17, joints[0].limits.qq: unknown key 'qq'; did you mean 'q'? known: q, v, tau",
        ),
        (
            ("at: [0, 0, 0]", "att: 1"),
            "line 19, points.tip.att: unknown key 'att'; did you mean 'at'? known: joint, at",
        ),
        (("mass: 0.5", "mass: -1"), "line 13, joints[0].mass: joint 'shoulder': mass must be 0 or more, got -1"),
        (("mass: 0.5", "mass: heavy"), "line 13, joints[0].mass: must be a number (kg), got 'heavy'"),
        (("mass: 0.5", "mass: .nan"), "line 13, joints[0].mass: must be a number (kg), got nan"),
        (("mass: 0.5", "mass: true"), "line 13, joints[0].mass: must be a number (kg), got True"),
        (("mass: 0.5", "mass:"), "line 13, joints[0].mass: must be a number (kg), got None"),
        (("com: [-0.2, 0, 0]", "com: [-0.2, 0]"), "line 14, joints[0].com: must be three numbers (m), got [-0.2, 0]"),
        (("com: [-0.2, 0, 0]", "com: [a, 0, 0]"), "line 14, joints[0].com: must be three numbers (m), got ['a', 0, 0]"),
        (("com: [-0.2, 0, 0]", "com: 3"), "line 14, joints[0].com: must be three numbers (m), got 3"),
        (("[0, 0, 0.1, 0", "[0, 0"), "line 15, joints[0].inertia: must be six numbers, xx, yy, zz, xy, xz, yz, or"),
        (("0.1, 0, 0, 0]\n", "-0.1, 0, 0, 0]\n"), "line 15, joints[0].inertia: joint 'shoulder': inertia must be posi"),
        (("type: revolute", "type: revolut"), "line 7, joints[0].type: must be revolute, continuous, prismatic"),
        (("standard   ", "standart   "), "line 2, convention: must be standard or modified, got 'standart'"),
        (("angles: rad", "angles: grad"), "line 4, angles: must be rad or deg, got 'grad'"),
        (("parent: null", "parent: elbo"), "line 8, joints[0].parent: unknown parent of joint 'shoulder': 'elbo'; did"),
        (("parent: null", "parent: elbow"), "line 8, joints[0].parent: joints shoulder -> elbow -> shoulder are each"),
        (
            ("parent: null", "parent: 3"),
            "line 8, joints[0].parent: must be the name of a joint, or null for the ground",
        ),
        (("name: elbow", "name: shoulder"), "line 18, joints[1].name: joint 'shoulder': names must be unique"),
        (("name: elbow, ", ""), "line 18, joints[1]: name is missing; it must be text"),
        (("name: elbow", "name: 7"), "line 18, joints[1].name: must be text (in quotation marks if it looks like"),
        (("joint: elbow", "joint: elbw"), "line 19, points.tip.joint: unknown joint of point 'tip': 'elbw'; did you"),
        (("joint: elbow, ", ""), "line 19, points.tip: joint is missing; it must be the name of a joint, or null"),
        (("tip:", "elbow:"), "line 19, points.elbow: point 'elbow': a joint already has this name"),
        (("v: 10", "v: [1, -1]"), "line 17, joints[0].limits.v: limits: v must have lower <= upper, got [1, -1]"),
        (("v: 10", "v: [1]"), "line 17, joints[0].limits.v: must be a number (symmetric), [lower, upper] or null"),
        (("tau: 10}", "tau: x}"), "line 17, joints[0].limits.tau: must be a number (symmetric), [lower, upper] or"),
        (("loops: []", "loops: {}"), "line 20, loops: must be a list of loops, got {}"),
        (("loops: []", "loops: [{name: l, a: {joint: elbow}}]"), "line 20, loops[0]: b is missing; it must be a map"),
        (("points: {", "points: ["), "mech.yaml, line 19: is not YAML: "),
        (("d: 0\n", "d: 0\n    d: 1\n"), "mech.yaml, line 11, joints[0].d: is there twice, first in line 10"),
        (("d: 0\n", "axis: [0, 0, 1]\n"), "joints[0].axis: joint 'shoulder': theta and axis exclude each other"),
        (("d: 0\n", "axes: [x, y]\n"), "joints[0].axes: joint 'shoulder': axes has no meaning for type revolute, whi"),
        (("limits: {", "limits: [{"), "is not YAML"),
    ],
)
def test_wrong_files_are_refused_with_file_line_and_path(change, message):
    assert change[0] in TWO_LINKS
    with pytest.raises(InputError) as caught:
        parse(TWO_LINKS.replace(*change, 1), "mech.yaml")
    said = str(caught.value)
    assert said.startswith("mech.yaml")
    assert message in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mech.yaml: must be a mapping (key: value), got None"),
        ("- 3", "mech.yaml, line 1: must be a mapping (key: value), got [3]"),
        ("just words", "must be a mapping (key: value), got 'just words'"),
        ("name: m", "joints is missing; it must be a list of joints"),
        ("joints: []", "line 1, joints: mechanism 'mech': joints must hold at least one that moves"),
        ("joints: [{name: a, type: fixed}]", "joints must hold at least one that moves"),
        ("joints: 3", "line 1, joints: must be a list of joints, got 3"),
        ("joints: [a]", "line 1, joints: must be a list of joints, got ['a']"),
        ("a: b: c", "mech.yaml, line 1: is not YAML: mapping values"),
        ("a: [1, 2", "mech.yaml, line 2: is not YAML: did not find expected"),
        ("a: 1\n---\nb: 2", "mech.yaml, line 2: a second document begins; there must be one"),
        ("a: &x [*x]", "mech.yaml, line 1, a[0]: *x must stand after the end of &x"),
        ("[" * 100_000, "mech.yaml, line 1: is nested too deeply"),
        ("a: !!python/object:os.system {}", "unknown key 'a'"),
        ("? [1, 2]\n: 3", "mech.yaml, line 1: a key must be a word"),
    ],
)
def test_files_that_are_no_mechanism_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        parse(text, "mech.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_aliases_of_aliases_do_not_fill_the_memory():
    lists = ["  - &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lists += [f"  - &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
    with pytest.raises(InputError, match="line 1, notes: must be a list of texts, got") as caught:
        parse("notes:\n" + "\n".join(lists) + "\njoints: [{name: a}]", "mech.yaml")
    assert len(str(caught.value)) < 200


def test_parts_of_a_file_can_be_used_again():
    mechanism = read("joints:\n  - {name: a, com: &com [1, 2, 3]}\n  - {name: b, com: *com}")
    assert mechanism.joints[1].com.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{name: a, type: spherical, theta: 1}", "theta has no meaning for type spherical, which takes origin, coordi"),
        ("{name: a, type: spherical, axis: [1, 0, 0]}", "axis has no meaning for type spherical"),
        ("{name: a, type: planar, axes: [x, y]}", "axes has no meaning for type planar"),
        ("{name: a, type: free, after: {}}", "after has no meaning for type free"),
        ("{name: a, type: universal, axes: [x]}", "axes must be 2 directions"),
        ("{name: a, type: universal, axes: [x, w]}", "must be a list of directions, each x, y, z or three numbers"),
        ("{name: a, type: universal, limits: {q: 1}}", "limits must be a list with one entry for each coordinate"),
        ("{name: a, type: universal, actuator_inertia: 1}", "actuator_inertia must be a list with one entry for each"),
        ("{name: a, limits: [{q: 1}]}", "limits must be one entry, not a list, for type revolute"),
        ("{name: a, actuator_inertia: [1]}", "actuator_inertia must be one entry, not a list, for type revolute"),
        ("{name: a, coordinates: [b]}", "coordinates has no meaning for type revolute, which takes origin, axis or"),
        ("{name: a, origin: {rpy: [0, 0, 0], rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}}", "exclude each other"),
        ("{name: a, origin: {rotation: [[2, 0, 0], [0, 1, 0], [0, 0, 1]]}}", "joints[0].origin.rotation: transform"),
        ("{name: a, origin: {xyz: [0, 0]}}", "joints[0].origin.xyz: must be three numbers (m), got [0, 0]"),
        ("{name: a, origin: {xzy: [0, 0, 0]}}", "unknown key 'xzy'; did you mean 'xyz'?"),
        ("{name: a, axis: [0, 0, 0]}", "joints[0].axis: joint 'a': axis must have a direction"),
        ("{name: a}, {name: a, type: free}", "joints[1].name: joint 'a': names must be unique"),
    ],
)
def test_entries_that_contradict_themselves_are_refused(entry, message):
    with pytest.raises(InputError) as caught:
        joint(entry)
    assert message in str(caught.value)


def test_an_unknown_key_and_an_unknown_name_keep_their_class():
    for entry in ("{name: a, mas: 1}", "{name: a, parent: b}"):
        with pytest.raises(UnknownNameError):
            joint(entry)


def test_the_file_itself_may_be_at_fault(tmp_path):
    for name, content, message in [
        ("none.yaml", None, "none.yaml: cannot be read: no such file or directory"),
        ("binary.yaml", b"\xff\xfe\x00", "binary.yaml: is not text in UTF-8; a mechanism file is YAML"),
        ("arm.txt", b"joints: []", "arm.txt: a mechanism file is YAML (.yaml, .yml) or URDF (.urdf), told by the end"),
        ("arm", b"joints: []", "arm: a mechanism file is YAML"),
        ("control.yaml", b"a: \x07", "control.yaml: is not YAML"),
    ]:
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            Structure.read(path)
        assert message in str(caught.value)
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(InputError, match="cannot be read: is a directory"):
        Structure.read(tmp_path / "folder.yaml")
    (tmp_path / "ok.yaml").write_text(TWO_LINKS, encoding="utf-8")
    with pytest.raises(InputError, match="only the root link of a URDF can be set floating"):
        Structure.read(tmp_path / "ok.yaml", floating=True)


def test_a_file_may_start_with_a_byte_order_mark(tmp_path):
    (tmp_path / "bom.yml").write_text(TWO_LINKS, encoding="utf-8-sig")
    assert Structure.read(tmp_path / "bom.yml").n == 2
