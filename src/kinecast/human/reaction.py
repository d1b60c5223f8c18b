"""Inverse dynamics with the ground reaction over symbols: resultant, zero moment point, what each foot takes, torques.

A wrench W = (F, M about the world origin) is what the motion asks of the ground. The right foot takes

    lever * (W by the lever rule) + (1 - lever) * share * W + given,

and the left foot the rest, so that both together are W whatever the parameters `lever` (1 or 0), `share` and `given`
are; `grounded` is 0 in flight, where nothing balances W. Derivatives hold the parameters, which the module `contact`
sets.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinecast.engine import Kernel
from kinecast.human.node import Node, compile_node, compile_values, digest, slices
from kinecast.human.recursion import Layout, Recursion, Vector, add, cross, scale, subtract

if TYPE_CHECKING:
    import casadi as ca

SIDES = ("r", "l")
CORNERS = ("heel_inner", "heel_outer", "ball_outer", "toe", "ball_inner")
GLOBAL = 6
# A smooth maximum takes over within this distance of the ball [m].
BALL_ROUNDING = 0.01
# How far from the middle of the sole the lever rule's point goes, as a fraction of the foot's length.
_REFERENCE_REACH = 0.35
# Moments [N m] that are nothing.
_NOTHING = 1e-9


def parameters_of(layout: Layout) -> dict[str, slice]:
    """Where in the parameter vector what is."""
    sizes = {"measures": layout.size, "gravity": 3, "reference": 2, "reference_given": 1}
    return slices(sizes | {"lever": 1, "share": 1, "given": 6, "grounded": 1})


def _sizes(n: int, speeds: bool) -> dict[str, int]:
    sizes = {"tau": n, "zmp": 2, "share": 1, "resultant": 6, "reaction_r": 6, "reaction_l": 6}
    places = [f"{corner}_{side}" for side in SIDES for corner in CORNERS]
    return sizes | dict.fromkeys([*places, *(f"speed_{place}" for place in places if speeds)], 3)


def reaction_kernel(layout: Layout) -> tuple[Kernel, dict[str, slice]]:
    """The kernel (q, v, a; parameters) -> outputs, and where the outputs are by name."""
    parameters, sizes = parameters_of(layout), _sizes(layout.n, speeds=True)
    key, n_p = digest(repr(layout), Path(__file__)), parameters["grounded"].stop
    made = compile_values("ground", key, 3 * layout.n, n_p, sizes, lambda z, p: _trace(layout, parameters, z, p))
    return made, slices(sizes)


def sensitivity_node(layout: Layout) -> Node:
    """The same with its derivatives, without speeds."""
    parameters, n = parameters_of(layout), layout.n
    key, n_p = digest(repr(layout), Path(__file__)), parameters["grounded"].stop
    sizes = _sizes(n, speeds=False)
    return compile_node(
        "ground_sensitivities", key, 3 * n, n, n_p, sizes, lambda z, p: _trace(layout, parameters, z, p)
    )


def _trace(layout: Layout, parameters: dict[str, slice], z: ca.SX, p: ca.SX) -> dict[str, Any]:
    n = layout.n
    value = {name: p[part] for name, part in parameters.items()}
    gravity = value["gravity"]
    body = Recursion(layout, z[:n], z[n : 2 * n], z[2 * n :], value["measures"], (gravity[0], gravity[1], gravity[2]))
    force, moment = body.force, body.moment
    x, forward = moment[2] / force[1], -moment[0] / force[1]
    zmp: Vector = (x, 0.0, forward)
    twist = moment[1] - forward * force[0] + x * force[2]
    places = [f"{corner}_{side}" for side in SIDES for corner in CORNERS]
    corners = {place: body.position(place) for place in places}
    point = _references(corners, value)
    between = subtract(point["r"], point["l"])
    apart = between[0] * between[0] + between[2] * between[2]
    from_left = subtract(zmp, point["l"])
    lever = (from_left[0] * between[0] + from_left[2] * between[2]) / apart
    centre = add(point["r"], subtract(from_left, scale(lever, between)))
    pressed = scale(lever, force)
    around = cross((centre[0], 0.0, centre[2]), pressed)
    by_rule = (*pressed, around[0], around[1] + lever * twist, around[2])
    whole = (*force, *moment)
    right = [
        value["lever"] * by_rule[i] + (1 - value["lever"]) * value["share"] * whole[i] + value["given"][i]
        for i in range(6)
    ]
    right = [value["grounded"] * w for w in right]
    left = [value["grounded"] * w - r for w, r in zip(whole, right, strict=True)]
    wrenches = {side: ((w[0], w[1], w[2]), (w[3], w[4], w[5])) for side, w in (("r", right), ("l", left))}
    toes = {side: _toe_moment(corners, side, *wrenches[side]) for side in SIDES}
    tau = [body.tau[j] - _reaction_torque(body, j, wrenches, toes) for j in range(n)]
    out = {"tau": tau, "zmp": [x, forward], "share": [lever], "resultant": whole}
    out |= {"reaction_r": right, "reaction_l": left}
    return out | corners | {f"speed_{place}": body.velocity(place) for place in places}


def _references(corners: dict[str, Vector], value: dict[str, Any]) -> dict[str, Vector]:
    """The lever rule's points: given, or the nearer the heel the further a foot is ahead of the other."""
    import casadi as ca

    heel = {side: scale(0.5, add(corners[f"heel_inner_{side}"], corners[f"heel_outer_{side}"])) for side in SIDES}
    sole = {side: subtract(corners[f"toe_{side}"], heel[side]) for side in SIDES}
    along, apart = add(sole["r"], sole["l"]), subtract(heel["r"], heel["l"])
    length2 = along[0] * along[0] + along[2] * along[2]
    ahead = (apart[0] * along[0] + apart[2] * along[2]) / length2  # of two feet's length
    away = _REFERENCE_REACH * 2 * ahead / ca.sqrt(1 + 4 * ahead * ahead)
    given = value["reference_given"]
    found = {}
    for k, (side, sign) in enumerate((("r", 1.0), ("l", -1.0))):
        fraction = given * value["reference"][k] + (1 - given) * (0.5 - sign * away)
        found[side] = add(heel[side], scale(fraction, sole[side]))
    return found


