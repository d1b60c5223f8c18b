"""What gait laboratories report, from a stride: times and lengths, ranges, peaks, and how near to normal gait it is.

Angles in degrees (flexion, dorsiflexion positive), moments in N m per kg of the person's own mass (extension,
plantarflexion, abduction positive: internal moments, what the muscles do), forces in body weights, what is carried
included. Curves are those of the right side from its heel strike, over one stride of 100 %.

Example::

    curve = Curves.of(person, samples)
    curve.angle["knee"], curve.force["vertical"]      # (N,)
    normative(curve)                                  # [{"curve": "hip_angle", "r": 0.98, "rmse": 4.2, ...}, ...]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from kinecast.human.carrying import own_mass
from kinecast.human.contact import GLOBAL, body_weight
from kinecast.human.tables import rows
from kinecast.human.walking.stride import Samples
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

JOINTS = {"hip": "flexion", "knee": "flexion", "ankle": "dorsiflexion"}
# Where the first and the second peak of the vertical force and the valley between are looked for: parts of stance.
_HALF = 0.5
_STANCE_FLEXION = (5.0, 35.0)  # percent of the stride in which the loaded knee bends


@dataclass(frozen=True)
class Curves:
    """The right side's curves over one stride (N,)."""

    percent: Array
    angle: dict[str, Array]  # hip, knee, ankle, hip_abduction [deg]
    moment: dict[str, Array]  # hip, knee, ankle, hip_abduction [N m/kg]
    force: dict[str, Array]  # vertical, fore_aft (forward), lateral (towards the body's middle) [body weights]
    joint_force: dict[str, Array]  # hip, knee, ankle: norms [body weights]

    @classmethod
    def of(cls, person: Structure, samples: Samples) -> Curves:
        """From the samples of a stride."""
        names, mass, weight = person.coordinates, own_mass(person), body_weight(person)

        def column(values: Array, name: str) -> Array:
            return np.asarray(values[:, names.index(name)])

        angle = {joint: np.rad2deg(column(samples.q, f"{joint}_r.{way}")) for joint, way in JOINTS.items()}
        moment = {joint: -column(samples.tau, f"{joint}_r.{way}") / mass for joint, way in JOINTS.items()}
        angle["hip_abduction"] = np.rad2deg(column(samples.q, "hip_r.abduction"))
        moment["hip_abduction"] = column(samples.tau, "hip_r.abduction") / mass
        pushed = samples.reaction["r"][:, :3].T / weight
        force = dict(zip(("lateral", "vertical", "fore_aft"), pushed, strict=True))
        norms = np.linalg.norm(samples.joint_force["r"], axis=2) / weight
        percent = 100 * (samples.t - samples.t[0]) / (samples.t[-1] - samples.t[0])
        return cls(percent, angle, moment, force, {joint: norms[:, k] for k, joint in enumerate(JOINTS)})

    def named(self, name: str) -> Array:
        """A curve by its name in ``data/normal_gait.csv``."""
        what, _, kind = name.rpartition("_")
        return {"angle": self.angle, "moment": self.moment, "force": self.force}[kind][what]

    def stance(self) -> Array:
        """Percents at which the right foot bears load."""
        return self.percent[self.force["vertical"] > 1e-6]


@dataclass(frozen=True)
class Normal:
    """A curve of normal gait: the mean over a stride, and how far apart groups of healthy people are."""

    name: str
    title: str
    unit: str
    band: float
    source: str
    spline: PchipInterpolator

    def at(self, percent: Array) -> Array:
        """The mean at percents of the stride."""
        return np.asarray(self.spline(percent))


def normal_curves() -> list[Normal]:
    """All of them, from ``data/normal_gait.csv`` and ``data/normal_ranges.csv``."""
    table = rows("normal_gait")
    percent = [float(row["percent"]) for row in table]
    found = []
    for row in rows("normal_ranges"):
        spline = PchipInterpolator(percent, [float(each[row["curve"]]) for each in table])
        found.append(Normal(row["curve"], row["title"], row["unit"], float(row["band"]), row["source"], spline))
    return found


def normative(curves: Curves) -> list[dict[str, Any]]:
    """Of every curve of normal gait the correlation and the root mean square of the difference (in its unit)."""
    found = []
    for normal in normal_curves():
        percent = np.arange(101.0)
        mine, theirs = np.interp(percent, curves.percent, curves.named(normal.name)), normal.at(percent)
        r = float(np.corrcoef(mine, theirs)[0, 1])
        rmse = float(np.sqrt(np.mean((mine - theirs) ** 2)))
        found.append({"curve": normal.name, "r": r, "rmse": rmse, "unit": normal.unit, "source": normal.source})
    return found


