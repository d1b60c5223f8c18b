import numpy as np
import pytest

from kinecast.motion.bspline import BSpline
from kinecast.predict.mesh import Mesh, make_grid

EXACT = 1e-9  # third derivatives of splines on segments of 0.05 s cost four digits
DIFFERENCE = 1e-8  # central differences, step 1e-6, relative to the largest entry

MESHES = [Mesh((6,)), Mesh((1,) * 5), Mesh((3, 4, 2), 2), Mesh((2, 1, 3), 2, tied=((0, 0.3),))]


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_weights_are_those_of_the_spline(mesh, rng):
    ends = np.cumsum(rng.uniform(0.2, 0.4, len(mesh.arcs)))
    control = rng.normal(size=(mesh.n_control, 2))
    spline = BSpline(mesh.knots(ends), control)
    grid = make_grid(mesh, 4, 4)
    z = grid.weights(ends).W @ control[grid.control]
    before_a_knot = np.where(grid.fraction == 1.0, -1e-13, 0.0)  # the limit from the left
    for order in range(4):
        expected = spline(grid.times(ends) + before_a_knot, order)
        np.testing.assert_allclose(z[:, order], expected, atol=EXACT * np.abs(expected).max())


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_derivatives_by_the_ends_of_arcs(mesh, rng):
    ends = np.cumsum(rng.uniform(0.2, 0.4, len(mesh.arcs)))
    grid = make_grid(mesh, 3, 4)
    found = grid.weights(ends)
    for arc in range(len(ends)):
        step = 1e-6 * (np.arange(len(ends)) == arc)
        ahead, behind = grid.weights(ends + step), grid.weights(ends - step)
        mine = (grid.ends == arc) & np.insert(np.diff(grid.ends, axis=1) != 0, 0, True, axis=1)
        first = (found.first * mine[:, :, None, None]).sum(axis=1)
        second = (found.second * mine[:, :, None, None, None]).sum(axis=1)
        expected = (ahead.W - behind.W) / 2e-6
        np.testing.assert_allclose(first, expected, atol=DIFFERENCE * np.abs(found.first).max())
        expected = (ahead.first - behind.first) / 2e-6
        np.testing.assert_allclose(second, expected, atol=DIFFERENCE * np.abs(found.second).max())


def test_quadrature_covers_the_motion_and_checks_see_both_sides_of_a_jump():
    mesh = Mesh((3, 2), 2)
    grid = make_grid(mesh, 4, 3)
    ends = np.array([0.5, 0.9])
    assert np.isclose((grid.width_map * ends[grid.ends]).sum(), 0.9)
    on_knot = np.isclose(grid.times(ends)[: grid.n_checks], 0.5)
    assert sorted(grid.fraction[: grid.n_checks][on_knot]) == [0.0, 1.0]
    assert len(np.unique(grid.times(ends)[: grid.n_checks])) == 5 * 4 + 1


def test_places_on_the_way():
    assert Mesh((10,)).place(0.25) == (2, 0.5)
    assert Mesh((2, 3), 2, tied=((0, 0.3),)).place(0.3) == (2, 0.0)
    grid = make_grid(Mesh((10,)), 2, 3, [(3, 0.21)])
    assert grid.fraction[grid.index(0.0)] == 0.0
    assert grid.segment[grid.index(1.0)] == 9
