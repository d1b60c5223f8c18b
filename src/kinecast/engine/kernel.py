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
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kinecast.engine import cache, gufunc
from kinecast.engine.program import Counts
from kinecast.engine.simd import Target, target
from kinecast.engine.tiles import Port

if TYPE_CHECKING:
    import casadi

Progress = Callable[[str, int, int], None]
DENSE, SPARSE = "dense", "sparse"


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled function over leading batch axes.

    ``ufunc`` returns dense arrays; ``sparse_ufunc`` returns, for each output, its structural nonzeros as a vector, and
    ``patterns`` their positions in the flattened dense output. An output that is zero throughout has one, a zero.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    ufunc: np.ufunc
    sparse_ufunc: np.ufunc
    patterns: tuple[NDArray[np.int64], ...] = field(repr=False)
    counts: Counts
    target: Target
    from_cache: bool
    _alive: Any = field(repr=False)


_known: dict[str, Kernel] = {}
_locks: dict[str, threading.Lock] = {}
_guard = threading.Lock()
_progress: list[Progress] = []


def set_progress(report: Progress | None) -> None:
    """Have ``report(kernel name, modules done, modules in all)`` called while something compiles (None: no more).

    It is called by the thread that asked for the kernel.
    """
    _progress[:] = [report] if report else []


@dataclass(frozen=True)
class _Request:
    """What is asked for, but for how to trace it."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    target: Target
    doc: str
    digest: str


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
    name: str,
    *,
    key: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    trace: Callable[[], casadi.Function],
    doc: str = "",
) -> Kernel:
    """The kernel under a key. ``trace`` must give the same function whenever the key is the same."""
    import llvmlite

    empty = [port.name for port in (*inputs, *outputs) if not port.size]
    if empty:
        raise ValueError(f"{name}: {empty[0]!r} has no entries; every argument of a kernel needs at least one")
    chosen = target()
    ports = tuple(inputs), tuple(outputs)
    own = source_fingerprint(Path(__file__).parent)
    identity = "\n".join([name, key, own, repr(ports), repr(chosen), sys.platform, llvmlite.__version__])
    request = _Request(name, *ports, chosen, doc, digest=hashlib.sha256(identity.encode()).hexdigest())
    found = _known.get(request.digest)
    if found is not None:
        return found
    with _guard:
        lock = _locks.setdefault(request.digest, threading.Lock())
    with lock:
        if request.digest not in _known:
            _known[request.digest] = _from_disk(request) or _compile(request, trace)
    return _known[request.digest]


def _from_disk(request: _Request) -> Kernel | None:
    stored = cache.read(request.digest)
    if stored is None:
        return None
    try:
        return _finish(request, *stored, from_cache=True)
    except Exception:
        return None  # whatever is wrong with the file, compiling again is the remedy


def _compile(request: _Request, trace: Callable[[], casadi.Function]) -> Kernel:
    from kinecast.engine import native
    from kinecast.engine.program import fuse, read
    from kinecast.engine.schedule import schedule

    program = read(trace())
    traced = f"{program.input_sizes} -> {program.output_sizes}"
    expected = f"{tuple(p.size for p in request.inputs)} -> {tuple(p.size for p in request.outputs)}"
    if traced != expected:
        raise ValueError(f"{request.name}: the traced sizes {traced} are not those of the ports, {expected}")
    plan = schedule(fuse(program))
    report = functools.partial(_progress[0], request.name) if _progress else None
    ports = request.inputs, request.outputs
    objects = native.compile_schedule(plan, request.target, *ports, {DENSE: False, SPARSE: True}, cpu_threads(), report)
    header = {"counts": asdict(program.counts), "patterns": [[position for position, _ in o] for o in program.outputs]}
    made = _finish(request, header, objects, from_cache=False)
    cache.write(request.digest, header, objects)
    return made


def _finish(request: _Request, header: dict[str, Any], objects: list[bytes], from_cache: bool) -> Kernel:
    from kinecast.engine import native

    patterns = tuple(np.array(p, dtype=np.int64) for p in header["patterns"])
    addresses, owner = native.load(objects, [DENSE, SPARSE], request.target)
    shapes = [p.shape for p in request.inputs]
    dense, alive_dense = gufunc.make(
        addresses[DENSE], request.name, request.doc, shapes, [p.shape for p in request.outputs]
    )
    sparse, alive_sparse = gufunc.make(
        addresses[SPARSE], request.name + "_sparse", request.doc, shapes, [(len(p),) for p in patterns]
    )
    return Kernel(
        name=request.name,
        inputs=request.inputs,
        outputs=request.outputs,
        ufunc=dense,
        sparse_ufunc=sparse,
        patterns=patterns,
        counts=Counts(**header["counts"]),
        target=request.target,
        from_cache=from_cache,
        _alive=(owner, alive_dense, alive_sparse),
    )
