"""The loop around a program: any batch, any strides, and what is not finite."""

import ctypes
import itertools
import threading

import casadi as ca
import numpy as np
import pytest
from engine_cases import CLOSE, compiled, everything, expected, random_program

from kinecast.engine import native, simd
from kinecast.engine.packing import blocks
from kinecast.engine.program import fuse, read
from kinecast.engine.schedule import schedule
from kinecast.engine.tiles import INSTRUCTION_CACHE_OPERATIONS, MAX_TILES, frame_bytes, tiles_in_group

WIDTHS = list(simd.supported())
FUNCTION = everything()


@pytest.fixture(scope="module", params=WIDTHS)
def kernels(request):
    return compiled(FUNCTION, target=simd.supported()[request.param])


@pytest.fixture(scope="module")
def dense():
    return compiled(FUNCTION)[0]


@pytest.fixture(scope="module")
def grouped():
    """A program long enough that several tiles go through each chunk together."""
    function = random_program(np.random.default_rng(11), operations=9000, inputs=600, outputs=70)
    plan = schedule(fuse(read(function)))
    assert tiles_in_group(plan, simd.target()) == MAX_TILES
    return function, compiled(function)[0]


def arguments(rng, n):
    return rng.normal(size=(n, 3)), rng.normal(size=(n, 2, 2))


def assert_same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)


@pytest.mark.parametrize("n", range(41))
def test_any_batch(kernels, rng, n):
    x, y = arguments(rng, n)
    assert_same(kernels[0](x, y), expected(FUNCTION, x, y))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 130])
def test_any_batch_of_a_program_whose_tiles_go_in_groups(grouped, rng, n):
    function, ufunc = grouped
    x = rng.normal(size=(n, 600))
    assert_same(ufunc(x), expected(function, x))


def test_a_batch_is_its_samples_one_by_one(kernels, rng):
    x, y = arguments(rng, 19)
    whole = kernels[0](x, y)
    for k in range(19):
        for one, all_of_them in zip(kernels[0](x[k], y[k]), whole, strict=True):
            np.testing.assert_array_equal(one, all_of_them[k])


def test_sparse_outputs_are_the_structural_nonzeros_of_the_dense_ones(kernels, rng):
    dense, sparse, patterns = kernels
    for n in (1, 5, 8, 23):
        x, y = arguments(rng, n)
        for full, few, pattern in zip(dense(x, y), sparse(x, y), patterns, strict=True):
            filled = np.zeros((n, full[0].size))
            filled[:, pattern] = few
            np.testing.assert_array_equal(filled.reshape(full.shape), full)


def test_no_batch_and_many_batch_axes(dense, rng):
    x, y = rng.normal(size=(2, 1, 5, 3)), rng.normal(size=(4, 1, 2, 2))
    shape = (2, 4, 5)
    flat = [np.broadcast_to(a, shape + core).reshape(40, *core) for a, core in ((x, (3,)), (y, (2, 2)))]
    for ours, theirs in zip(dense(x, y), expected(FUNCTION, *flat), strict=True):
        np.testing.assert_allclose(ours, theirs.reshape(shape + theirs.shape[1:]), **CLOSE)
    alone = dense(x[0, 0, 0], y[0, 0])
    assert [np.shape(a) for a in alone] == [(5, 4), (9,), (), (2, 3)]


def broadcast(a):
    return np.broadcast_to(a[:1], a.shape)


def every_second(a):
    return np.repeat(a, 2, axis=0)[::2]


def inner_strides(a):
    return np.repeat(a, 3, axis=-1)[..., ::3]


def inner_backwards(a):
    return np.ascontiguousarray(a[..., ::-1])[..., ::-1]


def one_number(a):
    return np.broadcast_to(a.ravel()[0], a.shape)


def unaligned(a):
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
    moved = raw.view(np.float64).reshape(a.shape)
    moved[...] = a
    return moved


