"""Feet on the ground: the reaction that a motion needs, its split between the feet, support polygon, margin, friction.

The two-step active-passive algorithm (papers/000, 5.1; Xiang et al. 2009; Abdel-Malek and Arora 2013, 5.4-5.6): inverse dynamics
without ground gives the resultant active wrench (F, M about the world origin); the zero moment point follows, and the
ground reaction that balances the wrench there is the passive part. With it the six global coordinates carry nothing.

In double support the lever rule shares it: with c_r and c_l a reference point of each sole and d = c_r - c_l, the right foot
gets the share s = (zmp - c_l).d / |d|^2, cut to [0, 1], and each foot's centre of pressure is its share's point moved by
the distance of the zero moment point from that line: the two reactions together are exactly the wrench. "equal" halves the
force (standing); a given share is taken as it is. With "equal" or a given share the feet's common moment about the line remains
and is shared as well, so that the resultant is exact too.

Example::

    found = ground_reaction(structure, motion)          # motion.q, .v, .a: (N, n)
    found.reaction["r"][:, :3]                          # force on the right foot [N], world axes
    found.margin                                        # distance of the zero moment point inside the support polygon [m]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from kinecast.errors import InputError, unknown
from kinecast.human.node import Node, compile_node, digest, slices
from kinecast.human.recursion import Layout, Recursion, Vector, add, cross, measures, scale, subtract
from kinecast.human.skeleton import body_mass
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    import casadi as ca

SIDES = ("r", "l")
CORNERS = ("heel_inner", "heel_outer", "ball_outer", "toe", "ball_inner")
GLOBAL = 6
# A corner of the sole this near to the ground carries load: recorded motions are not better than that.
CONTACT_HEIGHT = 0.02
Split = Literal["lever", "equal"]
# A smooth maximum takes over within this distance of the ball [m].
BALL_ROUNDING = 0.01


class Motion(Protocol):
    """Joint positions, velocities and accelerations, (N, n) in the structure's order."""

    q: Array
    v: Array
    a: Array


@dataclass(frozen=True)
class GroundReaction:
    """What the ground does in a motion of N samples; world axes (x left, y up, z forward), moments about the world origin."""

    zmp: Array  # (N, 2): x, z; NaN in flight
    resultant: Array  # (N, 6): force and moment that the motion needs
    reaction: dict[str, Array]  # by side (N, 6)
    share: Array  # (N,) of the right foot
    contact: dict[str, Array]  # by side (N, corners) bool
    corners: dict[str, Array]  # by side (N, corners, 3)
    margin: Array  # (N,) distance of the zero moment point inside the support polygon, negative outside [m]
    friction: dict[str, Array]  # by side (N,) horizontal over vertical force
    tau: Array  # (N, n) joint torques with the ground reaction
    root_residual: Array  # (N, 6) what is left on the global coordinates

    @property
    def largest_root_residual(self) -> float:
        """The largest force or moment left on the global coordinates [N, N m]."""
        return float(np.abs(self.root_residual).max())


class Sensitivities(NamedTuple):
    """Derivatives of torques (N, n, n), zero moment point (N, 2, n) and reactions by side (N, 6, n) by q, v and a."""

    tau: dict[str, Array]
    zmp: dict[str, Array]
    reaction: dict[str, dict[str, Array]]


