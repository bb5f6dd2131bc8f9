"""Shared fixtures and settings: Hypothesis profile, example modules, SIGINT handling and pictures."""

import builtins
import importlib.util
import os
import re
import runpy
import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

import sklearn_dprank.model_selection  # noqa: F401  pytest runs modules twice if it imports their package first
from sklearn_dprank.orders import kemeny

if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the processors; set before anything imports NumPy
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

# A busy machine is not a failure, and neither is what a change has nothing to do with.
settings.register_profile("sklearn_dprank", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sklearn_dprank")

FOLDERS = Path(__file__).parents[1] / "examples", Path(__file__).with_name("benchmarks")


def script(name):
    """Return the path of an example, or of a script that measures."""
    (path,) = (path for folder in FOLDERS if (path := folder / f"{name}.py").exists())
    return path


@pytest.fixture(scope="module")
def example():
    """Return a loader of example modules, what they share importable, pictures not shown, no real data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "agg")
        patch.delenv("SKLEARN_DPRANK_DATA", raising=False)
        for folder in FOLDERS:
            patch.syspath_prepend(str(folder))

        def load(name):
            if name.startswith("_"):
                return importlib.import_module(name)
            spec = importlib.util.spec_from_file_location(name, script(name))
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module

        yield load
        sys.modules.pop("_shared", None)


@pytest.fixture
def interruptible():
    """Handle SIGINT as in a terminal, here and in child processes: shells start background jobs with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def one_thread():
    """Let BLAS use one thread: small matrices are slower on several."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def closed_pictures():
    """Close the pictures that a test drew."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def is_picture():
    """Return a check that a file is a PNG picture."""
    return lambda path: path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def verdicts(example, monkeypatch, capsys):
    """Return a function that runs an example as from a shell, and returns its verdict on each claim, {claim: words}."""

    def run(name, *arguments):
        monkeypatch.setattr("sys.argv", [name, *arguments])
        example("_shared")
        runpy.run_path(str(script(name)), run_name="__main__")
        lines = capsys.readouterr().out.splitlines()
        after = zip(lines, [*lines[1:], ""], strict=True)
        return {
            said.removeprefix("* "): re.split("[,:]", words.strip())[0] for said, words in after if said[:2] == "* "
        }

    return run


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
    """Return a maker of searches: the attributes of a fitted GridSearchCV that displays read, with given trials."""

    def make(params, estimator=None, scorers=None, **trials):
        trials = {name: [np.asarray(scores, dtype=float) for scores in each] for name, each in trials.items()}
        shapes = [scores.shape for scores in next(iter(trials.values()))]
        seeds = [np.arange(np.prod(shape)).reshape(shape) + 100 * c for c, shape in enumerate(shapes)]
        results = {"params": params, "seed": seeds, **{f"trial_test_{name}": each for name, each in trials.items()}}
        return SimpleNamespace(cv_results_=results, estimator=estimator, scorer_=scorers or dict.fromkeys(trials))

    return make


@pytest.fixture
def browser():
    """Chromium, without pages."""
    browsers = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed, and so no browser votes")
    with browsers.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=["Relaxation", "WarmRelaxation"], ids=["scipy", "highspy"])
def solver(request, monkeypatch):
    """Each of the two solvers of linear programs in turn; without this, highspy would be used if it is installed."""
    if request.param == "WarmRelaxation":
        pytest.importorskip("highspy", reason="needs the extra solver")
    monkeypatch.setattr(kemeny, "relaxation", getattr(kemeny, request.param))
    return kemeny.relaxation
