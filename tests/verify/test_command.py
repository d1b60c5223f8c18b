"""`kinecast verify`: what it prints, its exit codes, and that the literature's examples hold."""

import json

import pytest
from typer.testing import CliRunner

from kinecast.cli import app
from kinecast.verify import GROUPS, run, six_by_six
from kinecast.verify.samples import rods

FAST = "six_by_six"
# Groups that take seconds. The tests of dynamics have all methods against all, and operation counts.
PAPERS = {
    "newton_euler": ("Barman 2020", "4.1 two-link arm, torques", "(3.80-3.91) tau_p"),
    "lagrange": ("Xiang 2009", "(52), (69) tau_1", "(65), (82) d tau_2 / d theta_2''"),
    "six_by_six": ("Nasser 1989", "two-link arm, hinge accelerations", "two-link arm, reaction forces"),
    "denoc": ("Saha ch. 9", "9.1 (9.23f) I = m a^2 / 3", "9.3 (9.29) i_11", "(9.42d) tau^g_3"),
    "filtering": ("Rodriguez 1986", "(10.1)-(10.3) M^-1 in closed form, tree", "(8.5) G: Kalman's gain"),
}
FIGURES = ("9.7", "9.8", "9.11", "9.13", "9.15", "9.16", "9.17", "9.18", "9.19", "exercise_9.15")


@pytest.fixture
def kinecast():
    return lambda *arguments: CliRunner().invoke(app, ["verify", *map(str, arguments)])


@pytest.mark.parametrize("group", PAPERS)
def test_a_paper_holds(group):
    document, *items = PAPERS[group]
    checks = list(run([group]))
    assert [check for check in checks if check.failed or check.verdict == "skipped"] == []
    assert {check.item for check in checks if check.document == document} >= set(items)


def test_the_chapters_robots_and_their_figures(tmp_path):
    checks = list(run(["saha_examples"], tmp_path))
    assert [check for check in checks if check.failed] == []
    examples = {check.item.split()[0].rstrip(",") for check in checks}
    assert examples >= {"9.4", "9.5", "9.6", "9.7", "9.8", "9.9", "9.10", "9.11", "exercise"}
    assert {path.name for path in tmp_path.iterdir()} == {f"figure_{name}.png" for name in FIGURES}


def test_every_group_is_there():
    for name in GROUPS:
        assert callable(__import__(f"kinecast.verify.{name}", fromlist=["checks"]).checks)


def test_a_line_a_check_and_a_summary(kinecast):
    result = kinecast(FAST)
    assert result.exit_code == 0
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["document", "item", "reference", "computed", "difference", "tolerance", "verdict", "note"]
    checks = [line for line in lines if line.startswith("Nasser 1989")]
    assert lines[-1] == f"{len(checks)} checks: {len(checks) - 1} agrees, 1 corrected"
    assert "verifying six_by_six (1 of 1)" in result.stderr


def test_quiet_says_nothing_when_all_is_well(kinecast):
    result = kinecast(FAST, "-q")
    assert (result.exit_code, result.output) == (0, "")


def test_json(kinecast):
    answer = json.loads(kinecast(FAST, "--json", "-q").stdout)
    assert answer["passed"] is True
    assert answer["checks"][0]["document"] == "Nasser 1989"
    assert sum(answer["verdicts"].values()) == len(answer["checks"])


def test_what_does_not_hold_is_exit_code_1_and_named(kinecast, monkeypatch):
    """The two-link arm with masses that are wrong by a part in a billion."""
    monkeypatch.setattr(six_by_six, "rods", lambda lengths, masses: rods(lengths, [m * (1 + 1e-9) for m in masses]))
    result = kinecast(FAST, "-q")
    assert result.exit_code == 1
    _, *failed = result.stdout.splitlines()
    assert [line.split("  ")[1] for line in failed] == [
        "two-link arm, hinge accelerations",
        "two-link arm, reaction forces",
    ]
    assert all("FAILS" in line for line in failed)
    assert json.loads(kinecast(FAST, "--json", "-q").stdout)["verdicts"]["FAILS"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lagrang"], "unknown group of checks 'lagrang'; did you mean 'lagrange'? known: newton_euler, "),
        ([FAST, "-o", __file__], "test_command.py: "),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(kinecast, arguments, message):
    result = kinecast(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
