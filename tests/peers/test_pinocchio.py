"""Pinocchio computes the same numbers, for every quantity that it has too."""

import casadi as ca
import numpy as np
import peer_cases
import pytest

from kinecast.bench.pinocchio_peer import pinocchio_model
from kinecast.dynamics.algorithms import Request
from kinecast.dynamics.mechanism import BaseMotion, Load, Mechanism
from kinecast.dynamics.tracing import traced
from kinecast.mechanism import Structure

pin = pytest.importorskip("pinocchio")

# Relative to the largest entry. Both sides round to about 1e-15; angles of a file within 1e-11 of right ones are taken
# as right here and not there (a part in 1e11), and solving with a humanoid's mass matrix (condition 1e5) loses digits.
AGREES = 1e-9
# Sensitivities of forward dynamics hold two inverses of the mass matrix and cancel: they lose a digit or two more.
INVERTED_TWICE = 1e-8
# This many coordinates are half a minute of compiling for one of the tests below; its formula is evaluated as traced.
COMPILED_UP_TO = 20


class Pair:
    """A mechanism, Pinocchio's model of it, and samples of its state."""

    def __init__(self, name):
        self.ours = peer_cases.mechanism(name)
        self.peer = pinocchio_model(self.ours)
        self.model, self.data = self.peer.model, self.peer.model.createData()
        self.state = peer_cases.state(name)

    @property
    def samples(self):
        """(q, v, a, tau) of each sample in Pinocchio's order."""
        return zip(*(self.peer.to_peer(x) for x in self.state), strict=True)

    def vectors(self, compute):
        return np.array([self.peer.from_peer(compute(*sample)) for sample in self.samples])

    def matrices(self, compute):
        return np.array([self.peer.matrix_from_peer(compute(*sample)) for sample in self.samples])

    def columns(self, compute):
        return np.array([self.peer.from_peer(compute(*sample)) for sample in self.samples])

    def numbers(self, compute):
        return np.array([compute(*sample) for sample in self.samples])


@pytest.fixture(scope="module", params=peer_cases.NAMES)
def pair(request):
    return Pair(request.param)


def assert_agree(ours, theirs, tolerance=AGREES):
    assert ours.shape == theirs.shape
    assert np.isfinite(theirs).all()
    assert np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max())


def six(motion):
    """(angular; linear) of a motion or a force."""
    return np.concatenate([motion.angular, motion.linear])


# ------------------------------------------------------------------------------------------------ dynamics


def test_inverse_dynamics(pair):
    q, v, a, _ = pair.state
    theirs = pair.vectors(lambda q, v, a, tau: pin.rnea(pair.model, pair.data, q, v, a))
    assert_agree(pair.ours.inverse_dynamics(q, v, a), theirs)


def test_sensitivities_of_inverse_dynamics(pair):
    q, v, a, _ = pair.state
    _, d = pair.ours.inverse_dynamics(q, v, a, sensitivities=True)
    for k, ours in enumerate((d.q, d.v, d.a)):
        theirs = pair.matrices(lambda q, v, a, tau, k=k: pin.computeRNEADerivatives(pair.model, pair.data, q, v, a)[k])
        assert_agree(ours, theirs)


def test_gravity_and_bias_torques(pair):
    q, v, _, _ = pair.state
    gravity = pair.vectors(lambda q, v, a, tau: pin.computeGeneralizedGravity(pair.model, pair.data, q))
    assert_agree(pair.ours.gravity_torques(q), gravity)
    bias = pair.vectors(lambda q, v, a, tau: pin.nonLinearEffects(pair.model, pair.data, q, v))
    assert_agree(pair.ours.bias_torques(q, v), bias)


def test_forward_dynamics(pair):
    q, v, _, tau = pair.state
    theirs = pair.vectors(lambda q, v, a, tau: pin.aba(pair.model, pair.data, q, v, tau))
    assert_agree(pair.ours.forward_dynamics(q, v, tau), theirs)


