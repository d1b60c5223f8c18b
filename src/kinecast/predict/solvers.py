"""IPOPT (interior point) and Uno (sequential quadratic programming) behind one interface, both through CasADi.

CasADi asks the program for derivatives by name; each is a buffer-to-buffer callback on the program's own arrays.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import casadi as ca
import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.program import Program
from kinecast.predict.view import View

Status = Literal["optimal", "acceptable", "infeasible", "iteration_limit", "time_limit", "interrupted", "failed"]
STATUSES: tuple[Status, ...] = (
    "optimal",
    "acceptable",
    "infeasible",
    "iteration_limit",
    "time_limit",
    "interrupted",
    "failed",
)
MEMORY = 100  # steps that BFGS remembers: with few it crawls on splines, whose accelerations outweigh all else
Report = Callable[[int, float, float], None]  # iteration, objective, largest violation of a scaled row


@dataclass(frozen=True)
class Settings:
    """How to solve."""

    name: Literal["ipopt", "uno"] = "ipopt"
    tolerance: float = 1e-6
    max_iterations: int = 3000
    time_limit: float | None = None
    warm: bool = False  # the start is nearly the answer


@dataclass(frozen=True, eq=False)
class Solution:
    """What came out: `history` has (objective, largest violation of a scaled row) of each iteration."""

    x: Array
    status: Status
    solver_says: str
    iterations: int
    history: list[tuple[float, float]]
    seconds: float
    seconds_functions: float


@dataclass
class Stop:
    """Why to stop before the solvers would: Ctrl-C, or the `deadline` (of time.perf_counter). Solves may share one."""

    deadline: float = np.inf
    reason: Literal["", "interrupted", "time_limit"] = ""

    def due(self) -> bool:
        """Whether to stop now."""
        if not self.reason and time.perf_counter() > self.deadline:
            self.reason = "time_limit"
        return bool(self.reason)

    @contextmanager
    def on_interrupt(self) -> Iterator[None]:
        """Meanwhile the first Ctrl-C asks to stop, the second is the usual exception."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(*_: Any) -> None:
            self.reason = "interrupted"
            signal.signal(signal.SIGINT, usual)

        usual = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)


@dataclass
class _Watch:
    """What happens during a solve: the history, and the best point so far."""

    stop: Stop
    report: Report | None
    history: list[tuple[float, float]] = field(default_factory=list)
    best: tuple[float, float, Array] | None = None
    functions: float = 0.0
    error: BaseException | None = None


class _Callback(ca.Callback):
    """A function from buffers to buffers; the dense vectors and patterns it takes and gives are named."""

    def __init__(
        self,
        name: str,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
        run: Callable[[list[Any], list[Any]], None],
        watch: _Watch,
    ) -> None:
        ca.Callback.__init__(self)
        self._inputs, self._outputs, self._run, self._watch = list(inputs.items()), list(outputs.items()), run, watch
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self._inputs)

    def get_n_out(self) -> int:
        return len(self._outputs)

    def get_name_in(self, i: int) -> str:
        return str(self._inputs[i][0]).replace(":", "_")

    def get_name_out(self, i: int) -> str:
        return str(self._outputs[i][0]).replace(":", "_")

    def get_sparsity_in(self, i: int) -> Any:
        return self._inputs[i][1]

    def get_sparsity_out(self, i: int) -> Any:
        return self._outputs[i][1]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arguments: Any, results: Any) -> int:
        views = [[None if b is None else np.frombuffer(b, dtype=float) for b in side] for side in (arguments, results)]
        try:
            with np.errstate(all="ignore"):  # a solver steps back from what is not a number
                self._run(*views)
        except BaseException as error:  # CasADi would print it and go on; it is raised when the solver is done
            self._watch.error = self._watch.error or error
            return 1
        return 0


