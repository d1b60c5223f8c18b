"""Feet on the ground: the reaction that a motion needs, its split between the feet, support polygon, margin, friction.

The two-step active-passive algorithm (papers/000, 5.1; Xiang et al. 2009; Abdel-Malek and Arora 2013, 5.4-5.6): inverse
dynamics without ground gives the resultant active wrench (F, M about the world origin), and with it the zero moment
point z = -M_x / F_y, x = M_z / F_y and the free moment T = M_y - z F_x + x F_z. The ground reaction that balances the
wrench is the passive part; with it the six global coordinates carry nothing. Only its split between two standing feet
is an assumption. The two reactions add up to the wrench exactly, whatever the split:

- "lever" (Xiang et al. 2009): c_r and c_l are a reference point of each sole, d = c_r - c_l. The right foot's share is
  s = (zmp - c_l).d / |d|^2, cut to [0, 1], and each foot's centre of pressure is its own point moved by the distance
  of the zero moment point from the line. The points are near the heel of the foot ahead and near the toes of the one
  behind, in the middle of feet side by side; or where `reference` says.
- "equal", or the right foot's share (N,): the share of the whole wrench; both feet then press at the zero moment point.
- "smooth" (Ren, Jones and Howard 2008): from the heel strike of one foot the other's force fades by fixed curves of
  time, where it acted at that instant. Needs times, and steps.

Example::

    found = ground_reaction(person, "walk.csv")         # or anything with .q, .v, .a: (N, n)
    found.reaction["r"][:, :3]                          # force on the right foot [N], world axes
    found.margin                                        # distance of the zero moment point inside the polygon [m]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kinecast.engine import Kernel
from kinecast.errors import InputError, unknown
from kinecast.human.reaction import (
    BALL_ROUNDING,
    CORNERS,
    GLOBAL,
    SIDES,
    parameters_of,
    reaction_kernel,
    sensitivity_node,
)
from kinecast.human.recursion import measures
from kinecast.human.skeleton import body_mass
from kinecast.human.support import convex_hull, friction_gradient, friction_use, polygon_margin, support_polygon
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array
from kinecast.motion.files import MotionFile, read_motion

__all__ = [
    "BALL_ROUNDING", "CORNERS", "GLOBAL", "SIDES", "GroundReaction", "Motion", "Sensitivities", "body_weight",
    "friction_use", "ground_reaction", "polygon_margin", "reaction_sensitivities", "support_polygon",
]  # fmt: skip

SIDE_NAMES = {"r": "right", "l": "left"}
# A corner of a sole this near to the ground and no faster than this bears load: recorded motions are not better.
CONTACT_HEIGHT, CONTACT_SPEED = 0.02, 0.5
Split = Literal["lever", "equal", "smooth"]
_COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


class Motion(Protocol):
    """Joint positions, velocities and accelerations, (N, n) in the structure's order; for "smooth" also times `t`."""

    @property
    def q(self) -> Array: ...  # noqa: D102

    @property
    def v(self) -> Array: ...  # noqa: D102

    @property
    def a(self) -> Array: ...  # noqa: D102


