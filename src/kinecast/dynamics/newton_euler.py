"""Recursive Newton-Euler dynamics in moving coordinates, with the sensitivities of every quantity.

After S. Barman, "Recursive Newton-Euler dynamics and sensitivity analysis for dynamic motion planning", MSc thesis,
Oklahoma State University, 2020, chapters II and III; the numbers beside the lines are its equations. Forward: the
motion of every link, each vector in the axes of its own link (steps 2-8). Backward: the force and moment that each
link needs from the one before (step 9), and of those the part along the joint (step 10). The derivatives with respect
to q, v, a obey the same two recursions; misprints of the thesis are corrected (docs/errata.md lists them).

| symbol here | thesis | what (axes of link j unless said otherwise) | unit |
|---|---|---|---|
| R | R_j | rotation, link j to the link before | 1 |
| turn, slide | R_j^T e_z | axis of a revolute joint (else zero), of a prismatic one (else zero): constants | 1 |
| b | - | from the frame before to this joint's proximal end, axes of the link before | m |
| Dx, DxG | Delta x_j, Delta x_Gj | from the proximal end to the frame of link j, to its centre of mass | m |
| m, I | m_j, I_j | mass, inertia about the centre of mass | kg, kg m2 |
| w, wd | omega_j, omegad_j | angular velocity, angular acceleration | rad/s, rad/s2 |
| x, xd, xdd | x_j, xd_j, xdd_j | position, velocity, acceleration of the frame; xdd less gravity | m, m/s, m/s2 |
| xG, xdG, xddG | x_Gj, xd_Gj, xdd_Gj | the same of the centre of mass | m, m/s, m/s2 |
| w_in, wd_in, ... | j_omega_{j-1}, ... | those of the proximal end before the joint adds its part | |
| Dw, Dxd, DxdG | Delta omega_j, ... | what the joint adds | |
| H | H_j | angular momentum | N m s |
| FG, tauG | F_Gj, tau_Gj | inertial force, inertial torque about the centre of mass | N, N m |
| Fd, taud | F_jd, tau_jd | what this link exerts on the next ones, at its frame | N, N m |
| Fp, taup | F_jp, tau_jp | what the link before exerts on this one, at the proximal end | N, N m |
| X_q, X_v, X_a | X_{,i}, X_{,i'}, X_{,i''} | derivatives of X, (3, n): one column i for every coordinate | |

How a joint maps: the thesis's link has its frame at the distal end and its joint at the proximal end, in the origin of
the frame before; that is a joint with standard DH constants, for which b = 0 and Dx = [a, d sin(alpha), d cos(alpha)].
A joint given otherwise (modified DH; origin and axis) has its proximal end at `before`, fixed to the link before at b,
and Dx is the translation of `after`; a body that several joints hang on has several distal ends. Fixed joints have
turn = slide = 0. Two things are the thesis's by linearity rather than by letter: gravity enters once, as the
acceleration with which the ground is pushed against it, instead of at every link as 0R_j^T g (3.67), and the loads of
(3.76)-(3.91) join the recursion of the inertial forces at their link instead of running beside it.

Signs: gravity is the acceleration vector, loads act on the body; the thesis means minus both.

Cost on a chain of n general revolute joints: inverse dynamics 127 n - 121 multiplications and 99 n - 107 additions;
with its sensitivities about 190 n^2 and 156 n^2 (docs/theory/newton_euler.md has the table).

Example::

    structure = kinecast.load("planar2")
    q, v, a = (casadi.SX.sym(name, structure.n) for name in "qva")
    tau = inverse_dynamics(structure, q, v, a, at_rest(structure))
    torques = casadi.Function("torques", [q, v, a], [tau])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from kinecast.dynamics.algebra import (
    constant,
    coordinate_of,
    cross,
    is_distal,
    joint_rotation_translation,
    loads_on,
    path_to,
)
from kinecast.dynamics.newton_euler_sensitivities import (
    ReactionSensitivity,
    load_sensitivities,
    motion_sensitivities,
    reaction_sensitivities,
    torque_sensitivities,
)
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.mechanism import Joint, Structure


def inverse_dynamics(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> Expression:
    """Joint torques and forces tau (n, 1) [N m, N] that cause the accelerations `a` (3.92, 3.94)."""
    links = motion(structure, q, v, a, around)
    return _torques(structure, links, reactions(structure, links, around), a)


def joint_loads(structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings) -> Expression:
    """Moment and force (6 joints, 1) [m; f] that each parent exerts on its child, child axes, at the joint's origin."""
    links = motion(structure, q, v, a, around)
    return _loads_at_origins(structure, links, reactions(structure, links, around))


