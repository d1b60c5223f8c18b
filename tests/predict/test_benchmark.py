"""The benchmark compares like with like: plain CasADi and IPOPT end at the same motion."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "predict_casadi.py"


def test_the_plain_program_has_the_same_optimum():
    made = runpy.run_path(str(SCRIPT))
    made["measure"].__globals__["REPEATS"] = 1
    ours, plain = made["measure"]()
    assert ours["J"] == pytest.approx(plain["J"], rel=1e-6)
    assert ours["ratio"] == 1.0
    assert made["two_link"]()["T"] == pytest.approx(0.39314, abs=1e-4)
