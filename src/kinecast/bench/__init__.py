"""Speeds on this machine, and beside Pinocchio and MuJoCo where they are installed: `run_bench`.

Ours are times of the public call on NumPy arrays, one thread, results written to arrays made before. Everything that is
compared is measured in the same run, one after the other, and is the best of many repetitions.
"""

from kinecast.bench.runner import Row, run_bench

__all__ = ["Row", "run_bench"]
