"""What ``kinecast simulate`` does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kinecast.dynamics.mechanism import Mechanism
from kinecast.errors import InputError
from kinecast.simulate.result import IntegrationError, Simulation
from kinecast.simulate.simulation import simulate
from kinecast.tables import text_table


def run(
    mechanism: Mechanism,
    q: str,
    v: str,
    motion: Path | None,
    out: Path | None,
    *,
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> bool:
    """Simulate, and write the motion to `out` or to stdout; whether the end was reached. `how`: options of `simulate`.

    Ctrl-C keeps the rows so far.
    """
    if out is not None and not out.absolute().parent.is_dir():  # said before the work, not after it
        raise InputError(f"{out}: cannot be written: there is no folder {out.parent}")
    try:
        result = simulate(mechanism, numbers("--q", q), numbers("--v", v), torque=motion, progress=not quiet, **how)
    except IntegrationError as error:
        _remark(str(error))
        if out is not None:
            error.simulation.save(out)
            _remark(f"the motion until t = {error.simulation.t[-1]:.6g} s is in {out}")
        return False
    if out is not None:
        result.save(out)
    if not quiet:
        for event in result.events:
            _remark(str(event) + (", and the simulation stops" if result.status == "limit" else ""))
    if result.status == "interrupted":
        _remark(result.message)
    if as_json:
        print(json.dumps(result.summary() | ({"out": str(out)} if out else {"columns": _columns(result)}), indent=1))
    elif out is None:
        print(result.motion_file().text(), end="")
    elif not quiet:
        print(_table(result))
    return result.status != "interrupted"


def numbers(option: str, text: str) -> float | list[float]:
    """One number, or several with commas between."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} must be numbers with commas between, such as 0,-1.5, got {text!r}") from None
    return values[0] if len(values) == 1 else values


def _remark(line: str) -> None:
    print(f"kinecast: {line}", file=sys.stderr)


def _columns(result: Simulation) -> dict[str, list[float]]:
    file = result.motion_file()
    return {name: file.numbers(name).tolist() for name in file.header}


def _table(result: Simulation) -> str:
    rows = [
        (name, *(float(x) for x in (result.q[-1, k], result.v[-1, k], result.q[:, k].min(), result.q[:, k].max())))
        for k, name in enumerate(result.mechanism.coordinates)
    ]
    statistics = result.statistics
    took = f"{statistics.integrator}: {statistics.steps} steps in {statistics.seconds:.3g} s"
    drift = result.relative_energy_drift
    energy = "" if drift is None else f"; energy drifts by {drift:.1e} of what moves"
    columns = ("coordinate", f"q at {result.t[-1]:g} s", "v", "lowest q", "highest q")
    return f"{text_table(columns, rows)}\n{took}{energy}"
