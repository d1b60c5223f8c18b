"""The prediction of one step: a feasible step first, then the one of least effort (papers/000, 5.3).

Each stage is one run of the interior-point method. When a stage fails from the built-in start, it is tried again
without the rows' curvature (Gauss-Newton), and then by continuation: an easier walk of the same person (level ground,
moderate speed and step) is solved first and led to the one asked for in stages, each from the last one's solution.

Example::

    person = human(1.75, 75, "male", freeze="walking")
    task = WalkTask(speed=1.2, step_length=0.6)
    solution = solve_step(person, task)
    solution.status                    # 'optimal'
    stride_of(solution.problem, solution.x).reaction["r"]
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from kinecast.human.interior_point import Outcome
from kinecast.human.skeleton import stature, zero_position
from kinecast.human.solving import FEASIBILITY, Report, Stage, Stages, Status, better, status_of, violated
from kinecast.human.walking.problem import StepProblem, build
from kinecast.human.walking.task import WalkTask, check_task, natural_step_length
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

EASY_SPEED = 1.2  # of a person of 1.75 m [m/s]
CONTINUATION = (0.25, 0.5, 0.75, 1.0)
# Upright people are far from any step: the first stage starts well inside its bounds and lowers its barrier quickly,
# which takes a third fewer iterations.
FIRST = {"push": 0.2, "fall": 0.2}


@dataclass(frozen=True)
class StepSolution:
    """What came out. `x` are the variables of `problem`: the best step found, whatever the status."""

    problem: StepProblem
    x: Array
    status: Status
    message: str
    objective: float
    violation: float  # largest violation of a row
    optimality: float
    multipliers: Array
    stages: tuple[Stage, ...]
    active: int  # rows and bounds whose multiplier exceeds the distance that is left
    seconds: float  # build and solution, compiling included when it was needed

    @property
    def variables(self) -> int:
        """Number of variables."""
        return self.problem.variables.size

    @property
    def constraints(self) -> int:
        """Number of constraint rows, bounds of the variables not counted."""
        return len(self.problem.effort.low)

    @property
    def iterations(self) -> int:
        """Iterations of all stages together."""
        return sum(stage.iterations for stage in self.stages)

    @property
    def found(self) -> bool:
        """Whether the step satisfies all constraints."""
        return self.violation <= FEASIBILITY


def solve_step(
    structure: Structure,
    task: WalkTask,
    *,
    report: Report | None = None,
    start: StepSolution | Array | None = None,
    max_seconds: float = np.inf,
    max_iterations: int = 400,
) -> StepSolution:
    """The step of least effort of a person. `start`: a solution of the same person's coordinates, or variables.

    `report(stage, iteration, objective, violation, optimality)` is called at every iterate. Ctrl-C and the limits of
    time [s] and of iterations (of each stage) end the solution with the best step so far.
    """
    began = time.perf_counter()
    check_task(structure, task)
    problem = build(structure, task)
    return _Driver(problem, Stages(report, max_seconds, max_iterations, began)).run(start)


def built_in_start(problem: StepProblem) -> Array:
    """Upright at constant speed, all joints at zero: variables."""
    variables, task = problem.variables, problem.task
    knots, degree = variables.knots, variables.degree
    points = np.zeros((variables.free, variables.n))
    # A straight line's control points lie at the knot averages (Greville's abscissae).
    at = np.array([knots[k + 1 : k + degree + 1].mean() for k in range(len(knots) - degree - 1)])[-variables.free :]
    heel = zero_position(problem.structure, "heel_r")[2]
    forward = problem.structure.coordinates.index("pelvis.forward")
    points[:, forward] = -0.5 * task.step_length - heel + task.speed * at
    return np.concatenate([points.ravel(), np.zeros(len(variables.further))])


class _Driver:
    def __init__(self, problem: StepProblem, stages: Stages) -> None:
        self.problem, self.stages = problem, stages

    def run(self, start: StepSolution | Array | None) -> StepSolution:
        """All stages, fall-backs included."""
        x = built_in_start(self.problem) if start is None else _variables_of(self.problem, start)
        best = self.both(self.problem, x, "")
        if best.status in ("optimal", "interrupted", "time_limit"):
            return self.answer(best)
        other = self.both(self.problem, x, ", without curvature", curvature=False)
        best = better(best, other)
        if best.status in ("optimal", "interrupted", "time_limit"):
            return self.answer(best)
        return self.answer(better(best, self.continued()))

    def both(self, problem: StepProblem, x: Array, label: str, curvature: bool = True) -> Outcome:
        """Feasibility, then effort from there."""
        bold = FIRST if curvature else {}
        feasible = self.stages.run(
            "feasibility" + label, problem.feasibility, x, curvature=curvature, feasible_is_enough=True, **bold
        )
        if feasible.status != "optimal":
            return feasible
        effort = self.stages.run("effort" + label, problem.effort, feasible.x)
        if effort.violation > FEASIBILITY:
            return replace(feasible, status=effort.status, optimality=np.inf)
        return effort

    def continued(self) -> Outcome:
        """From an easier walk of the same person to the one asked for."""
        structure, task = self.problem.structure, self.problem.task
        height = stature(structure)
        speed = EASY_SPEED * float(np.sqrt(height / 1.75))
        easy = replace(task, speed=speed, step_length=natural_step_length(speed, height), incline=0.0)
        problem = build(structure, easy)
        outcome = self.both(problem, built_in_start(problem), " of an easier walk")
        for share in CONTINUATION:
            if outcome.violation > FEASIBILITY:
                break
            values = {
                name: (1 - share) * getattr(easy, name) + share * getattr(task, name)
                for name in ("speed", "step_length", "incline")
            }
            problem = self.problem if share == 1 else build(structure, replace(task, **values))
            outcome = self.both(problem, outcome.x, f" at {share:.0%} of the way")
        if problem is not self.problem:
            return replace(outcome, status="stalled", violation=np.inf)
        return outcome

    def answer(self, best: Outcome) -> StepSolution:
        """The outcome with its status in words."""
        status = status_of(best)
        return StepSolution(
            self.problem,
            best.x,
            status,
            _message(self.problem, best, status, self.stages.iterations),
            self.problem.effort.values(best.x)[0],
            best.violation,
            best.optimality,
            best.multipliers,
            tuple(self.stages.done),
            best.active,
            self.stages.seconds,
        )


def _message(problem: StepProblem, outcome: Outcome, status: Status, iterations: int) -> str:
    text = {
        "optimal": f"Step of least effort found in {iterations} iterations; all constraints hold.",
        "acceptable": "A step that satisfies all constraints; its effort is nearly, not surely, the least.",
        "infeasible": "No step found that satisfies all constraints",
        "iteration_limit": f"Stopped at the limit of iterations, after {iterations}",
        "time_limit": f"Stopped at the time limit, after {iterations} iterations",
        "interrupted": f"Interrupted after {iterations} iterations",
        "failed": "A step that satisfies all constraints, but the search for the least effort got stuck.",
    }[status]
    if text.endswith("."):
        return text
    if outcome.violation <= FEASIBILITY:
        return f"{text}; the best step so far satisfies all constraints."
    worst = violations(problem, outcome.x)
    return f"{text}; the best one misses most at {', '.join(f'{name} (by {by:.2g})' for name, by in worst[:3])}."


def violations(problem: StepProblem, x: Array) -> list[tuple[str, float]]:
    """Rows that are violated by more than the tolerance, as (name, amount), worst first."""
    return violated(problem.effort, problem.effort.rows.names, x)


def _variables_of(problem: StepProblem, start: StepSolution | Array) -> Array:
    x = start.x if isinstance(start, StepSolution) else np.asarray(start, dtype=float)
    if x.shape != (problem.variables.size,) or not np.all(np.isfinite(x)):
        return built_in_start(problem)
    return x
