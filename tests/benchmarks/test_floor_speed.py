"""The least that a fit takes, on ten ballots of three items: against scikit-learn's least, `DummyClassifier`.

Run with ``pytest tests/benchmarks -o addopts="--import-mode=importlib"``.
"""

import os
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from sklearn_dprank import Borda, DPBorda, LDPPairwise

X = np.array([[0, 1, 2]] * 6 + [[1, 0, 2]] * 4)
Y = np.arange(10) % 2
IMPORT = "from time import process_time as now; began = now(); import sklearn_dprank; print(now() - began)"


def seconds(estimator, y=None):
    """Return the processor time of twenty fits: other work on the machine counts little."""
    began = process_time()
    for _ in range(20):
        estimator.fit(X, y)
    return process_time() - began


@pytest.mark.parametrize(("estimator", "most"), [(Borda(), 1.5), (DPBorda(), 3.0), (LDPPairwise(), 12.0)], ids=repr)
def test_a_fit_against_a_dummy(benchmark, estimator, most):
    """Randomness of the operating system included."""
    dummy = DummyClassifier()
    benchmark(estimator.fit, X)
    ratio = float(np.median([seconds(estimator) / seconds(dummy, Y) for _ in range(60)]))
    benchmark.extra_info["times_a_dummy"] = round(ratio, 2)
    assert ratio <= most


def test_importing_the_bare_package(benchmark):
    def run():
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        return float(subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, env=env, check=True).stdout)

    found = []
    benchmark.pedantic(lambda: found.append(run()), rounds=5, warmup_rounds=1)
    benchmark.extra_info["seconds"] = round(min(found), 3)
    assert min(found) < 0.15
