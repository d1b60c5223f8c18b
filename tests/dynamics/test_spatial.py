"""The default formulation against a plain reference and CasADi's differentiation of it, over all kinds of mechanism."""

from itertools import product

import casadi as ca
import numpy as np
import pytest
from formulation_checks import counted
from random_mechanisms import random_state, random_structure, random_surroundings, with_heavy_tips
from reference_dynamics import torques_and_loads

from kinecast.dynamics import filtering
from kinecast.dynamics.screws import passages
from kinecast.dynamics.spatial import forward, inertia, inverse, loads, regressor, sensitivities, short_chain
from kinecast.dynamics.spatial.articulated import hinges
from kinecast.dynamics.spatial.branches import BranchSystem
from kinecast.dynamics.spatial.frames import link_poses
from kinecast.dynamics.surroundings import at_rest
from kinecast.dynamics.tree import build, regrouped

# Both sides are exact but for rounding, which conditioning of random mechanisms amplifies by a few hundred.
AGREES = 1e-10

SLIDING = {"revolute": 0.0, "prismatic": 1.0, "mixed": 0.4}
SHAPES = {
    "one": {"n": 1},
    "chain": {},
    "tree": {"tree": True},
    "massless": {"tree": True, "massless": 0.5},
    "standard": {"given_by": "standard", "right_angles": 0.5, "fixed": 2},
    "modified": {"given_by": "modified", "tree": True, "fixed": 1},
    "anyhow": {"given_by": "mixed", "tree": True, "fixed": 3, "shuffled": True, "right_angles": 0.3},
}
ACTING = {
    "nothing": {},
    "loads": {"loads": 3},
    "base": {"moving_base": True},
    "rotors": {"actuators": True},
    "everything": {"loads": 3, "moving_base": True, "actuators": True},
}
CASES = [pytest.param(*case, id="-".join(case)) for case in product(SLIDING, SHAPES, ACTING)]


class Setting:
    """A random mechanism, its surroundings, a state as numbers and as symbols.

    With `solvable` what carries nothing has mass: the mass matrix is regular.
    """

    def __init__(self, joints, shape, acting, solvable=False):
        rng = np.random.default_rng([ord(c) for c in joints + shape + acting])
        options = dict(ACTING[acting])
        actuators = options.pop("actuators", False)
        given = {"n": 7, "sliding": SLIDING[joints], "actuators": actuators, **SHAPES[shape]}
        self.structure = random_structure(rng, given.pop("n"), **given)
        if solvable:
            self.structure = with_heavy_tips(self.structure, rng)
        self.around = random_surroundings(rng, self.structure, **options)
        self.tree = build(self.structure)
        self.fast_tree = self.tree if self.around.base_turns else regrouped(self.tree)
        self.symbols = [ca.SX.sym(x, self.structure.n) for x in "qva"]
        self.state = random_state(rng, self.structure)

    def numbers(self, *expressions):
        function = ca.Function("f", self.symbols, [ca.densify(e) for e in expressions])
        return [np.array(x) for x in function.call([ca.DM(x) for x in self.state])]


def assert_agree(ours, reference):
    for x, y in zip(ours, reference, strict=True):
        assert x.shape == y.shape
        assert np.abs(x - y).max() <= AGREES * max(1.0, np.abs(y).max())


@pytest.mark.parametrize(("joints", "shape", "acting"), CASES)
def test_inverse_dynamics_and_its_sensitivities(joints, shape, acting):
    s = Setting(joints, shape, acting)
    tau, _ = torques_and_loads(s.structure, *s.symbols, s.around)
    reference = s.numbers(tau, *(ca.jacobian(tau, x) for x in s.symbols))
    ours = s.numbers(*sensitivities.inverse_dynamics_sensitivities(s.fast_tree, *s.symbols, s.around))
    assert_agree(ours, reference)
    for tree in (s.tree, s.fast_tree, build(s.structure, keep_fixed=True)):
        assert_agree(s.numbers(inverse.inverse_dynamics(tree, *s.symbols, s.around)), reference[:1])


@pytest.mark.parametrize(("joints", "shape", "acting"), CASES)
def test_joint_loads_and_their_sensitivities(joints, shape, acting):
    s = Setting(joints, shape, acting)
    _, load = torques_and_loads(s.structure, *s.symbols, s.around)
    tree = build(s.structure, keep_fixed=True)
    reference = s.numbers(load, *(ca.jacobian(load, x) for x in s.symbols))
    assert_agree(s.numbers(loads.joint_loads(tree, *s.symbols, s.around)), reference[:1])
    assert_agree(s.numbers(*loads.joint_loads_sensitivities(tree, *s.symbols, s.around)), reference)
    world = loads.joint_loads(tree, *s.symbols, s.around, world=True)
    reference = s.numbers(world, *(ca.jacobian(world, x) for x in s.symbols))
    assert_agree(s.numbers(*loads.joint_loads_sensitivities(tree, *s.symbols, s.around, world=True)), reference)


