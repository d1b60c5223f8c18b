"""What NumPy does for a kernel, and what it must not do to it."""

import gc
import re
import sys
import threading
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from engine_cases import CLOSE, compiled, everything, expected, random_program

from kinecast.engine import gufunc

FUNCTION = everything()


@pytest.fixture(scope="module")
def ufunc():
    return compiled(FUNCTION)[0]


def test_the_places_in_numpys_table_are_those_of_its_header():
    header = Path(np.get_include(), "numpy", "__ufunc_api.h").read_text()
    assert re.search(rf"PyUFunc_Type \(\*\(PyTypeObject \*\)PyUFunc_API\[{gufunc.UFUNC_TYPE}\]\)", header)
    place = re.search(r"#define PyUFunc_FromFuncAndDataAndSignature \\.*?PyUFunc_API\[(\d+)\]", header, re.DOTALL)
    assert int(place[1]) == gufunc.FROM_SIGNATURE


def test_another_table_is_refused(monkeypatch):
    monkeypatch.setattr(gufunc, "UFUNC_TYPE", gufunc.FROM_SIGNATURE)
    with pytest.raises(RuntimeError, match="^NumPy .* keeps its ufunc functions elsewhere; kinecast needs NumPy 2$"):
        gufunc._table()


def test_the_signature_is_that_of_the_ports(ufunc):
    assert gufunc.signature([(3,), (2, 2)], [(), (4,)]) == "(3),(2,2)->(),(4)"
    assert ufunc.signature == "(3),(2,2)->(5,4),(9),(),(2,3)"
    assert (ufunc.nin, ufunc.nout, ufunc.types) == (2, 4, ["dd->dddd"])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint32, np.bool_])
def test_numbers_that_a_double_can_hold_are_cast(ufunc, rng, dtype):
    x, y = rng.integers(0, 2, (5, 3)).astype(dtype), rng.integers(0, 2, (5, 2, 2)).astype(dtype)
    for ours, theirs in zip(ufunc(x, y), expected(FUNCTION, x.astype(float), y.astype(float)), strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


def test_lists_are_arrays(ufunc):
    one, other = ufunc([1, 2, 3], [[1, 2], [3, 4]]), ufunc(np.arange(1.0, 4), np.arange(1.0, 5).reshape(2, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("dtype", [object, complex, "U3", "datetime64[s]"])
def test_what_no_double_can_hold_is_refused(ufunc, dtype):
    with pytest.raises(TypeError, match="ufunc 'dense' not supported for the input types"):
        ufunc(np.zeros(3, dtype), np.zeros((2, 2)))


def test_a_wrong_shape_is_refused(ufunc):
    with pytest.raises(ValueError, match="dense: Input operand 0 has a mismatch in its core dimension 0.*size 4"):
        ufunc(np.zeros(4), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="dense: Input operand 1 does not have enough dimensions"):
        ufunc(np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="operands could not be broadcast together"):
        ufunc(np.zeros((4, 3)), np.zeros((5, 2, 2)))


def test_a_wrong_output_is_refused(ufunc):
    good = [np.zeros((6, 5, 4)), np.zeros((6, 9)), np.zeros(6), np.zeros((6, 2, 3))]
    x, y = np.zeros((6, 3)), np.zeros((6, 2, 2))
    with pytest.raises(ValueError, match="dense: Output operand 0 has a mismatch in its core dimension"):
        ufunc(x, y, out=(np.zeros((6, 4, 4)), *good[1:]))
    with pytest.raises(ValueError, match="could not be broadcast together"):
        ufunc(x, y, out=(np.zeros((5, 5, 4)), *good[1:]))
    good[1].flags.writeable = False
    with pytest.raises(ValueError, match="output array is read-only"):
        ufunc(x, y, out=tuple(good))


def test_calls_leave_the_interpreter_to_other_threads():
    """Seen from the main thread, a batch that another thread works at is done at its beginning and not at its end."""
    function = random_program(np.random.default_rng(2), operations=400)
    ufunc = compiled(function)[0]
    n = 400_000
    x = np.ones((n, 6))
    for _ in range(20):
        first, last = np.full((n, 20), np.nan), np.full((n, 7), np.nan)
        worker = threading.Thread(target=ufunc, args=(x,), kwargs={"out": (first, last)})
        worker.start()
        seen = False
        while worker.is_alive() and not seen:
            end = np.isnan(first[-1, 0])  # the end first: it is written last
            seen = bool(end and not np.isnan(first[0, 0]))
        worker.join()
        if seen:
            return
    pytest.fail("the main thread never ran while the other one computed")


def test_two_threads_share_nothing(ufunc, rng):
    x, y = rng.normal(size=(8, 50, 3)), rng.normal(size=(8, 50, 2, 2))
    right = [ufunc(a, b) for a, b in zip(x, y, strict=True)]
    wrong = []

    def work(k):
        for _ in range(300):
            found = ufunc(x[k], y[k])
            if not all(np.array_equal(a, b) for a, b in zip(found, right[k], strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's account of memory")
def test_calls_leak_nothing(ufunc):
    def resident_pages():
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    x, y, bad = np.ones(3), np.ones((2, 2)), np.ones(4)
    for _ in range(1000):
        ufunc(x, y)
    before = resident_pages()
    for _ in range(100_000):
        ufunc(x, y)
    for _ in range(1000):
        with pytest.raises(ValueError, match="mismatch"):
            ufunc(bad, y)
    # One frame is 2 KB: leaked each time it would be 200 MB.
    assert (resident_pages() - before) * 4096 < 4 * 1024**2


def test_a_scalar_function_of_nothing_but_scalars():
    x = ca.SX.sym("x")
    square = compiled(ca.Function("f", [x], [x * x]))[0]
    assert square(3.0) == 9.0
    np.testing.assert_array_equal(square(np.arange(6.0).reshape(2, 3)), [[0, 1, 4], [9, 16, 25]])