def test_sensitivities_of_forward_dynamics(pair):
    q, v, _, tau = pair.state
    if pair.ours.n > COMPILED_UP_TO:
        function = traced(pair.ours, Request("forward_dynamics_sensitivities"))
        found = [[ca.DM(x).full() for x in function.call([*sample])[1:]] for sample in zip(q, v, tau, strict=True)]
        ours = [np.array(x) for x in zip(*found, strict=True)]
    else:
        _, d = pair.ours.forward_dynamics(q, v, tau, sensitivities=True)
        ours = [d.q, d.v, d.tau]
    for k, found in enumerate(ours):
        theirs = pair.matrices(
            lambda q, v, a, tau, k=k: full(pin.computeABADerivatives(pair.model, pair.data, q, v, tau)[k], k == 2)
        )
        assert_agree(found, theirs, INVERTED_TWICE)


def full(matrix, symmetric=True):
    """A matrix of which Pinocchio fills the upper half only."""
    return np.triu(matrix) + np.triu(matrix, 1).T if symmetric else np.array(matrix)


def test_mass_matrix_and_its_inverse(pair):
    q = pair.state[0]
    mass = pair.matrices(lambda q, v, a, tau: full(pin.crba(pair.model, pair.data, q)))
    assert_agree(pair.ours.mass_matrix(q), mass)
    inverse = pair.matrices(lambda q, v, a, tau: full(pin.computeMinverse(pair.model, pair.data, q)))
    assert_agree(pair.ours.inverse_mass_matrix(q), inverse)


def test_coriolis_matrix(pair):
    q, v, _, _ = pair.state
    theirs = pair.matrices(lambda q, v, a, tau: pin.computeCoriolisMatrix(pair.model, pair.data, q, v))
    assert_agree(pair.ours.coriolis_matrix(q, v), theirs)


def test_regressor(pair):
    q, v, a, _ = pair.state
    moving = pair.columns(
        lambda q, v, a, tau: pin.computeJointTorqueRegressor(pair.model, pair.data, q, v, a).T
    )  # (samples, 10 joints that move, n)
    theirs = np.zeros((len(q), 10 * len(pair.ours.joints), pair.ours.n))
    for b, joint in enumerate(pair.ours.joints):
        carrier, pose = pair.peer.tree.bodies[joint.name]
        if carrier >= 0:
            theirs[:, 10 * b : 10 * b + 10] = seen_by_the_carrier(pose).T @ moving[:, 10 * carrier : 10 * carrier + 10]
    assert_agree(pair.ours.regressor(q, v, a), theirs.swapaxes(1, 2))


