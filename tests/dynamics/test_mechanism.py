"""The methods of `Mechanism` as functions of arrays: batches, strides, types, threads, `out=`, sensitivities."""

import numpy as np
import pytest
from compiled_mechanisms import NAMES, acting, mechanism, states

from kinecast.dynamics.algorithms import ALGORITHMS
from kinecast.dynamics.mechanism import BaseMotion, Load, Mechanism
from kinecast.dynamics.tracing import METHODS, methods_for

# Where the same numbers come by another program, or in another order: the rounding of a few hundred operations.
ROUNDING = 1e-12
# Two ways to the accelerations: rounding, which mass matrices of condition 1e3 amplify.
SOLVED = 1e-10
# Central differences of the compiled method: their error is the step squared times third derivatives, and rounding.
DIFFERENCES, STEP = 1e-6, 1e-5

# method -> which of (q, v, a or tau) it takes
STATE = {
    "inverse_dynamics": 3, "gravity_torques": 1, "bias_torques": 2, "joint_loads": 3, "regressor": 3,
    "forward_dynamics": 3, "mass_matrix": 1, "inverse_mass_matrix": 1, "coriolis_matrix": 2, "kinetic_energy": 2,
    "potential_energy": 1, "momentum": 2, "center_of_mass": 1,
}  # fmt: skip
PLACES = {"pose": 1, "velocity": 2, "acceleration": 3, "jacobian": 1}
TWO_RESULTS = {"forward_dynamics_and_loads": 3}
WITH_SENSITIVITIES = ("inverse_dynamics", "joint_loads", "forward_dynamics")
TREE = "tree"


def method(name, which=TREE):
    """A function of arrays only."""
    m = mechanism(which)
    return (lambda *x, **how: getattr(m, name)("handle", *x, **how)) if name in PLACES else getattr(m, name)


everything = pytest.mark.parametrize("name", [*STATE, *PLACES])


def arguments(name, *batch, which=TREE, seed=0):
    return states(which, *batch, seed=seed)[: {**STATE, **PLACES, **TWO_RESULTS}[name]]


def assert_close(x, y, tolerance=ROUNDING):
    assert x.shape == y.shape
    assert np.abs(x - y).max() <= tolerance * max(1.0, np.abs(y).max())


def test_every_algorithm_is_a_method():
    methods = {*STATE, *PLACES, *TWO_RESULTS, *(f"{name}_sensitivities" for name in WITH_SENSITIVITIES)}
    assert methods == set(ALGORITHMS)


# ------------------------------------------------------------------------------------------------ batches


@everything
def test_a_batch_is_a_loop(name):
    given = arguments(name, 3, 7)
    batch = method(name)(*given)
    loop = [[method(name)(*(x[i, k] for x in given)) for k in range(7)] for i in range(3)]
    assert np.isfinite(batch).all()
    assert_close(batch, np.array(loop))


@pytest.mark.parametrize("batch", [(0,), (2, 0), (1,), (17, 1, 3)])
def test_any_batch_axes(batch):
    m = mechanism(TREE)
    q, v, a, _ = states(TREE, *batch)
    tau, d = m.inverse_dynamics(q, v, a, sensitivities=True)
    assert tau.shape == (*batch, m.n)
    assert d.q.shape == d.v.shape == d.a.shape == (*batch, m.n, m.n)
    assert m.joint_loads(q, v, a).shape == (*batch, len(m.joints), 6)
    assert m.pose("handle", q).shape == (*batch, 4, 4)
    assert m.kinetic_energy(q, v).shape == batch


def test_batch_axes_broadcast():
    m = mechanism(TREE)
    q, v, a, _ = states(TREE, 1000)
    assert_close(
        m.inverse_dynamics(q, v[0], a[0]), m.inverse_dynamics(q, np.tile(v[0], (1000, 1)), np.tile(a[0], (1000, 1)))
    )
    crossed = m.inverse_dynamics(q[:4, None], v[:5], a[0])
    assert crossed.shape == (4, 5, m.n)
    assert_close(crossed[2, 3], m.inverse_dynamics(q[2], v[3], a[0]))


