"""Where everything is and how it moves: poses, velocities, Jacobians of places; centre of mass, energies.

All results have world axes (those of the ground frame) and count every body, those fixed to the ground too. Velocities
and accelerations are pairs (angular; linear) of a place: angular velocity [rad/s] and velocity of the point [m/s],
their rates [rad/s2, m/s2] with gravity left out of it. A moving ground adds its own motion. Cost: linear in the joints
between the ground and the place, or in all joints.

Example::

    T = pose(tree, tree.place("tip"), q)                  # (4, 4), world <- the point's body axes
    J = jacobian(tree, tree.place("tip"), q)              # (6, n): velocity = J v on a ground at rest
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import cross
from kinecast.dynamics.spatial.frames import link_poses
from kinecast.dynamics.surroundings import Expression, Surroundings, constant
from kinecast.dynamics.tree import Place, Tree, pseudo_inertia


@dataclass(frozen=True, eq=False)
class Frame:
    """A link in the world: rotation, place of the origin, and the motions (angular; linear) of both."""

    R: Expression
    r: Expression
    w: Expression
    u: Expression
    wd: Expression
    ud: Expression


def frames(
    tree: Tree, q: Expression, v: Expression, a: Expression, around: Surroundings, links: list[int] | None = None
) -> dict[int, Frame]:
    """The world motion of some links (all of them) and of the ground, which is -1."""
    V, A = around.base_velocity, around.base_acceleration
    found = {-1: Frame(constant(np.eye(3)), ca.SX(3, 1), V[:3], V[3:], A[:3], A[3:])}
    poses = link_poses(tree, q)
    for k in range(len(tree.links)) if links is None else links:
        link, pose, parent = tree.links[k], poses[k], found[tree.links[k].parent]
        d = parent.R @ pose.translation
        swing = cross(parent.w, d)
        R = ca.vertcat(*(pose.to_child(parent.R[row, :].T).T for row in range(3)))
        w, wd = parent.w, parent.wd
        u, ud = parent.u + swing, parent.ud + cross(parent.wd, d) + cross(parent.w, swing)
        if link.kind != "fixed":
            e, vj, aj = R[:, 2], v[link.coordinate], a[link.coordinate]
            moved = e * vj
            if link.kind == "revolute":
                wd = wd + e * aj + cross(w, moved)
                w = w + moved
            else:
                u, ud = u + moved, ud + e * aj + 2 * cross(w, moved)
        found[k] = Frame(R, parent.r + d, w, u, wd, ud)
    return found


def _at(
    tree: Tree, place: Place, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> tuple[Frame, Expression]:
    """The frame that carries a place, and the way from its origin to the place, in world axes."""
    chain = [] if place.link < 0 else [*reversed(tree.ancestors(place.link)), place.link]
    frame = frames(tree, q, v, a, around, chain)[place.link]
    return frame, frame.R @ constant(place.pose[:3, 3])


def pose(tree: Tree, place: Place, q: Expression) -> Expression:
    """(4, 4): takes coordinates in the place's axes to the world's."""
    still = ca.SX(tree.n, 1)
    frame, arm = _at(tree, place, q, still, still, _STILL)
    top = ca.horzcat(frame.R @ constant(place.pose[:3, :3]), frame.r + arm)
    return ca.vertcat(top, constant(np.array([[0.0, 0.0, 0.0, 1.0]])))


def velocity(tree: Tree, place: Place, q: Expression, v: Expression, around: Surroundings) -> Expression:
    """(6, 1): angular velocity, velocity of the place."""
    frame, arm = _at(tree, place, q, v, ca.SX(tree.n, 1), around)
    return ca.vertcat(frame.w, frame.u + cross(frame.w, arm))


def acceleration(
    tree: Tree, place: Place, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> Expression:
    """(6, 1): angular acceleration, acceleration of the place."""
    frame, arm = _at(tree, place, q, v, a, around)
    return ca.vertcat(frame.wd, frame.ud + cross(frame.wd, arm) + cross(frame.w, cross(frame.w, arm)))


def jacobian(tree: Tree, place: Place, q: Expression) -> Expression:
    """(6, n): velocity of the place by the joints' velocities."""
    still = ca.SX(tree.n, 1)
    chain = [] if place.link < 0 else [*reversed(tree.ancestors(place.link)), place.link]
    world = frames(tree, q, still, still, _STILL, chain)
    at = world[place.link].r + world[place.link].R @ constant(place.pose[:3, 3])
    J = ca.SX(6, tree.n)
    for k in chain:
        link, e = tree.links[k], world[k].R[:, 2]
        if link.kind == "revolute":
            J[:, link.coordinate] = ca.vertcat(e, cross(e, at - world[k].r))
        elif link.kind == "prismatic":
            J[3:, link.coordinate] = e
    return J