def ground_reaction(
    structure: Structure,
    motion: Motion,
    *,
    contact: dict[str, Array] | None = None,
    split: Split | Array = "lever",
    reference: tuple[float, float] = (0.5, 0.5),
) -> GroundReaction:
    """The ground reaction of any motion of a person, on the level ground y = 0.

    `contact`: which corners of each sole bear load, by side (N, 5) bool in the order heel inner, heel outer, ball outer, toe, ball
    inner; by default those lower than 20 mm. `split`: "lever", "equal" or the right foot's share (N,). `reference`: where from heel
    (0) to toe (1) the lever rule's point of the right and of the left foot lies.
    """
    inputs = _Inputs(structure, motion, contact, split, reference)
    out = inputs.outputs(inputs.node.value.ufunc(inputs.z, inputs.p))
    zmp = np.where(out["resultant"][:, 1:2] > 0, out["zmp"], np.nan)
    corners = inputs.corners
    margin = np.full(len(zmp), np.nan)
    for k in range(len(zmp)):
        down = np.concatenate([corners[side][k, inputs.contact[side][k]] for side in SIDES])[:, [0, 2]]
        if len(down) and np.all(np.isfinite(zmp[k])):
            margin[k] = polygon_margin(zmp[k], support_polygon(down))[0]
    reaction = {side: out[f"reaction_{side}"] for side in SIDES}
    return GroundReaction(
        zmp,
        out["resultant"],
        reaction,
        inputs.share(out["share"][:, 0]),
        inputs.contact,
        corners,
        margin,
        {side: friction_use(reaction[side]) for side in SIDES},
        np.concatenate([np.zeros((len(zmp), GLOBAL)), out["tau"][:, GLOBAL:]], axis=1),
        out["tau"][:, :GLOBAL],
    )


def reaction_sensitivities(
    structure: Structure,
    motion: Motion,
    *,
    contact: dict[str, Array] | None = None,
    split: Split | Array = "lever",
    reference: tuple[float, float] = (0.5, 0.5),
) -> Sensitivities:
    """Analytic derivatives of `ground_reaction` by q, v and a; contacts and a cut share are held."""
    inputs = _Inputs(structure, motion, contact, split, reference)
    n, node = len(structure.coordinates), inputs.node
    dy, _ = node.derivatives(inputs.z, inputs.p, np.zeros((len(inputs.z), node.size)))
    by = {name: dy[:, k * n : (k + 1) * n].transpose(0, 2, 1) for k, name in enumerate("qva")}

    def of(output: str) -> dict[str, Array]:
        return {name: d[:, node.outputs[output]] for name, d in by.items()}

    return Sensitivities(of("tau"), of("zmp"), {side: of(f"reaction_{side}") for side in SIDES})


class _Inputs:
    """A motion as the node's arguments."""

    def __init__(
        self,
        structure: Structure,
        motion: Motion,
        contact: dict[str, Array] | None,
        split: Split | Array,
        reference: tuple[float, float],
    ) -> None:
        parts = [np.asarray(getattr(motion, name), dtype=float) for name in "qva"]
        n = len(structure.coordinates)
        for name, part in zip("qva", parts, strict=True):
            if part.ndim != 2 or part.shape[1] != n or part.shape != parts[0].shape:
                raise InputError(
                    f"motion of {structure.name!r}: {name} must be (N, {n}) as q, got {part.shape}", key=name
                )
        layout, values = measures(structure, [f"{corner}_{side}" for side in SIDES for corner in CORNERS])
        self.node = _node(layout)
        self.z = np.concatenate(parts, axis=1)
        count = len(self.z)
        head = np.concatenate([values, structure.gravity, np.asarray(reference, dtype=float)])
        self.p = np.concatenate(
            [np.broadcast_to(head, (count, len(head))), np.tile([0.0, 0.0, 0.0], (count, 1))], axis=1
        )
        first = self.outputs(self.node.value.ufunc(self.z, self.p))
        places = {side: [first[f"{corner}_{side}"] for corner in CORNERS] for side in SIDES}
        self.corners = {side: np.stack(places[side], axis=1) for side in SIDES}
        if contact is None:
            contact = {side: self.corners[side][..., 1] < CONTACT_HEIGHT for side in SIDES}
        for side in SIDES:
            if side not in contact or np.shape(contact[side]) != (count, len(CORNERS)):
                raise InputError(f"contact: {side!r} must be ({count}, {len(CORNERS)}) booleans", key="contact")
        self.contact = {side: np.asarray(contact[side], dtype=bool) for side in SIDES}
        on = {side: self.contact[side].any(axis=1) for side in SIDES}
        given = self._given_share(split, count)
        # the node's switch: 1 follows the lever rule, 0 takes the share as given
        lever = first["share"][:, 0]
        free = on["r"] & on["l"] & np.isnan(given) & (lever > 0) & (lever < 1)
        fixed = np.where(
            on["r"] & on["l"], np.where(np.isnan(given), np.clip(lever, 0, 1), given), on["r"].astype(float)
        )
        self._share = np.where(free, np.nan, fixed)
        self.p[:, -3] = free
        self.p[:, -2] = np.where(free, 0.0, fixed)
        self.p[:, -1] = on["r"] | on["l"]

    @staticmethod
    def _given_share(split: Split | Array, count: int) -> Array:
        if isinstance(split, str):
            if split not in ("lever", "equal"):
                raise unknown("split", split, ("lever", "equal"), key="split")
            return np.full(count, 0.5 if split == "equal" else np.nan)
        share = np.asarray(split, dtype=float)
        if share.shape != (count,) or not np.all((share >= 0) & (share <= 1)):
            raise InputError(f"split: the right foot's share must be ({count},) numbers between 0 and 1", key="split")
        return share

    def outputs(self, y: Array) -> dict[str, Array]:
        """The node's outputs by name."""
        return {name: y[:, part] for name, part in self.node.outputs.items()}

    def share(self, lever: Array) -> Array:
        """The right foot's share."""
        return np.where(np.isnan(self._share), lever, self._share)


