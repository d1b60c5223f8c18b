"""Figures of predicted motions: every curve with its limits, units by the kind of joint, nothing opened."""

import numpy as np
import pytest

import kinecast as kc
from kinecast.report.figures import sections


@pytest.fixture(scope="module")
def sliding():
    plan = kc.Prediction(kc.load("slider_arm"), segments=6, duration=(0.1, 3.0)).start(q=[0.1, 0.6]).end(q=[0.8, -0.8])
    plan.limit(torque={"slide": 5, "turn": 1}, load={"turn": {"fx": 40, "mz": 10}})
    return plan.minimize(time=0.99, effort=0.01).solve()


def labels(figure):
    return [axis.get_ylabel() for axis in figure.axes if axis.get_visible()]


def dashed(axis):
    return sorted(line.get_ydata()[0] for line in axis.lines if len(line.get_ydata()) == 2)


def test_sections_of_the_report(sliding):
    made = dict(sections(sliding))
    assert list(made) == [
        "The motion", "Trajectories", "Torques and forces of the drives", "Forces in the joints", "Iterations"
    ]  # fmt: skip
    assert labels(made["Trajectories"]) == ["position [deg]", "position [m]", "velocity [deg/s]", "velocity [m/s]"]
    assert labels(made["Torques and forces of the drives"]) == ["torque [N m]", "force [N]"]
    forces = ["force in the joint [N]", "force in turn [N]", "moment in turn [N m]"]
    assert labels(made["Forces in the joints"]) == forces
    assert labels(made["Iterations"]) == ["objective", "violation / limit"]
    torque, force = made["Torques and forces of the drives"].axes
    assert dashed(force) == [-5.0, 5.0]
    assert dashed(torque) == [-1.0, 1.0]


def test_drives_with_limits_of_their_own_have_panels_of_their_own():
    plan = kc.Prediction(kc.load("planar3"), segments=3, duration=1.0).start(q=0).end(q=0.2)
    names = plan.mechanism.coordinates
    motion = plan.limit(torque=dict(zip(names, (50, 40, 30), strict=True))).minimize(effort=1).solve()
    figure = dict(sections(motion))["Torques and forces of the drives"]
    assert labels(figure) == ["torque [N m]"] * 3
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles == list(names)


def test_everything_in_one_figure(sliding, tmp_path):
    figure = sliding.plot()
    figure.savefig(tmp_path / "all.png")
    assert (tmp_path / "all.png").stat().st_size > 10_000
    curve = figure.axes[0].lines[0]
    t = curve.get_xdata()
    np.testing.assert_allclose(curve.get_ydata(), np.degrees(sliding.q(t)[:, 1]), atol=1e-9)
