"""One instant of a task as compiled functions: values, and first and second derivatives along given directions.

A task gives a function over symbols, y = node(z, p), with z = (q, v, a, further variables) and parameters p. Three kernels
come from it, all of them programs of a few ten thousand operations whatever the number of variables:

    value    (z, p) -> y
    tangent  (z, p, s) -> dy/dz s
    second   (z, p, m, s) -> dy/dz s and d2(m . y)/dz2 s

Derivatives along many directions s are many lanes of one vector program: a whole Jacobian and Hessian is one call with the
directions as a batch axis, and nothing is recompiled when a person, a speed or a step changes, as those are in p.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinecast.engine import Kernel, Port, kernel
from kinecast.human import recursion

if TYPE_CHECKING:
    import casadi as ca


@dataclass(frozen=True)
class Node:
    """The kernels of one instant, and where in y its named outputs are."""

    outputs: Mapping[str, slice]
    value: Kernel
    tangent: Kernel
    second: Kernel

    @property
    def size(self) -> int:
        """Number of outputs."""
        return max(part.stop for part in self.outputs.values())


def slices(sizes: Mapping[str, int]) -> dict[str, slice]:
    """Consecutive slices of the given sizes, by name."""
    found, start = {}, 0
    for name, size in sizes.items():
        found[name] = slice(start, start + size)
        start += size
    return found


def compile_node(
    name: str,
    key: str,
    n_z: int,
    n_p: int,
    sizes: Mapping[str, int],
    trace: Callable[[Any, Any], Mapping[str, Any]],
    sources: tuple[Path, ...],
) -> Node:
    """The kernels of a task's instant; `trace(z, p)` gives its outputs by name, in the order and sizes of `sizes`.

    Kernels are kept on disk under `key` and the text of the files `sources`, which say what is traced.
    """
    n_y = sum(sizes.values())
    digest = hashlib.sha256(key.encode())
    for path in (Path(__file__), Path(recursion.__file__), *sources):
        digest.update(path.read_bytes())
    key = digest.hexdigest()
    z, p, m, s = Port("z", (n_z,)), Port("p", (n_p,)), Port("m", (n_y,)), Port("s", (n_z,))
    y, dy, dz = Port("y", (n_y,)), Port("dy", (n_y,)), Port("dz", (n_z,))

    def traced() -> tuple[ca.SX, ca.SX, ca.SX]:
        import casadi

        z_, p_ = casadi.SX.sym("z", n_z), casadi.SX.sym("p", n_p)
        found = trace(z_, p_)
        parts = []
        for output, size in sizes.items():
            part = casadi.vertcat(*np.atleast_1d(np.array(found[output], dtype=object)))
            if part.numel() != size:
                raise ValueError(f"{name}: output {output} has {part.numel()} entries, not {size}")
            parts.append(part)
        return z_, p_, casadi.densify(casadi.vertcat(*parts))

    def value() -> ca.Function:
        import casadi

        z_, p_, y_ = traced()
        return casadi.Function(f"{name}_value", [z_, p_], [y_])

    def tangent() -> ca.Function:
        import casadi

        z_, p_, y_ = traced()
        s_ = casadi.SX.sym("s", n_z)
        return casadi.Function(f"{name}_tangent", [z_, p_, s_], [casadi.densify(casadi.jtimes(y_, z_, s_))])

    def second() -> ca.Function:
        import casadi

        z_, p_, y_ = traced()
        s_, m_ = casadi.SX.sym("s", n_z), casadi.SX.sym("m", n_y)
        gradient = casadi.jtimes(y_, z_, m_, True)
        both = casadi.jtimes(casadi.vertcat(y_, gradient), z_, s_)
        return casadi.Function(f"{name}_second", [z_, p_, m_, s_], [casadi.densify(both[:n_y]), casadi.densify(both[n_y:])])

    return Node(
        slices(sizes),
        kernel(f"{name}_value", key=key, inputs=[z, p], outputs=[y], trace=value),
        kernel(f"{name}_tangent", key=key, inputs=[z, p, s], outputs=[dy], trace=tangent),
        kernel(f"{name}_second", key=key, inputs=[z, p, m, s], outputs=[dy, dz], trace=second),
    )
