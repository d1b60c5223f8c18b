"""Equations of motion of small mechanisms in closed form, by the natural orthogonal complement.

As S. K. Saha, Introduction to Robotics, chapter 9, derives the one-link arm in example 9.2, with his equation numbers:
the twists of the mass centres are t = N v (9.6), so the equations of Newton and Euler, premultiplied by N^T, are

    tau = I a + h - N^T w,    I = N^T M N (9.11a),    h = N^T (M N' + W M N) v (9.16a, 9.17)

with w the weights. Exact arithmetic (`waves`) in place of a computer algebra system's rules of thumb; it shares no
line with the recursions, which are checked against it.

Example::

    found = derived(kinecast.load("planar2"))
    found.M[0, 1].terms      # {((), ()): 3/25, ((), (0, 1)): 1/50, ((), (0, -1)): 1/50}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from kinecast.equations.waves import TooLarge, Wave, constant, cosine, letter, sine
from kinecast.errors import NotSupportedError
from kinecast.mechanism import Joint, Structure
from kinecast.mechanism.checks import Array

Waves = Any  # arrays of Wave, of NumPy's type object
RIGHT_ANGLE = 1e-11  # cosines this close to 0 or 1 are meant to be
LARGEST = 2000  # terms in all: more would fill many pages
SIMPLE = 1000  # a number that is a fraction with a smaller denominator to the last bit is taken as that fraction
ROD = 1e-12  # relative difference from m L^2 / 12 that is rounding


@dataclass(eq=False)
class Alphabet:
    """What the letters of the waves stand for, and the numbers behind the constants."""

    letters: list[str] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    symbolic: bool = False

    def letter(self, name: str) -> Wave:
        """The letter of this name."""
        if name not in self.letters:
            self.letters.append(name)
        return letter(self.letters.index(name))

    def constant(self, name: str, value: float) -> Wave:
        """A constant of the mechanism: its number, or the letter for it unless it is zero."""
        if not self.symbolic or value == 0.0:
            return constant(rational(value))
        self.values[name] = value
        return self.letter(name)


@dataclass(frozen=True, eq=False)
class Derived:
    """tau = M a + h + g as waves: M (n, n), h (n,) of the velocities, g (n,) of gravity."""

    structure: Structure
    alphabet: Alphabet
    M: Waves
    h: Waves
    g: Waves


def derived(structure: Structure, *, symbolic: bool = False) -> Derived:
    """The equations of motion; with `symbolic` lengths, masses, moments of inertia and gravity are letters."""
    structure.require_open("closed-form equations")
    try:
        return _derived(structure, Alphabet(symbolic=symbolic))
    except TooLarge:
        raise NotSupportedError(
            f"the equations of motion of {structure.name!r} ({structure.n} coordinates) have more than {LARGEST} terms "
            f"{'in letters' if symbolic else 'in closed form'}; that is for small mechanisms, such as three joints in "
            "space or six in a plane. For numbers use inverse_dynamics and mass_matrix, which have no such bound"
        ) from None


@dataclass(frozen=True, eq=False)
class _Body:
    """Where a joint's body is: rotation and origin of its frame, its joint's origin and axis, all in world axes."""

    R: Waves
    origin: Waves
    at: Waves
    axis: Waves
    path: tuple[int, ...]  # coordinates of the joints that move it


def _derived(structure: Structure, alphabet: Alphabet) -> Derived:
    coordinate = {joint.name: k for k, joint in enumerate(structure.movable)}
    n = structure.n
    v = np.array([alphabet.letter(f"v{k + 1}") for k in range(n)])
    bodies: dict[str | None, _Body] = {None: _Body(_numbers(np.eye(3)), *(_numbers(np.zeros(3)),) * 3, ())}
    by_coordinate: dict[int, _Body] = {}
    gravity = _gravity(structure, alphabet)
    M, h, g = _numbers(np.zeros((n, n))), _numbers(np.zeros(n)), _numbers(np.zeros(n))
    for i in structure.order:
        joint = structure.joints[i]
        k = coordinate.get(joint.name)
        body = bodies[joint.name] = _moved(bodies[joint.parent], joint, i, k, structure, alphabet)
        if k is not None:
            by_coordinate[k] = body
            M[k, k] = M[k, k] + alphabet.constant(f"J{i + 1}", joint.actuator_inertia)
        mass, com, inertia = _mass(structure, i, alphabet)
        if not mass.terms and not any(x.terms for x in inertia.ravel()):
            continue
        R = body.R
        centre = body.origin + R @ com
        path = body.path
        turning = [structure.movable[k].turns for k in path]
        spin = [by_coordinate[k].axis * int(turns) for k, turns in zip(path, turning, strict=True)]
        slide = [
            np.cross(by_coordinate[k].axis, centre - by_coordinate[k].at) if turns else by_coordinate[k].axis
            for k, turns in zip(path, turning, strict=True)
        ]  # the columns p of N, (9.4d), (9.5b)

        def rate(x: Waves, path: tuple[int, ...] = path, turning: list[bool] = turning) -> Waves:
            """In time."""
            total = _numbers(np.zeros(len(x)))
            for k, turns in zip(path, turning, strict=True):
                slope = [y.by_angle(k) if turns else y.by_letter(alphabet.letters.index(f"q{k + 1}")) for y in x]
                total = total + np.array(slope) * v[k]
            return total

        spin_in_body = [R.T @ e for e in spin]  # where the inertia is constant
        moved = [inertia @ e for e in spin_in_body]
        omega = sum((e * v[k] for e, k in zip(spin_in_body, path, strict=True)), _numbers(np.zeros(3)))
        change = sum((R.T @ rate(e) * v[k] for e, k in zip(spin, path, strict=True)), _numbers(np.zeros(3)))
        curved = sum((rate(e) * v[k] for e, k in zip(slide, path, strict=True)), _numbers(np.zeros(3)))
        gyroscopic = inertia @ change + np.cross(omega, inertia @ omega)  # (M N' + W M N) v, its moment
        for a, k in enumerate(path):
            h[k] = h[k] + spin_in_body[a] @ gyroscopic + mass * (slide[a] @ curved)
            g[k] = g[k] - mass * (slide[a] @ gravity)
            for b, other in enumerate(path[: a + 1]):
                entry = spin_in_body[b] @ moved[a] + mass * (slide[a] @ slide[b])
                M[k, other] = M[k, other] + entry
                M[other, k] = M[k, other]
            if sum(len(x.terms) for x in (*M[np.tril_indices(n)], *h, *g)) > LARGEST:
                raise TooLarge
    return Derived(structure, alphabet, M, h, g)


def _moved(
    parent: _Body,
    joint: Joint,
    i: int,
    k: int | None,
    structure: Structure,
    alphabet: Alphabet,
) -> _Body:
    """The body of a joint, from that of its parent."""
    before, after = _shifts(structure, joint, i, alphabet)
    at = parent.origin + parent.R @ before
    R = parent.R @ _rotation(joint.before.rotation)
    path = parent.path if k is None else (*parent.path, k)
    axis = R @ _numbers(_snapped(joint.axis))
    if k is not None and joint.turns:
        R = R @ _turn(_snapped(joint.axis), k)
    elif k is not None:
        at = at + axis * alphabet.letter(f"q{k + 1}")
    return _Body(R @ _rotation(joint.after.rotation), at + R @ after, at, axis, path)


def _shifts(structure: Structure, joint: Joint, i: int, alphabet: Alphabet) -> tuple[Waves, Waves]:
    """The translations before and after a joint, by its DH constants where it has them."""
    zero = constant(0)
    if joint.dh is None:
        given = (*joint.before.translation, *joint.after.translation)
        names = (*(f"{axis}{i + 1}" for axis in "xyz"), *(f"{axis}{i + 1}b" for axis in "xyz"))
        shifts = np.array([alphabet.constant(name, float(x)) for name, x in zip(names, given, strict=True)])
        return shifts[:3], shifts[3:]
    length, offset = alphabet.constant(f"L{i + 1}", joint.dh.a), alphabet.constant(f"d{i + 1}", joint.dh.d)
    along_z, along_x = np.array([zero, zero, offset]), np.array([length, zero, zero])
    if structure.convention == "standard":
        return along_z, along_x
    return along_x + _rotation(joint.before.rotation) @ along_z, np.array([zero] * 3)


def _mass(structure: Structure, i: int, alphabet: Alphabet) -> tuple[Wave, Waves, Waves]:
    """Mass, mass centre and inertia; of a uniform rod along its DH length all by m and L."""
    joint, number = structure.joints[i], i + 1
    mass = alphabet.constant(f"m{number}", joint.mass)
    if alphabet.symbolic and is_rod(structure, joint):
        length = alphabet.letter(f"L{number}")
        moment = mass * length * length * Fraction(1, 12)
        zero = constant(0)
        com = np.array([length * Fraction(-1, 2), zero, zero])
        return mass, com, np.array([[zero] * 3, [zero, moment, zero], [zero, zero, moment]])
    com = np.array([alphabet.constant(f"c{number}{axis}", float(x)) for axis, x in zip("xyz", joint.com, strict=True)])
    inertia = np.array([[constant(0)] * 3] * 3)
    for r, s in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        entry = alphabet.constant(f"I{number}{'xyz'[r]}{'xyz'[s]}", float(joint.inertia[r, s]))
        inertia[r, s] = inertia[s, r] = entry
    return mass, com, inertia


def is_rod(structure: Structure, joint: Joint) -> bool:
    """Whether a body is a uniform slender rod along its DH length, from joint to joint."""
    if joint.dh is None or structure.convention != "standard" or not joint.dh.a or not joint.mass:
        return False
    moment = joint.mass * joint.dh.a**2 / 12
    rod = np.diag([0.0, moment, moment])
    middle = np.array([-joint.dh.a / 2, 0.0, 0.0])
    return bool(np.abs(joint.inertia - rod).max() <= ROD * moment and np.abs(joint.com - middle).max() <= ROD)


def _gravity(structure: Structure, alphabet: Alphabet) -> Waves:
    """As a vector; a letter is its size along the one axis that it has, or one component."""
    pulls = structure.gravity
    if np.count_nonzero(pulls) == 1:
        size = alphabet.constant("g", float(np.abs(pulls).max()))
        return np.array([size * int(np.sign(x)) for x in pulls])
    return np.array([alphabet.constant(f"g{axis}", float(x)) for axis, x in zip("xyz", pulls, strict=True)])


def _turn(axis: Array, k: int) -> Waves:
    """Rodrigues' rotation by angle k about a constant axis."""
    x, y, z = axis
    skew = _numbers(np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]))
    along = _numbers(np.outer(axis, axis))
    return along + skew * sine(k) + (_numbers(np.eye(3)) - along) * cosine(k)


def _rotation(matrix: Array) -> Waves:
    return _numbers(_snapped(matrix))


def _snapped(values: Array) -> Array:
    near = np.round(values)
    return np.where(np.abs(values - near) < RIGHT_ANGLE, near, values)


def _numbers(values: Array) -> Waves:
    return np.array([constant(rational(float(x))) for x in np.ravel(values)]).reshape(np.shape(values))


def rational(value: float) -> Fraction:
    """A decimal number as it was typed; a third as a third."""
    simple = Fraction(value).limit_denominator(SIMPLE)
    return simple if float(simple) == value else Fraction(repr(value))
