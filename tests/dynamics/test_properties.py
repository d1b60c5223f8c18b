"""Laws that hold whatever the numbers: of mechanics, for mechanisms in any state."""

import numpy as np
import pytest
from compiled_mechanisms import NAMES, acting, mechanism
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kinecast.dynamics.mechanism import BaseMotion, Load

# Identities hold but for rounding, which the solving with a mass matrix of condition 1e3 amplifies.
EXACT = 1e-10
# Central differences err by the step squared, 1e-10, times third derivatives (of up to 1e3), and by rounding over it.
DIFFERENCES, STEP = 1e-6, 1e-5
# Fourth-order integration, 2000 steps of 1e-3 s, of motions whose time scale is above 0.1 s.
INTEGRATED = 1e-6

few = settings(max_examples=25, deadline=None, derandomize=True, database=None)
numbers = st.floats(-3, 3, allow_subnormal=False)
mechanisms = pytest.mark.parametrize("name", NAMES)


def vectors(name, *names):
    """Hypothesis' arguments: one vector of coordinates under each of the names."""
    return given(**{x: arrays(float, mechanism(name).n, elements=numbers) for x in names})


def for_all(*names):
    """Run a test `test(mechanism, **vectors)` for every mechanism and many states."""

    def decorate(test):
        @mechanisms
        def run(name):
            @few
            @vectors(name, *names)
            def hold(**state):
                test(mechanism(name), **state)

            hold()

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


def assert_close(x, y, tolerance=EXACT):
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    assert np.abs(x - y).max() <= tolerance * max(1.0, np.abs(y).max(), np.abs(x).max())


# ------------------------------------------------------------------------------------------------ matrices


@for_all("q")
def test_the_mass_matrix_is_symmetric_and_positive_definite(m, q):
    M = m.mass_matrix(q)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    assert_close(m.inverse_mass_matrix(q) @ M, np.eye(m.n))


@for_all("q", "v")
def test_kinetic_energy_is_half_the_mass_matrix_between_velocities(m, q, v):
    assert_close(m.kinetic_energy(q, v), 0.5 * v @ m.mass_matrix(q) @ v)


@for_all("q", "v", "a")
def test_torques_are_those_of_mass_coriolis_and_gravity(m, q, v, a):
    parts = m.mass_matrix(q) @ a + m.coriolis_matrix(q, v) @ v + m.gravity_torques(q)
    assert_close(m.inverse_dynamics(q, v, a), parts)
    assert_close(m.bias_torques(q, v), m.inverse_dynamics(q, v, 0 * a))


@for_all("q", "v")
def test_the_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(m, q, v):
    rate = (m.mass_matrix(q + STEP * v) - m.mass_matrix(q - STEP * v)) / (2 * STEP)
    S = rate - 2 * m.coriolis_matrix(q, v)
    assert_close(S, -S.T, DIFFERENCES)


@for_all("q", "v", "a")
def test_the_regressor_times_the_parameters_is_the_torque(m, q, v, a):
    rotors = np.array([joint.actuator_inertia for joint in m.movable])
    assert_close(m.regressor(q, v, a) @ m.inertial_parameters + rotors * a, m.inverse_dynamics(q, v, a))
    base = acting()["base"]
    with_base = m.regressor(q, v, a, base=base) @ m.inertial_parameters + rotors * a
    assert_close(with_base, m.inverse_dynamics(q, v, a, base=base))


# ------------------------------------------------------------------------------------------------ to and fro


@for_all("q", "v", "a")
def test_forward_dynamics_undoes_inverse_dynamics(m, q, v, a):
    for around in ({}, acting()):
        tau = m.inverse_dynamics(q, v, a, **around)
        assert_close(m.forward_dynamics(q, v, tau, **around), a)


@for_all("q", "v")
def test_loads_do_the_work_of_their_forces_and_moments(m, q, v):
    """Their torques times velocities are minus their power: force times velocity, moment times angular velocity."""
    loads = acting()["loads"]
    torques = m.gravity_torques(q, loads=loads) - m.gravity_torques(q)
    twists = [m.velocity(load.point, q, v) for load in loads]
    power = sum(load.moment @ x[:3] + load.force @ x[3:] for load, x in zip(loads, twists, strict=True))
    assert_close(torques @ v, -power)


# ------------------------------------------------------------------------------------------------ energy and momentum


@for_all("q", "v", "a")
def test_energy_grows_by_the_power_of_the_torques(m, q, v, a):
    def energy(t):
        at = q + v * t + 0.5 * a * t**2
        return m.kinetic_energy(at, v + a * t) + m.potential_energy(at)

    rate = (energy(STEP) - energy(-STEP)) / (2 * STEP)
    # The difference of two energies has their rounding, over the step.
    allowed = DIFFERENCES * max(1.0, abs(rate)) + 1e-15 * abs(energy(0)) / STEP
    assert abs(rate - m.inverse_dynamics(q, v, a) @ v) <= allowed


@for_all("q", "v", "a")
def test_momentum_changes_by_gravity_and_what_the_ground_exerts(m, q, v, a):
    """And is the sum over bodies: the loads at the joints on the ground are all that the ground exerts."""

    def momentum(t):
        return m.momentum(q + v * t + 0.5 * a * t**2, v + a * t)

    rate = (momentum(STEP) - momentum(-STEP)) / (2 * STEP)
    exerted, loads = np.zeros(6), m.joint_loads(q, v, a, frame="world")
    for joint, load in zip(m.joints, loads, strict=True):
        if joint.parent is None:
            exerted += about_the_world(joint_origin(m, joint, q), load)
    weight = m.mass * m.gravity
    exerted += about_the_world(m.center_of_mass(q), np.concatenate([np.zeros(3), weight]))
    assert_close(rate, exerted, DIFFERENCES)


