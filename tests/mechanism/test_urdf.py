"""URDF: what is read, what is listed as not used, and what is said about wrong files."""

import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.mechanism import Limits, Structure, Transform
from kinecast.mechanism.geometry import rot_z
from kinecast.mechanism.urdf import parse

ROUNDING = 1e-15

ROBOT = """\
<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"/>
  <link name="base">
    <inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual/>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 0 2"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/>
    <dynamics damping="0.1"/>
  </joint>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0 0" rpy="0 0 0.4"/>
      <mass value="2"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual/>
    <visual/>
    <collision/>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="upper"/>
    <child link="lower"/>
  </joint>
  <link name="lower"/>
  <joint name="weld" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="1 0 0"/></joint>
  <link name="tool">
    <inertial><mass value="1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""


def joints(inner, links="<link name='a'/><link name='b'/>"):
    """A robot of links a and b, joined as `inner` says."""
    return f"<robot name='r'>{links}{inner}</robot>"


def one(attributes="type='revolute'", inner=""):
    return parse(joints(f"<joint name='j' {attributes}><parent link='a'/><child link='b'/>{inner}</joint>"), "r.urdf")


def test_joints_bodies_and_limits():
    arm = parse(ROBOT, "arm.urdf")
    shoulder, _, weld = arm.joints
    assert arm.name == "arm"
    assert [(j.name, j.kind, j.parent) for j in arm.joints] == [
        ("shoulder", "revolute", None),
        ("slide", "prismatic", "shoulder"),
        ("weld", "fixed", "slide"),
    ]
    assert shoulder.before == Transform.from_xyz_rpy((0, 0, 0.5), (0.1, 0.2, 0.3))
    assert shoulder.axis.tolist() == [0, 0, 1]
    assert shoulder.limits == Limits((-1, 2), 4, 30)
    assert (shoulder.mass, shoulder.com.tolist()) == (2, [0.1, 0, 0])
    turned = rot_z(0.4) @ np.diag([0.1, 0.2, 0.25]) @ rot_z(0.4).T
    np.testing.assert_allclose(shoulder.inertia, turned, atol=ROUNDING)
    assert weld.mass == 1


def test_what_is_missing_has_the_defaults_of_the_format():
    slide = parse(ROBOT, "arm.urdf").joints[1]
    assert slide.before == Transform.identity()
    assert slide.axis.tolist() == [1, 0, 0]
    assert slide.limits == Limits()
    assert (slide.mass, slide.inertia.any()) == (0, False)


def test_links_are_places_where_their_names_are_free():
    arm = parse(ROBOT, "arm.urdf")
    assert arm.point("base").joint is None
    assert arm.point("upper").joint == "shoulder"
    assert arm.point("tool").joint == "weld"
    text = ROBOT.replace('"upper"', '"slide"').replace('"lower"', '"slide2"')
    arm = parse(text, "arm.urdf")
    assert arm.point("slide").joint == "slide"
    assert arm.notes[1] == "the name 'slide' is a link's and also a joint's: as a place it means the joint's"
    same = one("type='revolute'").replace(name="x")
    assert same.point("b").joint == "j"
    assert (
        parse(joints("<joint name='b' type='continuous'><parent link='a'/><child link='b'/></joint>"), "x").notes == ()
    )


def test_what_is_not_used_is_listed_once_for_each_kind():
    ground, rest = parse(ROBOT, "arm.urdf").notes
    assert ground == "the root link 'base' is the ground: its mass and inertia are not used"
    assert rest == (
        "not used: 1 <material>, 3 <visual> (shapes to look at), 1 <collision> (shapes to collide with), "
        "1 <dynamics> (friction and damping of joints)"
    )
    assert (
        "1 <mimic> (joints that follow another: here they move on their own)"
        in one(inner="<mimic joint='x'/>").notes[0]
    )


def test_the_root_may_float():
    arm = parse(ROBOT, "arm.urdf", floating=True)
    assert arm.coordinates == (*(f"base.{c}" for c in ("x", "y", "z", "rx", "ry", "rz")), "shoulder", "slide")
    assert arm.joint("base.rz").mass == 3
    assert arm.joint("shoulder").parent == arm.point("base").joint == "base.rz"
    assert len(arm.notes) == 1
    assert parse("<robot name='r'><link name='a'/></robot>", "r.urdf", floating=True).n == 6


@pytest.mark.parametrize(
    ("kind", "coordinates"),
    [
        ("floating", ["j.x", "j.y", "j.z", "j.rx", "j.ry", "j.rz"]),
        ("planar", ["j.y", "j.z", "j.rx"]),
        ("continuous", ["j"]),
    ],
)
def test_joints_of_several_coordinates(kind, coordinates):
    robot = one(f"type='{kind}'", "<limit effort='1' velocity='2'/>")
    assert list(robot.coordinates) == coordinates
    assert robot.point("b").joint == robot.point("j").joint == coordinates[-1]
    assert ("1 <limit>" in " ".join(robot.notes)) == (len(coordinates) > 1)


def test_a_continuous_joint_has_no_position_limits():
    robot = one("type='continuous'", "<limit lower='0' upper='0' effort='1' velocity='2'/>")
    assert robot.joints[0].limits == Limits(None, 2, 1)


def test_one_missing_end_of_a_range_is_zero():
    assert one(inner="<limit lower='-1' effort='1' velocity='2'/>").joints[0].limits.q == (-1, 0)


def test_the_file_is_found_by_its_name(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    arm = Structure.load(path)
    assert arm == Structure.read(str(path))
    assert Structure.read(path, floating=True).n == 8
    arm.write(tmp_path / "arm.yaml")
    assert Structure.read(tmp_path / "arm.yaml") == arm


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('link="upper"/>\n    <origin', 'link="uper"/>\n    <origin'),
            "line 10: <child>: unknown link 'uper'; did you",
        ),
        (('<parent link="base"/>', ""), "line 8: <joint name='shoulder'>: <parent link=...> is missing"),
        (('<parent link="base"/>', "<parent/>"), "line 9: <parent>: the attribute link is missing"),
        (('type="prismatic"', 'type="prismatc"'), "line 26: <joint name='slide'>: unknown joint type 'prismatc'; did"),
        (('type="prismatic"', ""), "line 26: <joint name='slide'>: the attribute type is missing"),
        (('name="slide"', 'name="shoulder"'), "line 26: <joint name='shoulder'>: a <joint> of line 8 already has this"),
        (
            ('<link name="lower"/>', '<link name="tool"/>'),
            "line 32: <link name='tool'>: a <link> of line 30 already has",
        ),
        (('<link name="lower"/>', '<link name="lower"/><link/>'), "line 30: <link>: the attribute name is missing"),
        (
            ('<link name="lower"/>', '<link name="lower"/><link name="x"/>'),
            "line 30: <link name='x'>: is not joined to",
        ),
        (
            ('child link="lower"', 'child link="upper"'),
            "line 26: <joint name='slide'>: its child 'upper' is already the",
        ),
        (
            ('<parent link="base"/>', '<parent link="tool"/>'),
            "joints shoulder -> weld -> slide -> shoulder are each other's parents: a cycle",
        ),
        (("0 0 0.5", "0 0"), "line 11: <origin>: xyz must be 3 finite numbers, got '0 0'"),
        (("0 0 0.5", "0 0 up"), "line 11: <origin>: xyz must be 3 finite numbers, got '0 0 up'"),
        (("0 0 0.5", "0 0 nan"), "line 11: <origin>: xyz must be 3 finite numbers, got '0 0 nan'"),
        (
            ("0 0 0.5", "0 0 ${h}"),
            "line 11: <origin>: xyz is a macro, '0 0 ${h}'; expand the file with the program xacro",
        ),
        (("<material", "<xacro:arm"), "line 3: <xacro:arm name='grey'>: is a macro; expand the file with the program"),
        (
            ('xyz="0 0 2"', 'xyz="0 0 0"'),
            "line 8: <joint name='shoulder'>: joint 'shoulder': axis must have a direction",
        ),
        (('lower="-1"', 'lower="3"'), "line 13: <limit>: limits: q must have lower <= upper, got [3, 2]"),
        (('lower="-1"', 'lower="low"'), "line 13: <limit>: lower must be 1 finite number, got 'low'"),
        (('velocity="4"', 'velocity="-4"'), "line 13: <limit>: limits: v must have lower <= upper, got [4, -4]"),
        (('value="2"', 'value="-2"'), "line 19: <mass>: of link 'upper': must be 0 or more, got -2"),
        (('<mass value="2"/>', ""), "line 17: <inertial>: of link 'upper': <mass> is missing"),
        (('iyy="0.2" ', ""), "line 20: <inertia>: the attribute iyy is missing"),
        (('iyy="0.2"', 'iyy="-0.2"'), "line 17: <inertial>: joint 'shoulder': inertia must be positive semidefinite"),
        (
            ('ixx="0.1"', 'ixx="0.01"'),
            "line 17: <inertial>: joint 'shoulder': inertia violates the triangle inequality",
        ),
        (("<axis", "<axes"), "line 12: <axes>: is not known in <joint name='shoulder'>; did you mean <axis>?"),
        (
            ('<mass value="2"/>', '<mass value="2"/><mass value="2"/>'),
            "line 19: <mass>: <inertial> has one already, in",
        ),
        (
            ('name="weld" type="fixed"', 'name=" " type="fixed"'),
            "line 31: <joint name=' '>: the name of a joint must be",
        ),
        (("</robot>", ""), "arm.urdf, line 36: is not XML: no element found"),
        (('value="2"', "value=2"), "arm.urdf, line 19: is not XML: not well-formed"),
        (("<robot name", "<model name"), "is not XML: mismatched tag"),
        (('<?xml version="1.0"?>', '<!DOCTYPE r [<!ENTITY x "y">]>'), "line 1: entities (&x;) are not read"),
    ],
)
def test_wrong_files_are_refused_with_file_line_and_element(change, message):
    assert change[0] in ROBOT
    with pytest.raises(InputError) as caught:
        parse(ROBOT.replace(*change, 1), "arm.urdf", floating="'tool'/" in change[1])
    said = str(caught.value)
    assert said.startswith("arm.urdf, line ")
    assert message in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.urdf, line 1: is not XML: no element found"),
        ("<mujoco/>", "r.urdf, line 1: <mujoco>: a URDF must start with <robot name=...>"),
        ("<robot/>", "r.urdf, line 1: <robot>: there is no <link>"),
        ("<robot><link name='a'/></robot>", "<robot>: no joint moves (floating=True would let the root link move)"),
        (
            joints("<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>"),
            "no joint moves",
        ),
        (
            joints(
                "<joint name='j' type='revolute'><parent link='a'/><child link='b'/></joint>"
                "<joint name='k' type='revolute'><parent link='b'/><child link='a'/></joint>"
            ),
            "every link is the child of a joint: a cycle",
        ),
        (
            joints(
                "<joint name='j' type='revolute'><parent link='a'/><child link='b'/></joint>"
                "<joint name='k' type='revolute'><parent link='b'/><child link='a'/></joint>",
                "<link name='c'/><link name='a'/><link name='b'/>",
            ),
            "<joint name='j'>: joints j -> k -> j are each other's parents: a cycle",
        ),
    ],
)
def test_files_that_are_no_robot_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        parse(text, "r.urdf")
    assert message in str(caught.value)


def test_vendors_inertias_can_be_let_pass():
    text = ROBOT.replace('ixx="0.1"', 'ixx="0.01"')
    assert parse(text, "arm.urdf", allow_unphysical=True).allow_unphysical
