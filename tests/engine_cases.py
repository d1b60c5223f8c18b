"""Functions to compile, and CasADi's own evaluation of them as the referee."""

import casadi as ca
import numpy as np

from kinecast.engine import Port, gufunc, native, program, schedule, simd

# For a few hundred operations on numbers near one: the referee rounds after each, the engine after every second.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def port_of(name, shape):
    return Port(name, () if shape == (1, 1) else (shape[0],) if shape[1] == 1 else shape)


def ports_of(function):
    inputs = [port_of(f"in{k}", function.size_in(k)) for k in range(function.n_in())]
    outputs = [port_of(f"out{k}", function.size_out(k)) for k in range(function.n_out())]
    return tuple(inputs), tuple(outputs)


def compiled(function, *, target=None, chunk_operations=schedule.CHUNK_OPERATIONS):
    """The dense and the sparse gufunc of a function, straight from the compiler; and the sparse positions."""
    chosen = target or simd.target()
    flat = program.read(function)
    plan = schedule.schedule(program.fuse(flat), chunk_operations)
    inputs, outputs = ports_of(function)
    objects = native.compile_schedule(plan, chosen, inputs, outputs, {"dense": False, "sparse": True}, threads=2)
    addresses, owner = native.load(objects, ["dense", "sparse"], chosen)
    patterns = [[p for p, _ in output] for output in flat.outputs]
    shapes = [p.shape for p in inputs]
    dense, alive = gufunc.make(addresses["dense"], "dense", "", shapes, [p.shape for p in outputs])
    sparse, alive_too = gufunc.make(addresses["sparse"], "sparse", "", shapes, [(len(p),) for p in patterns])
    KEEP.append((owner, alive, alive_too))
    return dense, sparse, patterns


KEEP = []  # NumPy keeps only pointers to machine code


def expected(function, *arrays):
    """What CasADi computes, sample by sample, over one batch axis."""
    _, outputs = ports_of(function)
    results = [np.empty((len(arrays[0]), *port.shape)) for port in outputs]
    for k, sample in enumerate(zip(*arrays, strict=True)):
        for result, value, port in zip(results, function.call([ca.DM(x) for x in sample]), outputs, strict=True):
            result[k] = np.asarray(ca.DM(value).full()).reshape(port.shape)
    return results


def everything():
    """A small function with all that is peculiar in an output.

    Structural zeros, an input, a negated input, a constant, duplicates, a scalar; and enough sines, products and sums
    to make several chunks when they are small.
    """
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 2, 2)
    turned = ca.sin(x) * y[0, 1] - ca.cos(x[::-1]) * y[1, 0]
    sparse = ca.SX(5, 4)
    sparse[0, 1], sparse[2, 3], sparse[4, 0] = turned[0] / (2 + x[1] ** 2), -turned[1], turned[0] * turned[2]
    plain = ca.vertcat(x[1], -x[1], 2.5, -2.5, x[1], turned[2], -turned[2], turned[2], ca.dot(turned, x))
    return ca.Function("everything", [x, y], [sparse, plain, ca.dot(turned, turned), ca.SX(2, 3)])


def random_program(rng, operations=300, inputs=6, outputs=20):
    """A random function of products, sums, sines: a graph, not a tree, whose values stay near one."""
    x = ca.SX.sym("x", inputs)
    values = [x[k] for k in range(inputs)]
    for _ in range(operations):
        a, b = (values[k] for k in rng.integers(max(0, len(values) - 40), len(values), 2))
        kind = rng.integers(5)
        values.append([a + b, a - b, a * b, ca.sin(a), -a * 0.5][kind] if kind != 0 else 0.5 * (a + b))
    chosen = rng.integers(0, len(values), outputs)
    return ca.Function("random", [x], [ca.vertcat(*(values[k] for k in chosen)), ca.vertcat(*values[-7:])])