def gait_numbers(person: Structure, samples: Samples, speed: float, step_length: float) -> dict[str, Any]:
    """The "gait" block of result.json, but for the root residual."""
    curves = Curves.of(person, samples)
    step_time = step_length / speed
    width = abs(float(np.median(samples.position["r"][:, 0, 0]) - np.median(samples.position["l"][:, 0, 0])))
    angle, moment, force = curves.angle, curves.moment, curves.force
    knee_swing = curves.percent > curves.stance()[-1] - 10
    loading = (curves.percent >= _STANCE_FLEXION[0]) & (curves.percent <= _STANCE_FLEXION[1])
    return {
        "speed": speed,
        "step_length": step_length,
        "step_time": step_time,
        "cadence": 60.0 / step_time,
        "step_width": width,
        "double_support": float(np.diff(samples.t) @ samples.double[:-1] / (samples.t[-1] - samples.t[0])),
        "stance": float(curves.stance()[-1] / 100),
        "bodyweight": body_weight(person),
        "vertical_grf_peaks_bw": vertical_peaks(curves),
        "fore_aft_grf_peaks_bw": [float(force["fore_aft"].min()), float(force["fore_aft"].max())],
        "range_deg": {joint: float(np.ptp(angle[joint])) for joint in JOINTS},
        "extremes_deg": {joint: [float(angle[joint].min()), float(angle[joint].max())] for joint in JOINTS},
        "knee_deg": {
            "stance_flexion": float(angle["knee"][loading].max()),
            "swing": float(angle["knee"][knee_swing].max()),
        },
        "pelvis_deg": _pelvis(person, samples),
        "arm_swing_deg": float(np.rad2deg(np.ptp(samples.q[:, person.coordinates.index("shoulder_r.flexion")]))),
        "peak_moment_nm_per_kg": {
            "hip_extension": float(moment["hip"].max()),
            "hip_flexion": float(-moment["hip"].min()),
            "hip_abduction": float(moment["hip_abduction"].max()),
            "knee_extension": float(moment["knee"].max()),
            "knee_flexion": float(-moment["knee"].min()),
            "ankle_plantarflexion": float(moment["ankle"].max()),
            "ankle_dorsiflexion": float(-moment["ankle"].min()),
        },
        "peak_joint_force_bw": {joint: float(curves.joint_force[joint].max()) for joint in JOINTS},
        "strength_use": strength_use(person, samples),
        "normative": normative(curves),
    }


def vertical_peaks(curves: Curves) -> list[float]:
    """First peak, valley and second peak of the vertical force [body weights]."""
    bears = curves.force["vertical"] > 1e-6
    force, part = curves.force["vertical"][bears], curves.percent[bears] / curves.stance()[-1]
    first = int(np.argmax(np.where(part < _HALF, force, -np.inf)))
    second = int(np.argmax(np.where(part >= _HALF, force, -np.inf)))
    return [float(force[first]), float(force[first : second + 1].min()), float(force[second])]


def strength_use(person: Structure, samples: Samples) -> dict[str, float]:
    """Largest torque over its limit of each joint that has one, the most used first; both sides together."""
    found: dict[str, float] = {}
    for k, joint in enumerate(person.movable):
        if k >= GLOBAL and joint.limits.tau is not None:
            low, high = joint.limits.tau
            tau = samples.tau[:, k]
            with np.errstate(divide="ignore", invalid="ignore"):
                use = np.nanmax(np.where(tau < 0, tau / low, tau / high))
            name = joint.name.replace("_r.", ".").replace("_l.", ".")
            found[name] = max(found.get(name, 0.0), float(use))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _pelvis(person: Structure, samples: Samples) -> dict[str, list[float]]:
    found = {}
    for motion in ("tilt", "list", "turn"):
        angle = np.rad2deg(samples.q[:, person.coordinates.index(f"pelvis.{motion}")])
        found[motion] = [float(angle.min()), float(angle.max())]
    return found


def phase_names(samples: Samples) -> list[str]:
    """What each sample is part of: double or single support, and the foot that leads or stands."""
    half = 0.5 * (samples.t[0] + samples.t[-1])
    side = {True: "right", False: "left"}
    return [
        f"{'double' if double else 'single'}_{side[bool(t <= half)]}"
        for t, double in zip(samples.t, samples.double, strict=True)
    ]
