"""MuJoCo computes the same numbers, for every quantity that it has too."""

from xml.etree import ElementTree

import numpy as np
import peer_cases
import pytest

from kinecast.bench.mujoco_peer import mjcf, mujoco_model, quaternion
from kinecast.dynamics.mechanism import Load
from kinecast.mechanism import Structure

mujoco = pytest.importorskip("mujoco")

# Relative to the largest entry. MuJoCo refuses massless bodies: its model has 1e-14 kg (and kg m2) more in every body;
# its file format has quaternions, which are exact to rounding.
AGREES = 1e-9


class Pair:
    """A mechanism, MuJoCo's model of it, and samples of its state."""

    def __init__(self, name):
        self.ours = peer_cases.mechanism(name)
        self.peer = mujoco_model(self.ours)
        self.model, self.data = self.peer.model, self.peer.data
        self.state = peer_cases.state(name)

    def collect(self, compute):
        """What `compute(sample number)` gives after each sample is set (its position, velocity and acceleration)."""
        found = []
        for s, (q, v, a, _) in enumerate(zip(*self.state, strict=True)):
            mujoco.mj_resetData(self.model, self.data)
            self.peer.set(q, v, a)
            found.append(np.array(compute(s)))
        return np.array(found)

    def frame(self, place):
        """(MuJoCo's body, rotation, position) of a point or body: MuJoCo's body frame comes before `after`."""
        point = self.ours.point(place)
        body = self.peer.body(point.joint)
        after = self.ours.joint(point.joint).after
        turn = self.data.xmat[body].reshape(3, 3)
        at = turn @ (after.rotation @ point.at + after.translation) + self.data.xpos[body]
        return body, turn @ after.rotation, at


@pytest.fixture(scope="module", params=peer_cases.NAMES)
def pair(request):
    return Pair(request.param)


def assert_agree(ours, theirs):
    assert ours.shape == theirs.shape
    assert np.isfinite(theirs).all()
    assert np.abs(ours - theirs).max() <= AGREES * max(1.0, np.abs(theirs).max())


def test_inverse_dynamics(pair):
    q, v, a, _ = pair.state

    def torques(s):
        mujoco.mj_inverse(pair.model, pair.data)
        return pair.peer.from_peer(pair.data.qfrc_inverse)

    assert_agree(pair.ours.inverse_dynamics(q, v, a), pair.collect(torques))


def test_forward_dynamics_and_bias(pair):
    q, v, _, tau = pair.state

    def accelerations(s):
        pair.data.qfrc_applied[:] = pair.peer.to_peer(tau[s])
        mujoco.mj_forward(pair.model, pair.data)
        return [pair.peer.from_peer(x) for x in (pair.data.qacc, pair.data.qfrc_bias)]

    theirs = pair.collect(accelerations)
    assert_agree(pair.ours.forward_dynamics(q, v, tau), theirs[:, 0])
    assert_agree(pair.ours.bias_torques(q, v), theirs[:, 1])


def test_mass_matrix(pair):
    def matrix(s):
        mujoco.mj_forward(pair.model, pair.data)
        columns = np.zeros((pair.model.nv, pair.model.nv))
        for column, unit in zip(columns, np.eye(pair.model.nv), strict=True):
            mujoco.mj_mulM(pair.model, pair.data, column, unit)
        return pair.peer.from_peer(pair.peer.from_peer(columns).T)

    assert_agree(pair.ours.mass_matrix(pair.state[0]), pair.collect(matrix))


def test_energies(pair):
    q, v, _, _ = pair.state

    def energies(s):
        mujoco.mj_forward(pair.model, pair.data)
        return pair.data.energy

    theirs = pair.collect(energies)
    assert_agree(pair.ours.potential_energy(q), theirs[:, 0])
    assert_agree(pair.ours.kinetic_energy(q, v), theirs[:, 1])


def test_center_of_mass_and_momentum(pair):
    q, v, _, _ = pair.state

    def whole(s):
        mujoco.mj_forward(pair.model, pair.data)
        mujoco.mj_subtreeVel(pair.model, pair.data)
        com, linear = pair.data.subtree_com[0], pair.data.subtree_linvel[0] * pair.ours.mass
        return np.concatenate([com, pair.data.subtree_angmom[0] + np.cross(com, linear), linear])

    theirs = pair.collect(whole)
    assert_agree(pair.ours.center_of_mass(q), theirs[:, :3])
    assert_agree(pair.ours.momentum(q, v), theirs[:, 3:])


