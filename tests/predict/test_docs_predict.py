"""The code of the pages on predictions and motions runs as printed, and the pages name every key there is."""

import re
from pathlib import Path

import pytest

from kinecast.predict.schema import ProblemFile
from kinecast.predict.solvers import STATUSES

DOCS = Path(__file__).parents[2] / "docs"


def text(page):
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("predict.md", ["optimal The motion takes 0.39", "tau.elbow", "may be at most 0.39", "not a solution", "-1.4"]),
        ("motion.md", ["(201, 2)", "(50, 201, 2)"]),
    ],
)
def test_the_code_of_a_page_runs(page, says, printed_by):
    out = printed_by(page)
    for words in says:
        assert words in out


def test_the_tutorial_names_every_key_and_every_status():
    page = text("predict.md")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE)
    keys = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert set(ProblemFile.model_fields) <= keys
    for status in STATUSES:
        assert f"`{status}`" in page
    for name in ProblemFile.model_fields["solver"].annotation.model_fields:
        assert name in page
