"""The example of all displays runs, and its pictures say what its data say."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from sklearn_dprank.metrics import kendall_tau_distance, pairwise_error_rate

SCRIPT = Path(__file__).parents[2] / "examples" / "plot_displays.py"


@pytest.mark.slow
def test_example(plt, monkeypatch, inside):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.extend(plt.get_fignums()))
    made = runpy.run_path(str(SCRIPT))
    displays = [
        made[name] for name in ("margins", "swapped", "consensus", "certain", "utility", "distances", "queries")
    ]
    assert [display.figure_.number for display in displays] == shown
    assert all(inside(display.figure_) for display in displays)
    ranks = made["private"].ranks_
    assert len(made["swapped"].opposed) == round(pairwise_error_rate(ranks, made["profile"]) * 36) > 0
    assert len(made["margins"].opposed) == 0
    distance = kendall_tau_distance(made["optimum"].ranks_, ranks, normalize=False)
    assert made["consensus"].n_crossings == distance > 0
    exact = np.argsort(np.argsort(-made["profile"].net_wins, kind="stable"), kind="stable")
    assert (made["private"].rank_intervals() == [0, 8]).all()
    intervals = made["certain"].intervals
    assert ((intervals[:, 0] <= exact) & (exact <= intervals[:, 1])).all()
    means = {name: errors.mean(axis=1) for name, errors in made["utility"].errors.items()}
    for errors in means.values():  # chance at one end, the optimum at the other
        assert errors[0] > 0.45 and errors[-1] < made["utility"].floor + 0.002
    assert means["DPBorda, K-norm noise"][2] == min(errors[2] for errors in means.values())
    assert max(made["queries"].best.values()) <= 6
    assert np.mean(made["queries"].errors["LDPPairwise, Bradley-Terry"]) < np.mean(
        made["queries"].errors["LDPKwikSort"]
    )
