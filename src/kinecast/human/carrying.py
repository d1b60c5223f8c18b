"""What a person carries, as masses fixed to the body: a backpack on the trunk, a load in the hands.

Example::

    man = carrying(kinecast.human(1.75, 75, "male"), backpack=15)
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from kinecast.errors import InputError
from kinecast.human.anthropometry import within
from kinecast.human.skeleton import stature, zero_position
from kinecast.mechanism import Joint, Structure, Transform

HEAVIEST = 60.0  # kg
# The backpack: height, width, depth [m] of a box of even density; its middle is this part of stature behind the
# spine's axis, at the height of the spine's uppermost joint (estimates: 30 litres, middle between the shoulder blades).
BACKPACK = (0.50, 0.32, 0.20)
BACKPACK_BEHIND = 0.13
_CARRYING = " carrying "
_NAMES = {"backpack": ("backpack",), "hands": ("load_r", "load_l")}

AnyStructure = TypeVar("AnyStructure", bound=Structure)


def carrying(person: AnyStructure, *, backpack: float = 0.0, hands: float = 0.0) -> AnyStructure:
    """The person with a backpack [kg] and a load in the hands [kg], half in each.

    The backpack moves with the lower of the two thorax segments. A bag hangs from the hand and hardly swings with it:
    it is a mass at the grip.
    """
    if carried(person):
        raise InputError(f"{person.name!r} carries something already", key="backpack")
    joints = []
    for key, mass in (("backpack", backpack), ("hands", hands)):
        mass = within(key, mass, (0.0, HEAVIEST), "kg")
        if mass and key == "backpack":
            height, width, depth = BACKPACK
            moments = mass / 12 * np.array([height**2 + depth**2, width**2 + depth**2, height**2 + width**2])
            at = np.array([0.0, zero_position(person, "spine4.flexion")[1], -BACKPACK_BEHIND * stature(person)])
            at = at - zero_position(person, "spine3.rotation")
            joints.append(
                Joint(
                    "backpack",
                    kind="fixed",
                    parent="spine3.rotation",
                    before=Transform(np.eye(3), at),
                    mass=mass,
                    inertia=np.diag(moments),
                )
            )
        elif mass:
            for side in "rl":
                grip = person.point(f"grip_{side}")
                before = Transform(np.eye(3), np.asarray(grip.at))
                joints.append(Joint(f"load_{side}", kind="fixed", parent=grip.joint, before=before, mass=mass / 2))
    if not joints:
        return person
    return person.replace(joints=(*person.joints, *joints), name=f"{person.name}{_CARRYING}{backpack + hands:g} kg")


def unloaded(person: AnyStructure) -> AnyStructure:
    """The person without what is carried."""
    loads = {name for names in _NAMES.values() for name in names}
    joints = tuple(joint for joint in person.joints if joint.name not in loads)
    return person.replace(joints=joints, name=person.name.split(_CARRYING)[0])


def carried(person: Structure) -> dict[str, float]:
    """What a person carries [kg]: "backpack", "hands"."""
    masses = {joint.name: joint.mass for joint in person.joints}
    found = {key: sum(masses.get(name, 0.0) for name in names) for key, names in _NAMES.items()}
    return {key: mass for key, mass in found.items() if mass}


def own_mass(person: Structure) -> float:
    """The person's mass without what is carried [kg]."""
    return person.mass - sum(carried(person).values())
