"""Every method, the default too, in everything it computes: against the plain reference on chains and trees of 1 to 30.

Sensitivities are compared along a random direction of the coordinates, in which the reference is differentiated: an
entry that is wrong shows there as well, and thirty joints stay affordable.
"""

from itertools import product

import casadi as ca
import numpy as np
import pytest
from random_mechanisms import random_state, random_structure, random_surroundings, with_heavy_tips
from reference_dynamics import torques_and_loads

from kinecast.dynamics.algorithms import ALGORITHMS, DEFAULT_METHOD, Request
from kinecast.dynamics.lagrange_regular import LARGEST
from kinecast.dynamics.tracing import METHODS, methods_for, traced
from kinecast.errors import NotSupportedError
from kinecast.mechanism import Point

# Relative to the largest entry. What rounding leaves, thirty links and mass matrices solved, is below 1e-12.
AGREES = 1e-10

NAMES = ("tau", "load", "tau_q", "tau_v", "tau_a", "load_q", "load_v", "load_a")
JOINTS = {"revolute": 0.0, "prismatic": 1.0, "mixed": 0.4}
ACTING = {
    "nothing": {},
    "loads": {"loads": 3},
    "base": {"moving_base": True},
    "drives": {"drives": True},
    "everything": {"loads": 3, "moving_base": True, "drives": True},
}
SHAPES = ("chain", "tree")
# Whatever acts is tried on few joints; more joints with everything at once.
FEW = [*product((1, 4), ACTING), (2, "everything"), (12, "everything")]
CASES = [(*few, joints, shape) for few, joints, shape in product(FEW, JOINTS, SHAPES)]
CASES += [
    (30, "everything", *case) for case in (("revolute", "chain"), ("prismatic", "tree"), *product(["mixed"], SHAPES))
]


class Setting:
    """A random mechanism with what acts on it, a state, and what the reference says."""

    def __init__(self, n, acting, joints, shape):
        rng = np.random.default_rng([n, *acting.encode(), *joints.encode(), *shape.encode()])
        how, tree = dict(ACTING[acting]), shape == "tree"
        structure = random_structure(
            rng,
            n,
            tree=tree,
            sliding=JOINTS[joints],
            given_by=str(rng.choice(["standard", "modified", "origin", "mixed"])),
            fixed=min(n - 1, 2),
            massless=0.2 * (n > 2),
            right_angles=0.2,
            shuffled=tree,
            actuators=how.pop("drives", False),
        )
        structure = with_heavy_tips(structure, rng)
        around = random_surroundings(rng, structure, **how)
        points = [Point(f"point {k}", load.joint, load.at) for k, load in enumerate(around.loads)]
        self.structure = structure.replace(points=tuple(points))
        self.loads = tuple(point.name for point in points)
        self.base = "moving_base" in how
        self.further = [around.base_velocity, around.base_acceleration] if self.base else []
        self.further += [vector for load in around.loads for vector in (load.force, load.moment)]
        self.further = [ca.evalf(x) for x in self.further]
        self.state = random_state(rng, structure)
        self.along = rng.normal(size=n)
        self._reference = reference(self.structure, around)

    def expected(self, *state):
        """By name: the reference's torques and loads, and their derivatives along the direction."""
        results = self._reference.call([*(state or self.state), self.along])
        return {name: x.full() for name, x in zip(NAMES, results, strict=True)}

    def computed(self, algorithm, method, state):
        """Its outputs: values a column, sensitivities with a column for each coordinate."""
        acts = ALGORITHMS[algorithm].around
        request = Request(algorithm, method, base=acts and self.base, loads=self.loads if acts else ())
        found = traced(self.structure, request).call([ca.DM(x) for x in state] + (self.further if acts else []))
        return [x.full() for x in found]


def reference(structure, around):
    """casadi.Function (q, v, a, direction) -> values and slopes called `NAMES`."""
    symbols, direction = [ca.SX.sym(x, structure.n) for x in "qva"], ca.SX.sym("along", structure.n)
    outputs = torques_and_loads(structure, *symbols, around)
    slopes = [ca.jtimes(ca.densify(y), x, direction) for y in outputs for x in symbols]
    return ca.Function("reference", [*symbols, direction], [ca.densify(x) for x in (*outputs, *slopes)])


def assert_close(found, expected, scale=None):
    scale = np.abs(expected).max() if scale is None else scale
    assert np.shape(found) == np.shape(expected)
    assert np.abs(found - expected).max() <= AGREES * max(scale, 1e-3)  # all zeros: a millinewton


