"""The benchmark: which model, which algorithm, which batch, and who else computes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from kinecast.bench import models, mujoco_peer, native, pinocchio_peer
from kinecast.bench.tree import tree_of, with_ball_and_free_joints
from kinecast.dynamics.algorithms import ALGORITHMS
from kinecast.dynamics.mechanism import Mechanism
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

Say = Callable[[str], None]

TIMED = (
    "inverse_dynamics",
    "inverse_dynamics_sensitivities",
    "forward_dynamics",
    "forward_dynamics_sensitivities",
    "mass_matrix",
    "inverse_mass_matrix",
    "coriolis_matrix",
    "jacobian",
    "center_of_mass",
)
SCALING = ("inverse_dynamics", "forward_dynamics")
MEASURE_SECONDS = 0.3  # spent on each measurement
NATIVE_SAMPLES = 128  # as many as Pinocchio's own benchmarks run over
WRITES = "memory"  # the peer whose time is that of writing the results' bytes


@dataclass(frozen=True)
class Row:
    """One measurement: us a sample of ours, of a peer, and how many times faster we are."""

    model: str
    algorithm: str
    batch: int
    us: float
    peer: str | None = None
    peer_us: float | None = None
    ratio: float | None = None


def run_bench(peers: bool = False, quick: bool = False, say: Say = lambda text: None) -> list[Row]:
    """All rows. `quick`: two models, short measurements; `say` is told what is going on and what is left out."""
    seconds = MEASURE_SECONDS / (6 if quick else 1)
    arm = "panda" if "panda" in models.names() else "chain7"
    programs = _native_programs(say) if peers else {}
    rows: list[Row] = []
    for name, batches in _plan(arm, quick):
        say(f"measuring {name}")
        rows += _model_rows(name, batches, seconds, peers, programs, say)
    if not quick:
        for n in models.CHAIN_LENGTHS:
            say(f"measuring a chain of {n}")
            rows += _model_rows(f"chain{n}", (1024,), seconds, False, programs, say, SCALING)
        rows += _writing_rows("human55", 4096, seconds)
        rows.append(_compile_row("human55", "inverse_dynamics_sensitivities"))
    return rows


def _plan(arm: str, quick: bool) -> list[tuple[str, tuple[int, ...]]]:
    plan: list[tuple[str, tuple[int, ...]]] = [(arm, (1, 4096)), ("human55", (1, 64))]
    if not quick and "talos" in models.names():
        plan.insert(1, ("talos", (1, 256)))
    return plan


def _native_programs(say: Say) -> dict[str, Any]:
    try:
        return dict(native.programs(say))
    except native.NoNativePeer as reason:
        say(f"without Pinocchio's C++: {reason}")
        return {}


def _model_rows(
    name: str,
    batches: tuple[int, ...],
    seconds: float,
    peers: bool,
    programs: dict[str, Any],
    say: Say,
    algorithms: tuple[str, ...] = TIMED,
) -> Iterator[Row]:
    mechanism = Mechanism.of(models.structure(name))
    random = np.random.default_rng(1)
    samples = random.uniform(-1, 1, (max(*batches, NATIVE_SAMPLES), 4, mechanism.n))
    slow: dict[str, dict[str, float]] = {}
    if programs:
        slow |= _native_times(mechanism, programs, samples[:NATIVE_SAMPLES], seconds, say)
    for algorithm in algorithms:
        for batch in batches:
            us = time_call(mechanism, algorithm, samples[:batch], seconds)
            rivals = {peer: times[algorithm] for peer, times in slow.items() if batch > 1 and algorithm in times}
            if peers and batch == 1:
                rivals |= _python_times(mechanism, algorithm, samples[0], seconds, say)
            if not rivals:
                yield Row(name, algorithm, batch, us)
            for peer, peer_us in rivals.items():
                yield Row(name, algorithm, batch, us, peer, peer_us, peer_us / us)


def time_call(mechanism: Mechanism, algorithm: str, samples: Array, seconds: float, sparse: bool = False) -> float:
    """us a sample of the public call on samples (N, 4, n) of q, v, a, tau; one alone is a call without a batch."""
    batch = len(samples)
    columns = dict(zip(("q", "v", "a", "tau"), np.ascontiguousarray(samples.swapaxes(0, 1)), strict=True))
    state = [columns[x][0] if batch == 1 else columns[x] for x in ALGORITHMS[algorithm].state]
    call = _public_call(mechanism, algorithm, state, sparse)
    return best_time(call, seconds) / batch * 1e6


def _public_call(mechanism: Mechanism, algorithm: str, state: list[Array], sparse: bool) -> Callable[[], object]:
    options: dict[str, Any] = {}
    name = algorithm
    if algorithm.endswith("_sensitivities"):
        name = algorithm.removesuffix("_sensitivities")
        options = {"sensitivities": True, "sparse": sparse}
    method = getattr(mechanism, name)
    if algorithm == "jacobian":
        method = partial(method, "benchmark tip" if mechanism.name in models.ROBOTS else "tip")
    found = method(*state, **options)
    if state[0].ndim == 1:
        return lambda: method(*state, **options)
    if not options:
        return lambda: method(*state, out=found)
    first, d = found
    out = (first, *((m.values if sparse else m) for m in vars(d).values()))
    return lambda: method(*state, out=out, **options)


def best_time(call: Callable[[], object], seconds: float) -> float:
    """Seconds of one call: the best of many rounds of calls that last about a millisecond each."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, int(1e-3 / once))
    best = float("inf")
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        best = min(best, (time.perf_counter() - start) / inner)
    return best


