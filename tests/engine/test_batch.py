import os
import signal
import time

import casadi as ca
import numpy as np
import pytest
from engine_cases import everything, ports_of

from kinecast.engine import call_in_threads, kernel


@pytest.fixture(scope="module")
def made():
    inputs, outputs = ports_of(everything())
    return kernel("everything", key="batch", inputs=inputs, outputs=outputs, trace=everything)


def assert_equal(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("batch", [(), (0,), (1,), (2,), (5,), (64,), (3, 40), (40, 3), (2, 0, 3)])
def test_pieces_are_the_whole(made, rng, threads, batch):
    x, y = rng.normal(size=(*batch, 3)), rng.normal(size=(*batch, 2, 2))
    assert_equal(call_in_threads(made, [x, y], threads), made.ufunc(x, y))
    assert_equal(call_in_threads(made, [x, y], threads, sparse=True), made.sparse_ufunc(x, y))


def test_arguments_broadcast(made, rng):
    x, y = rng.normal(size=(5, 1, 3)), rng.normal(size=(31, 2, 2))
    assert_equal(call_in_threads(made, [x, y], 3), made.ufunc(x, y))
    assert_equal(call_in_threads(made, [x[0, 0], y], 3), made.ufunc(x[0, 0], y))


def test_lists_and_integers_are_arrays(made):
    x, y = [[1, 2, 3]] * 4, np.ones((4, 2, 2), dtype=np.int32)
    assert_equal(call_in_threads(made, [x, y], 2), made.ufunc(x, y))


def test_results_go_where_they_are_wanted(made, rng):
    x, y = rng.normal(size=(33, 3)), rng.normal(size=(33, 2, 2))
    right = made.ufunc(x, y)
    out = tuple(np.full_like(a, 7.0) for a in right)
    returned = call_in_threads(made, [x, y], 4, out=out)
    assert all(a is b for a, b in zip(returned, out, strict=True))
    assert_equal(out, right)


def test_an_output_over_an_input_is_right(rng):
    def double():
        x = ca.SX.sym("x", 4)
        return ca.Function("f", [x], [2 * x])

    inputs, outputs = ports_of(double())
    made = kernel("double", key="batch", inputs=inputs, outputs=outputs, trace=double)
    memory = rng.normal(size=(100, 4))
    right = 2 * memory[:90]
    (found,) = call_in_threads(made, [memory[:90]], 4, out=(memory[10:],))
    np.testing.assert_array_equal(found, right)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # that it may deadlock is the point
def test_a_child_process_has_threads_of_its_own(made, rng):
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2, 2))
    right = call_in_threads(made, [x, y], 4)
    child = os.fork()
    if child == 0:
        found = call_in_threads(made, [x, y], 4)
        os._exit(0 if all(np.array_equal(a, b) for a, b in zip(found, right, strict=True)) else 1)
    for _ in range(300):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child waits for threads that it has not")
    assert status == 0


def test_errors_are_numpys(made):
    good = np.zeros((8, 2, 2))
    with pytest.raises(ValueError, match="Input operand 0 has a mismatch in its core dimension"):
        call_in_threads(made, [np.zeros((8, 4)), good], 2)
    with pytest.raises(ValueError, match="Input operand 1 does not have enough dimensions"):
        call_in_threads(made, [np.zeros((8, 3)), np.zeros(2)], 2)
    with pytest.raises(ValueError, match="could not be broadcast"):
        call_in_threads(made, [np.zeros((7, 3)), good], 2)
    with pytest.raises(TypeError, match="not supported for the input types"):
        call_in_threads(made, [np.zeros((8, 3), dtype=complex), good], 2)
    with pytest.raises(TypeError, match="takes from 2 to 6 positional arguments"):
        call_in_threads(made, [good], 2)
