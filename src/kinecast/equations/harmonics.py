"""A wave as a sum of sines and cosines, of as few as there can be.

Where angles add up in all ways, as about axes that are not parallel, sums of sines become products again:
sin(a + b) + sin(a - b) = 2 sin(a) cos(b). About parallel axes nothing of the kind happens, and cos(q1 + q2) stays.

Example::

    harmonics(sine(0) * cosine(1))     # {(("cos", (0, 1)), ("sin", (1,))): {(): 1}}
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

from kinecast.equations.waves import Complex, Monomial, Powers

Factor = tuple[str, Powers]  # "sin" or "cos", and the multiples of the angles
Product = tuple[Factor, ...]  # in alphabetical order
Harmonics = dict[Product, dict[Powers, Fraction]]


def harmonics(terms: Mapping[Monomial, Complex]) -> Harmonics:
    """The polynomial in the letters (coefficients by powers) that every product of sines and cosines is multiplied by.

    `terms` are those of a real wave: with every one its conjugate.
    """
    by_powers: dict[Powers, dict[Product, Fraction]] = {}
    for (powers, turns), (real, imaginary) in terms.items():
        # A term and its conjugate: c e^{i x} + c* e^{-i x} = 2 Re c cos x - 2 Im c sin x. One of the two is enough.
        first = next((turn for turn in turns if turn), 0)
        if first < 0:
            continue
        mine = by_powers.setdefault(powers, {})
        if not first:
            mine[()] = real
        for name, value in (("cos", 2 * real), ("sin", -2 * imaginary)):
            if first and value:
                mine[((name, turns),)] = value
    found: Harmonics = {}
    for powers, mine in by_powers.items():
        for product, value in _joined(mine).items():
            found.setdefault(product, {})[powers] = value
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def _joined(terms: dict[Product, Fraction]) -> dict[Product, Fraction]:
    """With pairs of terms that are one product made that product, until there are no more."""
    while True:
        for one, other in combinations(terms, 2):
            pair = _pair(one, terms[one], other, terms[other])
            if pair is not None:
                product, value = pair
                terms = {key: x for key, x in terms.items() if key not in (one, other)}
                terms[product] = terms.get(product, Fraction(0)) + value
                break
        else:
            return terms


def _pair(one: Product, a: Fraction, other: Product, b: Fraction) -> tuple[Product, Fraction] | None:
    """A sum a ... f(x + y) + b ... f(x - y) as one product, f the sine or the cosine; None if it is no such sum."""
    mine, theirs = [f for f in one if f not in other], [f for f in other if f not in one]
    if abs(a) != abs(b) or len(one) != len(other) or len(mine) != 1 or len(theirs) != 1:
        return None
    (name, plus), (their_name, minus) = mine[0], theirs[0]
    if name != their_name or len(plus) != len(minus) or any(abs(i) != abs(k) for i, k in zip(plus, minus, strict=True)):
        return None
    x = tuple(i if i == k else 0 for i, k in zip(plus, minus, strict=True))
    y = tuple(i if i != k else 0 for i, k in zip(plus, minus, strict=True))
    first, second = {
        ("cos", True): ("cos", "cos"),
        ("cos", False): ("sin", "sin"),
        ("sin", True): ("sin", "cos"),
        ("sin", False): ("cos", "sin"),
    }[name, a == b]
    value = -2 * a if (first, second) == ("sin", "sin") else 2 * a
    kept = [f for f in one if f in other]
    for function, turns in ((first, x), (second, y)):
        factor, sign = _upright(function, turns)
        kept.append(factor)
        value *= sign
    return tuple(sorted(kept)), value


def _upright(name: str, turns: Powers) -> tuple[Factor, int]:
    """The function with an angle that starts with a plus, and the sign that comes out."""
    while turns and not turns[-1]:
        turns = turns[:-1]
    if next(turn for turn in turns if turn) > 0:
        return (name, turns), 1
    return (name, tuple(-turn for turn in turns)), -1 if name == "sin" else 1


def _order(product: Product) -> tuple[int, list[Powers], Product]:
    """Simple angles first, in the order of the joints."""
    size = sum(sum(map(abs, turns)) for _, turns in product)
    return size, [tuple(-turn for turn in turns) for _, turns in product], product