class _Oracle(_Callback):
    """The program as CasADi sees it: scaled, without fixed variables. `get_factory` hands out derivatives."""

    def __init__(self, view: View, watch: _Watch) -> None:
        self._view, self._watch = view, watch
        self._made: list[_Derivative] = []
        p = view.program
        dense = ca.Sparsity.dense
        n_x, nothing = len(view.free), dense(0, 1)
        self._shapes = {
            "x": dense(n_x, 1),
            "p": nothing,
            "lam:f": dense(1, 1),
            "lam:g": dense(p.n_rows, 1),
            "f": dense(1, 1),
            "g": dense(p.n_rows, 1),
            "grad:f:x": dense(n_x, 1),
            "jac:g:x": view.jacobian.sparsity(p.n_rows),
            "grad:gamma:x": dense(n_x, 1),
            "grad:gamma:p": nothing,
        }
        if p.hessian != "bfgs":
            self._shapes["triu:hess:gamma:x:x"] = view.hessian.sparsity(n_x)
        inputs = {name: self._shapes[name] for name in ("x", "p")}
        outputs = {name: self._shapes[name] for name in ("f", "g")}
        super().__init__("nlp", inputs, outputs, self._runner(list(inputs), list(outputs)), watch)

    def get_factory(self, name: str, inputs: Any, outputs: Any, _aux: Any, _options: Any) -> Any:
        inputs, outputs = list(inputs), list(outputs)
        made = _Derivative(
            self,
            self._watch,
            name,
            {key: self._shapes[key] for key in inputs},
            {key: self._shapes[key] for key in outputs},
            self._runner(inputs, outputs),
        )
        self._made.append(made)
        return made

    def _runner(self, inputs: list[str], outputs: list[str]) -> Callable[[list[Any], list[Any]], None]:
        def run(arguments: list[Any], results: list[Any]) -> None:
            start = time.perf_counter()
            given = dict(zip(inputs, arguments, strict=True))
            x = self._view.whole(given["x"])
            for name, result in zip(outputs, results, strict=True):
                if result is not None and len(result):
                    result[:] = self._view.answer(name, x, given)
            self._watch.functions += time.perf_counter() - start

        return run

    def hessian_times(self, arguments: list[Any], results: list[Any]) -> None:
        """Hessian of the Lagrangian times a direction: (x, p, lam_f, lam_g, gradient, dx, dp, dlam_f, dlam_g)."""
        if results[0] is None or arguments[5] is None:
            return
        start = time.perf_counter()
        given = {"lam:f": arguments[2], "lam:g": arguments[3]}
        entries = self._view.answer("triu:hess:gamma:x:x", self._view.whole(arguments[0]), given)
        hessian, size = self._view.hessian, len(self._view.free)
        product = np.bincount(hessian.rows, entries * arguments[5][hessian.columns], size)
        off = hessian.rows != hessian.columns
        product += np.bincount(hessian.columns[off], entries[off] * arguments[5][hessian.rows[off]], size)
        results[0][:] = product
        self._watch.functions += time.perf_counter() - start


class _Derivative(_Callback):
    """A derivative of the oracle. That of the Lagrangian has itself one: Uno wants Hessian-vector products."""

    def __init__(self, oracle: _Oracle, watch: _Watch, name: str, inputs: Any, outputs: Any, run: Any) -> None:
        self._oracle = oracle
        self._kept: list[_Callback] = []
        super().__init__(name, inputs, outputs, run, watch)

    def has_forward(self, n: int) -> bool:
        return n == 1 and self.name() == "nlp_grad_l"

    def get_forward(self, _n: int, name: str, inputs: Any, outputs: Any, _options: Any) -> Any:
        own = [*(s for _, s in self._inputs), *(s for _, s in self._outputs), *(s for _, s in self._inputs)]
        shapes = dict(zip(inputs, own, strict=True))
        results = {key: shape for key, (_, shape) in zip(outputs, self._outputs, strict=True)}
        made = _Callback(name, shapes, results, self._oracle.hessian_times, self._watch)
        self._kept.append(made)
        return made


def solve(program: Program, x0: Array, settings: Settings, stop: Stop, report: Report | None = None) -> Solution:
    """Solve from x0; `stop` ends it at the next iteration, with the best point so far."""
    if stop.due():
        return Solution(x0, stop.reason or "failed", "not begun", 0, [], 0.0, 0.0)
    start = time.perf_counter()
    watch = _Watch(stop, report)
    fixed = program.x_lower >= program.x_upper
    view = View(program, np.where(fixed, program.x_lower, x0))
    low, high = program.row_bounds()
    equations = int(np.count_nonzero(low == high))
    if equations > len(view.free):
        says = f"{equations} equations for {len(view.free)} variables"
        return Solution(view.start, "infeasible", says, 0, [], 0.0, 0.0)
    with np.errstate(all="ignore"):
        if not (np.isfinite(program.f(view.start)) and np.isfinite(program.g(view.start)).all()):
            return Solution(view.start, "failed", "not a number at the start", 0, [], 0.0, 0.0)
    oracle = _Oracle(view, watch)
    watcher = _Callback("watcher", *_watcher_shapes(view), _watcher(view, watch), watch)
    options: dict[str, Any] = {
        "print_time": False,
        "show_eval_warnings": False,
        "iteration_callback": watcher,
        "calc_lam_p": False,
    }
    options |= _OPTIONS[settings.name](program, settings)
    solver = ca.nlpsol("solver", settings.name, oracle, options)
    arguments = {
        "x0": x0[view.free] / view.scale,
        "lbx": program.x_lower[view.free] / view.scale,
        "ubx": program.x_upper[view.free] / view.scale,
        "lbg": low * view.row_factor,
        "ubg": high * view.row_factor,
    }
    try:
        x = view.whole(np.array(solver(**arguments)["x"]).ravel())
        stats = solver.stats()
        status, says = _STATUS[settings.name](stats), str(stats["return_status"])
        iterations = int(stats.get("iter_count", len(watch.history)))
    except RuntimeError as error:  # what happens inside a solver comes out as this
        x, status, says, iterations = view.start, "failed", _last_words(error), len(watch.history)
    if watch.error is not None:
        raise watch.error
    if watch.best is not None and (stop.reason or status == "failed"):
        x = watch.best[2]
    seconds = time.perf_counter() - start
    return Solution(x, stop.reason or status, says, iterations, watch.history, seconds, watch.functions)