def _node(layout: Layout) -> Node:
    n = layout.n
    sizes = {"tau": n, "zmp": 2, "share": 1, "resultant": 6, "reaction_r": 6, "reaction_l": 6}
    sizes |= {f"{corner}_{side}": 3 for side in SIDES for corner in CORNERS}
    parameters = slices({"measures": layout.size, "gravity": 3, "reference": 2, "lever": 1, "share": 1, "grounded": 1})
    key = digest(repr(layout), Path(__file__))
    return compile_node(
        "ground", key, 3 * n, n, parameters["grounded"].stop, sizes, lambda z, p: _trace(layout, parameters, z, p)
    )


def _trace(layout: Layout, parameters: dict[str, slice], z: ca.SX, p: ca.SX) -> dict[str, Any]:
    n = layout.n
    value = {name: p[part] for name, part in parameters.items()}
    gravity = value["gravity"]
    body = Recursion(layout, z[:n], z[n : 2 * n], z[2 * n :], value["measures"], (gravity[0], gravity[1], gravity[2]))
    force, moment = body.force, body.moment
    x, height = moment[2] / force[1], -moment[0] / force[1]
    zmp: Vector = (x, 0.0, height)
    twist = moment[1] - height * force[0] + x * force[2]
    corners = {f"{corner}_{side}": body.position(f"{corner}_{side}") for side in SIDES for corner in CORNERS}
    point = {side: _reference(corners, side, value["reference"][k]) for k, side in enumerate(SIDES)}
    between = subtract(point["r"], point["l"])
    apart = between[0] * between[0] + between[2] * between[2]
    from_left = subtract(zmp, point["l"])
    lever = (from_left[0] * between[0] + from_left[2] * between[2]) / apart
    # The lever rule's centres of pressure, or (share given) the zero moment point for both feet.
    share = value["lever"] * lever + (1 - value["lever"]) * value["share"]
    aside = subtract(from_left, scale(lever, between))
    centre = add(scale(value["lever"], add(point["r"], aside)), scale(1 - value["lever"], zmp))
    right = scale(value["grounded"] * share, force)
    around = cross((centre[0], 0.0, centre[2]), right)
    right_moment = (around[0], around[1] + value["grounded"] * share * twist, around[2])
    left, left_moment = (
        subtract(scale(value["grounded"], whole), part) for whole, part in ((force, right), (moment, right_moment))
    )
    wrenches = {"r": (right, right_moment), "l": (left, left_moment)}
    pressure = {"r": centre, "l": add(scale(value["lever"], add(point["l"], aside)), scale(1 - value["lever"], zmp))}
    toes = {side: _toe_moment(corners, side, pressure[side], wrenches[side][0]) for side in SIDES}
    tau = [body.tau[j] - _reaction_torque(body, j, wrenches, toes) for j in range(n)]
    return {
        "tau": tau,
        "zmp": [x, height],
        "share": [lever],
        "resultant": [*force, *moment],
        "reaction_r": [*right, *right_moment],
        "reaction_l": [*left, *left_moment],
    } | corners


