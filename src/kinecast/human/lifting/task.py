"""What a lift is asked to be: load, places, duration, weights, limits; every number is an input, not a prediction."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from kinecast.human.tables import number, rows

# Below this height of the hands, the horizontal distance of a load that the feet do not straddle is 0.25 m + half its
# depth, else 0.20 m + half its depth (Waters et al. 1994, 1.3.1).
_LOW_HANDS = 0.25
_AHEAD_LOW, _AHEAD = 0.25, 0.20
BOARD = 0.03  # thickness of a shelf or a table [m]


@dataclass(frozen=True)
class Box:
    """A level box with a handle in the middle of each side, its centre of mass between the handles. Lengths in m."""

    depth: float = 0.30  # fore-aft
    width: float = 0.40  # from hand to hand
    height: float = 0.25

    def distance(self, height: float) -> float:
        """Horizontal distance of the hands ahead of the ankles that the NIOSH manual gives for hands at a height."""
        return (_AHEAD_LOW if height < _LOW_HANDS else _AHEAD) + 0.5 * self.depth


class Place(NamedTuple):
    """Where the hands hold the box [m]: above the floor, ahead of the ankles."""

    height: float
    distance: float


@dataclass(frozen=True)
class LiftTask:
    """One lift. Lengths in m, masses in kg, times in s, angles in degrees."""

    mass: float
    from_: Place
    to: Place
    box: Box = field(default_factory=Box)
    duration: tuple[float, float] = (0.6, 3.0)  # free between these; equal: fixed
    # Front edge, ahead of the ankles, of what the box stands on at the end and at the start; none: the box is held.
    shelf: float | None = None
    table: float | None = None
    # how often, for the NIOSH equation
    lifts_per_minute: float = 0.2
    hours: float = 1.0
    coupling: str = "good"
    # objective
    time: float = 3.0  # of a second
    effort: float = 1.0
    balance: float = 0.3
    posture: float = 0.5
    smoothness: float = 12.0
    hold: float = 0.6  # of the postures at both ends, beside the mean of the motion
    regularity: float = 1e-5  # of the spline, so that every variable counts
    # Of joints' efforts, in place of 1. By strength alone people would stoop: hips are strong, and raising the trunk
    # less saves work. That they bend their knees is said here (an estimate).
    emphasis: tuple[tuple[str, float], ...] = (("hip", 3.0),)
    # strength, balance, contact
    back_strength: float = 334.0 / 234.0  # of the skeleton's static strength of back extension
    friction: float = 0.5
    edge: float = 0.008  # how far the pressure stays inside heel and toes
    grip_slip: float = 0.0009
    palm: float = 40.0  # between the palms' normal and the box's sides at the most
    clearance: float = 0.012  # between box and body, between box and the edge of a shelf
    # discretisation
    control_points: int = 12
    degree: int = 4
    instants: int = 31

    def emphasis_of(self, coordinate: str) -> float:
        """Weight of a joint's effort: of the longest name in `emphasis` that the coordinate begins with."""
        fitting = [pair for pair in self.emphasis if coordinate.startswith(pair[0])]
        return max(fitting, key=lambda pair: len(pair[0]))[1] if fitting else 1.0

    def board(self, place: Place, front: float | None) -> tuple[float, float] | None:
        """(front edge, middle height) [m] of the board on which the box stands at a place."""
        return None if front is None else (front, place.height - 0.5 * (self.box.height + BOARD))

    @property
    def boards(self) -> tuple[tuple[float, float], ...]:
        """Shelf and table, those that there are."""
        both = (self.board(self.to, self.shelf), self.board(self.from_, self.table))
        return tuple(board for board in both if board is not None)


class Range(NamedTuple):
    """Of a coordinate while lifting [rad]; limits are infinite where there are none."""

    low: float
    high: float
    neutral: float
    ease: float


@cache
def lifting_limits() -> dict[str, Range]:
    """By coordinate without its side."""
    found = {}
    for row in rows("lifting_limits"):
        low, high = number(row["lower_deg"]), number(row["upper_deg"])
        neutral, ease = float(row["neutral_deg"]), float(row["ease_deg"])
        degrees = (-np.inf if low is None else low, np.inf if high is None else high, neutral, ease)
        found[row["name"]] = Range(*(float(np.deg2rad(x)) for x in degrees))
    return found
