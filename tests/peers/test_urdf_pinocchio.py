"""The URDF reader against Pinocchio's, on robots of their own: same tree, same bodies, same mass matrix."""

import numpy as np
import pytest
from reference_dynamics import mass_matrix

from kinecast.bench.models import robots_folder
from kinecast.mechanism import Structure

# Relative to the largest entry. Both read the same decimal numbers.
AGREEMENT = 1e-12

ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "romeo": "romeo_description/urdf/romeo.urdf",
    "solo": "solo_description/robots/solo12.urdf",
}


@pytest.fixture(params=ROBOTS)
def path(request):
    folder = robots_folder()
    if folder is None:
        pytest.skip("the package example-robot-data is not installed")
    return folder / ROBOTS[request.param]


def mass_matrix_of_pinocchio(pin, path, values):
    """Rows and columns in the order of the names of `values`, {joint: coordinate}."""
    model = pin.buildModelFromUrdf(str(path))
    index = [model.joints[model.getJointId(name)].idx_v for name in values]
    assert sorted(index) == list(range(model.nv))
    step = np.zeros(model.nv)
    step[index] = list(values.values())
    q = pin.integrate(model, pin.neutral(model), step)  # continuous joints have cosine and sine there
    half = np.triu(pin.crba(model, model.createData(), q))
    whole = half + half.T - np.diag(half.diagonal())
    return whole[np.ix_(index, index)]


def test_the_mass_matrix_is_the_same(path, rng):
    pin = pytest.importorskip("pinocchio")
    robot = Structure.read(path)
    values = dict(zip(robot.coordinates, rng.uniform(-1, 1, robot.n), strict=True))
    expected = mass_matrix_of_pinocchio(pin, path, values)
    found = mass_matrix(robot, list(values.values()))
    np.testing.assert_allclose(found, expected, atol=AGREEMENT * np.abs(expected).max())
