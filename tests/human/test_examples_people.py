"""The examples about people run and say what their pages say."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_walking_example_leaves_a_picture_and_a_run(tmp_path, monkeypatch, capsys):
    picture, run = tmp_path / "walk.png", tmp_path / "run"
    monkeypatch.setattr("sys.argv", ["walking.py", "--speed", "1.1", "--picture", str(picture), "--run", str(run)])
    runpy.run_path(str(EXAMPLES / "walking.py"), run_name="__main__")
    assert capsys.readouterr().out.startswith("optimal")
    assert picture.stat().st_size > 10_000
    assert (run / "report.html").exists()
