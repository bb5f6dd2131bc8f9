"""`RankIntervalDisplay` draws the intervals of the release, and names the voters that they refer to."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_dprank import Borda, DPBorda, DPBradleyTerry, DPPairwise, LDPBorda, LDPPairwise, ShufflePairwise
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.plotting import RankIntervalDisplay

pd = pytest.importorskip("pandas")
NAMES = ["tea", "coffee", "water", "juice", "milk"]
X = pd.DataFrame(make_mallows(900, 5, 0.8, random_state=1), columns=NAMES)


def bars(display):
    """(best, worst) of every bar, from the top, 1 is best."""
    (lines,) = display.ax_.collections
    segments = sorted(lines.get_segments(), key=lambda segment: segment[0][1])
    return [(round(a[0]), round(b[0])) for a, b in segments]


def texts(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def test_drawn_bars(plt, inside):
    display = RankIntervalDisplay([[1, 2], [0, 0], [1, 2]], [2, 0, 1], ["tea", "milk", "beer"], name="ours").plot()
    assert bars(display) == [(1, 1), (2, 3), (2, 3)]
    assert texts(display) == ["milk", "beer", "tea"]
    dots = next(line for line in display.ax_.get_lines() if line.get_marker() == "o")
    assert dots.get_xdata().tolist() == [1, 2, 3]
    assert dots.get_ydata().tolist() == [0, 1, 2]
    low, high = display.ax_.get_ylim()
    assert low > high  # the best on top
    assert display.ax_.get_title() == "ours"
    assert inside(display.figure_)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [DPBorda(0.2), DPPairwise(1.0), LDPPairwise(3.0)], ids=repr)
def test_of_an_estimator(plt, inside, apart, estimator):
    fitted = estimator.set_params(random_state=0).fit(X)
    display = RankIntervalDisplay.from_estimator(fitted, level=0.8).plot()
    expected = 1 + fitted.rank_intervals(0.8)[np.argsort(fitted.ranks_)]
    assert bars(display) == [tuple(row) for row in expected.tolist()]
    assert texts(display) == fitted.consensus_.tolist()
    words = display.ax_.get_xlabel() + display.ax_.get_title() + display.ax_.get_legend().get_texts()[0].get_text()
    assert fitted.noise_.whose() in words
    assert ("net wins" in words) == (fitted.noise_.on == "scores")
    assert ("majorities" in words) == (fitted.noise_.on == "margins")
    assert "simulation only" in words and "80 %: all at once" in words
    assert inside(display.figure_)
    legend = display.ax_.get_legend().get_texts()
    assert apart([display.ax_.xaxis.label, *legend, *display.ax_.get_xticklabels()])


@pytest.mark.parametrize(
    ("n_rounds", "of", "words"),
    [
        (1, None, ["net wins per comparison", "of these voters, not of a population"]),
        (1, "population", ["net wins per comparison", "of a population, approximately"]),
        (None, None, ["by strength, if all kinds of items meet", "of a population, approximately"]),
    ],
)
def test_the_label_says_whose_ranks_are_drawn_and_what_they_assume(plt, inside, n_rounds, of, words):
    fitted = DPBradleyTerry(n_rounds=n_rounds, random_state=0).fit(X)
    display = RankIntervalDisplay.from_estimator(fitted, of=of).plot()
    assert all(each in display.ax_.get_xlabel() for each in words) and inside(display.figure_)
    assert display.intervals.tolist() == fitted.rank_intervals(of=of).tolist()


def test_the_label_of_borda_names_the_population(plt):
    fitted = DPBorda(neighboring="replace", random_state=0).fit(X)
    display = RankIntervalDisplay.from_estimator(fitted, of="population").plot()
    assert display.ax_.get_xlabel().endswith("\nof a population")


@pytest.mark.parametrize("estimator", [LDPPairwise(2.0), LDPBorda(1.0), ShufflePairwise(0.5)], ids=repr)
def test_the_label_of_randomised_ballots_names_voters_and_population(plt, estimator):
    fitted = estimator.set_params(random_state=0).fit(X)
    for of in (None, "voters", "population"):
        display = RankIntervalDisplay.from_estimator(fitted, of=of).plot()
        assert display.ax_.get_xlabel().endswith("\nof these voters and of a population")


@pytest.mark.parametrize("n_items", [60, 110, 300])
def test_names_of_many_items_do_not_overlap(plt, inside, apart, n_items):
    fitted = DPBorda(1.0, random_state=0).fit(make_mallows(50, n_items, 0.9, random_state=0))
    display = RankIntervalDisplay.from_estimator(fitted).plot()
    assert inside(display.figure_)
    labels = display.ax_.get_yticklabels()
    assert apart(labels)
    assert len(labels) >= 40
    shown = [np.flatnonzero(display.ranks == int(label.get_position()[1]))[0] for label in labels]
    assert [label.get_text() for label in labels] == [display.item_names[item] for item in shown]
    assert (n_items > 60) == ("is shown" in display.ax_.get_ylabel())


def test_letters_without_a_font_give_one_warning_with_the_remedy(plt):
    # No font has private-use letters.
    names = ["tea", "\U000f1234 coffee", "\U000f1235", "чай"]
    with pytest.warns(UserWarning) as caught:
        display = RankIntervalDisplay([[0, 3]] * 4, [0, 1, 2, 3], names).plot()
    assert len(caught) == 1
    assert "no installed font has" in str(caught[0].message) and "Noto Sans CJK" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == names


def test_refusals():
    with pytest.raises(NotFittedError):
        RankIntervalDisplay.from_estimator(DPBorda())
    for silent in (Borda(), DPBorda(noise="knorm")):
        with pytest.raises(ValueError, match="estimator must have rank_intervals, got "):
            RankIntervalDisplay.from_estimator(silent.fit(X))
    with pytest.raises(ValueError, match="level must be a number"):
        RankIntervalDisplay.from_estimator(DPBorda(random_state=0).fit(X), level=95)
    for intervals in ([[0, 1]], [[0, 1], [1, 0]], [[0.5, 1.0], [0, 1]], [0, 1]):
        with pytest.raises(ValueError, match="the best and the worst rank of each of the 2 items"):
            RankIntervalDisplay(intervals, [0, 1])
