"""A predicted motion: what it is, how it came about, whether it can be trusted. A failed one is sealed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.mechanism import Load, Mechanism
from kinecast.errors import SealedError
from kinecast.motion.basis import Array
from kinecast.motion.bspline import BSpline
from kinecast.predict.closure import Closure, integrate
from kinecast.predict.excess import Excess
from kinecast.predict.refine import Switch
from kinecast.predict.schema import Data
from kinecast.predict.solvers import Status
from kinecast.predict.task import Task
from kinecast.predict.transcribe import load_at

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS_A_SEGMENT = 10
# A sample this part of the duration before a knot where accelerations jump shows them as they were.
BEFORE_JUMP = 1e-9


@dataclass(frozen=True)
class Seconds:
    """What the prediction took: all; in the solver, functions included; in the functions; compiling kernels."""

    total: float
    solver: float
    functions: float
    compile: float


@dataclass(frozen=True, eq=False)
class Samples:
    """At times `t` (N,) [s]: `q`, `v`, `a`, `tau` (N, n), `loads` (N, joints, 6) [mx, my, mz, fx, fy, fz]."""

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    loads: Array


@dataclass(frozen=True, eq=False)
class Motion:
    """A predicted motion. If `status` is neither optimal nor acceptable, only what explains the failure can be read."""

    task: Task
    mechanism: Mechanism
    problem: Data
    status: Status
    message: str
    objective: float
    iterations: int
    seconds: Seconds
    at_nodes: Excess | None  # the largest violation at the points that the solver saw, and between them
    between_nodes: Excess | None
    excesses: Sequence[Excess]  # of every limit, the worst first
    switches: Sequence[Switch]
    history: Sequence[tuple[float, float]]  # (objective, largest scaled violation) of each iteration of the last solve
    variables: int
    constraints: int
    log: Sequence[str]
    unsealed: BSpline  # the motion as it is, whatever the status
    acknowledged: bool = False

    @property
    def ok(self) -> bool:
        """Whether the solver found what was asked for."""
        return self.status in ("optimal", "acceptable")

    def acknowledge(self) -> Motion:
        """The same motion, free to be used although it is not a solution."""
        return replace(self, acknowledged=True)

    @property
    def spline(self) -> BSpline:
        """The motion as a spline."""
        if not self.ok and not self.acknowledged:
            raise SealedError(
                f"this motion is not a solution ({self.status}): {self.message} "
                "To look at it all the same, use motion.acknowledge()"
            )
        return self.unsealed

    @property
    def duration(self) -> float:
        """[s]."""
        return self.spline.duration

    def q(self, t: ArrayLike) -> Array:
        """Positions (times, n) [rad or m]."""
        return self.spline(t)

    def v(self, t: ArrayLike) -> Array:
        """Velocities (times, n)."""
        return self.spline(t, 1)

    def a(self, t: ArrayLike) -> Array:
        """Accelerations (times, n)."""
        return self.spline(t, 2)

    def torque(self, t: ArrayLike) -> Array:
        """Torques [N m] or forces [N] of the drives (times, n)."""
        return self.mechanism.inverse_dynamics(self.q(t), self.v(t), self.a(t), loads=self.applied_loads(t))

    def torque_in_segment(self, t: float, begin: float) -> Array:
        """Torques (n,) at the time t, with the polynomial of the segment that begins at a knot."""
        spline = self.spline
        index = int(np.searchsorted(spline.knots, begin, side="right")) - 1
        q, v, a = (spline.in_span(t, index, order) for order in range(3))
        return self.mechanism.inverse_dynamics(q, v, a, loads=self.applied_loads(t))

    def joint_loads(self, t: ArrayLike) -> Array:
        """What the joints transmit (times, joints, 6), at the joints' origins in body axes."""
        return np.asarray(self.mechanism.joint_loads(self.q(t), self.v(t), self.a(t), loads=self.applied_loads(t)))

    def applied_loads(self, t: ArrayLike) -> list[Load] | None:
        """The loads of the problem at the times t."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        loads = []
        for load in self.task.loads:
            wrench, _ = load_at(load, times)
            wrench = wrench if np.ndim(t) else wrench[0]
            loads.append(Load(load.point, wrench[..., 3:], wrench[..., :3]))
        return loads or None

    def sample(self, points_a_segment: int = POINTS_A_SEGMENT) -> Samples:
        """Dense samples; where accelerations jump, one just before the jump and one at it."""
        spline = self.spline
        breaks, counts = np.unique(spline.knots, return_counts=True)
        inside = np.arange(points_a_segment) / points_a_segment
        t = (breaks[:-1, None] + np.diff(breaks)[:, None] * inside).ravel()
        jumps = breaks[1:-1][counts[1:-1] >= spline.degree - 1]
        t = np.sort(np.concatenate([t, breaks[-1:], jumps - BEFORE_JUMP * spline.duration]))
        return Samples(t, self.q(t), self.v(t), self.a(t), self.torque(t), self.joint_loads(t))

    def check(self, rtol: float = 1e-10, atol: float = 1e-12) -> Closure:
        """Integrate the predicted torques forward (DOP853, forward dynamics) and compare with the predicted motion."""
        return integrate(self, rtol, atol)

    # A figure and a run folder with a report are drawn by the room above; only these two conveniences know of it.

    def plot(self) -> Figure:
        """Positions, velocities, torques with their limits, joint loads, iteration history in one figure."""
        from kinecast.report.figures import overview

        return overview(self)

    def save(self, folder: str | Path) -> Path:
        """The run folder: problem.yaml, result.json, motion.csv, log.txt, report.html."""
        from kinecast.report.run import write_run

        return write_run(self, Path(folder))

    def summary(self) -> dict[str, Any]:
        """What result.json holds, but for the closure."""
        return {
            "status": self.status,
            "message": self.message,
            "duration": self.unsealed.duration,
            "objective": self.objective,
            "iterations": self.iterations,
            "seconds": {key: getattr(self.seconds, key) for key in ("total", "solver", "functions", "compile")},
            "violation": {
                "at_nodes": _amount(self.at_nodes),
                "between_nodes": _amount(self.between_nodes),
                "where": "" if self.between_nodes is None else self.between_nodes.where,
            },
            "variables": self.variables,
            "constraints": self.constraints,
            "segments": len(self.unsealed.breaks) - 1,
            "switches": [{"limit": s.name, "t": s.fraction * self.unsealed.duration} for s in self.switches],
        }


def _amount(excess: Excess | None) -> float | None:
    """By how much; None (JSON has no infinity) where a quantity is not a number."""
    if excess is None:
        return 0.0
    return excess.amount if np.isfinite(excess.amount) else None
