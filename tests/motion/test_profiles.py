import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.motion.profiles import cycloid, quintic, trapezoid

DIFFERENCE = 1e-4  # central differences over 1e-4 s


@pytest.mark.parametrize("profile", [cycloid, quintic, trapezoid])
def test_derivatives_and_ends(profile):
    t = np.linspace(0.0, 0.8, 8001)
    q, v, a = profile(t, [0.0, -2.0], [1.0, -1.0], 0.8)
    np.testing.assert_allclose(q[[0, -1]], [[0.0, -2.0], [1.0, -1.0]], atol=1e-14)
    np.testing.assert_allclose(v[[0, -1]], 0.0, atol=1e-14)
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], v[1:-1], atol=DIFFERENCE * np.abs(a).max())
    corners = np.isin(np.abs(np.diff(np.sign(a[:, 0]), prepend=0)), (1, 2)) if profile is trapezoid else np.zeros(8001)
    away = ~(np.convolve(corners, np.ones(5), "same") > 0)
    away[[0, -1]] = False
    np.testing.assert_allclose(np.gradient(v, t, axis=0)[away], a[away], atol=1e-2)


def test_cycloid_is_that_of_the_book():
    # Saha (9.36): theta = theta0 + (theta_T - theta0) / T (t - T / (2 pi) sin(2 pi t / T))
    t, T = np.linspace(0.0, 10.0, 11), 10.0
    expected = np.pi / 6 / T * (t - T / (2 * np.pi) * np.sin(2 * np.pi * t / T))
    np.testing.assert_allclose(cycloid(t, [0.0], [np.pi / 6], T).q[:, 0], expected, atol=1e-15)


def test_rest_outside_and_batches():
    starts = np.zeros((3, 2))
    ends = np.arange(6.0).reshape(3, 2)
    for profile in (cycloid, quintic, trapezoid):
        q, v, a = profile([-1.0, 0.5, 3.0], starts, ends, 1.0)
        assert q.shape == (3, 3, 2)
        np.testing.assert_array_equal(q[:, 2], ends)
        np.testing.assert_allclose([v[:, [0, 2]], a[:, [0, 2]]], 0.0, atol=1e-13)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="duration must be above 0"):
        cycloid([0.0], [0.0], [1.0], 0.0)
    with pytest.raises(InputError, match="at most 0.5, got 0.7"):
        trapezoid([0.0], [0.0], [1.0], 1.0, ramp=0.7)