@pytest.mark.parametrize(("joints", "shape", "acting"), CASES)
def test_forward_dynamics_and_its_sensitivities(joints, shape, acting):
    s = Setting(joints, shape, acting, solvable=True)
    q, v, tau = s.symbols
    needed, _ = torques_and_loads(s.structure, q, v, ca.SX.sym("a", s.structure.n), s.around)
    a = forward.forward_dynamics(s.fast_tree, q, v, tau, s.around)
    back, _ = torques_and_loads(s.structure, q, v, a, s.around)
    assert needed.shape == a.shape
    assert_agree(s.numbers(back), [s.state[2].reshape(-1, 1)])
    reference = s.numbers(a, *(ca.jacobian(a, x) for x in s.symbols))
    ours = s.numbers(*forward.forward_dynamics_sensitivities(s.fast_tree, q, v, tau, s.around))
    assert_agree(ours, reference)


@pytest.mark.parametrize(("joints", "shape"), [*product(SLIDING, SHAPES)])
def test_matrices(joints, shape):
    s = Setting(joints, shape, "everything", solvable=True)
    q, v, a = s.symbols
    tau, _ = torques_and_loads(s.structure, q, v, a, at_rest(s.structure))
    M, C = inertia.mass_matrix(s.fast_tree, q), inertia.coriolis_matrix(s.fast_tree, q, v)
    inverse_M = forward.inverse_mass_matrix(s.fast_tree, q)
    assert_agree(s.numbers(M, C), s.numbers(ca.jacobian(tau, a), ca.jacobian(tau, v) / 2))
    identity = np.eye(s.structure.n)
    assert_agree(s.numbers(M @ inverse_M), [identity])
    rate = ca.jtimes(M.reshape((-1, 1)), q, v).reshape(M.shape) - 2 * C
    assert_agree(s.numbers(rate + rate.T), [0 * identity])


@pytest.mark.parametrize("shape", SHAPES)
def test_all_ways_to_the_mass_matrix(shape):
    s = Setting("mixed", shape, "rotors")
    q = s.symbols[0]
    tree = build(s.structure, keep_fixed=True)
    ways = [inertia.by_composite_bodies(tree, q), inertia.by_composite_bodies(s.fast_tree, q)]
    ways += [short_chain.mass_matrix(s.fast_tree, q, link) for link in short_chain.meeting_links(s.fast_tree)]
    assert_agree(s.numbers(*ways), s.numbers(inertia.beside_sensitivities(s.fast_tree, q)) * len(ways))


@pytest.mark.parametrize("shape", SHAPES)
def test_all_ways_to_its_inverse(shape):
    s = Setting("mixed", shape, "rotors", solvable=True)
    q, tree = s.symbols[0], s.fast_tree
    ways = [BranchSystem(tree, inertia.mass_matrix(tree, q)).inverse()]
    ways.append(filtering.from_gains(tree, passages(tree, q), hinges(tree, link_poses(tree, q))))
    (M,) = s.numbers(inertia.mass_matrix(tree, q))
    assert_agree(s.numbers(*ways), [np.linalg.inv(M)] * len(ways))


@pytest.mark.parametrize(("n", "operations"), [(6, (394, 366)), (30, (17498, 14235))])
def test_the_inverse_takes_the_cheapest_way(n, operations):
    """Factors of a short chain's mass matrix, the filter's closed form for a long one."""
    found = counted(lambda structure, q: forward.inverse_mass_matrix(regrouped(build(structure)), q), n, "q")
    assert found == operations


@pytest.mark.parametrize(("n", "operations"), [(6, (269, 276)), (20, (3169, 2563))])
def test_the_mass_matrix_takes_the_cheapest_way(n, operations):
    """Joints that meet in the middle of a short chain; the sensitivities' way along a long one."""
    assert counted(lambda structure, q: inertia.mass_matrix(regrouped(build(structure)), q), n, "q") == operations


@pytest.mark.parametrize(("joints", "shape"), [*product(SLIDING, SHAPES)])
def test_the_regressor_times_the_parameters_is_the_torque(joints, shape):
    s = Setting(joints, shape, "base")
    tau, _ = torques_and_loads(s.structure, *s.symbols, s.around)
    Y = regressor.regressor(s.tree, *s.symbols, s.around)
    assert_agree(s.numbers(Y @ ca.DM(regressor.parameters(s.structure))), s.numbers(tau))
