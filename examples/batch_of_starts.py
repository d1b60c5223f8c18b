"""The fastest motions of a two-link arm from 100 places to one, and how far each could be trusted.

    python examples/batch_of_starts.py [--count 100] [--out starts.csv]

The program is compiled once: what changes from motion to motion, the start, is data. Every line of the CSV has the
start, the least time, the status and what integrating the torques forward ended up off by.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from pathlib import Path

import numpy as np

import kinecast as kc


def main() -> None:
    """Predict them all, write the CSV, say how it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="starts (100)")
    parser.add_argument("--out", type=Path, default=Path("starts.csv"), help="the CSV to leave (starts.csv)")
    given = parser.parse_args()

    plan = kc.Prediction(kc.load("planar2"), segments=20, check_points=5, duration=(0.05, 3.0), gravity=[0, 0, 0])
    plan.end(q=[1.0, -1.0]).limit(torque=10).minimize(time=1)
    starts = np.random.default_rng(0).uniform([-1.5, -2.5], [1.5, -0.3], size=(given.count, 2))

    rows, begun = [], time.perf_counter()
    for q in starts:
        motion = plan.start(q=q).solve()
        off = motion.check().max_q_error if motion.ok else None
        rows.append([*q.round(4), round(motion.duration, 5) if motion.ok else None, motion.status, off])
    seconds = time.perf_counter() - begun

    with given.out.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["q.shoulder", "q.elbow", "least_time", "status", "off"], *rows])
    statuses = ", ".join(f"{count} {status}" for status, count in Counter(row[3] for row in rows).items())
    times = [row[2] for row in rows if row[2] is not None]
    print(f"{given.count} starts in {seconds:.1f} s: {statuses}")
    print(f"least times from {min(times):.3f} to {max(times):.3f} s; all in {given.out}")


if __name__ == "__main__":
    main()
