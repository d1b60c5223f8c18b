"""`kinecast.lift`: a person, a load, two heights, and out comes a lift: motion, torques, reactions, low back, NIOSH.

    man = kinecast.human(1.75, 75, "male")
    lift = kinecast.lift(man, 10, from_=0.2, to=1.0)     # 10 kg, hands from 0.2 m to 1.0 m above the floor
    lift.t, lift.q, lift.tau, lift.box                   # 201 samples of the lift
    lift.ergonomics.low_back.compression.max()           # [N], beside the limit of 3400 N
    lift.niosh["origin"].index
    lift.save("run/")                                    # motion.csv, result.json, report.html, ...

A lift that could not be found is sealed: its motion can be read only after `acknowledge()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinecast.human.carrying import carrying
from kinecast.human.contact import body_weight
from kinecast.human.ergonomics.assess import Ergonomics, assess
from kinecast.human.ergonomics.niosh import Niosh
from kinecast.human.lifting.checks import LiftCheck, check_lift, margins, root_residual
from kinecast.human.lifting.samples import Samples, sample
from kinecast.human.lifting.settings import niosh_of, task_of
from kinecast.human.lifting.solve import LiftSolution, solve_lift
from kinecast.human.lifting.task import LiftTask
from kinecast.human.predicted import Journal, Predicted
from kinecast.human.skeleton import body_mass
from kinecast.human.solving import Report
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLES = 201
# Joints whose work is added up: the beginnings of their coordinates' names.
PARTS = {
    "ankles": ("ankle",),
    "knees": ("knee",),
    "hips": ("hip",),
    "trunk": ("spine",),
    "arms": ("clavicle", "shoulder", "elbow", "wrist"),
}
# Moments that are reported, of the right side: (coordinate, sign of what is meant).
_MOMENTS = {
    "hip_extension": ("hip_r.flexion", -1.0),
    "knee_extension": ("knee_r.flexion", -1.0),
    "ankle_plantarflexion": ("ankle_r.dorsiflexion", -1.0),
    "shoulder_flexion": ("shoulder_r.flexion", 1.0),
    "elbow_flexion": ("elbow_r.flexion", 1.0),
}
_RANGES = {"ankle": "ankle_r.dorsiflexion", "knee": "knee_r.flexion", "hip": "hip_r.flexion"}
_RANGES |= {"shoulder": "shoulder_r.flexion", "elbow": "elbow_r.flexion"}


@dataclass(frozen=True, eq=False)
class Lift(Predicted[LiftSolution]):
    """A predicted lift: `SAMPLES` samples from when the hands hold the box at rest until it is at rest at the end.

    World axes: x left, y up, z forward, origin between the ankles on the floor; moments about it; SI units.
    """

    what = "lift"

    @property
    def task(self) -> LiftTask:
        """What was asked for."""
        return self.unsealed.problem.task

    @property
    def duration(self) -> float:
        """In s."""
        return self.solution.duration

    # ------------------------------------------------------------------------------------------ the motion

    @cached_property
    def samples(self) -> Samples:
        """Everything of the lift."""
        return sample(self.solution.problem, self.solution.x, np.linspace(0.0, self.duration, SAMPLES))

    @property
    def box(self) -> Array:
        """Centre (N, 3) of the box, which lies between the hands [m]."""
        return self.samples.box

    @cached_property
    def margin(self) -> Array:
        """Distance (N,) of the zero moment point inside the support polygon [m]."""
        return margins(self.samples)

    # ------------------------------------------------------------------------------------------ what it asks for

    @cached_property
    def ergonomics(self) -> Ergonomics:
        """Low back and joint strength; of the trunk the strength while lifting (`back_strength` of the task)."""
        loaded = carrying(self.unsealed.problem.structure, hands=self.task.mass)
        return assess(loaded, self, tau=self.tau)

    @property
    def niosh(self) -> dict[str, Niosh]:
        """The NIOSH equation at the lift's "origin" and "destination": by the task alone, whatever the motion."""
        return {"origin": niosh_of(self.task, self.task.from_), "destination": niosh_of(self.task, self.task.to)}

    @cached_property
    def figures(self) -> dict[str, Any]:
        """Ranges, work by parts of the body, moments, forces: "lift" in result.json."""
        samples, task, names = self.samples, self.task, self.person.coordinates
        weight, mass = body_weight(self.person), body_mass(self.person)
        angles = {key: np.rad2deg(self.q[:, names.index(name)]) for key, name in _RANGES.items()}
        angles["trunk"] = np.rad2deg(self.ergonomics.low_back.torso)
        work = self.work()
        return {
            "mass": task.mass,
            "from": list(task.from_),
            "to": list(task.to),
            "bodyweight": weight,
            "range_deg": {key: [float(angle.min()), float(angle.max())] for key, angle in angles.items()},
            "work_j": work,
            "work_share": {key: part / sum(work.values()) for key, part in work.items()},
            "peak_moment_nm_per_kg": {
                key: float((sign * self.tau[:, names.index(name)]).max()) / mass
                for key, (name, sign) in _MOMENTS.items()
            },
            "vertical_grf_peak_bw": float(samples.ground[:, 1].max()) / weight,
            "peak_box_speed": float(np.linalg.norm(samples.box_velocity, axis=1).max()),
            "root_residual_n": root_residual(self.solution.problem, samples),
        }

    def work(self) -> dict[str, float]:
        """Positive work [J] of the joints of both sides, by parts of the body."""
        power = np.maximum(self.tau * self.v, 0.0)
        done = (0.5 * (power[1:] + power[:-1]) * np.diff(self.t)[:, None]).sum(axis=0)
        names = self.person.coordinates
        return {
            part: float(sum(x for name, x in zip(names, done, strict=True) if name.startswith(starts)))
            for part, starts in PARTS.items()
        }

    # ------------------------------------------------------------------------------------------ trust, figures, files

    def check(self) -> LiftCheck:
        """Look between the instants at which the constraints hold, and integrate the torques forward."""
        return check_lift(self.solution.problem, self.solution.x)

    def summary(self) -> dict[str, Any]:
        """What result.json holds, but for the checks and what the motion asks for."""
        return self.numbers(self.unsealed.duration)

    def plot(self) -> Figure:
        """Angles, moments, low back, reactions, the box over the lift."""
        from kinecast.human.lifting.figures import curves

        return curves(self)

    def save(self, folder: str | Path) -> Path:
        """The run folder: problem.yaml, person.yaml, result.json, motion.csv, log.txt, report.html."""
        from kinecast.human.lifting.run import write_run

        return write_run(self, Path(folder))


