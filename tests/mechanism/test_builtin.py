"""The built-in mechanisms, against what is published of them."""

import subprocess
import sys

import numpy as np
import pytest
from reference_dynamics import function, mass_matrix

from kinecast.dynamics.surroundings import at_rest
from kinecast.errors import InputError, UnknownNameError
from kinecast.mechanism import Structure, builtin
from kinecast.mechanism.files import parse

# Closed forms and the recursion differ by rounding only.
ROUNDING = 1e-13
# Published numbers have four digits after the point.
PRINTED = 5.1e-5


def torques(structure, q, v=None, a=None):
    zero = np.zeros(structure.n)
    state = {"q": q, "v": zero if v is None else v, "a": zero if a is None else a}
    return np.asarray(function(structure, at_rest(structure))(**state)["tau"])[:, 0]


@pytest.mark.parametrize("name", builtin.names())
def test_every_built_in_keeps_to_the_schema_and_names_its_source(name):
    path = builtin._FOLDER / f"{name}.yaml"
    text = path.read_text(encoding="utf-8")
    structure = parse(text, str(path))  # the schema is checked here, not when a built-in is loaded
    assert structure == builtin.load(name) == Structure.load(name)
    assert structure.name == name
    assert structure.notes
    assert text.startswith("# ")
    assert structure.point("tip").joint == structure.joints[-1].name


@pytest.mark.parametrize("name", builtin.names())
def test_every_built_in_has_a_regular_mass_matrix(name, rng):
    structure = builtin.load(name)
    for q in rng.uniform(-1, 1, (5, structure.n)):
        assert np.linalg.eigvalsh(mass_matrix(structure, q))[0] > 0


def test_only_the_puma_has_an_inertia_that_no_body_has():
    assert [name for name in builtin.names() if builtin.load(name).allow_unphysical] == ["puma560"]
    with pytest.raises(InputError, match="joint 'elbow': inertia violates the triangle inequality"):
        builtin.load("puma560").replace(allow_unphysical=False)


def test_pendulum_is_a_rod():
    pendulum = builtin.load("pendulum")
    q, v, a = 0.7, 1.3, -0.4
    expected = 1 / 3 * a + 9.81 * 0.5 * np.sin(q)
    np.testing.assert_allclose(torques(pendulum, [q], [v], [a]), [expected], rtol=ROUNDING)


def test_planar2_is_the_two_link_arm_in_closed_form(rng):
    q, v, a = rng.normal(size=(3, 2))
    m, length, inertia, g = 0.5, 0.4, 0.1, 9.8062
    half, c, s = length / 2, np.cos(q[1]), np.sin(q[1])
    m22 = m * half**2 + inertia
    m12 = m22 + m * length * half * c
    m11 = m * half**2 + inertia + m * length**2 + m22 + 2 * m * length * half * c
    h = m * length * half * s
    far = m * g * half * np.cos(q.sum())
    near = m * g * (half + length) * np.cos(q[0])
    expected = [
        m11 * a[0] + m12 * a[1] - h * (2 * v[0] * v[1] + v[1] ** 2) + near + far,
        m12 * a[0] + m22 * a[1] + h * v[0] ** 2 + far,
    ]
    np.testing.assert_allclose(torques(builtin.load("planar2"), q, v, a), expected, rtol=ROUNDING)


def test_both_readings_of_the_slider_arm_in_closed_form(rng):
    q, v, a = rng.normal(size=(3, 2))
    s, c = np.sin(q[1]), np.cos(q[1])
    printed = [a[0] - 0.1 * (s * a[1] + c * v[1] ** 2), 0.12 * a[1] - 0.1 * s * a[0]]
    other = [a[0] + 0.1 * (c * a[1] - s * v[1] ** 2), 0.12 * a[1] + 0.1 * c * a[0]]
    np.testing.assert_allclose(torques(builtin.load("slider_arm"), q, v, a), printed, atol=ROUNDING)
    np.testing.assert_allclose(torques(builtin.load("slider_arm_no_offset"), q, v, a), other, atol=ROUNDING)


