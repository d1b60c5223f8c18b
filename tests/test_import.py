"""``import kinecast`` is light, and offers by name what it does not import."""

import subprocess
import sys

import pytest

import kinecast


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_importing_kinecast_imports_nothing_heavy():
    heavy = "{'casadi', 'llvmlite', 'pydantic', 'yaml', 'matplotlib', 'typer', 'rich', 'scipy'}"
    done = run_python(f"import kinecast, sys; print(sorted({heavy} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


def test_importing_kinecast_needs_no_working_directory_and_warns_of_nothing():
    done = run_python("import warnings; warnings.simplefilter('error'); import kinecast; print(kinecast.__version__)")
    assert (done.stdout.strip(), done.stderr) == (kinecast.__version__, "")


@pytest.mark.parametrize("name", kinecast.__all__)
def test_every_public_name_is_there(name):
    assert getattr(kinecast, name) is not None
    assert name in dir(kinecast)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'kinecast' has no attribute 'laod'"):
        kinecast.laod  # noqa: B018  (the access is the test)


@pytest.mark.parametrize("imported_before", ["", "import kinecast.{room}.{part}; "])
@pytest.mark.parametrize(
    ("room", "part", "parameter"), [("human", "skeleton", "stature"), ("simulate", "result", "until")]
)
def test_a_room_can_be_called_whatever_of_it_was_imported_before(imported_before, room, part, parameter):
    first = imported_before.format(room=room, part=part)
    shown = f"print('{parameter}' in inspect.signature(kinecast.{room}).parameters)"
    done = run_python(f"import inspect, kinecast; {first}{shown}")
    assert done.stdout == "True\n", done.stderr
