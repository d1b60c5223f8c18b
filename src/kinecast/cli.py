"""The command line: thin, one function a command; what is heavy is imported by the command that needs it.

Answers go to stdout (``--json``: as one JSON document), remarks and progress to stderr (``--quiet``: none). Exit
codes: 0 done, 1 the job's answer is no, 2 bad input, which is one line on stderr that says what is wrong, where, and
what would be right.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kinecast import __version__, cli_people
from kinecast.cli_options import Json, Quiet
from kinecast.errors import KinecastError
from kinecast.tables import text_table

if TYPE_CHECKING:
    from kinecast.dynamics.mechanism import Mechanism
    from kinecast.mechanism import Structure


class OneLineErrors(TyperGroup):
    """A group of commands whose every foreseen error is one line on stderr and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command that the arguments name, then exit."""
        kwargs["standalone_mode"] = False
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                code = super().main(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read has read enough
            sys.stdout, code = None, 1  # what is left in it would raise again at exit
        except Exception as error:
            line = _bad_input(error)
            if line is None:
                raise
            print(f"kinecast: {' '.join(line.split())}", file=sys.stderr)
            code = 2
        sys.exit(code or 0)


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Ours in one line like all remarks; those of other libraries with the place that they come from."""
    ours = category.__module__.startswith("kinecast.")
    text = f"kinecast: {message}\n" if ours else warnings.formatwarning(message, category, filename, lineno, line)
    (file or sys.stderr).write(text)


def _bad_input(error: Exception) -> str | None:
    """What to tell the user, or None when the error is ours."""
    if isinstance(error, KinecastError):
        return str(error)
    if isinstance(error, OSError) and error.filename is None:  # a full disk behind stdout
        sys.stdout = None
        return f"the output cannot be written: {(error.strerror or str(error)).lower()}"
    if hasattr(
        error, "format_message"
    ):  # wrong usage: an exception of click, which newer typers carry inside themselves
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        return f"{error.format_message()}{hint}"
    return None


app = typer.Typer(
    cls=OneLineErrors,
    help="Recursive dynamics with exact sensitivities, compiled to SIMD machine code.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Mech = Annotated[
    str,
    typer.Argument(
        metavar="MECH",
        help="A built-in name (see kinecast list), human:STATURE,MASS,SEX[,walking], serialN (a general chain of N "
        "joints) or a file (.yaml, .urdf).",
    ),
]


