"""From a task to a raw answer: programs, starts, the best of several, coarse to fine, finer meshes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from kinecast.motion.basis import Array
from kinecast.motion.bspline import BSpline
from kinecast.predict import guess
from kinecast.predict.mesh import DEGREE, Mesh
from kinecast.predict.program import Program
from kinecast.predict.solvers import Report, Solution, Status, Stop, solve
from kinecast.predict.task import Task
from kinecast.predict.terms import Terms
from kinecast.predict.transcribe import choose_hessian, terms_of, transcribe, uniform_mesh

if TYPE_CHECKING:
    from kinecast.engine import Kernel

Say = Callable[[str], None]
FEASIBLE = 1e-6  # scaled violation of rows up to which a solution of the solver's tolerance counts as one
UNEXPLAINED: tuple[Status, ...] = ("infeasible", "failed")  # answers that may be the start's fault
REACH = 0.45  # segments by which free knots move at a time
MOVES = 4
MOVING = 200  # iterations of a solve that moves knots
_BETTER = 1e-9
SCOUTING = 100  # iterations of a coarse solve
LEAST_SEGMENTS = 6  # of a coarse solve
SCOUTS = 8  # bent starts that are tried on the coarse mesh: with 5, one motion in sixty was not the best that is known


@dataclass(frozen=True, eq=False)
class Answer:
    """One program and what the solver made of it, with everything that was spent on the way there."""

    task: Task
    program: Program
    solution: Solution
    compile_seconds: float

    @property
    def spline(self) -> BSpline:
        """The motion."""
        return program_spline(self.program, self.solution.x)

    @property
    def solved(self) -> bool:
        """Whether the solver is content."""
        return self.solution.status in ("optimal", "acceptable")

    @property
    def objective(self) -> float:
        """J."""
        return self.program.objective(self.solution.x)


@dataclass(frozen=True, eq=False)
class Workshop:
    """A task with its kernels, ready to solve on any mesh."""

    task: Task
    terms: Terms
    hessian: str
    compile_seconds: float
    say: Say
    report: Report | None = None
    stop: Stop = field(default_factory=Stop)
    solved: list[Solution] = field(default_factory=list)  # every solve so far, for what they took

    @classmethod
    def of(cls, task: Task, say: Say, report: Report | None = None) -> Workshop:
        """Loads or compiles the kernels."""
        start = time.perf_counter()
        terms = terms_of(task)
        hessian, why = choose_hessian(task, terms)
        kernels: list[Kernel] = [terms.values, terms.first]
        kernels += [terms.second] if hessian == "exact" else [terms.gauss_newton] if hessian == "gauss-newton" else []
        fresh = sum(not kernel.from_cache for kernel in kernels)
        seconds = time.perf_counter() - start if fresh else 0.0
        say(f"kernels: {len(kernels)}, {fresh} of them compiled now")
        say(f"second derivatives: {hessian} ({why})")
        limit = task.settings.time_limit  # for everything together, compiling included
        return cls(task, terms, hessian, seconds, say, report, Stop() if limit is None else Stop(start + limit))

    def program(self, mesh: Mesh, check_points: int | None = None, near: tuple[Array, float] | None = None) -> Program:
        """The task on a mesh; `near` = (ends of arcs [s], reach): they stay within so many segments of these."""
        return transcribe(self.task, mesh, self.terms, self.hessian, check_points=check_points, near=near)

    def solve(self, program: Program, x0: Array, warm: bool = False, most: int | None = None) -> Answer:
        """One solve, the objective scaled by its value at the start.

        `warm` trusts the start to be nearly the answer; `most` iterations are made if it is given.
        """
        settings = replace(self.task.settings, warm=warm)
        settings = settings if most is None else replace(settings, max_iterations=min(most, settings.max_iterations))
        size = abs(program.f(x0))
        scaled = replace(program, f_scale=size if 1e-12 < size < np.inf else 1.0)
        solution = solve(scaled, x0, settings, self.stop, self.report)
        self.solved.append(solution)
        duration = program.ends(solution.x)[-1]
        self.say(
            f"{self.task.settings.name}: {solution.status} after {solution.iterations} iterations "
            f"({solution.solver_says}), J = {program.objective(solution.x):.8g}, T = {duration:.6g} s"
        )
        return Answer(self.task, scaled, solution, self.compile_seconds)

    def first_answer(self, previous: BSpline | None = None) -> Answer:
        """The task on its own mesh, from the guess that it names; the best of all starts."""
        mesh = uniform_mesh(self.task)
        program = self.program(mesh)
        self.say(
            f"program: {program.n_x} variables, {program.n_rows} constraints, {mesh.segments} segments, "
            f"{program.grid.n_checks} check points, {len(program.jacobian_pattern.rows)} Jacobian entries"
        )
        scales = ", ".join(f"{g.name} {g.scale:.6g} {g.unit}".rstrip() for g in program.groups if not g.hard)
        self.say(f"scaling: each row in units of {scales}; J in units of its value at the start")
        if previous is not None:
            x0 = guess.from_motion(program, previous)
        elif self.task.guess == "coarse":
            x0 = guess.from_motion(program, self._coarse().spline)
        elif self.task.guess == "quasi-static":
            x0 = guess.quasi_static(self.task, program)
        else:
            x0 = self._scouted(program)
        best = self._from_start(program, x0)
        if best.solution.status in UNEXPLAINED and previous is None:
            self.say("trying again from a slow start")
            best = better(best, self._from_start(program, guess.quasi_static(self.task, program)))
        rng = np.random.default_rng(self.task.seed)
        for k in range(1, self.task.starts):
            if self.stop.due():
                break
            self.say(f"start {k + 1} of {self.task.starts}")
            other = self._from_start(program, guess.bent(program, x0, rng))
            best = better(best, other)
        return best

    def _from_start(self, program: Program, x0: Array) -> Answer:
        """Solve; with free knots first with even ones, which then move by less than half a segment at a time."""
        mesh = program.grid.mesh
        if len(mesh.arcs) == 1:
            return self.solve(program, x0)
        even = self.program(Mesh((mesh.segments,)))
        answer = self.solve(even, guess.from_motion(even, program_spline(program, x0)))
        ends = answer.spline.duration * mesh.even_ends
        for _ in range(MOVES):
            if not answer.solved:
                break
            freed = self.program(mesh, near=(ends, REACH))
            moved = self.solve(freed, guess.from_motion(freed, answer.spline, ends), warm=True, most=MOVING)
            if not moved.solved or moved.objective > answer.objective:
                break
            answer, ends = moved, freed.ends(moved.solution.x)
        return answer

    def _scouted(self, program: Program) -> Array:
        """The line; where something pulls, the cheapest of the motions that coarse solves from several starts found.

        With gravity, loads or conditions of the user a short motion and one that swings back first are often both
        optima, and which one is found hangs on the start. With nothing but inertia the line has always led to the best.
        """
        x0 = guess.line(self.task, program)
        task = self.task
        pulled = task.structure.gravity.any() or task.loads or task.requirements or task.costs
        if not pulled or self.hessian == "bfgs":  # which takes too many iterations to try several starts
            return x0
        coarse = self.program(Mesh((max(LEAST_SEGMENTS, task.segments // 2),)))
        straight = guess.line(task, coarse, float(program.ends(x0)[-1]))
        starts = [straight, *guess.others(task, coarse, straight, SCOUTS)]
        self.say(f"trying {len(starts)} starts on {coarse.grid.mesh.segments} segments")
        found: list[Answer] = []
        for start in starts:
            found.append(self.solve(coarse, start, most=SCOUTING))
            if self.stop.due():
                break
        best = reduce(better, found)
        return guess.from_motion(program, best.spline) if best.solved or self.stop.due() else x0

    def _coarse(self) -> Answer:
        """Coarse to fine: half the segments, from half of those, down to four."""
        counts = [self.task.segments]
        while counts[-1] >= 8:
            counts.append(counts[-1] // 2)
        answer: Answer | None = None
        for count in reversed(counts[1:] or counts):
            program = self.program(uniform_mesh(self.task, count))
            x0 = guess.line(self.task, program) if answer is None else guess.from_motion(program, answer.spline)
            answer = self.solve(program, x0)
        assert answer is not None
        return answer


def program_spline(program: Program, x: Array) -> BSpline:
    """The motion that the variables x stand for."""
    return BSpline(program.grid.mesh.knots(program.ends(x)), program.control(x), DEGREE)


def better(one: Answer, other: Answer) -> Answer:
    """The answer to keep: a solved one, then the cheaper one; of two unsolved ones the less violated one."""
    if one.solved != other.solved:
        kept = one if one.solved else other
    elif one.solved:
        kept = other if other.objective < one.objective - _BETTER * abs(one.objective) else one
    else:
        worse = guess.violation(other.program, other.solution.x) >= guess.violation(one.program, one.solution.x)
        kept = one if worse else other
    return kept
