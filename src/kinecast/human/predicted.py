"""What the results of predictions of people share: the seal on what is no solution, their numbers, the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from kinecast.errors import SealedError
from kinecast.human.contact import Motion
from kinecast.human.solving import Report, Stage, Status
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array


class Solution(Protocol):
    """The variables of a prediction, and how they were found."""

    @property
    def x(self) -> Array: ...  # noqa: D102
    @property
    def status(self) -> Status: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def objective(self) -> float: ...  # noqa: D102
    @property
    def violation(self) -> float: ...  # noqa: D102
    @property
    def optimality(self) -> float: ...  # noqa: D102
    @property
    def stages(self) -> tuple[Stage, ...]: ...  # noqa: D102
    @property
    def active(self) -> int: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102
    @property
    def variables(self) -> int: ...  # noqa: D102
    @property
    def constraints(self) -> int: ...  # noqa: D102
    @property
    def iterations(self) -> int: ...  # noqa: D102


class Sampled(Motion, Protocol):
    """A motion with the torques and the ground's reactions, at times of its own."""

    @property
    def t(self) -> Array: ...  # noqa: D102
    @property
    def tau(self) -> Array: ...  # noqa: D102
    @property
    def reaction(self) -> dict[str, Array]: ...  # noqa: D102
    @property
    def zmp(self) -> Array: ...  # noqa: D102


AnySolution = TypeVar("AnySolution", bound=Solution)
AnyPredicted = TypeVar("AnyPredicted", bound="Predicted[Any]")
# Names in result.json of what the solver's stages measured.
_SECONDS = {
    "solver": "total",
    "functions": "functions",
    "derivatives": "derivatives",
    "linear_algebra": "linear algebra",
}


@dataclass(frozen=True, eq=False)
class Predicted(Generic[AnySolution]):
    """A predicted motion of a person, sealed unless it is a solution or acknowledged."""

    what: ClassVar[str] = "motion"

    person: Structure  # with what is carried
    unsealed: AnySolution
    log: tuple[str, ...] = ()
    acknowledged: bool = False

    @property
    def status(self) -> Status:
        """optimal, acceptable, infeasible, iteration_limit, time_limit, interrupted or failed."""
        return self.unsealed.status

    @property
    def message(self) -> str:
        """The status in words."""
        return self.unsealed.message

    @property
    def ok(self) -> bool:
        """Whether what was asked for was found."""
        return self.status in ("optimal", "acceptable")

    def acknowledge(self: AnyPredicted) -> AnyPredicted:
        """The same, free to be used although it is not a solution."""
        return replace(self, acknowledged=True)

    @property
    def solution(self) -> AnySolution:
        """The variables, and how they were found."""
        if not self.ok and not self.acknowledged:
            raise SealedError(
                f"this {self.what} is not a solution ({self.status}): {self.message} "
                f"To look at it all the same, use {self.what}.acknowledge()"
            )
        return self.unsealed

    # ------------------------------------------------------------------------------------------ the motion

    @property
    def samples(self) -> Sampled:
        """Everything of the motion."""
        raise NotImplementedError

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

    # ------------------------------------------------------------------------------------------ numbers

    def numbers(self, duration: float) -> dict[str, Any]:
        """What result.json says of any prediction, checks aside."""
        solution = self.unsealed
        totals = {key: sum(stage.seconds.get(key, 0.0) for stage in solution.stages) for key in _SECONDS.values()}
        seconds = {"total": solution.seconds} | {name: totals[key] for name, key in _SECONDS.items()}
        return {
            "status": self.status,
            "message": self.message,
            "duration": duration,
            "objective": solution.objective,
            "iterations": solution.iterations,
            "seconds": seconds | {"compile": max(0.0, solution.seconds - totals["total"])},
            "violation": {"at_nodes": float(solution.violation)},
            "optimality": finite(solution.optimality),
            "variables": solution.variables,
            "constraints": solution.constraints,
            "active": solution.active,
        }


def finite(number: float) -> float | None:
    """The number, for JSON, which knows no infinity."""
    return float(number) if np.isfinite(number) else None


@dataclass
class Journal:
    """The log of a prediction; `say` gets its lines as they come, but for the iterations, which `report` gets."""

    say: Callable[[str], None]
    report: Report | None
    lines: list[str] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)

    def note(self, line: str) -> None:
        """One more line."""
        self.lines.append(line)
        self.say(line)

    def follow(self, stage: str, iteration: int, objective: float, violation: float, optimality: float) -> None:
        """One more iteration of a stage."""
        if stage not in self._told:
            self._told.add(stage)
            self.note(f"{stage}:")
            self.lines.append("iteration  objective          violation  optimality")
        self.lines.append(f"{iteration:9d}  {objective:.10e}  {violation:.2e}   {optimality:.2e}")
        if self.report is not None:
            self.report(stage, iteration, objective, violation, optimality)

    def end(self, solution: Solution) -> None:
        """How it ended."""
        self.note(f"{solution.status}: {solution.message}")
        self.note(f"{solution.iterations} iterations in {solution.seconds:.2f} s, {solution.active} limits active")
