"""Ground reaction: balance of forces and moments, zero root residual, derivatives, polygons."""

from types import SimpleNamespace

import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.human.contact import body_weight, ground_reaction, polygon_margin, reaction_sensitivities, support_polygon
from kinecast.human.skeleton import human

# Forces of a thousand newtons, summed over fifty bodies in double precision.
ROUNDING = 1e-9
DIFFERENCE = 1e-6


@pytest.fixture(scope="module")
def person():
    return human(1.75, 75, "male", freeze="walking")


def standing(person, rows=7, size=0.05, seed=0):
    random = np.random.default_rng(seed)
    return SimpleNamespace(**{name: random.normal(scale=size, size=(rows, person.n)) for name in "qva"})


BOTH_DOWN = {side: np.ones((7, 5), dtype=bool) for side in "rl"}
RIGHT_DOWN = {"r": np.ones((7, 5), dtype=bool), "l": np.zeros((7, 5), dtype=bool)}


def test_standing_still_each_foot_carries_half_the_weight_between_heel_and_toe(person):
    still = SimpleNamespace(q=np.zeros((1, person.n)), v=np.zeros((1, person.n)), a=np.zeros((1, person.n)))
    found = ground_reaction(person, still)
    for side in "rl":
        assert found.reaction[side][0, :3] == pytest.approx([0, body_weight(person) / 2, 0], abs=ROUNDING)
        assert found.contact[side].all()
    assert found.margin[0] > 0.03
    assert found.share[0] == pytest.approx(0.5)


@pytest.mark.parametrize("split", ["lever", "equal", np.linspace(0, 1, 7)], ids=["lever", "equal", "given"])
@pytest.mark.parametrize("contact", [BOTH_DOWN, RIGHT_DOWN], ids=["double", "single"])
def test_nothing_is_left_on_the_global_coordinates(person, split, contact):
    found = ground_reaction(person, standing(person), contact=contact, split=split)
    assert found.largest_root_residual <= ROUNDING
    assert np.abs(found.reaction["r"] + found.reaction["l"] - found.resultant).max() <= ROUNDING
    if contact is RIGHT_DOWN:
        assert np.abs(found.reaction["l"]).max() <= ROUNDING


def test_lever_rule_puts_each_centre_of_pressure_beside_its_own_foot(person):
    q = np.zeros((1, person.n))
    q[0, person.coordinates.index("pelvis.left")] = 0.03
    found = ground_reaction(person, SimpleNamespace(q=q, v=0 * q, a=0 * q))
    for side in "rl":
        force, moment = found.reaction[side][0, :3], found.reaction[side][0, 3:]
        pressure = np.array([moment[2] / force[1], -moment[0] / force[1]])
        assert polygon_margin(pressure, support_polygon(found.corners[side][0][:, [0, 2]]))[0] > 0


def test_in_flight_there_is_no_reaction_and_the_root_keeps_its_wrench(person):
    q = np.zeros((1, person.n))
    q[0, person.coordinates.index("pelvis.up")] = 0.5
    found = ground_reaction(person, SimpleNamespace(q=q, v=0 * q, a=0 * q))
    assert not found.reaction["r"].any()
    assert np.isnan(found.margin[0])
    assert found.root_residual[0, 1] == pytest.approx(body_weight(person))


@pytest.mark.parametrize("split", ["lever", "equal"])
def test_sensitivities_are_the_derivatives(person, split):
    motion, step = standing(person, seed=3), 1e-6
    q = motion.q.copy()
    q[:, 0] = 0.01
    motion = SimpleNamespace(q=q, v=motion.v, a=motion.a)
    d = reaction_sensitivities(person, motion, contact=BOTH_DOWN, split=split)
    random = np.random.default_rng(5)
    for name in "qva":
        direction = random.normal(size=motion.q.shape)
        ahead, behind = (
            ground_reaction(
                person,
                SimpleNamespace(**{k: getattr(motion, k) + (s * step * direction if k == name else 0) for k in "qva"}),
                contact=BOTH_DOWN,
                split=split,
            )
            for s in (1, -1)
        )
        for found, plus, minus in (
            (d.tau[name][:, 6:], ahead.tau[:, 6:], behind.tau[:, 6:]),
            (d.zmp[name], ahead.zmp, behind.zmp),
            (d.reaction["r"][name], ahead.reaction["r"], behind.reaction["r"]),
        ):
            numeric = (plus - minus) / (2 * step)
            assert (
                np.abs(np.einsum("kij,kj->ki", found, direction) - numeric).max() <= DIFFERENCE * np.abs(numeric).max()
            )


def test_polygon_and_margin_of_a_square():
    square = support_polygon(np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.5, 0]]))
    assert len(square) == 4
    assert polygon_margin(np.array([0.5, 0.3]), square)[0] == pytest.approx(0.3)
    margin, gradient = polygon_margin(np.array([2.0, 2.0]), square)
    assert margin == pytest.approx(-np.sqrt(2))
    assert gradient == pytest.approx([-np.sqrt(0.5)] * 2)


def test_wrong_shapes_are_refused(person):
    with pytest.raises(InputError, match="q must be"):
        ground_reaction(person, SimpleNamespace(q=np.zeros((2, 3)), v=np.zeros((2, 3)), a=np.zeros((2, 3))))
    with pytest.raises(InputError, match="contact"):
        ground_reaction(person, standing(person), contact={"r": np.ones(3)})
