"""A few mechanisms whose methods are compiled once for all tests that call them."""

from functools import cache

import numpy as np
from random_mechanisms import random_structure

from kinecast.dynamics.mechanism import BaseMotion, Load, Mechanism
from kinecast.mechanism import Point

NAMES = ("tree", "chain")


@cache
def mechanism(name):
    """`tree`: every kind of joint, welded and massless bodies, drives, children first; `chain`: turns, standard DH."""
    rng = np.random.default_rng(7)
    if name == "chain":
        structure = random_structure(rng, 4, given_by="standard", sliding=0.0, right_angles=0.3)
    else:
        structure = random_structure(
            rng, 6, tree=True, given_by="mixed", sliding=0.35, fixed=2, massless=0.2, actuators=True, shuffled=True
        )
    first, last = structure.joints[structure.order[1]].name, structure.joints[structure.order[-1]].name
    points = Point("hook", first, rng.uniform(-0.3, 0.3, 3)), Point("handle", last, rng.uniform(-0.3, 0.3, 3))
    return Mechanism.of(structure.replace(name=name, points=points))


def states(name, *batch, seed=0):
    """(q, v, a, tau), each (*batch, n)."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, (4, *batch, mechanism(name).n))


def acting(*batch, seed=1):
    """Loads at both points and a moving base, all of them batches."""
    rng = np.random.default_rng(seed)
    loads = [
        Load(point, rng.normal(size=(*batch, 3)) * 10, rng.normal(size=(*batch, 3))) for point in ("hook", "handle")
    ]
    return {"loads": loads, "base": BaseMotion(*rng.normal(size=(2, *batch, 6)))}
