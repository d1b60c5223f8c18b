"""`kinecast.walk`: a person, a speed, and out comes a walk: motion, torques, ground reactions, checks, figures.

    man = kinecast.human(1.75, 75, "male")
    walk = kinecast.walk(man, speed=1.2)                 # the step length that people take at this speed
    walk.t, walk.q, walk.tau                             # one stride (two steps) from right heel strike
    walk.reaction["r"]                                   # force and moment on the right foot
    walk.gait["vertical_grf_peaks_bw"]
    walk.save("run/")                                    # motion.csv, result.json, report.html, ...

A walk that could not be found is sealed: its motion can be read only after `acknowledge()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinecast.errors import KinecastError
from kinecast.human.carrying import carried, carrying, unloaded
from kinecast.human.contact import SIDES, ground_reaction
from kinecast.human.solving import Report
from kinecast.human.walking.checks import StepCheck, check_step, forward_error, step_margins
from kinecast.human.walking.gait import gait_numbers, phase_names
from kinecast.human.walking.settings import task_of
from kinecast.human.walking.solve import StepSolution, solve_step
from kinecast.human.walking.stride import Samples, stride_of
from kinecast.human.walking.task import Phases, WalkTask
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class SealedWalkError(KinecastError):
    """A walk that is not a solution was used without saying so."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A predicted walk. Everything per sample runs over one stride of N samples from right heel strike.

    World axes: x left, y up (normal to the ground), z forward; moments about the world origin; SI units.
    """

    person: Structure  # with what is carried
    load: dict[str, float]  # what is carried [kg]: backpack, hands
    unsealed: StepSolution
    log: tuple[str, ...] = ()
    acknowledged: bool = False

    # ------------------------------------------------------------------------------------------ what came out

    @property
    def person_alone(self) -> Structure:
        """The person without what is carried."""
        return unloaded(self.person)

    @property
    def task(self) -> WalkTask:
        """What was asked for."""
        return self.unsealed.problem.task

    @property
    def status(self) -> str:
        """optimal, acceptable, infeasible, iteration_limit, time_limit, interrupted or failed."""
        return self.unsealed.status

    @property
    def message(self) -> str:
        """The status in words."""
        return self.unsealed.message

    @property
    def ok(self) -> bool:
        """Whether a walk was found."""
        return self.status in ("optimal", "acceptable")

    def acknowledge(self) -> Walk:
        """The same walk, free to be used although it is not a solution."""
        return replace(self, acknowledged=True)

    @property
    def solution(self) -> StepSolution:
        """The step as its variables, and how it was found."""
        if not self.ok and not self.acknowledged:
            raise SealedWalkError(
                f"this walk is not a solution ({self.status}): {self.message} "
                "To look at it all the same, use walk.acknowledge()"
            )
        return self.unsealed

    # ------------------------------------------------------------------------------------------ one stride

    @cached_property
    def samples(self) -> Samples:
        """Everything of the stride."""
        return stride_of(self.solution.problem, self.solution.x)

    @property
    def t(self) -> Array:
        """Times (N,) [s]."""
        return self.samples.t

    @property
    def q(self) -> Array:
        """Positions (N, n) [m, rad] of the person's coordinates."""
        return self.samples.q

    @property
    def v(self) -> Array:
        """Velocities (N, n)."""
        return self.samples.v

    @property
    def a(self) -> Array:
        """Accelerations (N, n)."""
        return self.samples.a

    @property
    def tau(self) -> Array:
        """Joint torques (N, n) [N m]; none on the six global coordinates."""
        return self.samples.tau

    @property
    def reaction(self) -> dict[str, Array]:
        """Force [N] and moment [N m] on the right ("r") and left ("l") foot (N, 6)."""
        return self.samples.reaction

    @property
    def zmp(self) -> Array:
        """Zero moment point (N, 2): x, z [m]."""
        return self.samples.zmp

    @cached_property
    def margin(self) -> Array:
        """Distance (N,) of the zero moment point inside the support polygon [m]."""
        count = (len(self.t) + 1) // 2
        step = replace(self.samples, **{f.name: _first(getattr(self.samples, f.name), count) for f in fields(Samples)})
        swinging = np.logical_not(step.double)
        swinging[-1] = True
        own = step_margins(step, swinging)
        return np.concatenate([own, own[1:]])

    @cached_property
    def phase(self) -> list[str]:
        """What each sample is part of: double_right (right foot leads), single_right, double_left, single_left."""
        return phase_names(self.samples)

    @cached_property
    def root_residual(self) -> float:
        """The largest force or moment [N, N m] that motion and ground reactions leave on the global coordinates."""
        found = ground_reaction(self._inclined, self)
        return float(np.abs(found.resultant - sum(self.reaction[side] for side in SIDES)).max())

    @cached_property
    def gait(self) -> dict[str, Any]:
        """What gait laboratories report: see docs/walking.md."""
        task = self.task
        numbers = gait_numbers(self._inclined, self.samples, task.speed, task.step_length)
        return numbers | {"root_residual_n": self.root_residual}

    @cached_property
    def _inclined(self) -> Structure:
        """The person under gravity as it acts on the incline."""
        values = self.unsealed.problem.values
        return self.person.with_gravity([float(np.asarray(values[f"gravity_{axis}"])) for axis in "xyz"])

    # ------------------------------------------------------------------------------------------ trust, figures, files

    def check(self) -> WalkCheck:
        """Look between the instants at which the constraints hold, and integrate torques and reactions forward."""
        solution = self.solution
        dense = check_step(solution.problem, solution.x)
        return WalkCheck(**asdict(dense), forward_error=forward_error(solution.problem, solution.x))

    def summary(self) -> dict[str, Any]:
        """What result.json holds, but for the checks and the gait."""
        solution = self.unsealed
        totals = {key: sum(stage.seconds.get(key, 0.0) for stage in solution.stages) for key in _SECONDS.values()}
        seconds = {"total": solution.seconds} | {name: totals[key] for name, key in _SECONDS.items()}
        return {
            "status": self.status,
            "message": self.message,
            "duration": float(solution.problem.instants[-1]) * 2,
            "objective": solution.objective,
            "iterations": solution.iterations,
            "seconds": seconds | {"compile": max(0.0, solution.seconds - totals["total"])},
            "violation": {"at_nodes": float(solution.violation)},
            "optimality": _finite(solution.optimality),
            "variables": solution.variables,
            "constraints": solution.constraints,
            "active": solution.active,
        }

    def plot(self) -> Figure:
        """Angles, moments, ground reactions and joint forces over one stride, beside normal gait."""
        from kinecast.human.walking.figures import curves

        return curves(self)

    def save(self, folder: str | Path) -> Path:
        """The run folder: problem.yaml, person.yaml, result.json, motion.csv, log.txt, report.html."""
        from kinecast.human.walking.run import write_run

        return write_run(self, Path(folder))


