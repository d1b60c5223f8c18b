"""Derivatives of the Newton-Euler recursion with respect to q, v and a, by recursion.

The second half of `kinecast.dynamics.newton_euler`, whose table explains the symbols: X_q, X_v, X_a hold the thesis's
X_{,i}, X_{,i'}, X_{,i''} as the columns i of a (3, n) matrix. Columns of joints that X does not depend on are
structurally zero, so that one line covers the thesis's cases i < j and i > j; `own(...)` is its case i = j, the column
of the joint's own coordinate. Revolute and prismatic joints differ only in which of `turn` and `slide` is zero.

The derivative of a rotation is never formed as a matrix: R_{j,j}^T u = (R_j^T u) x turn and R_{j,j} F = R_j (turn x F),
which is zero for a prismatic joint as (3.1) wants it. Equation numbers marked * are misprints in the thesis, corrected.

Example::

    links = newton_euler.motion(structure, q, v, a, around)
    motion_sensitivities(structure, links)[-1].w_q        # of the last link's angular velocity, (3, n)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import casadi as ca

from kinecast.dynamics.algebra import column, constant, coordinate_of, cross, is_distal, loads_on, path_to
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.mechanism import Structure

if TYPE_CHECKING:
    from kinecast.dynamics.newton_euler import Link, Reaction

Three = tuple[Expression, Expression, Expression]


@dataclass(frozen=True, eq=False)
class LinkSensitivity:
    """Derivatives (3, n) of a link's motion and inertial force; those that are not here are zero."""

    w_q: Expression
    w_v: Expression
    wd_q: Expression
    wd_v: Expression
    wd_a: Expression
    x_q: Expression
    xG_q: Expression
    xd_q: Expression
    xd_v: Expression
    xdG_q: Expression
    xdG_v: Expression
    xdd_q: Expression
    xdd_v: Expression
    xdd_a: Expression
    xddG_q: Expression
    xddG_v: Expression
    xddG_a: Expression
    FG_q: Expression
    FG_v: Expression
    FG_a: Expression
    tauG_q: Expression
    tauG_v: Expression
    tauG_a: Expression


def motion_sensitivities(structure: Structure, links: Sequence[Link]) -> tuple[LinkSensitivity, ...]:
    """Steps 2-8, differentiated; in the order of `structure.joints`."""
    found: dict[int, LinkSensitivity] = {}
    for j in structure.order:
        link, own = links[j], _own(structure, j)
        turn, slide, w = link.turn, link.slide, link.w
        before = structure.parents[j]
        x_q, w_q, w_v, wd_q, wd_v, wd_a, xd_q, xd_v, xdd_q, xdd_v, xdd_a = _proximal_end(
            structure, links, found, before, link
        )
        Rt = link.R.T

        # Step 3
        w_q = Rt @ w_q + own(cross(link.w_in, turn))  # 3.9, 3.12; 3.10, 3.13
        w_in_v = Rt @ w_v  # 3.9, 3.10
        w_v = w_in_v + own(turn)  # 3.6, 3.12; 3.7, 3.13*

        # Step 4
        wd_q = Rt @ wd_q + own(cross(link.wd_in, turn)) + cross(w_q, link.Dw)  # 3.15, 3.18, 3.21; 3.22
        wd_v = Rt @ wd_v + cross(w_in_v, link.Dw) + own(cross(link.w_in, turn))  # 3.15, 3.18*, 3.21; 3.22
        wd_a = Rt @ wd_a + own(turn)  # 3.15, 3.18, 3.21; 3.22

        # Step 5
        x_in_q = Rt @ x_q + own(cross(link.x_in, turn))  # 3.24, 3.25
        Dx_q = own(slide)  # 3.3, 3.4: the same for the frame and the centre of mass

        # Steps 6 and 7
        xd_in_q = Rt @ xd_q + own(cross(link.xd_in, turn))  # 3.33, 3.34
        xd_in_v = Rt @ xd_v
        xdd_in_q = Rt @ xdd_q + own(cross(link.xdd_in, turn))  # 3.48, 3.49
        xdd_in_v = Rt @ xdd_v
        xdd_in_a = Rt @ xdd_a
        arm = partial(_arm_sensitivities, link, w_q, w_v, wd_q, wd_v, wd_a, own)
        Dxd_q, Dxd_v, Dxdd_q, Dxdd_v, Dxdd_a = arm(link.Dx, link.Dxd)  # 3.36, 3.51*; 3.37, 3.52*
        DxdG_q, DxdG_v, DxddG_q, DxddG_v, DxddG_a = arm(link.DxG, link.DxdG)  # 3.42, 3.57; 3.43, 3.58
        xddG_q = xdd_in_q + DxddG_q  # 3.60; 3.61*
        xddG_v = xdd_in_v + DxddG_v
        xddG_a = xdd_in_a + DxddG_a

        # Step 8
        found[j] = LinkSensitivity(
            w_q=w_q, w_v=w_v, wd_q=wd_q, wd_v=wd_v, wd_a=wd_a,
            x_q=x_in_q + Dx_q, xG_q=x_in_q + Dx_q,  # 3.27, 3.30; 3.28, 3.31
            xd_q=xd_in_q + Dxd_q, xd_v=xd_in_v + Dxd_v,  # 3.39; 3.40*
            xdG_q=xd_in_q + DxdG_q, xdG_v=xd_in_v + DxdG_v,  # 3.45; 3.46
            xdd_q=xdd_in_q + Dxdd_q, xdd_v=xdd_in_v + Dxdd_v, xdd_a=xdd_in_a + Dxdd_a,  # 3.54; 3.55
            xddG_q=xddG_q, xddG_v=xddG_v, xddG_a=xddG_a,
            FG_q=link.m * xddG_q, FG_v=link.m * xddG_v, FG_a=link.m * xddG_a,  # 3.68
            tauG_q=link.I @ wd_q + cross(w_q, link.H) + cross(w, link.I @ w_q),  # 3.65, 3.70; 3.66, 3.71
            tauG_v=link.I @ wd_v + cross(w_v, link.H) + cross(w, link.I @ w_v),
            tauG_a=link.I @ wd_a,
        )  # fmt: skip
    return tuple(found[j] for j in range(len(links)))


