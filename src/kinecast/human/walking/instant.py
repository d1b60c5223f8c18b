"""One instant of a step: joint torques with the ground reaction, and all that the constraints of walking look at.

The right foot stands; the left foot is the trailing one in double support and swings afterwards. Ground reaction by
the two-step active-passive algorithm (papers/000, 5.1; Xiang et al. 2009): the resultant wrench (F, M about the world
origin) that the motion asks of the ground gives the zero moment point

    z = -M_x / F_y,   x = M_z / F_y,   and the free moment T = M_y - z F_x + x F_z.

In single support the standing foot takes it all. In double support it is split by the lever rule on the line from a
point c_t of the trailing foot to a point c_l of the leading one: the share of the leading foot is s = (zmp - c_t).d /
|d|^2, and each foot's centre of pressure is its point plus the distance of the zero moment point from that line. The
two shares reproduce the wrench exactly. `push` adds a force along the line that the feet exert against each other: it
has no resultant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinecast.engine import Kernel
from kinecast.human.contact import BALL_ROUNDING, CORNERS, GLOBAL, SIDES
from kinecast.human.node import Node, compile_node, compile_values, digest, slices
from kinecast.human.recursion import Layout, Recursion, Vector, cross, dot, scale, subtract

if TYPE_CHECKING:
    import casadi as ca

POINTS = ("heel", "ball", "toe")
PLACES = tuple(f"{point}_{side}" for side in SIDES for point in POINTS)
EDGES = tuple(f"{corner}_{side}" for side in SIDES for corner in CORNERS if corner not in POINTS)
LEG = ("hip_{}.flexion", "knee_{}.flexion", "ankle_{}.dorsiflexion")  # joints whose forces are reported
# Torques below this fraction of a joint's strength count alike in both directions.
_EFFORT_ROUNDING = 0.02

# Scalars of an instant, in the order of the parameter vector, which ends with what each joint has of its own.
SCALARS = (
    "double_support",  # 1 in double support, 0 in single support
    "weight",  # body weight [N]
    "lead_x", "lead_z", "trail_x", "trail_z",  # the lever rule's points c_l, c_t [m]
    "lead_ball_z", "trail_ball_z",  # [m]
    "toe_stiffness", "toe_damping",  # passive toe joint [N m/rad, N m s/rad]
    "friction",
    "spin_x", "spin_y", "spin_z",  # weights of the squared rate of angular momentum [1/(N m)2]
    "gravity_x", "gravity_y", "gravity_z",  # world axes [m/s2]
)  # fmt: skip
PER_JOINT = ("scale", "effort_mean", "effort_difference")


@dataclass(frozen=True)
class Instant:
    """The compiled instant of one set of free coordinates."""

    layout: Layout
    node: Node
    report: Kernel  # values of what is reported but not constrained
    reported: Mapping[str, slice]
    parameters: Mapping[str, slice]

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.layout.n

    @property
    def n_parameters(self) -> int:
        """Length of the parameter vector."""
        return max(part.stop for part in self.parameters.values())


def compile_instant(layout: Layout) -> Instant:
    """The kernels for everyone who has these free coordinates."""
    joints = layout.n - GLOBAL
    parameters = slices({"measures": layout.size} | dict.fromkeys(SCALARS, 1) | dict.fromkeys(PER_JOINT, joints))
    constrained = {"tau": joints, "effort": 1, "lift": 1, "zmp": 2, "share": 2, "friction": 4, "strike_speed": 3}
    constrained |= dict.fromkeys((*PLACES, "tilt_r", "tilt_l"), 3) | {"hand_clearance": 2, "arm_leg": 2}
    reported = {"tau": joints, "zmp": 2, "share": 2, "reaction_r": 6, "reaction_l": 6, "forefoot": 2}
    reported |= dict.fromkeys((*PLACES, *EDGES, *(joint.format(side) for side in SIDES for joint in LEG)), 3)
    n_z, n_p, key = 3 * layout.n + 1, parameters[PER_JOINT[-1]].stop, digest(repr(layout), Path(__file__))

    def traced(z: ca.SX, p: ca.SX) -> dict[str, Any]:
        return trace(layout, parameters, z, p)

    node = compile_node("walking", key, n_z, layout.n + 1, n_p, constrained, traced)
    report = compile_values("walking_report", key, n_z, n_p, reported, traced)
    return Instant(layout, node, report, slices(reported), parameters)


def trace(layout: Layout, parameters: Mapping[str, slice], z: ca.SX, p: ca.SX) -> dict[str, Any]:
    """The outputs of one instant over symbols."""
    import casadi as ca

    n = layout.n
    value = {name: p[parameters[name]] for name in SCALARS}
    gravity = (value["gravity_x"], value["gravity_y"], value["gravity_z"])
    q, v, a, push = z[:n], z[n : 2 * n], z[2 * n : 3 * n], z[3 * n]
    body = Recursion(layout, q, v, a, p[parameters["measures"]], gravity)
    weight = value["weight"]
    ground = _Ground(body, value, push)
    tau, forefoot = _joint_torques(body, ground, value, q, v)
    per_joint = {name: p[parameters[name]] for name in PER_JOINT}
    scaled = [per_joint["scale"][j] * tau[j] for j in range(n - GLOBAL)]
    effort = 0
    for j, t in enumerate(scaled):
        direction = t / ca.sqrt(t * t + _EFFORT_ROUNDING**2)
        effort += t * t * (per_joint["effort_mean"][j] + per_joint["effort_difference"][j] * direction)
    # The ground's moment about the centre of mass is the rate of the angular momentum: gravity has none there.
    spin = subtract(body.moment, cross(body.centre(), body.force))
    for axis, rate in zip("xyz", spin, strict=True):
        effort += value[f"spin_{axis}"] * rate * rate
    out: dict[str, Any] = {
        "tau": scaled,
        "effort": [effort],
        "lift": [body.force[1] / weight],
        "zmp": [ground.x, ground.z],
        "share": [ground.share, ground.aside],
        "strike_speed": body.velocity("heel_r"),
        "forefoot": forefoot,
    }
    right, left, mu = ground.right[0], ground.left[0], value["friction"]
    out["friction"] = [(force[2] + sign * mu * force[1]) / weight for force in (right, left) for sign in (-1.0, 1.0)]
    out |= {place: body.position(place) for place in (*PLACES, *EDGES)}
    for side in SIDES:
        rear, fore = body.rotation(f"ankle_{side}.eversion"), body.rotation(f"toe_{side}.extension")
        out[f"tilt_{side}"] = [rear[0][1], fore[0][1], fore[0][2]]
    joint = {name: body.origins[layout.index(name)] for name in layout.coordinates}
    reach = {side: subtract(_wrist(body, side), joint[f"hip_{side}.flexion"]) for side in SIDES}
    out["hand_clearance"] = [ca.sqrt(dot(reach[side], reach[side])) for side in SIDES]
    arm = {side: subtract(_wrist(body, side), joint[f"shoulder_{side}.flexion"])[2] for side in SIDES}
    leg = {side: subtract(joint[f"ankle_{side}.dorsiflexion"], joint[f"hip_{side}.flexion"])[2] for side in SIDES}
    out["arm_leg"] = [arm["l"] * leg["r"], arm["r"] * leg["l"]]
    for name, (force, moment) in (("reaction_r", ground.right), ("reaction_l", ground.left)):
        out[name] = [x / weight for x in (*force, *moment)]
        side = name[-1]
        for coordinate in (leg_joint.format(side) for leg_joint in LEG):
            out[coordinate] = scale(1 / weight, subtract(body.carried[layout.index(coordinate)], force))
    return out


def _wrist(body: Recursion, side: str) -> Vector:
    return body.position(f"wrist_{side}.flexion")


class _Ground:
    """The ground reaction of each foot as (force, moment about the world origin)."""

    def __init__(self, body: Recursion, value: Mapping[str, Any], push: Any) -> None:
        import casadi as ca

        force, moment = body.force, body.moment
        both = value["double_support"]
        self.x, self.z = moment[2] / force[1], -moment[0] / force[1]
        self.twist = moment[1] - self.z * force[0] + self.x * force[2]
        dx, dz = value["lead_x"] - value["trail_x"], value["lead_z"] - value["trail_z"]
        apart2 = dx * dx + dz * dz
        apart = ca.sqrt(apart2)
        px, pz = self.x - value["trail_x"], self.z - value["trail_z"]
        self.share = (px * dx + pz * dz) / apart2
        rest_x, rest_z = px - self.share * dx, pz - self.share * dz
        self.aside = (rest_x * dz - rest_z * dx) / apart
        lead_x, lead_z = value["lead_x"] + rest_x, value["lead_z"] + rest_z
        # One formula for both phases: in single support the share is 1 and the centre of pressure the zero moment
        # point.
        part = both * self.share + (1 - both)
        self.right_z = both * lead_z + (1 - both) * self.z
        right_x = both * lead_x + (1 - both) * self.x
        against = both * push * value["weight"] / apart
        pressed: Vector = (part * force[0] - against * dx, part * force[1], part * force[2] - against * dz)
        around = cross((right_x, 0.0, self.right_z), pressed)
        self.right = pressed, (around[0], around[1] + part * self.twist, around[2])
        self.left = subtract(force, pressed), subtract(moment, self.right[1])
        self.left_z = value["trail_z"] + rest_z


def _joint_torques(
    body: Recursion, ground: _Ground, value: Mapping[str, Any], q: Any, v: Any
) -> tuple[list[Any], list[Any]]:
    """Torques of all joints [N m], ground reaction and the toes' passive moment taken off; the ground's at the toes.

    The toe joint feels the part of the force ahead of the ball only: the centre of pressure of the whole foot does
    not say how much the forefoot carries, but a force behind the ball acts on the rear foot.
    """
    import casadi as ca

    layout = body.layout
    tau, forefoot = list(body.tau), []
    feet = {"r": (ground.right, ground.right_z, "lead_ball_z"), "l": (ground.left, ground.left_z, "trail_ball_z")}
    for side, ((force, moment), pressure_z, ball) in feet.items():
        for joint in (f"hip_{side}.flexion", f"hip_{side}.abduction", f"hip_{side}.internal_rotation",
                      f"knee_{side}.flexion", f"ankle_{side}.dorsiflexion", f"ankle_{side}.eversion"):  # fmt: skip
            j = layout.index(joint)
            tau[j] = tau[j] - body.torque_of(j, force, moment)
        ahead = pressure_z - value[ball]
        ahead = 0.5 * (ahead + ca.sqrt(ahead * ahead + BALL_ROUNDING**2))
        toe = layout.index(f"toe_{side}.extension")
        forefoot.append(ahead * force[1])
        tau[toe] += value["toe_stiffness"] * q[toe] + value["toe_damping"] * v[toe] - forefoot[-1]
    return tau[GLOBAL:], forefoot


def parameter_vector(instant: Instant, values: Mapping[str, Any]) -> Any:
    """The parameters as one array (..., n_p); every value may have leading axes."""
    sizes = {name: part.stop - part.start for name, part in instant.parameters.items()}
    arrays = {name: np.asarray(values[name], dtype=float) for name in instant.parameters}
    arrays = {
        name: x[..., None] if sizes[name] == 1 and (x.ndim == 0 or x.shape[-1] != 1) else x
        for name, x in arrays.items()
    }
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
    return np.concatenate(
        [np.broadcast_to(arrays[name], (*batch, sizes[name])) for name in instant.parameters], axis=-1
    )
