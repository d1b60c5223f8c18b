"""Exact arithmetic of what equations of motion are made of: polynomials in letters times sines and cosines of angles.

A `Wave` is a sum of terms c x^i y^j ... e^{i (k q1 + l q2 + ...)} with rational c: with complex exponentials a product
of sines is a product of powers, and two equal expressions are the same dictionary. So nothing needs to be simplified
afterwards: cos^2 + sin^2 is 1 as soon as it is written down, and products of sines become sines of sums, which is how
textbooks write the equations of arms whose axes are parallel.

Example::

    q, v = angle(0), letter(0)
    (cosine(q) * cosine(q) + sine(q) * sine(q)).terms     # {((), ()): (1, 0)}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from kinecast.errors import NotSupportedError

# Powers of the letters, and multiples of the angles, both without trailing zeros.
Powers = tuple[int, ...]
Monomial = tuple[Powers, Powers]
Complex = tuple[Fraction, Fraction]
Number = int | Fraction

ONE: Monomial = ((), ())
# Products of terms in one multiplication; three turning joints in space, all letters, take a tenth of it.
LARGEST = 400_000


class TooLarge(NotSupportedError):
    """More terms than anyone would read."""


@dataclass(frozen=True, eq=False)
class Wave:
    """Coefficient (real, imaginary) of every monomial."""

    terms: Mapping[Monomial, Complex]

    def __add__(self, other: Wave | Number) -> Wave:
        total = dict(self.terms)
        for monomial, (a, b) in _wave(other).terms.items():
            c, d = total.get(monomial, (0, 0))
            if a + c or b + d:
                total[monomial] = (Fraction(a + c), Fraction(b + d))
            else:
                del total[monomial]
        return Wave(total)

    def __mul__(self, other: Wave | Number) -> Wave:
        theirs = _wave(other).terms
        if len(self.terms) * len(theirs) > LARGEST:
            raise TooLarge
        total: dict[Monomial, Complex] = {}
        for (powers, turns), (a, b) in self.terms.items():
            for (more, further), (c, d) in theirs.items():
                monomial = (_sum(powers, more), _sum(turns, further))
                e, f = total.get(monomial, (0, 0))
                total[monomial] = (e + a * c - b * d, f + a * d + b * c)
        return Wave({monomial: value for monomial, value in total.items() if any(value)})

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Wave:
        return Wave({monomial: (-a, -b) for monomial, (a, b) in self.terms.items()})

    def __sub__(self, other: Wave | Number) -> Wave:
        return self + -_wave(other)

    def __rsub__(self, other: Wave | Number) -> Wave:
        return _wave(other) - self

    def by_angle(self, k: int) -> Wave:
        """The derivative by angle k."""
        terms = ((monomial, value, _at(monomial[1], k)) for monomial, value in self.terms.items())
        return Wave({monomial: (-turns * b, turns * a) for monomial, (a, b), turns in terms if turns})

    def by_letter(self, k: int) -> Wave:
        """The derivative by letter k."""
        found: dict[Monomial, Complex] = {}
        for (powers, turns), (a, b) in self.terms.items():
            if power := _at(powers, k):
                found[_sum(powers, _unit(k, -1)), turns] = (power * a, power * b)
        return Wave(found)


def constant(value: Number) -> Wave:
    """A number."""
    return Wave({ONE: (Fraction(value), Fraction(0))} if value else {})


def letter(k: int) -> Wave:
    """The letter number k."""
    return Wave({(_unit(k, 1), ()): (Fraction(1), Fraction(0))})


def cosine(k: int) -> Wave:
    """The cosine of angle k."""
    half = (Fraction(1, 2), Fraction(0))
    return Wave({((), _unit(k, 1)): half, ((), _unit(k, -1)): half})


def sine(k: int) -> Wave:
    """The sine of angle k."""
    half = Fraction(1, 2)
    return Wave({((), _unit(k, 1)): (Fraction(0), -half), ((), _unit(k, -1)): (Fraction(0), half)})


def _wave(value: Wave | Number) -> Wave:
    return value if isinstance(value, Wave) else constant(value)


def _unit(k: int, value: int) -> Powers:
    return (0,) * k + (value,)


def _at(powers: Powers, k: int) -> int:
    return powers[k] if k < len(powers) else 0


def _sum(one: Powers, other: Powers) -> Powers:
    if not other:
        return one
    if len(one) < len(other):
        one, other = other, one
    total = [*(a + b for a, b in zip(one, other, strict=False)), *one[len(other) :]]
    while total and not total[-1]:
        total.pop()
    return tuple(total)
