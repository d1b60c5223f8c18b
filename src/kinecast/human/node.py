"""One instant of a task as compiled functions: values, and first and second derivatives along given directions.

A task gives a function over symbols, y = node(z, p), with z = (q, v, a, further variables) and parameters p. Three
kernels come from it, all of them programs of a few ten thousand operations whatever the number of variables:

    value   (z, p) -> y
    second  (z, p, m, s) -> dy/dz s and d2(m . y)/dz2 s, for directions s of z that leave its tail alone
    tail    (z, p, m, s) -> the same for directions of the tail, the second derivatives by the tail only

z ends in a tail (accelerations and further variables) on which the recursion depends linearly: its program is three
times shorter.

Derivatives along many directions s are many lanes of one vector program: a whole Jacobian and Hessian is one call
with the directions as a batch axis, and nothing is recompiled when a person, a speed or a step changes, as those are
in p.
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
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    import casadi as ca


@dataclass(frozen=True)
class Node:
    """The kernels of one instant, and where in y its named outputs are."""

    outputs: Mapping[str, slice]
    n_z: int
    n_tail: int
    value: Kernel
    second: Kernel
    tail: Kernel

    @property
    def size(self) -> int:
        """Number of outputs."""
        return max(part.stop for part in self.outputs.values())

    def derivatives(
        self, z: Array, p: Array, m: Array, out: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """dy/dz transposed (instants, n_z, n_y) and d2(m . y)/dz2 (instants, n_z, n_z) at z, p, m (instants, ...)."""
        head, count = self.n_z - self.n_tail, len(z)
        dy, dz = out or (np.empty((count, self.n_z, self.size)), np.empty((count, self.n_z, self.n_z)))
        z, p, m = z[:, None], p[:, None], m[:, None]
        self.second.ufunc(z, p, m, np.eye(head), out=(dy[:, :head], dz[:, :head]))
        self.tail.ufunc(z, p, m, np.eye(self.n_tail), out=(dy[:, head:], dz[:, head:, head:]))
        dz[:, head:, :head] = dz[:, :head, head:].transpose(0, 2, 1)
        return dy, dz


def slices(sizes: Mapping[str, int]) -> dict[str, slice]:
    """Consecutive slices of the given sizes, by name."""
    found, start = {}, 0
    for name, size in sizes.items():
        found[name] = slice(start, start + size)
        start += size
    return found


Trace = Callable[[Any, Any], Mapping[str, Any]]


def digest(key: str, *sources: Path) -> str:
    """A key that changes with the files that say what is traced."""
    found = hashlib.sha256(key.encode())
    for path in (Path(__file__), Path(recursion.__file__), *sources):
        found.update(path.read_bytes())
    return found.hexdigest()


def compile_values(name: str, key: str, n_z: int, n_p: int, sizes: Mapping[str, int], trace: Trace) -> Kernel:
    """The kernel (z, p) -> y alone; `trace(z, p)` gives the outputs by name, in the order and sizes of `sizes`."""

    def traced() -> ca.Function:
        import casadi

        z, p, y = _symbols(name, n_z, n_p, sizes, trace)
        return casadi.Function(name, [z, p], [y])

    return kernel(
        name,
        key=key,
        inputs=[Port("z", (n_z,)), Port("p", (n_p,))],
        outputs=[Port("y", (sum(sizes.values()),))],
        trace=traced,
    )


def compile_node(name: str, key: str, n_z: int, n_tail: int, n_p: int, sizes: Mapping[str, int], trace: Trace) -> Node:
    """All kernels of a task's instant, kept on disk under `key`; `trace` as for `compile_values`."""
    n_y, head = sum(sizes.values()), n_z - n_tail
    ports = [Port("z", (n_z,)), Port("p", (n_p,)), Port("m", (n_y,))]

    def derivative(label: str, moved: slice, by: slice) -> Kernel:
        n_s, n_d = moved.stop - moved.start, by.stop - by.start

        def traced() -> ca.Function:
            import casadi

            z, p, y = _symbols(name, n_z, n_p, sizes, trace)
            s, m, direction = casadi.SX.sym("s", n_s), casadi.SX.sym("m", n_y), casadi.SX(n_z, 1)
            direction[moved] = s
            gradient = casadi.jtimes(y, z, m, True)[by]
            both = casadi.jtimes(casadi.vertcat(y, gradient), z, direction)
            return casadi.Function(label, [z, p, m, s], [casadi.densify(both[:n_y]), casadi.densify(both[n_y:])])

        outputs = [Port("dy", (n_y,)), Port("dz", (n_d,))]
        return kernel(label, key=key, inputs=[*ports, Port("s", (n_s,))], outputs=outputs, trace=traced)

    return Node(
        slices(sizes),
        n_z,
        n_tail,
        compile_values(f"{name}_value", key, n_z, n_p, sizes, trace),
        derivative(f"{name}_second", slice(0, head), slice(0, n_z)),
        derivative(f"{name}_tail", slice(head, n_z), slice(head, n_z)),
    )


def _symbols(name: str, n_z: int, n_p: int, sizes: Mapping[str, int], trace: Trace) -> tuple[ca.SX, ca.SX, ca.SX]:
    import casadi

    z, p = casadi.SX.sym("z", n_z), casadi.SX.sym("p", n_p)
    found, parts = trace(z, p), []
    for output, size in sizes.items():
        part = casadi.vertcat(*found[output])
        if part.numel() != size:
            raise ValueError(f"{name}: output {output} has {part.numel()} entries, not {size}")
        parts.append(part)
    return z, p, casadi.SX(casadi.densify(casadi.vertcat(*parts)))