@app.callback(invoke_without_command=True)
def _entry(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"kinecast {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def list_(quiet: Quiet = False, json_: Json = False) -> None:
    """The built-in mechanisms."""
    from kinecast.mechanism import builtin

    found = [builtin.load(name) for name in builtin.names()]
    rows = [(m.name, m.n, m.mass, m.notes[0] if m.notes else "") for m in found]
    if json_:
        keys = ("name", "coordinates", "mass", "note")
        _print_json([dict(zip(keys, row, strict=True)) for row in rows])
    elif quiet:
        print("\n".join(m.name for m in found))
    else:
        print(text_table(("name", "n", "mass [kg]", ""), rows))


@app.command()
def info(mech: Mech, quiet: Quiet = False, json_: Json = False) -> None:
    """One mechanism as a table: joints, geometry, masses, limits."""
    from kinecast.mechanism import Structure

    structure = _load(Structure, mech)
    if json_:
        _print_json(structure.as_data())
    else:
        print(structure.describe())


@app.command("id")
def inverse_dynamics(
    mech: Mech,
    motion: Annotated[
        Path, typer.Argument(metavar="MOTION.csv", help="Columns t,q.NAME,...,v.NAME,... (or .mot, .sto).")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="OUT.csv", help="Write here, not to stdout.")
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="The formulation to use.")] = "spatial",
    loads: Annotated[bool, typer.Option("--loads", help="Also the force and moment in every joint.")] = False,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Inverse dynamics of a motion file: the motion with the joint torques (or forces) as further columns."""
    from kinecast.motion.files import read_motion
    from kinecast.motion.torques import add_torques

    mechanism = _load_mechanism(mech)
    file = read_motion(motion, mechanism)
    series = file.joint_series(mechanism.coordinates)
    with _working(f"inverse dynamics of {mechanism.name}", quiet):
        result = add_torques(file, series, mechanism, method=method, loads=loads)
    if series.splined and not quiet:
        _remark(f"{motion}: splined from q, as the file has them not: {', '.join(series.splined)}")
    if out is not None:
        result.write(out)
    peaks = [(name, *_peak(series.t, result.numbers(f"tau.{name}"))) for name in mechanism.coordinates]
    if json_:
        summary = {"mechanism": mechanism.name, "method": method, "samples": len(series.t), "splined": series.splined}
        summary["peak"] = {name: {"tau": tau, "t": t} for name, tau, t in peaks}
        _print_json(summary | ({"out": str(out)} if out else {"columns": _columns(result)}))
    elif out is None:
        print(result.text(), end="")
    elif not quiet:
        print(text_table(("coordinate", "peak tau [N m, N]", "at t [s]"), peaks))


@app.command()
def simulate(
    mech: Mech,
    q: Annotated[str, typer.Option("--q", metavar="Q", help="Where it starts: 0.1,-2 or one number for all [rad, m].")],
    until: Annotated[float, typer.Option(metavar="T", help="How long, in s.")],
    v: Annotated[str, typer.Option("--v", metavar="V", help="How fast it starts, like --q.")] = "0",
    motion: Annotated[
        Path | None, typer.Option(metavar="TORQUES.csv", help="Its tau.NAME columns act; without: free motion.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="OUT.csv", help="Write here, not to stdout.")
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="The formulation to use.")] = "spatial",
    integrator: Annotated[
        str, typer.Option(metavar="NAME", help="DOP853, RK45, LSODA, Radau; RK4, semi_implicit_euler with --step.")
    ] = "DOP853",
    rtol: Annotated[float | None, typer.Option(metavar="R", help="Relative error of a step; else 1e-9.")] = None,
    step: Annotated[float | None, typer.Option(metavar="H", help="Length of steps of a fixed length, in s.")] = None,
    samples: Annotated[int, typer.Option(metavar="N", help="How many rows, evenly spaced.")] = 201,
    limits: Annotated[
        str, typer.Option(metavar="WHAT", help="Where a joint leaves its range: report, stop or ignore.")
    ] = "report",
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Forward dynamics in time: the motion from an initial state. Exit code 1 when its end was not reached."""
    from kinecast.simulate.command import run

    how = {"until": until, "method": method, "integrator": integrator, "rtol": rtol, "step": step}
    how |= {"samples": samples, "limits": limits}
    if not run(_load_mechanism(mech), q, v, motion, out, quiet=quiet, as_json=json_, **how):
        raise typer.Exit(1)


@app.command()
def ops(mech: Mech, quiet: Quiet = False, json_: Json = False) -> None:
    """Operations that each algorithm needs for one sample, by every method, beside those that the literature needs."""
    from kinecast import literature
    from kinecast.dynamics.counting import operation_counts

    mechanism = _load_mechanism(mech)
    with _working(f"counting the operations of {mechanism.name}", quiet) as say:
        counted = operation_counts(mechanism, lambda what, k, of: say(f"counting {what} ({k} of {of})"))
    columns = ("algorithm", "method", "multiplications", "additions", "divisions", "trig")
    measured = [(*which, c.multiplications, c.additions, c.divisions, c.trig) for which, c in counted.counts.items()]
    published = [
        (algorithm, count.source, *count.at(mechanism.n), *count.formula())
        for algorithm, counts in literature.BY_ALGORITHM.items()
        for count in counts
    ]
    formulas = ("published, general chain", "source", "multiplications", "additions", "formula", "formula (additions)")
    if json_:
        refused = [{"algorithm": a, "method": m, "why": why} for (a, m), why in counted.refused.items()]
        answer: dict[str, Any] = {"mechanism": mechanism.name, "n": mechanism.n, "refused": refused}
        tables: dict[str, tuple[Any, Any]] = {"counts": (columns, measured), "published": (formulas, published)}
        _print_json(
            answer | {key: [dict(zip(h, row, strict=True)) for row in rows] for key, (h, rows) in tables.items()}
        )
        return
    print(text_table(columns, measured))
    if not quiet:
        print(f"\n{text_table(formulas, published)}")
        _remark(
            f"published: {mechanism.n} revolute joints of general geometry; divisions count as multiplications; "
            "forward dynamics but Nasser's takes the bias torques as given"
        )
        for why in dict.fromkeys(counted.refused.values()):
            _remark(f"not counted: {why}")


