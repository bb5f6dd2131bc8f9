"""Fixtures for displays: pyplot, missing packages, fake searches, and checks for cut or overlapping text."""

import builtins
from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


@pytest.fixture
def without(monkeypatch):
    """Return a function that makes a package impossible to import."""
    real = builtins.__import__

    def forget(package):
        def missing(name, *args, **kwargs):
            if name.split(".")[0] == package:
                raise ImportError(f"No module named {name!r}")
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", missing)

    return forget


@pytest.fixture
def searched():
    """Return a maker of searches: what a fitted GridSearchCV has of which displays read, with given trials."""

    def make(params, estimator=None, scorers=None, **trials):
        trials = {name: [np.asarray(scores, dtype=float) for scores in each] for name, each in trials.items()}
        shapes = [scores.shape for scores in next(iter(trials.values()))]
        seeds = [np.arange(np.prod(shape)).reshape(shape) + 100 * c for c, shape in enumerate(shapes)]
        results = {"params": params, "seed": seeds, **{f"trial_test_{name}": each for name, each in trials.items()}}
        return SimpleNamespace(cv_results_=results, estimator=estimator, scorer_=scorers or dict.fromkeys(trials))

    return make


@pytest.fixture
def inside():
    """Return a check that nothing of a figure is cut off."""

    def check(figure):
        figure.canvas.draw()
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        return min(box.x0, box.y0, width - box.x1, height - box.y1) >= 0

    return check


@pytest.fixture
def apart():
    """Return a check that no two of some drawn texts overlap."""

    def check(texts):
        boxes = [text.get_window_extent() for text in texts if text.get_text().strip()]
        return not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])

    return check
