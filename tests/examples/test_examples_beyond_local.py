"""The example that improves on the local papers: its comparison is right, and the improvement is there."""

import numpy as np
import pytest
from example_tools import means

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture
def beyond(example):
    return example("plot_beyond_local")


@pytest.fixture
def votes(example):
    return example("_shared").mallows(1000, 8, 0.25)


def test_saved_epsilon_known_answers(beyond):
    """An error of 1 / (3 epsilon)^2 needs a third of the epsilon of 1 / epsilon^2. Factors are limited to 16."""
    epsilons = np.array([0.25, 0.5, 1.0, 2.0, 4.0])
    baseline, better = 1 / epsilons[:, None] ** 2, 1 / (3 * epsilons[:, None]) ** 2
    assert beyond.saved(epsilons, baseline, better) == pytest.approx(3)
    assert beyond.saved(epsilons, better, baseline) == pytest.approx(1 / 3)
    assert beyond.saved(epsilons, baseline, baseline / 1e4) == 16
    assert beyond.saved(epsilons, baseline / 1e4, baseline) == 1 / 16


@pytest.mark.slow
def test_local_mechanisms_are_better_than_the_published_one(beyond, votes, tmp_path, capsys, is_picture):
    local = beyond.excesses(beyond.local, votes, (0.5, 2.0), 6)
    averages = {name: means(scores) for name, scores in local.items()}
    assert all(errors[1] < errors[0] for errors in averages.values())
    for name in ("one pair, Bradley-Terry", "adaptive rounds", "PrivUnitG Borda"):
        assert (averages[name] < averages["LDP-KwikSort:RR (published)"]).all(), name
    factors = beyond.report([local], [votes], (0.5, 2.0))
    assert factors["one pair, Bradley-Terry"][0] > 1 and "Bradley-Terry" in capsys.readouterr().out
    beyond.draw(beyond.local, [local], [votes], (0.5, 2.0), "", "local", tmp_path)
    assert is_picture(tmp_path / "local.png")


def test_a_hidden_pair_is_best_with_shuffling(beyond, votes):
    mixed = beyond.excesses(beyond.shuffled, votes, (0.4,), 5)
    averages = {name: means(scores)[0] for name, scores in mixed.items()}
    assert min(averages, key=averages.get) == "hidden pair, Bradley-Terry"
    assert averages["hidden pair, Bradley-Terry"] < averages["assigned pair, Bradley-Terry"] / 2