@mechanisms
def test_energy_is_conserved_in_free_motion(name):
    m = mechanism(name)
    rng = np.random.default_rng(3)
    x = np.array([rng.uniform(-1, 1, m.n), rng.uniform(-0.3, 0.3, m.n)])
    start = m.kinetic_energy(*x) + m.potential_energy(x[0])
    step, none = 1e-3, np.zeros(m.n)

    def rate(x):
        return np.array([x[1], m.forward_dynamics(*x, none)])

    moved = 0.0
    for _ in range(2000):
        k1 = rate(x)
        k2 = rate(x + 0.5 * step * k1)
        k3 = rate(x + 0.5 * step * k2)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + step * k3))
        moved = max(moved, float(m.kinetic_energy(*x)))
    assert moved > 1.0  # J: something happened
    assert abs(m.kinetic_energy(*x) + m.potential_energy(x[0]) - start) < INTEGRATED * moved


# ------------------------------------------------------------------------------------------------ free bodies


def about_the_world(at, load):
    """A wrench (moment, force) at a place, about the world's origin."""
    return np.concatenate([load[:3] + np.cross(at, load[3:]), load[3:]])


def joint_origin(m, joint, q):
    """Where a joint's load is taken: standard DH constants put it at the parent's frame."""
    if joint.dh is None or m.convention != "standard":
        return m.pose(joint.name, q)[:3, 3]
    return np.zeros(3) if joint.parent is None else m.pose(joint.parent, q)[:3, 3]


def required(m, joint, q, v, a, base):
    """The wrench about the world's origin that a body's motion asks for, gravity's part taken off."""
    pose, twist = m.pose(joint.name, q), m.velocity(joint.name, q, v, base=base)
    rate = m.acceleration(joint.name, q, v, a, base=base)
    arm = pose[:3, :3] @ joint.com
    w, wd = twist[:3], rate[:3]
    acceleration = rate[3:] + np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
    I = pose[:3, :3] @ joint.inertia @ pose[:3, :3].T
    force = joint.mass * (acceleration - m.gravity)
    return about_the_world(pose[:3, 3] + arm, np.concatenate([I @ wd + np.cross(w, I @ w), force]))


@for_all("q", "v", "a")
def test_joint_loads_balance_every_free_body(m, q, v, a):
    for around in ({"loads": [], "base": None}, acting()):
        wrenches = {
            joint.name: about_the_world(joint_origin(m, joint, q), load)
            for joint, load in zip(m.joints, m.joint_loads(q, v, a, frame="world", **around), strict=True)
        }
        for joint in m.joints:
            acts = wrenches[joint.name] - sum((wrenches[child] for child in m.children(joint.name)), np.zeros(6))
            for load in around["loads"]:
                if m.point(load.point).joint == joint.name:
                    at = m.pose(load.point, q)[:3, 3]
                    acts = acts + about_the_world(at, np.concatenate([load.moment, load.force]))
            base = around["base"] or BaseMotion()
            scale = np.abs(wrenches[joint.name]).max()
            assert np.abs(acts - required(m, joint, q, v, a, base)).max() <= EXACT * max(1.0, scale)


@for_all("q", "v", "a")
def test_joint_loads_along_the_axes_are_the_torques(m, q, v, a):
    """Less what turns the rotor, which is not part of the body."""
    around = acting()
    loads, tau = m.joint_loads(q, v, a, **around), m.inverse_dynamics(q, v, a, **around)
    for joint, load in zip(m.joints, loads, strict=True):
        if joint.moves:
            k = m.coordinates.index(joint.name)
            axis = joint.after.rotation.T @ joint.axis
            part = axis @ (load[:3] if joint.turns else load[3:])
            if joint.turns:  # the axis passes the joint frame, from which the load's place may be away
                origin = joint_frame(m, joint, q) - joint_origin(m, joint, q)
                part -= axis @ np.cross(m.pose(joint.name, q)[:3, :3].T @ origin, load[3:])
            assert abs(part + joint.actuator_inertia * a[k] - tau[k]) <= EXACT * max(1.0, np.abs(loads).max())


def joint_frame(m, joint, q):
    pose = m.pose(joint.name, q) @ np.linalg.inv(joint.after.matrix())
    return pose[:3, 3]


# ------------------------------------------------------------------------------------------------ loads as such


@mechanisms
def test_a_load_is_the_sum_of_its_parts_and_nothing_on_the_ground(name):
    m = mechanism(name)
    q, v, a, _ = np.random.default_rng(5).normal(size=(4, m.n))
    force, moment = np.random.default_rng(6).normal(size=(2, 3))
    alone = m.inverse_dynamics(q, v, a)
    both = m.inverse_dynamics(q, v, a, loads=Load("handle", force, moment)) - alone
    parts = [
        m.inverse_dynamics(q, v, a, loads=[x]) - alone for x in (Load("handle", force), Load("handle", moment=moment))
    ]
    assert_close(both, sum(parts))
    twice = m.inverse_dynamics(q, v, a, loads=[Load("handle", force, moment)] * 2) - alone
    assert_close(twice, 2 * both)


@mechanisms
def test_a_base_that_accelerates_upwards_is_more_gravity(name):
    m = mechanism(name)
    q, v, a, _ = np.random.default_rng(5).normal(size=(4, m.n))
    lift = BaseMotion(acceleration=np.concatenate([np.zeros(3), -m.gravity]))
    doubled = m.inverse_dynamics(q, v, a) + m.gravity_torques(q)
    assert_close(m.inverse_dynamics(q, v, a, base=lift), doubled)
