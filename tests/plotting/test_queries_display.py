"""`QueryCountDisplay`: errors from the trials of `cross_validate`, the best number of questions, and axis ticks."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_dprank import Aggregator, LDPKwikSort, LDPPairwise, LDPQuickSort
from sklearn_dprank.channels import Local
from sklearn_dprank.collection import RandomizedResponse
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.model_selection.parameters import child_seeds
from sklearn_dprank.plotting import QueryCountDisplay

X = make_mallows(80, 4, 0.7, random_state=0)
NAN = float("nan")


def test_values():
    mechanisms = {
        "KwikSort": LDPKwikSort(epsilon=4.0),
        "quicksort": LDPQuickSort(epsilon=4.0),
        "composed": Aggregator(Local(4.0, RandomizedResponse(1)), rule="borda"),
    }
    display = QueryCountDisplay.from_estimators(mechanisms, X, n_queries=[1, 3], n_trials=3, random_state=0)
    seeds = child_seeds(0, (3, 2)).tolist()
    for (name, estimator), own in zip(mechanisms.items(), seeds, strict=True):
        parameter = "channel__randomizer__n_queries" if name == "composed" else "n_queries"
        for row, count, seed in zip(display.errors[name], [1, 3], own, strict=True):
            candidate = clone(estimator).set_params(**{parameter: count})
            trials = cross_validate(candidate, X, n_trials=3, random_state=seed)
            np.testing.assert_array_equal(row, -trials["test_score"])
    assert display.n_queries.tolist() == [1, 3]
    assert display.floor == average_kendall_tau(kemeny_positions(X), X)
    assert display.ceiling == 0.5


@pytest.mark.slow
def test_best_is_marked(plt):
    """The least mean, the smaller K where two are equal; on the line, in the legend, and as a value."""
    errors = {"a": [[0.4, 0.4], [0.1, 0.3], [0.2, 0.2]], "b": [[0.3, NAN], [NAN, NAN], [0.2, 0.2]]}
    display = QueryCountDisplay([1, 2, 5], errors, floor=0.05).plot(excess=False)
    assert display.best == {"a": 2, "b": 5}
    first, second, floor, ceiling, *_ = display.ax_.get_lines()
    (rings,) = [line for line in display.ax_.get_lines() if line.get_label() == "_ring"]
    assert (first.get_label(), second.get_label()) == ("a (best K = 2)", "b (best K = 5)")
    assert first.get_xdata().tolist() == [1, 2, 5] and second.get_xdata().tolist() == [1, 5]
    np.testing.assert_allclose(first.get_ydata(), [0.4, 0.2, 0.2])
    assert (set(floor.get_ydata()), set(ceiling.get_ydata())) == ({0.05}, {0.5})
    np.testing.assert_allclose(rings.get_data(), [[2, 5], [0.2, 0.2]])
    assert rings.get_markersize() > first.get_markersize()
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["a (best K = 2)", "b (best K = 5)", "given floor (not private)", "random ranking"]
    assert display.ax_.get_ylabel() == "average Kendall tau distance\n(not private)"
    display.plot()
    assert display.ax_.get_ylabel() == "excess over the given floor\n(% of pairs, not private)"
    (rings,) = [line for line in display.ax_.get_lines() if line.get_label() == "_ring"]
    np.testing.assert_allclose(rings.get_ydata(), 0.15)


@pytest.mark.parametrize(("counts", "scale"), [([1, 2, 3, 4], "linear"), ([1, 2, 5, 10], "log"), (range(1, 41), "log")])
def test_ticks_are_whole_numbers(plt, apart, counts, scale):
    display = QueryCountDisplay(counts, {"a": np.full((len(counts), 2), 0.3)}).plot()
    assert display.ax_.get_xscale() == scale
    display.figure_.canvas.draw()
    low, high = display.ax_.get_xlim()
    labels = [text.get_text() for text in display.ax_.get_xticklabels() if low <= text.get_position()[0] <= high]
    assert set(map(int, labels)) <= set(counts) and len(labels) >= 4
    assert apart(display.ax_.get_xticklabels())


def test_counts_must_be_numbers(searched):
    search = searched([{"n_queries": None}], LDPPairwise(), score=[[[-0.3]]])
    with pytest.raises(ValueError, match=r"n_queries must be a positive number to be drawn, got None.*out of the grid"):
        QueryCountDisplay.from_search(search)
    for counts in ([None, 1], [1.5], [0]):
        with pytest.raises(ValueError, match="n_queries must be a list of positive whole numbers, each a place on the"):
            QueryCountDisplay.from_estimators({"a": LDPPairwise()}, [[0, 1, 2]] * 9, n_queries=counts)
    drawn = QueryCountDisplay.from_estimators({"a": LDPPairwise()}, [[0, 1, 2]] * 9, n_queries=np.array([2.0, 1.0]))
    assert drawn.errors["a"].shape == (2, 10)
    search = searched([{"epsilon": 1.0}], LDPPairwise(), score=[[[-0.3]]])
    with pytest.raises(ValueError, match="no candidate of the search has a parameter 'n_queries'"):
        QueryCountDisplay.from_search(search)