AnyMotion = Motion | MotionFile | str | PathLike[str]
Reference = tuple[float, float] | None
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class GroundReaction:
    """What the ground does in N samples; world axes (x left, y up, z forward), moments about the world origin."""

    zmp: Array  # (N, 2): x, z; NaN in flight
    resultant: Array  # (N, 6): force and moment that the motion needs
    reaction: dict[str, Array]  # by side (N, 6): force and moment on the foot
    contact: dict[str, Array]  # by side (N, corners) bool
    corners: dict[str, Array]  # by side (N, corners, 3)
    tau: Array  # (N, n) joint torques with the ground reaction
    root_residual: Array  # (N, 6) what is left on the global coordinates

    @cached_property
    def margin(self) -> Array:
        """Distance (N,) of the zero moment point inside the support polygon, negative outside, NaN in flight [m]."""
        return np.array([np.nan if hull is None else hull[1].distance for hull in self._hulls])

    @property
    def share(self) -> Array:
        """The right foot's part (N,) of the vertical force; NaN in flight."""
        lift = self.resultant[:, 1]
        return np.where(np.isnan(self.zmp[:, 0]), np.nan, self.reaction["r"][:, 1] / np.where(lift == 0, 1.0, lift))

    @property
    def friction(self) -> dict[str, Array]:
        """By side (N,) horizontal over vertical force: within the friction cone where below the coefficient."""
        return {side: friction_use(self.reaction[side][:, :3]) for side in SIDES}

    @property
    def pressure(self) -> dict[str, Array]:
        """By side the centre of pressure (N, 2): x, z; NaN where a foot carries nothing."""
        found: dict[str, Array] = {}
        for side, wrench in self.reaction.items():
            loaded = wrench[:, 1] > 1e-6 * np.abs(self.resultant[:, 1]).max()
            over = np.where(loaded, wrench[:, 1], np.nan)
            found[side] = np.stack([wrench[:, 5] / over, -wrench[:, 3] / over], axis=1)
        return found

    @property
    def largest_root_residual(self) -> float:
        """The largest force or moment left on the global coordinates [N, N m]."""
        return float(np.abs(self.root_residual).max())

    def columns(self) -> dict[str, Array]:
        """Columns (N,) of a motion file, by name: grf.right.fx ..., cop.right.x ..., zmp.x, zmp.z, margin."""
        return reaction_columns(self.reaction, self.pressure, self.zmp, self.margin)

    @cached_property
    def _hulls(self) -> list[Any]:
        """By sample (indices of the polygon's corners among all ten, margin); None in flight."""
        places = np.concatenate([self.corners[side] for side in SIDES], axis=1)[:, :, [0, 2]]
        down = np.concatenate([self.contact[side] for side in SIDES], axis=1)
        found: list[Any] = []
        for zmp, corners, on in zip(self.zmp, places, down, strict=True):
            if not on.any() or np.isnan(zmp[0]):
                found.append(None)
            else:
                hull = np.flatnonzero(on)[convex_hull(corners[on])]
                found.append((hull, polygon_margin(zmp, corners[hull])))
        return found


class Sensitivities(NamedTuple):
    """Derivatives by q, v and a ("q", "v", "a"); contacts, cut shares and what fades by "smooth" are held."""

    tau: dict[str, Array]  # (N, n, n)
    zmp: dict[str, Array]  # (N, 2, n)
    reaction: dict[str, dict[str, Array]]  # by side (N, 6, n)
    margin: dict[str, Array]  # (N, n)
    friction: dict[str, dict[str, Array]]  # by side (N, n)


def reaction_columns(reaction: Mapping[str, Array], pressure: Mapping[str, Array], zmp: Array, margin: Array) -> Any:
    """Columns of a motion file; moments about the world origin, centres of pressure empty (NaN) where unloaded."""
    found: dict[str, Array] = {}
    for side, name in SIDE_NAMES.items():
        found |= {f"grf.{name}.{what}": reaction[side][:, k] for k, what in enumerate(_COMPONENTS)}
        found |= {f"cop.{name}.{axis}": pressure[side][:, k] for k, axis in enumerate("xz")}
    return found | {"zmp.x": zmp[:, 0], "zmp.z": zmp[:, 1], "margin": margin}


def ground_reaction(
    structure: Structure,
    motion: AnyMotion,
    *,
    contact: Mapping[str, Array] | None = None,
    split: Split | Array = "lever",
    reference: Reference = None,
) -> GroundReaction:
    """The ground reaction of any motion of a person on the plane y = 0: a motion file or its path, or .q, .v, .a.

    `contact`: which corners of each sole bear load, by side ("r", "l") (N, 5) bool in the order heel inner, heel outer,
    ball outer, toe, ball inner; by default those lower than 20 mm and slower than 0.5 m/s. `split`: "lever", "equal",
    "smooth" or the right foot's share (N,). `reference`: where from heel (0) to toe (1) the lever rule's point of the
    right and of the left foot lies.
    """
    return _Inputs(structure, motion, contact, split, reference).found


