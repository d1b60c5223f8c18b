"""One call of a gufunc over a large batch, split among threads (the calls run without the GIL)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from kinecast.engine.kernel import Kernel


def call_in_threads(
    kernel: Kernel, arguments: Sequence[np.ndarray], threads: int, out: Sequence[np.ndarray] | None = None, sparse: bool = False
) -> tuple[np.ndarray, ...]:
    """Like ``kernel.ufunc(*arguments, out=out)``, the longest batch axis cut into ``threads`` pieces."""
    ufunc = kernel.sparse_ufunc if sparse else kernel.ufunc
    arrays = [np.asarray(x, dtype=np.float64) for x in arguments]
    shapes = [x.shape[: x.ndim - len(p.shape)] for x, p in zip(arrays, kernel.inputs, strict=True)]
    batch = np.broadcast_shapes(*shapes)
    cores = [(len(p),) for p in kernel.patterns] if sparse else [p.shape for p in kernel.outputs]
    if out is None:
        out = [np.empty(batch + core) for core in cores]
    if not batch or threads <= 1:
        ufunc(*arrays, out=tuple(out))
        return tuple(out)
    axis = int(np.argmax(batch))
    cuts = np.linspace(0, batch[axis], min(threads, batch[axis]) + 1).astype(int)

    def piece(x: Any, core: tuple[int, ...], lo: int, hi: int) -> np.ndarray:
        whole = np.broadcast_to(x, batch + core) if x.shape[: x.ndim - len(core)] != batch else x
        index = (slice(None),) * axis + (slice(lo, hi),)
        return whole[index]

    def run(lo: int, hi: int) -> None:
        pieces = [piece(x, p.shape, lo, hi) for x, p in zip(arrays, kernel.inputs, strict=True)]
        ufunc(*pieces, out=tuple(piece(y, core, lo, hi) for y, core in zip(out, cores, strict=True)))

    with ThreadPoolExecutor(len(cuts) - 1) as pool:
        list(pool.map(run, cuts[:-1], cuts[1:]))
    return tuple(out)
