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
