"""One line of `kinecast verify`: a published or independent value, what kinecast computes, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

# "corrected": the print is wrong, its correction agrees. "below": not more operations than published.
Verdict = Literal["agrees", "corrected", "below", "skipped", "FAILS"]

# Two ways to evaluate some dozen to some thousand operations in double precision differ by 1e-15 to 1e-12.
CLOSED_FORM = 1e-12
# The same with mass matrices solved or inverted, of condition up to some thousand.
SOLVED = 1e-10


@dataclass(frozen=True)
class Check:
    """A comparison. `reference` and `computed` are the numbers that differ most, or several that belong together.

    `difference` is that of all numbers compared, relative to the largest of them (of counts: the excess, negative
    when below); the check fails when it exceeds `tolerance` or is not a number.
    """

    document: str
    item: str
    reference: tuple[float, ...]
    computed: tuple[float, ...]
    difference: float
    tolerance: float
    verdict: Verdict
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether the numbers do not agree."""
        return self.verdict == "FAILS"


def agree(
    document: str,
    item: str,
    reference: ArrayLike,
    computed: ArrayLike,
    tolerance: float = CLOSED_FORM,
    *,
    note: str = "",
    misprint: str = "",
) -> Check:
    """The check that two arrays of one shape agree. `misprint` says what is printed where `reference` is corrected."""
    expected, found = np.asarray(reference, dtype=float), np.asarray(computed, dtype=float)
    if expected.shape != found.shape or not expected.size:
        raise ValueError(f"{item}: shapes {expected.shape} and {found.shape} cannot be compared")
    apart = np.abs(found - expected)
    worst = np.unravel_index(int(np.argmax(apart)), apart.shape)  # the first NaN, if there is one
    difference = float(apart[worst]) / (float(np.abs(expected).max()) or 1.0)
    passed: Verdict = "corrected" if misprint else "agrees"
    return Check(
        document,
        item,
        (float(expected[worst]),),
        (float(found[worst]),),
        difference,
        tolerance,
        passed if difference <= tolerance else "FAILS",
        "; ".join(filter(None, (misprint, note))),
    )


def all_agree(
    document: str,
    item: str,
    reference: ArrayLike,
    computed: Mapping[str, ArrayLike],
    tolerance: float = CLOSED_FORM,
    *,
    note: str = "",
) -> Check:
    """The check that several methods (name -> array) give the reference; the line shows the one furthest from it."""
    checks = {name: agree(document, item, reference, array, tolerance) for name, array in computed.items()}
    name = max(checks, key=lambda key: _rank(checks[key]))
    worst = checks[name]
    return agree(
        document,
        item,
        reference,
        computed[name],
        tolerance,
        note="; ".join(
            filter(None, (f"{', '.join(computed)}" + (f"; furthest: {name}" if worst.failed else ""), note))
        ),
    )


def _rank(check: Check) -> float:
    return np.inf if np.isnan(check.difference) else check.difference


def at_most(
    document: str,
    item: str,
    published: Sequence[float],
    counted: Sequence[float],
    *,
    note: str = "",
    misprint: str = "",
) -> Check:
    """The check that no count (multiplications with divisions, additions) exceeds the published one."""
    excess = max((ours - theirs) / theirs for ours, theirs in zip(counted, published, strict=True))
    return Check(
        document,
        item,
        tuple(float(x) for x in published),
        tuple(float(x) for x in counted),
        excess,
        0.0,
        "below" if excess <= 0.0 else "FAILS",
        "; ".join(filter(None, (misprint, note))),
    )


def skipped(document: str, item: str, why: str) -> Check:
    """A check that cannot be made here."""
    return Check(document, item, (), (), float("nan"), 0.0, "skipped", why)


def summary(checks: Iterable[Check]) -> dict[str, int]:
    """How many checks ended with each verdict, in the order of their first appearance."""
    found: dict[str, int] = {}
    for check in checks:
        found[check.verdict] = found.get(check.verdict, 0) + 1
    return found
