"""The least that a fit takes, on ten ballots of three items: against scikit-learn's least, `DummyClassifier`.

Run with ``pytest tests/benchmarks -o addopts="--import-mode=importlib"``.
"""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from benchmark_tools import compare
from sklearn.dummy import DummyClassifier

from sklearn_dprank import Borda, DPBorda, LDPPairwise

X = np.array([[0, 1, 2]] * 6 + [[1, 0, 2]] * 4)
Y = np.arange(10) % 2


def fits(estimator, y=None):
    for _ in range(20):
        estimator.fit(X, y)


@pytest.mark.parametrize(("estimator", "most"), [(Borda(), 1.5), (DPBorda(), 3.0), (LDPPairwise(), 12.0)], ids=repr)
def test_a_fit_against_a_dummy(benchmark, estimator, most):
    """Twenty fits, randomness of the operating system included."""
    ours, dummy = partial(fits, estimator), partial(fits, DummyClassifier(), Y)
    compare(benchmark, ours, dummy, at_most=most, rounds=60, clock=process_time)


@pytest.mark.parametrize(
    ("before", "module", "most"), [("", "sklearn_dprank", 0.15), ("numpy, ", "sklearn_dprank.collection", 0.1)]
)
def test_importing(benchmark, before, module, most, tmp_path):
    """The bare package, and devices where NumPy is there; the bytecode is at hand, as where a package is installed."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONPYCACHEPREFIX": str(tmp_path)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    code = f"import {before}time; began = time.process_time(); import {module}; print(time.process_time() - began)"

    def run():
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=True).stdout)

    found = []
    benchmark.pedantic(lambda: found.append(run()), rounds=7, warmup_rounds=1)
    benchmark.extra_info["seconds"] = round(min(found), 3)
    assert min(found) < most
