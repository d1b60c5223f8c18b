"""Poses, velocities, accelerations and Jacobians of places: closed forms, derivatives in time, no CasADi from cache."""

import os
import subprocess
import sys

import numpy as np
import pytest
from compiled_mechanisms import NAMES, mechanism, states
from scipy.spatial.transform import Rotation

import kinecast as kc
from kinecast.dynamics.mechanism import BaseMotion, Mechanism
from kinecast.mechanism import Joint, Point, Transform

# Both sides are a few dozen operations on numbers near one.
ROUNDING = 1e-13
# Central differences in time: the step squared times third derivatives (of up to 1e4), and rounding over the step.
DIFFERENCES, STEP = 1e-5, 1e-5
mechanisms = pytest.mark.parametrize("name", NAMES)


def assert_close(x, y, tolerance=ROUNDING):
    assert np.shape(x) == np.shape(y)
    assert np.abs(np.asarray(x) - y).max() <= tolerance * max(1.0, np.abs(y).max())


# ------------------------------------------------------------------------------------------------ closed forms


def test_pendulum(rng):
    """A rod of 1 kg and 1 m that hangs straight down at q = 0."""
    m, g = Mechanism.load("pendulum"), 9.81
    q, v, a = rng.normal(size=(3, 50, 1))
    angle = q[:, 0]
    zero = np.zeros(50)
    tip = np.stack([np.sin(angle), -np.cos(angle), zero], axis=-1)
    sideways = np.stack([np.cos(angle), np.sin(angle), zero], axis=-1)
    spin = np.stack([zero, zero, np.ones(50)], axis=-1)
    assert_close(m.pose("tip", q)[:, :3, 3], tip)
    assert_close(m.pose("tip", q)[:, :3, 0], tip)  # x of a DH frame points along the rod
    assert_close(m.jacobian("tip", q)[..., 0], np.concatenate([spin, sideways], axis=-1))
    assert_close(m.velocity("tip", q, v), np.concatenate([spin, sideways], axis=-1) * v)
    acceleration = sideways * a - tip * v**2
    assert_close(m.acceleration("tip", q, v, a), np.concatenate([spin * a, acceleration], axis=-1))
    assert_close(m.center_of_mass(q), tip / 2)
    assert_close(m.kinetic_energy(q, v), v[:, 0] ** 2 / 6)
    assert_close(m.potential_energy(q), -g / 2 * np.cos(angle))
    momentum = np.concatenate([spin / 3, sideways / 2], axis=-1) * v
    assert_close(m.momentum(q, v), momentum)
    assert_close(m.mass_matrix(q), np.full((50, 1, 1), 1 / 3))
    assert_close(m.gravity_torques(q), g / 2 * np.sin(q))
    assert_close(m.inverse_dynamics(q, v, a), a / 3 + g / 2 * np.sin(q))
    assert_close(m.coriolis_matrix(q, v), np.zeros((50, 1, 1)))