def _reference(corners: dict[str, Vector], side: str, fraction: Any) -> Vector:
    heel = scale(0.5, add(corners[f"heel_inner_{side}"], corners[f"heel_outer_{side}"]))
    return add(heel, scale(fraction, subtract(corners[f"toe_{side}"], heel)))


def _toe_moment(corners: dict[str, Vector], side: str, pressure: Vector, force: Vector) -> Any:
    """What the toe joint feels: a force ahead of the ball acts on the forefoot, one behind it on the rear foot."""
    import casadi as ca

    ball = scale(0.5, add(corners[f"ball_inner_{side}"], corners[f"ball_outer_{side}"]))
    along = subtract(corners[f"toe_{side}"], ball)
    length = ca.sqrt(along[0] * along[0] + along[2] * along[2] + 1e-12)
    ahead = ((pressure[0] - ball[0]) * along[0] + (pressure[2] - ball[2]) * along[2]) / length
    return 0.5 * (ahead + ca.sqrt(ahead * ahead + BALL_ROUNDING**2)) * force[1]


def _reaction_torque(body: Recursion, j: int, wrenches: dict[str, tuple[Vector, Vector]], toes: dict[str, Any]) -> Any:
    """What the reactions do about joint j: each foot's on its own leg, both on the global coordinates."""
    joint = body.layout.coordinates[j].split(".")[0]
    sides = SIDES if joint == "pelvis" else tuple(s for s in SIDES if joint in (f"hip_{s}", f"knee_{s}", f"ankle_{s}"))
    total = sum((body.torque_of(j, *wrenches[side]) for side in sides), 0.0)
    return total + sum((toes[side] for side in SIDES if joint == f"toe_{side}"), 0.0)


def friction_use(reaction: Array) -> Array:
    """Horizontal over vertical force (N,): the friction coefficient that the foot needs; 0 where it carries nothing."""
    horizontal, vertical = np.hypot(reaction[:, 0], reaction[:, 2]), reaction[:, 1]
    loaded = vertical > 1e-9
    return np.where(loaded, horizontal / np.where(loaded, vertical, 1.0), 0.0)


def support_polygon(points: Array) -> Array:
    """Corners (k, 2) of the convex hull of points (m, 2), counter-clockwise; one or two for a point or a line."""
    ordered = np.unique(np.round(np.asarray(points, dtype=float), 12), axis=0)
    if len(ordered) < 3:
        return ordered

    def half(sequence: Array) -> list[Array]:
        chain: list[Array] = []
        for point in sequence:
            while len(chain) >= 2 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        return chain

    lower, upper = half(ordered), half(ordered[::-1])
    return np.array(lower[:-1] + upper[:-1])


def polygon_margin(point: Array, polygon: Array) -> tuple[float, Array]:
    """Distance of a point (2,) inside a convex polygon (negative outside), and its gradient by the point (2,)."""
    if len(polygon) < 3:
        ends = polygon if len(polygon) == 2 else np.repeat(polygon, 2, axis=0)
        nearest = _on_segment(point, ends[0], ends[1])
        away = point - nearest
        distance = float(np.hypot(*away))
        return -distance, -away / distance if distance else np.zeros(2)
    starts, ends = polygon, np.roll(polygon, -1, axis=0)
    edge = ends - starts
    inward = np.stack([-edge[:, 1], edge[:, 0]], axis=1) / np.hypot(edge[:, 0], edge[:, 1])[:, None]
    inside = ((point - starts) * inward).sum(axis=1)
    k = int(np.argmin(inside))
    if inside[k] >= 0:
        return float(inside[k]), inward[k]
    away = min(
        (point - _on_segment(point, a, b) for a, b in zip(starts, ends, strict=True)), key=lambda r: float(np.hypot(*r))
    )
    distance = float(np.hypot(*away))
    return -distance, -away / distance


def _on_segment(point: Array, a: Array, b: Array) -> Array:
    along = b - a
    length = float(along @ along)
    where = np.clip((point - a) @ along / length, 0.0, 1.0) if length else 0.0
    return np.asarray(a + where * along)


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def body_weight(structure: Structure) -> float:
    """Weight [N], what is carried included."""
    return body_mass(structure) * float(np.linalg.norm(structure.gravity))
