"""NumPy's matrix products on one thread, where they are too small for more.

Products of a few hundred rows gain nothing from OpenBLAS's threads, and on a busy machine the threads wait for each
other, six times as long as the work takes. OpenBLAS, which NumPy's wheels bring along, can be told; other libraries
are left as they are.

Example::

    with one_thread():
        ...
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

_PREFIXES, _SUFFIXES = ("scipy_openblas", "openblas"), ("64_", "")


@contextmanager
def one_thread() -> Iterator[None]:
    """Products of matrices inside run on one thread (of all threads of this process)."""
    functions = _openblas()
    if functions is None:
        yield
        return
    threads, use = functions
    before = threads()
    use(1)
    try:
        yield
    finally:
        use(before)


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """How many threads NumPy's own OpenBLAS uses, and what sets that; None where it has none."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))  # in memory already: NumPy uses it
            except OSError:
                continue
            for prefix, suffix in ((p, s) for p in _PREFIXES for s in _SUFFIXES):
                get, put = (getattr(library, f"{prefix}_{verb}_num_threads{suffix}", None) for verb in ("get", "set"))
                if get is not None and put is not None:
                    get.restype, put.argtypes, put.restype = ctypes.c_int, [ctypes.c_int], None
                    return get, put
    return None
