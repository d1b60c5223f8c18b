"""Ground reaction: balance of forces and moments, zero root residual, splits, derivatives, polygons, motion files."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinecast as kc
from kinecast.errors import InputError
from kinecast.human.contact import body_weight, ground_reaction, reaction_sensitivities
from kinecast.human.support import friction_use, polygon_margin, support_polygon
from kinecast.motion.files import parse_motion

# Forces of a thousand newtons, summed over fifty bodies in double precision.
ROUNDING = 1e-9
DIFFERENCE = 1e-6
ROWS = 7
BOTH_DOWN = {side: np.ones((ROWS, 5), dtype=bool) for side in "rl"}
RIGHT_DOWN = {"r": np.ones((ROWS, 5), dtype=bool), "l": np.zeros((ROWS, 5), dtype=bool)}
# Right foot behind and alone, then both, then the left one alone: a step.
ON = {"r": [1, 1, 1, 1, 1, 1, 0], "l": [0, 0, 1, 1, 1, 1, 1]}
STEP = {side: np.repeat(np.array(on, dtype=bool)[:, None], 5, axis=1) for side, on in ON.items()}


@pytest.fixture(scope="module")
def person():
    return kc.human(1.75, 75, "male", freeze="walking")


def standing(person, size=0.05, seed=0):
    random = np.random.default_rng(seed)
    motion = {name: random.normal(scale=size, size=(ROWS, person.n)) for name in "qva"}
    return SimpleNamespace(t=np.linspace(0, 0.6, ROWS), **motion)


def still(person, **coordinates):
    q = np.zeros((1, person.n))
    for name, value in coordinates.items():
        q[0, person.coordinates.index(name.replace("__", "."))] = value
    return SimpleNamespace(q=q, v=0 * q, a=0 * q)


def test_standing_still_each_foot_carries_half_the_weight_between_heel_and_toe(person):
    found = ground_reaction(person, still(person))
    for side in "rl":
        assert found.reaction[side][0, :3] == pytest.approx([0, body_weight(person) / 2, 0], abs=ROUNDING)
        assert found.contact[side].all()
        assert polygon_margin(found.pressure[side][0], support_polygon(found.corners[side][0][:, [0, 2]])).distance > 0
    assert found.margin[0] > 0.03
    assert found.share[0] == pytest.approx(0.5)
    assert found.friction["r"][0] == pytest.approx(0, abs=ROUNDING)


@pytest.mark.parametrize("split", ["lever", "equal", "smooth", np.linspace(0, 1, ROWS)], ids=str)
@pytest.mark.parametrize("contact", [RIGHT_DOWN, STEP], ids=["single", "step"])
def test_nothing_is_left_on_the_global_coordinates(person, split, contact):
    found = ground_reaction(person, standing(person), contact=contact, split=split)
    assert found.largest_root_residual <= ROUNDING
    assert np.abs(found.reaction["r"] + found.reaction["l"] - found.resultant).max() <= ROUNDING
    if contact is RIGHT_DOWN:
        assert np.abs(found.reaction["l"]).max() <= ROUNDING


def test_torques_are_inverse_dynamics_with_the_reactions_as_loads(person):
    """Another path: the engine's recursion, with each foot's wrench as a load on its rear foot."""
    motion = standing(person)
    found = ground_reaction(person, motion, contact=BOTH_DOWN)
    loads = []
    for side in "rl":
        body = f"ankle_{side}.eversion"
        at = person.pose(body, motion.q)[:, :3, 3]
        force = found.reaction[side][:, :3]
        loads.append(kc.Load(body, force, found.reaction[side][:, 3:] - np.cross(at, force)))
    tau = person.inverse_dynamics(motion.q, motion.v, motion.a, loads=loads)
    toes = [k for k, name in enumerate(person.coordinates) if name.startswith("toe")]
    other = [k for k in range(6, person.n) if k not in toes]
    np.testing.assert_allclose(found.tau[:, other], tau[:, other], atol=1e-8)
    np.testing.assert_allclose(tau[:, :6], 0, atol=1e-8)


def test_lever_rule_puts_each_centre_of_pressure_beside_its_own_foot(person):
    found = ground_reaction(person, still(person, spine1__lateral=0.1, spine2__lateral=0.1))  # leaning to the right
    assert found.share[0] > 0.6
    for side in "rl":
        assert polygon_margin(found.pressure[side][0], support_polygon(found.corners[side][0][:, [0, 2]])).distance > 0


def test_in_a_step_the_foot_ahead_is_pressed_near_its_heel_the_one_behind_near_its_toes(person):
    found = ground_reaction(person, still(person, hip_r__flexion=0.35, hip_l__flexion=-0.35), contact={
        side: np.ones((1, 5), dtype=bool) for side in "rl"
    })  # fmt: skip
    for side, (low, high) in (("r", (0.1, 0.4)), ("l", (0.6, 0.9))):
        heel, toe = found.corners[side][0, 0, 2], found.corners[side][0, 3, 2]
        assert low < (found.pressure[side][0, 1] - heel) / (toe - heel) < high


def test_smooth_transition_fades_the_trailing_foot_s_force(person):
    found = ground_reaction(person, standing(person), contact=STEP, split="smooth")
    first = found.resultant[2]
    assert found.reaction["r"][2] == pytest.approx(first, abs=ROUNDING)
    fade = np.exp(-((np.arange(4) / 1.5) ** 3))
    assert found.reaction["r"][2:6, 1] == pytest.approx(first[1] * fade)
    assert np.abs(found.reaction["r"][5, 2]) < 1e-3 * np.abs(first[:3]).max()
    assert found.reaction["r"][6] == pytest.approx(0, abs=ROUNDING)


def test_in_flight_there_is_no_reaction_and_the_root_keeps_its_wrench(person):
    found = ground_reaction(person, still(person, pelvis__up=0.5))
    assert not found.reaction["r"].any()
    assert np.isnan(found.margin[0])
    assert np.isnan(found.share[0])
    assert found.root_residual[0, 1] == pytest.approx(body_weight(person))


@pytest.mark.parametrize("split", ["lever", "equal", "smooth"])
def test_sensitivities_are_the_derivatives(person, split):
    motion, step = standing(person, seed=3), 1e-6
    motion.q[:, 0] = 0.01
    d = reaction_sensitivities(person, motion, contact=STEP, split=split)
    random = np.random.default_rng(5)
    held = [0, 1, 6] if split == "smooth" else range(ROWS)  # where nothing fades
    for name in "qva":
        direction = random.normal(size=motion.q.shape)
        ahead, behind = (
            ground_reaction(
                person,
                SimpleNamespace(
                    t=motion.t, **{k: getattr(motion, k) + (s * step * direction if k == name else 0) for k in "qva"}
                ),
                contact=STEP,
                split=split,
            )
            for s in (1, -1)
        )
        for found, plus, minus in (
            (d.tau[name][:, 6:], ahead.tau[:, 6:], behind.tau[:, 6:]),
            (d.zmp[name], ahead.zmp, behind.zmp),
            (d.reaction["r"][name], ahead.reaction["r"], behind.reaction["r"]),
            (d.reaction["l"][name], ahead.reaction["l"], behind.reaction["l"]),
            (d.margin[name][:, None], ahead.margin[:, None], behind.margin[:, None]),
            (d.friction["l"][name][:, None], ahead.friction["l"][:, None], behind.friction["l"][:, None]),
        ):
            numeric = ((plus - minus) / (2 * step))[held]
            analytic = np.einsum("kij,kj->ki", found, direction)[held]
            assert np.abs(analytic - numeric).max() <= DIFFERENCE * max(np.abs(numeric).max(), 1)


def test_a_recorded_motion_is_taken_from_its_file(person, tmp_path):
    """Swaying from foot to foot, positions only: velocities and accelerations are splined."""
    t = np.linspace(0, 2, 81)
    lines = [",".join(["t", *(f"q.{name}" for name in person.coordinates)])]
    for time in t:
        q = np.zeros(person.n)
        q[0] = 0.03 * np.sin(np.pi * time)
        lines.append(",".join(repr(float(x)) for x in (time, *q)))
    (tmp_path / "sway.csv").write_text("\n".join(lines))
    found = kc.ground_reaction(person, tmp_path / "sway.csv")
    assert found.largest_root_residual <= ROUNDING
    # The whole body as a point: the zero moment point is ahead of it by height times acceleration over gravity.
    height = person.center_of_mass(np.zeros(person.n))[1]
    expected = 0.03 * np.sin(np.pi * t) * (1 + height / 9.81 * np.pi**2)
    np.testing.assert_allclose(found.zmp[5:-5, 0], expected[5:-5], atol=2e-4)
    columns = found.columns()
    assert list(columns)[:3] == ["grf.right.fx", "grf.right.fy", "grf.right.fz"]
    lift = columns["grf.right.fy"] + columns["grf.left.fy"]
    np.testing.assert_allclose(lift, body_weight(person), rtol=1e-9)
    np.testing.assert_allclose(columns["cop.right.x"], columns["grf.right.mz"] / columns["grf.right.fy"], rtol=1e-9)
    with pytest.raises(InputError, match="there is no column q.pelvis.left"):
        ground_reaction(person, parse_motion(["t,q.hip\n", "0,1\n", "1,1\n"], "walk.csv"))


def test_polygon_and_margin_of_a_square():
    square = support_polygon(np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.5, 0]]))
    assert len(square) == 4
    assert polygon_margin(np.array([0.5, 0.3]), square).distance == pytest.approx(0.3)
    margin = polygon_margin(np.array([2.0, 2.0]), square)
    assert margin.distance == pytest.approx(-np.sqrt(2))
    assert margin.by_point == pytest.approx([-np.sqrt(0.5)] * 2)
    line = support_polygon(np.array([[0, 0], [2, 0], [1, 0]]))
    assert polygon_margin(np.array([0.5, 0.3]), line).distance == pytest.approx(-0.3)
    assert polygon_margin(np.array([0.5, 0.3]), line[:1]).distance == pytest.approx(-np.hypot(0.5, 0.3))


def test_a_foot_needs_friction_where_it_bears_load_only():
    force = np.array([[3, 10, 4], [3, 0, 4], [0, 10, 0]], dtype=float)
    assert friction_use(force) == pytest.approx([0.5, 0, 0])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"contact": {"r": np.ones(3)}}, "contact: 'r' must be"),
        ({"split": "levre"}, "did you mean 'lever'"),
        ({"split": np.full(ROWS, 2.0)}, "numbers between 0 and 1"),
        ({"split": "smooth", "contact": BOTH_DOWN}, "double support from 0 to 0.6 s"),
    ],
)
def test_what_cannot_be_is_refused(person, given, expected):
    with pytest.raises(InputError, match=expected):
        ground_reaction(person, standing(person), **given)
    with pytest.raises(InputError, match="q must be"):
        ground_reaction(person, SimpleNamespace(q=np.zeros((2, 3)), v=np.zeros((2, 3)), a=np.zeros((2, 3))))
    timeless = SimpleNamespace(**{k: getattr(standing(person), k) for k in "qva"})
    with pytest.raises(InputError, match="must have times"):
        ground_reaction(person, timeless, contact=STEP, split="smooth")