def _own(structure: Structure, j: int) -> Callable[[Expression], Expression]:
    """A function of a value (3, 1): (3, n) with it in the column of joint j's coordinate; nothing for a fixed joint."""
    k, n = coordinate_of(structure)[j], structure.n
    return lambda value: ca.SX(value.shape[0], n) if k is None else column(value, k, n)


def _proximal_end(
    structure: Structure, links: Sequence[Link], found: dict[int, LinkSensitivity], before: int, link: Link
) -> tuple[Expression, ...]:
    """Derivatives of (x, w, wd, xd, xdd) of the point b of the link before, in its axes; the ground has none."""
    if before < 0:
        return (ca.SX(3, structure.n),) * 11
    p = found[before]
    w, b = links[before].w, link.b
    wxb = cross(w, b)
    wxb_q, wxb_v = cross(p.w_q, b), cross(p.w_v, b)
    return (
        p.x_q,
        p.w_q,
        p.w_v,
        p.wd_q,
        p.wd_v,
        p.wd_a,
        p.xd_q + wxb_q,
        p.xd_v + wxb_v,
        p.xdd_q + cross(p.wd_q, b) + cross(p.w_q, wxb) + cross(w, wxb_q),
        p.xdd_v + cross(p.wd_v, b) + cross(p.w_v, wxb) + cross(w, wxb_v),
        p.xdd_a + cross(p.wd_a, b),
    )


def _arm_sensitivities(
    link: Link,
    w_q: Expression,
    w_v: Expression,
    wd_q: Expression,
    wd_v: Expression,
    wd_a: Expression,
    own: Callable[[Expression], Expression],
    D: Expression,
    Dd: Expression,
) -> tuple[Expression, Expression, Expression, Expression, Expression]:
    """Dd_q, Dd_v, Ddd_q, Ddd_v, Ddd_a of an arm D that grows along `slide`: (3.36) and (3.51), (3.37) and (3.52)."""
    w, slide = link.w, link.slide
    Dd_q = cross(w_q, D) + own(cross(w, slide))
    Dd_v = cross(w_v, D) + own(slide)
    grown = Dd + link.slide_rate
    Ddd_q = cross(wd_q, D) + cross(w_q, grown) + cross(w, Dd_q) + own(cross(link.wd, slide))
    Ddd_v = cross(wd_v, D) + cross(w_v, grown) + cross(w, Dd_v) + own(cross(w, slide))
    Ddd_a = cross(wd_a, D) + own(slide)
    return Dd_q, Dd_v, Ddd_q, Ddd_v, Ddd_a


@dataclass(frozen=True, eq=False)
class ReactionSensitivity:
    """Derivatives (3, n) of the force and moment at a link's proximal end."""

    Fp_q: Expression
    Fp_v: Expression
    Fp_a: Expression
    taup_q: Expression
    taup_v: Expression
    taup_a: Expression


