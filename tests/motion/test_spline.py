"""Derivatives of sampled positions, against polynomials and against SciPy's spline."""

import numpy as np
import pytest

from kinecast.motion.spline import derivatives


@pytest.fixture
def times(rng):
    return np.cumsum(rng.uniform(0.02, 0.3, 25))


def test_a_cubic_is_differentiated_exactly(times):
    coefficients = [0.7, -1.2, 0.5, 2.0]
    v, a = derivatives(times, np.polyval(coefficients, times)[:, None])
    np.testing.assert_allclose(v[:, 0], np.polyval(np.polyder(coefficients), times), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(a[:, 0], np.polyval(np.polyder(coefficients, 2), times), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("samples", [4, 5, 25])
def test_any_motion_is_splined_as_scipy_does(times, rng, samples):
    interpolate = pytest.importorskip("scipy.interpolate")
    t, x = times[:samples], rng.standard_normal((samples, 3))
    spline = interpolate.CubicSpline(t, x, bc_type="not-a-knot")
    v, a = derivatives(t, x)
    np.testing.assert_allclose(v, spline(t, 1), rtol=1e-9, atol=1e-9 * np.abs(v).max())
    np.testing.assert_allclose(a, spline(t, 2), rtol=1e-9, atol=1e-9 * np.abs(a).max())


def test_two_samples_make_a_line_and_three_a_parabola():
    v, a = derivatives(np.array([0.0, 2.0]), np.array([[1.0], [5.0]]))
    np.testing.assert_array_equal(v, [[2.0], [2.0]])
    np.testing.assert_array_equal(a, [[0.0], [0.0]])
    t = np.array([0.0, 1.0, 3.0])
    v, a = derivatives(t, (3.0 * t**2 - t)[:, None])
    np.testing.assert_allclose(v[:, 0], 6.0 * t - 1.0)
    np.testing.assert_allclose(a[:, 0], 6.0)
