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
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kinecast.human import interior_point
from kinecast.human.interior_point import Outcome, Settings
from kinecast.human.skeleton import stature, zero_position
from kinecast.human.transcription import Transcription
from kinecast.human.walking.problem import StepProblem, build
from kinecast.human.walking.task import WalkTask, check_task, natural_step_length
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

Status = Literal["optimal", "acceptable", "infeasible", "iteration_limit", "time_limit", "interrupted", "failed"]
# stage, iteration, objective, largest violation of a row, optimality
Report = Callable[[str, int, float, float, float], None]

FEASIBILITY, OPTIMALITY = 1e-6, 1e-4
ACCEPTABLE = 1e-2  # optimality of a step that is good enough to show, and said to be no better
EASY_SPEED = 1.2  # of a person of 1.75 m [m/s]
CONTINUATION = (0.25, 0.5, 0.75, 1.0)


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
    active: int  # rows and bounds met exactly
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
    return _Driver(problem, report, began, max_seconds, max_iterations).run(start)


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
    def __init__(
        self, problem: StepProblem, report: Report | None, began: float, max_seconds: float, max_iterations: int
    ) -> None:
        self.problem, self.report, self.began = problem, report, began
        self.max_seconds, self.max_iterations = max_seconds, max_iterations
        self.stages: list[Stage] = []

    def run(self, start: StepSolution | Array | None) -> StepSolution:
        """All stages, fall-backs included."""
        x = built_in_start(self.problem) if start is None else _variables_of(self.problem, start)
        best = self.both(self.problem, x, "")
        if best.status in ("optimal", "interrupted", "time_limit"):
            return self.answer(best)
        other = self.both(self.problem, x, ", without curvature", curvature=False)
        best = _better(best, other)
        if best.status in ("optimal", "interrupted", "time_limit"):
            return self.answer(best)
        return self.answer(_better(best, self.continued()))

    def both(self, problem: StepProblem, x: Array, label: str, curvature: bool = True) -> Outcome:
        """Feasibility, then effort from there."""
        feasible = self.stage("feasibility" + label, problem.feasibility, x, curvature=curvature, enough=True)
        if feasible.status != "optimal":
            return feasible
        effort = self.stage("effort" + label, problem.effort, feasible.x)
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

    def stage(
        self, name: str, problem: Transcription, x: Array, *, curvature: bool = True, enough: bool = False
    ) -> Outcome:
        """One run of the interior-point method."""
        report = self.report

        def told(iteration: int, objective: float, violation: float, optimality: float) -> None:
            if report:
                report(name, iteration, objective, violation, optimality)

        left = self.max_seconds - (time.perf_counter() - self.began)
        settings = Settings(
            FEASIBILITY,
            OPTIMALITY,
            self.max_iterations,
            max(left, 0.0),
            feasible_is_enough=enough,
            curvature=curvature,
        )
        outcome = interior_point.solve(problem, x, settings, told)
        self.stages.append(
            Stage(
                name,
                outcome.status,
                outcome.iterations,
                outcome.objective,
                outcome.violation,
                outcome.optimality,
                outcome.seconds,
            )
        )
        return outcome

    def answer(self, best: Outcome) -> StepSolution:
        """The outcome with its status in words."""
        status = _status(best)
        return StepSolution(
            self.problem,
            best.x,
            status,
            _message(self.problem, best, status, sum(stage.iterations for stage in self.stages)),
            self.problem.effort.values(best.x)[0],
            best.violation,
            best.optimality,
            best.multipliers,
            tuple(self.stages),
            best.active,
            time.perf_counter() - self.began,
        )


def _better(a: Outcome, b: Outcome) -> Outcome:
    """An optimal outcome, else the one that violates less, else the one nearer to optimality."""
    if (a.status == "optimal") != (b.status == "optimal"):
        return a if a.status == "optimal" else b
    if max(a.violation, b.violation) > FEASIBILITY:
        return a if a.violation <= b.violation else b
    return a if a.optimality <= b.optimality else b


def _status(outcome: Outcome) -> Status:
    if outcome.status == "stalled":
        if outcome.violation > FEASIBILITY:
            return "infeasible"
        return "acceptable" if outcome.optimality <= ACCEPTABLE else "failed"
    return outcome.status


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
    _, c = problem.effort.values(x)
    excess = np.maximum(problem.effort.low - c, c - problem.effort.high)
    order = np.argsort(-excess)
    names = problem.effort.rows.names
    return [(names[k], float(excess[k])) for k in order if excess[k] > FEASIBILITY]


def _variables_of(problem: StepProblem, start: StepSolution | Array) -> Array:
    x = start.x if isinstance(start, StepSolution) else np.asarray(start, dtype=float)
    if x.shape != (problem.variables.size,) or not np.all(np.isfinite(x)):
        return built_in_start(problem)
    return x
