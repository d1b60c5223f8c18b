"""Derivatives of the walking problem, through kernels and splines, against central differences."""

import numpy as np
import pytest

from kinecast.human.skeleton import human
from kinecast.human.walking.problem import build
from kinecast.human.walking.task import WalkTask

# Differences of fourth order with a step of 1e-6 of functions that change on a scale of 0.1, in double precision.
DIFFERENCE, STEP = 1e-7, 1e-6
AT, WEIGHT = np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12


@pytest.fixture(scope="module")
def problem():
    return build(human(1.75, 75, "male", freeze="walking"), WalkTask(1.2, 0.6)).effort


def test_gradient_jacobian_and_hessian_are_the_derivatives_of_the_values(problem):
    random = np.random.default_rng(1)
    x = random.normal(scale=0.02, size=problem.variables.size)
    multipliers = random.normal(size=len(problem.low))
    direction = random.normal(size=len(x))
    near = [x + k * STEP * direction for k in AT]
    values = [problem.values(point) for point in near]
    slopes = []
    for point in near:
        gradient, jacobian_t, _ = problem.derivatives(point, multipliers, 0.7)
        slopes.append(0.7 * gradient + jacobian_t @ multipliers)
    gradient, jacobian_t, hessian = problem.derivatives(x, multipliers, 0.7)

    def close(found, samples):
        wanted = np.tensordot(WEIGHT, np.array(samples), 1) / STEP
        assert np.abs(found - wanted).max() <= DIFFERENCE * np.abs(wanted).max()

    close(gradient @ direction, [f for f, _ in values])
    close(direction @ jacobian_t, [c for _, c in values])
    close(hessian @ direction, slopes)
    assert np.abs(hessian - hessian.T).max() <= 1e-12 * np.abs(hessian).max()
