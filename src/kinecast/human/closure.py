"""How far a prediction is from its own torques and reactions integrated forward."""

from __future__ import annotations

from typing import NamedTuple


class Closure(NamedTuple):
    """Where the integration ends, beside where the prediction does."""

    place: float  # largest distance of a place on the body [m]
    coordinate: float  # largest difference of a coordinate [m, rad]
