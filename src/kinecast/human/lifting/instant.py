"""One instant of a lift, left and right alike: torques with load and ground reaction, and what the constraints look at.

The free coordinates y are those of the sagittal plane and of the right arm; the left side mirrors the right. The feet
stand flat under the hips and do not move: with shank and thigh turned forward by

    s = ankle,    t = ankle - knee,    pelvis tilt = hip - knee + ankle

the pelvis follows from y, so that no constraint is needed for it. Box: level, its centre between the grips at r; the
hands give it F = m (r'' - g), half of it each. Two-step algorithm (Xiang et al. 2009): inverse dynamics with the load
and without ground gives the resultant (F, M about the world origin), the zero moment point z = -M_x / F_y, and the
reaction, half of it on each foot.

`drive` is what motion and load ask of each free coordinate by their work, (dq/dy)' tau without ground: the ground does
no work on feet that stand still, so the joint torques alone must give it.

z = (y, y', y'', T) with derivatives by the fraction of the duration T: v = y' / T, a = y'' / T^2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinecast.engine import Kernel
from kinecast.human.contact import BALL_ROUNDING, GLOBAL, SIDES
from kinecast.human.ergonomics.strength import LEG_JOINTS, surface
from kinecast.human.lifting.model import PLACES, Plan, Spot, plan, spots
from kinecast.human.lifting.task import BOARD
from kinecast.human.node import Node, compile_node, compile_values, digest, slices
from kinecast.human.recursion import Layout, Recursion, Vector, add, cross, scale
from kinecast.human.tables import rows

if TYPE_CHECKING:
    import casadi as ca

# Torques below this fraction of a joint's strength count alike in both directions.
_EFFORT_ROUNDING = 0.02
# The effort of a leg joint is relative to its strength at this angle and speed, which is taken for no less than this
# part of its static strength.
_LEAST_STRENGTH = 0.15
# Strength by speed has a kink where shortening turns to lengthening [rad/s].
_STRENGTH_ROUNDING = 0.1
# Acceleration of a joint that costs its weight once [rad/s2].
FAST = 10.0
# |z / a|^p + |y / b|^p = 1 with this p is nearly the box with rounded edges.
BOX_POWER = 8
# Rounding of the edge of a board, and of where above turns to below [m].
_EDGE_ROUNDING, _MIDDLE_ROUNDING = 0.006, 0.001

_PELVIS = ("pelvis.up", "pelvis.forward", "pelvis.tilt")  # what follows from the legs
_ARM = ("clavicle", "shoulder", "elbow", "wrist")
_BOARDS = ("shelf", "table")

SCALARS = (
    "weight",  # of person and load [N]
    "load",  # mass of the box [kg]
    "gravity",  # [m/s2]
    "box_depth", "box_height",  # half of each [m]
    "margin",  # kept between box and body, and between box and the edge of a board [m]
    "centre", "reach",  # of the feet: middle, and half the length from heel to toe [m, ahead of the ankles]
    "ball",  # [m]
    "target_height", "target_distance",  # of the hands, for postures that aim at it [m]
    "effort", "balance", "posture", "smoothness",  # weights
    "trunk_neutral", "trunk_ease",  # of the upper trunk's inclination [rad]
    # of a board: edge, height of the middle [m], 1 where the box may pass beneath it
    *(f"{board}_{what}" for board in _BOARDS for what in ("front", "middle", "open")),
)  # fmt: skip


@dataclass(frozen=True)
class Instant:
    """The compiled instant of one set of coordinates."""

    layout: Layout
    plan: Plan
    node: Node
    report: Kernel  # values of what is reported but not constrained
    reported: Mapping[str, slice]
    parameters: Mapping[str, slice]

    @property
    def n(self) -> int:
        """Number of free coordinates."""
        return len(self.plan.free)


def compile_instant(layout: Layout, boards: bool) -> Instant:
    """The kernels for everyone who has these coordinates."""
    chosen = plan(layout.coordinates, boards)
    n, working, n_full = len(chosen.free), len(chosen.working), layout.n
    sizes = {"measures": layout.size} | dict.fromkeys(SCALARS, 1)
    sizes |= {"radii": len(rows("body_thickness")), "neutral": n, "ease": n}
    sizes |= dict.fromkeys(("scale", "effort_mean", "effort_difference", "emphasis"), working)
    sizes |= {f"strength_{joint}_{way}": 6 for joint in LEG_JOINTS for way in ("extension", "flexion")}
    parameters = slices(sizes)
    constrained = {"tau": working, "cost": 1, "miss": 1, "lift": 1, "zmp": 1, "friction": 1}
    constrained |= {"box": 2, "grip": 1, "palm": 1, "clear": len(spots(of="box")), "reserve": 2 * len(LEG_JOINTS)}
    if boards:
        constrained |= dict.fromkeys(_BOARDS, 1 + len(spots(of="boards")))
    reported = dict.fromkeys("qva", n_full) | {"torque": n_full, "zmp": 1, "reaction_r": 6, "reaction_l": 6}
    reported |= {"drive": n, "box": 2, "box_velocity": 2, "box_acceleration": 2, "forefoot": 1}
    reported |= {"places": 3 * len(PLACES)}
    n_z, n_p = 3 * n + 1, max(part.stop for part in parameters.values())
    strength = Path(__file__).parents[1] / "ergonomics" / "strength.py"
    key = digest(repr((layout, chosen, spots(of="boards"))), Path(__file__), strength)

    def traced(z: ca.SX, p: ca.SX) -> dict[str, Any]:
        return trace(layout, chosen, parameters, z, p)

    node = compile_node("lifting", key, n_z, n + 1, n_p, constrained, traced)
    report = compile_values("lifting_report", key, n_z, n_p, reported, traced)
    return Instant(layout, chosen, node, report, slices(reported), parameters)


def trace(layout: Layout, chosen: Plan, parameters: Mapping[str, slice], z: ca.SX, p: ca.SX) -> dict[str, Any]:
    """The outputs of one instant over symbols."""
    import casadi as ca

    n = len(chosen.free)
    value = {name: p[part] for name, part in parameters.items()}
    duration = z[3 * n]
    motion = (z[:n], z[n : 2 * n] / duration, z[2 * n : 3 * n] / duration**2)
    flow = ca.vertcat(motion[1], motion[2] * duration, ca.SX(n + 1, 1))

    def rate(expression: Any) -> Any:
        return ca.jtimes(expression, z, flow)

    q, v, a = _everything(layout, chosen, value["measures"], motion, rate)
    body = Recursion(layout, q, v, a, value["measures"], (0.0, -value["gravity"], 0.0))
    hands = {side: body.position(f"grip_{side}") for side in SIDES}
    place = (hands["r"][1], hands["r"][2])
    speed = [rate(x) for x in place]
    pull = [rate(x) for x in speed]
    half: Vector = (0.0, 0.5 * value["load"] * (pull[0] + value["gravity"]), 0.5 * value["load"] * pull[1])
    held = {side: (half, cross(hands[side], half)) for side in SIDES}
    force = add(body.force, scale(2.0, half))
    moment = add(body.moment, *(held[side][1] for side in SIDES))
    zmp = -moment[0] / force[1]
    ground = _ground(body, force, zmp)
    ahead = 0.5 * (zmp - value["ball"] + ca.sqrt((zmp - value["ball"]) ** 2 + BALL_ROUNDING**2))
    forefoot = ahead * 0.5 * force[1]
    loaded = _loaded(body, held)
    tau = _torques(body, loaded, ground, forefoot)
    scaled = [value["scale"][k] * tau[j] for k, j in enumerate(chosen.working)]
    able = _leg_strength(layout, value, q, v)
    trunk = sum((q[j] for j, name in enumerate(layout.coordinates) if _bends_trunk(name)), 0.0)
    posture = ca.sumsqr((motion[0] - value["neutral"]) / value["ease"])
    posture += ((trunk - value["trunk_neutral"]) / value["trunk_ease"]) ** 2
    cost = value["effort"] * _effort(chosen, value, scaled, able) + value["posture"] * posture
    cost += value["balance"] * ((zmp - value["centre"]) / value["reach"]) ** 2
    cost += value["smoothness"] * ca.sumsqr(motion[2]) / FAST**2
    hand = body.rotation(_last(layout, ("wrist_r.radial_deviation", "wrist_r.flexion", "elbow_r.pronation")))
    out = {
        "tau": scaled,
        "cost": [cost],
        "miss": [(place[0] - value["target_height"]) ** 2 + (place[1] - value["target_distance"]) ** 2],
        "lift": [force[1] / value["weight"]],
        "zmp": [zmp],
        "friction": [force[2] / force[1]],
        "box": [place[0], place[1]],
        "grip": [hands["r"][0]],
        "palm": [hand[0][0]],
        "clear": [_clear(body, spot, value, place) for spot in spots(of="box")],
        "reserve": [x / value["weight"] for j, own in able.items() for x in own.left(tau[j])],
        "q": ca.vertsplit(q),
        "v": ca.vertsplit(v),
        "a": ca.vertsplit(a),
        "drive": ca.vertsplit(ca.jtimes(q, z, ca.vertcat(*loaded), True)[:n]),
        "torque": [0.0 if j < GLOBAL else t for j, t in enumerate(tau)],
        "reaction_r": [*ground["r"][0], *ground["r"][1]],
        "reaction_l": [*ground["l"][0], *ground["l"][1]],
        "box_velocity": [speed[0], speed[1]],
        "box_acceleration": [pull[0], pull[1]],
        "forefoot": [forefoot],
        "places": [x for name in PLACES for x in body.position(name)],
    }
    return out | {board: _above_or_before(body, board, value, place) for board in _BOARDS if chosen.boards}


def _everything(layout: Layout, chosen: Plan, measures: Any, motion: tuple[Any, Any, Any], rate: Any) -> list[Any]:
    """Positions, velocities and accelerations of all coordinates."""
    import casadi as ca

    pelvis = _pelvis(layout, chosen, measures, motion[0])
    moving = (pelvis, rate(pelvis), rate(rate(pelvis)))
    found = []
    for order in range(3):
        entries = []
        for name, source in zip(layout.coordinates, chosen.source, strict=True):
            if name in _PELVIS:
                entries.append(moving[order][_PELVIS.index(name)])
            else:
                entries.append(motion[order][source] if source >= 0 else ca.SX(0.0))
        found.append(ca.vertcat(*entries))
    return found


def _pelvis(layout: Layout, chosen: Plan, measures: Any, y: Any) -> Any:
    """(up, forward, tilt) of the pelvis that stands on flat feet, from ankle, knee and hip."""
    import casadi as ca

    ankle, knee, hip = (
        y[chosen.free.index(name)] for name in ("ankle_r.dorsiflexion", "knee_r.flexion", "hip_r.flexion")
    )
    up = forward = ca.SX(0.0)
    for coordinate, turn in (("ankle_r.dorsiflexion", ankle), ("knee_r.flexion", ankle - knee)):
        # the vector (y, z) from the joint above to this one at q = 0
        slots = layout.links[layout.index(coordinate)].offset
        y_down, z_down = (measures[k] if k >= 0 else 0.0 for k in slots[1:])
        up += y_down - (ca.cos(turn) * y_down - ca.sin(turn) * z_down)
        forward += z_down - (ca.sin(turn) * y_down + ca.cos(turn) * z_down)
    return ca.vertcat(up, forward, hip - knee + ankle)


def _held_by(coordinate: str) -> tuple[str, ...]:
    """The hands beyond a coordinate: what they hold, it carries."""
    joint = coordinate.split(".")[0]
    if joint == "pelvis" or joint.startswith("spine"):
        return SIDES
    return tuple(side for side in SIDES if joint in (f"{part}_{side}" for part in _ARM))


def _ground(body: Recursion, force: Vector, zmp: Any) -> dict[str, tuple[Vector, Vector]]:
    """Half of the reaction on each foot, as (force, moment about the world origin)."""
    found = {}
    for side in SIDES:
        x = body.position(f"heel_inner_{side}")[0] + body.position(f"heel_outer_{side}")[0]
        half = scale(0.5, (0.0, force[1], force[2]))
        found[side] = (half, cross((0.5 * x, 0.0, zmp), half))
    return found


def _loaded(body: Recursion, held: Mapping[str, tuple[Vector, Vector]]) -> list[Any]:
    """Torques of all joints [N m] with what the hands hold, without the ground."""
    tau = list(body.tau)
    for j, name in enumerate(body.layout.coordinates):
        for side in _held_by(name):
            tau[j] = tau[j] + body.torque_of(j, *held[side])
    return tau


def _torques(
    body: Recursion, loaded: list[Any], ground: Mapping[str, tuple[Vector, Vector]], forefoot: Any
) -> list[Any]:
    """Torques of all joints [N m] with the ground reaction too, of which `forefoot` turns the toes."""
    tau = list(loaded)
    for j, name in enumerate(body.layout.coordinates):
        joint = name.split(".")[0]
        for side in SIDES:
            if joint in (f"hip_{side}", f"knee_{side}", f"ankle_{side}"):
                tau[j] = tau[j] - body.torque_of(j, *ground[side])
            if joint == f"toe_{side}":
                tau[j] = tau[j] - forefoot
    return tau


class _Able(NamedTuple):
    """What a joint can do at its angle and speed [N m]."""

    extends: float  # sign of a torque that extends it
    extension: Any
    flexion: Any

    def left(self, torque: Any) -> tuple[Any, Any]:
        """What a torque leaves of the strength in both directions."""
        return self.extension - self.extends * torque, self.flexion + self.extends * torque


def _leg_strength(layout: Layout, value: Mapping[str, Any], q: Any, v: Any) -> dict[int, _Able]:
    """Of the right leg's joints."""
    found = {}
    for joint, (coordinate, extends) in LEG_JOINTS.items():
        j = layout.index(coordinate.replace(".", "_r."))
        # The speed in the direction of the torque is that of shortening muscles.
        extension, flexion = (
            surface(value[f"strength_{joint}_{way}"], q[j], sign * v[j], _STRENGTH_ROUNDING)
            for way, sign in (("extension", extends), ("flexion", -extends))
        )
        found[j] = _Able(extends, extension, flexion)
    return found


