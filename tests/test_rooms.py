"""Each room uses only the rooms below it, so that a reader can start at the ground and never look up."""

import ast
from pathlib import Path

import kinecast

SOURCE = Path(kinecast.__file__).parent
GROUND = ("callable_room", "errors", "files", "literature", "schema", "tables", "yaml_text")
ROOMS = ("engine", "mechanism", "dynamics", "equations", "motion", "predict", "simulate", "human", "report", "verify")
ROOMS += ("bench", "doctor", "cli_options", "cli_people", "cli")
# Conveniences of results (`motion.plot()`, `motion.save()`), said where they stand: the room above draws and writes.
LOOKS_UP = {"predict": {"report"}, "human": {"report"}}


def imports(path, deferred):
    """Rooms that a file imports when it is itself imported, or (`deferred`) inside its functions; not for typing."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(n)
        for b in ast.walk(tree)
        if isinstance(b, ast.If) and "TYPE_CHECKING" in ast.dump(b.test)
        for n in ast.walk(b)
    }
    inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in typing_only or (id(node) in inside) != deferred:
            continue
        if (node.module or "").startswith("kinecast."):
            yield node.module.split(".")[1]


def rank(room):
    return -1 if room in GROUND else ROOMS.index(room)


def test_each_room_uses_only_those_below_it():
    wrong = []
    for room in ROOMS:
        files = (SOURCE / room).rglob("*.py") if (SOURCE / room).is_dir() else SOURCE.glob(f"{room}.py")
        for path in files:
            for deferred in (False, True):
                allowed = LOOKS_UP.get(room, set()) if deferred else set()
                for used in set(imports(path, deferred)) - allowed:
                    if rank(used) > rank(room):
                        wrong.append(f"{path.relative_to(SOURCE)} uses {used}")
    assert not wrong


def test_the_engine_knows_no_mechanics():
    used = {
        name
        for path in (SOURCE / "engine").glob("*.py")
        for deferred in (False, True)
        for name in imports(path, deferred)
    }
    assert used <= {"engine", "errors"}
