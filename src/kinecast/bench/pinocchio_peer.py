"""Pinocchio from Python: its model of a `Structure`, and its algorithms as one call on one sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinecast.bench.tree import Tree, TreeJoint, tree_of
from kinecast.mechanism.checks import Array
from kinecast.mechanism.geometry import Transform
from kinecast.mechanism.model import Structure

PEER = "pinocchio-python"


@dataclass(frozen=True, eq=False)
class PinocchioModel:
    """A Pinocchio model of a structure.

    Frames `body <name>` (body frames), `origin <name>` (joint origins) and `point <name>` are added to it.
    Coordinates, velocities, torques: x_pinocchio = x[..., order].
    """

    model: Any
    tree: Tree
    order: tuple[int, ...]

    def to_peer(self, x: Array) -> Array:
        """Coordinates (or velocities, ...) of the structure in Pinocchio's order."""
        return np.ascontiguousarray(x[..., list(self.order)])

    def from_peer(self, x: Array) -> Array:
        """The reverse, along the last axis."""
        back = np.empty_like(x)
        back[..., list(self.order)] = x
        return back

    def matrix_from_peer(self, x: Array) -> Array:
        """The reverse, along the last two axes."""
        return self.from_peer(self.from_peer(x).swapaxes(-1, -2)).swapaxes(-1, -2)

    def frame(self, name: str) -> int:
        """Index of a frame; Pinocchio itself accepts unknown names."""
        if not self.model.existFrame(name):
            raise KeyError(name)
        return int(self.model.getFrameId(name))


def pinocchio_model(structure: Structure) -> PinocchioModel:
    """Pinocchio's model of a structure, every coordinate a joint of its own."""
    import pinocchio as pin

    tree = tree_of(structure)
    model = pin.Model()
    model.name = structure.name
    model.gravity.linear = np.array(structure.gravity)
    for joint in tree.joints:
        placement = pin.SE3(joint.before.rotation, joint.before.translation)
        index = model.addJoint(joint.parent + 1, _joint_model(joint), placement, joint.name)
        inertia = pin.Inertia(joint.body.mass, joint.body.com, joint.body.inertia)
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    model.armature = np.array([joint.actuator_inertia for joint in tree.joints])

    def add_frame(name: str, joint: int, pose: Transform) -> None:
        placement = pin.SE3(pose.rotation, pose.translation)
        model.addFrame(pin.Frame(name, joint + 1, 0, placement, pin.FrameType.OP_FRAME))

    for name, (carrier, pose) in tree.bodies.items():
        add_frame(f"body {name}", carrier, pose)
    for name, (carrier, pose) in tree.origins.items():
        add_frame(f"origin {name}", carrier, pose)
    for point in structure.points:
        carrier, pose = (-1, Transform.identity()) if point.joint is None else tree.bodies[point.joint]
        add_frame(f"point {point.name}", carrier, pose @ Transform.from_xyz_rpy(point.at))
    return PinocchioModel(model, tree, tree.order)


def calls(peer: PinocchioModel, q: Array, v: Array, a: Array, tau: Array) -> dict[str, Callable[[], object]]:
    """Each algorithm as a call on one sample, by the name it has in the benchmark."""
    import pinocchio as pin

    model = peer.model
    data = model.createData()
    q, v, a, tau = (peer.to_peer(x) for x in (q, v, a, tau))
    tip = model.nframes - 1
    return {
        "inverse_dynamics": lambda: pin.rnea(model, data, q, v, a),
        "inverse_dynamics_sensitivities": lambda: pin.computeRNEADerivatives(model, data, q, v, a),
        "forward_dynamics": lambda: pin.aba(model, data, q, v, tau),
        "forward_dynamics_sensitivities": lambda: pin.computeABADerivatives(model, data, q, v, tau),
        "mass_matrix": lambda: pin.crba(model, data, q),
        "inverse_mass_matrix": lambda: pin.computeMinverse(model, data, q),
        "coriolis_matrix": lambda: pin.computeCoriolisMatrix(model, data, q, v),
        "jacobian": lambda: pin.computeFrameJacobian(model, data, q, tip, pin.LOCAL_WORLD_ALIGNED),
        "center_of_mass": lambda: pin.centerOfMass(model, data, q),
    }


def _joint_model(joint: TreeJoint) -> Any:
    import pinocchio as pin

    letter = {(1.0, 0.0, 0.0): "X", (0.0, 1.0, 0.0): "Y", (0.0, 0.0, 1.0): "Z"}.get(tuple(joint.axis.tolist()))
    if joint.kind == "revolute":
        return getattr(pin, f"JointModelR{letter}")() if letter else pin.JointModelRevoluteUnaligned(joint.axis)
    return getattr(pin, f"JointModelP{letter}")() if letter else pin.JointModelPrismaticUnaligned(joint.axis)
