"""The mechanisms on which other libraries are asked for the same numbers, and random states of them."""

from dataclasses import replace
from functools import cache

import numpy as np
from random_mechanisms import random_body, random_structure

from kinecast.bench import models
from kinecast.dynamics.mechanism import Mechanism
from kinecast.mechanism import Point
from kinecast.mechanism.compound import free

ROBOTS = ("panda", "ur5", "solo12", "anymal", "talos")
RANDOM = {
    "tree": {"n": 9, "tree": True, "given_by": "mixed", "fixed": 3, "shuffled": True, "actuators": True},
    "sliders": {"n": 4, "tree": True, "sliding": 1.0},
    "modified DH chain": {"n": 6, "given_by": "modified", "sliding": 0.2, "actuators": True},
}
FLOATING = "floating tree"
NAMES = (*RANDOM, FLOATING, *ROBOTS)
SAMPLES = 3


def mechanism(name):
    """The mechanism called `name`, or a skip where it comes with a package that is not installed."""
    if name in ROBOTS and models.robots_folder() is None:
        import pytest

        pytest.skip("example-robot-data is not installed")
    return _mechanism(name)


@cache
def _mechanism(name):
    if name in ROBOTS:
        return Mechanism.of(models.robot(name))
    if name == FLOATING:
        return _floating()
    rng = np.random.default_rng(list(RANDOM).index(name))
    structure = random_structure(rng, **RANDOM[name])
    body = structure.joints[len(structure.joints) // 2].name
    return Mechanism.of(structure.replace(points=(Point("handle", body, rng.uniform(-0.3, 0.3, 3)),)))


def _floating():
    base, carried = floating_parts()
    root = base[-1].name
    joints = (*base, *(replace(joint, parent=root) if joint.parent is None else joint for joint in carried))
    return Mechanism("floating", joints, points=(Point("handle", joints[-1].name, np.array([0.1, 0.2, 0.3])),))


def floating_parts():
    """A body that moves freely (three slides and three turns in a row), and a random tree that it is to carry."""
    rng = np.random.default_rng(99)
    return free("base", **random_body(rng)), random_structure(rng, 6, tree=True, fixed=1).joints


def place(mechanism):
    """A point far from the ground, with an arm of its own where the mechanism has one."""
    return mechanism.points[-1].name


@cache
def state(name):
    """(q, v, a, tau), each (SAMPLES, n)."""
    n = mechanism(name).n
    rng = np.random.default_rng(n)
    return rng.uniform(-1.2, 1.2, (SAMPLES, n)), *rng.normal(size=(3, SAMPLES, n))
