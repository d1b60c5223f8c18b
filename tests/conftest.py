"""What every test may use."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from kinecast import cli


def pytest_configure(config):
    """Keep compiled kernels between runs, but with the tests' own things, not in the user's cache."""
    os.environ.setdefault("KINECAST_CACHE", str(config.rootpath / ".pytest_cache" / "kernels"))


@pytest.fixture
def rng():
    """Random numbers, the same on every run."""
    return np.random.default_rng(20240229)


@pytest.fixture
def run(capsys, monkeypatch):
    """Runs ``kinecast ARGUMENTS`` in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["kinecast", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    return call


@pytest.fixture
def printed_by(capsys, tmp_path, monkeypatch):
    """Runs the Python code of a page of docs/ as printed, where it may save things; gives what it prints."""

    def run_page(page):
        text = (Path(__file__).parents[1] / "docs" / page).read_text(encoding="utf-8")
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        assert blocks
        monkeypatch.chdir(tmp_path)
        exec(compile("\n".join(blocks), page, "exec"), {})
        return capsys.readouterr().out

    return run_page


@pytest.fixture
def planar2_swing(tmp_path):
    """A motion file of positions for the built-in planar2, with one column that is none of its business."""
    t = np.linspace(0.0, 1.0, 21)
    rows = [f"{x!r},{np.sin(x).item()!r},{(-2.0 + x**2)!r},{int(20 * x)}" for x in t.tolist()]
    path = tmp_path / "swing.csv"
    path.write_text("\n".join(["t,q.shoulder,q.elbow,frame", *rows, ""]))
    return path