def test_loads_and_base_are_batches_too():
    m = mechanism(TREE)
    q, v, a, _ = states(TREE, 4)
    around = acting(3, 1)
    tau = m.inverse_dynamics(q, v, a, **around)
    assert tau.shape == (3, 4, m.n)
    assert_close(tau[2], m.inverse_dynamics(q, v, a, **one_of(around, (2, 0))))
    fixed_force = m.inverse_dynamics(q, v, a, loads=Load("handle", [0, 0, -50]))
    assert_close(fixed_force[1], m.inverse_dynamics(q[1], v[1], a[1], loads=[Load("handle", np.array([0, 0, -50.0]))]))


# ------------------------------------------------------------------------------------------------ memory


def strided(x):
    """The same numbers, laid out otherwise."""
    yield "every second", np.repeat(x, 2, axis=0)[::2]
    yield "backwards", x[::-1].copy()[::-1]
    yield "columns first", np.asfortranarray(x)
    yield "in a wider array", np.concatenate([x, x, x], axis=1)[:, x.shape[1] : 2 * x.shape[1]]
    yield "reversed coordinates", x[:, ::-1].copy()[:, ::-1]
    off = np.empty(x.nbytes + 1, np.uint8)[1:].view()
    off[:] = np.frombuffer(x.tobytes(), np.uint8)
    yield "not aligned", np.frombuffer(off, np.float64).reshape(x.shape)
    yield "other byte order", x.astype(x.dtype.newbyteorder())


@pytest.mark.parametrize("sensitivities", [False, True])
def test_any_strides(sensitivities):
    m = mechanism(TREE)
    q, v, a, _ = states(TREE, 21)
    plain = flat(m.inverse_dynamics(q, v, a, sensitivities=sensitivities))
    for (how, q_), (_, v_), (_, a_) in zip(strided(q), strided(v), strided(a), strict=True):
        for given in ((q_, v_, a_), (q, v_, a)):
            for x, y in zip(flat(m.inverse_dynamics(*given, sensitivities=sensitivities)), plain, strict=True):
                assert np.array_equal(x, y), how


def flat(found):
    """The arrays of a result: one, one and its sensitivities, or two."""
    if isinstance(found, np.ndarray):
        return [found]
    return list(found) if isinstance(found[1], np.ndarray) else [found[0], *vars(found[1]).values()]


@everything
def test_out(name):
    given = arguments(name, 13)
    plain = method(name)(*given)
    out = np.full_like(plain, np.nan)
    assert method(name)(*given, out=out) is out
    assert np.array_equal(out, plain)
    wide = np.full((26, *plain.shape[1:]), np.nan)
    method(name)(*given, out=wide[::2])
    assert np.array_equal(wide[::2], plain)
    assert np.isnan(wide[1::2]).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_out_of_sensitivities(threads):
    m = mechanism(TREE)
    q, v, a, _ = states(TREE, 40)
    plain = flat(m.inverse_dynamics(q, v, a, sensitivities=True))
    outs = [np.asfortranarray(np.full_like(x, np.nan)) for x in plain]
    tau, d = m.inverse_dynamics(q, v, a, sensitivities=True, out=outs, threads=threads)
    for given, returned, expected in zip(outs, [tau, d.q, d.v, d.a], plain, strict=True):
        assert given is returned
        assert np.array_equal(given, expected)


@pytest.mark.parametrize("around", ["alone", "acting"])
@pytest.mark.parametrize("name", NAMES)
def test_accelerations_and_the_loads_that_come_with_them(name, around):
    """The same as one after the other, in arrays made before and by two threads as well."""
    m, how = mechanism(name), acting(6) if around == "acting" else {}
    q, v, _, tau = states(name, 6)
    a, load = m.forward_dynamics_and_loads(q, v, tau, **how)
    assert_close(a, m.forward_dynamics(q, v, tau, **how), SOLVED)
    assert_close(load, m.joint_loads(q, v, a, **how), SOLVED)
    outs = [np.full_like(a, np.nan), np.full_like(load, np.nan)]
    found = m.forward_dynamics_and_loads(q, v, tau, **how, out=outs, threads=2)
    for out, given, plain in zip(outs, found, (a, load), strict=True):
        assert given is out
        assert np.array_equal(out, plain)
    alone = m.forward_dynamics_and_loads(q[4], v[4], tau[4], **(one_of(how, 4) if how else {}))
    assert np.array_equal(alone[0], a[4])
    assert np.array_equal(alone[1], load[4])


def one_of(around, k):
    """What acts on sample `k` of a batch."""
    base = around["base"]
    return {
        "loads": [Load(load.point, load.force[k], load.moment[k]) for load in around["loads"]],
        "base": BaseMotion(base.velocity[k], base.acceleration[k]),
    }


