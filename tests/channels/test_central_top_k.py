"""The best k items: accuracy, names, scores, searches and displays."""

import numpy as np
import pandas as pd
import pytest

from sklearn_dprank import Aggregator, DPBorda, DPTopK
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import kemeny_positions
from sklearn_dprank.model_selection import PrivateKendallTau, PrivateSelection
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.plotting import PairwiseMarginDisplay
from sklearn_dprank.rules import ChooseTop

NAMES = ["tea", "milk", "water", "wine", "juice", "rum"]
X = make_mallows(400, 6, 0.7, random_state=3)


def recall(estimator, X, k, n_fits=40):
    """How many of the first k of the Kemeny order are found, on average."""
    profile = Profile.from_rankings(X)
    best = np.flatnonzero(kemeny_positions(profile) < k)
    rule, plan = estimator.plan_for(profile)
    found = [fitted.ranks_[best] < k for fitted in refits(estimator, profile, rule, plan, list(range(n_fits)))]
    return np.mean(found)


# Accuracy


@pytest.mark.slow
@pytest.mark.parametrize(("k", "epsilon"), [(1, 0.0027), (3, 0.0055), (5, 0.0095), (10, 0.0175)])
def test_mallows_45(k, epsilon):
    """Nine tenths of the best k of 45, where orders of all of them find much less."""
    X = make_mallows(5000, 45, 0.75, random_state=0)
    assert recall(DPTopK(k, epsilon=epsilon), X, k) > 0.87
    assert recall(DPBorda(epsilon, noise="knorm"), X, k) < 0.8


# What a fit leaves


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_others_are_tied(k):
    top = DPTopK(k, epsilon=2.0, random_state=0).fit(pd.DataFrame(X, columns=NAMES))
    assert top.consensus_.tolist() == [NAMES[item] for item in np.argsort(top.ranks_)[:k]]
    assert sorted(top.ranks_) == [*range(k), *[k] * (6 - k)]
    assert top.feature_names_in_.tolist() == NAMES


def test_names_that_are_numbers_are_those_of_the_columns():
    """Also where they are the numbers of columns in another order, and the consensus has one of them only."""
    frame = pd.DataFrame(X, columns=[3, 1, 2, 0, 5, 4])
    top = DPTopK(epsilon=2.0, random_state=0).fit(frame)
    assert top.score(frame) == DPTopK(epsilon=2.0, random_state=0).fit(X).score(X)
    with pytest.raises(ValueError, match="The item names should match"):
        top.score(pd.DataFrame(X, columns=[1, 3, 2, 0, 5, 4]))
    with pytest.raises(ValueError, match="The item names should match"):
        top.score(pd.DataFrame(X, columns=range(6)))
    named = pd.DataFrame(X, columns=NAMES)
    assert top.fit(named).score(named) < 0 and top.fit(X).score(X) < 0  # the numbers are forgotten


def test_top_k_equals_its_channel_and_rule():
    whole = Aggregator(Central(1.5, noise="permute_and_flip"), ChooseTop(3, 2), random_state=4).fit(X)
    named = DPTopK(3, epsilon=1.5, batch=2, random_state=4).fit(X)
    np.testing.assert_array_equal(whole.ranks_, named.ranks_)
    assert whole.privacy_ == named.privacy_
    assert named.privacy_.epsilon == 1.5 and named.privacy_.how.startswith("permute-and-flip")


def test_k_is_first_and_the_only_one_without_a_name():
    assert DPTopK(3).k == 3
    with pytest.raises(TypeError):
        DPTopK(3, 0.5)
    with pytest.raises(ValueError, match=r"k must be a positive integer, got 0\.5"):
        DPTopK(0.5).fit(X)
    with pytest.raises(ValueError, match=r"k=6 must be below 6, .*; take k up to 5, or DPPrudentOrder"):
        DPTopK(6).fit(X)


def test_few_voters_are_warned_of_where_their_number_is_public():
    with pytest.warns(UserWarning, match="the best 2 of 6 items are little better than chance"):
        DPTopK(2, epsilon=0.01, neighboring="replace").fit(X)
    DPTopK(2, epsilon=0.01).fit(X)  # no warning, because the number of voters is private


# Scores and searches


def test_private_scores_and_selection():
    """The noisy net agreement is that of the pairs that the consensus orders: n C(m, 2) (1 - 2 d), d with halves."""
    top = DPTopK(2, epsilon=5.0, random_state=0).fit(X)
    exact = 400 * 15 * (1 + 2 * top.score(X))
    assert abs(PrivateKendallTau(epsilon=5.0, random_state=0)(top, X) - exact) < 60
    frame = pd.DataFrame(X, columns=NAMES)
    search = PrivateSelection(DPTopK(), {"k": [1, 5]}, score_epsilon=1.0, random_state=0).fit(frame)
    assert len(search.consensus_) == search.best_params_["k"]


def test_margin_display():
    """The best come first, then the others in the order of the columns; pairs of the others do not count."""
    top = DPTopK(2, epsilon=5.0, random_state=0).fit(X)
    display = PairwiseMarginDisplay.from_estimator(top, X)
    assert display.order.tolist() == [*top.consensus_, *np.flatnonzero(top.ranks_ == 2)]
    assert all(top.ranks_[i] < 2 for i, _ in display.opposed)
