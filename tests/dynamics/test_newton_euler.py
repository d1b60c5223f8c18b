"""Newton-Euler dynamics against the plain reference, closed forms of the thesis, and operation counts."""

from dataclasses import fields

import casadi as ca
import numpy as np
import pytest
from mechanism_cases import CASES, case
from random_mechanisms import random_state
from reference_dynamics import function, relative_difference, values

from kinecast.dynamics import newton_euler
from kinecast.dynamics.newton_euler_sensitivities import motion_sensitivities
from kinecast.dynamics.surroundings import AppliedLoad, at_rest, constant
from kinecast.engine.program import read
from kinecast.errors import NotSupportedError
from kinecast.literature import INVERSE_DYNAMICS
from kinecast.mechanism import Joint, Loop, Place, Structure
from kinecast.mechanism.builtin import serial
from kinecast.mechanism.joints import DH

# Two recursions of some hundred operations a link, in double precision; a wrong term shows at 1e-3 and more.
TOLERANCE = 1e-11


@pytest.mark.parametrize("name", CASES)
def test_torques_loads_and_all_sensitivities_agree_with_the_reference(name, rng):
    structure, around = case(name)
    state = random_state(rng, structure)
    expected = function(structure, around)(*state)
    tau, loads, *sensitivities = [x.full() for x in expected]
    with_torques = values(newton_euler.inverse_dynamics_sensitivities, structure, around, state)
    with_loads = values(newton_euler.joint_loads_sensitivities, structure, around, state)
    for computed, wanted in zip(
        (*with_torques, *with_loads), (tau, *sensitivities[:3], loads, *sensitivities[3:]), strict=True
    ):
        assert relative_difference(computed, wanted) < TOLERANCE
    (alone,) = values(newton_euler.inverse_dynamics, structure, around, state)
    assert relative_difference(alone, tau) < TOLERANCE
    (alone,) = values(newton_euler.joint_loads, structure, around, state)
    assert relative_difference(alone, loads) < TOLERANCE


def test_a_long_chain_agrees_with_the_reference(rng):
    structure = serial(30)
    state = random_state(rng, structure)
    around = at_rest(structure)
    tau, loads, *sensitivities = [x.full() for x in function(structure, around)(*state)]
    computed = values(newton_euler.joint_loads_sensitivities, structure, around, state)
    for got, wanted in zip(computed, (loads, *sensitivities[3:]), strict=True):
        assert relative_difference(got, wanted) < TOLERANCE
    computed = values(newton_euler.inverse_dynamics_sensitivities, structure, around, state)
    for got, wanted in zip(computed, (tau, *sensitivities[:3]), strict=True):
        assert relative_difference(got, wanted) < TOLERANCE


@pytest.mark.parametrize("name", ["chain, standard DH", "chain on a moving base", "tree, everything"])
def test_every_quantity_of_the_forward_recursion_has_its_sensitivity(name, rng):
    structure, around = case(name)
    symbols = [ca.SX.sym(x, structure.n) for x in "qva"]
    links = newton_euler.motion(structure, *symbols, around)
    differences = []
    for link, change in zip(links, motion_sensitivities(structure, links), strict=True):
        given = {field.name: getattr(change, field.name) for field in fields(change)}
        for quantity in {name.rsplit("_", 1)[0] for name in given}:
            for symbol, by in zip(symbols, "qva", strict=True):
                analytic = given.get(f"{quantity}_{by}", ca.SX(3, structure.n))
                differences.append(ca.densify(analytic - ca.jacobian(getattr(link, quantity), symbol)))
    worst = ca.Function("differences", symbols, [ca.norm_inf(ca.vec(ca.vertcat(*differences)))])
    assert len(differences) == 3 * 10 * len(structure.joints)
    assert float(worst(*random_state(rng, structure))) < 1e-10  # accelerations of up to some 100 m/s2


def two_turning_joints():
    """The thesis's first example (table 4.1, 4.2): planar, horizontal, centres of mass at half length."""
    body = {"mass": 0.5, "com": [-0.2, 0, 0], "inertia": [0, 0, 0.1, 0, 0, 0]}
    joints = [Joint.from_dh("1", DH(a=0.4), **body), Joint.from_dh("2", DH(a=0.4), parent="1", **body)]
    return Structure("two turning joints", tuple(joints), gravity=np.zeros(3))