def swapped(a):
    return a.astype(a.dtype.newbyteorder())


LAYOUTS = [
    np.ascontiguousarray, np.asfortranarray, lambda a: a[::-1], broadcast, every_second, inner_strides, inner_backwards,
    one_number, unaligned, swapped,
]  # fmt: skip


@pytest.mark.parametrize("layouts", list(itertools.product(range(len(LAYOUTS)), repeat=2)))
def test_inputs_of_any_layout(dense, rng, layouts):
    for n in (1, 3, 11):
        x, y = (LAYOUTS[k](a) for k, a in zip(layouts, arguments(rng, n), strict=True))
        assert_same(dense(x, y), expected(FUNCTION, x, y))


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::-1], every_second, inner_strides, unaligned])
def test_outputs_of_any_layout(dense, rng, layout):
    for n in (1, 3, 11):
        x, y = arguments(rng, n)
        right = expected(FUNCTION, x, y)
        out = tuple(layout(np.full(a.shape, 7.0)) if a.ndim > 1 else np.full(a.shape, 7.0) for a in right)
        returned = dense(x, y, out=out)
        assert all(a is b for a, b in zip(returned, out, strict=True))
        assert_same(out, right)


def test_nothing_beside_the_output_is_written(kernels, rng):
    for n in (1, 2, 9, 16):
        x, y = arguments(rng, n)
        guarded = [np.full((n + 2, *a.shape[1:]), 7.0) for a in kernels[0](x, y)]
        kernels[0](x, y, out=tuple(a[1:-1] for a in guarded))
        assert all((a[0] == 7.0).all() and (a[-1] == 7.0).all() for a in guarded)


def in_place_function():
    x = ca.SX.sym("x", 4)
    return ca.Function("f", [x], [ca.vertcat(x[3], x[0] * x[1], x[2] - x[3], x[0])])


@pytest.mark.parametrize("shift", [0, 1, 3, -1, -2])
def test_an_output_may_lie_over_an_input(rng, shift):
    function = in_place_function()
    ufunc = compiled(function)[0]
    memory = rng.normal(size=(30, 4))
    source, result = memory[5:25], memory[5 + shift : 25 + shift]
    (right,) = expected(function, source.copy())
    ufunc(source, out=result)
    np.testing.assert_allclose(result, right, **CLOSE)


BAD = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("n", [1, 2, 7, 8, 11, 16, 17])
@pytest.mark.parametrize("contiguous", [True, False])
def test_what_is_not_finite_stays_in_its_sample_and_spoils_all_of_it(kernels, rng, n, contiguous):
    x, y = arguments(rng, n)
    if not contiguous:
        x, y = inner_strides(x), inner_strides(y)
    for ufunc in kernels[:2]:
        clean = ufunc(x, y)
        for sample in range(n):
            spoiled_x, spoiled_y = x.copy(), y.copy()
            value, spoiled = BAD[sample % 3], (spoiled_x, spoiled_y)[sample % 2]
            spoiled[(sample, *rng.integers(0, spoiled.shape[1:]).tolist())] = value
            for found, before in zip(ufunc(spoiled_x, spoiled_y), clean, strict=True):
                assert np.isnan(found[sample]).all()
                np.testing.assert_array_equal(np.delete(found, sample, axis=0), np.delete(before, sample, axis=0))


@pytest.mark.parametrize("k", range(7))
@pytest.mark.parametrize("value", BAD)
def test_an_input_that_is_not_finite_is_seen_wherever_it_is(dense, k, value):
    numbers = np.ones(7)
    numbers[k] = value
    assert all(np.isnan(a).all() for a in dense(numbers[:3], numbers[3:].reshape(2, 2)))


