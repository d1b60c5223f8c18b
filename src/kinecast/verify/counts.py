"""Operations as the engine counts them beside those that the documents publish, for general chains of turning joints.

Divisions count as multiplications, as the chapter has it; sines and cosines are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca

from kinecast.dynamics import denoc
from kinecast.dynamics.mechanism import Mechanism
from kinecast.engine.program import read
from kinecast.literature import FORWARD_DYNAMICS, INVERSE_DYNAMICS, NASSER, PublishedCount
from kinecast.verify.frame import Check, agree, at_most
from kinecast.verify.samples import symbols

SAHA, NASSER_1989, BARMAN = "Saha ch. 9", "Nasser 1989", "Barman 2020"
SIZES = (6, 7, 10)
CLAIMED = (2, 6, 12)  # docs/theory/counts.md has 30 and 55 as well, which take a minute to count

# The numbers printed in the tables beside their formulas: multiplications, then additions, a pair for every size.
TABLE_9_1 = {
    "Hollerbach (1980)": (2195, 1719),
    "Luh et al. (1980)": (852, 834),
    "Walker and Orin (1982)": (800, 595),
    "RIDIM, Saha (1999)": (676, 527),
    "Khalil et al. (1986)": (538, 478),
    "Angeles et al. (1989)": (521, 435),
    "ReDySim, Shah et al. (2013)": (483, 417),
    "Balafoutis et al. (1991)": (489, 421),
}
TABLE_9_6 = {
    "ReDySim, Shah et al. (2013)": (694, 663, 829, 794, 1234, 1187),
    "Saha (2003)": (862, 797, 1053, 984, 1626, 1545),
    "Featherstone (1983)": (996, 871, 1195, 1045, 1792, 1567),
    "Stejskal and Valasek (1996)": (1013, 891, 1239, 1097, 1917, 1715),
    "Brandl et al. (1988)": (1278, 1122, 1528, 1342, 2278, 2002),
    "Walker and Orin (1982)": (633, 708, 842, 898, 1653, 1597),
}
MISPRINTS = {
    "Featherstone (1983)": "prints 1527 additions at n = 10; right: 1567",
    "Walker and Orin (1982)": "prints 480 and 1209 additions at n = 6 and 10, its formula gives 708 and 1597 (and with "
    "233 n / 6 for 233 n / 3, 475 and 1209)",
}


def checks(folder: Path | None) -> Iterator[Check]:
    """The tables' own arithmetic, then each formulation at or below its published count."""
    yield from _tables()
    yield from _inverse()
    yield from _forward()
    yield from _sensitivities()


def _tables() -> Iterator[Check]:
    for table, published, printed, sizes in (
        ("9.1", INVERSE_DYNAMICS, TABLE_9_1, (6,)),
        ("9.6", FORWARD_DYNAMICS, TABLE_9_6, SIZES),
    ):
        for row in published:
            formula = [number for n in sizes for number in row.at(n)]
            misprint = MISPRINTS.get(row.source, "") if table == "9.6" else ""
            name = f"table {table}, {row.source}: numbers by its formula"
            yield agree(SAHA, name, formula, printed[row.source], 0.0, misprint=misprint)


def _inverse() -> Iterator[Check]:
    """Each formulation beside the row of table 9.1 it belongs to."""
    for method, source in (
        ("denoc", "ReDySim, Shah et al. (2013)"),
        ("newton_euler", "Walker and Orin (1982)"),
        ("lagrange", "Hollerbach (1980)"),
        ("spatial", "ReDySim, Shah et al. (2013)"),
        ("filtering", "Walker and Orin (1982)"),
    ):
        row = _row(INVERSE_DYNAMICS, source)
        note = "the report has no counts" if method == "filtering" else ""
        for n in SIZES:
            name = f"table 9.1, {source}: {method}, n = {n}"
            yield at_most(SAHA, name, row.at(n), _counted("inverse_dynamics", method, n), note=note)


def _forward() -> Iterator[Check]:
    """Table 9.6 takes phi = tau - h as given; from tau, its row and that of table 9.1 count together."""
    given, bias = _row(FORWARD_DYNAMICS, "ReDySim"), _row(INVERSE_DYNAMICS, "ReDySim")
    older = _row(FORWARD_DYNAMICS, "Saha (2003)")
    for n in SIZES:
        both = tuple(x + y for x, y in zip(given.at(n), bias.at(n), strict=True))
        solve = _program(lambda arm: [denoc.solve(arm, *symbols(arm, ("q", "v")))], n)
        yield at_most(SAHA, f"table 9.6, ReDySim: denoc from phi, n = {n}", given.at(n), solve)
        whole, h = _counted("forward_dynamics", "spatial", n), _counted("bias_torques", "spatial", n)
        rest = tuple(x - y for x, y in zip(whole, h, strict=True))
        yield at_most(SAHA, f"table 9.6, ReDySim: spatial less its bias torques, n = {n}", given.at(n), rest)
        for method in ("denoc", "filtering", "six_by_six", "spatial"):
            name = f"tables 9.1 + 9.6, ReDySim: {method} from tau, n = {n}"
            yield at_most(SAHA, name, both, _counted("forward_dynamics", method, n))
        yield at_most(SAHA, f"table 9.6, Saha (2003): spatial from tau, n = {n}", older.at(n), whole)
        six = _counted("forward_dynamics", "six_by_six", n)
        yield at_most(NASSER_1989, f"258 N - 119, 191 N - 83: six_by_six, n = {n}", NASSER.at(n), six)


def _sensitivities() -> Iterator[Check]:
    """The thesis's claim: Newton-Euler sensitivities cost less than Lagrangian ones."""
    for n in CLAIMED:
        algorithm = "inverse_dynamics_sensitivities"
        ours, theirs = (_counted(algorithm, method, n) for method in ("newton_euler", "lagrange"))
        note = f"confirmed: {sum(theirs) / sum(ours):.2f} times fewer operations"
        name = f"Newton-Euler sensitivities below Lagrangian ones, n = {n}"
        yield at_most(BARMAN, name, theirs, ours, note=note)


def _row(table: Sequence[PublishedCount], source: str) -> PublishedCount:
    return next(count for count in table if count.source.startswith(source))


@cache
def _counted(algorithm: str, method: str, n: int) -> tuple[int, int]:
    counts = Mechanism.serial(n).operation_counts(algorithm, method=method)
    return counts.multiplications + counts.divisions, counts.additions


def _program(formula: Callable[[Mechanism], list[Any]], n: int) -> tuple[int, int]:
    results = [ca.densify(x) for x in formula(Mechanism.serial(n))]
    counts = read(ca.Function("counted", ca.symvar(ca.vertcat(*results)), results)).counts
    return counts.multiplications + counts.divisions, counts.additions
