"""Operation counts that others published, for comparison with those the engine measures.

All are for a fixed-base serial chain of n revolute joints of general geometry. Most are as a book chapter on robot
dynamics collects them (S. K. Saha, Introduction to Robotics, chapter 9: table 9.1, inverse dynamics; table 9.6, forward
dynamics), which counts divisions as multiplications, subtractions as additions, and no sines and cosines. The rows of
table 9.6 take the bias torques as given; the last row of all, from its author's own paper, counts from the torques.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Polynomial = tuple[Fraction | int, ...]  # coefficients of n^0, n^1, ...


@dataclass(frozen=True)
class PublishedCount:
    """Multiplications and additions of one published algorithm as polynomials in the number of joints n."""

    source: str
    multiplications: Polynomial
    additions: Polynomial

    def at(self, n: int) -> tuple[int, int]:
        """Multiplications and additions for `n` joints, rounded to whole operations."""
        return round(_value(self.multiplications, n)), round(_value(self.additions, n))

    def formula(self) -> tuple[str, str]:
        """Both polynomials as text."""
        return _text(self.multiplications), _text(self.additions)


INVERSE_DYNAMICS = (
    PublishedCount("Hollerbach (1980)", (-277, 412), (-201, 320)),
    PublishedCount("Luh et al. (1980)", (-48, 150), (48, 131)),
    PublishedCount("Walker and Orin (1982)", (-22, 137), (-11, 101)),
    PublishedCount("RIDIM, Saha (1999)", (-44, 120), (-55, 97)),
    PublishedCount("Khalil et al. (1986)", (-92, 105), (-86, 94)),
    PublishedCount("Angeles et al. (1989)", (-109, 105), (-105, 90)),
    PublishedCount("Balafoutis et al. (1991)", (-69, 93), (-65, 81)),
    PublishedCount("ReDySim, Shah et al. (2013)", (-81, 94), (-75, 82)),
)

FORWARD_DYNAMICS = (
    PublishedCount(
        "Walker and Orin (1982)",
        (-47, Fraction(115, 3), Fraction(23, 2), Fraction(1, 6)),
        # The table prints 233n/3, which gives its own entry at n = 7 (898) but neither that at n = 6 (480) nor that at
        # n = 10 (1209); 233n/6 gives 1209 at n = 10: the printed row is inconsistent whichever is meant.
        (-46, Fraction(233, 3), 7, Fraction(1, 6)),
    ),
    PublishedCount("Brandl et al. (1988)", (-222, 250), (-198, 220)),
    PublishedCount("Stejskal and Valasek (1996)", (-343, 226), (-345, 206)),
    PublishedCount("Featherstone (1983)", (-198, 199), (-173, 174)),
    PublishedCount("Saha (2003)", (-284, 191), (-325, 187)),
    PublishedCount("ReDySim, Shah et al. (2013)", (-116, 135), (-123, 131)),
)

# M. G. Nasser, NASA N90-29862, section 3.3: velocity terms and gravity included.
NASSER = PublishedCount("Nasser (1989)", (-119, 258), (-83, 191))

BY_ALGORITHM = {"inverse_dynamics": INVERSE_DYNAMICS, "forward_dynamics": (*FORWARD_DYNAMICS, NASSER)}


def _value(polynomial: Polynomial, n: int) -> Fraction:
    return sum((Fraction(c) * n**power for power, c in enumerate(polynomial)), start=Fraction(0))


def _text(polynomial: Polynomial) -> str:
    terms = [_term(Fraction(c), power) for power, c in reversed(list(enumerate(polynomial))) if c]
    return " ".join(terms).removeprefix("+ ")


def _term(coefficient: Fraction, power: int) -> str:
    variable = ("", "n", "n²", "n³")[power]
    size = abs(coefficient)
    number = "" if size.numerator == 1 and power else str(size.numerator)
    over = f"/{size.denominator}" if size.denominator != 1 else ""
    return f"{'-' if coefficient < 0 else '+'} {number}{variable}{over}"