def seen_by_the_carrier(pose):
    """(10, 10): Pinocchio's parameters of a body in its carrier's frame, by ours in its own frame."""
    columns = []
    for unit in np.eye(10):
        m, h, (xx, yy, zz, xy, xz, yz) = unit[0], unit[1:4], unit[4:]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        pseudo = np.zeros((4, 4))  # linear in the parameters, and moves as T P T^T
        pseudo[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        pseudo[:3, 3] = pseudo[3, :3] = h
        pseudo[3, 3] = m
        moved = pose.matrix() @ pseudo @ pose.matrix().T
        inertia = np.trace(moved[:3, :3]) * np.eye(3) - moved[:3, :3]
        columns.append([moved[3, 3], *moved[:3, 3], *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
    return np.array(columns).T


def test_joint_loads(pair):
    """Pinocchio keeps what each moving joint transmits, at its own frame."""
    q, v, a, _ = pair.state
    ours = pair.ours.joint_loads(q, v, a)
    world = pair.ours.joint_loads(q, v, a, frame="world")
    for s, (Q, V, A, _) in enumerate(pair.samples):
        pin.rnea(pair.model, pair.data, Q, V, A)
        pin.framesForwardKinematics(pair.model, pair.data, Q)
        for b, joint in enumerate(pair.ours.joints):
            if joint.moves:
                k = pair.model.getJointId(joint.name)
                force = pair.data.oMi[k].act(pair.data.f[k])
                body = frame(pair, f"body {joint.name}")
                standard = joint.dh is not None and pair.ours.convention == "standard"
                origin = body.translation if not standard else parents_origin(pair, joint)
                moment = force.angular - np.cross(origin, force.linear)
                child = np.concatenate([body.rotation.T @ moment, body.rotation.T @ force.linear])
                assert_agree(ours[s, b], child)
                assert_agree(world[s, b], np.concatenate([moment, force.linear]))


def frame(pair, name):
    return pair.data.oMf[pair.peer.frame(name)]


def parents_origin(pair, joint):
    return np.zeros(3) if joint.parent is None else frame(pair, f"body {joint.parent}").translation


def test_loads_at_points(pair, rng):
    """Forces and moments on two bodies, as wrenches on Pinocchio's joints, in inverse and in forward dynamics."""
    q, v, a, tau = pair.state
    places = [peer_cases.place(pair.ours), pair.ours.joints[len(pair.ours.joints) // 2].name]
    loads = [Load(place, *rng.normal(size=(2, len(q), 3)) * 10) for place in places]
    torques, accelerations = [], []
    for s, (Q, V, A, T) in enumerate(pair.samples):
        pin.framesForwardKinematics(pair.model, pair.data, Q)
        wrenches = [pin.Force.Zero() for _ in range(pair.model.njoints)]
        for load in loads:
            index = named(pair, load.point)
            k = pair.model.frames[index].parentJoint
            at = pair.data.oMf[index].translation
            acting = pin.Force(load.force[s], load.moment[s] + np.cross(at, load.force[s]))
            wrenches[k] += pair.data.oMi[k].actInv(acting)
        torques.append(pair.peer.from_peer(pin.rnea(pair.model, pair.data, Q, V, A, wrenches)))
        accelerations.append(pair.peer.from_peer(pin.aba(pair.model, pair.data, Q, V, T, wrenches)))
    assert_agree(pair.ours.inverse_dynamics(q, v, a, loads=loads), np.array(torques))
    assert_agree(pair.ours.forward_dynamics(q, v, tau, loads=loads), np.array(accelerations))


def named(pair, place):
    """Pinocchio's frame of a point or body."""
    return pair.peer.frame(f"point {place}" if pair.model.existFrame(f"point {place}") else f"body {place}")


# ------------------------------------------------------------------------------------------------ the whole


def held_mass(mechanism, tree):
    """Mass and first moment of bodies fixed to the ground, which Pinocchio's model leaves out as they never move."""
    held = [(joint, tree.bodies[joint.name][1]) for joint in mechanism.joints if tree.bodies[joint.name][0] < 0]
    mass = sum(joint.mass for joint, _ in held)
    moment = sum((joint.mass * (pose.rotation @ joint.com + pose.translation) for joint, pose in held), np.zeros(3))
    return mass, moment


def test_energies(pair):
    q, v, _, _ = pair.state
    # Pinocchio 4.1 leaves the rotors of slides along an inclined axis out of the energy: they are added here.
    bare = pair.model.copy()
    bare.armature = np.zeros(bare.nv)
    data = bare.createData()
    kinetic = pair.numbers(
        lambda q, v, a, tau: pin.computeKineticEnergy(bare, data, q, v) + 0.5 * v @ (pair.model.armature * v)
    )
    assert_agree(pair.ours.kinetic_energy(q, v), kinetic)
    _, moment = held_mass(pair.ours, pair.peer.tree)
    potential = pair.numbers(lambda q, v, a, tau: pin.computePotentialEnergy(bare, data, q))
    assert_agree(pair.ours.potential_energy(q), potential - pair.ours.gravity @ moment)


def test_momentum(pair):
    """Pinocchio's is about the centre of mass (of what moves)."""
    q, v, _, _ = pair.state

    def momentum(q, v, a, tau):
        about_com = pin.computeCentroidalMomentum(pair.model, pair.data, q, v)
        shift = np.cross(pair.data.com[0], about_com.linear)
        return np.concatenate([about_com.angular + shift, about_com.linear])

    assert_agree(pair.ours.momentum(q, v), pair.numbers(momentum))


def test_center_of_mass(pair):
    q = pair.state[0]
    held, moment = held_mass(pair.ours, pair.peer.tree)
    moving = pair.ours.mass - held
    com = pair.numbers(lambda q, v, a, tau: pin.centerOfMass(pair.model, pair.data, q).copy())
    assert_agree(pair.ours.center_of_mass(q), (moving * com + moment) / pair.ours.mass)


# ------------------------------------------------------------------------------------------------ places


def test_poses_velocities_and_accelerations(pair):
    q, v, a, _ = pair.state
    axes = pin.LOCAL_WORLD_ALIGNED
    last = pair.ours.joints[-1].name
    for place in (peer_cases.place(pair.ours), last):
        index = named(pair, place)
        found = [[], [], []]
        for Q, V, A, _ in pair.samples:
            pin.forwardKinematics(pair.model, pair.data, Q, V, A)
            found[0].append(pin.updateFramePlacement(pair.model, pair.data, index).homogeneous.copy())
            found[1].append(six(pin.getFrameVelocity(pair.model, pair.data, index, axes)))
            found[2].append(six(pin.getFrameClassicalAcceleration(pair.model, pair.data, index, axes)))
        pose, velocity, acceleration = (np.array(x) for x in found)
        assert_agree(pair.ours.pose(place, q), pose)
        assert_agree(pair.ours.velocity(place, q, v), velocity)
        assert_agree(pair.ours.acceleration(place, q, v, a), acceleration)


def test_jacobian(pair):
    place = peer_cases.place(pair.ours)

    def jacobian(q, v, a, tau):
        found = pin.computeFrameJacobian(pair.model, pair.data, q, named(pair, place), pin.LOCAL_WORLD_ALIGNED)
        return np.vstack([found[3:], found[:3]])

    assert_agree(pair.ours.jacobian(place, pair.state[0]), pair.columns(jacobian))


# -------------------------------------------------------------------------------------- joints of six coordinates


@pytest.fixture(scope="module")
def flyer():
    """The carried part of the floating tree on Pinocchio's own free joint, which has a quaternion, and its order."""
    base, carried = peer_cases.floating_parts()
    tree = pinocchio_model(Structure("carried", carried))
    free = pin.Model()
    joint = free.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    at = free.addFrame(pin.Frame("free", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    body = base[-1]
    free.appendBodyToJoint(joint, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    return pin.appendModel(free, tree.model, at, pin.SE3.Identity()), np.array(tree.order)


def test_a_free_joint_is_six_joints_in_a_row(flyer):
    """Pinocchio's velocities of a free joint are the body's, in body axes: mapped by our own kinematics of the body."""
    model, order = flyer
    data, ours, n = model.createData(), peer_cases.mechanism(peer_cases.FLOATING), 6
    root = ours.joints[n - 1].name
    for q, v, a, tau in zip(*peer_cases.state(peer_cases.FLOATING), strict=True):
        pose, twist, rate = ours.pose(root, q), ours.velocity(root, q, v), ours.acceleration(root, q, v, a)
        turn = pose[:3, :3]
        to_body = np.block(
            [[np.zeros((3, 3)), turn.T], [turn.T, np.zeros((3, 3))]]
        )  # (angular; linear) -> (linear; angular)
        map_ = np.zeros((ours.n, ours.n))
        map_[:n] = to_body @ ours.jacobian(root, q)
        map_[n + np.arange(order.size), n + order] = 1

        def spatial(twist, rate):  # the rate of the velocity at a fixed place, as spatial accelerations have it
            return np.concatenate([rate[:3], rate[3:] - np.cross(twist[:3], twist[3:])])

        Q = np.concatenate([pose[:3, 3], pin.Quaternion(turn).coeffs(), q[n:][order]])
        V, A = map_ @ v, np.concatenate([to_body @ spatial(twist, rate), a[n:][order]])
        assert_agree(np.concatenate([to_body @ twist, v[n:][order]]), V)
        assert_agree(ours.inverse_dynamics(q, v, a), map_.T @ pin.rnea(model, data, Q, V, A))
        assert_agree(ours.mass_matrix(q), map_.T @ full(pin.crba(model, data, Q)) @ map_)
        found = ours.forward_dynamics(q, v, tau)
        rate = ours.acceleration(root, q, v, found)
        theirs = pin.aba(model, data, Q, V, np.linalg.solve(map_.T, tau))
        assert_agree(np.concatenate([to_body @ spatial(twist, rate), found[n:][order]]), theirs)


def test_a_moving_base(flyer, rng):
    """A free body moved as prescribed, carrying the tree, is the tree on a ground that moves so."""
    model, order = flyer[0].copy(), flyer[1]
    model.inertias[1] = pin.Inertia.Zero()
    data, tree = model.createData(), 6 + np.argsort(order)
    ours = Mechanism("carried", peer_cases.floating_parts()[1])
    last = ours.coordinates[-1]
    for _ in range(peer_cases.SAMPLES):
        q, v, a, tau = rng.normal(size=(4, ours.n))
        velocity, rate = rng.normal(size=(2, 6))
        base = BaseMotion(velocity, rate)
        Q = np.concatenate([np.zeros(3), [0, 0, 0, 1], q[order]])
        V = np.concatenate([velocity[3:], velocity[:3], v[order]])
        A = np.concatenate([rate[3:] - np.cross(velocity[:3], velocity[3:]), rate[:3], a[order]])
        found, d = ours.inverse_dynamics(q, v, a, base=base, sensitivities=True)
        assert_agree(found, pin.rnea(model, data, Q, V, A)[tree])
        transmitted = [data.f[model.getJointId(name)].copy() for name in ours.coordinates]
        for x, theirs in zip((d.q, d.v, d.a), pin.computeRNEADerivatives(model, data, Q, V, A), strict=True):
            assert_agree(x, np.array(theirs)[np.ix_(tree, tree)])
        # With the base's acceleration prescribed, the tree's follow from its own rows.
        bias = pin.rnea(model, data, Q, V, np.where(np.arange(model.nv) < 6, A, 0))[tree]
        mass = full(pin.crba(model, data, Q))[np.ix_(tree, tree)]
        assert_agree(ours.forward_dynamics(q, v, tau, base=base), np.linalg.solve(mass, tau - bias))
        assert_agree(ours.bias_torques(q, v, base=base), bias)
        pin.forwardKinematics(model, data, Q, V, A)
        loads = ours.joint_loads(q, v, a, base=base)
        for name, theirs in zip(ours.coordinates, transmitted, strict=True):  # joint frames are body frames here
            assert_agree(loads[[joint.name for joint in ours.joints].index(name)], six(theirs))
        joint = model.getJointId(last)
        axes = pin.LOCAL_WORLD_ALIGNED
        assert_agree(ours.velocity(last, q, v, base=base), six(pin.getVelocity(model, data, joint, axes)))
        classical = pin.getClassicalAcceleration(model, data, joint, axes)
        assert_agree(ours.acceleration(last, q, v, a, base=base), six(classical))
        assert_agree(ours.kinetic_energy(q, v, base=base), np.array(pin.computeKineticEnergy(model, data, Q, V)))
        about_com = pin.computeCentroidalMomentum(model, data, Q, V)
        angular = about_com.angular + np.cross(data.com[0], about_com.linear)
        assert_agree(ours.momentum(q, v, base=base), np.concatenate([angular, about_com.linear]))
        torques = ours.regressor(q, v, a, base=base) @ ours.inertial_parameters
        assert_agree(torques, pin.rnea(model, data, Q, V, A)[tree])