@dataclass(frozen=True)
class WalkCheck(StepCheck):
    """`StepCheck`, and how far [m] the predicted torques and reactions, integrated forward, end up from the step."""

    forward_error: float


# Names in result.json of what the solver's stages measured.
_SECONDS = {
    "solver": "total",
    "functions": "functions",
    "derivatives": "derivatives",
    "linear_algebra": "linear algebra",
}


def walk(
    person: Structure,
    speed: float,
    step_length: float | None = None,
    *,
    incline: float = 0.0,
    backpack: float = 0.0,
    hands: float = 0.0,
    phases: Phases | Mapping[str, Any] | None = None,
    say: Callable[[str], None] = lambda _: None,
    report: Report | None = None,
    max_seconds: float = np.inf,
    **settings: Any,
) -> Walk:
    """Predict how a person walks at a speed [m/s] with steps of a length [m] (none: what people take at this speed).

    `person` is what `kinecast.human` makes; joints frozen there stay still. `incline` [deg], uphill positive;
    `backpack` and `hands` [kg], carried. `phases` are fractions of the step by name (see `Phases`); `settings` are
    those of `WalkTask`: weights, clearances, limits while walking, `step_width` ... `say` gets the lines of the log as
    they come, `report` every iteration. Ctrl-C and `max_seconds` end with the best step so far.
    """
    loaded = carrying(person, backpack=backpack, hands=hands)
    task = task_of(loaded, speed, step_length, incline, phases, settings)
    log: list[str] = []
    told: list[str] = []

    def note(line: str) -> None:
        log.append(line)
        say(line)

    def follow(stage: str, iteration: int, objective: float, violation: float, optimality: float) -> None:
        if stage not in told:
            told.append(stage)
            note(f"{stage}:")
            log.append("iteration  objective          violation  optimality")
        log.append(f"{iteration:9d}  {objective:.10e}  {violation:.2e}   {optimality:.2e}")
        if report is not None:
            report(stage, iteration, objective, violation, optimality)

    note(f"{loaded.name}, {len(loaded.coordinates)} coordinates: {speed:g} m/s, steps of {task.step_length:.4g} m")
    solution = solve_step(loaded, task, report=follow, max_seconds=max_seconds)
    note(f"{solution.status}: {solution.message}")
    note(f"{solution.iterations} iterations in {solution.seconds:.2f} s, {solution.active} limits active")
    return Walk(loaded, carried(loaded), solution, tuple(log))


def _first(value: Any, count: int) -> Any:
    """The first samples of an array, or of every array in a mapping."""
    if isinstance(value, dict):
        return {key: inner[:count] for key, inner in value.items()}
    return value[:count]


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
