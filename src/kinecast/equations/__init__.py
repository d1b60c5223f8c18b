"""Equations of motion of small mechanisms in closed form. Needs SymPy, the extra `equations`.

Example::

    print(derive(kinecast.load("planar2")).text())
    print(derive(kinecast.load("planar3"), symbols=True).latex())
"""

from kinecast.errors import NotSupportedError

try:
    import sympy  # noqa: F401
except ModuleNotFoundError:
    raise NotSupportedError(
        "closed-form equations need SymPy, which is not installed; pip install 'kinecast[equations]'"
    ) from None

from kinecast.equations.written import Equations, derive

__all__ = ["Equations", "derive"]