def inverse_dynamics_sensitivities(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> tuple[Expression, Expression, Expression, Expression]:
    """(tau, dtau_dq, dtau_dv, dtau_da), the derivatives (n, n) by the thesis's recursions (3.93, 3.95)."""
    links, forces, rates = _all_steps(structure, q, v, a, around)
    return _torques(structure, links, forces, a), *torque_sensitivities(structure, links, rates)


def joint_loads_sensitivities(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> tuple[Expression, Expression, Expression, Expression]:
    """(loads, d_dq, d_dv, d_da): `joint_loads` and its derivatives (6 joints, n)."""
    links, forces, rates = _all_steps(structure, q, v, a, around)
    return _loads_at_origins(structure, links, forces), *load_sensitivities(structure, links, forces, rates)


def _all_steps(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> tuple[tuple[Link, ...], tuple[Reaction, ...], tuple[ReactionSensitivity, ...]]:
    """Steps 2-9 with their sensitivities."""
    links = motion(structure, q, v, a, around)
    forces = reactions(structure, links, around)
    rates = reaction_sensitivities(structure, links, forces, motion_sensitivities(structure, links), around)
    return links, forces, rates


# ------------------------------------------------------------------------------------------------ forward, steps 2-8


@dataclass(frozen=True, eq=False)
class Link:
    """A link, its joint, and its motion; the symbols are those of the module's table."""

    R: Expression
    turn: Expression
    slide: Expression
    b: Expression
    Dx: Expression
    DxG: Expression
    m: Expression
    I: Expression
    x_in: Expression
    w_in: Expression
    wd_in: Expression
    xd_in: Expression
    xdd_in: Expression
    slide_rate: Expression
    Dw: Expression
    w: Expression
    wd: Expression
    x: Expression
    xG: Expression
    Dxd: Expression
    xd: Expression
    DxdG: Expression
    xdG: Expression
    xdd: Expression
    xddG: Expression
    H: Expression
    FG: Expression
    tauG: Expression


def motion(structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings) -> tuple[Link, ...]:
    """Every link's motion and inertial force, in the order of `structure.joints`."""
    structure.require_open("Newton-Euler dynamics")
    links: dict[int, Link] = {}
    for j, k in _coordinates(structure):
        joint = structure.joints[j]
        qj, qd, qdd = (x[k] if k is not None else ca.SX(1, 1) for x in (q, v, a))
        R, turn, slide, b, Dx = _geometry(structure, joint, qj)
        r = constant(joint.com)
        DxG = Dx + r  # 3.2
        x_p, w_p, wd_p, xd_p, xdd_p = _proximal_end(links.get(structure.parents[j]), b, around)

        w_in = R.T @ w_p  # 3.8
        Dw = turn * qd  # 3.5
        w = w_in + Dw  # 3.11

        wd_in = R.T @ wd_p  # 3.14
        wd = wd_in + turn * qdd + cross(w_in, Dw)  # 3.17, 3.20

        x_in = R.T @ x_p  # 3.23
        xd_in = R.T @ xd_p  # 3.32
        xdd_in = R.T @ xdd_p  # 3.47
        Dxd, Dxdd = _arm_motion(w, wd, Dx, slide, qd, qdd)  # 3.35, 3.50
        DxdG, DxddG = _arm_motion(w, wd, DxG, slide, qd, qdd)  # 3.41, 3.56
        xddG = xdd_in + DxddG  # 3.59

        m, I = constant(joint.mass), constant(joint.inertia)
        H = I @ w  # 3.64
        links[j] = Link(
            R=R, turn=turn, slide=slide, b=b, Dx=Dx, DxG=DxG, m=m, I=I,
            x_in=x_in, w_in=w_in, wd_in=wd_in, xd_in=xd_in, xdd_in=xdd_in,
            slide_rate=slide * qd, Dw=Dw, w=w, wd=wd,
            x=x_in + Dx,  # 3.26
            xG=x_in + DxG,  # 3.29
            Dxd=Dxd,
            xd=xd_in + Dxd,  # 3.38
            DxdG=DxdG,
            xdG=xd_in + DxdG,  # 3.44
            xdd=xdd_in + Dxdd,  # 3.53
            xddG=xddG,
            H=H,
            FG=m * xddG,  # 3.67
            tauG=I @ wd + cross(w, H),  # 3.69
        )  # fmt: skip
    return tuple(links[j] for j in range(len(structure.joints)))


def _coordinates(structure: Structure) -> list[tuple[int, int | None]]:
    """(index of a joint, of its coordinate), parents first."""
    coordinates = coordinate_of(structure)
    return [(j, coordinates[j]) for j in structure.order]


def _geometry(
    structure: Structure, joint: Joint, q: Expression
) -> tuple[Expression, Expression, Expression, Expression, Expression]:
    """R, turn, slide, b, Dx of a joint (step 2)."""
    R, _ = joint_rotation_translation(joint, q)
    to_link = joint.after.rotation.T
    e = constant(to_link @ joint.axis)  # R_j^T e_z, step 1 g
    nothing = ca.SX(3, 1)
    turn, slide = (e, nothing) if joint.turns else (nothing, e) if joint.moves else (nothing, nothing)
    start = joint.before.translation
    if is_distal(structure, joint):
        return R, turn, slide, nothing, constant(to_link @ (start + joint.after.translation)) + slide * q
    return R, turn, slide, constant(start), constant(to_link @ joint.after.translation) + slide * q


def _proximal_end(
    parent: Link | None, b: Expression, around: Surroundings
) -> tuple[Expression, Expression, Expression, Expression, Expression]:
    """(x, w, wd, xd, xdd) of the point b of the link before, in its axes; the ground starts it all (step 1 e)."""
    if parent is None:
        x, w, wd = ca.SX(3, 1), around.base_velocity[:3], around.base_acceleration[:3]
        xd, xdd = around.base_velocity[3:], around.base_acceleration[3:] - around.gravity
    else:
        x, w, wd, xd, xdd = parent.x, parent.w, parent.wd, parent.xd, parent.xdd
    xd_of_b, xdd_of_b = _arm_motion(w, wd, b, ca.SX(3, 1), ca.SX(1, 1), ca.SX(1, 1))
    return x + b, w, wd, xd + xd_of_b, xdd + xdd_of_b


def _arm_motion(
    w: Expression, wd: Expression, D: Expression, slide: Expression, qd: Expression, qdd: Expression
) -> tuple[Expression, Expression]:
    """Velocity and acceleration that an arm D adds: (3.35) and (3.50), or for the centre of mass (3.41) and (3.56)."""
    Dd = cross(w, D) + slide * qd
    return Dd, cross(wd, D) + cross(w, Dd + slide * qd) + slide * qdd


# --------------------------------------------------------------------------------------------- backward, steps 9-10


@dataclass(frozen=True, eq=False)
class Reaction:
    """Forces and moments at the two ends of a link."""

    Fd: Expression
    taud: Expression
    Fp: Expression
    taup: Expression


def reactions(structure: Structure, links: Sequence[Link], around: Surroundings) -> tuple[Reaction, ...]:
    """What each link needs from the one before and passes to the next ones, in the order of `structure.joints`."""
    Fd, taud = ([ca.SX(3, 1) for _ in links] for _ in range(2))
    found: dict[int, Reaction] = {}
    for j in reversed(structure.order):
        link = links[j]
        Fp = Fd[j] + link.FG  # 3.74
        taup = taud[j] + link.tauG - cross(Fd[j], link.Dx) - cross(link.FG, link.DxG)  # 3.82
        for load in loads_on(around, structure.joints[j]):
            F, moment = (_in_link_axes(structure, links, j, x) for x in (load.force, load.moment))
            Fp -= F  # 3.78
            taup -= cross(constant(load.at) + link.Dx, F) + moment  # 3.84, 3.86, 3.88, 3.90
        found[j] = Reaction(Fd[j], taud[j], Fp, taup)
        before = structure.parents[j]
        if before >= 0:
            F = link.R @ Fp
            Fd[before] += F  # 3.72
            taud[before] += link.R @ taup + cross(link.b, F)  # 3.80
    return tuple(found[j] for j in range(len(links)))


def _in_link_axes(structure: Structure, links: Sequence[Link], j: int, X: Expression) -> Expression:
    """0R_j^T X of a vector X in world axes, factor by factor (3.62, 3.76, 3.88)."""
    for i in path_to(structure, j):
        X = links[i].R.T @ X
    return X


def _torques(structure: Structure, links: Sequence[Link], forces: Sequence[Reaction], a: Expression) -> Expression:
    """The part of each reaction along its joint (step 10), and what the drive's own inertia needs."""
    tau = ca.SX(structure.n, 1)
    for j, k in _coordinates(structure):
        if k is not None:
            along = links[j].turn.T @ forces[j].taup + links[j].slide.T @ forces[j].Fp  # 3.92, 3.94
            tau[k] = along + structure.joints[j].actuator_inertia * a[k]
    return tau


def _loads_at_origins(structure: Structure, links: Sequence[Link], forces: Sequence[Reaction]) -> Expression:
    """[m; f] of every joint: at the proximal end for standard DH, else moved to the frame of the link."""
    rows = []
    for joint, link, force in zip(structure.joints, links, forces, strict=True):
        moment = force.taup if is_distal(structure, joint) else force.taup + cross(force.Fp, link.Dx)
        rows += [moment, force.Fp]
    return ca.vertcat(*rows)
