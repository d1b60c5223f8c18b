"""The mechanisms that are timed: generated chains and a 55-coordinate human tree, and robots of example-robot-data.

Every side of a comparison is built from the same `Structure`, so it computes with the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

from kinecast.errors import NotSupportedError, unknown
from kinecast.mechanism.checks import Array
from kinecast.mechanism.geometry import Transform
from kinecast.mechanism.joints import Joint, Kind, Point
from kinecast.mechanism.model import Structure

CHAIN_LENGTHS = (6, 7, 10, 20, 50, 100, 200)

# Where example-robot-data keeps the robots used here, and the joints that are held still.
ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
}
_HELD = {"panda": ("panda_finger_joint1", "panda_finger_joint2")}
_FLOATING = {"solo12", "anymal", "talos"}

_AXES = np.eye(3)
_X, _Y, _Z = 0, 1, 2
_FREE: tuple[tuple[Kind, int], ...] = (
    *(("prismatic", axis) for axis in (_X, _Y, _Z)),
    *(("revolute", axis) for axis in (_X, _Y, _Z)),
)


def names() -> tuple[str, ...]:
    """Every model `structure` knows; robots of example-robot-data only where that package is installed."""
    return (*(ROBOTS if robots_folder() is not None else ()), "human55", *(f"chain{n}" for n in CHAIN_LENGTHS))


def structure(name: str) -> Structure:
    """The model called `name`, one of `names()`."""
    if name in ROBOTS:
        return robot(name)
    if name == "human55":
        return human55()
    if name.startswith("chain") and name[5:].isdigit() and int(name[5:]) > 0:
        return chain(int(name[5:]))
    raise unknown("benchmark model", name, names())


def chain(n: int) -> Structure:
    """`n` revolute joints in a row, each about x, y or z of a frame that lies anyhow in the frame before it."""
    random = np.random.default_rng(1000 + n)
    joints = []
    for i in range(n):
        angles = random.uniform(-1, 1, 3) * (np.pi, 0.49 * np.pi, np.pi)
        joints.append(
            Joint(
                f"j{i + 1}",
                "revolute",
                parent=f"j{i}" if i else None,
                before=Transform.from_xyz_rpy(random.uniform(-0.2, 0.2, 3), angles),
                axis=_AXES[random.integers(3)],
                **random_body(random),
            )
        )
    return Structure(f"chain{n}", tuple(joints), points=(Point("tip", joints[-1].name),))


def human55() -> Structure:
    """A human as a tree of 55 one-coordinate joints, 36 of its bodies massless; z up, the root free to move.

    Each anatomical joint is a sequence of revolute joints about the axes of one frame, so that the massless bodies
    between them and the aligned axes fold away when traced.
    """
    random = np.random.default_rng(55)
    joints: list[Joint] = []

    def add(name: str, parent: str | None, axes: Sequence[int], at: tuple[float, float, float], scale: float) -> str:
        """A joint with as many coordinates as `axes`, at `at` in the parent; its body is the last one's."""
        return _sequence(joints, name, parent, [("revolute", axis) for axis in axes], at, random_body(random, scale))

    pelvis = _sequence(joints, "pelvis", None, _FREE, (0, 0, 1), random_body(random, 4))
    torso = pelvis
    for level in range(4):
        torso = add(f"spine{level}", torso, (_X, _Y, _Z), (0, 0, 0.12), 2)
    neck = add("neck", torso, (_X, _Y, _Z), (0, 0, 0.15), 0.5)
    add("head", neck, (_Y, _X), (0, 0, 0.08), 2)
    for side, sign in (("right", -1), ("left", 1)):
        clavicle = add(f"{side}_clavicle", torso, (_Z, _X), (0, sign * 0.05, 0.1), 0.5)
        upper_arm = add(f"{side}_upper_arm", clavicle, (_X, _Y, _Z), (0, sign * 0.15, 0), 1)
        forearm = add(f"{side}_forearm", upper_arm, (_Y,), (0, 0, -0.3), 0.7)
        wrist = add(f"{side}_wrist", forearm, (_Z,), (0, 0, -0.02), 0.5)
        add(f"{side}_hand", wrist, (_X, _Y), (0, 0, -0.25), 0.4)
    for side, sign in (("right", -1), ("left", 1)):
        thigh = add(f"{side}_thigh", pelvis, (_X, _Y, _Z), (0, sign * 0.1, -0.1), 3)
        shank = add(f"{side}_shank", thigh, (_Y,), (0, 0, -0.42), 2)
        foot = add(f"{side}_foot", shank, (_Y, _X), (0, 0, -0.42), 0.6)
        add(f"{side}_toes", foot, (_Y,), (0.15, 0, -0.05), 0.2)
    return Structure("human55", tuple(joints), points=(Point("tip", joints[-1].name),))


def robot(name: str) -> Structure:
    """A robot of example-robot-data; floating ones stand on a free joint made of six one-coordinate joints."""
    folder = robots_folder()
    if folder is None:
        raise NotSupportedError(f"robot {name!r} comes with the package example-robot-data, which is not installed")
    read = Structure.read(folder / ROBOTS[name])
    held = _HELD.get(name, ())
    joints = [held_still(joint) if joint.name in held else joint for joint in read.joints]
    tip = Point("benchmark tip", max((joint.name for joint in joints), key=lambda j: len(read.chain(j))))
    if name in _FLOATING:
        joints = on_free_base(joints)
    return Structure(name, tuple(joints), points=(*read.points, tip), allow_unphysical=True)


def robots_folder() -> Path | None:
    """Where example-robot-data keeps its robots; None where it is not installed."""
    try:
        installed = distribution("example-robot-data")
    except PackageNotFoundError:
        return None
    folder = Path(str(installed.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return folder if folder.is_dir() else None


def held_still(joint: Joint) -> Joint:
    """The joint fixed at its zero position."""
    return replace(joint, kind="fixed")


def on_free_base(joints: Sequence[Joint]) -> list[Joint]:
    """The joints with the ground replaced by a massless body that moves freely: x, y, z, then turns about x, y, z."""
    base: list[Joint] = []
    root = _sequence(base, "base", None, _FREE, (0, 0, 0), {})
    return [*base, *(replace(joint, parent=root) if joint.parent is None else joint for joint in joints)]


def random_body(random: np.random.Generator, scale: float = 1.0) -> dict[str, Any]:
    """mass (kg), com (m) and inertia (kg m2) of a body that could exist, with no zero entry."""
    mass = scale * random.uniform(0.5, 3)
    spread = random.normal(size=(3, 3)) * 0.08
    second_moment = mass * (spread @ spread.T + 1e-3 * np.eye(3))
    inertia: Array = np.trace(second_moment) * np.eye(3) - second_moment
    return {"mass": mass, "com": random.uniform(-0.1, 0.1, 3), "inertia": inertia}


def _sequence(
    joints: list[Joint],
    name: str,
    parent: str | None,
    coordinates: Sequence[tuple[Kind, int]],
    at: tuple[float, float, float],
    body: dict[str, Any],
) -> str:
    """Appends one-coordinate joints at one place, all but the last massless; returns the last one's name."""
    for k, (kind, axis) in enumerate(coordinates):
        last = k == len(coordinates) - 1
        before = Transform.from_xyz_rpy(at) if k == 0 else Transform.identity()
        joint = f"{name}.{'xyz'[axis]}{'' if kind == 'revolute' else ' slide'}"
        joints.append(Joint(joint, kind, parent, before, _AXES[axis], **(body if last else {})))
        parent = joint
    assert parent is not None
    return parent
