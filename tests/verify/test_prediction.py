"""The worked optima as `kinecast verify prediction` shows them, and the figures it leaves."""

from kinecast.verify import run


def test_the_worked_optima(tmp_path):
    checks = list(run(["prediction"], tmp_path))
    assert [check.item for check in checks if check.failed] == []
    slow = [check for check in checks if "0.5585" in check.note]
    assert len(slow) == 2  # one for each reading: it is said that the print is not reproduced, and what is
    assert all("not reproduced" in check.note and check.verdict == "corrected" for check in slow)
    numbers = {path.stem.split("_")[1] for path in tmp_path.glob("*.png")}
    assert numbers == {"4.2", "4.3", "4.4", "4.5", "4.6", "4.7", *map(str, range(7, 14))}