def test_planar2(rng):
    """Two links of 0.4 m in the x-y plane, 0.5 kg each in the middle, moments 0.1 kg m2 about it."""
    m, l, c, mass, inertia = Mechanism.load("planar2"), 0.4, 0.2, 0.5, 0.1
    g = -m.gravity[1]
    (q1, q2), (v1, v2), a = q, v, _ = rng.normal(size=(3, 2))
    s1, c1, s12, c12 = np.sin(q1), np.cos(q1), np.sin(q1 + q2), np.cos(q1 + q2)
    w = v1 + v2
    turn = np.array([[c12, -s12, 0], [s12, c12, 0], [0, 0, 1]])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, [l * (c1 + c12), l * (s1 + s12), 0]
    assert_close(m.pose("tip", q), pose)
    jacobian = np.zeros((6, 2))
    jacobian[2] = 1
    jacobian[3], jacobian[4] = [-l * (s1 + s12), -l * s12], [l * (c1 + c12), l * c12]
    assert_close(m.jacobian("tip", q), jacobian)
    assert_close(m.velocity("tip", q, v), jacobian @ v)
    bend = -l * np.array([v1**2 * c1 + w**2 * c12, v1**2 * s1 + w**2 * s12])
    assert_close(m.acceleration("tip", q, v, a), jacobian @ a + [0, 0, 0, *bend, 0])
    assert_close(m.center_of_mass(q), [(c + l) / 2 * c1 + c / 2 * c12, (c + l) / 2 * s1 + c / 2 * s12, 0])
    h = mass * l * c
    c2, s2 = np.cos(q2), np.sin(q2)
    m22 = inertia + mass * c**2
    M = np.array([[2 * inertia + mass * (2 * c**2 + l**2) + 2 * h * c2, m22 + h * c2], [m22 + h * c2, m22]])
    C = h * s2 * np.array([[-v2, -w], [v1, 0]])
    assert_close(m.mass_matrix(q), M)
    assert_close(m.inverse_mass_matrix(q), np.linalg.inv(M), 1e-12)  # condition 10
    assert_close(m.coriolis_matrix(q, v), C)
    gravity = mass * g * np.array([(c + l) * c1 + c * c12, c * c12])
    assert_close(m.gravity_torques(q), gravity)
    assert_close(m.inverse_dynamics(q, v, a), M @ a + C @ v + gravity)
    assert_close(m.kinetic_energy(q, v), 0.5 * v @ M @ v)
    assert_close(m.potential_energy(q), mass * g * ((c + l) * s1 + c * s12))
    assert_close(m.joint_loads(q, v, a)[:, 2], m.inverse_dynamics(q, v, a))


def test_what_is_fixed_to_the_ground_counts():
    """A body on the ground has a place and a mass, and moves with a ground that moves."""
    stand = Joint(
        "stand", "fixed", before=Transform.from_xyz_rpy([0, 0, 1]), mass=3.0, com=[1, 0, 0], inertia=np.eye(3)
    )
    arm = Joint("arm", "revolute", "stand", mass=1.0, com=[0, 1, 0], inertia=0.1 * np.eye(3))
    m = Mechanism("crane", (stand, arm), points=(Point("floor", None, [1.0, 2, 3]),))
    q, v = np.zeros(1), np.ones(1)
    assert_close(m.center_of_mass(q), [3 / 4, 1 / 4, 1])
    assert_close(m.potential_energy(q), 4 * 9.81)
    assert_close(m.pose("stand", q)[:3, 3], [0, 0, 1])
    assert_close(m.pose("floor", q)[:3, 3], [1, 2, 3])
    assert_close(m.velocity("floor", q, v), np.zeros(6))
    assert not m.jacobian("stand", q).any()
    moving = BaseMotion(velocity=[0, 0, 2, 0, 0, 0])  # turns about z: the arm 3 rad/s in all
    assert_close(m.velocity("floor", q, v, base=moving), [0, 0, 2, -4, 2, 0])
    assert_close(m.kinetic_energy(q, v, base=moving), 0.5 * (3 + 1) * 2**2 + 0.5 * (1 + 0.1) * 3**2)
    momentum = m.momentum(q, v, base=moving)
    assert_close(momentum, [-6, -3, (3 + 1) * 2 + 1.1 * 3, -3, 6, 0])


# ------------------------------------------------------------------------------------------------ derivatives in time


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def places(m):
    return [*(point.name for point in m.points), *(joint.name for joint in m.joints)]


@mechanisms
def test_velocities_are_the_rates_of_poses(name):
    m = mechanism(name)
    q, v, _, _ = states(name)
    for place in places(m):
        rate = (m.pose(place, q + STEP * v) - m.pose(place, q - STEP * v)) / (2 * STEP)
        velocity = m.velocity(place, q, v)
        assert_close(rate[:3, :3], skew(velocity[:3]) @ m.pose(place, q)[:3, :3], DIFFERENCES)
        assert_close(rate[:3, 3], velocity[3:], DIFFERENCES)
        assert_close(m.jacobian(place, q) @ v, velocity)


@mechanisms
def test_accelerations_are_the_rates_of_velocities(name):
    m = mechanism(name)
    q, v, a, _ = states(name)

    def at(t):
        return q + v * t + 0.5 * a * t**2, v + a * t

    for place in places(m):
        rate = (m.velocity(place, *at(STEP)) - m.velocity(place, *at(-STEP))) / (2 * STEP)
        assert_close(m.acceleration(place, q, v, a), rate, DIFFERENCES)