def slider_and_turning_joint(offset):
    """The thesis's second example (table 4.3, 4.4); `offset` is the constant part of theta_2."""
    joints = [
        Joint.from_dh(
            "1", DH(np.pi / 2, 0.4, 0, np.pi / 2), kind="prismatic", mass=0.5, com=[0, -0.2, 0], inertia=[0] * 6
        ),
        Joint.from_dh(
            "2", DH(theta=offset, a=0.4), parent="1", mass=0.5, com=[-0.2, 0, 0], inertia=[0, 0, 0.1, 0, 0, 0]
        ),
    ]
    return Structure("slider and turning joint", tuple(joints), gravity=np.zeros(3))


def test_the_two_link_example_has_its_closed_form(rng):
    structure = two_turning_joints()
    q, v, a = random_state(rng, structure)
    (tau,) = values(newton_euler.inverse_dynamics, structure, at_rest(structure), (q, v, a))
    m, length, half, inertia = 0.5, 0.4, 0.2, 0.1
    c, s = m * length * half * np.cos(q[1]), m * length * half * np.sin(q[1])
    own = inertia + m * half**2
    assert tau[0, 0] == pytest.approx(
        (2 * own + m * length**2 + 2 * c) * a[0] + (own + c) * a[1] - 2 * s * v[0] * v[1] - s * v[1] ** 2, rel=1e-12
    )
    assert tau[1, 0] == pytest.approx(own * a[1] + (own + c) * a[0] + s * v[0] ** 2, rel=1e-12)


@pytest.mark.parametrize("offset", [np.pi / 2, 0.0])
def test_the_slider_example_has_its_closed_form_in_both_readings(offset, rng):
    structure = slider_and_turning_joint(offset)
    q, v, a = random_state(rng, structure)
    (tau,) = values(newton_euler.inverse_dynamics, structure, at_rest(structure), (q, v, a))
    if offset:
        force = a[0] - 0.1 * (np.sin(q[1]) * a[1] + np.cos(q[1]) * v[1] ** 2)
        moment = 0.12 * a[1] - 0.1 * np.sin(q[1]) * a[0]
    else:
        force = a[0] + 0.1 * (np.cos(q[1]) * a[1] - np.sin(q[1]) * v[1] ** 2)
        moment = 0.12 * a[1] + 0.1 * np.cos(q[1]) * a[0]
    assert tau.ravel() == pytest.approx([force, moment], rel=1e-12)


def test_signs_of_gravity_and_loads():
    """A horizontal bar along x, hinged about y: lifting forces help the joint, which otherwise carries the weight."""
    bar = Joint("bar", axis=[0, 1, 0], mass=2.0, com=[0.5, 0, 0])
    structure = Structure("bar", (bar,), gravity=[0, 0, -10])
    lift = AppliedLoad("bar", np.array([1.0, 0, 0]), constant([0, 0, 3.0]), constant([0, 4.0, 0]))
    still = ([0.0], [0.0], [0.0])
    (hanging,) = values(newton_euler.joint_loads, structure, at_rest(structure), still)
    (helped,) = values(newton_euler.joint_loads, structure, at_rest(structure, [lift]), still)
    # The ground pushes up with the weight; turning x towards -z is positive about y, so holding the bar is negative.
    np.testing.assert_allclose(hanging.ravel(), [0, -10, 0, 0, 0, 20], atol=1e-14)
    np.testing.assert_allclose(helped.ravel(), [0, -10 + 3 - 4, 0, 0, 0, 20 - 3], atol=1e-14)


def test_a_closed_loop_is_refused():
    structure = serial(2).replace(loops=(Loop("ring", Place("j2", np.zeros(3)), Place(None, np.zeros(3))),))
    symbols = [ca.SX.sym(x, 2) for x in "qva"]
    with pytest.raises(NotSupportedError, match="Newton-Euler dynamics of 'serial2': closed loops"):
        newton_euler.inverse_dynamics(structure, *symbols, at_rest(structure))


@pytest.mark.parametrize("n", [6, 10])
def test_no_more_operations_than_published_for_this_recursion(n):
    structure = serial(n)
    symbols = [ca.SX.sym(x, n) for x in "qva"]
    tau = newton_euler.inverse_dynamics(structure, *symbols, at_rest(structure))
    counts = read(ca.Function("torques", symbols, [tau])).counts
    published = next(row for row in INVERSE_DYNAMICS if row.source.startswith("Walker and Orin"))
    assert (counts.multiplications, counts.additions) == (127 * n - 121, 99 * n - 107)
    assert np.all(np.array([counts.multiplications, counts.additions]) <= published.at(n))
