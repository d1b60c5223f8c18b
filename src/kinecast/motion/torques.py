"""Inverse dynamics of a recorded motion, as columns of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinecast.motion.files import JointSeries, MotionFile
from kinecast.motion.spline import Array

if TYPE_CHECKING:
    from kinecast.dynamics.mechanism import Mechanism

# The file's order of a load's components, and where the API keeps them (moments first).
LOAD_COMPONENTS = {"fx": 3, "fy": 4, "fz": 5, "mx": 0, "my": 1, "mz": 2}


def add_torques(
    file: MotionFile, series: JointSeries, mechanism: Mechanism, *, method: str = "spatial", loads: bool = False
) -> MotionFile:
    """`file` with tau [N m or N], the v and a that were splined, and, if `loads`, the loads in every joint.

    A joint's load is the force [N] and moment [N m] that the parent body exerts on the child at the joint's origin, in
    child axes.
    """
    columns: dict[str, Array] = {}
    for kind, values in (("v", series.v), ("a", series.a)):
        for k, name in enumerate(mechanism.coordinates):
            if f"{kind}.{name}" in series.splined:
                columns[f"{kind}.{name}"] = values[:, k]
    tau = mechanism.inverse_dynamics(series.q, series.v, series.a, method=method)
    columns |= {f"tau.{name}": tau[:, k] for k, name in enumerate(mechanism.coordinates)}
    if loads:
        load = mechanism.joint_loads(series.q, series.v, series.a)
        for k, joint in enumerate(mechanism.joints):
            columns |= {f"load.{joint.name}.{part}": load[:, k, c] for part, c in LOAD_COMPONENTS.items()}
    return file.with_columns(columns)
