"""Derived equations of motion as SymPy expressions, as text, as LaTeX and as plain data.

Text uses kinecast's letters, so that it can be pasted into a program: q1, v1 (its rate), and of joint number k the
length Lk and offset dk of its DH constants, mass mk, mass centre ckx, ..., moments of inertia Ikxx, ..., actuator
inertia Jk; g is the size of gravity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy

from kinecast.equations.derive import Derived, derived
from kinecast.equations.harmonics import harmonics
from kinecast.equations.waves import Complex, Powers, Wave
from kinecast.mechanism import Structure

NEGLIGIBLE = 1e-13  # beside the largest coefficient of an expression: rounding of twist angles that are not right
DIGITS = 12
LATEX_LINE = 52  # letters, digits and signs in a line: what 345 pt of an article take beside a name and a number
SMALL_DENOMINATOR, LARGEST_DENOMINATOR = 64, 10**9


def derive(structure: Structure, *, symbols: bool = False) -> Equations:
    """Equations of motion in closed form; with `symbols` in letters for lengths, masses, inertias and gravity.

    A body that is a uniform rod along its DH length is then written by its mass and length alone. Example::

        equations = derive(kinecast.load("pendulum"), symbols=True)
        equations.M[0, 0]                     # L1**2*m1/3
        print(equations.text())
    """
    return Equations.of(derived(structure, symbolic=symbols))


@dataclass(frozen=True, eq=False)
class Equations:
    """tau = M a + h + g, SymPy matrices: M (n, n), h (n, 1) of Coriolis and centrifugal terms, g (n, 1) of gravity.

    `q` and `v` are the coordinates and their rates; `constants` has the number behind every letter of the mechanism.
    """

    structure: Structure
    M: sympy.Matrix
    h: sympy.Matrix
    g: sympy.Matrix
    q: tuple[sympy.Symbol, ...]
    v: tuple[sympy.Symbol, ...]
    constants: Mapping[sympy.Symbol, float]

    @classmethod
    def of(cls, found: Derived) -> Equations:
        """The SymPy form of a derivation."""
        n = found.structure.n
        letters = [_symbol(name) for name in found.alphabet.letters]
        q, v = (tuple(_symbol(f"{kind}{k + 1}") for k in range(n)) for kind in "qv")

        def written(wave: Wave) -> sympy.Expr:
            return _written(wave, letters, q)

        M = sympy.Matrix(n, n, lambda i, k: written(found.M[i, k]))
        h, g = (sympy.Matrix([written(wave) for wave in waves]) for waves in (found.h, found.g))
        used = M.free_symbols | h.free_symbols | g.free_symbols
        constants = {_symbol(name): value for name, value in found.alphabet.values.items() if _symbol(name) in used}
        return cls(found.structure, M, h, g, q, v, constants)

    @cached_property
    def entries(self) -> dict[str, sympy.Expr]:
        """Every entry by name (M11, M12, ..., h1, g1); M is symmetric, so only one half of it."""
        n, apart = len(self.q), "_" if len(self.q) > 9 else ""
        found = {f"M{i + 1}{apart}{k + 1}": self.M[i, k] for i in range(n) for k in range(i, n)}
        found |= {f"h{i + 1}": self.h[i] for i in range(n)}
        return found | {f"g{i + 1}": self.g[i] for i in range(n)}

    def text(self) -> str:
        """For people and for programs: one entry a line."""
        joints = self.structure.movable
        what = [f"q{k + 1}  {joint.name} [{'rad' if joint.turns else 'm'}]" for k, joint in enumerate(joints)]
        lines = [f"{self.structure.name}: tau = M(q) a + h(q, v) + g(q), v = dq/dt, a = dv/dt", "", *what, ""]
        lines += [f"{name} = {_text(self._shown(entry))}" for name, entry in self.entries.items()]
        if self.constants:
            lines += ["", *(f"{symbol} = {value:.{DIGITS}g}" for symbol, value in self.constants.items())]
        return "\n".join(lines)

    def latex(self) -> str:
        """For a paper: an `align` environment of AMS-LaTeX."""
        left, right = r"\boldsymbol{\tau}", r"\mathbf{M}(\mathbf{q})\,\ddot{\mathbf{q}} + \mathbf{h} + \mathbf{g}"
        rows = [f"{left} &= {right}"]
        for name, entry in self.entries.items():
            first, *rest = _latex_lines(self._shown(entry))
            rows.append(" \\nonumber \\\\\n".join([f"{_latex_name(name)} &= {first}", *(rf"&\quad {x}" for x in rest)]))
        return "\\begin{align}\n" + " \\\\\n".join(rows) + "\n\\end{align}"

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        joints = self.structure.movable
        return {
            "mechanism": self.structure.name,
            "equation": "tau = M a + h + g",
            "coordinates": [
                {"q": f"q{k + 1}", "v": f"v{k + 1}", "joint": joint.name, "unit": "rad" if joint.turns else "m"}
                for k, joint in enumerate(joints)
            ],
            "constants": {str(symbol): value for symbol, value in self.constants.items()},
            "entries": {name: _text(self._shown(x)) for name, x in self.entries.items()},
            "latex": self.latex(),
        }

    def _shown(self, expression: sympy.Expr) -> sympy.Expr:
        """Numbers as decimals, but for small fractions: all of them beside letters, else those that do not end."""
        numbers = [x for x in expression.atoms(sympy.Rational) if not x.is_Integer]
        kept = [x for x in numbers if x.q <= SMALL_DENOMINATOR and (self.constants or not _ends(x.q))]
        return expression.xreplace({x: _decimal(x) for x in numbers if x not in kept})


# ------------------------------------------------------------------------------------------------------- from waves


def _written(wave: Wave, letters: list[sympy.Symbol], q: tuple[sympy.Symbol, ...]) -> sympy.Expr:
    """A wave as a sum over products of sines and cosines, each times a factored polynomial."""
    total: list[sympy.Expr] = []
    for product, polynomial in harmonics(_felt(wave)).items():
        terms = [
            _rational(value) * sympy.prod(symbol**power for symbol, power in zip(letters, powers, strict=False))
            for powers, value in polynomial.items()
        ]
        functions = [
            getattr(sympy, name)(sum((turn * angle for angle, turn in zip(q, turns, strict=False)), sympy.S.Zero))
            for name, turns in product
        ]
        total.append(_collected(sympy.Add(*terms)) * sympy.prod(functions))
    return sympy.Add(*total)


def _felt(wave: Wave) -> dict[tuple[Powers, Powers], Complex]:
    """The terms that are not rounding of other ones."""
    largest = max((max(map(abs, value)) for value in wave.terms.values()), default=Fraction(0))
    least = largest * Fraction(NEGLIGIBLE)
    found = {}
    for monomial, value in wave.terms.items():
        real, imaginary = (x if abs(x) > least else Fraction(0) for x in value)
        if real or imaginary:
            found[monomial] = (real, imaginary)
    return found


def _collected(polynomial: sympy.Expr) -> sympy.Expr:
    """Factored, as a whole or mass by mass; left as it is where its numbers have too many digits to have factors."""
    if not polynomial.is_Add or any(x.q > LARGEST_DENOMINATOR for x in polynomial.atoms(sympy.Rational)):
        return polynomial
    factored = sympy.factor(polynomial)
    whole = _without_large_numbers(factored)
    if whole != factored or not whole.as_coeff_Mul()[1].is_Add:
        return whole
    masses = sorted((x for x in whole.free_symbols if re.fullmatch(r"m\d+", x.name)), key=str)
    return sympy.collect(sympy.expand(whole), masses, func=sympy.factor)


def _without_large_numbers(product: sympy.Expr) -> sympy.Expr:
    """Decimals that factoring made whole numbers, 1e-6 (6470000 q3 - 2749911), made decimals again."""
    number, factors = product.as_coeff_Mul()
    for factor in sympy.Mul.make_args(factors):
        if factor.is_Add and max(abs(x.as_coeff_Mul()[0]) for x in factor.args) > SMALL_DENOMINATOR:
            return sympy.expand(number * factor) * (factors / factor)
    return product


def _symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, real=True)


def _rational(value: Fraction) -> sympy.Rational:
    return sympy.Rational(value.numerator, value.denominator)


# ---------------------------------------------------------------------------------------------------------- to text


def _decimal(number: sympy.Rational) -> sympy.Number:
    """With up to 12 digits."""
    return sympy.Float(str(float(f"{float(number):.{DIGITS}g}")), DIGITS)


def _ends(denominator: int) -> bool:
    """Whether a fraction with this denominator is a decimal that ends."""
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1


def _text(expression: sympy.Expr) -> str:
    return str(sympy.sstr(expression, full_prec=False))


def _latex(expression: sympy.Expr) -> str:
    names = {symbol: _latex_name(symbol.name) for symbol in expression.free_symbols}
    return str(sympy.latex(expression, symbol_names=names, full_prec=False))


def _latex_lines(expression: sympy.Expr) -> list[str]:
    """A sum broken before its signs into lines that fit a page; a product too wide for one is multiplied out."""
    pieces: list[str] = []
    for term in expression.as_ordered_terms():
        whole = _latex(term)
        parts = [whole] if _width(whole) <= LATEX_LINE else map(_latex, sympy.expand_mul(term).as_ordered_terms())
        pieces += parts
    lines: list[str] = []
    width = 0
    for text in pieces:
        signed = text if text.startswith("-") or not lines else f"+ {text}"
        if lines and width + _width(text) <= LATEX_LINE:
            lines[-1] += f" {signed}"
            width += _width(text)
        else:
            lines.append(signed)
            width = _width(text)
    return lines


def _width(latex: str) -> int:
    """Letters, digits and signs."""
    return len(re.sub(r"\\(left|right|dot|frac)|\\|[{}_^ ]", "", latex))


def _latex_name(name: str) -> str:
    parts = re.fullmatch(r"([A-Za-z]+?)_?([0-9][0-9a-z_]*|[xyz])?", name)
    letter, index = (name, "") if parts is None else (parts[1], (parts[2] or "").replace("_", ","))
    if letter == "v":
        return rf"\dot{{q}}_{{{index}}}"
    return f"{letter}_{{{index}}}" if index else letter
