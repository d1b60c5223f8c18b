"""Why there is no motion, in words: which limits stand in the way, and the fewest whose relaxation makes one possible.

The elastic program gives every limit a price: its rows may be exceeded by a part r >= 0 of the limit's size, and the
sum of all r is minimised in place of the objective. If it comes out as zero, limits can be met and the solver lost its
way: its point is a new start. Otherwise each limit is relaxed alone; those that suffice are alternatives. If none
does, the limits that the elastic program used are thinned out one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.excess import Excess, excesses
from kinecast.predict.program import Program
from kinecast.predict.rows import Group
from kinecast.predict.solve import Answer, Workshop
from kinecast.predict.solvers import Solution, solve
from kinecast.predict.transcribe import transcribe

POSSIBLE = 1e-5  # sum of relaxations, relative to the limits, that counts as none
NEEDED = 1e-4  # a relaxation below this part of the limit is not needed
MOST_ALONE = 16  # limits that are tried alone
FIRST_PART = 0.1  # of a limit's size: where relaxations start
ITERATIONS = 500  # of an elastic program


@dataclass(frozen=True)
class Relaxation:
    """A limit (`lower`, `upper`) and the part of its size by which it must give way.

    `over` and `under` say which of its sides does, `t` is when it is exceeded the most (NaN: no time).
    """

    group: Group
    lower: float
    upper: float
    part: float
    over: bool
    under: bool
    t: float

    @property
    def words(self) -> str:
        """Such as "the torque limit of shoulder goes from 10 to 14.2 N m (needed at t = 0.1 s)"."""
        unit = f" {self.group.unit}" if self.group.unit else ""
        at = "" if np.isnan(self.t) else f" (needed at t = {self.t:.3g} s)"
        by = self.part * self.group.scale
        if self.group.kind == "require":
            return f"{self.group.words} gives way by {by:.3g}{at}"
        if self.group.kind == "duration":
            most = f"at most {self.upper + by:.4g} s in place of {self.upper:.4g} s"
            least = f"at least {self.lower - by:.4g} s in place of {self.lower:.4g} s"
            return f"the duration may be {most if self.over else least}"
        if self.lower == -self.upper:
            return f"{self.group.words} goes from {self.upper:.4g} to {self.upper + by:.4g}{unit}{at}"
        ends = [(self.lower, self.lower - by)] if self.under else []
        ends += [(self.upper, self.upper + by)] if self.over else []
        return f"{self.group.words} goes " + " and ".join(f"from {x:.4g} to {y:.4g}{unit}" for x, y in ends) + at


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """`start` meets all limits, if possible. Else: sets of limits to relax, and what is exceeded, worst first."""

    start: Array | None
    alternatives: tuple[tuple[Relaxation, ...], ...]
    excess: tuple[Excess, ...]
    conclusive: bool = True  # whether the search itself came to an end

    @property
    def message(self) -> str:
        """One sentence that names the worst limit and when, one that says what would help."""
        text = "No motion was found that keeps all limits"
        text += f": {self.excess[0].words}." if self.excess else "."
        if len(self.excess) > 1:
            text += " Also: " + "; ".join(excess.words for excess in self.excess[1:4]) + "."
        ways = [" and ".join(relaxation.words for relaxation in way) for way in self.alternatives]
        return text + (f" A motion becomes possible if {', or if '.join(ways)}." if ways else "")


def diagnose(workshop: Workshop, answer: Answer) -> Diagnosis:
    """Look for the reason why an answer is none."""
    workshop.say("no solution; looking for the limits that stand in the way")
    clinic = _Clinic(workshop, answer)
    everything, program = clinic.relax([g.name for g in answer.program.groups if not g.hard] + ["duration"])
    total = float(everything.x[program.n_motion :].sum())
    workshop.say(f"elastic program: {everything.status}, limits give way by {total:.3g} of their sizes in all")
    motion = everything.x[: program.n_motion]
    if clinic.possible(everything) and total < POSSIBLE:
        return Diagnosis(motion, (), ())
    if not clinic.possible(everything):
        return Diagnosis(
            None, (), tuple(excesses(program, everything.x)[:1]), conclusive=everything.status == "infeasible"
        )
    exceeded = [excess for excess in excesses(program, everything.x) if excess.relative > NEEDED]
    used = _used(program, everything.x)
    names = sorted(
        (g.name for g in program.groups if not g.hard), key=lambda name: name not in {r.group.name for r in used}
    )
    alone = [way for name in names[:MOST_ALONE] if (way := clinic.suffices([name], motion)) is not None]
    if alone:
        ways = sorted(alone, key=lambda way: way[0].part)
    else:
        ways = [thinned] if (thinned := clinic.thinned([r.group.name for r in used], motion)) else []
    return Diagnosis(None, tuple(ways), tuple(exceeded))


@dataclass(frozen=True, eq=False)
class _Clinic:
    """Solves elastic programs of one task on the mesh of the answer that failed."""

    workshop: Workshop
    answer: Answer

    def relax(self, names: Sequence[str], start: Array | None = None) -> tuple[Solution, Program]:
        """Minimise the sum of the relaxations of some limits."""
        workshop, mesh = self.workshop, self.answer.program.grid.mesh
        program = transcribe(workshop.task, mesh, workshop.terms, workshop.hessian, relaxed=names)
        motion = self.answer.solution.x if start is None else start
        x0 = np.concatenate([np.nan_to_num(motion), np.full(len(program.relaxed), FIRST_PART)])
        settings = replace(workshop.task.settings, name="ipopt", max_iterations=ITERATIONS)
        solution = solve(
            program, np.clip(x0, program.x_lower, program.x_upper), settings, workshop.stop, workshop.report
        )
        workshop.solved.append(solution)
        return solution, program

    @staticmethod
    def possible(solution: Solution) -> bool:
        """Whether the relaxed program has a solution."""
        return solution.status in ("optimal", "acceptable")

    def suffices(self, names: Sequence[str], start: Array) -> tuple[Relaxation, ...] | None:
        """What these limits must give way by, or None when relaxing them alone does not help."""
        solution, program = self.relax(names, start)
        if not self.possible(solution):
            return None
        return _used(program, solution.x) or None

    def thinned(self, names: list[str], start: Array) -> tuple[Relaxation, ...] | None:
        """A set of limits that suffices and of which none can be left out."""
        kept = self.suffices(names, start)
        for name in names:
            if kept is None or len(kept) == 1:
                break
            fewer = self.suffices([r.group.name for r in kept if r.group.name != name], start)
            kept = kept if fewer is None else fewer
        return kept


def _used(program: Program, x: Array) -> tuple[Relaxation, ...]:
    """The relaxations that are needed, largest part first."""
    (lower, upper), values, times = program.plain_bounds(), program.rows(x), program.plain_times(x)
    found = []
    for part, k in zip(x[program.n_motion :], program.relaxed, strict=True):
        rows = np.flatnonzero(program.row_group == k)
        if part <= NEEDED or len(rows) == 0:
            continue
        over, under = values[rows] - upper[rows], lower[rows] - values[rows]
        worst = rows[np.argmax(np.maximum(over, under))]
        sides = bool(over.max() > 0.0), bool(under.max() > 0.0)
        limits = float(lower[rows].min()), float(upper[rows].max())
        found.append(Relaxation(program.groups[k], *limits, float(part), *sides, float(times[worst])))
    return tuple(sorted(found, key=lambda relaxation: -relaxation.part))
