"""Compiled RK4 of a batch beside the same RK4 in a Python loop over Pinocchio's aba, both measured in this run.

    python benchmarks/simulate_peers.py [--model puma560] [--states 1000] [--steps 200]

Free fall from random states, one thread. Prints the time of a step of one state on both sides, their ratio, and how far
the two are apart at the end of the steps that both have made.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

try:
    import pinocchio as pin
except ImportError:
    print("simulate_peers: left out, Pinocchio is not installed")
    raise SystemExit from None

import kinecast
from kinecast.bench.pinocchio_peer import pinocchio_model
from kinecast.simulate import simulate

STEP = 1e-3
PEER_STEPS = 10  # enough of them: 1,000 states make 10,000 steps
ROUNDS = 5


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--model", default="puma560")
    options.add_argument("--states", type=int, default=1000)
    options.add_argument("--steps", type=int, default=200)
    chosen = options.parse_args()
    arm = kinecast.load(chosen.model)
    random = np.random.default_rng(0)
    q, v = random.uniform(-1, 1, (2, chosen.states, arm.n))

    def ours(steps: int) -> tuple[np.ndarray, np.ndarray]:
        run = simulate(
            arm, q, v, until=steps * STEP, integrator="RK4", step=STEP, samples=2, limits="ignore", progress=False
        )
        return run.q[-1], run.v[-1]

    peer = pinocchio_model(arm)
    q_peer, v_peer = peer.to_peer(q), peer.to_peer(v)

    def theirs() -> tuple[np.ndarray, np.ndarray]:
        return fall(peer.model, q_peer, v_peer, PEER_STEPS)

    (q1, v1), (q2, v2) = ours(PEER_STEPS), theirs()  # the first call compiles
    apart = max(np.abs(peer.to_peer(q1) - q2).max(), np.abs(peer.to_peer(v1) - v2).max())
    our_times, their_times = [], []
    for _ in range(ROUNDS):  # in turns, so that both see the same machine
        our_times.append(seconds(lambda: ours(chosen.steps)) / (chosen.steps * chosen.states))
        their_times.append(seconds(theirs) / (PEER_STEPS * chosen.states))
    mine, other = min(our_times), min(their_times)
    print(f"{arm.name}, {chosen.states} initial states, RK4 with steps of {STEP} s, free fall")
    print(f"kinecast, compiled step        {mine * 1e6:8.3f} us a step of one state")
    print(f"Pinocchio {pin.__version__} aba in Python   {other * 1e6:8.3f} us")
    print(f"ratio                          {other / mine:8.1f}")
    print(f"largest difference after {PEER_STEPS} steps: {apart:.1e}")


def fall(model: pin.Model, q: np.ndarray, v: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The states (N, n) after so many RK4 steps of free fall, one after the other."""
    data, tau, h = model.createData(), np.zeros(model.nv), STEP
    q_end, v_end = np.empty_like(q), np.empty_like(v)
    for k in range(len(q)):
        x, y = q[k], v[k]
        for _ in range(steps):
            a1 = pin.aba(model, data, x, y, tau).copy()
            y2 = y + 0.5 * h * a1
            a2 = pin.aba(model, data, x + 0.5 * h * y, y2, tau).copy()
            y3 = y + 0.5 * h * a2
            a3 = pin.aba(model, data, x + 0.5 * h * y2, y3, tau).copy()
            y4 = y + h * a3
            a4 = pin.aba(model, data, x + h * y3, y4, tau)
            x, y = x + h / 6.0 * (y + 2.0 * (y2 + y3) + y4), y + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
        q_end[k], v_end[k] = x, y
    return q_end, v_end


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
