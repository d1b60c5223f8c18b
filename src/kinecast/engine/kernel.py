"""A traced function as a NumPy gufunc: from memory, from disk, or compiled now.

`kernel` is the engine's front door. Tracing (which needs CasADi) happens only when neither this process nor the disk
knows the key.

Example::

    def trace():
        x = casadi.SX.sym("x", 3)
        return casadi.Function("norm2", [x], [casadi.dot(x, x)])

    norm2 = kernel("norm2", key="norm2 of 3", inputs=[Port("x", (3,))], outputs=[Port("y", ())], trace=trace)
    norm2.ufunc(np.ones((1000, 3)))       # (1000,)
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinecast.engine import cache, gufunc
from kinecast.engine.program import Counts
from kinecast.engine.simd import Target, target
from kinecast.engine.tiles import Port

if TYPE_CHECKING:
    import casadi

Progress = Callable[[str, int, int], None]
DENSE, SPARSE = "dense", "sparse"


@dataclass(frozen=True)
class Kernel:
    """A compiled function over leading batch axes.

    ``ufunc`` returns dense arrays; ``sparse_ufunc`` returns, for each output, its structural nonzeros as a vector, whose positions in
    the flattened dense output are ``patterns``.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    ufunc: np.ufunc
    sparse_ufunc: np.ufunc
    patterns: tuple[np.ndarray, ...]
    counts: Counts
    target: Target
    from_cache: bool
    _alive: Any


_known: dict[str, Kernel] = {}
_locks: dict[str, threading.Lock] = {}
_guard = threading.Lock()
_progress: list[Progress] = []


def set_progress(report: Progress | None) -> None:
    """Have ``report(kernel name, modules done, modules in all)`` called while something compiles (None: no more)."""
    _progress[:] = [report] if report else []


@functools.cache
def source_fingerprint(*folders: Path) -> str:
    """Digest of the Python files in some folders: kernels made by other source are other kernels."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def cpu_threads() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def kernel(
    name: str, *, key: str, inputs: Sequence[Port], outputs: Sequence[Port], trace: Callable[[], casadi.Function], doc: str = ""
) -> Kernel:
    """The kernel under a key. ``trace`` must give the same function whenever the key is the same."""
    import llvmlite

    chosen = target()
    ports = tuple(inputs), tuple(outputs)
    own = source_fingerprint(Path(__file__).parent)
    identity = "\n".join([name, key, own, repr(ports), repr(chosen), llvmlite.__version__])
    digest = hashlib.sha256(identity.encode()).hexdigest()
    found = _known.get(digest)
    if found is not None:
        return found
    with _guard:
        lock = _locks.setdefault(digest, threading.Lock())
    with lock:
        if digest not in _known:
            _known[digest] = _from_disk(name, digest, *ports, chosen, doc) or _compile(name, digest, *ports, chosen, doc, trace)
    return _known[digest]


def _from_disk(name: str, digest: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...], chosen: Target, doc: str) -> Kernel | None:
    stored = cache.read(digest)
    if stored is None:
        return None
    header, objects = stored
    return _finish(name, inputs, outputs, chosen, doc, header, objects, from_cache=True)


def _compile(
    name: str, digest: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...], chosen: Target, doc: str, trace: Callable[[], casadi.Function]
) -> Kernel:
    from kinecast.engine import native
    from kinecast.engine.program import fuse, read
    from kinecast.engine.schedule import schedule

    program = read(trace())
    sizes = tuple(p.size for p in inputs), tuple(p.size for p in outputs)
    if (program.input_sizes, program.output_sizes) != sizes:
        raise ValueError(f"{name}: traced sizes {program.input_sizes} -> {program.output_sizes} are not those of the ports {sizes[0]} -> {sizes[1]}")
    plan = schedule(fuse(program))
    report = (lambda done, total: _progress[0](name, done, total)) if _progress else None
    objects = native.compile_schedule(plan, chosen, inputs, outputs, {DENSE: False, SPARSE: True}, cpu_threads(), report)
    header = {"counts": asdict(program.counts), "patterns": [[position for position, _ in o] for o in program.outputs]}
    cache.write(digest, header, objects)
    return _finish(name, inputs, outputs, chosen, doc, header, objects, from_cache=False)


def _finish(
    name: str,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    chosen: Target,
    doc: str,
    header: dict[str, Any],
    objects: list[bytes],
    from_cache: bool,
) -> Kernel:
    from kinecast.engine import native

    patterns = tuple(np.array(p, dtype=np.int64) for p in header["patterns"])
    addresses, owner = native.load(objects, [DENSE, SPARSE], chosen)
    shapes = [p.shape for p in inputs]
    dense, alive_dense = gufunc.make(addresses[DENSE], name, doc, shapes, [p.shape for p in outputs])
    sparse, alive_sparse = gufunc.make(addresses[SPARSE], name + "_sparse", doc, shapes, [(len(p),) for p in patterns])
    alive = (owner, alive_dense, alive_sparse)
    return Kernel(name, inputs, outputs, dense, sparse, patterns, Counts(**header["counts"]), chosen, from_cache, alive)
