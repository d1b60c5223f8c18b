"""From a task to a motion: solve, refine, diagnose, sum up."""

from __future__ import annotations

import time
from collections.abc import Callable

from kinecast.dynamics.mechanism import Mechanism
from kinecast.motion.bspline import BSpline
from kinecast.predict.diagnosis import diagnose
from kinecast.predict.excess import Excess, excesses
from kinecast.predict.refine import dense_program, refine, switches
from kinecast.predict.result import Motion, Seconds
from kinecast.predict.schema import Data
from kinecast.predict.solve import UNEXPLAINED, Answer, Workshop
from kinecast.predict.solvers import Report, Status
from kinecast.predict.task import Task

WORTH_SAYING = 1e-9  # violations below this part of a limit are rounding


def run(
    task: Task,
    mechanism: Mechanism,
    problem: Data,
    *,
    previous: BSpline | None = None,
    say: Callable[[str], None] = lambda _: None,
    report: Report | None = None,
) -> Motion:
    """Predict. `say` gets the lines of the log as they come, `report` every iteration."""
    start = time.perf_counter()
    log: list[str] = []

    def note(line: str) -> None:
        log.append(line)
        say(line)

    workshop = Workshop.of(task, note, report)
    with workshop.stop.on_interrupt():
        answer, status, message = _solve(workshop, previous)
    return _sum_up(workshop, answer, mechanism, problem, status, message, log, time.perf_counter() - start)


def _solve(workshop: Workshop, previous: BSpline | None) -> tuple[Answer, Status, str]:
    """The answer, its status, and a message where one is known already."""
    task = workshop.task
    answer = workshop.first_answer(previous)
    status, message = answer.solution.status, ""
    if status in UNEXPLAINED:
        diagnosis = diagnose(workshop, answer)
        if diagnosis.start is not None:
            workshop.say("all limits can be met; solving again from a motion that meets them")
            answer = workshop.solve(answer.program, diagnosis.start)
            status = answer.solution.status
            if status in UNEXPLAINED:
                status, message = (
                    "failed",
                    f"The solver gave up ({answer.solution.solver_says}) although limits can be met.",
                )
        elif diagnosis.conclusive:
            status, message = "infeasible", diagnosis.message
        else:
            status = "failed"
    if task.refine is not None and answer.solved:
        answer, status = refine(workshop, answer, task.refine)
    if workshop.stop.reason:
        return answer, workshop.stop.reason, ""
    return answer, status, message


def _sum_up(
    workshop: Workshop,
    answer: Answer,
    mechanism: Mechanism,
    problem: Data,
    status: Status,
    message: str,
    log: list[str],
    total: float,
) -> Motion:
    program, x = answer.program, answer.solution.x
    dense = dense_program(workshop, answer)
    at_nodes, everywhere = excesses(program, x), excesses(dense, x)
    solved = workshop.solved
    seconds = Seconds(
        total, sum(s.seconds for s in solved), sum(s.seconds_functions for s in solved), answer.compile_seconds
    )
    motion = Motion(
        task=workshop.task,
        mechanism=mechanism,
        problem=problem,
        status=status,
        message=message or _message(status, answer, everywhere, sum(s.iterations for s in solved)),
        objective=answer.objective,
        iterations=sum(s.iterations for s in solved),
        seconds=seconds,
        at_nodes=at_nodes[0] if at_nodes else None,
        between_nodes=everywhere[0] if everywhere else None,
        excesses=[excess for excess in everywhere if excess.relative > WORTH_SAYING],
        switches=switches(dense, x),
        history=answer.solution.history,
        variables=program.n_x,
        constraints=program.n_rows,
        log=log,
        unsealed=answer.spline,
    )
    log.append(motion.message)
    return motion


def _message(status: Status, answer: Answer, everywhere: list[Excess], iterations: int) -> str:
    duration = answer.spline.duration
    worst = next((excess for excess in everywhere if excess.relative > WORTH_SAYING), None)
    if status in ("optimal", "acceptable"):
        text = f"The motion takes {duration:.6g} s, J = {answer.objective:.6g}"
        text += " (not to the accuracy asked for)" if status == "acceptable" else ""
        if worst is None:
            return f"{text}; all limits hold."
        amount = f"{worst.amount:.2g} {worst.group.unit}".strip()
        return f"{text}; limits hold to within {amount} ({worst.where}, between grid points)."
    reasons = {
        "iteration_limit": f"Stopped at the limit of {answer.solution.iterations} iterations",
        "time_limit": f"Stopped at the time limit of {answer.task.settings.time_limit} s",
        "interrupted": f"Interrupted after {iterations} iterations",
    }
    text = reasons.get(status, f"The solver gave up ({answer.solution.solver_says})")
    return f"{text}; in the best motion so far " + (f"{worst.words}." if worst else "all limits hold.")