@pytest.mark.parametrize("threads", [1, 2])
def test_out_may_be_an_input(threads):
    m = mechanism(TREE)
    q, v, a, _ = states(TREE, 40)
    plain = m.inverse_dynamics(q, v, a)
    m.inverse_dynamics(q, v, a, out=a, threads=threads)
    assert np.array_equal(a, plain)


@everything
def test_inputs_are_never_modified(name):
    given = arguments(name, 9)
    before = given.copy()
    given.setflags(write=False)
    method(name)(*given)
    assert np.array_equal(given, before)


def test_real_numbers_of_any_kind_are_taken_and_doubles_returned():
    m = mechanism(TREE)
    whole = [[1, -2, 0, 3, 1, 0], [0, 1, 1, 2, -1, 2]]
    exact = m.mass_matrix(np.array(whole, dtype=float))
    for dtype in (np.float32, np.float16, np.int64, np.int8):
        found = m.mass_matrix(np.array(whole, dtype=dtype))
        assert found.dtype == np.float64
        assert np.array_equal(found, exact)
    assert np.array_equal(m.mass_matrix(whole), exact)
    assert np.array_equal(m.mass_matrix(tuple(whole[0])), exact[0])


# ------------------------------------------------------------------------------------------------ samples apart


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "pose", "joint_loads"])
@pytest.mark.parametrize("which", range(3))
def test_what_is_not_a_number_stays_in_its_sample(name, bad, which):
    given = arguments(name, 19)
    if which >= len(given):
        return
    plain = method(name)(*given)
    given[which][11] = bad
    with np.errstate(invalid="ignore"):
        found = method(name)(*given)
    others = np.arange(19) != 11
    assert np.array_equal(found[others], plain[others])
    assert np.isnan(found[11]).any()


@everything
def test_threads_change_nothing(name):
    given = arguments(name, 333)
    plain = method(name)(*given)
    assert np.array_equal(method(name)(*given, threads=2), plain)
    out = np.full_like(plain, np.nan)
    assert method(name)(*given, threads=3, out=out) is out
    assert np.array_equal(out, plain)


def test_threads_with_little_to_do():
    m = mechanism(TREE)
    q, v, a, _ = states(TREE, 2)
    plain = m.inverse_dynamics(q, v, a)
    assert np.array_equal(m.inverse_dynamics(q, v, a, threads=8), plain)
    assert np.array_equal(m.inverse_dynamics(q[0], v[0], a[0], threads=8), plain[0])
    assert m.inverse_dynamics(q[:0], v[:0], a[:0], threads=8).shape == (0, m.n)


# ------------------------------------------------------------------------------------------------ sensitivities


@pytest.mark.parametrize("around", ["alone", "acting"])
@pytest.mark.parametrize("name", WITH_SENSITIVITIES)
def test_sensitivities_are_the_derivatives(name, around):
    m = mechanism(TREE)
    how = acting() if around == "acting" else {}
    state = states(TREE, seed=3)[:3]
    value, found = getattr(m, name)(*state, sensitivities=True, **how)
    assert_close(value, getattr(m, name)(*state, **how))
    for k, derivative in enumerate(vars(found).values()):
        columns = []
        for unit in np.eye(m.n):
            up, down = state.copy(), state.copy()
            up[k] += STEP * unit
            down[k] -= STEP * unit
            columns.append((getattr(m, name)(*up, **how) - getattr(m, name)(*down, **how)) / (2 * STEP))
        assert_close(derivative, np.stack(columns, axis=-1), DIFFERENCES)


def test_sensitivities_of_joint_loads_in_world_axes():
    m = mechanism(TREE)
    q, v, a, _ = states(TREE)
    how = acting()
    _, found = m.joint_loads(q, v, a, frame="world", sensitivities=True, **how)
    for k, unit in enumerate(np.eye(m.n)):
        up, down = (m.joint_loads(q + s * unit, v, a, frame="world", **how) for s in (STEP, -STEP))
        assert_close(found.q[..., k], (up - down) / (2 * STEP), DIFFERENCES)


