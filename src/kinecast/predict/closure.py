"""The way back: the predicted torques integrated forward in time, by forward dynamics, and how far that ends up.

The predicted motion came from inverse dynamics; forward dynamics and an integrator with error control are an
independent path. The torques are those of the predicted motion as functions of time, t -> tau(t).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kinecast.errors import KinecastError
from kinecast.motion.basis import Array

if TYPE_CHECKING:
    from kinecast.predict.result import Motion

RTOL = 1e-10
ATOL = 1e-12


@dataclass(frozen=True, eq=False)
class Closure:
    """Differences between the integrated and the predicted motion at the knots `t`, of which the last is the end."""

    t: Array
    q_error: Array  # (times, n) [rad or m]
    v_error: Array
    evaluations: int

    @property
    def max_q_error(self) -> float:
        """The largest difference of a coordinate at the end [rad or m]."""
        return float(np.abs(self.q_error[-1]).max())

    @property
    def max_v_error(self) -> float:
        """The largest difference of a velocity at the end."""
        return float(np.abs(self.v_error[-1]).max())


def integrate(motion: Motion, rtol: float = RTOL, atol: float = ATOL) -> Closure:
    """Integrate from knot to knot: between them everything is smooth, at them torques may jump."""
    from scipy.integrate import solve_ivp

    breaks, n = motion.spline.breaks, motion.task.n
    state = np.concatenate([motion.q(breaks[0]), motion.v(breaks[0])])
    states, evaluations = [state], 0
    for begin, end in pairwise(breaks):

        def rate(t: float, y: Array, begin: float = begin) -> Array:
            # On a knot the torque is that of the segment being integrated: the limit from its own side.
            tau = motion.torque_in_segment(t, begin)
            a = motion.mechanism.forward_dynamics(y[:n], y[n:], tau, loads=motion.applied_loads(t))
            return np.concatenate([y[n:], a])

        step = solve_ivp(rate, (begin, end), state, method="DOP853", rtol=rtol, atol=atol)
        if not step.success:
            raise KinecastError(f"the integration stopped at t = {step.t[-1]:g} s: {step.message}")
        state = step.y[:, -1]
        states.append(state)
        evaluations += int(step.nfev)
    found = np.array(states)
    return Closure(breaks, found[:, :n] - motion.q(breaks), found[:, n:] - motion.v(breaks), evaluations)
