"""What is shown while a prediction is at work."""

import io
import sys

import pytest

import kinecast as kc
from kinecast.predict import progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def plan():
    return kc.Prediction(kc.load("pendulum"), segments=4, duration=(0.2, 5.0)).start(q=0).end(q=0.5)


@pytest.mark.parametrize(("patience", "asked", "shown"), [(0.0, True, True), (0.0, False, False), (60.0, True, False)])
def test_a_long_solve_shows_its_iterations_on_a_terminal(plan, monkeypatch, patience, asked, shown):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "PATIENCE", patience)
    assert plan.solve(progress=asked).ok
    assert ("iteration" in sys.stderr.getvalue()) == shown


def test_elsewhere_nothing_is_shown_and_reports_come_all_the_same(plan, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    seen, said = [], []
    plan.solve(report=lambda *numbers: seen.append(numbers), say=said.append)
    assert capsys.readouterr().err == ""
    assert seen[0][0] == 0
    assert any(line.startswith("program:") for line in said)
