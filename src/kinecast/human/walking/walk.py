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

from kinecast.human.carrying import carried, carrying, unloaded
from kinecast.human.contact import SIDES, ground_reaction
from kinecast.human.predicted import Journal, Predicted
from kinecast.human.solving import Report
from kinecast.human.walking.checks import StepCheck, check_step, step_closure, step_margins
from kinecast.human.walking.gait import gait_numbers, phase_names
from kinecast.human.walking.settings import task_of
from kinecast.human.walking.solve import StepSolution, solve_step
from kinecast.human.walking.stride import Samples, stride_of
from kinecast.human.walking.task import Phases, WalkTask
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Walk(Predicted[StepSolution]):
    """A predicted walk. Everything per sample runs over one stride of N samples from right heel strike.

    World axes: x left, y up (normal to the ground), z forward; moments about the world origin; SI units.
    """

    what = "walk"

    # ------------------------------------------------------------------------------------------ what came out

    @property
    def load(self) -> dict[str, float]:
        """What is carried [kg]: backpack, hands."""
        return carried(self.person)

    @property
    def person_alone(self) -> Structure:
        """The person without what is carried."""
        return unloaded(self.person)

    @property
    def task(self) -> WalkTask:
        """What was asked for."""
        return self.unsealed.problem.task

    # ------------------------------------------------------------------------------------------ one stride

    @cached_property
    def samples(self) -> Samples:
        """Everything of the stride."""
        return stride_of(self.solution.problem, self.solution.x)

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
        place, coordinate = step_closure(solution.problem, solution.x)
        return WalkCheck(**asdict(dense), forward_error=place, forward_q_error=coordinate)

    def summary(self) -> dict[str, Any]:
        """What result.json holds, but for the checks and the gait."""
        return self.numbers(2 * float(self.unsealed.problem.instants[-1]))

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
    """`StepCheck`, and how far the predicted torques and reactions, integrated forward, end up from the step."""

    forward_error: float  # largest distance of a place [m]
    forward_q_error: float  # largest difference of a coordinate [m, rad]


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
    journal = Journal(say, report)
    journal.note(
        f"{loaded.name}, {len(loaded.coordinates)} coordinates: {speed:g} m/s, steps of {task.step_length:.4g} m"
    )
    solution = solve_step(loaded, task, report=journal.follow, max_seconds=max_seconds)
    journal.end(solution)
    return Walk(loaded, solution, tuple(journal.lines))


def _first(value: Any, count: int) -> Any:
    """The first samples of an array, or of every array in a mapping."""
    if isinstance(value, dict):
        return {key: inner[:count] for key, inner in value.items()}
    return value[:count]