def center_of_mass(tree: Tree, q: Expression) -> Expression:
    """(3, 1) [m]. The mass must not be zero."""
    still = ca.SX(tree.n, 1)
    world = frames(tree, q, still, still, _STILL)
    return _first_moment(tree, world) / tree.structure.mass


def potential_energy(tree: Tree, q: Expression, around: Surroundings) -> Expression:
    """(1, 1) [J]: of gravity, zero where all mass is at the world's origin."""
    still = ca.SX(tree.n, 1)
    return -ca.dot(around.gravity, _first_moment(tree, frames(tree, q, still, still, _STILL)))


def _first_moment(tree: Tree, world: dict[int, Frame]) -> Expression:
    total = ca.SX(3, 1)
    for k, P in _bodies(tree):
        total += P[3, 3] * world[k].r + world[k].R @ constant(P[:3, 3])
    return total


def _bodies(tree: Tree) -> list[tuple[int, np.ndarray]]:
    """(link, pseudo-inertia) of all that has mass; -1 is what is fixed to the ground."""
    held = np.zeros((4, 4))
    for joint in tree.structure.joints:
        place = tree.bodies[joint.name]
        if place.link < 0:
            held += place.pose @ pseudo_inertia(joint.mass, joint.com, joint.inertia) @ place.pose.T
    return [
        (k, P) for k, P in ((-1, held), *((k, link.pseudo_inertia) for k, link in enumerate(tree.links))) if P.any()
    ]


def momentum(tree: Tree, q: Expression, v: Expression, around: Surroundings) -> Expression:
    """(6, 1): angular momentum about the world's origin [kg m2/s], momentum [kg m/s]."""
    world = frames(tree, q, v, ca.SX(tree.n, 1), around)
    angular, linear = ca.SX(3, 1), ca.SX(3, 1)
    for k, P in _bodies(tree):
        frame, h = world[k], world[k].R @ constant(P[:3, 3])
        p = P[3, 3] * frame.u + cross(frame.w, h)
        spin = frame.R @ (constant(_inertia(P)) @ (frame.R.T @ frame.w))
        angular += spin + cross(h, frame.u) + cross(frame.r, p)
        linear += p
    return ca.vertcat(angular, linear)


def kinetic_energy(tree: Tree, q: Expression, v: Expression, around: Surroundings) -> Expression:
    """(1, 1) [J], of the bodies and of the drives' rotors."""
    world = frames(tree, q, v, ca.SX(tree.n, 1), around)
    twice = ca.SX(1, 1)
    for k, P in _bodies(tree):
        w, u = (world[k].R.T @ x for x in (world[k].w, world[k].u))
        twice += (
            ca.dot(w, constant(_inertia(P)) @ w) + P[3, 3] * ca.dot(u, u) + 2 * ca.dot(u, cross(w, constant(P[:3, 3])))
        )
    for link in tree.links:
        if link.actuator_inertia:
            twice += link.actuator_inertia * v[link.coordinate] ** 2
    return 0.5 * twice


def _inertia(pseudo_inertia: np.ndarray) -> np.ndarray:
    """(3, 3) about the origin."""
    sigma = pseudo_inertia[:3, :3]
    return np.asarray(np.trace(sigma) * np.eye(3) - sigma)


_STILL = Surroundings(ca.SX(3, 1), ca.SX(6, 1), ca.SX(6, 1))
