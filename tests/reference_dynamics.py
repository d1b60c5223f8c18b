"""A plain reference for every formulation: spatial vectors (angular; linear) in world axes about the world's origin.

It shares no code with `kinecast.dynamics`: dense 6 x 6 inertias, poses from Rodrigues' formula, CasADi's automatic
differentiation for the sensitivities. Nothing is clever, everything is checked against Featherstone's book by eye.
"""

import casadi as ca
import numpy as np


def torques_and_loads(structure, q, v, a, around):
    """(tau (n, 1), joint loads (6 joints, 1) [m; f] at each joint's origin in child axes)."""
    joints, parents = structure.joints, structure.parents
    coordinate = {name: k for k, name in enumerate(structure.coordinates)}
    ground_v, rate = ca.densify(around.base_velocity), ca.densify(around.base_acceleration)
    # Spatial acceleration: the rate of the velocity of the point passing the origin; gravity as an opposite motion.
    ground_a = ca.vertcat(rate[:3], rate[3:] - ca.cross(ground_v[:3], ground_v[3:]) - ca.densify(around.gravity))
    pose, velocity, acceleration = {-1: ca.DM.eye(4)}, {-1: ground_v}, {-1: ground_a}
    axis, force = {}, {}
    for i in structure.order:
        joint, k, p = joints[i], coordinate.get(joints[i].name), parents[i]
        moving = pose[p] @ ca.DM(joint.before.matrix())
        position = q[k] if joint.moves else 0
        pose[i] = moving @ displacement(joint, position) @ ca.DM(joint.after.matrix())
        line, through = moving[:3, :3] @ ca.DM(joint.axis), moving[:3, 3]
        still = ca.DM.zeros(3)
        axis[i] = ca.vertcat(line, ca.cross(through, line)) if joint.turns else ca.vertcat(still, line)
        speed, rate = (v[k], a[k]) if joint.moves else (0, 0)
        velocity[i] = velocity[p] + axis[i] * speed
        acceleration[i] = acceleration[p] + axis[i] * rate + motion_cross(velocity[i]) @ axis[i] * speed
        inertia = world_inertia(joint, pose[i])
        force[i] = inertia @ acceleration[i] - motion_cross(velocity[i]).T @ inertia @ velocity[i]
        for load in around.loads:
            if load.joint == joint.name:
                at = pose[i][:3, :3] @ ca.DM(load.at) + pose[i][:3, 3]
                force[i] -= ca.vertcat(load.moment + ca.cross(at, ca.densify(load.force)), load.force)
    tau, loads = ca.SX(structure.n, 1), {}
    for i in reversed(structure.order):
        joint, k, p = joints[i], coordinate.get(joints[i].name), parents[i]
        if joint.moves:
            tau[k] = axis[i].T @ force[i] + joint.actuator_inertia * a[k]
        standard = joint.dh is not None and structure.convention == "standard"
        origin = pose[p if standard else i][:3, 3]
        moment = force[i][:3] - ca.cross(origin, force[i][3:])
        loads[i] = ca.vertcat(pose[i][:3, :3].T @ moment, pose[i][:3, :3].T @ force[i][3:])
        if p >= 0:
            force[p] += force[i]
    return tau, ca.vertcat(*(loads[i] for i in range(len(joints))))


def displacement(joint, position):
    """The joint's own motion as a dense 4 x 4 matrix."""
    matrix = ca.SX.eye(4)
    if joint.turns:
        cross = ca.skew(ca.DM(joint.axis))
        matrix[:3, :3] += ca.sin(position) * cross + (1 - ca.cos(position)) * (cross @ cross)
    elif joint.moves:
        matrix[:3, 3] = ca.DM(joint.axis) * position
    return matrix


def world_inertia(joint, pose):
    """The 6 x 6 inertia of a body about the world's origin, in world axes."""
    rotation = pose[:3, :3]
    c = ca.skew(rotation @ ca.DM(joint.com) + pose[:3, 3])
    about_com = rotation @ ca.DM(joint.inertia) @ rotation.T
    m = joint.mass
    return ca.vertcat(ca.horzcat(about_com + m * c @ c.T, m * c), ca.horzcat(m * c.T, m * ca.DM.eye(3)))


def motion_cross(v):
    """The 6 x 6 matrix of v x (motion); minus its transpose is v x* (force)."""
    w, u = ca.skew(v[:3]), ca.skew(v[3:])
    return ca.vertcat(ca.horzcat(w, ca.DM.zeros(3, 3)), ca.horzcat(u, w))


def function(structure, around):
    """casadi.Function (q, v, a) -> tau, joint loads and the Jacobians of both: tau_q, tau_v, tau_a, loads_q, ..."""
    state = [ca.SX.sym(name, structure.n) for name in "qva"]
    tau, loads = torques_and_loads(structure, *state, around)
    jacobians = [ca.densify(ca.jacobian(out, x)) for out in (tau, loads) for x in state]
    names = ["tau", "loads", *(f"{out}_{x}" for out in ("tau", "loads") for x in "qva")]
    return ca.Function("reference", state, [ca.densify(tau), ca.densify(loads), *jacobians], list("qva"), names)


def mass_matrix(structure, q):
    """The mass matrix (n, n), actuator inertias included, as a NumPy array at the numbers q."""
    from kinecast.dynamics.surroundings import at_rest

    zero = np.zeros(structure.n)
    return np.asarray(function(structure, at_rest(structure))(q=q, v=zero, a=zero)["tau_a"])


def values(formula, structure, around, state):
    """What a formulation's `formula(structure, q, v, a, around)` gives at the numbers `state`, as NumPy arrays."""
    symbols = [ca.SX.sym(name, structure.n) for name in "qva"]
    results = formula(structure, *symbols, around)
    results = results if isinstance(results, tuple) else (results,)
    computed = ca.Function("formula", symbols, [ca.densify(x) for x in results]).call([ca.DM(x) for x in state])
    return [x.full() for x in computed]


def relative_difference(computed, expected):
    """The largest entry of the difference over the largest entry expected (over 1 where that is smaller)."""
    assert computed.shape == expected.shape
    return np.abs(computed - expected).max() / max(1.0, np.abs(expected).max())
