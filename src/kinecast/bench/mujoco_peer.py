"""MuJoCo from Python: its model of a `Structure`, and its algorithms as calls on one sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

from kinecast.mechanism.checks import Array
from kinecast.mechanism.geometry import Transform
from kinecast.mechanism.model import Structure

PEER = "mujoco-python"

# MuJoCo refuses moving bodies below 1e-15 kg and 1e-15 kg m2; these stand for "massless".
_TINY_MASS = 1e-14
_TINY_INERTIA = 1e-14

# Contacts, limits, springs, ... are absent from a structure: switched off, they cost nothing and hide nothing.
_OFF = ("constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "actuation", "sensor")


@dataclass(frozen=True, eq=False)
class MujocoModel:
    """A MuJoCo model of a structure, and its data. Body `k + 1` is the body of the structure's joint `bodies[k]`;
    MuJoCo's body frame is the joint frame, before `after`.

    Coordinates, velocities, torques: x_mujoco = x[..., order].
    """

    model: Any
    data: Any
    order: tuple[int, ...]
    bodies: tuple[str, ...]

    def to_peer(self, x: Array) -> Array:
        """Coordinates (or velocities, ...) of the structure in MuJoCo's order."""
        return np.ascontiguousarray(x[..., list(self.order)])

    def from_peer(self, x: Array) -> Array:
        """The reverse, along the last axis."""
        back = np.empty_like(x)
        back[..., list(self.order)] = x
        return back

    def body(self, name: str) -> int:
        """MuJoCo's index of the body of a joint."""
        return self.bodies.index(name) + 1

    def set(self, q: Array, v: Array | None = None, a: Array | None = None) -> None:
        """Writes a sample, given in the structure's order, into the data."""
        self.data.qpos[:] = self.to_peer(q)
        self.data.qvel[:] = 0 if v is None else self.to_peer(v)
        self.data.qacc[:] = 0 if a is None else self.to_peer(a)


def mujoco_model(structure: Structure) -> MujocoModel:
    """MuJoCo's model of a structure."""
    import mujoco

    text, bodies = mjcf(structure)
    model = mujoco.MjModel.from_xml_string(text)
    coordinates = [name for name in bodies if structure.joint(name).moves]
    order = tuple(structure.coordinates.index(name) for name in coordinates)
    return MujocoModel(model, mujoco.MjData(model), order, tuple(bodies))


def mjcf(structure: Structure) -> tuple[str, list[str]]:
    """The structure in MuJoCo's XML, and the joints in the order in which MuJoCo numbers their bodies."""
    structure.require_open("MJCF")
    root = ElementTree.Element("mujoco", model=structure.name)
    ElementTree.SubElement(root, "compiler", angle="radian", autolimits="false", balanceinertia="false")
    option = ElementTree.SubElement(root, "option", gravity=_text(structure.gravity))
    ElementTree.SubElement(option, "flag", dict.fromkeys(_OFF, "disable"), energy="enable")
    world = ElementTree.SubElement(root, "worldbody")
    bodies: list[str] = []

    def add(parent: ElementTree.Element, name: str, at: Transform) -> None:
        joint = structure.joint(name)
        pose = at @ joint.before
        element = ElementTree.SubElement(
            parent, "body", pos=_text(pose.translation), quat=_text(quaternion(pose.rotation))
        )
        bodies.append(name)
        if joint.moves:
            kind = "hinge" if joint.turns else "slide"
            rotor = _text([joint.actuator_inertia])
            ElementTree.SubElement(element, "joint", type=kind, axis=_text(joint.axis), armature=rotor)
        com = joint.after.rotation @ joint.com + joint.after.translation
        inertia = joint.after.rotation @ joint.inertia @ joint.after.rotation.T + _TINY_INERTIA * np.eye(3)
        upper = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        mass = _text([joint.mass + _TINY_MASS])
        ElementTree.SubElement(element, "inertial", pos=_text(com), mass=mass, fullinertia=_text(upper))
        for child in structure.children(name):
            add(element, child, joint.after)

    for name in structure.children(None):
        add(world, name, Transform.identity())
    return ElementTree.tostring(root, encoding="unicode"), bodies


def calls(peer: MujocoModel, q: Array, v: Array, a: Array, tau: Array) -> dict[str, Callable[[], object]]:
    """Each comparable algorithm as a call on one sample, by the name it has in the benchmark.

    MuJoCo's functions do more than one thing at once: `mj_inverse` also computes positions and velocities of
    everything, `mj_forward` the mass matrix, its factors and the bias as well. That is how its users call it.
    """
    import mujoco

    model, data = peer.model, peer.data
    peer.set(q, v, a)
    data.qfrc_applied[:] = peer.to_peer(tau)
    return {
        "inverse_dynamics": lambda: mujoco.mj_inverse(model, data),
        "forward_dynamics": lambda: mujoco.mj_forward(model, data),
        "mass_matrix": lambda: mujoco.mj_fwdPosition(model, data),
    }


def quaternion(rotation: Array) -> Array:
    """(w, x, y, z) of a rotation matrix, by its largest component: exact to rounding for every rotation."""
    xx, yy, zz = np.diag(rotation)
    outer = np.array(  # 4 times the products of the quaternion's components
        [
            [1 + xx + yy + zz, *(rotation[[2, 0, 1], [1, 2, 0]] - rotation[[1, 2, 0], [2, 0, 1]])],
            [0, 1 + xx - yy - zz, rotation[0, 1] + rotation[1, 0], rotation[0, 2] + rotation[2, 0]],
            [0, 0, 1 - xx + yy - zz, rotation[1, 2] + rotation[2, 1]],
            [0, 0, 0, 1 - xx - yy + zz],
        ]
    )
    outer += np.triu(outer, 1).T
    column = outer[:, np.argmax(np.diag(outer))]
    return np.asarray(column / np.linalg.norm(column))


def _text(numbers: Any) -> str:
    return " ".join(f"{x:.17g}" for x in numbers)