def test_poses_velocities_accelerations_and_jacobians(pair):
    q, v, a, _ = pair.state
    place = peer_cases.place(pair.ours)

    def everything(s):
        mujoco.mj_inverse(pair.model, pair.data)
        mujoco.mj_rnePostConstraint(pair.model, pair.data)
        body, turn, at = pair.frame(place)
        linear, angular = np.zeros((2, 3, pair.model.nv))
        mujoco.mj_jac(pair.model, pair.data, linear, angular, at, body)
        # At the body's own frame, MuJoCo's axes of it; moved to the place by the rules of rigid bodies.
        twist, rate = np.zeros((2, 6))
        mujoco.mj_objectVelocity(pair.model, pair.data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 0)
        mujoco.mj_objectAcceleration(pair.model, pair.data, mujoco.mjtObj.mjOBJ_XBODY, body, rate, 0)
        arm = at - pair.data.xpos[body]
        twist[3:] += np.cross(twist[:3], arm)
        rate[3:] += np.cross(rate[:3], arm) + np.cross(twist[:3], np.cross(twist[:3], arm)) + pair.ours.gravity
        pose = np.block([[turn, at[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
        jacobian = pair.peer.from_peer(np.vstack([angular, linear]))
        return np.concatenate([pose.ravel(), twist, rate, jacobian.ravel()])

    theirs = pair.collect(everything)
    assert_agree(pair.ours.pose(place, q).reshape(-1, 16), theirs[:, :16])
    assert_agree(pair.ours.velocity(place, q, v), theirs[:, 16:22])
    assert_agree(pair.ours.acceleration(place, q, v, a), theirs[:, 22:28])
    assert_agree(pair.ours.jacobian(place, q).reshape(len(q), -1), theirs[:, 28:])


def test_joint_loads(pair):
    """What every body (welded ones too) gets from its parent, which MuJoCo keeps about the tree's centre of mass."""
    q, v, a, _ = pair.state

    def loads(s):
        mujoco.mj_inverse(pair.model, pair.data)
        mujoco.mj_rnePostConstraint(pair.model, pair.data)
        found = []
        for joint in pair.ours.joints:
            body, turn, origin = pair.frame(joint.name)
            if joint.dh is not None and pair.ours.convention == "standard":  # at the parent's frame
                origin = np.zeros(3) if joint.parent is None else pair.frame(joint.parent)[2]
            moment, force = pair.data.cfrc_int[body].reshape(2, 3)
            com = pair.data.subtree_com[pair.model.body_rootid[body]]
            found += [turn.T @ (moment - np.cross(origin - com, force)), turn.T @ force]
        return found

    assert_agree(pair.ours.joint_loads(q, v, a), pair.collect(loads).reshape(len(q), -1, 6))


def test_loads_at_points(pair, rng):
    """Forces and moments on two bodies: MuJoCo's act at the bodies' centres of mass."""
    q, v, a, tau = pair.state
    places = [peer_cases.place(pair.ours), pair.ours.joints[len(pair.ours.joints) // 2].name]
    loads = [Load(place, *rng.normal(size=(2, len(q), 3)) * 10) for place in places]

    def both(s):
        mujoco.mj_inverse(pair.model, pair.data)
        acting = np.zeros(pair.model.nv)  # MuJoCo's inverse gives the joints' torques and the loads' together
        for load in loads:
            body, _, at = pair.frame(load.point)
            mujoco.mj_applyFT(pair.model, pair.data, load.force[s], load.moment[s], at, body, acting)
            moment = load.moment[s] + np.cross(at - pair.data.xipos[body], load.force[s])
            pair.data.xfrc_applied[body] += np.concatenate([load.force[s], moment])
        torques = pair.data.qfrc_inverse - acting
        pair.data.qfrc_applied[:] = pair.peer.to_peer(tau[s])
        mujoco.mj_forward(pair.model, pair.data)
        return [pair.peer.from_peer(x) for x in (torques, pair.data.qacc)]

    theirs = pair.collect(both)
    assert_agree(pair.ours.inverse_dynamics(q, v, a, loads=loads), theirs[:, 0])
    assert_agree(pair.ours.forward_dynamics(q, v, tau, loads=loads), theirs[:, 1])


def test_a_free_joint_is_six_joints_in_a_row():
    """MuJoCo's free joint has a quaternion, its linear velocity world axes, its angular velocity the body's axes."""
    base, carried = peer_cases.floating_parts()
    standing = mjcf(Structure("carried", carried, gravity=(0, 0, -9.81)))
    ours = peer_cases.mechanism(peer_cases.FLOATING)
    root = base[-1].name
    model, order = on_a_free_joint(*standing, base[-1], carried)
    data = mujoco.MjData(model)
    for q, v, a, tau in zip(*peer_cases.state(peer_cases.FLOATING), strict=True):
        pose = ours.pose(root, q)
        turn = pose[:3, :3]
        to_peer = np.block([[np.zeros((3, 3)), np.eye(3)], [turn.T, np.zeros((3, 3))]])
        mapped = np.zeros((ours.n, ours.n))
        mapped[:6] = to_peer @ ours.jacobian(root, q)
        mapped[6 + np.arange(order.size), 6 + order] = 1
        mujoco.mj_resetData(model, data)
        data.qpos[:] = [*pose[:3, 3], *quaternion(turn), *q[6:][order]]
        data.qvel[:] = mapped @ v
        data.qacc[:] = [*(to_peer @ ours.acceleration(root, q, v, a)), *a[6:][order]]
        mujoco.mj_inverse(model, data)
        assert_agree(ours.inverse_dynamics(q, v, a), mapped.T @ data.qfrc_inverse)
        data.qfrc_applied[:] = np.linalg.solve(mapped.T, tau)
        mujoco.mj_forward(model, data)
        found = ours.forward_dynamics(q, v, tau)
        assert_agree(np.array([*(to_peer @ ours.acceleration(root, q, v, found)), *found[6:][order]]), data.qacc)


def on_a_free_joint(text, bodies, base, carried):
    """A structure in MuJoCo's XML as a model on a free joint, and the order of its coordinates among `carried`."""
    root = ElementTree.fromstring(text)
    world = root.find("worldbody")
    free = ElementTree.Element("body")
    ElementTree.SubElement(free, "freejoint")
    upper = base.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    numbers = {"pos": base.com, "mass": [base.mass], "fullinertia": upper}
    ElementTree.SubElement(free, "inertial", {key: " ".join(f"{x:.17g}" for x in xs) for key, xs in numbers.items()})
    for body in list(world):
        world.remove(body)
        free.append(body)
    world.append(free)
    moving = [joint.name for joint in carried if joint.moves]
    order = np.array([moving.index(name) for name in bodies if name in moving])
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode")), order
