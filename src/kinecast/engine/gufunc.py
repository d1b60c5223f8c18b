"""Machine code -> NumPy generalised ufunc, through NumPy's C table with ctypes; no C compiler.

Broadcasting, strides, ``out=``, copies where input and output overlap, shape errors and the released GIL come from
NumPy.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

DOUBLE = 12  # NPY_DOUBLE
# Places in NumPy's table of ufunc functions (numpy/__ufunc_api.h); part of its binary interface, the same since NumPy
# 1.0.
UFUNC_TYPE = 0
FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature


def _table() -> Any:
    capsule = importlib.import_module("numpy._core._multiarray_umath")._UFUNC_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    table = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    if table[UFUNC_TYPE] != id(np.ufunc):
        raise RuntimeError(f"NumPy {np.__version__} keeps its ufunc functions elsewhere; kinecast needs NumPy 2")
    return table


def signature(inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> str:
    """NumPy's text for fixed core dimensions: ``(7),(7)->(7,7)``."""

    def side(shapes: Sequence[tuple[int, ...]]) -> str:
        return ",".join("(" + ",".join(str(d) for d in shape) + ")" for shape in shapes)

    return side(inputs) + "->" + side(outputs)


def make(
    address: int, name: str, doc: str, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]
) -> tuple[np.ufunc, Any]:
    """The gufunc of a compiled loop, and what must be kept alive beside it (NumPy keeps only pointers)."""
    create = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int,
        ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p,
    )(_table()[FROM_SIGNATURE])  # fmt: skip
    functions = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(None)
    types = ctypes.create_string_buffer(bytes([DOUBLE] * (len(inputs) + len(outputs))))
    texts = name.encode(), doc.encode(), signature(inputs, outputs).encode()
    loops, no_identity, unused = 1, -1, 0
    ufunc = create(functions, data, types, loops, len(inputs), len(outputs), no_identity, *texts[:2], unused, texts[2])
    return ufunc, (functions, data, types, texts)
