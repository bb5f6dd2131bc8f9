"""A name with an underscore belongs to its module: no other one imports it or calls it."""

import ast
from pathlib import Path

import pytest

import sklearn_dprank

ROOT = Path(sklearn_dprank.__file__).parent
#: The modules that may use what scikit-learn keeps to itself, and what.
MAY = {"channels/base.py": {"_fit_context"}, "_utils/estimators.py": {"_fit_context"}}
#: The package that every module may import from.
SHARED = "_utils"
#: Public, for all their underscores: methods of every named tuple.
NAMED_TUPLE = {"_asdict", "_replace", "_fields", "_make"}


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def own_names(tree):
    """Names with an underscore that a module defines, wherever in it: functions, classes, variables, attributes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            names.add(node.attr)
    return names


def is_own(value):
    """Whether this is `self`, `cls` or `super()`: what a class inherits is its own."""
    called = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"
    return called or (isinstance(value, ast.Name) and value.id in ("self", "cls"))


def imported(node, package):
    """What one import statement asks for, as absolute dotted names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    home = package[: len(package) - node.level + 1] if node.level else ()
    module = ".".join([*home, *(node.module.split(".") if node.module else [])])
    return [f"{module}.{alias.name}" for alias in node.names]


def is_reached_into(target, package, modules):
    """Whether an import goes past an underscore: a module's, from outside its package, or any other name's."""
    parts = target.split(".")
    for k, part in enumerate(parts):
        if is_private(part) and parts[:k] + [part] != ["sklearn_dprank", SHARED]:
            inside = tuple(parts[:k]) == package[:k]
            if not (inside and ".".join(parts[: k + 1]) in modules):
                return True
    return False


def breaches(source, package, modules, may=()):
    """Line and name of everything that belongs to another module."""
    tree = ast.parse(source)
    own = own_names(tree) | NAMED_TUPLE
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in imported(node, package):
                if is_reached_into(target, package, modules) and not any(name in target for name in may):
                    yield node.lineno, target
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if not is_own(node.value) and node.attr not in own:
                yield node.lineno, node.attr


def package_of(path):
    return ("sklearn_dprank", *path.relative_to(ROOT).parent.parts)


PATHS = sorted(ROOT.rglob("*.py"))
MODULES = {".".join((*package_of(path), path.stem)) for path in PATHS}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_reaches_into_another(path):
    may = MAY.get(str(path.relative_to(ROOT)), ())
    assert list(breaches(path.read_text(), package_of(path), MODULES, may)) == []


PLANTED = [
    ("from .trials import _task", "sklearn_dprank.model_selection.trials._task"),
    ("from ..privacy.rounding import _largest", "sklearn_dprank.privacy.rounding._largest"),
    ("from .._utils.checks import _shown", "sklearn_dprank._utils.checks._shown"),
    ("from sklearn.utils._tags import Tags", "sklearn.utils._tags.Tags"),
    ("import sklearn_dprank.plotting._style", "sklearn_dprank.plotting._style"),
    ("from . import splits\nsplits._split(X, 3)", "_split"),
    ("def f(estimator):\n    return estimator._compose()", "_compose"),
    ("profile = Profile._from_valid(X)", "_from_valid"),
]


@pytest.mark.parametrize(("source", "name"), PLANTED)
def test_a_breach_would_be_seen(source, name):
    assert [found for _, found in breaches(source, ("sklearn_dprank", "model_selection"), MODULES)] == [name]


@pytest.mark.parametrize(
    "source",
    [
        "from .._utils.lazy import lazily",
        "from __future__ import annotations",
        "class A(B):\n    def f(self):\n        return self._g() + super()._g()",
        "def f(a):\n    return a._g\nclass A:\n    _g = 1",
        "row = row._replace(x=1)",
    ],
)
def test_what_is_one_s_own_is_no_breach(source):
    assert list(breaches(source, ("sklearn_dprank", "model_selection"), MODULES)) == []