def _native_times(
    structure: Structure, programs: dict[str, Any], samples: Array, seconds: float, say: Say
) -> dict[str, dict[str, float]]:
    """us by peer and algorithm: the same coordinates, and ball and free joints where these fit."""
    tree = tree_of(structure)
    ours = samples[..., list(tree.order)]
    merged = with_ball_and_free_joints(tree.joints)
    variants = {native.PEER: list(tree.joints)}
    if len(merged) != len(tree.joints):
        variants[f"{native.PEER}, ball joints"] = merged
    found = {}
    for peer, joints in variants.items():
        try:
            times = native.time_algorithms(programs, joints, structure.gravity, ours, seconds)
        except native.NoNativePeer as reason:
            say(f"without {peer} on {structure.name}: {reason}")
            continue
        found[peer] = {algorithm: timing.microseconds for algorithm, timing in times.items()}
    return found


def _python_times(mechanism: Mechanism, algorithm: str, sample: Array, seconds: float, say: Say) -> dict[str, float]:
    found = {}
    for module, peer in (("pinocchio", pinocchio_peer), ("mujoco", mujoco_peer)):
        if find_spec(module) is None:
            say(f"without {module}: not installed")
            continue
        model: Any = peer.pinocchio_model(mechanism) if peer is pinocchio_peer else peer.mujoco_model(mechanism)
        calls = peer.calls(model, *sample)
        if algorithm in calls:
            found[peer.PEER] = best_time(calls[algorithm], seconds) * 1e6
    return found


def _writing_rows(name: str, batch: int, seconds: float) -> Iterator[Row]:
    """Sensitivities of a batch larger than the caches, dense and sparse, beside writing as many bytes."""
    mechanism = Mechanism.of(models.structure(name))
    samples = np.random.default_rng(1).uniform(-1, 1, (batch, 4, mechanism.n))
    for sparse, label in ((False, ""), (True, ", sparse")):
        us = time_call(mechanism, "inverse_dynamics_sensitivities", samples, seconds, sparse)
        state = samples[:1].swapaxes(0, 1)[:3]
        d = mechanism.inverse_dynamics(*state, sensitivities=True, sparse=sparse)[1]
        size = mechanism.n + sum((m.values if sparse else m).size for m in vars(d).values())
        write_us = best_time(partial(np.empty((batch, size)).fill, 1.0), seconds) / batch * 1e6
        yield Row(name, f"inverse_dynamics_sensitivities{label}", batch, us, WRITES, write_us, write_us / us)


def _compile_row(name: str, algorithm: str) -> Row:
    """How long the first call ever takes: traced and compiled, nothing from the cache."""
    import os
    import tempfile

    structure = models.structure(name)
    fresh = structure.replace(gravity=structure.gravity * (1 + 1e-9))  # another mechanism, for every cache
    before = os.environ.get("KINECAST_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KINECAST_CACHE"] = folder
        try:
            start = time.perf_counter()
            state = [np.zeros(structure.n)] * 3
            Mechanism.of(fresh).inverse_dynamics(*state, sensitivities=True)
            return Row(name, f"first call of {algorithm}", 1, (time.perf_counter() - start) * 1e6)
        finally:
            if before is None:
                del os.environ["KINECAST_CACHE"]
            else:
                os.environ["KINECAST_CACHE"] = before
