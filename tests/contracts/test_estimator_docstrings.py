"""Docstrings and annotations of every public estimator agree with its parameters and fitted attributes."""

import inspect
import re
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest
from docstring_tools import choices, entries
from every_estimator import ESTIMATORS, FACTS, FITTED, NAMES, SECRETS, X, every_class, seeded
from numpy.typing import NDArray

from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.channels.base import RankAggregator


def documented(docstring, section):
    """The names that a section of a numpydoc docstring documents, in order."""
    return list(entries(docstring, section))


@every_class
def test_docstring_of_the_class(cls):
    doc = inspect.cleandoc(cls.__doc__)
    assert documented(doc, "Parameters") == list(inspect.signature(cls).parameters)
    fitted = {name for name in vars(seeded(cls()).fit(pd.DataFrame(X, columns=NAMES))) if name.endswith("_")}
    assert set(documented(doc, "Attributes")) >= fitted
    assert set(documented(doc, "Attributes")) <= FITTED | FACTS | SECRETS
    assert ">>> " in doc
    for section, text in re.findall(r"^(\w.*)\n(-{3,})$", doc, flags=re.M):
        assert len(section) == len(text), section
    for name, default in [(n, p.default) for n, p in inspect.signature(cls).parameters.items()]:
        line = next(line for line in doc.splitlines() if re.match(rf"{name} : ", line))
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        stated = line.rpartition("default=")[2]
        assert stated == shown or float(stated) == default, line


def is_a(value, hint):
    """Tell whether a value is of an annotated type; of arrays the kind of entries too."""
    origin, args = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # numpy's alias has a name of its own where Python has such aliases
        return is_a(value, origin.__value__[args])
    if origin is np.ndarray:
        (kind,) = get_args(args[1])
        return isinstance(value, np.ndarray) and (kind is Any or value.dtype == kind)
    if origin is dict:
        return isinstance(value, dict) and all(is_a(k, args[0]) and is_a(v, args[1]) for k, v in value.items())
    return type(value) in args if origin is UnionType else type(value) is hint


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_fitted_attributes_are_declared_with_their_types(estimator):
    hints = get_type_hints(type(estimator))
    hints["ranks_"] = NDArray[np.int64]  # declared as Any, because it may be a Series of pandas
    assert not [name for name in hints if name.endswith("_") and hasattr(estimator, name)]  # declared, not given
    fitted = {name: value for name, value in vars(seeded(estimator).fit(X)).items() if name.endswith("_")}
    assert fitted.keys() <= hints.keys()
    for name, value in fitted.items():
        assert is_a(value, hints[name]), f"{name} = {value!r} is no {hints[name]}"


@every_class
def test_annotated_choices_are_those_that_fit_accepts(cls):
    hints = get_type_hints(cls.__init__) if cls.__init__ is not object.__init__ else {}
    for name, hint in hints.items():
        for option in choices(hint):
            try:
                cls().set_params(**{name: option}).plan_for(Shape(3, 100))
            except ValueError as error:  # another parameter may have to follow, such as a delta for Gaussian noise
                assert not str(error).startswith(f"{name} must")


@pytest.mark.parametrize(
    "method",
    [m for name, m in inspect.getmembers(RankAggregator) if not name.startswith("_") and inspect.isfunction(m)],
)
def test_docstrings_of_methods(method):
    if method.__module__.startswith("sklearn_dprank"):
        parameters = [p for p in inspect.signature(method).parameters if p not in ("self", "unknown")]
        assert documented(inspect.getdoc(method), "Parameters") == parameters