def test_joint_loads_in_world_axes_are_those_in_the_childs_turned():
    m = mechanism(TREE)
    q, v, a, _ = states(TREE, 5)
    child, world = m.joint_loads(q, v, a), m.joint_loads(q, v, a, frame="world")
    for k, joint in enumerate(m.joints):
        turn = m.pose(joint.name, q)[:, None, :3, :3]
        turned = (turn @ child[:, k].reshape(5, 2, 3, 1)).reshape(5, 6)
        assert_close(world[:, k], turned)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", WITH_SENSITIVITIES)
@pytest.mark.parametrize("which", NAMES)
def test_sparse_matrices_are_the_dense_ones(name, which, threads):
    m = mechanism(which)
    state = states(which, 3, 5)[:3]
    value, dense = getattr(m, name)(*state, sensitivities=True)
    value_, sparse = getattr(m, name)(*state, sensitivities=True, sparse=True, threads=threads)
    assert np.array_equal(value, value_)
    for matrix, expected in zip(vars(sparse).values(), vars(dense).values(), strict=True):
        assert np.array_equal(matrix.dense(), expected)
        assert matrix.values.shape == (3, 5, len(matrix.positions[0]))
        assert matrix.shape == expected.shape[2:]


def test_values_are_dense_beside_sparse_matrices():
    """In the plane most components of a joint load are zero throughout, and so are no entries of the kernel."""
    m = Mechanism.load("planar2")
    state = np.random.default_rng(0).normal(size=(3, 4, 2))
    loads, d = m.joint_loads(*state, sensitivities=True, sparse=True)
    assert loads.shape == (4, 2, 6)
    assert np.array_equal(loads, m.joint_loads(*state, sensitivities=True)[0])
    assert d.a.values.shape[-1] < 2 * 6 * 2


def test_branches_do_not_feel_each_other():
    """The structural zeros of the tree: none of its matrices is full."""
    m = mechanism(TREE)
    _, d = m.inverse_dynamics(*states(TREE)[:3], sensitivities=True, sparse=True)
    assert all(matrix.values.size < m.n**2 for matrix in (d.q, d.v, d.a))


# ------------------------------------------------------------------------------------------------ methods


def methods_and_algorithms():
    found = []
    for algorithm in ALGORITHMS:
        source = "inverse_dynamics" if algorithm in ("gravity_torques", "bias_torques") else algorithm
        for way in methods_for(source):
            plain = algorithm.removesuffix("_sensitivities")
            found.append(pytest.param(way, plain, algorithm != plain, id=f"{way}-{algorithm}"))
    return found


@pytest.mark.parametrize(("way", "algorithm", "sensitivities"), methods_and_algorithms())
def test_the_formulations_of_the_literature_agree(way, algorithm, sensitivities):
    m = mechanism("chain")
    given = arguments(algorithm, 4, which="chain")
    how = acting() if ALGORITHMS[algorithm].around else {}
    if sensitivities:
        how["sensitivities"] = True
    fast, other = (flat(getattr(m, algorithm)(*given, **how, method=x)) for x in ("spatial", way))
    for x, y in zip(other, fast, strict=True):
        assert_close(x, y, 1e-10)


def test_every_formulation_has_something_to_show():
    assert {case.values[0] for case in methods_and_algorithms()} == set(METHODS)


# ------------------------------------------------------------------------------------------------ the object


def test_a_changed_mechanism_computes_with_its_changes():
    m = mechanism("chain")
    q = states("chain")[0]
    weightless = m.with_gravity([0, 0, 0])
    assert isinstance(weightless, Mechanism)
    assert np.abs(m.gravity_torques(q)).max() > 1
    assert np.array_equal(weightless.gravity_torques(q), np.zeros(m.n))


def test_operation_counts_are_those_of_the_program():
    m = mechanism("chain")
    fast, literal = (m.operation_counts("inverse_dynamics", method=x) for x in ("spatial", "newton_euler"))
    assert 0 < fast.multiplications < literal.multiplications
    assert fast.trig == 2 * m.n  # a sine and a cosine a joint


@pytest.mark.parametrize(
    ("algorithm", "rival"),
    [("joint_loads_sensitivities", "newton_euler"), ("forward_dynamics_and_loads", "six_by_six")],
)
def test_the_default_takes_a_formulation_of_the_literature_where_that_is_shorter(algorithm, rival):
    def operations(arm):
        return [arm.operation_counts(algorithm, method=method).flops for method in ("spatial", rival)]

    ours, theirs = operations(Mechanism.load("planar3"))
    assert ours == theirs
    ours, theirs = operations(Mechanism.serial(3))
    assert ours <= theirs