def reaction_sensitivities(
    structure: Structure,
    links: Sequence[Link],
    forces: Sequence[Reaction],
    changes: Sequence[LinkSensitivity],
    around: Surroundings,
) -> tuple[ReactionSensitivity, ...]:
    """Step 9, differentiated; in the order of `structure.joints`."""
    Fd_q, Fd_v, Fd_a, taud_q, taud_v, taud_a = ([ca.SX(3, structure.n) for _ in links] for _ in range(6))
    found: dict[int, ReactionSensitivity] = {}
    for j in reversed(structure.order):
        link, force, change, own = links[j], forces[j], changes[j], _own(structure, j)
        Dx, DxG = link.Dx, link.DxG
        Fp_q = Fd_q[j] + change.FG_q  # 3.75
        Fp_v = Fd_v[j] + change.FG_v
        Fp_a = Fd_a[j] + change.FG_a
        taup_q = taud_q[j] + change.tauG_q - cross(Fd_q[j], Dx) - cross(change.FG_q, DxG)  # 3.83
        taup_q -= own(cross(force.Fd + link.FG, link.slide))  # 3.83*, i = j of a prismatic joint
        taup_v = taud_v[j] + change.tauG_v - cross(Fd_v[j], Dx) - cross(change.FG_v, DxG)
        taup_a = taud_a[j] + change.tauG_a - cross(Fd_a[j], Dx) - cross(change.FG_a, DxG)
        for load in loads_on(around, structure.joints[j]):  # 3.79*, 3.87*, 3.91*: not of v and a
            F, F_q = _in_link_axes(structure, links, j, load.force)  # 3.63, 3.77
            _, moment_q = _in_link_axes(structure, links, j, load.moment)  # 3.89
            arm = constant(load.at) + Dx
            Fp_q -= F_q
            taup_q -= cross(arm, F_q) + own(cross(link.slide, F)) + moment_q  # 3.85*
        found[j] = ReactionSensitivity(Fp_q, Fp_v, Fp_a, taup_q, taup_v, taup_a)
        before = structure.parents[j]
        if before >= 0:
            R, b = link.R, link.b
            F_q = R @ (Fp_q + own(cross(link.turn, force.Fp)))
            F_v, F_a = R @ Fp_v, R @ Fp_a
            Fd_q[before] += F_q  # 3.73
            Fd_v[before] += F_v
            Fd_a[before] += F_a
            taud_q[before] += R @ (taup_q + own(cross(link.turn, force.taup))) + cross(b, F_q)  # 3.81
            taud_v[before] += R @ taup_v + cross(b, F_v)
            taud_a[before] += R @ taup_a + cross(b, F_a)
    return tuple(found[j] for j in range(len(links)))


def _in_link_axes(structure: Structure, links: Sequence[Link], j: int, X: Expression) -> tuple[Expression, Expression]:
    """0R_j^T X of a vector X in world axes, and its derivative (3, n) with respect to q (3.62, 3.63)."""
    X_q = ca.SX(3, structure.n)
    for i in path_to(structure, j):
        X = links[i].R.T @ X
        X_q = links[i].R.T @ X_q + _own(structure, i)(cross(X, links[i].turn))
    return X, X_q


def torque_sensitivities(structure: Structure, links: Sequence[Link], rates: Sequence[ReactionSensitivity]) -> Three:
    """The derivatives (n, n) of tau with respect to q, v, a (3.93, 3.95); R_{j,j}^T e_z is zero."""
    rows: list[Three] = []
    inertia = []
    for joint, link, rate in zip(structure.joints, links, rates, strict=True):
        if joint.moves:
            turn, slide = link.turn.T, link.slide.T
            rows.append(
                (
                    turn @ rate.taup_q + slide @ rate.Fp_q,
                    turn @ rate.taup_v + slide @ rate.Fp_v,
                    turn @ rate.taup_a + slide @ rate.Fp_a,
                )
            )
            inertia.append(joint.actuator_inertia)
    tau_q, tau_v, tau_a = (ca.vertcat(*rows_of) for rows_of in zip(*rows, strict=True))
    return tau_q, tau_v, tau_a + ca.diag(constant(inertia))


def load_sensitivities(
    structure: Structure, links: Sequence[Link], forces: Sequence[Reaction], rates: Sequence[ReactionSensitivity]
) -> Three:
    """The derivatives (6 joints, n) of the joint loads with respect to q, v, a."""
    d_q, d_v, d_a = [], [], []
    for j, (joint, link, rate) in enumerate(zip(structure.joints, links, rates, strict=True)):
        # Taken at the proximal end already, or moved by Dx to the frame of the link.
        Dx, grows = (ca.SX(3, 1),) * 2 if is_distal(structure, joint) else (link.Dx, link.slide)
        d_q += [rate.taup_q + cross(rate.Fp_q, Dx) + _own(structure, j)(cross(forces[j].Fp, grows)), rate.Fp_q]
        d_v += [rate.taup_v + cross(rate.Fp_v, Dx), rate.Fp_v]
        d_a += [rate.taup_a + cross(rate.Fp_a, Dx), rate.Fp_a]
    return ca.vertcat(*d_q), ca.vertcat(*d_v), ca.vertcat(*d_a)
