"""The example of all displays runs, and its pictures say what its data say."""

import runpy
from pathlib import Path

import numpy as np

from sklearn_dprank.metrics import kendall_tau_distance, pairwise_error_rate

SCRIPT = Path(__file__).parents[2] / "examples" / "plot_displays.py"


def test_example(plt, tmp_path, monkeypatch, inside):
    monkeypatch.setattr("sys.argv", [SCRIPT.name, str(tmp_path)])
    made = runpy.run_path(str(SCRIPT))
    pictures = {path.name: path.read_bytes()[:8] for path in tmp_path.iterdir()}
    names = ["margins", "swapped", "consensus", "utility", "excess", "queries"]
    assert pictures == {f"{name}.png": b"\x89PNG\r\n\x1a\n" for name in names}
    assert all(inside(made[name].figure_) for name in names)
    ranks = made["private"].ranks_
    assert len(made["swapped"].opposed) == round(pairwise_error_rate(ranks, made["profile"]) * 36) > 0
    assert len(made["margins"].opposed) == 0
    distance = kendall_tau_distance(made["optimum"].ranks_, ranks, normalize=False)
    assert made["consensus"].n_crossings == distance > 0
    means = {name: errors.mean(axis=1) for name, errors in made["utility"].errors.items()}
    for errors in means.values():  # chance at one end, the optimum at the other
        assert errors[0] > 0.45 and errors[-1] < made["utility"].floor + 0.002
    assert means["DPBorda, K-norm noise"][2] == min(errors[2] for errors in means.values())
    assert max(made["queries"].best.values()) <= 6
    assert np.mean(made["queries"].errors["LDPPairwise, Bradley-Terry"]) < np.mean(
        made["queries"].errors["LDPKwikSort"]
    )
