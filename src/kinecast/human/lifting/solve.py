"""The prediction of one lift: postures that hold the box at both ends, then the motion between of least cost.

The end postures are found first, each as a small problem of its own from several starts (crouched, stooped, upright);
they are where the motion's solution begins, and remain free in it. Where no posture holds the box, an error says why.

Example::

    task = LiftTask(10, Place(0.2, 0.4), Place(1.0, 0.35))
    solution = solve_lift(human(1.75, 75, "male"), task)
    solution.status                    # 'optimal'
    sample(solution.problem, solution.x, np.linspace(0, solution.duration, 101)).box
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kinecast.human.interior_point import Outcome
from kinecast.human.lifting.checks import DENSE, board_clearance
from kinecast.human.lifting.posture import in_front, postures
from kinecast.human.lifting.problem import Lifter, LiftProblem, build
from kinecast.human.lifting.samples import sample
from kinecast.human.lifting.task import LiftTask
from kinecast.human.solving import FEASIBILITY, Report, Stage, Stages, Status, better, status_of, violated
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

_FIRST_DURATION = 1.5  # of the built-in start [s]
_ATTEMPT = 200  # iterations of one attempt
_MOST_INSTANTS = 200
_TOUCH = 0.004  # what round edges and the spots on the body may miss of a board [m]
_ENDED = ("optimal", "interrupted", "time_limit")


@dataclass(frozen=True)
class LiftSolution:
    """What came out. `x` are the variables of `problem`: the best lift found, whatever the status."""

    problem: LiftProblem
    x: Array
    status: Status
    message: str
    objective: float
    violation: float  # largest violation of a row
    optimality: float
    stages: tuple[Stage, ...]
    active: int
    seconds: float

    @property
    def duration(self) -> float:
        """In s."""
        return float(self.x[-1])

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self.x)

    @property
    def constraints(self) -> int:
        """Number of constraint rows, bounds of the variables not counted."""
        return len(self.problem.lift.low)

    @property
    def iterations(self) -> int:
        """Iterations of all stages together."""
        return sum(stage.iterations for stage in self.stages)


def solve_lift(
    person: Structure,
    task: LiftTask,
    *,
    report: Report | None = None,
    max_seconds: float = np.inf,
    max_iterations: int = _ATTEMPT,
) -> LiftSolution:
    """The lift of least cost of a person; an `InputError` says what would be possible where there is no posture.

    `report(stage, iteration, objective, violation, optimality)` is called at every iterate. Ctrl-C and the limits of
    time [s] and of iterations (of each stage) end the solution with the best lift so far.
    """
    stages = Stages(report, max_seconds, max_iterations, time.perf_counter())
    lifter = Lifter.of(person, task)
    starts = postures(lifter, task, task.from_, "start")
    ends = postures(lifter, task, task.to, "end")
    problem = build(lifter, task)
    best: Outcome | None = None
    for label, start, curvature in _attempts(problem, starts, in_front(lifter, task), ends):
        if not curvature:  # feasibility alone, without the rows' curvature, for the hard cases
            start = stages.run(
                f"feasibility{label}", problem.fastest, start, curvature=False, feasible_is_enough=True
            ).x
        found = stages.run(f"lift{label}", problem.lift, start)
        best = found if best is None else better(best, found)
        if best.status in _ENDED:
            break
    assert best is not None
    # Between two instants the box may have jumped through a board: then look at more of them.
    while best.status == "optimal" and problem.task.instants < _MOST_INSTANTS and _through(problem, best.x):
        problem = build(lifter, replace(problem.task, instants=2 * problem.task.instants - 1))
        best = stages.run(f"lift, {problem.task.instants} instants", problem.lift, best.x)
    status = status_of(best)
    advice = ""
    if status == "infeasible":
        advice = _shortest(stages, lifter, task, starts, ends)
    return LiftSolution(
        problem,
        best.x,
        status,
        _message(problem, best, status, stages.iterations) + advice,
        problem.lift.values(best.x)[0],
        best.violation,
        best.optimality,
        tuple(stages.done),
        best.active,
        stages.seconds,
    )


def _through(problem: LiftProblem, x: Array) -> bool:
    """Whether box or body pass through a board between the instants."""
    samples = sample(problem, x, np.linspace(0.0, float(x[-1]), DENSE))
    return board_clearance(problem, samples) < -_TOUCH


def _attempts(
    problem: LiftProblem, starts: list[Array], via: Array | None, ends: list[Array]
) -> Iterator[tuple[str, Array, bool]]:
    """(what it is called, variables to start from, whether with the rows' curvature at once)."""
    low, high = problem.task.duration
    duration = float(np.clip(_FIRST_DURATION, low, high))
    for curvature in (True, False):
        for k, start in enumerate(starts):
            label = (f" from posture {k + 1}" if k else "") + ("" if curvature else ", feasible first")
            yield label, _between(problem, start, via, ends[0], duration), curvature


def _between(problem: LiftProblem, start: Array, via: Array | None, end: Array, duration: float) -> Array:
    """Variables that lead from one posture to another, by way of a third if there is one."""
    stops = [start, end] if via is None else [start, via, end]
    along = np.linspace(0.0, len(stops) - 1.0, problem.variables.free)
    leg = np.minimum(along.astype(int), len(stops) - 2)
    share = (along - leg)[:, None]
    share = share**2 * (3 - 2 * share)
    points = (1 - share) * np.array(stops)[leg] + share * np.array(stops)[leg + 1]
    return np.concatenate([points.ravel(), [duration]])


def _shortest(stages: Stages, lifter: Lifter, task: LiftTask, starts: list[Array], ends: list[Array]) -> str:
    """What would be possible: the shortest duration found, if it is longer than what was asked for."""
    longest = LiftTask(task.mass, task.from_, task.to).duration[1]
    if task.duration[1] >= longest:
        return ""
    free = build(lifter, replace(task, duration=(task.duration[0], longest)))
    found = stages.run("shortest", free.fastest, _between(free, starts[0], None, ends[0], _FIRST_DURATION))
    if found.violation > FEASIBILITY:
        return ""
    return f" With more time it can be done: the shortest lift found takes {float(found.x[-1]):.2f} s."


# --------------------------------------------------------------------------------------------------------- in words


def _message(problem: LiftProblem, outcome: Outcome, status: Status, iterations: int) -> str:
    text = {
        "optimal": f"Lift of {float(outcome.x[-1]):.2f} s found in {iterations} iterations; all constraints hold.",
        "acceptable": "A lift that satisfies all constraints; its cost is nearly, not surely, the least.",
        "infeasible": "The box can be held at both ends, but no motion between them satisfies all constraints",
        "iteration_limit": f"Stopped at the limit of iterations, after {iterations}",
        "time_limit": f"Stopped at the time limit, after {iterations} iterations",
        "interrupted": f"Interrupted after {iterations} iterations",
        "failed": "A lift that satisfies all constraints, but the search for the least cost got stuck.",
    }[status]
    if text.endswith("."):
        return text
    if outcome.violation <= FEASIBILITY:
        return f"{text}; the best lift so far satisfies all constraints."
    worst = violations(problem, outcome.x)
    return f"{text}; the best one misses most at {', '.join(f'{name} (by {by:.2g})' for name, by in worst[:3])}."


def violations(problem: LiftProblem, x: Array) -> list[tuple[str, float]]:
    """Rows that are violated by more than the tolerance, as (name, amount), worst first."""
    return violated(problem.lift, problem.names, x)