@app.command()
def equations(
    mech: Mech,
    latex: Annotated[bool, typer.Option("--latex", help="For a paper: an align environment.")] = False,
    symbols: Annotated[
        bool, typer.Option("--symbols", help="Letters for lengths, masses, moments of inertia and gravity.")
    ] = False,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Equations of motion of a small mechanism in closed form (needs SymPy)."""
    from kinecast.equations import derive
    from kinecast.mechanism import Structure

    structure = _load(Structure, mech)
    with _working(f"deriving the equations of {structure.name}", quiet):
        found = derive(structure, symbols=symbols)
    if json_:
        _print_json(found.as_data())
    else:
        print(found.latex() if latex else found.text())


@app.command()
def verify(
    groups: Annotated[
        list[str] | None, typer.Argument(metavar="[GROUP]...", help="Only these groups of checks; without: all.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Leave the examples' figures here.")
    ] = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Worked examples, closed forms and tables of the literature computed again. Exit code 1 when one fails."""
    from kinecast.verify.command import verify as run

    if not run(groups or (), out, quiet=quiet, as_json=json_):
        raise typer.Exit(1)


@app.command()
def bench(
    peers: Annotated[bool, typer.Option("--peers", help="Beside Pinocchio and MuJoCo, where installed.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer models and shorter measurements.")] = False,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Speeds on this machine."""
    from dataclasses import asdict

    from kinecast.bench import run_bench

    say = (lambda text: None) if quiet else _remark
    rows = [asdict(row) for row in run_bench(peers=peers, quick=quick, say=say)]
    if json_:
        _print_json(rows)
    else:
        header = list(rows[0]) if rows else ["model", "algorithm", "batch", "us", "peer", "peer_us", "ratio"]
        print(text_table(header, ([row[key] for key in header] for row in rows)))


@app.command()
def predict(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.yaml", help="What to predict: see docs/predict.md.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="The folder to leave.")] = Path("run"),
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Predict a motion: a folder with the motion, the result, a report. Exit code 1 when there is none."""
    from kinecast.report.command import predict as run

    if not run(problem, out, quiet=quiet, as_json=json_):
        raise typer.Exit(1)


app.command()(cli_people.walk)
app.command()(cli_people.lift)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that kinecast predict left.")],
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """The report of a run folder again."""
    from kinecast.report.command import report as run

    run(folder, quiet=quiet, as_json=json_)


@app.command()
def doctor(quiet: Quiet = False, json_: Json = False) -> None:
    """What this installation is made of, and what is missing. Exit code 1 when something needed does not work."""
    from dataclasses import asdict

    from kinecast.doctor import examine

    findings = examine()
    ill = [finding for finding in findings if finding.state == "broken"]
    if json_:
        _print_json({"healthy": not ill, "findings": [asdict(finding) for finding in findings]})
    else:
        shown = ill if quiet else findings
        width = max(len(f.topic) for f in findings) + 2
        print("\n".join(f"{f.state:9}{f.topic:{width}}{f.text}" for f in shown), end="\n" if shown else "")
    if ill:
        raise typer.Exit(1)


def _load(kind: type[Structure], source: str) -> Any:
    if chain := re.fullmatch(r"serial(\d+)", source):
        return kind.serial(int(chain[1]))
    if source.startswith("human:"):
        from kinecast.human.skeleton import from_text

        return kind.of(from_text(source.removeprefix("human:")))
    return kind.load(source)


def _load_mechanism(source: str) -> Mechanism:
    from kinecast.dynamics.mechanism import Mechanism

    mechanism: Mechanism = _load(Mechanism, source)
    return mechanism


def _peak(t: Any, tau: Any) -> tuple[float, float]:
    """The value furthest from zero, and its time."""
    at = abs(tau).argmax()
    return float(tau[at]), float(t[at])


def _columns(file: Any) -> dict[str, list[Any]]:
    """The file's columns for JSON: numbers where every cell is one, else text."""
    columns: dict[str, list[Any]] = {}
    for name, cells in zip(file.header, zip(*file.cells, strict=True), strict=True):
        try:
            columns[name] = file.numbers(name).tolist()
        except KinecastError:
            columns[name] = list(cells)
    return columns


def _print_json(answer: Any) -> None:
    print(json.dumps(answer, indent=1, ensure_ascii=False, default=list))


def _remark(line: str) -> None:
    print(f"kinecast: {line}", file=sys.stderr)


@contextmanager
def _working(what: str, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Say on a terminal's stderr that work is going on; what it yields says how far it has come."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:
        yield lambda text: status.update(text)


def main() -> None:
    """The console script ``kinecast``."""
    app(prog_name="kinecast")
