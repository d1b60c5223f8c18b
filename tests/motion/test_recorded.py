"""Recorded motions: splined as SciPy does, filtered as the filter's own formula says."""

import numpy as np
import pytest

import kinecast as kc
from kinecast.errors import InputError

EXACT = 1e-9  # of the largest value: third derivatives of splines on samples of random spacing
GAIN = 1e-5  # what is left of the filter's start in the middle of a long record, and of splining to and fro


@pytest.fixture
def times(rng):
    return np.cumsum(rng.uniform(0.02, 0.3, 25))


def test_is_splined_as_scipy_does_in_batches_at_any_time(times, rng):
    interpolate = pytest.importorskip("scipy.interpolate")
    q = rng.normal(size=(4, 3, 25, 2))
    at = np.linspace(times[0], times[-1], 40)
    for wanted, found in ((times, kc.motion.splined(times, q)), (at, kc.motion.splined(times, q, at=at))):
        spline = interpolate.CubicSpline(times, q, axis=2, bc_type="not-a-knot")
        for order, values in enumerate(found):
            expected = spline(wanted, order)
            assert values.shape == expected.shape
            np.testing.assert_allclose(values, expected, atol=EXACT * np.abs(expected).max())


@pytest.mark.parametrize(("frequency", "left"), [(0.5, 1 / (1 + (np.sqrt(2) - 1) / 6**4)), (3.0, 0.5**0.5)])
def test_half_of_the_power_is_left_at_the_cutoff_without_delay(frequency, left):
    """Slow against the sampling rate the gain is 1 / (1 + (f / f0)^4), 0.71 at the cutoff; the phase stays."""
    t = np.arange(20001) / 1000.0
    wave = np.sin(2 * np.pi * frequency * t)[:, None]
    middle = slice(8000, 12000)
    found = kc.motion.low_pass(t, wave, cutoff=3.0)
    np.testing.assert_allclose(found[middle], left * wave[middle], atol=GAIN)


def test_noise_goes_and_the_motion_stays(rng):
    t = np.linspace(0.0, 2.0, 401)
    clean = np.stack([np.sin(2.0 * t), np.cos(3.0 * t)], axis=1)
    noisy = clean + 0.01 * rng.normal(size=(5, 401, 2))
    found = kc.motion.low_pass(t, noisy, cutoff=6.0)
    assert found.shape == noisy.shape
    inner = slice(20, -20)
    assert np.abs(found - clean)[:, inner].mean() < 0.4 * np.abs(noisy - clean)[:, inner].mean()
    acceleration = kc.motion.splined(t, found).a[:, inner] - kc.motion.splined(t, clean).a[inner]
    rough = kc.motion.splined(t, noisy).a[:, inner] - kc.motion.splined(t, clean).a[inner]
    assert np.abs(acceleration).mean() < 0.01 * np.abs(rough).mean()


def test_uneven_samples_are_filtered_as_even_ones(rng):
    even = np.linspace(0.0, 4.0, 801)
    uneven = even + 0.3 * 0.005 * np.concatenate([[0.0], rng.uniform(-1, 1, 799), [0.0]])
    wave = np.sin(2 * np.pi * 1.5 * np.stack([even, uneven]))[..., None]
    one, other = (kc.motion.low_pass(t, w, cutoff=5.0) for t, w in zip((even, uneven), wave, strict=True))
    back = kc.motion.splined(uneven, other, at=even).q
    np.testing.assert_allclose(back[50:-50], one[50:-50], atol=GAIN)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t, q: kc.motion.low_pass(t, q, 0.0), "cutoff must be above 0 and below 5 Hz"),
        (lambda t, q: kc.motion.low_pass(t, q, 5.0), "half of the sampling rate, got 5"),
        (lambda t, q: kc.motion.low_pass(t[:5], q[:5], 1.0), "needs 12 samples or more for this, got 5"),
        (lambda t, q: kc.motion.splined(t, q[:5]), "got shapes"),
        (lambda t, q: kc.motion.splined(t[::-1], q), "times that increase"),
        (lambda t, q: kc.motion.splined(t, q * np.nan), "finite"),
        (lambda t, q: kc.motion.splined(t, q, at=[9.0]), "at must be times .times,. from 0 to 2 s"),
    ],
)
def test_bad_input_is_refused(call, words):
    t = np.linspace(0.0, 2.0, 21)
    with pytest.raises(InputError, match=words):
        call(t, np.zeros((21, 2)))
