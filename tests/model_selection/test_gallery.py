"""The example of a sweep runs, and prints what its search found."""

import numpy as np
import pytest

from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions


@pytest.mark.slow
@pytest.mark.usefixtures("closed_pictures")
def test_example(example, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    made = example("plot_sweep")
    search, votes = made.search, made.votes
    optimum = average_kendall_tau(kemeny_positions(votes), votes)
    means = search.cv_results_["mean_test_score"]
    assert means[-1] == pytest.approx(-optimum)  # Kemeny
    epsilons = np.array([params.get("aggregator__epsilon", np.inf) for params in search.cv_results_["params"]])
    assert search.best_params_["aggregator__epsilon"] == epsilons[means >= means.max() - 0.005].min() < 1
    assert search.privacy_.epsilon == 0
    assert len(made.display.errors) == 5
    assert np.isclose(made.display.floor, optimum)
    printed = capsys.readouterr().out
    assert str(search.best_estimator_[-1].consensus_) in printed
    assert "DPBorda(noise='knorm')" in printed
