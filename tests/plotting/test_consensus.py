"""`ConsensusDisplay`: line crossings equal the Kendall tau distance, and non-private orders are marked."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sklearn_dprank import Borda, DPBorda, Kemeny
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import kendall_tau_distance
from sklearn_dprank.model_selection import GridSearchCV
from sklearn_dprank.plotting import ConsensusDisplay
from sklearn_dprank.privacy import PrivacyGuarantee

pd = pytest.importorskip("pandas")
NAMES = ["tea", "coffee", "water", "juice", "milk"]
X = pd.DataFrame(make_mallows(40, 5, 0.8, random_state=1), columns=NAMES)


def segments(display):
    """Return (left end, right end) of every line, in the order of the items."""
    return [tuple(map(int, line.get_ydata())) for line in display.ax_.get_lines()]


def crossings(lines):
    """Count the pairs of segments between two columns that meet inside."""
    return sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in itertools.combinations(lines, 2))


def labels(display):
    """Return the texts of the two columns, from the top."""
    (right,) = display.ax_.child_axes
    return [[text.get_text() for text in axis.get_yticklabels()] for axis in (display.ax_, right)]


@given(st.integers(2, 9).flatmap(lambda m: st.tuples(*[st.lists(st.integers(0, 5), min_size=m, max_size=m)] * 2)))
def test_crossings_are_the_kendall_tau_distance(pair):
    """Of any two weak orders, as drawn: straight lines between places, each place used once."""
    left, right = pair
    display = ConsensusDisplay.from_positions(left, right)
    lines = list(zip(*display.places.tolist(), strict=True))
    distance = kendall_tau_distance(left, right, normalize=False)
    assert display.n_crossings == crossings(lines) == distance
    for places, positions in zip(display.places, (left, right), strict=True):
        assert sorted(places) == list(range(len(left)))
        assert (np.diff(np.asarray(positions)[np.argsort(places)]) >= 0).all()


def test_drawn_lines(plt):
    display = ConsensusDisplay.from_positions([0, 1, 2, 3, 4], [2, 1, 0, 4, 3], items=NAMES).plot()
    assert [line.get_xdata().tolist() for line in display.ax_.get_lines()] == [[0, 1]] * 5
    assert segments(display) == [(0, 2), (1, 1), (2, 0), (3, 4), (4, 3)]
    assert crossings(segments(display)) == display.n_crossings == 4
    assert display.ax_.get_title() == "Kendall tau distance: 4 of 10 pairs cross"
    assert labels(display) == [
        ["tea  1", "coffee  2", "water  3", "juice  4", "milk  5"],
        ["1  water", "2  coffee", "3  tea", "4  milk", "5  juice"],
    ]
    top, bottom = display.ax_.get_ylim()[::-1]
    assert top < 0 and bottom > 4 and display.ax_.yaxis_inverted()
    display.figure_.canvas.draw()
    assert display.ax_.child_axes[0].get_ylim() == display.ax_.get_ylim()


def test_ties(plt):
    """Tied items follow the other side, and say which place they share."""
    display = ConsensusDisplay.from_positions([1, 0, 1, 1, 5], [0, 3, 2, 1, 1], items=NAMES).plot()
    assert labels(display) == [
        ["coffee  1", "tea  2=", "juice  2=", "water  2=", "milk  5"],
        ["1  tea", "2=  juice", "2=  milk", "4  water", "5  coffee"],
    ]
    assert ConsensusDisplay.from_positions([0, 1, 1], [0, 1, 2]).n_half_tied == 1
    assert crossings(segments(display)) == 5 == kendall_tau_distance([1, 0, 1, 1, 5], [0, 3, 2, 1, 1], normalize=False)


def test_what_is_not_private_is_marked(plt):
    """By the guarantee: none, or a seed that makes it a simulation."""
    exact, released, seeded = Borda().fit(X), DPBorda(epsilon=2.0).fit(X), DPBorda(random_state=0).fit(X)
    heads = [text.get_text() for text in ConsensusDisplay.from_estimators(exact, released).plot().ax_.get_xticklabels()]
    assert heads == ["Borda\n(not private)", "DPBorda(epsilon=2)\n "]
    display = ConsensusDisplay.from_estimators(released, seeded, names=("published", "simulated")).plot()
    heads = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert heads == ["published\n ", "simulated\n(simulation only)"]
    display = ConsensusDisplay.from_estimators(released, released).plot()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["DPBorda(epsilon=2)"] * 2
    # Positions do not say where they come from.
    display = ConsensusDisplay.from_positions([0, 1], [1, 0]).plot()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == [
        "left\n(not private)",
        "right\n(not private)",
    ]
    display = ConsensusDisplay.from_positions([0, 1], [1, 0], names=("2024", "2025"), marks=("", "")).plot()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["2024", "2025"]


def test_columns_in_another_order():
    """The same items by name: lines connect names, not columns."""
    display = ConsensusDisplay.from_estimators(Kemeny().fit(X), Kemeny().fit(X[NAMES[::-1]]))
    assert display.n_crossings == 0
    assert display.item_names == NAMES
    unnamed = ConsensusDisplay.from_estimators(Kemeny().fit(X.to_numpy()), Kemeny().fit(X))
    assert unnamed.n_crossings == 0 and unnamed.item_names == NAMES
    ids = [50, 10, 40, 20, 30]
    numbered = X.set_axis(ids, axis=1)
    display = ConsensusDisplay.from_estimators(Kemeny().fit(numbered), Kemeny().fit(numbered[ids[::-1]]))
    assert display.n_crossings == 0 and display.item_names == [str(name) for name in ids]


def test_refusals():
    fitted = Borda().fit(X)
    with pytest.raises(NotFittedError):
        ConsensusDisplay.from_estimators(fitted, Borda())
    with pytest.raises(ValueError, match="left and right must rank the same items, got 5 and 4 items"):
        ConsensusDisplay.from_estimators(fitted, Borda().fit(X[NAMES[:4]]))
    with pytest.raises(ValueError, match="left and right must rank the same items, got different names"):
        ConsensusDisplay.from_estimators(fitted, Borda().fit(X.rename(columns={"tea": "mate"})))
    with pytest.raises(ValueError, match="right must hold one finite position for each of the 2 items"):
        ConsensusDisplay.from_positions([0, 1], [0, 1, 2])
    with pytest.raises(ValueError, match=r"left must hold numbers \(ranks_, not consensus_\)"):
        ConsensusDisplay.from_positions(["a", "b"], [0, 1])
    with pytest.raises(ValueError, match="items has 3 names for 2 items"):
        ConsensusDisplay.from_positions([0, 1], [0, 1], items="abc")
    with pytest.raises(ValueError, match="names must hold two strings, one a side"):
        ConsensusDisplay.from_positions([0, 1], [0, 1], names="ab")


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [2, 10, 45])
@pytest.mark.parametrize("long", [False, True])
def test_everything_fits(plt, inside, apart, n_items, long):
    names = [f"a candidate with quite a long name, number {k % 30}, of list {k}" if long else str(k)
             for k in range(n_items)]  # fmt: skip
    left, right = np.random.default_rng(0).permuted(np.tile(np.arange(n_items), (2, 1)), axis=1)
    sides = ("the consensus of last year's voters, all of them", "that of this year's") if long else ("a", "b")
    display = ConsensusDisplay.from_positions(left, right, items=names, names=sides).plot()
    assert inside(display.figure_)
    (other,) = display.ax_.child_axes
    texts = [*display.ax_.get_yticklabels(), *other.get_yticklabels(), *display.ax_.get_xticklabels()]
    assert apart([*texts, display.ax_.title, *display.ax_.get_legend().get_texts()])
    assert len({text.get_text() for text in display.ax_.get_yticklabels()}) == n_items


class Mine(BaseEstimator):
    """An estimator of somebody else: it ranks, and that is all that is known of it."""

    def fit(self, X, y=None):
        self.ranks_ = [2, 0, 1]
        return self


class Claiming(Mine):
    privacy_ = PrivacyGuarantee(0.1, 0.0, "central", "add_remove", "believe me")


@pytest.mark.parametrize("estimator", [Mine(), Claiming()], ids=lambda estimator: type(estimator).__name__)
def test_estimators_of_others_are_not_private(plt, estimator):
    release = DPBorda(epsilon=1.0).fit([[0, 1, 2]] * 5)
    display = ConsensusDisplay.from_estimators(estimator.fit([[0, 1, 2]]), release)
    assert display.marks == ("not private", "")
    assert display.left.tolist() == [2, 0, 1]
    heads = [text.get_text() for text in display.plot().ax_.get_xticklabels()]
    assert heads == [f"{type(estimator).__name__}\n(not private)", "DPBorda\n "]


def test_what_cannot_be_compared_is_named():
    search = GridSearchCV(DPBorda(), {"epsilon": [1.0]}, n_trials=1).fit([[0, 1, 2]] * 5)
    with pytest.raises(ValueError, match=r"right must have ranks_.*got GridSearchCV that has not.*its best_estimator_"):
        ConsensusDisplay.from_estimators(search.best_estimator_, search)
    unreadable = Mine().fit(X)
    unreadable.ranks_ = ["a", "b"]
    with pytest.raises(ValueError, match="ranks_ of left must hold numbers"):
        ConsensusDisplay.from_estimators(unreadable, search.best_estimator_)
