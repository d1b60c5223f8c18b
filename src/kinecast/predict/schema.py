"""What may stand in a problem file: which keys, of which types. What they mean for a mechanism is checked in `task`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Len
from pydantic import Field

from kinecast.schema import Checked

Vector = Annotated[list[float], Len(3, 3)]
Word = Annotated[str, Len(1)]
Weight = Annotated[float, Ge(0.0)]
Positive = Annotated[float, Gt(0.0)]
Count = Annotated[int, Ge(1)]
# Beyond these bounds, which are far from any use, memory or rounding would be the answer.
Seconds = Annotated[float, Ge(1e-6), Le(1e6)]
Segments = Annotated[int, Ge(1), Le(10_000)]
Checks = Annotated[int, Ge(1), Le(100)]

PerJoint = float | list[float | None] | dict[Word, float | None] | None
Bound = float | list[float | None] | None
Limit = Bound | list[Bound] | dict[Word, Bound]
LoadLimit = Bound | list[Bound] | dict[Word, Bound | dict[Word, Bound]]

_PER_JOINT = "a number, a list of numbers in joint order, a mapping of joint names to numbers, or null"
_LIMIT = (
    "a number (symmetric), [lower, upper], a list of these in joint order, a mapping of joint names to these, or null"
)
_WEIGHT = "a number, 0 or more"


class Duration(Checked):
    """Free between two bounds."""

    min: Seconds = Field(description="a number of seconds above 0 (1e-6 to 1e6)")
    max: Seconds = Field(description="a number of seconds above 0 (1e-6 to 1e6)")


class Boundary(Checked):
    """The state at one end."""

    q: PerJoint = Field(None, description=_PER_JOINT)
    v: PerJoint = Field(0.0, description=_PER_JOINT)
    a: PerJoint = Field(None, description=_PER_JOINT)


class Via(Checked):
    """A state on the way."""

    at: Annotated[float, Gt(0.0), Field(lt=1.0)] = Field(description="a fraction of the duration between 0 and 1")
    q: PerJoint = Field(None, description=_PER_JOINT)
    v: PerJoint = Field(None, description=_PER_JOINT)


class Limits(Checked):
    """Bounds that hold all the way; a key that is left out means the mechanism's own."""

    q: Limit = Field(None, description=_LIMIT)
    v: Limit = Field(None, description=_LIMIT)
    tau: Limit = Field(None, description=_LIMIT)
    load: LoadLimit = Field(
        None, description=_LIMIT + "; under a joint's name also a mapping of components (fx ... mz) to these"
    )


class AppliedLoad(Checked):
    """A force and a moment on a body, constant or sampled in time."""

    point: Word = Field(description="the name of a point or a joint")
    t: Annotated[list[float], Len(2)] | None = Field(None, description="two or more times (s)")
    force: Vector | list[Vector] = Field([0.0, 0.0, 0.0], description="three numbers (N), with t a list of such")
    moment: Vector | list[Vector] = Field([0.0, 0.0, 0.0], description="three numbers (N m), with t a list of such")


class Minimize(Checked):
    """Weights of the terms of the objective."""

    time: Weight = Field(0.0, description=_WEIGHT)
    effort: Weight = Field(0.0, description=_WEIGHT)
    load: Weight = Field(0.0, description=_WEIGHT)
    jerk: Weight = Field(0.0, description=_WEIGHT)
    tracking: Weight = Field(0.0, description=_WEIGHT)


class Solver(Checked):
    """How the nonlinear program is solved."""

    name: Literal["ipopt", "uno"] = Field("ipopt", description="ipopt or uno")
    tolerance: Positive = Field(1e-6, description="a number above 0")
    max_iterations: Count = Field(3000, description="a whole number, 1 or more")
    time_limit: Positive | None = Field(None, description="a number of seconds above 0, or null")
    hessian: Literal["auto", "exact", "gauss-newton", "bfgs"] = Field(
        "auto", description="auto, exact, gauss-newton or bfgs"
    )
    starts: Count = Field(1, description="a whole number, 1 or more")


class ProblemFile(Checked):
    """The whole file."""

    mechanism: Word = Field(description="the name of a built-in mechanism or the path of a mechanism file")
    gravity: Vector | None = Field(None, description="three numbers (m/s2, world axes) or null")
    segments: Segments = Field(20, description="a whole number, 1 or more (to 10000)")
    duration: Seconds | Duration = Field(description="a number of seconds above 0 (1e-6 to 1e6), or {min, max} of such")
    knots: Literal["fixed", "free"] = Field("fixed", description="fixed or free")
    start: Boundary = Field(description="a mapping of q, v and a")
    end: Boundary = Field(description="a mapping of q, v and a")
    via: list[Via] = Field([], description="a list of {at, q, v}")
    periodic: bool | list[Word] = Field(False, description="true, false or a list of joint names")
    limits: Limits = Field(
        default_factory=lambda: Limits.model_validate({}), description="a mapping of q, v, tau and load"
    )
    loads: list[AppliedLoad] = Field([], description="a list of {point, force, moment}")
    minimize: Minimize | None = Field(None, description="a mapping of time, effort, load, jerk, tracking to weights")
    reference: Word | None = Field(None, description="the path of a motion file, or null")
    refine: Positive | None = Field(None, description="a tolerance above 0, or null")
    check_points: Checks = Field(4, description="a whole number, 1 or more (to 100)")
    guess: Word = Field("line", description="line, quasi-static, coarse or the path of a motion file")
    solver: Solver = Field(
        default_factory=lambda: Solver.model_validate({}),
        description="a mapping of name, tolerance, max_iterations, ...",
    )
    seed: Annotated[int, Ge(0)] = Field(0, description="a whole number, 0 or more")


Data = dict[str, Any]
