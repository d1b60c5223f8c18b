"""What a walk is asked to be: speed, step, phases, weights, limits. Every number here is an input, not a prediction."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from kinecast.errors import InputError
from kinecast.human.skeleton import stature, zero_position
from kinecast.human.tables import rows
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

SLOWEST = 0.3  # m/s
# Speed squared over gravity and leg length: people change from walking to running at about 0.5.
FASTEST_FROUDE = 0.5
SHORTEST_STEP, LONGEST_STEP = 0.25, 1.05  # of the leg's length
STEEPEST = 15.0  # degrees
# The trailing foot gives up what it still carries at the end of double support: torques jump there, and must keep their
# limits on both sides. Part of the step.
JUST_AFTER = 1e-6


@dataclass(frozen=True)
class Phases:
    """Timing of one step as fractions of its duration (right heel strike at 0, left heel strike at 1)."""

    ball_off: float = 0.10  # the trailing (left) ball leaves the ground
    foot_flat: float = 0.15  # the leading (right) ball is down
    double_support: float = 0.20  # the trailing toe leaves the ground
    knee: float = 0.44  # the swinging knee is bent most
    heel_off: float = 0.64  # the standing heel leaves the ground
    clear: tuple[float, float] = (0.30, 0.85)  # the swinging foot must clear the ground


@dataclass(frozen=True)
class WalkTask:
    """One step. Lengths in m, speeds in m/s, angles in degrees where they are for people, forces in body weights."""

    speed: float
    step_length: float
    step_width: float = 0.10
    incline: float = 0.0  # degrees, uphill positive
    phases: Phases = field(default_factory=Phases)
    breaks: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)  # of the spline's pieces, as fractions of the step
    degree: int = 4
    periodic_acceleration: bool = True
    instants: int = 22
    # objective
    effort: float = 10.0
    spin: tuple[float, float, float] = (100.0, 0.0, 0.0)  # squared rates of angular momentum, of weight times stature
    acceleration: float = 1e-6
    jerk: float = 2e-6
    push_smoothness: float = 1e-8
    start_smoothness: float = 1e-3
    emphasis: tuple[tuple[str, float], ...] = (
        ("shoulder", 4.0),
        ("elbow", 4.0),
        ("clavicle", 4.0),
        ("wrist", 4.0),
        ("neck", 4.0),
        ("knee", 6.0),
        ("ankle", 1.5),
    )
    # contact
    contact_slip: float = 0.0019
    contact_height: float = 0.0015
    foot_tilt: float = 0.02  # of a foot on the ground: roll and turn [rad]
    swing_tilt: float = 0.10
    clearance: float = 0.012
    touchdown_speed: float = 0.2
    friction: float = 0.5
    least_force: float = 0.2
    lead_point: float = 0.40  # of heel to ball
    trail_point: float = 0.36  # of ball to toe
    ball_back: float = -0.002  # of stature: how far behind the ball the pressure may be after heel-off
    share_band: float = 0.1
    share_end: float = 0.97
    push: float = 0.3
    toe_stiffness: float = 8.0
    toe_damping: float = 2.0
    torque_reserve: float = 0.05  # of the strength, at the instants: between them too the limits hold
    # posture
    knee: tuple[float, float] = (57.0, 65.0)
    knee_at_strike: tuple[float, float] = (1.0, 8.0)
    trunk_list: tuple[float, float] = (-2.5, 2.5)
    trunk_tilt: tuple[float, float] = (-2.0, 8.0)
    pelvis_list_early: float = 0.0
    hand_clearance: float = 0.069  # of stature
    arm_leg: float = 0.004
    limits: tuple[tuple[str, float, float], ...] = ()  # degrees, in place of the table's

    @property
    def control_points(self) -> int:
        """Control points of each coordinate."""
        return len(self.breaks) + self.degree + 1

    def fractions(self) -> Array:
        """The instants as fractions of the step: every change of phase, and others evenly between."""
        phases = self.phases
        alone = phases.double_support + JUST_AFTER
        changes = {phases.ball_off, phases.foot_flat, phases.double_support, alone, phases.heel_off}
        ends = np.array(sorted({0.0, *changes, 1.0}))
        spans = np.ones(len(ends) - 1, dtype=int)
        while spans.sum() < self.instants - 1:
            spans[np.argmax(np.diff(ends) / spans)] += 1
        inner = [a + (b - a) * np.arange(k) / k for a, b, k in zip(ends[:-1], ends[1:], spans, strict=True)]
        return np.append(np.concatenate(inner), 1.0)

    def limits_of(self, coordinate: str) -> tuple[float, float] | None:
        """Limits while walking [rad] of a coordinate, None where only the joint's own limits hold."""
        for name, low, high in (*self.limits, *_table()):
            if name == coordinate or name == _both_sides(coordinate):
                return float(np.deg2rad(low)), float(np.deg2rad(high))
        return None

    def emphasis_of(self, coordinate: str) -> float:
        """Weight of a joint's effort."""
        joint = coordinate.split(".")[0]
        for name, weight in self.emphasis:
            if joint.startswith(name):
                return weight
        return 1.0


@cache
def _table() -> tuple[tuple[str, float, float], ...]:
    return tuple((row["name"], float(row["lower_deg"]), float(row["upper_deg"])) for row in rows("walking_limits"))


def _both_sides(coordinate: str) -> str:
    return coordinate.replace("_r.", ".").replace("_l.", ".")


# Step length over cadence [m per step/min] hardly changes with a person's speed: the walk ratio of adults is about
# 0.0065 (Sekiya et al. 1997). It grows with the stature to the power 3/2, as lengths over frequencies of pendulums
# do.
WALK_RATIO, WALK_RATIO_STATURE = 0.0066, 1.75


def natural_step_length(speed: float, stature: float) -> float:
    """Step length [m] that a person of a stature [m] takes at a speed [m/s]."""
    return float(np.sqrt(60.0 * speed * WALK_RATIO * (stature / WALK_RATIO_STATURE) ** 1.5))


def check_task(structure: Structure, task: WalkTask) -> None:
    """Refuse what no walk can be: one line that says what is out of range and what would be possible."""
    height, leg = stature(structure), float(zero_position(structure, "hip_r.flexion")[1])
    fastest = float(np.sqrt(FASTEST_FROUDE * np.linalg.norm(structure.gravity) * leg))
    if not SLOWEST <= task.speed <= fastest:
        raise InputError(
            f"walk: speed must be between {SLOWEST:g} and {fastest:.2f} m/s for a stature of {height:.2f} m, got "
            f"{task.speed:g} m/s"
            + ("; faster than that people run, and a step here has no flight phase" if task.speed > fastest else ""),
            key="speed",
        )
    shortest, longest = SHORTEST_STEP * leg, LONGEST_STEP * leg
    if not shortest <= task.step_length <= longest:
        raise InputError(
            f"walk: step length must be between {shortest:.2f} and {longest:.2f} m for legs of {leg:.2f} m, got "
            f"{task.step_length:g} m; at {task.speed:g} m/s people of {height:.2f} m take "
            f"{natural_step_length(task.speed, height):.2f} m",
            key="step_length",
        )
    if not abs(task.incline) <= STEEPEST:
        raise InputError(
            f"walk: incline must be between {-STEEPEST:g} and {STEEPEST:g} degrees, got {task.incline:g}", key="incline"
        )
