"""How long a predicted walk takes and on what: cold process, warm, another person; frozen set and all 55 coordinates.

    python benchmarks/walk.py [--json] [--repeats 3]

One thread. The walk is the thesis's: 1.2 m/s with steps of 0.6 m (34.10 s there, for 330 variables and 1726
constraints). Kernels are compiled once and kept on disk (`kinecast doctor`): the first run of this file on a machine
compiles them, and its first row says how long that took. A cold process is a fresh Python from its start to its end,
kernels on disk. The other rows are of the fastest repeat.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import kinecast as kc

SPEED, STEP = 1.2, 0.6
FROZEN = {"frozen": "walking", "all": ()}
OTHER = (1.62, 58.0, "female", 1.0)  # stature, mass, sex, speed
THESIS = {"variables": 330, "constraints": 1726, "active": 244, "seconds": 34.10}


def measured(person: kc.Mechanism, speed: float, step: float | None) -> dict[str, object]:
    """One walk: seconds until its first iterate and until its end, and what they were spent on."""
    start, first = time.perf_counter(), []

    def seen(*_: object) -> None:
        if not first:
            first.append(time.perf_counter() - start)

    walk = kc.walk(person, speed, step, report=seen)
    seconds = time.perf_counter() - start
    summary = walk.summary()
    split = {name: summary["seconds"][name] for name in ("functions", "derivatives", "linear_algebra")}
    return {
        "status": walk.status,
        "seconds": seconds,
        "starts_after": first[0],
        **split,
        "other": seconds - sum(split.values()),
        "iterations": summary["iterations"],
        "stages": {stage.name: stage.iterations for stage in walk.unsealed.stages},
        **{name: summary[name] for name in ("variables", "constraints", "active")},
    }


def fastest(runs: list[dict[str, object]]) -> dict[str, object]:
    return min(runs, key=lambda run: run["seconds"])


def cold(freeze: object) -> float:
    """Seconds of a fresh process that predicts the walk."""
    code = f"import kinecast as kc; kc.walk(kc.human(1.75, 75, 'male', freeze={freeze!r}), {SPEED}, {STEP})"
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def bench(repeats: int) -> dict[str, dict[str, object]]:
    """All rows, by the set of coordinates and the kind of run."""
    rows = {}
    for name, freeze in FROZEN.items():
        man = kc.human(1.75, 75, "male", freeze=freeze)
        rows[f"{name}, first in this process"] = measured(man, SPEED, STEP)
        rows[f"{name}, cold process"] = {"seconds": min(cold(freeze) for _ in range(repeats))}
        rows[f"{name}, warm"] = fastest([measured(man, SPEED, STEP) for _ in range(repeats)])
        stature, mass, sex, speed = OTHER
        woman = kc.human(stature, mass, sex, freeze=freeze)
        rows[f"{name}, another person and speed"] = fastest([measured(woman, speed, None) for _ in range(repeats)])
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", action="store_true")
    options.add_argument("--repeats", type=int, default=3)
    chosen = options.parse_args()
    rows = bench(chosen.repeats)
    if chosen.json:
        print(json.dumps({"thesis": THESIS, "rows": rows}, indent=1))
        return
    heads = ("seconds", "starts_after", "functions", "derivatives", "linear_algebra", "other", "iterations")
    print(f"{'walk, 1.2 m/s, 0.6 m [s]':36}" + "".join(f"{head.replace('_', ' '):>15}" for head in heads))
    for name, row in rows.items():
        cells = [f"{row[h]:15.3f}" if isinstance(row.get(h), float) else f"{row.get(h, ''):>15}" for h in heads]
        print(f"{name:36}" + "".join(cells))
    for name in FROZEN:
        row = rows[f"{name}, warm"]
        print(
            f"{name}: {row['variables']} variables, {row['constraints']} constraints, {row['active']} active; "
            f"{row['status']} in {row['stages']} iterations"
        )
    print("thesis: " + ", ".join(f"{value} {name}" for name, value in THESIS.items()))


if __name__ == "__main__":
    main()