def test_an_unused_input_that_is_not_finite_spoils_its_sample_too():
    x, unused = ca.SX.sym("x"), ca.SX.sym("unused", 3)
    ufunc = compiled(ca.Function("f", [x, unused], [2 * x]))[0]
    found = ufunc(np.arange(5.0), np.array([[0, 0, 0], [0, np.nan, 0], [0, 0, 0], [0, 0, np.inf], [0, 0, 0]]))
    np.testing.assert_array_equal(found, [0, np.nan, 4, np.nan, 8])


def test_finite_inputs_may_overflow_in_their_own_sample_only():
    x = ca.SX.sym("x")
    ufunc = compiled(ca.Function("f", [x], [ca.vertcat(x * x, 1 / x, ca.sqrt(x))]))[0]
    with np.errstate(all="raise"):  # what a sample does to itself is no event of the whole call
        found = ufunc(np.array([1e200, 2.0, 0.0, -1.0]))
    np.testing.assert_array_equal(found, [[np.inf, 1e-200, 1e100], [4, 0.5, 2**0.5], [0, np.inf, 0], [1, -1, np.nan]])


def test_nan_wins_in_minima_maxima_and_choices():
    x = ca.SX.sym("x", 2)
    root = ca.sqrt(x[0])  # NaN for negative numbers
    function = ca.Function("f", [x], [ca.vertcat(ca.fmin(root, x[1]), ca.fmin(x[1], root), ca.fmax(root, x[1]))])
    found = compiled(function)[0](np.array([[-1.0, 3.0], [4.0, 3.0]]))
    np.testing.assert_array_equal(found, [[np.nan] * 3, [2, 2, 3]])


@pytest.mark.parametrize("width", [2, 4, 8])
def test_pieces_cover_every_number_and_zeros_never_have_the_last_word(rng, width):
    for size in range(1, 70):
        for share in (0.0, 0.3, 0.7, 0.95, 1.0):
            zeros = frozenset(np.flatnonzero(rng.random(size) < share).tolist())
            writer = [None] * max(size, width)
            for piece in blocks(size, width, zeros):
                assert 0 <= piece.start <= max(0, size - width)
                writer[piece.start : piece.start + width] = [piece] * width
            assert all(piece is not None for piece in writer[:size])
            assert all(k in zeros for k in range(size) if writer[k].zero)


def test_long_runs_of_zeros_are_not_turned():
    found = blocks(64, 8, frozenset(range(3, 61)))
    assert [(piece.start, piece.zero) for piece in found[:2]] == [(0, False), (8, True)]
    assert sum(not piece.zero for piece in found) <= 3


def test_frames_are_not_a_page_multiple_apart():
    plan = schedule(fuse(read(FUNCTION)))
    assert all(frame_bytes(plan, target) % 4096 for target in simd.supported().values())


def test_a_short_program_takes_one_tile_at_a_time():
    plan = schedule(fuse(read(FUNCTION)))
    assert sum(len(c.values) for c in plan.chunks) < INSTRUCTION_CACHE_OPERATIONS
    assert tiles_in_group(plan, simd.target()) == 1


def test_frames_are_not_on_the_stack(grouped, rng):
    function, ufunc = grouped
    frames = MAX_TILES * frame_bytes(schedule(fuse(read(function))), simd.target())
    small = 256 * 1024
    assert frames > small
    x, found = rng.normal(size=(64, 600)), []
    before = threading.stack_size(small)
    try:
        thread = threading.Thread(target=lambda: found.append(ufunc(x)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert_same(found[0], ufunc(x))


def test_no_memory_for_the_frames_is_a_memory_error():
    llvm = native._initialise()
    libc = ctypes.CDLL(None)
    nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(lambda size: None)
    llvm.add_symbol("malloc", ctypes.cast(nothing, ctypes.c_void_p).value)
    try:
        starved = compiled(FUNCTION)[0]
    finally:
        llvm.add_symbol("malloc", ctypes.cast(libc.malloc, ctypes.c_void_p).value)
    with pytest.raises(MemoryError):
        starved(np.ones((5, 3)), np.ones((5, 2, 2)))