def test_planar3_has_the_chapters_inertia_matrix_and_gravity(rng):
    """Equations (9.42b) and (9.42d) of the DeNOC chapter."""
    planar3 = builtin.load("planar3")
    (m1, m2, m3), (a1, a2, a3) = [j.mass for j in planar3.joints], [j.dh.a for j in planar3.joints]
    assert (a1, a2, a3) == (0.3, 0.25, 0.22)
    q = rng.normal(size=3)
    c2, c3, c23 = np.cos(q[1]), np.cos(q[2]), np.cos(q[1] + q[2])
    i33 = m3 * a3**2 / 3
    i23 = i33 + m3 * a2 * a3 * c3 / 2
    i13 = i33 + m3 * a3 * (a2 * c3 + a1 * c23) / 2
    i22 = (m2 * a2**2 + m3 * a3**2) / 3 + m3 * (a2**2 + a2 * a3 * c3)
    i12 = (
        (m2 * a2**2 + m3 * a3**2) / 3
        + m3 * a2**2
        + (m2 * a2 / 2 + m3 * a2) * a1 * c2
        + m3 * a3 * (2 * a2 * c3 + a1 * c23) / 2
    )
    i11 = (
        (m1 * a1**2 + m2 * a2**2 + m3 * a3**2) / 3
        + m2 * a1**2
        + m3 * (a1**2 + a2**2)
        + (m2 + 2 * m3) * a1 * a2 * c2
        + m3 * a3 * (a2 * c3 + a1 * c23)
    )
    expected = [[i11, i12, i13], [i12, i22, i23], [i13, i23, i33]]
    np.testing.assert_allclose(mass_matrix(planar3, q), expected, rtol=ROUNDING)
    k1, k2, k3 = np.cos(np.cumsum(q))
    gravity = [
        m1 * a1 * k1 / 2 + m2 * (a1 * k1 + a2 * k2 / 2) + m3 * (a1 * k1 + a2 * k2 + a3 * k3 / 2),
        m2 * a2 * k2 / 2 + m3 * (a2 * k2 + a3 * k3 / 2),
        m3 * a3 * k3 / 2,
    ]
    np.testing.assert_allclose(torques(planar3, q), 9.81 * np.array(gravity), rtol=ROUNDING)


def test_puma560_has_the_mass_matrix_and_gravity_torques_of_the_literature():
    """Corke, Robotics, Vision and Control: the nominal and the ready pose, motors included."""
    puma = builtin.load("puma560")
    nominal = [0, np.pi / 4, np.pi, 0, np.pi / 4, 0]
    printed = [
        [3.6594, -0.4044, 0.1006, -0.0025, 0.0000, 0.0000],
        [-0.4044, 4.4137, 0.3509, 0.0000, 0.0024, 0.0000],
        [0.1006, 0.3509, 0.9378, 0.0000, 0.0015, 0.0000],
        [-0.0025, 0.0000, 0.0000, 0.1925, 0.0000, 0.0000],
        [0.0000, 0.0024, 0.0015, 0.0000, 0.1713, 0.0000],
        [0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.1941],
    ]
    np.testing.assert_allclose(mass_matrix(puma, nominal), printed, atol=PRINTED)
    np.testing.assert_allclose(torques(puma, nominal), [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=PRINTED)
    ready = [0, np.pi / 2, -np.pi / 2, 0, 0, 0]
    np.testing.assert_allclose(torques(puma, ready), [0, -0.7752, 0.2489, 0, 0, 0], atol=PRINTED)


def test_stanford_has_the_moments_of_the_tables_about_the_frames():
    printed = {
        "waist": (0.276, 0.255, 0.071),
        "shoulder": (0.108, 0.018, 0.1),
        "boom": (2.51, 2.51, 0.006),
        "forearm": (0.002, 0.001, 0.001),
        "wrist": (0.003, 0.0004, 0.003),
        "hand": (0.013, 0.013, 0.0003),
    }
    stanford = builtin.load("stanford")
    assert [joint.kind for joint in stanford.joints].count("prismatic") == 1
    assert stanford.joints[2].kind == "prismatic"
    for name, moments in printed.items():
        joint = stanford.joint(name)
        shift = joint.mass * (joint.com @ joint.com * np.eye(3) - np.outer(joint.com, joint.com))
        np.testing.assert_allclose(joint.inertia + shift, np.diag(moments), atol=1e-9)  # the file has 10 digits


def test_kuka_has_the_printed_masses_and_the_makers_reach():
    kuka = builtin.load("kuka_kr5")
    assert [joint.mass for joint in kuka.joints] == [26.98, 15.92, 25.852, 4.008, 1.615, 0.016]
    pose = np.eye(4)
    for joint in kuka.joints:
        pose = pose @ joint.before.matrix() @ joint.after.matrix()
    # Upright upper arm, forearm level: 180 + 620 + 115 mm out, 400 + 600 + 120 mm up, nothing to the side.
    tip = pose @ [*kuka.point("tip").at, 1]
    np.testing.assert_allclose(tip[:3], [0.915, 0, 1.12], atol=1e-12)


def test_serial_is_always_the_same_chain():
    assert builtin.serial(4, 1) == builtin.serial(4, 1)
    assert builtin.serial(4, 1) != builtin.serial(4, 2)
    assert Structure.serial(3).coordinates == ("j1", "j2", "j3")
    with pytest.raises(InputError, match="serial: n must be 1 or more joints, got 0"):
        builtin.serial(0)


def test_an_unknown_name_is_met_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown built-in mechanism 'planar4'; did you mean 'planar"):
        builtin.load("planar4")
    with pytest.raises(UnknownNameError, match="unknown mechanism 'puma'; did you mean 'puma560'.*or give a file"):
        Structure.load("puma")
    with pytest.raises(InputError, match="puma560: only the root link of a URDF can be set floating"):
        Structure.load("puma560", floating=True)


def test_loading_a_built_in_imports_nothing_heavy():
    heavy = "{'casadi', 'llvmlite', 'pydantic', 'matplotlib', 'typer'}"
    load = "from kinecast.mechanism import Structure; Structure.load('puma560')"
    code = f"import sys; {load}; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "set()\n"
