"""The reproduction of Hay et al. (2017): small settings, known answers, pictures."""

from itertools import permutations

import numpy as np
import pytest
from oracles import seeded
from scipy.stats import chisquare

from sklearn_dprank.ballots.profile import Profile

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


def test_figure_1(example):
    hay = example("plot_hay_2017")
    assert hay.figure_1() == pytest.approx({"OPT": 0.375, "Borda": 0.4, "Quick sort": 0.375})


def test_p_sample_by_rejection_has_the_law_of_the_mechanism(example):
    margins = np.array([[0, 3, -2, 1], [-3, 0, 4, 0], [2, -4, 0, 2], [-1, 0, -2, 0]])
    orders = list(permutations(range(4)))
    costs = [sum(max(0, margins[i, j]) for k, i in enumerate(order) for j in order[:k]) for order in orders]
    sampler, bits = example("plot_hay_2017").InsertionSampler(margins, 0.1), seeded(0)
    draws = [tuple(sampler.draw(bits).tolist()) for _ in range(2000)]
    expected = np.exp(-0.1 * np.array(costs))
    seen = [draws.count(order) for order in orders]
    assert chisquare(seen, 2000 * expected / expected.sum()).pvalue > 1e-3


@pytest.mark.slow
def test_private_mechanisms_are_the_published_ones(example):
    """Lap(m (m - 1) / (2 epsilon)) on Borda scores, half as wide as net wins; Lap(M / epsilon) on a margin."""
    hay = example("plot_hay_2017")
    borda, sort, sampler = hay.private(0.5, 10).values()
    assert [each.privacy_.epsilon for each in (sort.fit([range(10)]), sampler.fit([range(10)]))] == [0.5, 0.5]
    assert borda.fit([range(10)]).privacy_.epsilon <= 0.5
    (rate,) = {price.mechanism.rate for price in borda.plan_for(Profile.from_rankings([range(10)]))[1].prices.values()}
    assert 1 / rate == pytest.approx(2 * 45 / 0.5)
    (price,) = sort.plan_for(Profile.from_rankings([range(10)]))[1].prices.values()
    assert (price.times, 1 / price.mechanism.rate) == (29, pytest.approx(29 / 0.5))
    many = hay.private(0.5, 40)["P-SAMPLE"].fit([range(40)] * 100_000)
    assert (many.privacy_.epsilon, many.consensus_.tolist()) == (0.5, list(range(40)))


@pytest.mark.slow
def test_figure_2(example, tmp_path, is_picture):
    hay, shared = example("plot_hay_2017"), example("_shared")
    votes = shared.mallows(2000, 5, 0.25)
    without, found = hay.real_voters(votes, (0.01, 1.0), 10, 4)
    assert {name: scores.shape for name, scores in found[1.0].items()} == {
        "P-BORDA": (10,),
        "P-SORT": (10,),
        "P-SAMPLE": (10,),
        "P-BORDA-HIST": (4,),
    }
    for name, scores in found[1.0].items():
        assert without["P-SAMPLE"].mean() <= scores.mean() < found[0.01][name].mean()
    wide = shared.Votes("eleven", np.hstack([votes.ballots, votes.ballots + 5, [[10]] * 2000]))
    assert hay.HISTOGRAM not in hay.real_voters(wide, (1.0,), 2)[1][1.0]
    hay.draw_real([(without, dict.fromkeys(hay.EPSILONS, found[1.0]))], [votes], tmp_path)
    assert is_picture(tmp_path / "hay_figure_2.png")
    bars, light = (hay.plt.gcf().axes[0].containers[k].patches[0] for k in (0, 1))
    assert bars.get_height() == pytest.approx(without["P-BORDA"].mean())
    assert light.get_y() + light.get_height() == pytest.approx(found[1.0]["P-BORDA"].mean())
