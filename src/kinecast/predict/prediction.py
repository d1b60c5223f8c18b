"""`Prediction`: a problem put together in Python or read from a file, and solved.

Example::

    plan = (kinecast.Prediction(arm, segments=20, duration=(0.1, 3.0))
            .start(q=[0, -2]).end(q=[1, -1])          # at rest unless said otherwise
            .limit(torque=10)
            .minimize(time=1))
    motion = plan.solve()
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.mechanism import Mechanism
from kinecast.errors import InputError, brief
from kinecast.files import Source, read_whole
from kinecast.motion.basis import Array
from kinecast.motion.bspline import BSpline, uniform_knots
from kinecast.motion.files import read_motion
from kinecast.predict.progress import followed
from kinecast.predict.result import Motion
from kinecast.predict.run import run
from kinecast.predict.schema import Data, ProblemFile
from kinecast.predict.task import Requirement, Task, make_task
from kinecast.predict.terms import OBJECTIVES, UserFunction
from kinecast.schema import check
from kinecast.yaml_text import parse

GUESSES = ("line", "quasi-static", "coarse")
_PLACES = {"start": 0.0, "end": 1.0}


class Prediction:
    """A motion to be found: ends, limits, loads and what is to be small. Methods change it and return it.

    `duration` [s] is a number or (min, max). What a problem file says under a key of its own is a further keyword:
    `segments`, `check_points`, `knots`, `gravity`, `refine`, `guess`, `seed`.
    """

    def __init__(self, mechanism: Mechanism, *, duration: float | tuple[float, float], **settings: Any) -> None:
        if not isinstance(mechanism, Mechanism):
            raise InputError(f"Prediction: mechanism must be one, such as kinecast.load(...), got {brief(mechanism)}")
        self._mechanism = mechanism
        self._data: Data = {"mechanism": mechanism.name, "start": {}, "end": {}}
        self._source = Source("prediction")
        self._requirements: list[Requirement] = []
        self._costs: list[tuple[UserFunction, float]] = []
        self._reference: tuple[Array, Array] | None = None
        self._data["duration"] = _plain(duration)
        if isinstance(duration, (tuple, list)) and len(duration) == 2:
            self._data["duration"] = dict(zip(("min", "max"), _plain(duration), strict=True))
        self._data |= {key: _plain(value) for key, value in settings.items()}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Prediction:
        """The prediction that a problem file describes. Paths in it are relative to the file."""
        data, source = parse(read_whole(path, "a problem file is YAML"), os.fspath(path))
        check(ProblemFile, data, source)
        folder = Path(path).parent
        for key in ("mechanism", "reference"):
            if data.get(key) is not None:
                data[key] = _beside(data[key], folder)
        with source.at("mechanism"):
            mechanism = Mechanism.load(data["mechanism"])
        plan = cls(mechanism, duration=1.0)
        plan._data, plan._source = data, source
        if data.get("reference") is not None:
            with source.at("reference"):
                plan._reference = _recorded(data["reference"], mechanism)
        guess = data.get("guess", "line")
        if guess not in GUESSES:
            plan._data["guess"] = _beside(guess, folder)
        return plan

    # ------------------------------------------------------------------ what is asked for

    def start(self, **state: Any) -> Prediction:
        """The state at the start: `q`, `v` (0 unless given), `a`; numbers, lists, or mappings by joint name."""
        self._data["start"] = {key: _plain(value) for key, value in state.items()}
        return self

    def end(self, **state: Any) -> Prediction:
        """The state at the end."""
        self._data["end"] = {key: _plain(value) for key, value in state.items()}
        return self

    def via(self, at: float, **state: Any) -> Prediction:
        """A state (`q`, `v`) on the way, at the fraction `at` of the duration."""
        entry = {"at": at} | {key: _plain(value) for key, value in state.items()}
        self._data.setdefault("via", []).append(entry)
        return self

    def periodic(self, *joints: str) -> Prediction:
        """End as it began, in position, velocity and acceleration: these joints, or without names all."""
        self._data["periodic"] = list(joints) or True
        return self

    def limit(self, **limits: Any) -> Prediction:
        """Limits all the way: `torque`, `position`, `velocity`, `load`, each as in a problem file.

        What is not named keeps the mechanism's own limit; None takes it away.
        """
        keys = {"torque": "tau", "position": "q", "velocity": "v", "load": "load"}
        for name, value in limits.items():
            self._data.setdefault("limits", {})[keys.get(name, name)] = _plain(value)
        return self

    def load_at(
        self, point: str, force: ArrayLike = (0, 0, 0), moment: ArrayLike = (0, 0, 0), t: ArrayLike | None = None
    ) -> Prediction:
        """A force [N] and moment [N m] on the body at a named point, in world axes; with times `t`, (times, 3) each."""
        entry = {"point": point, "force": _numbers(force), "moment": _numbers(moment)}
        self._data.setdefault("loads", []).append(entry if t is None else entry | {"t": _numbers(t)})
        return self

    def minimize(self, **weights: float) -> Prediction:
        """Weights of `time`, `effort` (torques squared), `load` (joint forces squared), `jerk`, `tracking`."""
        self._data["minimize"] = {key: _plain(value) for key, value in weights.items()}
        return self

    def penalize(self, cost: UserFunction, weight: float = 1.0) -> Prediction:
        """Add the time integral of weight * cost(state) to the objective."""
        if not np.isfinite(weight):
            raise InputError(f"penalize: weight must be a finite number, got {weight!r}")
        self._costs.append((cost, float(weight)))
        return self

    def require(self, condition: UserFunction, at: str | float | None = None, name: str = "") -> Prediction:
        """Conditions on the state, all the way or `at` "start", "end" or a fraction; `name` is for messages.

        >>> plan.require(lambda s: s.point("tip").position[1] >= 0.1)
        """
        fraction = _PLACES.get(at, at) if isinstance(at, str) else at
        if fraction is not None and (isinstance(fraction, str) or not 0.0 <= fraction <= 1.0):
            raise InputError(f'require: at must be "start", "end", a fraction of the duration or None, got {at!r}')
        self._requirements.append(Requirement(condition, fraction, name))
        return self

    def track(self, motion: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike]) -> Prediction:
        """The motion that `minimize(tracking=...)` stays near: a motion file, or times (N,) and positions (N, n)."""
        if isinstance(motion, tuple):
            t, q = (np.asarray(x, dtype=float) for x in motion)
            if t.ndim != 1 or q.shape != (len(t), self._mechanism.n) or len(t) < 2 or not np.all(np.diff(t) > 0):
                raise InputError(
                    f"track: must be increasing times (N,) and positions (N, {self._mechanism.n}), "
                    f"got shapes {t.shape} and {q.shape}"
                )
            self._reference = t, q
        else:
            self._reference = _recorded(os.fspath(motion), self._mechanism)
            self._data["reference"] = os.fspath(motion)
        return self

    def solver(self, **settings: Any) -> Prediction:
        """Of the solver: `name`, `tolerance`, `max_iterations`, `time_limit`, `hessian`, `starts`."""
        self._data["solver"] = {**self._data.get("solver", {}), **{k: _plain(v) for k, v in settings.items()}}
        return self

    # ------------------------------------------------------------------ the answer

    @property
    def mechanism(self) -> Mechanism:
        """What moves."""
        return self._mechanism

    def task(self) -> Task:
        """The problem as numbers, checked."""
        data = copy.deepcopy(self._data)
        guess = data.get("guess", "line")
        if guess not in GUESSES:
            self._check_guess(guess)
        return make_task(
            data, self._mechanism, self._source, tuple(self._requirements), tuple(self._costs), self._reference
        )

    def problem(self) -> Data:
        """The problem as a problem file holds it, defaults filled in (conditions and costs in Python left out)."""
        task = self.task()
        data = ProblemFile.model_validate(self._data).model_dump(mode="json")
        data["gravity"] = task.structure.gravity.tolist()
        own = {"q": task.q_limits, "v": task.v_limits, "tau": task.tau_limits}
        for kind, limits in own.items():
            if kind not in self._data.get("limits", {}):
                data["limits"][kind] = _by_name(task.structure.coordinates, limits)
        if self._data.get("minimize") is None and task.objectives:
            data["minimize"] = {name: task.objectives.get(name, 0.0) for name in OBJECTIVES}
        return data

    def solve(
        self,
        previous: Motion | None = None,
        *,
        say: Callable[[str], None] = lambda _: None,
        report: Callable[[int, float, float], None] | None = None,
        progress: bool = True,
    ) -> Motion:
        """Find the motion; the answer says in words when there is none. `previous` is a motion to start from.

        `say` gets the lines of the log, `report` each iteration (number, objective, largest violation); `progress`
        shows on a terminal how far a solve of more than a second has come. Ctrl-C stops and returns the best motion so
        far.
        """
        task, problem = self.task(), self.problem()
        start = None if previous is None else previous.unsealed
        if start is None and task.guess not in GUESSES:
            start = self._guess_file(task.guess)
        gravity = task.structure.gravity
        mechanism = self._mechanism.with_gravity(gravity)
        with followed(report, progress) as follow:
            return run(task, mechanism, problem, previous=start, say=say, report=follow)

    def _check_guess(self, guess: str) -> None:
        with self._source.at("guess"):
            if not Path(guess).exists():
                raise InputError(f"must be {', '.join(GUESSES)} or the path of a motion file, got {guess!r}")

    def _guess_file(self, path: str) -> BSpline:
        with self._source.at("guess"):
            t, q = _recorded(path, self._mechanism)
        t = t - t[0]
        return BSpline.fit(t, q, uniform_knots(max(1, min(len(t) - 3, 100)), float(t[-1])))


def _recorded(path: str, mechanism: Mechanism) -> tuple[Array, Array]:
    series = read_motion(path, mechanism).joint_series(mechanism.coordinates)
    if len(series.t) < 2:
        raise InputError(f"{path}: a motion needs two rows or more")
    return series.t, series.q


def _beside(name: str, folder: Path) -> str:
    """The path relative to the problem file, if there is such a file; else the name itself."""
    path = folder / name
    return str(path.resolve()) if path.is_file() else name


def _by_name(names: Sequence[str], limits: Array) -> dict[str, list[float | None]] | None:
    """Limits (n, 2) as a problem file writes them."""
    found = {
        name: [float(x) if np.isfinite(x) else None for x in limit]
        for name, limit in zip(names, limits, strict=True)
        if np.isfinite(limit).any()
    }
    return found or None


def _numbers(values: ArrayLike) -> Any:
    return np.asarray(values, dtype=float).tolist()


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays, tuples and nested ones of these as the plain data that files hold."""
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(x) for x in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value
