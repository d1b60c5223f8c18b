"""Forward dynamics in time: what a mechanism does under given torques.

The room can be called::

    fall = kinecast.simulate(kinecast.load("planar3"), q=0, until=10)
    fall.q, fall.relative_energy_drift, fall.events
    fall.save("fall.csv")
"""

from kinecast.callable_room import make_callable
from kinecast.simulate.acting import Acting
from kinecast.simulate.limits import LimitEvent
from kinecast.simulate.result import Failure, IntegrationError, Simulation, Statistics
from kinecast.simulate.simulation import INTEGRATORS, simulate

__all__ = [
    "INTEGRATORS",
    "Acting",
    "Failure",
    "IntegrationError",
    "LimitEvent",
    "Simulation",
    "Statistics",
    "simulate",
]

make_callable(__name__, simulate)