def reaction_sensitivities(
    structure: Structure,
    motion: AnyMotion,
    *,
    contact: Mapping[str, Array] | None = None,
    split: Split | Array = "lever",
    reference: Reference = None,
) -> Sensitivities:
    """Analytic derivatives of `ground_reaction` by q, v and a."""
    inputs = _Inputs(structure, motion, contact, split, reference)
    n, node, found = inputs.n, sensitivity_node(inputs.layout), inputs.found
    dy, _ = node.derivatives(inputs.z, inputs.p, np.zeros((len(inputs.z), node.size)))
    by = {name: dy[:, k * n : (k + 1) * n].transpose(0, 2, 1) for k, name in enumerate("qva")}

    def of(output: str) -> dict[str, Array]:
        return {name: d[:, node.outputs[output]] for name, d in by.items()}

    zmp, reaction = of("zmp"), {side: of(f"reaction_{side}") for side in SIDES}
    places = [of(f"{corner}_{side}") for side in SIDES for corner in CORNERS]
    margin = {name: np.full((len(inputs.z), n), np.nan) for name in "qva"}
    for k, hull in enumerate(found._hulls):
        if hull is None:
            continue
        corners, (_, by_point, weights) = hull
        for name in "qva":
            moved = sum(w * places[c][name][k, [0, 2]] for c, w in zip(corners, weights, strict=True) if w)
            margin[name][k] = by_point @ (zmp[name][k] - moved)
    cone = {side: friction_gradient(found.reaction[side][:, :3]) for side in SIDES}
    friction = {
        side: {name: np.einsum("ki,kij->kj", cone[side], reaction[side][name][:, :3]) for name in "qva"}
        for side in SIDES
    }
    return Sensitivities(of("tau"), zmp, reaction, margin, friction)


def body_weight(structure: Structure) -> float:
    """Weight [N], what is carried included."""
    return body_mass(structure) * float(np.linalg.norm(structure.gravity))


class _Inputs:
    """A motion as the kernels' arguments, and what they find."""

    def __init__(
        self,
        structure: Structure,
        motion: AnyMotion,
        contact: Mapping[str, Array] | None,
        split: Split | Array,
        reference: Reference,
    ) -> None:
        self.n = len(structure.coordinates)
        self.t, self.z = _series(structure, motion)
        count = len(self.z)
        self.layout, own = measures(structure, [f"{corner}_{side}" for side in SIDES for corner in CORNERS])
        kernel, self._parts = reaction_kernel(self.layout)
        parameters = parameters_of(self.layout)
        self.p = np.zeros((count, parameters["grounded"].stop))
        self.p[:, parameters["measures"]] = own
        self.p[:, parameters["gravity"]] = structure.gravity
        if reference is not None:
            self.p[:, parameters["reference"]] = reference
            self.p[:, parameters["reference_given"]] = 1.0
        self.p[:, parameters["grounded"]] = 1.0
        first = self._outputs(kernel)
        speed = {side: _by_corner(first, "speed_", side) for side in SIDES}
        corners = {side: _by_corner(first, "", side) for side in SIDES}
        if contact is None:
            low = {side: corners[side][..., 1] < CONTACT_HEIGHT for side in SIDES}
            contact = {side: low[side] & (np.linalg.norm(speed[side], axis=-1) < CONTACT_SPEED) for side in SIDES}
        for side in SIDES:
            if side not in contact or np.shape(contact[side]) != (count, len(CORNERS)):
                raise InputError(f"contact: {side!r} must be ({count}, {len(CORNERS)}) booleans", key="contact")
        bears = {side: np.asarray(contact[side]).astype(bool) for side in SIDES}
        on = {side: bears[side].any(axis=1) & (first["resultant"][:, 1] > 0) for side in SIDES}
        how = _split(split, on, first, self.t)
        for name, values in how.items():
            self.p[:, parameters[name]] = values
        out = self._outputs(kernel)
        self.found = GroundReaction(
            np.where((on["r"] | on["l"])[:, None], out["zmp"], np.nan),
            out["resultant"],
            {side: out[f"reaction_{side}"] for side in SIDES},
            bears,
            corners,
            np.concatenate([np.zeros((count, GLOBAL)), out["tau"][:, GLOBAL:]], axis=1),
            out["tau"][:, :GLOBAL],
        )

    def _outputs(self, kernel: Kernel) -> dict[str, Array]:
        y = kernel.ufunc(self.z, self.p)
        return {name: y[:, part] for name, part in self._parts.items()}


def joint_motion(structure: Structure, motion: AnyMotion) -> Motion:
    """The q, v, a of any motion: of a file or its path in the structure's order, of anything else as they are."""
    if isinstance(motion, (str, PathLike)):
        motion = read_motion(motion)
    return motion.joint_series(structure.coordinates) if isinstance(motion, MotionFile) else motion


