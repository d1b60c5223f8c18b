"""The rows of a simulation while it runs, and the counts of what it takes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinecast.dynamics.algorithms import compiled
from kinecast.dynamics.mechanism import BaseMotion, Mechanism
from kinecast.mechanism.checks import Array
from kinecast.simulate.acting import Acting
from kinecast.simulate.limits import LimitEvent
from kinecast.simulate.result import Failure, Simulation, Statistics, Status
from kinecast.simulate.steps import State


@dataclass(eq=False)
class Record:
    """Rows at the times `grid`, and room for the state at which a run ends between two. NaN until they are reached."""

    grid: Array
    batch: tuple[int, ...]
    n: int
    done: int = 1  # rows to keep
    steps: int = 0
    evaluations: int = 0
    smallest_step: float = np.inf
    largest_step: float = 0.0
    events: list[LimitEvent] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    status: Status = "completed"
    reached: float = 0.0  # where a run that is not completed ended

    def __post_init__(self) -> None:
        rows = (len(self.grid) + 1, *self.batch)
        self.t = np.append(self.grid, np.nan)
        self.q, self.v = np.full((2, *rows, self.n), np.nan)
        self.work = np.full(rows, np.nan)

    def put(self, row: int, state: State, index: tuple[int, ...] = ()) -> None:
        """The state at a row, of the whole batch or of the member at `index`."""
        for rows, values in zip((self.q, self.v, self.work), state, strict=True):
            rows[row, ...][index] = values

    def end_at(self, row: int, t: float, state: State, status: Status, index: tuple[int, ...] = ()) -> None:
        """The run ends between two rows: a last one, unless that instant has one already, or it is a batch's member."""
        self.status, self.reached = status, t
        self.events = [event for event in self.events if event.index != index or event.t <= t]
        self.done = len(self.grid) if index else row
        if not index and self.t[row - 1] < t:
            self.t[row] = t
            self.put(row, state)
            self.done = row + 1

    def stepped(self, h: float, members: int, evaluations: int) -> None:
        """A step of `h` s was taken by so many members of the batch."""
        self.steps += members
        self.evaluations += members * evaluations
        self.smallest_step, self.largest_step = min(self.smallest_step, h), max(self.largest_step, h)


def finished(
    record: Record, mechanism: Mechanism, acts: Acting, integrator: str, message: str, seconds: float
) -> Simulation:
    """The simulation of a record: accelerations, torques and energies for its rows."""
    rows = slice(0, record.done)
    t, q, v = record.t[rows], record.q[rows], record.v[rows]
    tau = np.empty_like(q)
    around = []
    for k, at in enumerate(t.tolist()):
        tau[k] = acts.torque(at, q[k], v[k])
        around.append([np.broadcast_to(x, record.batch + x.shape[-1:]) for x in acts.around(at)])
    given = [np.stack(column) for column in zip(*around, strict=True)]
    ground = BaseMotion(given[0], given[1]) if acts.request.base else None
    statistics = Statistics(
        integrator,
        acts.request.method,
        record.steps,
        record.evaluations,
        min(record.smallest_step, record.largest_step),
        record.largest_step,
        seconds,
    )
    return Simulation(
        mechanism=mechanism,
        t=t,
        q=q,
        v=v,
        a=compiled(mechanism, acts.request).ufunc(q, v, tau, *given),
        tau=tau,
        kinetic_energy=mechanism.kinetic_energy(q, v, base=ground),
        potential_energy=mechanism.potential_energy(q),
        work=record.work[rows] if acts.does_known_work else None,
        events=tuple(sorted(record.events, key=lambda event: event.t)),
        failures=tuple(record.failures),
        status=record.status,
        message=message,
        statistics=statistics,
    )
