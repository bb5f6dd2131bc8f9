"""The example of a sweep runs, and prints what its search found."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions

SCRIPT = Path(__file__).parents[2] / "examples" / "plot_sweep.py"


@pytest.mark.slow
def test_example(monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pandas")
    plt.close("all")  # other tests may have left figures open
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.extend(plt.get_fignums()))
    made = runpy.run_path(str(SCRIPT))
    assert [made["display"].figure_.number] == shown
    plt.close("all")
    search, votes = made["search"], made["votes"]
    optimum = average_kendall_tau(kemeny_positions(votes), votes)
    means = search.cv_results_["mean_test_score"]
    assert means[-1] == pytest.approx(-optimum)  # Kemeny
    epsilons = np.array([params.get("aggregator__epsilon", np.inf) for params in search.cv_results_["params"]])
    assert search.best_params_["aggregator__epsilon"] == epsilons[means >= means.max() - 0.005].min() < 1
    assert search.privacy_.epsilon == 0
    lines = made["display"].errors
    assert len(lines) == 5
    assert np.isclose(made["display"].floor, optimum)
    printed = capsys.readouterr().out
    assert str(search.best_estimator_[-1].consensus_) in printed
    assert "DPBorda(noise='knorm')" in printed
