"""The mechanisms on which every formulation is compared with the plain reference: name -> (structure, surroundings)."""

import numpy as np
from random_mechanisms import random_compound_tree, random_structure, random_surroundings


def options(**given):
    return given


CASES = {
    "one joint": options(n=1, moving_base=True, loads=1),
    "one slider": options(n=1, sliding=1.0, moving_base=True, loads=1),
    "chain, standard DH": options(n=6, given_by="standard"),
    "chain of turning joints": options(n=7, given_by="standard", sliding=0.0, loads=2),
    "chain of sliders": options(n=4, sliding=1.0, given_by="standard", loads=1),
    "chain, right angles": options(n=6, given_by="standard", right_angles=0.7, actuators=True, loads=1),
    "chain, modified DH": options(n=6, given_by="modified", loads=1),
    "chain, any axes": options(n=5, given_by="origin", fixed=2, loads=2),
    "chain on a moving base": options(n=5, given_by="mixed", moving_base=True, loads=1),
    "tree, standard DH": options(n=7, tree=True, given_by="standard", actuators=True, loads=2),
    "tree, any axes": options(n=8, tree=True, given_by="origin", shuffled=True, massless=0.4, loads=3),
    "tree, everything": options(
        n=12, tree=True, given_by="mixed", fixed=3, massless=0.3, actuators=True, shuffled=True, right_angles=0.3,
        loads=3, moving_base=True,
    ),
    "tree of joints of several freedoms": options(compound=True, moving_base=True, loads=2),
    "tree, modified DH": options(n=9, tree=True, given_by="modified", fixed=2, shuffled=True, moving_base=True),
}  # fmt: skip


def case(name):
    """(structure, surroundings) of the case called `name`, the same at every call."""
    chosen = dict(CASES[name])
    around = {key: chosen.pop(key) for key in ("loads", "moving_base") if key in chosen}
    rng = np.random.default_rng(list(CASES).index(name))
    structure = random_compound_tree(rng) if "compound" in chosen else random_structure(rng, chosen.pop("n"), **chosen)
    return structure, random_surroundings(rng, structure, **around)