@mechanisms
def test_a_moving_base_carries_everything(name, rng):
    """The ground's motion, integrated for a short time before and after, moves every place as it says."""
    m = mechanism(name)
    q, v, a, _ = states(name)
    velocity, acceleration = rng.normal(size=(2, 6))

    def ground(t):
        """Rotation and position of the ground frame; at t = 0 its axes are the world's."""
        turn = Rotation.from_rotvec(velocity[:3] * t + 0.5 * acceleration[:3] * t**2).as_matrix()
        return turn, velocity[3:] * t + 0.5 * acceleration[3:] * t**2

    def where(place, t):
        turn, at = ground(t)
        pose = m.pose(place, q + v * t + 0.5 * a * t**2)
        return turn @ pose[:3, :3], turn @ pose[:3, 3] + at

    base = BaseMotion(velocity, acceleration)
    step = (
        1e-4  # for second differences: rounding over its square is 1e-8, the step squared times fourth derivatives too
    )
    for place in places(m):
        (before, start), (now, here), (after, end) = (where(place, t) for t in (-step, 0, step))
        twist = m.velocity(place, q, v, base=base)
        rate = m.acceleration(place, q, v, a, base=base)
        assert_close(twist[3:], (end - start) / (2 * step), DIFFERENCES)
        assert_close(skew(twist[:3]) @ now, (after - before) / (2 * step), DIFFERENCES)
        assert_close(rate[3:], (end - 2 * here + start) / step**2, DIFFERENCES)
        second = (after - 2 * now + before) / step**2
        assert_close((skew(rate[:3]) + skew(twist[:3]) @ skew(twist[:3])) @ now, second, DIFFERENCES)


@mechanisms
def test_a_place_is_its_point_in_its_bodys_axes(name):
    m = mechanism(name)
    q = states(name)[0]
    for point in m.points:
        body = m.pose(point.joint, q)
        assert_close(m.pose(point.name, q), body @ Transform.from_xyz_rpy(point.at).matrix())


@mechanisms
def test_poses_are_those_of_the_joints_in_a_row(name):
    """Each joint's own transforms multiplied, which is how a mechanism is defined."""
    m = mechanism(name)
    q = states(name)[0]
    for joint in m.joints:
        pose = np.eye(4)
        for part in (m.joint(x) for x in m.chain(joint.name)):
            moved = np.eye(4)
            if part.moves:
                k = m.coordinates.index(part.name)
                if part.turns:
                    axis = skew(part.axis)
                    moved[:3, :3] += np.sin(q[k]) * axis + (1 - np.cos(q[k])) * axis @ axis
                else:
                    moved[:3, 3] = q[k] * part.axis
            pose = pose @ part.before.matrix() @ moved @ part.after.matrix()
        assert_close(m.pose(joint.name, q), pose)


# ------------------------------------------------------------------------------------------------ without CasADi


SCRIPT = """
import sys
import kinecast as kc
arm = kc.load("puma560")
q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
tau, d = arm.inverse_dynamics(q, q, q, sensitivities=True, loads=kc.Load("tip", [0, 0, -50]))
print(repr(tau.sum() + d.q.sum() + arm.pose("tip", q).sum()), "casadi" in sys.modules)
"""


def test_a_mechanism_that_was_compiled_before_needs_no_casadi(tmp_path):
    environment = {**os.environ, "KINECAST_CACHE": str(tmp_path / "cache")}
    printed = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", SCRIPT],
            capture_output=True, text=True, env=environment, check=False, timeout=300,
        )  # fmt: skip
        assert done.stderr == ""
        printed.append(done.stdout.split())
    assert [casadi for _, casadi in printed] == ["True", "False"]
    assert printed[0][0] == printed[1][0]


def test_load_and_serial_give_mechanisms():
    assert isinstance(kc.load("planar2"), kc.Mechanism)
    assert kc.serial(5).mass_matrix(np.zeros(5)).shape == (5, 5)
