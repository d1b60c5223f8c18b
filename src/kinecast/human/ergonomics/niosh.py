"""The revised NIOSH lifting equation: recommended weight limit, lifting index, all multipliers.

T. R. Waters, V. Putz-Anderson, A. Garg, Applications Manual for the Revised NIOSH Lifting Equation, DHHS (NIOSH) 94-110
(1994), 1.3; metric form, with horizontal distance H, height V and travel D in cm and asymmetry A in degrees:

    RWL = 23 kg HM VM DM AM FM CM                          LI = load / RWL
    HM = 25 / H              1 up to 25 cm, 0 beyond 63 cm
    VM = 1 - .003 |V - 75|   0 above 175 cm
    DM = .82 + 4.5 / D       1 up to 25 cm, 0 beyond 175 cm
    AM = 1 - .0032 A         0 beyond 135 deg
    FM   of the lifts a minute, hours of lifting and V, table 5, between its rows linearly
    CM   good 1; fair .95 below 75 cm, else 1; poor .90

Valid for two-handed smooth lifting while standing, without other strenuous work, with firm footing (friction at least
0.4), at 19 to 26 degrees Celsius; not for one hand, seated or kneeling, hot or unstable loads, wheelbarrows, or faster
than about 0.75 m/s. LI above 1 means more than the nominal risk for some of the healthy workers, above 3 for many.

Example::

    found = niosh(10, horizontal=0.40, vertical=0.20, travel=0.80)      # kg, m
    found.rwl, found.index, found.multipliers["HM"]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np

from kinecast.errors import InputError, brief, unknown
from kinecast.human.tables import rows

SOURCE = "NIOSH 94-110 (Waters, Putz-Anderson, Garg 1994)"
VALID = (
    "two-handed smooth lifting while standing on firm footing at 19 to 26 degrees Celsius, up to about 0.75 m/s; "
    "not one-handed, seated, kneeling, with hot or unstable loads or wheelbarrows"
)
LOAD_CONSTANT = 23.0  # [kg]
COUPLINGS = ("good", "fair", "poor")
HOURS = (1.0, 2.0, 8.0)
_MIDDLE = 75.0  # height that frequencies and couplings are split at [cm]
FASTEST = 0.75  # speed of the load for which the equation was made, about [m/s]


@dataclass(frozen=True)
class Niosh:
    """Recommended weight limit [kg], lifting index (infinite where the limit is 0), the multipliers, what went in."""

    rwl: float
    index: float
    multipliers: Mapping[str, float]
    load: float  # [kg]
    horizontal: float  # [m], as vertical and travel
    vertical: float
    travel: float
    remarks: tuple[str, ...]  # which input is beyond the equation's range

    def as_data(self) -> dict[str, Any]:
        """For result.json."""
        return {
            "rwl_kg": self.rwl,
            "li": self.index if isfinite(self.index) else None,
            "multipliers": dict(self.multipliers),
            "load_kg": self.load,
            "horizontal_m": self.horizontal,
            "vertical_m": self.vertical,
            "travel_m": self.travel,
            "remarks": list(self.remarks),
        }


def niosh(
    load: float,
    *,
    horizontal: float,
    vertical: float,
    travel: float,
    asymmetry_deg: float = 0.0,
    lifts_per_minute: float = 0.2,
    hours: float = 1.0,
    coupling: str = "good",
) -> Niosh:
    """The equation at one end of a lift.

    `load` [kg]; `horizontal` distance of the hands from the ankles, height `vertical` of the hands and `travel` between
    the two heights [m]; `asymmetry_deg`: the load's direction from straight ahead; `lifts_per_minute` during `hours` a
    day; `coupling` good, fair or poor.
    """
    given = {"load": load, "horizontal": horizontal, "vertical": vertical, "travel": travel}
    given |= {"asymmetry_deg": asymmetry_deg, "lifts_per_minute": lifts_per_minute, "hours": hours}
    for name, value in given.items():
        _check(name, value)
    if not 0 < hours <= HOURS[-1]:
        raise InputError(f"niosh: hours must be above 0 and at most {HOURS[-1]:g}, got {hours:g}", key="hours")
    if coupling not in COUPLINGS:
        raise unknown("coupling", coupling, COUPLINGS, key="coupling")
    # A millionth of a centimetre is rounding, not out of range.
    h, v, d = (round(100.0 * x, 6) for x in (horizontal, vertical, travel))
    multipliers = {
        "HM": 0.0 if h > 63 else 25.0 / max(h, 25.0),
        "VM": 0.0 if v > 175 else 1.0 - 0.003 * abs(v - _MIDDLE),
        "DM": 0.0 if d > 175 else 0.82 + 4.5 / max(d, 25.0),
        "AM": 0.0 if asymmetry_deg > 135 else 1.0 - 0.0032 * asymmetry_deg,
        "FM": frequency_multiplier(lifts_per_minute, hours, vertical),
        "CM": {"good": 1.0, "fair": 0.95 if v < _MIDDLE else 1.0, "poor": 0.90}[coupling],
    }
    rwl = LOAD_CONSTANT * float(np.prod(list(multipliers.values())))
    beyond = {
        "HM": f"hands {horizontal:.2f} m ahead of the ankles, beyond 0.63 m",
        "VM": f"hands {vertical:.2f} m high, above 1.75 m",
        "DM": f"travel of {travel:.2f} m, beyond 1.75 m",
        "AM": f"asymmetry of {asymmetry_deg:g} deg, beyond 135 deg",
        "FM": f"{lifts_per_minute:g} lifts a minute for {hours:g} h are more than the table has",
    }
    remarks = tuple(words for name, words in beyond.items() if multipliers[name] == 0.0)
    index = load / rwl if rwl else (float("inf") if load else 0.0)
    found = MappingProxyType(multipliers)
    return Niosh(rwl, index, found, float(load), float(horizontal), float(vertical), float(travel), remarks)


def frequency_multiplier(lifts_per_minute: float, hours: float, vertical: float) -> float:
    """FM of table 5 for lifts a minute during up to 1, 2 or 8 hours with the hands at a height [m] at the start."""
    column = f"{'high' if round(100 * vertical, 6) >= _MIDDLE else 'low'}_{next(h for h in HOURS if hours <= h):g}h"
    table = rows("niosh_frequency")
    frequencies = np.array([float(row["lifts_per_minute"]) for row in table])
    if lifts_per_minute > frequencies[-1]:
        return 0.0
    return float(np.interp(lifts_per_minute, frequencies, [float(row[column]) for row in table]))


def _check(name: str, value: Any) -> None:
    if not isinstance(value, (int, float, np.number)) or not isfinite(value) or value < 0:
        raise InputError(f"niosh: {name} must be a number of at least 0, got {brief(value)}", key=name)
