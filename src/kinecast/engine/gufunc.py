"""Object code -> NumPy generalised ufunc, through NumPy's C table with ctypes; no C compiler.

Broadcasting, strides, ``out=``, shape errors and the released GIL come from NumPy.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

DOUBLE = 12  # NPY_DOUBLE
FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature in NumPy's table of ufunc functions


def _table() -> Any:
    from numpy._core import _multiarray_umath

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(_multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))


def signature(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> str:
    """NumPy's text for fixed core dimensions: ``(7),(7)->(7,7)``."""

    def side(shapes: list[tuple[int, ...]]) -> str:
        return ",".join("(" + ",".join(str(d) for d in shape) + ")" for shape in shapes)

    return side(inputs) + "->" + side(outputs)


def make(address: int, name: str, doc: str, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> tuple[np.ufunc, Any]:
    """The gufunc of a compiled loop, and what must be kept alive beside it."""
    n = len(inputs) + len(outputs)
    create = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int,
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p,
    )(_table()[FROM_SIGNATURE])  # fmt: skip
    functions = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(None)
    types = (ctypes.c_char * n)(*([DOUBLE] * n))
    texts = name.encode(), doc.encode(), signature(inputs, outputs).encode()
    ufunc = create(functions, data, ctypes.addressof(types), 1, len(inputs), len(outputs), -1, texts[0], texts[1], 0, texts[2])
    return ufunc, (functions, data, types, texts)
