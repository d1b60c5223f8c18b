"""What is wrong with the arguments of a call is said in one line: which array, what is wrong, what would be right."""

import re

import numpy as np
import pytest
from compiled_mechanisms import mechanism

from kinecast.dynamics.mechanism import BaseMotion, Load, Mechanism
from kinecast.errors import InputError, KinecastError, NotSupportedError, UnknownNameError
from kinecast.mechanism import Joint, Loop, Place

N = 4
ONE, MANY = np.zeros(N), np.zeros((5, N))
COORDINATES = "the coordinates of 'chain': body0, body1, body2, ..."


def call(*state, **how):
    given = state or (ONE, ONE, ONE)
    return mechanism("chain").inverse_dynamics(*given, **how)


def read_only(x):
    x.setflags(write=False)
    return x


def refused(message, error=InputError):
    """Expect one line that is exactly this; "..." stands for anything."""
    pattern = ".*".join(re.escape(part) for part in message.split("..."))
    return pytest.raises(error, match=f"^{pattern}$")


STATES = {
    "too short": ((np.zeros(3), ONE, ONE), f"the last axis of q must be 4 ({COORDINATES}), got shape (3,)"),
    "too long": ((ONE, np.zeros((2, 5)), ONE), f"the last axis of v must be 4 ({COORDINATES}), got shape (2, 5)"),
    "a number": ((0.0, ONE, ONE), f"the last axis of q must be 4 ({COORDINATES}), got shape ()"),
    "one is not many": (
        (ONE, ONE, np.zeros((3, 1))),
        f"the last axis of a must be 4 ({COORDINATES}), got shape (3, 1)",
    ),
    "columns": ((MANY.T, ONE, ONE), f"the last axis of q must be 4 ({COORDINATES}), got shape (4, 5)"),
    "ragged": (([[0] * 4, [0] * 3], ONE, ONE), "q must be an array, its rows have different lengths"),
    "objects": ((np.zeros(N, object), ONE, ONE), "q must be real numbers, got dtype object"),
    "nothing": ((ONE, None, ONE), "v must be real numbers, got dtype object"),
    "a hole": (([0, 0, None, 0], ONE, ONE), "q must be real numbers, got dtype object"),
    "text": ((ONE, ONE, ["a"] * N), "a must be real numbers, got dtype <U1"),
    "complex": ((ONE, ONE * 1j, ONE), "v must be real numbers, got dtype complex128"),
    "dates": ((ONE.astype("M8[s]"), ONE, ONE), "q must be real numbers, got dtype datetime64[s]"),
    "batches": (
        (np.zeros((3, N)), np.zeros((4, N)), ONE),
        "the batch axes do not broadcast: (3,) of q, (4,) of v, () of a",
    ),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", STATES)
def test_states(case, threads):
    state, message = STATES[case]
    with refused(f"inverse_dynamics: {message}"):
        call(*state, threads=threads)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long doubles are doubles here")
def test_more_precision_than_a_double_is_not_dropped_silently():
    with refused("inverse_dynamics: q must be float64, got ...; convert it with astype(float)"):
        call(ONE.astype(np.longdouble), ONE, ONE)


TAU_AND_THREE = "4 float64 arrays (tau, dtau_dq, dtau_dv, dtau_da)"
OUTS = {
    "shape": (np.zeros((4, N)), False, "out for tau must have shape (5, 4), got (4, 4)"),
    "whole numbers": (np.zeros((5, N), int), False, "out for tau must be a float64 array, got int64"),
    "read-only": (read_only(np.zeros((5, N))), False, "out for tau must be writable, got a read-only array"),
    "a list": ([[0.0] * N] * 5, False, "out must be a float64 array for tau, got a list of 5"),
    "a number": (5, False, "out must be a float64 array for tau, got 5"),
    "two": ([np.zeros((5, N))] * 2, False, "out must be a float64 array for tau, got a list of 2"),
    "one of four": ((np.zeros((5, N)),), True, f"out must be {TAU_AND_THREE}, got a tuple of 1"),
    "only tau": (np.zeros((5, N)), True, f"out must be {TAU_AND_THREE}, got one array"),
    "a matrix": (
        [np.zeros((5, N)), np.zeros((5, N, N)), np.zeros((5, N, N)), np.zeros((N, N, 5))],
        True,
        "out for dtau_da must have shape (5, 4, 4), got (4, 4, 5)",
    ),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", OUTS)
def test_outs(case, threads):
    out, sensitivities, message = OUTS[case]
    name = "inverse_dynamics_sensitivities" if sensitivities else "inverse_dynamics"
    with refused(f"{name}: {message}"):
        call(MANY, MANY, MANY, out=out, sensitivities=sensitivities, threads=threads)


def test_outs_of_sparse_matrices_hold_their_entries():
    out = [np.zeros((5, N)), *(np.zeros((5, N, N)) for _ in range(3))]
    with refused("inverse_dynamics_sensitivities: out for dtau_dq must have shape (5, ...), got (5, 4, 4)"):
        call(MANY, MANY, MANY, out=out, sensitivities=True, sparse=True)


@pytest.mark.parametrize("threads", [0, -2, 1.5, 2.0, "2", None])
def test_threads(threads):
    with refused(f"threads must be a whole number, 1 or more, got {threads!r}"):
        call(threads=threads)


# ------------------------------------------------------------------------------------------------ names


def test_an_unknown_method_comes_with_the_nearest():
    with refused("unknown method 'newton_eular'; did you mean 'newton_euler'? known: spatial, ...", UnknownNameError):
        call(method="newton_eular")


@pytest.mark.parametrize("method", [None, 3, ["spatial"]])
def test_a_method_is_a_name(method):
    with refused(f"inverse_dynamics: method must be a name, got {method!r}"):
        call(method=method)


def test_a_method_that_has_no_such_algorithm_names_those_that_have():
    with refused("method 'lagrange' has no forward_dynamics; these have: spatial, ...denoc...", NotSupportedError):
        mechanism("chain").forward_dynamics(ONE, ONE, ONE, method="lagrange")
    with refused("method 'newton_euler' gives joint loads in the child's axes only...", NotSupportedError):
        mechanism("chain").joint_loads(ONE, ONE, ONE, frame="world", method="newton_euler")


@pytest.mark.parametrize("name", ["pose", "velocity", "acceleration", "jacobian"])
def test_an_unknown_place_comes_with_the_nearest(name):
    take = {"velocity": 2, "acceleration": 3}.get(name, 1)
    message = "unknown point 'handel'; did you mean 'handle'? known: hook, handle, body0, body1, body2, body3"
    with refused(message, UnknownNameError):
        getattr(mechanism("chain"), name)("handel", *[ONE] * take)


@pytest.mark.parametrize("place", [None, 3, ONE, ["handle"]])
def test_a_place_is_a_name_and_comes_first(place):
    with refused("pose: place, which comes first, must be the name of a point or body, got ..."):
        mechanism("chain").pose(place, ONE)


@pytest.mark.parametrize("frame", ["childs", "body", None])
def test_frames_of_joint_loads(frame):
    with refused(f"unknown frame of joint loads {frame!r}; ...known: child, world", UnknownNameError):
        mechanism("chain").joint_loads(ONE, ONE, ONE, frame=frame)


def test_operation_counts_of_nothing_known():
    with refused("unknown algorithm 'mass_matrices'; did you mean 'mass_matrix'? ...", UnknownNameError):
        mechanism("chain").operation_counts("mass_matrices")


# ------------------------------------------------------------------------------------------------ loads and base


@pytest.mark.parametrize("loads", ["handle", ("handle", [0, 0, 1]), {"handle": [0, 0, 1]}, np.zeros(3), 3])
def test_loads_are_loads(loads):
    with refused("inverse_dynamics: loads must be a kinecast.Load or a list of them, got ..."):
        call(loads=loads)


LOADS = {
    "point": (Load("handel"), "unknown point 'handel'; did you mean 'handle'? known: ..."),
    "no name": (Load(None), "inverse_dynamics: point of a load must be the name of a point or body, got None"),
    "force": (
        Load("handle", [0, 1]),
        "inverse_dynamics: the last axis of force at handle must be 3 (x, y, z), got shape (2,)",
    ),
    "moment": (
        Load("handle", moment=np.zeros((3, 4))),
        "inverse_dynamics: the last axis of moment at handle must be 3 (x, y, z), got shape (3, 4)",
    ),
    "text": (Load("handle", ["a"] * 3), "inverse_dynamics: force at handle must be real numbers, got dtype <U1"),
    "batch": (
        [Load("hook"), Load("handle", np.zeros((4, 3)))],
        "inverse_dynamics: the batch axes do not broadcast: (5,) of q, () of v, () of a, () of force at hook, "
        "() of moment at hook, (4,) of force at handle, () of moment at handle",
    ),
}


@pytest.mark.parametrize("case", LOADS)
def test_loads(case):
    loads, message = LOADS[case]
    with refused(message):
        call(MANY, ONE, ONE, loads=loads)


def test_bases():
    with refused("inverse_dynamics: base must be a kinecast.BaseMotion, got ndarray"):
        call(base=np.zeros(6))
    six = "must be 6 (angular x, y, z; linear x, y, z), got shape (3,)"
    with refused(f"inverse_dynamics: the last axis of base velocity {six}"):
        call(base=BaseMotion(np.zeros(3)))
    with refused(f"inverse_dynamics: the last axis of base acceleration {six}"):
        call(base=BaseMotion(acceleration=np.zeros(3)))


def test_a_planar_mechanism_does_not_turn_with_its_ground():
    m, zero = Mechanism.load("planar2"), np.zeros(2)
    message = (
        "inverse_dynamics: the base of 'planar2' cannot turn because the inertia of body 'shoulder' is known about "
        "one axis only; give all of its moments"
    )
    turning = [0, 0, 0.1, 0, 0, 0]
    for base in (BaseMotion(turning), BaseMotion(acceleration=np.tile(turning, (3, 1))), BaseMotion([np.nan] * 6)):
        with refused(message):
            m.inverse_dynamics(zero, zero, zero, base=base)
    lifted = m.inverse_dynamics(zero, zero, zero, base=BaseMotion(acceleration=[0, 0, 0, *-m.gravity]))
    assert np.abs(lifted - 2 * m.gravity_torques(zero)).max() < 1e-12  # rounding


@pytest.mark.parametrize("velocity", [np.zeros(3), 0.0, ["a"] * 6, None, [[0] * 6, [0] * 5]])
def test_a_base_that_is_no_motion_is_refused_for_planar_mechanisms_too(velocity):
    with refused("inverse_dynamics: ...base velocity must be ..."):
        Mechanism.load("planar2").inverse_dynamics([0, 0], [0, 0], [0, 0], base=BaseMotion(velocity))


# ------------------------------------------------------------------------------------------------ mechanisms


BODY = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.eye(3)}


def arm(*bodies, **other):
    joints = [
        Joint(f"j{k}", "revolute", f"j{k - 1}" if k else None, axis=np.eye(3)[k % 3], **b) for k, b in enumerate(bodies)
    ]
    return Mechanism("arm", tuple(joints), **other)


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_mass_matrix"])
@pytest.mark.parametrize(("bodies", "at_fault"), [((BODY, BODY, {}), "j2"), ((BODY, {}, {}), "j2"), (({}, {}), "j1")])
def test_a_massless_end_makes_the_mass_matrix_singular(bodies, at_fault, name):
    m = arm(*bodies)
    why = f"mechanism 'arm': the mass matrix is singular because joint '{at_fault}' moves nothing that has mass"
    with refused(f"{why}; give its body a mass or an inertia, the joint an actuator_inertia, or ..."):
        getattr(m, name)(*[np.zeros(m.n)] * (3 if name == "forward_dynamics" else 1))
    assert np.isfinite(m.inverse_dynamics(*np.ones((3, m.n)))).all()  # which needs no inverse


def test_two_joints_about_one_axis_with_no_mass_between_are_singular_too():
    joints = (Joint("inner", "revolute", None), Joint("outer", "revolute", "inner", **BODY))
    with refused("... because joint 'inner' can move while no mass does: its axis is that of a joint it carries, ..."):
        Mechanism("arm", joints).forward_dynamics(*np.ones((3, 2)))


def test_a_rotor_or_a_heavy_end_makes_up_for_massless_bodies():
    for m in (arm(BODY, {"actuator_inertia": 0.1}), arm({}, {}, BODY)):
        tau = np.ones(m.n)
        q = np.linspace(0.3, 0.8, m.n)
        a = m.forward_dynamics(q, 0 * q, tau)
        assert np.abs(m.inverse_dynamics(q, 0 * q, a) - tau).max() < 1e-9  # forward and inverse, but for rounding


def test_no_mass_no_centre_of_mass():
    m = arm({}, {})
    with refused("mechanism 'arm' has no mass, so no centre of mass"):
        m.center_of_mass([0, 0])
    assert m.kinetic_energy([0, 0], [1, 1]) == 0.0
    assert not m.mass_matrix([0.3, 0.4]).any()


def test_closed_loops_are_refused_by_name():
    m = arm(BODY, BODY, loops=(Loop("knee bar", Place("j1", np.ones(3)), Place(None, np.ones(3))),))
    for name, given in (("inverse_dynamics", 3), ("mass_matrix", 1), ("kinetic_energy", 2)):
        with pytest.raises(
            NotSupportedError, match="closed loops \\(knee bar\\) are not supported yet by any method; remove them with"
        ):
            getattr(m, name)(*np.zeros((given, 2)))
    assert m.replace(loops=()).mass_matrix([0, 0]).shape == (2, 2)


def test_every_refusal_is_one_line_and_of_kinecast():
    for wrong in ({"threads": 0}, {"method": "x"}, {"loads": 1}, {"base": 1}, {"out": 1}):
        with pytest.raises(KinecastError) as caught:
            call(**wrong)
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is None
