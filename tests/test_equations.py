"""Equations of motion in closed form against the compiled recursions' programs, and as they are written."""

import json
import math
import re
from itertools import product

import numpy as np
import pytest
import sympy
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from random_mechanisms import random_structure
from typer.testing import CliRunner

from kinecast.cli import app
from kinecast.equations import derive
from kinecast.equations.harmonics import harmonics
from kinecast.equations.waves import cosine, letter, sine
from kinecast.errors import NotSupportedError
from kinecast.mechanism import DH, Joint, Loop, Place, Structure
from kinecast.mechanism.compound import spherical
from kinecast.verify.samples import evaluate, states

# Some hundred terms, whose coefficients are rational numbers made of doubles.
TOLERANCE = 1e-12


BUILT_IN = ("pendulum", "planar2", "planar3", "slider_arm", "slider_arm_no_offset")
# Name -> (how its joints are given, whether it branches).
RANDOM = {
    "tree by origins and axes": ("origin", True),
    "chain, modified DH": ("modified", False),
    "mixed": ("mixed", False),
}


LATEX_WIDTH = 345.0 - 25.0  # pt, of a line in LaTeX's article class at 10 pt, less an equation's number


def ball():
    """A pendulum on a ball joint, its coordinates turns about x, y and z."""
    joints = spherical("ball", mass=1.5, com=[0, 0, -0.3], inertia=[0.02, 0.03, 0.01, 0, 0, 0])
    return Structure("ball", joints, gravity=[0, 0, -9.81])


def mechanism(name, n, right_angles):
    if name == "ball":
        return ball()
    if name in RANDOM:
        given_by, tree = RANDOM[name]
        rng = np.random.default_rng(8)
        return random_structure(
            rng, n, tree=tree, given_by=given_by, fixed=1, actuators=True, right_angles=right_angles
        )
    return Structure.load(name)


def at_numbers(equations, q, v):
    """M, h, g at a state, with the mechanism's own numbers for letters."""
    given = dict(zip((*equations.q, *equations.v), (*q.tolist(), *v.tolist()), strict=True)) | dict(equations.constants)
    return [np.array(x.subs(given), dtype=float) for x in (equations.M, equations.h, equations.g)]


NUMBERS = [(name, False) for name in ("ball", *BUILT_IN, *RANDOM)]
LETTERS = [(name, True) for name in ("ball", *BUILT_IN, *RANDOM) if name != "mixed"]  # which has letters for seconds


@pytest.mark.parametrize(("name", "symbols"), [*NUMBERS, *LETTERS])
def test_the_equations_have_the_torques_of_the_recursions(name, symbols):
    structure = mechanism(name, *((2, 1.0) if symbols else (3, 0.5)))  # in letters general joints fill pages
    q, v, _ = (x[0] for x in states(structure.n, seed=3))
    M, h, g = at_numbers(derive(structure, symbols=symbols), q, v)
    (gravity,) = evaluate(structure, "gravity_torques", [q])
    (bias,) = evaluate(structure, "bias_torques", [q, v])
    (inertia,) = evaluate(structure, "mass_matrix", [q])
    scale = np.abs(inertia).max()
    np.testing.assert_allclose(M, inertia, rtol=0, atol=TOLERANCE * scale)
    np.testing.assert_allclose(g[:, 0], gravity, rtol=0, atol=TOLERANCE * max(np.abs(gravity).max(), scale))
    np.testing.assert_allclose(h[:, 0], bias - gravity, rtol=0, atol=TOLERANCE * max(np.abs(bias).max(), scale))


@pytest.mark.parametrize("symbols", [False, True], ids=["numbers", "letters"])
def test_the_text_is_a_program(symbols):
    """Its lines are assignments that Python understands."""
    structure = Structure.load("planar3")
    equations = derive(structure, symbols=symbols)
    q, v, _ = (x[0] for x in states(3))
    known = {"cos": math.cos, "sin": math.sin}
    known |= {f"q{k + 1}": x for k, x in enumerate(q)} | {f"v{k + 1}": x for k, x in enumerate(v)}
    lines = [line.split(" = ") for line in equations.text().splitlines()[1:] if " = " in line]
    for name, value in sorted(lines, key=lambda line: line[0][0] in "Mh" or line[0] in ("g1", "g2", "g3")):
        known[name] = eval(value, {}, known)
    M, h, g = at_numbers(equations, q, v)
    written = [known["M11"], known["M12"], known["M33"], known["h1"], known["g2"]]
    assert written == pytest.approx([M[0, 0], M[0, 1], M[2, 2], h[0, 0], g[1, 0]], rel=1e-10)  # 12 digits are written


def test_the_one_link_arm_of_the_chapter():
    """Example 9.2: m a^2 / 3 theta'' = tau - m g a sin(theta) / 2, gravity along x, the angle from x."""
    body = {"mass": 1.7, "com": [-0.3, 0, 0], "inertia": [0, 0.051, 0.051, 0, 0, 0]}
    arm = Structure("one link", (Joint.from_dh("theta", DH(a=0.6), **body),), gravity=[9.81, 0, 0])
    equations = derive(arm, symbols=True)
    m, a, g = (sympy.Symbol(name, real=True) for name in ("m1", "L1", "g"))
    assert equations.M[0, 0] == m * a**2 / 3
    assert equations.h[0] == 0
    assert equations.g[0] == m * g * a * sympy.sin(equations.q[0]) / 2
    assert [str(x) for x in equations.constants] == ["g", "L1", "m1"]


