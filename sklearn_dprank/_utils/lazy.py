"""Packages whose public names are loaded when they are first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    Parameters
    ----------
    package : str
        Name of the package.
    homes : dict of {str: str}
        For each public name, the module below the package that defines it.
    """

    def __getattr__(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    def __dir__():
        return sorted([*homes, "__all__"])  # without which Sphinx would list what is defined here only: nothing

    return __getattr__, __dir__
