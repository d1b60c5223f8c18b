"""The engine: a ``casadi.Function`` becomes vector machine code, called as a NumPy gufunc. No mechanics here."""

from kinecast.engine.batch import call_in_threads
from kinecast.engine.kernel import Kernel, kernel, set_progress
from kinecast.engine.program import Counts
from kinecast.engine.tiles import Port

__all__ = ["Counts", "Kernel", "Port", "call_in_threads", "kernel", "set_progress"]
