"""Derivatives of the walking problem, through kernels and splines, against central differences."""

import numpy as np
import pytest

from kinecast.human.skeleton import human
from kinecast.human.walking.problem import build
from kinecast.human.walking.task import WalkTask

# Central differences with a step of 1e-6 of functions that are smooth on a scale of 0.1: relative error about 1e-8.
DIFFERENCE = 1e-6


@pytest.fixture(scope="module")
def problem():
    return build(human(1.75, 75, "male", freeze="walking"), WalkTask(1.2, 0.6)).effort


def test_gradient_jacobian_and_hessian_are_the_derivatives_of_the_values(problem):
    random = np.random.default_rng(1)
    x = random.normal(scale=0.02, size=problem.variables.size)
    multipliers = random.normal(size=len(problem.low))
    direction, step = random.normal(size=len(x)), 1e-6
    (f_plus, c_plus), (f_minus, c_minus) = (problem.values(x + s * step * direction) for s in (1, -1))
    gradient, jacobian_t, hessian = problem.derivatives(x, multipliers, 0.7)
    ahead, behind = (problem.derivatives(x + s * step * direction, multipliers, 0.7) for s in (1, -1))
    slope = [0.7 * d[0] + d[1] @ multipliers for d in (ahead, behind)]

    def close(found, wanted):
        assert np.abs(found - wanted).max() <= DIFFERENCE * np.abs(wanted).max()

    close((f_plus - f_minus) / (2 * step), gradient @ direction)
    close((c_plus - c_minus) / (2 * step), direction @ jacobian_t)
    close((slope[0] - slope[1]) / (2 * step), hessian @ direction)
    assert np.abs(hessian - hessian.T).max() <= 1e-12 * np.abs(hessian).max()