def _last_words(error: RuntimeError) -> str:
    """What a solver's exception says in the end, without the place in CasADi's source."""
    return re.sub(r"^\S+\.[ch]pp:\d+: ", "", str(error).splitlines()[-1])


def _watcher_shapes(view: View) -> tuple[dict[str, Any], dict[str, Any]]:
    dense, n_x, n_rows = ca.Sparsity.dense, len(view.free), view.program.n_rows
    sizes = {"x": n_x, "f": 1, "g": n_rows, "lam_x": n_x, "lam_g": n_rows, "lam_p": 0}
    return {name: dense(size, 1) for name, size in sizes.items()}, {"stop": dense(1, 1)}


def _watcher(view: View, watch: _Watch) -> Callable[[list[Any], list[Any]], None]:
    program = view.program
    low, high = program.row_bounds()

    def run(arguments: list[Any], results: list[Any]) -> None:
        x = view.whole(arguments[0])  # Uno tells no more than x; the program remembers the rest
        g, objective = program.g(x), program.f(x)
        violation = float((np.maximum(np.maximum(low - g, g - high), 0.0) * view.row_factor).max(initial=0.0))
        watch.history.append((objective, violation))
        # The best point so far: the least violated one; among those that are as good as feasible the cheapest.
        rank = max(violation, 1e-6)
        if watch.best is None or (rank, objective) < watch.best[:2]:
            watch.best = rank, objective, x
        if watch.report is not None:
            watch.report(len(watch.history) - 1, objective, violation)
        results[0][0] = 1.0 if watch.stop.due() else 0.0

    return run


def _ipopt_options(program: Program, settings: Settings) -> dict[str, Any]:
    ipopt: dict[str, Any] = {
        "tol": settings.tolerance,
        "constr_viol_tol": min(settings.tolerance, 1e-8),
        "compl_inf_tol": 0.01 * settings.tolerance,  # what is left of the barrier costs objective at every active limit
        "acceptable_tol": 100.0 * settings.tolerance,
        "max_iter": settings.max_iterations,
        "print_level": 0,
        "sb": "yes",
        "nlp_scaling_method": "none",  # the program is scaled
        "bound_relax_factor": 1e-10,
        "honor_original_bounds": "yes",
    }
    if settings.warm:
        ipopt |= {"mu_init": 1e-4, "bound_push": 1e-6, "bound_frac": 1e-6}
    if program.hessian == "bfgs":
        ipopt |= {"hessian_approximation": "limited-memory", "limited_memory_max_history": MEMORY}
        ipopt["limited_memory_initialization"] = "scalar2"
    return {"ipopt": ipopt, "clip_inactive_lam": True}


def _uno_options(program: Program, settings: Settings) -> dict[str, Any]:
    uno: dict[str, Any] = {
        "preset": "filtersqp",
        "logger": "SILENT",
        "primal_tolerance": settings.tolerance,
        "dual_tolerance": settings.tolerance,
        "max_iterations": settings.max_iterations,
    }
    return {"uno": uno}


def _ipopt_status(stats: dict[str, Any]) -> Status:
    known: dict[str, Status] = {
        "Solve_Succeeded": "optimal",
        "Feasible_Point_Found": "optimal",
        "Solved_To_Acceptable_Level": "acceptable",
        "Infeasible_Problem_Detected": "infeasible",
        "Maximum_Iterations_Exceeded": "iteration_limit",
        "Maximum_CpuTime_Exceeded": "time_limit",
        "Maximum_WallTime_Exceeded": "time_limit",
        "User_Requested_Stop": "interrupted",
    }
    return known.get(stats["return_status"], "failed")


def _uno_status(stats: dict[str, Any]) -> Status:
    if stats["success"]:
        return "optimal"
    if "infeasible" in stats["return_status"]:
        return "infeasible"
    return "iteration_limit" if stats["unified_return_status"] == "SOLVER_RET_LIMITED" else "failed"


_OPTIONS = {"ipopt": _ipopt_options, "uno": _uno_options}
_STATUS = {"ipopt": _ipopt_status, "uno": _uno_status}
