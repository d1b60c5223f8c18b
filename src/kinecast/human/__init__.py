"""Digital humans: a scaled skeleton, foot contact, predicted walking and lifting, ergonomics.

The room can be called: ``kinecast.human(1.75, 75, "male")`` is a person as a mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kinecast.callable_room import make_callable

if TYPE_CHECKING:
    from kinecast.dynamics.mechanism import Mechanism
    from kinecast.mechanism import Limits


def person(
    stature: float | None = None,
    mass: float | None = None,
    sex: str = "male",
    *,
    percentile: float | None = None,
    strength_percentile: float = 50.0,
    freeze: str | Iterable[str] = (),
    measured: Mapping[str, Any] | None = None,
    strength: Mapping[str, float] | None = None,
    limits: Mapping[str, Limits | tuple[float, float]] | None = None,
) -> Mechanism:
    """A person as a mechanism of 55 coordinates, or fewer when some are frozen; y up, z forward, x to the left.

    `stature` [m] and `mass` [kg], or a stature `percentile` of the ANSUR II survey. `strength_percentile`: of people of
    this size and sex. `measured`, in place of the tables': landmarks [m] by name, and of a segment "thigh.length" [m],
    "thigh.mass" [kg] (of one side), "thigh.com" and "thigh.rg" (fractions of the length).

    The rest goes by names of coordinates ("wrist_r.flexion"), of joints ("wrist_r"), or of both sides' ("wrist",
    "wrist.flexion"; "spine" is all its joints). `freeze`: held at 0; "walking" is the thesis's set. `strength`: factors
    on the torque limits (a weak joint). `limits`: a range (low, high) [rad], or `Limits`, in place of the table's (a
    stiff joint); what `Limits` leaves open stays as it is in the table.

        man = kinecast.human(1.75, 75, "male", freeze=["neck", "wrist"], measured={"thigh.length": 0.44})
        tau = man.inverse_dynamics(q, v, a)
    """
    from kinecast.dynamics.mechanism import Mechanism
    from kinecast.human.skeleton import human

    return Mechanism.of(
        human(
            stature,
            mass,
            sex,
            percentile=percentile,
            strength_percentile=strength_percentile,
            freeze=freeze,
            measured=measured,
            strength=strength,
            limits=limits,
        )
    )


make_callable(__name__, person)
