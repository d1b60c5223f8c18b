"""What a simulation leaves: the motion, its energy, what happened on the way, what it took."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kinecast.dynamics.mechanism import Mechanism
from kinecast.errors import KinecastError, NotSupportedError
from kinecast.mechanism.checks import Array
from kinecast.motion.files import MotionFile
from kinecast.simulate.limits import LimitEvent

Status = Literal["completed", "limit", "interrupted"]
NUMBERS_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Failure:
    """Where an integration could not go on: time, member of the batch, the last state, and why."""

    t: float
    index: tuple[int, ...]
    q: Array
    v: Array
    reason: str

    def __str__(self) -> str:
        which = f" in initial state {', '.join(map(str, self.index))}" if self.index else ""
        return f"stopped{which} at t = {self.t:.6g} s, q = {_shown(self.q)}, v = {_shown(self.v)}: {self.reason}"


class IntegrationError(KinecastError):
    """The integrator could not go on. `failure` has time and state, `simulation` what there is until then."""

    def __init__(self, message: str, failure: Failure, simulation: Simulation) -> None:
        super().__init__(message)
        self.failure = failure
        self.simulation = simulation


@dataclass(frozen=True)
class Statistics:
    """What it took; evaluations of the forward dynamics and steps are summed over a batch, steps are in s."""

    integrator: str
    method: str
    steps: int
    evaluations: int
    smallest_step: float
    largest_step: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Simulation:
    """A motion: time along the first axis, then the axes of the batch, the coordinates last. SI units.

    `a` and `tau` belong to `q` and `v` at the same instant. `work` [J] is what the torques have done since t = 0.
    Energies, work and their sums are (T, ...); rows of a batch's member that were not reached are NaN.
    """

    mechanism: Mechanism
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    kinetic_energy: Array
    potential_energy: Array
    work: Array | None  # None where loads or a moving ground do work that is not counted
    events: tuple[LimitEvent, ...]
    failures: tuple[Failure, ...]
    status: Status
    message: str
    statistics: Statistics

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy [J]."""
        return self.kinetic_energy + self.potential_energy

    @property
    def energy_drift(self) -> Array | None:
        """Energy that came from nowhere since the first row [J]: its change less the work done."""
        if self.work is None:
            return None
        gained = self.energy - self.work
        drift: Array = gained - gained[0]
        return drift

    @property
    def relative_energy_drift(self) -> Array | None:
        """The largest drift (...,) beside the largest kinetic energy or change of potential energy on the way."""
        drift = self.energy_drift
        if drift is None:
            return None
        moved = np.fmax(self.kinetic_energy, np.abs(self.potential_energy - self.potential_energy[0]))
        largest, scale = np.fmax.reduce(np.abs(drift), axis=0), np.fmax.reduce(moved, axis=0)
        return np.divide(largest, scale, out=np.zeros_like(largest), where=scale > 0.0)

    def motion_file(self) -> MotionFile:
        """The motion as a motion file, with the energy as a column; for one initial state."""
        if self.q.ndim != 2:
            raise NotSupportedError(
                f"a motion file holds one motion and this simulation has {self.q[0, ..., 0].size}; "
                "simulate one initial state"
            )
        columns = {"t": self.t}
        for kind, values in (("q", self.q), ("v", self.v), ("a", self.a), ("tau", self.tau)):
            columns |= {f"{kind}.{name}": values[:, k] for k, name in enumerate(self.mechanism.coordinates)}
        columns["energy"] = self.energy
        rows = len(self.t)
        empty = MotionFile("simulation", (), ((),) * rows, tuple(range(2, rows + 2)))
        return empty.with_columns(columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a motion file (CSV), which appears whole or not at all."""
        self.motion_file().write(path)

    def summary(self) -> dict[str, Any]:
        """Status, events and statistics as plain data."""
        drift = self.relative_energy_drift
        return {
            "mechanism": self.mechanism.name,
            "status": self.status,
            "message": self.message,
            "until": float(self.t[-1]),
            "samples": len(self.t),
            "relative_energy_drift": None if drift is None else drift.tolist(),
            "events": [vars(event) for event in self.events],
            "failures": [str(failure) for failure in self.failures],
            "statistics": vars(self.statistics),
        }


def _shown(values: Array) -> str:
    shown = ", ".join(f"{x:.6g}" for x in values[:NUMBERS_SHOWN])
    return f"({shown}{', ...' if len(values) > NUMBERS_SHOWN else ''})"
