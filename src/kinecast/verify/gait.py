"""The one-step walk of the thesis (chapter V), 1.2 m/s with steps of 0.6 m: size and time beside ours, balances.

The thesis gives no data of its person but the number of free coordinates; ours is a man of 1.75 m and 75 kg with the
same joints frozen. It solves to 1e-3, this to 1e-6 (feasibility) and 1e-4 (optimality).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kinecast.human.skeleton import human
from kinecast.human.solving import FEASIBILITY, OPTIMALITY
from kinecast.human.walking.walk import walk
from kinecast.verify.frame import Check, agree, at_most

BARMAN = "Barman 2020"
SPEED, STEP = 1.2, 0.6
VARIABLES, CONSTRAINTS, ACTIVE, SECONDS = 330, 1726, 244, 34.10
# Forces over body weight, summed and integrated in double precision; what is asked of them is 1e-6.
BALANCE = 1e-6


def checks(folder: Path | None) -> Iterator[Check]:
    """Numbers of the problem beside those of 5.2, then what must hold of any walk."""
    person = human(1.75, 75, "male", freeze="walking")
    walk(person, SPEED, STEP, max_seconds=0.0)  # compiles, or loads what is compiled
    found = walk(person, SPEED, STEP)
    solution, check = found.solution, found.check()
    item = f"5.2, {SPEED:g} m/s, {STEP:g} m"
    yield at_most(BARMAN, f"{item}: variables", (VARIABLES,), (solution.variables,), note="symmetry is built in")
    rows = "rows; bounds of variables are not counted"
    yield at_most(BARMAN, f"{item}: constraints", (CONSTRAINTS,), (solution.constraints,), note=rows)
    both = "rows and bounds"
    yield at_most(BARMAN, f"{item}: active constraints", (ACTIVE,), (solution.active,), note=both)
    yield at_most(BARMAN, f"{item}: seconds", (SECONDS,), (solution.seconds,), note="kernels in memory")
    yield agree(BARMAN, f"{item}: violation of a constraint", 0.0, solution.violation, FEASIBILITY, note="thesis: 1e-3")
    yield agree(BARMAN, f"{item}: optimality", 0.0, solution.optimality, OPTIMALITY, note="thesis: 1e-3")
    weight = found.gait["bodyweight"]
    yield agree(BARMAN, "5.1, two-step algorithm: left on the root", 0.0, found.root_residual / weight, BALANCE)
    yield agree(BARMAN, "mean vertical force over body weight", 1.0, 1.0 + check.mean_lift_error, BALANCE)
    yield agree(BARMAN, "net fore-aft impulse", 0.0, check.impulse, BALANCE)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        found.plot().savefig(folder / "barman_gait.png", dpi=120)
