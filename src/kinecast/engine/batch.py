"""One call of a gufunc over a large batch, split among threads (the calls run without the GIL)."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinecast.engine.kernel import Kernel, cpu_threads

Floats = NDArray[np.float64]


def call_in_threads(
    kernel: Kernel,
    arguments: Sequence[ArrayLike],
    threads: int,
    out: Sequence[Floats] | None = None,
    sparse: bool = False,
) -> tuple[Floats, ...]:
    """Like ``kernel.ufunc(*arguments, out=out)``, the longest batch axis cut into ``threads`` pieces.

    What cannot be cut is done in one piece: no batch, arguments that do not fit (NumPy's error says how), and outputs
    that overlap inputs, where one thread would read what another has overwritten.
    """
    ufunc = kernel.sparse_ufunc if sparse else kernel.ufunc
    arrays = [np.asarray(x) for x in arguments]
    input_cores = [p.shape for p in kernel.inputs]
    output_cores: list[tuple[int, ...]] = [p.shape for p in kernel.outputs]
    if sparse:
        output_cores = [(len(p),) for p in kernel.patterns]
    batch = _common_batch(arrays, input_cores)
    if threads <= 1 or not batch or 0 in batch or not _separate(arrays, out, batch, output_cores):
        done: Any = ufunc(*arrays) if out is None else ufunc(*arrays, out=tuple(out))
        return done if isinstance(done, tuple) else (done,)
    results = tuple(np.empty(batch + core) for core in output_cores) if out is None else tuple(out)
    axis = int(np.argmax(batch))
    cuts = [batch[axis] * k // threads for k in range(threads + 1)]

    def piece(x: NDArray[Any], core: tuple[int, ...], lo: int, hi: int) -> NDArray[Any]:
        whole = x if x.shape == batch + core else np.broadcast_to(x, batch + core)
        return whole[(slice(None),) * axis + (slice(lo, hi),)]

    def run(lo: int, hi: int) -> None:
        pieces = [piece(x, core, lo, hi) for x, core in zip(arrays, input_cores, strict=True)]
        ufunc(*pieces, out=tuple(piece(y, core, lo, hi) for y, core in zip(results, output_cores, strict=True)))

    others = [_pool().submit(run, lo, hi) for lo, hi in pairwise(cuts[1:])]
    try:
        run(cuts[0], cuts[1])
    finally:
        wait(others)  # nobody may write to the results once this has returned
    for other in others:
        other.result()
    return results


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """Threads that wait for the next call: to start them takes longer than many a batch."""
    return ThreadPoolExecutor(cpu_threads(), thread_name_prefix="kinecast")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive in the child


def _common_batch(arrays: list[NDArray[Any]], cores: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The batch axes of all arguments together, or None if the arguments do not fit the kernel or each other."""
    if len(arrays) != len(cores) or any(
        x.shape[max(0, x.ndim - len(c)) :] != c for x, c in zip(arrays, cores, strict=True)
    ):
        return None
    try:
        return np.broadcast_shapes(*(x.shape[: x.ndim - len(c)] for x, c in zip(arrays, cores, strict=True)))
    except ValueError:
        return None


def _separate(
    arrays: list[NDArray[Any]], out: Sequence[Floats] | None, batch: tuple[int, ...], cores: list[tuple[int, ...]]
) -> bool:
    """Whether the outputs have the batch's own shape and share no memory with inputs."""
    if out is None:
        return True
    if [np.shape(y) for y in out] != [batch + core for core in cores]:
        return False
    return not any(np.may_share_memory(x, y) for x in arrays for y in out)
