"""The code of the pages about people runs as printed."""

import pytest


@pytest.mark.parametrize(("page", "says"), [("human.md", "0.50 on the right foot"), ("walking.md", "optimal after")])
def test_the_code_of_a_page_runs(page, says, printed_by):
    assert says in printed_by(page)
