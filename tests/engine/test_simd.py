"""Widths, sines and cosines."""

import math
import sys

import casadi as ca
import numpy as np
import pytest
from engine_cases import compiled, everything, random_program

from kinecast.engine import Port, kernel, native, simd
from kinecast.engine.program import fuse, read
from kinecast.engine.schedule import schedule
from kinecast.engine.tiles import driver_module
from kinecast.errors import InputError

WIDTHS = list(simd.supported())
AGREE = 1e-12  # two widths differ by fused operations only
ULPS = 2.0  # the C library has less than one, a polynomial in double precision one or two


@pytest.fixture(scope="module", params=WIDTHS)
def sincos(request):
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [ca.vertcat(ca.sin(x), ca.cos(x))])
    return compiled(function, target=simd.supported()[request.param])[0]


def assert_right(sincos, angles):
    ours = sincos(angles)
    theirs = np.array([[math.sin(x), math.cos(x)] for x in angles])
    wrong = np.abs(ours - theirs) / np.spacing(np.abs(theirs))
    assert wrong.max() <= ULPS, f"{wrong.max()} units in the last place at {angles[wrong.max(axis=1).argmax()]!r}"


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1.0, 10.0, 1e3, 1e6, 1.5e6, 1.7e6, 1e9, 1e15, 1e300])
def test_angles_of_any_size(sincos, rng, size):
    assert_right(sincos, rng.uniform(-size, size, 2000))


def test_angles_that_are_nearly_multiples_of_a_right_angle(sincos, rng):
    turns = np.concatenate([np.arange(-300, 300), rng.integers(-(10**6), 10**6, 3000)])
    nearest = turns * (np.pi / 2)
    assert_right(sincos, np.concatenate([nearest, np.nextafter(nearest, np.inf), np.nextafter(nearest, -np.inf)]))


def test_angles_that_are_nearly_odd_multiples_of_half_a_right_angle(sincos):
    assert_right(sincos, (2 * np.arange(-500, 500) + 1) * (np.pi / 4))


def test_angles_at_the_ends_of_the_numbers(sincos):
    smallest = np.nextafter(0.0, 1.0)
    edge = simd.LARGE_ANGLE
    around = [np.nextafter(edge, 0), edge, np.nextafter(edge, np.inf)]
    largest = sys.float_info.max
    assert_right(sincos, np.array([0.0, smallest, -smallest, 1e-310, 2.3e-308, largest, -largest, *around]))


def test_a_large_angle_beside_small_ones(sincos):
    angles = np.array([0.3, 1e200, -0.7, 1e6, 2.0, -1e17, 1.0, 0.0, 3.0])
    assert_right(sincos, angles)
    small = np.abs(angles) < 10
    np.testing.assert_array_equal(sincos(angles)[small], sincos(np.where(small, angles, 0.0))[small])


@pytest.mark.parametrize("name", WIDTHS)
def test_widths_agree(rng, name):
    widest, narrow = simd.target(), simd.supported()[name]
    x, y = rng.normal(size=(21, 3)), rng.normal(size=(21, 2, 2))
    for one, other in zip(compiled(everything())[0](x, y), compiled(everything(), target=narrow)[0](x, y), strict=True):
        np.testing.assert_allclose(one, other, rtol=AGREE, atol=AGREE)
    function, x = random_program(np.random.default_rng(3)), rng.normal(size=(21, 6))
    one, other = compiled(function, target=widest)[0](x), compiled(function, target=narrow)[0](x)
    np.testing.assert_allclose(one[0], other[0], rtol=AGREE, atol=AGREE)


@pytest.mark.parametrize("name", WIDTHS)
def test_the_environment_chooses_the_width(monkeypatch, name):
    x = ca.SX.sym("x")
    monkeypatch.setenv("KINECAST_SIMD", name)
    made = kernel(
        "tripled", key="width", inputs=[Port("x", ())], outputs=[Port("y", ())],
        trace=lambda: ca.Function("f", [x], [3 * x]),
    )  # fmt: skip
    assert made.target.name == name
    np.testing.assert_array_equal(made.ufunc(np.arange(11.0)), 3 * np.arange(11.0))


def test_a_width_this_processor_has_not_is_refused(monkeypatch):
    monkeypatch.setenv("KINECAST_SIMD", "mmx")
    right = "^KINECAST_SIMD='mmx': this CPU runs .*; choose one of these or leave it unset$"
    with pytest.raises(InputError, match=right):
        simd.target()


def test_the_widest_is_chosen_by_itself(monkeypatch):
    monkeypatch.delenv("KINECAST_SIMD", raising=False)
    assert simd.target().width == max(t.width for t in simd.supported().values())


def test_the_code_of_the_other_family_of_processors_is_sound():
    """It cannot be run here, but LLVM checks it."""
    llvm = native._initialise()
    neon = simd.Target("neon", 2, "generic", "", fma=True, family="arm")
    plan = schedule(fuse(read(everything())), 20)
    ports = (Port("x", (3,)), Port("y", (2, 2))), (Port("a", (5, 4)), Port("b", (9,)), Port("c", ()), Port("d", (2, 3)))
    texts = [driver_module(plan, neon, *ports, {"dense": False, "sparse": True}), simd.sincos_function(neon)]
    texts += [simd.ChunkWriter(plan, chunk, neon).text(f"chunk{c}") for c, chunk in enumerate(plan.chunks)]
    for text in texts:
        llvm.parse_assembly(text).verify()
