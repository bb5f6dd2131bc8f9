"""Short texts for the candidates of a search, for legends."""

from inspect import isfunction, signature

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline


def texts_of(params, name=None):
    """Return the parameters of a candidate as texts, sorted, without the parameter `name`."""
    # A value that a nested parameter overrides is left out of the text of the whole.
    return {key: _text(params[key], _inside(key, params)) for key in sorted(params) if key != name}


def _text(value, without):
    """Return the text of a parameter of the grid; a function is shown by its name."""
    return _Object(value.__name__) if isfunction(value) else text_of(value, without)


def distinct(groups, wholes):
    """Return distinct labels: for each group of parameters its differences from the others, or its text in `wholes`."""
    names = list(dict.fromkeys(name for group in groups for name in group))
    same = {name for name in names if all(group.get(name) == groups[0].get(name) for group in groups)}
    last = [name.rpartition("__")[2] for name in names]
    short = {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}
    told = [{name: text for name, text in group.items() if name not in same} for group in groups]
    labels = [", ".join(_part(short[name], text) for name, text in group.items()) for group in told]
    full = [", ".join(f"{name}={text}" for name, text in group.items()) for group in told]
    labels = full if len(set(full)) > len(set(labels)) else labels
    labels = [label or whole for label, whole in zip(labels, wholes, strict=True)]
    return [f"{label} ({k})" if label in labels[:k] else label for k, label in enumerate(labels)]


def _part(name, text):
    """Return one part of a label; an estimator, rule, channel or function needs no parameter name."""
    return text if isinstance(text, _Object) else f"{name}={text}"


class _Object(str):
    """Text of an estimator, rule, channel or function."""


def text_of(value, without=()):
    """Return a short text of a parameter's value; values with equal texts count as equal.

    An estimator, rule or channel is shown as its class with the changed parameters, without its seed and the parameters
    in `without` (nested ones as in ``set_params``).

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> text_of(DPBorda()), text_of(DPBorda(noise="knorm")), text_of(0.5), text_of("kemeny")
    ('DPBorda', 'DPBorda(noise=knorm)', '0.5', 'kemeny')
    """
    if isinstance(value, Pipeline):
        return _Object(" | ".join(text_of(step, _inside(name, without)) for name, step in value.steps))
    if isinstance(value, BaseEstimator):
        constructor = signature(type(value)).parameters
        told = {name: inner for name, inner in value.get_params(deep=False).items() if name not in without}
        told.pop("random_state", None)
        texts = {name: text_of(inner, _inside(name, without)) for name, inner in told.items()}
        changed = [f"{name}={text}" for name, text in texts.items() if text != text_of(constructor[name].default)]
        return _Object(type(value).__name__ + (f"({', '.join(changed)})" if changed else ""))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, type):
        return value.__name__
    return " ".join((value if isinstance(value, str) else repr(value)).split())


def _inside(name, paths):
    """Return the paths that begin with a parameter, without that beginning."""
    return {path.removeprefix(f"{name}__") for path in paths if path.startswith(f"{name}__")}
