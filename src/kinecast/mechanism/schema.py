"""What may stand in a mechanism file: which keys, of which types. Values are checked where they are used."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AllowInfNan, Field

from kinecast.schema import Checked

Vector = Annotated[list[float], Field(min_length=3, max_length=3)]
Bound = Annotated[float, AllowInfNan(True)]
Bounds = Bound | Annotated[list[Bound | None], Field(min_length=2, max_length=2)] | None
Word = Annotated[str, Field(min_length=1)]

_VECTOR = "three numbers"
_BOUNDS = "a number (symmetric), [lower, upper] or null"
_BODY = "the name of a joint, or null for the ground"


class Pose(Checked):
    """A frame: its translation, and its rotation by angles or as a matrix."""

    xyz: Vector = Field([0, 0, 0], description=f"{_VECTOR} (m)")
    rpy: Vector | None = Field(None, description=f"{_VECTOR}: roll, pitch, yaw about fixed x, y, z")
    rotation: Annotated[list[Vector], Field(min_length=3, max_length=3)] | None = Field(
        None, description="three rows of three numbers"
    )


class LimitsEntry(Checked):
    """Bounds of one coordinate."""

    q: Bounds = Field(None, description=_BOUNDS)
    v: Bounds = Field(None, description=_BOUNDS)
    tau: Bounds = Field(None, description=_BOUNDS)


class JointEntry(Checked):
    """One joint, of one or several coordinates, and the body it carries."""

    name: Word = Field(description="text (in quotation marks if it looks like a number)")
    type: Literal[
        "revolute",
        "continuous",
        "prismatic",
        "fixed",
        "universal",
        "spherical",
        "cylindrical",
        "planar",
        "free",
    ] = Field(
        "revolute",
        description="revolute, continuous, prismatic, fixed, universal, spherical, cylindrical, planar or free",
    )
    parent: Word | None = Field(None, description=_BODY)
    theta: float = Field(0, description="a number")
    d: float = Field(0, description="a number (m)")
    a: float = Field(0, description="a number (m)")
    alpha: float = Field(0, description="a number")
    origin: Pose | None = Field(None, description="a mapping of xyz and rpy")
    axis: Vector = Field([0, 0, 1], description=_VECTOR)
    axes: list[Literal["x", "y", "z"] | Vector] | None = Field(
        None, description="a list of directions, each x, y, z or three numbers"
    )
    coordinates: list[Word] | None = Field(None, description="a list of names, one for each coordinate")
    after: Pose | None = Field(None, description="a mapping of xyz and rpy")
    mass: float = Field(0, description="a number (kg)")
    com: Vector = Field([0, 0, 0], description=f"{_VECTOR} (m)")
    inertia: (
        Annotated[list[float], Field(min_length=6, max_length=6)]
        | Annotated[list[Vector], Field(min_length=3, max_length=3)]
    ) = Field([0.0] * 6, description="six numbers, xx, yy, zz, xy, xz, yz, or three rows of three (kg m2)")
    actuator_inertia: float | list[float] = Field(
        0, description="a number, or for several coordinates a list of numbers"
    )
    limits: LimitsEntry | list[LimitsEntry | None] | None = Field(
        None, description="a mapping of q, v and tau, or for several coordinates a list of such mappings"
    )


class PointEntry(Checked):
    """A place on a body."""

    joint: Word | None = Field(description=_BODY)
    at: Vector = Field([0, 0, 0], description=f"{_VECTOR} (m)")


class LoopEntry(Checked):
    """A closed loop."""

    name: Word = Field(description="text")
    a: PointEntry = Field(description="a mapping of joint and at")
    b: PointEntry = Field(description="a mapping of joint and at")
    kind: Literal["point", "weld"] = Field("point", description="point or weld")


class MechanismFile(Checked):
    """The whole file."""

    name: Word | None = Field(None, description="text")
    convention: Literal["standard", "modified"] = Field("standard", description="standard or modified")
    gravity: Vector = Field([0, 0, -9.81], description=f"{_VECTOR} (m/s2, world axes)")
    angles: Literal["rad", "deg"] = Field("rad", description="rad or deg")
    joints: list[JointEntry] = Field(description="a list of joints")
    points: dict[Word, PointEntry] = Field({}, description="a mapping of names to {joint, at}")
    loops: list[LoopEntry] = Field([], description="a list of loops")
    notes: list[str] = Field([], description="a list of texts")
    allow_unphysical: bool = Field(False, description="true or false")