def _series(structure: Structure, motion: AnyMotion) -> tuple[Array | None, Array]:
    """Times, if there are any, and q, v, a side by side."""
    motion = joint_motion(structure, motion)
    parts = [np.asarray(getattr(motion, name), dtype=float) for name in "qva"]
    n = len(structure.coordinates)
    for name, part in zip("qva", parts, strict=True):
        if part.ndim != 2 or part.shape[1] != n or part.shape != parts[0].shape:
            raise InputError(f"motion of {structure.name!r}: {name} must be (N, {n}) as q, got {part.shape}", key=name)
    t = getattr(motion, "t", None)
    return None if t is None else np.asarray(t, dtype=float), np.concatenate(parts, axis=1)


def _by_corner(out: Mapping[str, Array], what: str, side: str) -> Array:
    return np.stack([out[f"{what}{corner}_{side}"] for corner in CORNERS], axis=1)


# ------------------------------------------------------------------------------------------------- between two feet


def _split(split: Split | Array, on: dict[str, Flags], first: dict[str, Array], t: Array | None) -> dict[str, Array]:
    """The parameters that say how much the right foot takes: of the lever rule, of the wrench, and a wrench as such."""
    count, both = len(on["r"]), on["r"] & on["l"]
    alone = on["r"].astype(float)
    lever, given = np.zeros(count, dtype=bool), np.zeros((count, 6))
    if not isinstance(split, str):
        share = np.asarray(split, dtype=float)
        if share.shape != (count,) or not np.all((share >= 0) & (share <= 1)):
            raise InputError(f"split: the right foot's share must be ({count},) numbers between 0 and 1", key="split")
        share = np.where(both, share, alone)
    elif split == "lever":
        ruled = first["share"][:, 0]
        lever = both & (ruled > 0) & (ruled < 1)
        share = np.where(both, np.where(lever, 0.0, np.clip(ruled, 0, 1)), alone)
    elif split == "equal":
        share = np.where(both, 0.5, alone)
    elif split == "smooth":
        share, given = _fading(on, both, first, t)
    else:
        raise unknown("split", split, ("lever", "equal", "smooth"), key="split")
    found = {"lever": lever, "share": share, "grounded": on["r"] | on["l"]}
    return {name: values[:, None].astype(float) for name, values in found.items()} | {"given": given}


def _fading(on: dict[str, Flags], both: Flags, first: dict[str, Array], t: Array | None) -> tuple[Array, Array]:
    """Share of the wrench, and a wrench as such, of the right foot, by the smooth transition assumption.

    With F0 the force on the trailing foot at the leading one's heel strike and T half the duration of double support,

        F_y, F_x = F0 exp(-(t/T)^3)
        F_z = F0 (k1 exp(-((t - 2T/3)/T)^2) - k2 t/T),    k1 = exp(4/9),    k2 = k1 exp(-16/9) / 2

    where it acted at heel strike, with its free moment fading as F_y does. The leading foot takes the rest.
    """
    if t is None:
        raise InputError("split 'smooth' fades in time: the motion must have times t", key="split")
    share, given = on["r"].astype(float), np.zeros((len(t), 6))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], both.astype(int), [0]])))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        trailing = _trailing(on, start, stop)
        if trailing is None:
            raise InputError(
                f"split 'smooth' is for steps: double support from {t[start]:g} to {t[stop - 1]:g} s lies between no "
                "two single supports; 'lever' is for standing",
                key="split",
            )
        half = max(0.5 * (t[stop - 1] - t[start]), 1e-12)
        fraction = (t[start:stop] - t[start]) / half
        k1 = np.exp(4 / 9)
        fade = np.exp(-(fraction**3))
        swing = k1 * np.exp(-((fraction - 2 / 3) ** 2)) - 0.5 * k1 * np.exp(-16 / 9) * fraction
        force = first["resultant"][start, :3] * np.stack([fade, fade, swing], axis=1)
        x, z = first["zmp"][start]
        moment = np.cross([x, 0.0, z], force)
        around = first["resultant"][start, 3:] - np.cross([x, 0.0, z], first["resultant"][start, :3])
        moment[:, 1] += around[1] * fade
        sign = 1.0 if trailing == "r" else -1.0
        given[start:stop] = sign * np.concatenate([force, moment], axis=1)
        share[start:stop] = 0.0 if trailing == "r" else 1.0
    return share, given


def _trailing(on: dict[str, Flags], start: int, stop: int) -> str | None:
    """The foot that stood alone before, or that lifts off afterwards."""
    count = len(on["r"])
    for side, other in (("r", "l"), ("l", "r")):
        before = start > 0 and on[side][start - 1] and not on[other][start - 1]
        after = stop < count and on[other][stop] and not on[side][stop]
        if before or (start == 0 and after):
            return side
    return None