def _effort(chosen: Plan, value: Mapping[str, Any], scaled: list[Any], able: Mapping[int, _Able]) -> Any:
    """Sum of squared torques over strength: that of the legs at their angle and speed, of the others the static one."""
    import casadi as ca

    effort = 0.0
    for k, (j, t) in enumerate(zip(chosen.working, scaled, strict=True)):
        direction = t / ca.sqrt(t * t + _EFFORT_ROUNDING**2)
        share = value["effort_mean"][k] + value["effort_difference"][k] * direction
        if j in able:
            unit = 1.0 / value["scale"][k]
            extending = 0.5 * (1.0 + able[j].extends * direction)
            least = (_LEAST_STRENGTH * unit) ** 2
            parts = ((extending, able[j].extension), (1.0 - extending, able[j].flexion))
            share = sum(part * unit**2 / (own**2 + least) for part, own in parts)
        effort = effort + chosen.twice[k] * value["emphasis"][k] * share * t * t
    return effort


def _bends_trunk(coordinate: str) -> bool:
    joint, motion = coordinate.split(".")
    return coordinate == "pelvis.tilt" or (joint.startswith("spine") and motion == "flexion")


def _place(body: Recursion, spot: Spot) -> tuple[Any, Any]:
    """(height, distance ahead) of a spot."""
    start, end = (body.position(name) for name in (spot.start, spot.end))
    y, z = ((1 - spot.fraction) * start[i] + spot.fraction * end[i] for i in (1, 2))
    return y, z