def methods(algorithm, setting):
    """All that have it; nested sums only of what they take, and of no more joints than they take quickly."""
    able = [DEFAULT_METHOD, *methods_for(algorithm)]
    return [method for method in able if method != "lagrange_regular" or setting.structure.n <= LARGEST]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(map(str, case)))
def setting(request):
    return Setting(*request.param)


def test_torques_and_their_sensitivities(setting):
    expected = setting.expected()
    for method in methods("inverse_dynamics", setting):
        (tau,) = setting.computed("inverse_dynamics", method, setting.state)
        assert_close(tau, expected["tau"])
    for method in methods("inverse_dynamics_sensitivities", setting):
        tau, *slopes = setting.computed("inverse_dynamics_sensitivities", method, setting.state)
        assert_close(tau, expected["tau"])
        for slope, by in zip(slopes, "qva", strict=True):
            assert_close(slope @ setting.along, expected[f"tau_{by}"][:, 0], np.abs(expected["tau_q"]).max())


def test_torques_at_rest_and_without_accelerations(setting):
    q, v, _ = setting.state
    still = np.zeros(setting.structure.n)
    for algorithm, given in (("gravity_torques", (q,)), ("bias_torques", (q, v))):
        expected = setting.expected(*given, *[still] * (3 - len(given)))["tau"]
        for method in methods(algorithm, setting):
            (tau,) = setting.computed(algorithm, method, given)
            assert_close(tau, expected, np.abs(setting.expected()["tau"]).max())


def test_joint_loads_and_their_sensitivities(setting):
    expected = setting.expected()
    for method in methods("joint_loads", setting):
        (load,) = setting.computed("joint_loads", method, setting.state)
        assert_close(load, expected["load"])
    for method in methods("joint_loads_sensitivities", setting):
        load, *slopes = setting.computed("joint_loads_sensitivities", method, setting.state)
        assert_close(load, expected["load"])
        for slope, by in zip(slopes, "qva", strict=True):
            assert_close(slope @ setting.along, expected[f"load_{by}"][:, 0], np.abs(expected["load_q"]).max())


def test_accelerations_and_loads_of_torques(setting):
    expected = setting.expected()
    q, v, a = setting.state
    state = (q, v, expected["tau"])
    for method in methods("forward_dynamics", setting):
        (found,) = setting.computed("forward_dynamics", method, state)
        assert_close(found[:, 0], a)
    for method in methods("forward_dynamics_and_loads", setting):
        found, load = setting.computed("forward_dynamics_and_loads", method, state)
        assert_close(found[:, 0], a)
        assert_close(load, expected["load"])


def test_accelerations_sensitivities(setting):
    """The torques that they need: M a_q = - tau_q and so on, along the direction."""
    expected = setting.expected()
    q, v, _ = setting.state
    (M,) = setting.computed("mass_matrix", "denoc", [q])
    for method in methods("forward_dynamics_sensitivities", setting):
        _, *slopes = setting.computed("forward_dynamics_sensitivities", method, (q, v, expected["tau"]))
        needed = (-expected["tau_q"][:, 0], -expected["tau_v"][:, 0], setting.along)
        for slope, torques in zip(slopes, needed, strict=True):
            assert_close(M @ (slope @ setting.along), torques, np.abs(expected["tau_q"]).max())


def test_mass_matrices_and_their_inverses(setting):
    needed = setting.expected()["tau_a"][:, 0]  # M times the direction
    for method in methods("mass_matrix", setting):
        (M,) = setting.computed("mass_matrix", method, setting.state[:1])
        assert_close(M @ setting.along, needed)
        assert_close(M, M.T)
    for method in methods("inverse_mass_matrix", setting):
        (inverse,) = setting.computed("inverse_mass_matrix", method, setting.state[:1])
        assert_close(inverse @ needed, setting.along)


def test_what_a_method_has_not_it_refuses_and_names_those_that_have():
    structure = random_structure(np.random.default_rng(1), 2)
    refused = 0
    for algorithm, about in ALGORITHMS.items():
        able = methods_for(algorithm)
        for method in METHODS:
            if method not in able and not about.place:
                names = ", ".join([DEFAULT_METHOD, *able])
                with pytest.raises(
                    NotSupportedError, match=f"^method '{method}' has no {algorithm}; these have: {names}$"
                ):
                    traced(structure, Request(algorithm, method))
                refused += 1
    assert refused > 50
    with pytest.raises(NotSupportedError, match="'denoc' gives joint loads in the child's axes only.* 'spatial' also"):
        traced(structure, Request("joint_loads", "denoc", world=True))
    with pytest.raises(NotSupportedError, match="'lagrange' has no joint_loads; these have: spatial, newton_euler"):
        traced(structure, Request("joint_loads", "lagrange", world=True))
