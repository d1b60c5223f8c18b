"""The code of the pages about people runs as printed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "says"), [("human.md", "0.50 on the right foot"), ("walking.md", "optimal after")])
def test_the_code_of_a_page_runs(page, says, capsys, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)  # what a page saves
    exec(compile("\n".join(blocks), page, "exec"), {})
    assert says in capsys.readouterr().out