def _clear(body: Recursion, spot: Spot, value: Mapping[str, Any], box: Any) -> Any:
    """At least 1 outside the box grown by the body's radius there."""
    (y, z), grown = _place(body, spot), value["radii"][spot.body] + value["margin"]
    a, b = (z - box[1]) / (value["box_depth"] + grown), (y - box[0]) / (value["box_height"] + grown)
    return (a**BOX_POWER + b**BOX_POWER + 1e-12) ** (1 / BOX_POWER)


def _above_or_before(body: Recursion, board: str, value: Mapping[str, Any], box: Any) -> list[Any]:
    """How far [m] the box, then every spot, is outside of a board: at least 0 (box), its radius (spots).

    Where the box has no business beneath a board, beneath is as good as inside: else it could be beneath at one instant
    and above at the next.
    """
    import casadi as ca

    front, middle = value[f"{board}_front"], value[f"{board}_middle"]

    def outside(y: Any, z: Any, half_height: Any, half_depth: Any, margin: Any, either: Any) -> Any:
        before = front - margin - z - half_depth
        away = either * ca.sqrt((y - middle) ** 2 + _MIDDLE_ROUNDING**2) + (1 - either) * (y - middle)
        above = away - 0.5 * BOARD - half_height
        return 0.5 * (before + above + ca.sqrt((before - above) ** 2 + _EDGE_ROUNDING**2))

    half = value["box_height"], value["box_depth"]
    found = [outside(box[0], box[1], *half, value["margin"], value[f"{board}_open"])]
    return found + [outside(*_place(body, spot), 0.0, 0.0, 0.0, 1.0) for spot in spots(of="boards")]


def _last(layout: Layout, names: tuple[str, ...]) -> str:
    """The first of the names that is a coordinate."""
    return next((name for name in names if name in layout.coordinates), "elbow_r.flexion")


def parameter_vector(instant: Instant, values: Mapping[str, Any]) -> Any:
    """The parameters as one array (n_p,)."""
    return np.concatenate([np.atleast_1d(np.asarray(values[name], dtype=float)) for name in instant.parameters])
