"""All formulations against the default: random chains and trees, every kind of joint, loads, moving ground, drives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinecast.dynamics.mechanism import BaseMotion, Load, Mechanism
from kinecast.dynamics.tracing import methods_for
from kinecast.mechanism.checks import Array
from kinecast.verify.frame import SOLVED, Check, agree, all_agree
from kinecast.verify.samples import LOADED, State, evaluate, states, varied

PAPER = "all methods"
# Two recursions with some hundred operations a link, over as many as 30 links.
RECURSIONS = 1e-10
# The nested sums of the regular Lagrangian: see `lagrange_regular.LARGEST`.
LARGEST_REGULAR = 12


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism, and what acts on it."""

    name: str
    mechanism: Mechanism
    ground: bool = False
    loads: tuple[str, ...] = ()

    def surroundings(self) -> list[Array]:
        """Numbers for motion of the ground and loads, the same at every call."""
        rng = np.random.default_rng(self.mechanism.n)
        moving = [rng.normal(size=6), rng.normal(size=6)] if self.ground else []
        return [*moving, *(rng.normal(size=3) * size for _ in self.loads for size in (20.0, 5.0))]


def cases() -> Iterator[Case]:
    """The mechanisms, made one after the other."""
    yield Case("1 turning joint", varied(1, sliding="none"))
    yield Case("1 sliding joint", varied(1, sliding="all"))
    yield Case("2-joint chain", varied(2), loads=LOADED)
    yield Case("6 turning joints", varied(6, sliding="none", seed=6))
    yield Case("6 sliding joints", varied(6, sliding="all", seed=6))
    yield Case("7-joint chain, ground, loads, drives", varied(7, gears=True, seed=6), True, LOADED)
    yield Case("8-joint tree, ground, loads, drives", varied(8, tree=True, gears=True, seed=6), True, LOADED)
    yield Case("12-joint tree, loads, drives", varied(12, tree=True, gears=True, seed=6), loads=LOADED)
    yield Case("30-joint tree, ground, loads, drives", varied(30, tree=True, gears=True, seed=6), True, LOADED)


def checks(folder: Path | None) -> Iterator[Check]:
    """Every quantity that more than one method computes, for every mechanism."""
    for case in cases():
        n = case.mechanism.n
        state = (states(n)[0][0], states(n)[1][0], states(n)[2][0])
        yield from _inverse(case, state)
        yield from _forward(case, state)
        if n <= LARGEST_REGULAR:
            yield from _matrices(case, state[0])
    yield _compiled()


def _inverse(case: Case, state: State) -> Iterator[Check]:
    for algorithm, what in (
        ("inverse_dynamics", "torques"),
        ("inverse_dynamics_sensitivities", "their sensitivities"),
        ("joint_loads", "joint loads"),
        ("joint_loads_sensitivities", "their sensitivities"),
    ):
        arguments = [*state, *case.surroundings()]
        reference = _computed(case, algorithm, arguments, "spatial")
        found = {method: _computed(case, algorithm, arguments, method) for method in _able(case, algorithm)}
        what = f"joint loads, {what}" if algorithm == "joint_loads_sensitivities" else what
        yield all_agree(PAPER, f"{case.name}: {what}", reference, found, RECURSIONS)


def _forward(case: Case, state: State) -> Iterator[Check]:
    """Accelerations are compared by the torques they need: M (found - a), as M may be badly conditioned.

    The loads that come with them are compared with those of inverse dynamics.
    """
    q, v, a = state
    further = case.surroundings()
    tau = _computed(case, "inverse_dynamics", [*state, *further], "spatial")
    (M,) = evaluate(case.mechanism, "mass_matrix", [q])
    arguments = [q, v, tau, *further]
    methods = ["spatial", *_able(case, "forward_dynamics")]
    found = {method: tau + M @ (_computed(case, "forward_dynamics", arguments, method) - a) for method in methods}
    yield all_agree(PAPER, f"{case.name}: torques of the accelerations they cause", tau, found, RECURSIONS)
    algorithm = "forward_dynamics_and_loads"
    loads = {method: _computed(case, algorithm, arguments, method)[0] for method in _able(case, algorithm)}
    reference = _computed(case, "joint_loads", [q, v, a, *further], "spatial")
    yield all_agree(PAPER, f"{case.name}: joint loads of the torques", reference, loads, RECURSIONS)


def _matrices(case: Case, q: Array) -> Iterator[Check]:
    (M,) = evaluate(case.mechanism, "mass_matrix", [q])
    found = {method: evaluate(case.mechanism, "mass_matrix", [q], method)[0] for method in methods_for("mass_matrix")}
    yield all_agree(PAPER, f"{case.name}: mass matrix", M, found)
    eye = np.eye(len(q))
    products = {
        method: evaluate(case.mechanism, "inverse_mass_matrix", [q], method)[0] @ M
        for method in ("spatial", *methods_for("inverse_mass_matrix"))
    }
    yield all_agree(PAPER, f"{case.name}: M^-1 M = 1", eye, products, SOLVED)


def _computed(case: Case, algorithm: str, arguments: list[Array], method: str) -> Array:
    """Values, or all sensitivities one after the other."""
    found = evaluate(case.mechanism, algorithm, arguments, method, base=case.ground, loads=case.loads)
    return found[0] if len(found) == 1 else np.stack(found[1:])


def _able(case: Case, algorithm: str) -> list[str]:
    small = case.mechanism.n <= LARGEST_REGULAR
    return [method for method in methods_for(algorithm) if small or method != "lagrange_regular"]


def _compiled() -> Check:
    """The compiled kernels against the same programs evaluated one operation after the other."""
    case = Case("7 joints", varied(7, gears=True, seed=6), True, LOADED)
    q, v, a = (x[:9] for x in states(7))
    velocity, acceleration, *pulls = case.surroundings()
    loads = [Load(point, *pulls[2 * k : 2 * k + 2]) for k, point in enumerate(case.loads)]
    tau = case.mechanism.inverse_dynamics(q, v, a, loads=loads, base=BaseMotion(velocity, acceleration))
    rows = (
        _computed(case, "inverse_dynamics", [*row, *case.surroundings()], "spatial")
        for row in zip(q, v, a, strict=True)
    )
    return agree(PAPER, "7-joint chain: compiled kernel against its program, 9 samples", [*rows], tau)
