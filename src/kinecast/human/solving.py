"""What the predictions of a person's motions share: stages of the interior-point method, statuses, what is violated."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kinecast.human import interior_point
from kinecast.human.interior_point import Outcome, Problem, Settings
from kinecast.mechanism.checks import Array

Status = Literal["optimal", "acceptable", "infeasible", "iteration_limit", "time_limit", "interrupted", "failed"]
# stage, iteration, objective, largest violation of a row, optimality
Report = Callable[[str, int, float, float, float], None]

FEASIBILITY, OPTIMALITY = 1e-6, 1e-4
ACCEPTABLE = 1e-2  # optimality of a motion that is good enough to show, and said to be no better


@dataclass(frozen=True)
class Stage:
    """One run of the interior-point method; `seconds` splits functions, derivatives, linear algebra and total."""

    name: str
    status: str
    iterations: int
    objective: float
    violation: float
    optimality: float
    seconds: dict[str, float]


@dataclass
class Stages:
    """Runs of the interior-point method that share a clock, limits and a listener."""

    report: Report | None = None
    max_seconds: float = np.inf
    max_iterations: int = 400
    began: float = field(default_factory=time.perf_counter)
    done: list[Stage] = field(default_factory=list)

    def run(
        self,
        name: str,
        problem: Problem,
        x: Array,
        *,
        curvature: bool = True,
        feasible_is_enough: bool = False,
        push: float = interior_point.PUSH,
        fall: float = interior_point.FALL,
    ) -> Outcome:
        """One more stage from a start; `curvature`, `push` and `fall` as in `interior_point.Settings`."""

        def told(iteration: int, objective: float, violation: float, optimality: float) -> None:
            if self.report:
                self.report(name, iteration, objective, violation, optimality)

        settings = Settings(
            FEASIBILITY,
            OPTIMALITY,
            self.max_iterations,
            max(self.max_seconds - self.seconds, 0.0),
            feasible_is_enough=feasible_is_enough,
            curvature=curvature,
            push=push,
            fall=fall,
        )
        out = interior_point.solve(problem, x, settings, told)
        self.done.append(
            Stage(name, out.status, out.iterations, out.objective, out.violation, out.optimality, out.seconds)
        )
        return out

    @property
    def seconds(self) -> float:
        """Since the clock began."""
        return time.perf_counter() - self.began

    @property
    def iterations(self) -> int:
        """Of all stages together."""
        return sum(stage.iterations for stage in self.done)


def better(a: Outcome, b: Outcome) -> Outcome:
    """An optimal outcome, else the one that violates less, else the one nearer to optimality."""
    if (a.status == "optimal") != (b.status == "optimal"):
        return a if a.status == "optimal" else b
    if max(a.violation, b.violation) > FEASIBILITY:
        return a if a.violation <= b.violation else b
    return a if a.optimality <= b.optimality else b


def status_of(outcome: Outcome) -> Status:
    """The status of a prediction that ended with this outcome."""
    if outcome.status == "stalled":
        if outcome.violation > FEASIBILITY:
            return "infeasible"
        return "acceptable" if outcome.optimality <= ACCEPTABLE else "failed"
    return outcome.status


def violated(problem: Problem, names: Sequence[str], x: Array) -> list[tuple[str, float]]:
    """Rows that are violated by more than the tolerance, as (name, amount), worst first."""
    _, c = problem.values(x)
    excess = np.maximum(problem.low - c, c - problem.high)
    return [(names[k], float(excess[k])) for k in np.argsort(-excess) if excess[k] > FEASIBILITY]
