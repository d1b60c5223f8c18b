"""Steps of constant length, written once for NumPy arrays and for CasADi's symbols, and compiled as one kernel.

A step takes q, v and the work that the torques have done, and a function `rate(stage, q, v) -> (a, power)`, in which
`stage` counts the instants `Scheme.instants` of the step. The compiled kernel is one step of a whole state: the
formulation's forward dynamics at every stage and all that the scheme does around it.

Several steps in one kernel gain nothing for a batch (the call is then a thousandth of the work) and cost compile time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinecast.dynamics import algorithms
from kinecast.dynamics.algorithms import Request, compiled, ports
from kinecast.dynamics.mechanism import Mechanism
from kinecast.engine import Kernel, Port, kernel
from kinecast.engine.kernel import source_fingerprint
from kinecast.mechanism.checks import Array
from kinecast.simulate.acting import Acting

if TYPE_CHECKING:
    import casadi

Values = Any  # arrays, or CasADi columns
Rate = Callable[[int, Values, Values], tuple[Values, Values]]
State = tuple[Values, Values, Values]  # q, v, work


def runge_kutta_4(rate: Rate, q: Values, v: Values, work: Values, h: Values) -> State:
    """The classical Runge-Kutta step; its error is of fourth order."""
    half, sixth = 0.5 * h, h / 6.0
    a1, power1 = rate(0, q, v)
    v2 = v + half * a1
    a2, power2 = rate(1, q + half * v, v2)
    v3 = v + half * a2
    a3, power3 = rate(1, q + half * v2, v3)
    v4 = v + h * a3
    a4, power4 = rate(2, q + h * v3, v4)
    return (
        q + sixth * (v + 2.0 * (v2 + v3) + v4),
        v + sixth * (a1 + 2.0 * (a2 + a3) + a4),
        work + sixth * (power1 + 2.0 * (power2 + power3) + power4),
    )


def semi_implicit_euler(rate: Rate, q: Values, v: Values, work: Values, h: Values) -> State:
    """First the velocities, then the positions with the new velocities; its error is of first order."""
    a, power = rate(0, q, v)
    return q + h * (v + h * a), v + h * a, work + h * power


@dataclass(frozen=True)
class Scheme:
    """`instants` are fractions of the step at which torques are asked for."""

    step: Callable[[Rate, Values, Values, Values, Values], State]
    instants: tuple[float, ...]
    evaluations: int


SCHEMES = {
    "RK4": Scheme(runge_kutta_4, (0.0, 0.5, 1.0), 4),
    "semi_implicit_euler": Scheme(semi_implicit_euler, (0.0,), 1),
}
Stepper = Callable[[float, float, State], State]
_DYNAMICS = Path(algorithms.__file__).parent


def stepper(mechanism: Mechanism, scheme: str, acts: Acting) -> Stepper:
    """`step(t, h, state) -> state`: compiled where time alone says what acts, in NumPy around a torque function."""
    return _interpreted(mechanism, SCHEMES[scheme], acts) if acts.feedback else _compiled(mechanism, scheme, acts)


def _compiled(mechanism: Mechanism, scheme: str, acts: Acting) -> Stepper:
    step = step_kernel(mechanism, scheme, acts.request).ufunc
    instants = SCHEMES[scheme].instants

    def advance(t: float, h: float, state: State) -> State:
        q, v, work = state
        inputs = [x for c in instants for x in (acts.torque(t + c * h, q, v), *acts.around(t + c * h))]
        found: State = step(q, v, work, h, *inputs)
        return found

    return advance


def _interpreted(mechanism: Mechanism, scheme: Scheme, acts: Acting) -> Stepper:
    forward = compiled(mechanism, acts.request).ufunc

    def advance(t: float, h: float, state: State) -> State:
        def rate(stage: int, q: Array, v: Array) -> tuple[Array, Array]:
            at = t + scheme.instants[stage] * h
            tau = acts.torque(at, q, v)
            return forward(q, v, tau, *acts.around(at)), (tau * v).sum(axis=-1)

        return scheme.step(rate, *state, h)

    return advance


def step_kernel(mechanism: Mechanism, scheme: str, request: Request) -> Kernel:
    """One step compiled: (q, v, work, h, then torque and surroundings at every instant) -> (q, v, work)."""
    chosen = SCHEMES[scheme]
    q, v, *acting = ports(mechanism, request)[0]
    inputs = [q, v, Port("work", ()), Port("step", ())]
    inputs += [Port(f"{x.name} at {c}", x.shape) for c in chosen.instants for x in acting]
    sources = source_fingerprint(_DYNAMICS, _DYNAMICS / "spatial", Path(__file__).parent)

    def trace() -> casadi.Function:
        import casadi as ca

        from kinecast.dynamics.tracing import traced

        forward = traced(mechanism, request)
        symbols = [ca.SX.sym(port.name, port.size) for port in inputs]
        state, given = symbols[:4], symbols[4:]

        def rate(stage: int, q: Values, v: Values) -> tuple[Values, Values]:
            now = given[stage * len(acting) : (stage + 1) * len(acting)]
            return forward(q, v, *now), ca.dot(now[0], v)

        return ca.Function(scheme, symbols, list(chosen.step(rate, *state)))

    key = "\n".join([mechanism.fingerprint(), scheme, repr(request), sources])
    return kernel(f"{scheme} step", key=key, inputs=inputs, outputs=[q, v, inputs[2]], trace=trace)
