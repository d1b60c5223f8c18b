import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.motion.bspline import BSpline, clamped_knots, uniform_knots

EXACT = 1e-12  # a handful of operations on numbers of order 1
COMPLEX_STEP = 1e-11  # relative to derivatives of order 1e3
DIFFERENCE = 3e-6  # central differences, step 1e-6, of quantities whose third derivatives are of order 1e6


def curve(rng, degree=3, multiplicity=(1, 2, 1, 1), batch=(), n=2):
    knots = clamped_knots([0.0, 0.2, 0.31, 0.6, 0.8, 1.1], multiplicity, degree)
    return BSpline(knots, rng.normal(size=(*batch, len(knots) - degree - 1, n)), degree)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_agrees_with_scipy(rng, degree):
    interpolate = pytest.importorskip("scipy.interpolate")
    spline = curve(rng, degree, (1, 1, 1, 1))
    t = np.linspace(0.0, 1.1, 57)[:-1]
    for order in range(degree + 1):
        expected = interpolate.BSpline(spline.knots, spline.control, degree)(t, nu=order)
        np.testing.assert_allclose(spline(t, order), expected, atol=EXACT * np.abs(expected).max())


def test_is_clamped_and_a_partition_of_unity(rng):
    spline = curve(rng)
    np.testing.assert_array_equal(spline([0.0, spline.duration]), spline.control[[0, -1]])
    np.testing.assert_allclose(spline.matrix(np.linspace(0, 1.1, 40)).sum(axis=1), 1.0, atol=EXACT)


def test_a_double_knot_lets_the_acceleration_of_a_cubic_jump_and_nothing_else(rng):
    spline = curve(rng, multiplicity=(1, 2, 1, 1))
    for order, where, jumps in ((1, 0.31, False), (2, 0.31, True), (2, 0.2, False), (3, 0.2, True)):
        step = np.abs(np.diff(spline([where - 1e-13, where], order), axis=0)).max()
        assert (step > 0.1) == jumps


def test_batches_are_loops(rng):
    spline = curve(rng, batch=(4, 3))
    t = np.linspace(0.0, 1.1, 9)
    one = BSpline(spline.knots, spline.control[2, 1])
    np.testing.assert_array_equal(spline(t, 2)[2, 1], one(t, 2))
    np.testing.assert_allclose(
        spline.sensitivities(t, 1).knots[2, 1], one.sensitivities(t, 1).knots, rtol=EXACT, atol=EXACT
    )


@pytest.mark.parametrize("order", [0, 1, 2])
def test_sensitivities_to_knots_and_duration(rng, order):
    spline = curve(rng)
    t = np.array([0.05, 0.25, 0.4, 0.55, 0.7, 0.9, 1.05])
    d = spline.sensitivities(t, order)
    step = 1e-6
    for k in range(4, len(spline.knots) - 4):
        if spline.knots[k] in (spline.knots[k - 1], spline.knots[k + 1]):
            continue  # moving one of two coinciding knots is one-sided; both together are tested below
        moved = [spline.knots + s * step * (np.arange(len(spline.knots)) == k) for s in (1, -1)]
        expected = np.subtract(*(BSpline(knots, spline.control)(t, order) for knots in moved)) / (2 * step)
        np.testing.assert_allclose(d.knots[..., k], expected, atol=DIFFERENCE * max(1.0, np.abs(expected).max()))
    both = np.isclose(spline.knots, 0.31)
    moved = [BSpline(spline.knots + s * step * both, spline.control)(t, order) for s in (1, -1)]
    expected = np.subtract(*moved) / (2 * step)
    np.testing.assert_allclose(d.knots @ both, expected, atol=DIFFERENCE * max(1.0, np.abs(expected).max()))
    # f(t; T) = T^-order F(t / T): the derivative by T follows from the next time derivative.
    expected = -(order * spline(t, order) + t[:, None] * spline(t, order + 1)) / spline.duration
    np.testing.assert_allclose(d.duration, expected, rtol=1e-10, atol=1e-9)


def test_sensitivity_to_control_points_is_the_matrix(rng):
    spline = curve(rng)
    t = np.linspace(0.0, 1.1, 12)
    matrix = spline.sensitivities(t, 2).control
    np.testing.assert_allclose(matrix @ spline.control, spline(t, 2), rtol=1e-12, atol=1e-10)


def test_fit_reproduces_a_spline_and_meets_the_ends(rng):
    spline = curve(rng)
    t = np.linspace(0.0, 1.1, 60)
    again = BSpline.fit(t, spline(t), spline.knots)
    np.testing.assert_allclose(again.control, spline.control, atol=1e-9)
    few = BSpline.fit([0.0, 0.5, 1.0], [[0.0], [2.0], [1.0]], uniform_knots(8, 1.0))
    np.testing.assert_allclose(few([0.0, 0.5, 1.0])[:, 0], [0.0, 2.0, 1.0], atol=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: uniform_knots(0, 1.0), "1 or more segments, got 0"),
        (lambda: uniform_knots(3, 0.0), "duration above 0"),
        (lambda: clamped_knots([0.0, 0.5, 0.5]), "must increase"),
        (lambda: clamped_knots([0.0, 0.5, 1.0], [5]), "multiplicity of 1 to 4"),
        (lambda: BSpline(np.zeros(5), np.zeros((3, 2))), "needs control points"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
