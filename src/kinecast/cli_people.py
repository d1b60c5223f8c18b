"""The commands that predict people's motions: thin, what is heavy is imported by the command that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinecast.cli_options import Json, Quiet

Stature = Annotated[float | None, typer.Option(metavar="H", help="In m; with the body mass.")]
Sex = Annotated[str, typer.Option(help="male or female.")]
Percentile = Annotated[float | None, typer.Option(metavar="P", help="Of stature, in place of stature and mass.")]
StrengthPercentile = Annotated[float, typer.Option(metavar="P", help="Among people of this size and sex.")]
Freeze = Annotated[
    str, typer.Option(metavar="NAMES", help='Joints held still, with commas between; "nothing": none.')
]
Weak = Annotated[
    list[str] | None, typer.Option(metavar="JOINT=PART", help="Part of its strength: knee=0.5. Repeatable.")
]
Stiff = Annotated[
    list[str] | None, typer.Option(metavar="JOINT=LOW:HIGH", help="Its range in deg: knee=0:30. Repeatable.")
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="The folder to leave.")]


def walk(
    speed: Annotated[float, typer.Option(metavar="V", help="In m/s.")],
    step: Annotated[
        float | None, typer.Option(metavar="L", help="Step length in m; else what people take at this speed.")
    ] = None,
    stature: Stature = None,
    mass: Annotated[float | None, typer.Option(metavar="M", help="Of the body, in kg.")] = None,
    sex: Sex = "male",
    percentile: Percentile = None,
    strength_percentile: StrengthPercentile = 50.0,
    freeze: Freeze = "walking",
    incline: Annotated[float, typer.Option(metavar="DEG", help="Uphill positive.")] = 0.0,
    backpack: Annotated[float, typer.Option(metavar="KG", help="Carried on the back.")] = 0.0,
    hands: Annotated[float, typer.Option(metavar="KG", help="Carried in the hands, half in each.")] = 0.0,
    weak: Weak = None,
    stiff: Stiff = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Phases, weights, clearances: see docs/walking.md. Repeatable."
        ),
    ] = None,
    out: Out = Path("run"),
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Predict how a person walks: a folder with the motion, the result, a report. Exit code 1 when there is none."""
    from kinecast.human.walking.command import run

    person = {"stature": stature, "mass": mass, "sex": sex, "percentile": percentile}
    person |= {"strength_percentile": strength_percentile, "freeze": freeze}
    how: dict[str, Any] = {"incline": incline, "backpack": backpack, "hands": hands, "weak": weak or []}
    how |= {"stiff": stiff or [], "settings": settings or [], "quiet": quiet, "as_json": json_}
    if not run(person, speed, step, out, **how):
        raise typer.Exit(1)


def lift(
    mass: Annotated[float, typer.Option(metavar="KG", help="Of the box.")],
    from_: Annotated[
        str, typer.Option("--from", metavar="H[:D]", help="Height of the hands in m, how far ahead of the ankles.")
    ],
    to: Annotated[str, typer.Option(metavar="H[:D]", help="The same at the end.")],
    stature: Stature = None,
    body_mass: Annotated[float | None, typer.Option(metavar="M", help="Of the person, in kg.")] = None,
    sex: Sex = "male",
    percentile: Percentile = None,
    strength_percentile: StrengthPercentile = 50.0,
    freeze: Freeze = "nothing",
    weak: Weak = None,
    stiff: Stiff = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="box=0.3:0.4:0.25, duration=1.5, lifts_per_minute=4, weights ...: see docs/lifting.md. Repeatable.",
        ),
    ] = None,
    out: Out = Path("run"),
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Predict how a person lifts a box, and what it asks of the low back. Exit code 1 when there is no such lift."""
    from kinecast.human.lifting.command import run

    person = {"stature": stature, "mass": body_mass, "sex": sex, "percentile": percentile}
    person |= {"strength_percentile": strength_percentile, "freeze": freeze}
    how: dict[str, Any] = {"weak": weak or [], "stiff": stiff or [], "settings": settings or []}
    if not run(person, mass, from_, to, out, **how, quiet=quiet, as_json=json_):
        raise typer.Exit(1)