def _toe_moment(corners: dict[str, Vector], side: str, force: Vector, moment: Vector) -> Any:
    """What the toe joint feels: a force ahead of the ball acts on the forefoot, one behind it on the rear foot."""
    import casadi as ca

    ball = scale(0.5, add(corners[f"ball_inner_{side}"], corners[f"ball_outer_{side}"]))
    along = subtract(corners[f"toe_{side}"], ball)
    length = ca.sqrt(along[0] * along[0] + along[2] * along[2] + 1e-12)
    # (centre of pressure - ball) times vertical force: no division by the force of a foot that carries nothing
    aside, ahead = moment[2] - ball[0] * force[1], -moment[0] - ball[2] * force[1]
    turning = (aside * along[0] + ahead * along[2]) / length
    return 0.5 * (turning + ca.sqrt(turning * turning + (BALL_ROUNDING * force[1]) ** 2 + _NOTHING**2))


def _reaction_torque(body: Recursion, j: int, wrenches: dict[str, tuple[Vector, Vector]], toes: dict[str, Any]) -> Any:
    """What the reactions do about joint j: each foot's on its own leg, both on the global coordinates."""
    joint = body.layout.coordinates[j].split(".")[0]
    sides = SIDES if joint == "pelvis" else tuple(s for s in SIDES if joint in (f"hip_{s}", f"knee_{s}", f"ankle_{s}"))
    total = sum((body.torque_of(j, *wrenches[side]) for side in sides), 0.0)
    return total + sum((toes[side] for side in SIDES if joint == f"toe_{side}"), 0.0)