def test_a_two_link_arm_in_letters_reads_as_in_textbooks():
    entries = derive(Structure.load("planar2"), symbols=True).as_data()["entries"]
    assert entries == {
        "M11": "I1zz + I2zz + 2*L1*m2*(L2 + c2x)*cos(q2) + m1*(L1 + c1x)**2 + m2*(L1**2 + L2**2 + 2*L2*c2x + c2x**2)",
        "M12": "I2zz + L1*m2*(L2 + c2x)*cos(q2) + m2*(L2 + c2x)**2",
        "M22": "I2zz + m2*(L2 + c2x)**2",
        "h1": "-L1*m2*v2*(L2 + c2x)*(2*v1 + v2)*sin(q2)",
        "h2": "L1*m2*v1**2*(L2 + c2x)*sin(q2)",
        "g1": "g*m2*(L2 + c2x)*cos(q1 + q2) + g*(L1*m1 + L1*m2 + c1x*m1)*cos(q1)",
        "g2": "g*m2*(L2 + c2x)*cos(q1 + q2)",
    }


def test_turns_about_crossing_axes_are_products_of_their_sines():
    """A ball joint: without it g1 would be a sum of sin(q1 + q2) and sin(q1 - q2)."""
    entries = derive(ball(), symbols=True).as_data()["entries"]
    assert entries["g1"] == "-c3z*g*m3*sin(q1)*cos(q2)"
    assert entries["M12"] == "(I3xx - I3yy)*sin(2*q3)*cos(q2)/2"
    assert entries["M13"] == "I3zz*sin(q2)"
    assert entries["h3"].startswith("I3zz*v1*v2*cos(q2) + ")


def test_harmonics_are_the_wave_they_are_made_of():
    """At random angles, a wave of products in three angles and two letters."""
    wave = sine(0) * cosine(1) * cosine(2) * 3 + letter(0) * sine(1) * sine(1) - letter(1) * cosine(2) * 5 + 2
    angles, letters = np.random.default_rng(2).uniform(-3, 3, (2, 3))

    def value(turns):
        return sum(turn * angle for turn, angle in zip(turns, angles, strict=False))

    def size(powers):
        return math.prod(x**power for x, power in zip(letters, powers, strict=False))

    expected = sum(
        size(powers) * (float(a) * math.cos(value(turns)) - float(b) * math.sin(value(turns)))
        for (powers, turns), (a, b) in wave.terms.items()
    )
    found = harmonics(wave.terms)
    total = sum(
        float(coefficient) * size(powers) * math.prod(getattr(math, name)(value(turns)) for name, turns in product)
        for product, polynomial in found.items()
        for powers, coefficient in polynomial.items()
    )
    assert total == pytest.approx(expected, rel=1e-14)
    assert (("cos", (0, 0, 1)), ("cos", (0, 1)), ("sin", (1,))) in found
    assert sum(map(len, found.values())) == 5


@pytest.mark.parametrize(("name", "symbols"), [*product(("ball", *BUILT_IN), (False, True)), ("stanford", False)])
def test_the_latex_is_understood_and_its_lines_fit_a_page(name, symbols):
    """By matplotlib's reader of mathematics, which knows neither environments nor boldsymbol."""
    first, equation, *rows, last = derive(mechanism(name, 3, 1.0), symbols=symbols).latex().splitlines()
    assert (first, last) == (r"\begin{align}", r"\end{align}")
    assert all(row.endswith(r"\\") for row in (equation, *rows[:-1]))
    reader = MathTextParser("path")
    for row in [equation.replace("boldsymbol", "mathbf"), *rows]:
        assert row.count("&") == 1
        plain = row.replace("&", "").removesuffix(r"\\").replace(r"\nonumber", "")
        width = reader.parse(f"${plain}$", 72, FontProperties(size=10, math_fontfamily="cm"))[0]
        assert 0 < width < LATEX_WIDTH


def test_a_spatial_arm_in_numbers_is_written_in_decimals():
    """Factoring makes whole numbers of them, 1e-6 (6470000 q3 - 2749911), which nobody can read."""
    equations = derive(Structure.load("stanford"))
    assert not re.search(r"\d{5,}\*", re.sub(r"\.\d+", "", equations.text()))
    assert "(0.423486294 - 0.99638*q3)*cos(q2)" in equations.text()


def run(*arguments):
    return CliRunner().invoke(app, ["equations", *arguments])


def test_the_command_prints_text_latex_and_json():
    text = run("planar2").stdout
    assert "q2  elbow [rad]" in text
    assert "M11 = 0.08*cos(q2) + 0.32\n" in text
    assert "h1 = -0.04*v2*(2*v1 + v2)*sin(q2)\n" in text
    latex = run("pendulum", "--symbols", "--latex").stdout
    assert latex.startswith(r"\begin{align}")
    assert latex.rstrip().endswith(r"\end{align}")
    assert r"M_{11} &= \frac{L_{1}^{2} m_{1}}{3} \\" in latex
    data = json.loads(run("slider_arm", "--json").stdout)
    assert data["coordinates"][0] == {"q": "q1", "v": "v1", "joint": "slide", "unit": "m"}
    assert data["entries"]["M12"] == "-0.1*sin(q2)"


def test_what_is_too_large_is_refused():
    with pytest.raises(
        NotSupportedError, match=r"'puma560' \(6 coordinates\) have more than 2000 terms .* numbers use"
    ):
        derive(Structure.load("puma560"), symbols=True)


def test_a_closed_loop_is_refused():
    ends = Place("j2", np.zeros(3)), Place(None, np.zeros(3))
    with pytest.raises(NotSupportedError, match="closed-form equations of 'serial2': closed loops"):
        derive(Structure.serial(2).replace(loops=(Loop("ring", *ends),)))
