"""Recursive dynamics with exact sensitivities, compiled to SIMD machine code, for robots and digital humans.

>>> import kinecast as kc
>>> arm = kc.load("puma560")
>>> tau = arm.inverse_dynamics(q, v, a)                        # (n,) or any (..., n)
>>> tau, d = arm.inverse_dynamics(q, v, a, sensitivities=True) # d.q, d.v, d.a: (..., n, n)

Importing this package imports NumPy at the most: what is heavy is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from kinecast import motion
    from kinecast.dynamics.mechanism import BaseMotion, Load, Mechanism
    from kinecast.errors import InputError, KinecastError, NotSupportedError, SealedError, UnknownNameError
    from kinecast.human import person as human
    from kinecast.human.contact import ground_reaction
    from kinecast.human.ergonomics.assess import assess
    from kinecast.human.ergonomics.niosh import niosh
    from kinecast.human.lifting.lift import lift
    from kinecast.human.walking.walk import walk
    from kinecast.predict.prediction import Prediction
    from kinecast.simulate.simulation import simulate

__version__ = "0.1.0.dev0"

__all__ = [
    "BaseMotion",
    "InputError",
    "KinecastError",
    "Load",
    "Mechanism",
    "NotSupportedError",
    "Prediction",
    "SealedError",
    "UnknownNameError",
    "__version__",
    "assess",
    "ground_reaction",
    "human",
    "lift",
    "load",
    "motion",
    "niosh",
    "serial",
    "simulate",
    "walk",
]

_HOME = {
    "BaseMotion": "kinecast.dynamics.mechanism",
    "Load": "kinecast.dynamics.mechanism",
    "Mechanism": "kinecast.dynamics.mechanism",
    "InputError": "kinecast.errors",
    "KinecastError": "kinecast.errors",
    "NotSupportedError": "kinecast.errors",
    "SealedError": "kinecast.errors",
    "UnknownNameError": "kinecast.errors",
    "Prediction": "kinecast.predict.prediction",
    "walk": "kinecast.human.walking.walk",
    "lift": "kinecast.human.lifting.lift",
    "assess": "kinecast.human.ergonomics.assess",
    "niosh": "kinecast.human.ergonomics.niosh",
    "ground_reaction": "kinecast.human.contact",
    "human": "kinecast.human",
    "motion": "kinecast.motion",
    "simulate": "kinecast.simulate",
}
_ROOMS = ("human", "motion", "simulate")  # modules, offered as they are; two of them can be called as well


def load(source: str | PathLike[str]) -> Mechanism:
    """The mechanism of a built-in name (see ``kinecast list``) or of a file (.yaml, .urdf)."""
    from kinecast.dynamics.mechanism import Mechanism

    return Mechanism.load(source)


def serial(n: int, seed: int = 0) -> Mechanism:
    """A chain of `n` revolute joints with general twists and random, physical inertias: for counts and scaling."""
    from kinecast.dynamics.mechanism import Mechanism

    return Mechanism.serial(n, seed)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'kinecast' has no attribute {name!r}")
    home = import_module(_HOME[name])
    value = home if name in _ROOMS else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