def lift(
    person: Structure,
    mass: float,
    from_: float | Sequence[float],
    to: float | Sequence[float],
    *,
    say: Callable[[str], None] = lambda _: None,
    report: Report | None = None,
    max_seconds: float = np.inf,
    **settings: Any,
) -> Lift:
    """Predict how a person lifts (or lowers) a box of a mass [kg] with both hands, feet where they are.

    `person` is what `kinecast.human` makes. `from_` and `to`: height of the hands, which hold the box in the middle of
    its sides [m], or (height, distance ahead of the ankles); without a distance, the NIOSH manual's for such a box.
    `settings` are those of `LiftTask`: `box` (depth, width, height) [m], `duration` [s] (one number fixes it, two are a
    range), `shelf` and `table` (how far ahead the front edge is of what the box ends and starts on), `coupling`,
    `lifts_per_minute` and `hours` for the NIOSH equation, weights of the objective ... `say` gets the lines of the log
    as they come, `report` every iteration. Ctrl-C and `max_seconds` end with the best lift so far.
    """
    task = task_of(person, mass, from_, to, settings)
    journal = Journal(say, report)
    (up, ahead), (up_to, ahead_to) = task.from_, task.to
    journal.note(
        f"{person.name}, {len(person.coordinates)} coordinates: {task.mass:g} kg from {up:.3g} m ({ahead:.3g} m ahead) "
        f"to {up_to:.3g} m ({ahead_to:.3g} m ahead)"
    )
    solution = solve_lift(person, task, report=journal.follow, max_seconds=max_seconds)
    journal.end(solution)
    return Lift(person, solution, tuple(journal.lines))
