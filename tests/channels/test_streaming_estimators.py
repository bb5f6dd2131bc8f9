"""`partial_fit`: one period after another, across processes, and where it ends."""

import copy

import numpy as np
import pandas as pd
import pytest
from stream_tools import nobody

from sklearn_dprank import Aggregator, Borda, DPBorda, DPStreamingBorda, LDPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Streaming
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection, cross_validate
from sklearn_dprank.privacy import guarantee_of
from sklearn_dprank.privacy.errors import BudgetExhausted

M, T = 5, 4
PERIODS = [make_mallows(60, M, 0.7, center=[3, 0, 4, 1, 2], random_state=day) for day in range(T)]
NAMES = ["tea", "milk", "water", "wine", "juice"]


def streaming(**parameters):
    return DPStreamingBorda(**{"horizon": T, "random_state": 0, **parameters})


def orders(stream, periods=PERIODS):
    return [stream.partial_fit(X).consensus_.tolist() for X in periods]


def test_the_guarantee_is_fixed_at_the_start():
    stream = streaming(epsilon=0.3, random_state=None)
    promises = [stream.partial_fit(X[: 10 * (day + 1)]).privacy_ for day, X in enumerate(PERIODS)]
    assert len(set(promises)) == 1
    assert str(promises[0]) == "epsilon = 0.3, delta = 1e-06 (central, add_remove)"
    assert guarantee_of(stream) == promises[0]


def test_one_period_more_is_refused_before_its_ballots_are_read():
    stream = streaming()
    orders(stream)
    before = stream.consensus_.tolist()
    for X in ("no ballots", PERIODS[0]):
        with pytest.raises(BudgetExhausted, match="all 4 periods of this stream are published"):
            stream.partial_fit(X)
    assert (stream.consensus_.tolist(), stream.periods_) == (before, T)


@pytest.mark.parametrize(
    "changed",
    [{"epsilon": 2.0}, {"delta": 1e-5}, {"horizon": 400}, {"horizon": 3}, {"neighboring": "replace"}],
    ids=str,
)
def test_parameters_cannot_change_on_the_way(changed):
    stream = streaming().partial_fit(PERIODS[0])
    with pytest.raises(ValueError, match="not those that this stream began with"):
        stream.set_params(**changed).partial_fit(PERIODS[1])
    stream.set_params(**streaming().get_params())
    assert stream.partial_fit(PERIODS[1]).periods_ == 2


def test_the_first_period_is_a_fit():
    for seed in range(5):
        fitted = streaming(random_state=seed).fit(PERIODS[0])
        assert fitted.consensus_.tolist() == streaming(random_state=seed).partial_fit(PERIODS[0]).consensus_.tolist()
        assert fitted.periods_ == 1


def test_a_fit_keeps_no_secret_and_ends_a_stream():
    stream = streaming()
    orders(stream, PERIODS[:2])
    stream.fit(PERIODS[2])
    assert not hasattr(stream, "stream_")
    with pytest.warns(UserWarning, match="begins a stream that does not count them"):
        stream.partial_fit(PERIODS[0])
    assert orders(stream, PERIODS[1:]) == orders(streaming())[1:]


def test_a_generator_is_read_once():
    used, twin = np.random.default_rng(7), np.random.default_rng(7)
    stream = streaming(random_state=used)
    stream.partial_fit(PERIODS[0])
    after = copy.deepcopy(used)
    orders(stream, PERIODS[1:])
    assert used.random() == after.random()
    assert (
        orders(streaming(random_state=twin))[0]
        == streaming(random_state=np.random.default_rng(7)).fit(PERIODS[0]).consensus_.tolist()
    )


# Ballots


@pytest.mark.parametrize(
    "make",
    [lambda X: X, lambda X: X.tolist(), Profile.from_rankings, lambda X: Profile.from_rankings(X, keep="counts")],
)
def test_what_a_period_may_be(make):
    assert orders(streaming(), map(make, PERIODS)) == orders(streaming())


def test_names_are_those_of_the_first_period():
    frames = [pd.DataFrame(X, columns=NAMES) for X in PERIODS]
    stream = streaming()
    named = orders(stream, frames)
    assert named == [[NAMES[i] for i in order] for order in orders(streaming())]
    assert stream.feature_names_in_.tolist() == NAMES
    other = streaming().partial_fit(frames[0])
    with pytest.raises(ValueError, match="names"):
        other.partial_fit(frames[1][NAMES[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        other.partial_fit(frames[1][NAMES[:4]])
    assert orders(other, frames[1:]) == named[1:]  # a refused period leaves no trace


@pytest.mark.parametrize("bad", [[["tea"] * M], np.full((2, M), np.inf), [[0, 1, 2]]], ids=["text", "inf", "items"])
def test_a_refused_period_can_be_tried_again(bad):
    stream, twin = streaming(), streaming()
    stream.partial_fit(PERIODS[0])
    with pytest.raises(ValueError):
        stream.partial_fit(bad)
    assert stream.periods_ == 1
    assert orders(stream, PERIODS[1:]) == orders(twin)[1:]


@pytest.mark.parametrize("empty", [nobody(M), pd.DataFrame(nobody(M), columns=NAMES), pd.DataFrame(columns=NAMES)])
def test_a_period_may_have_no_voters(empty):
    """A period without voters is private too; `fit`, which is one release, needs ballots."""
    stream = streaming(epsilon=1e5, delta=0.01)
    stream.partial_fit(empty)
    ballots = pd.DataFrame(PERIODS[0], columns=NAMES) if isinstance(empty, pd.DataFrame) else PERIODS[0]
    before = stream.partial_fit(ballots).ranks_.tolist()
    assert stream.score(ballots) == Borda().fit(ballots).score(ballots)
    assert stream.partial_fit(empty).ranks_.tolist() == before
    assert stream.periods_ == 3
    with pytest.raises(ValueError, match="minimum of 1"):
        streaming().fit(empty)


# Where it is


def test_only_streams_have_periods():
    for estimator in (DPBorda(), Borda(), LDPPairwise(), Aggregator(), Aggregator(channel="none")):
        assert not hasattr(estimator, "partial_fit")
    assert hasattr(DPStreamingBorda(), "partial_fit")


@pytest.mark.parametrize("rule", ["borda", "kemeny", "hierarchical"])
def test_other_rules_stream_too(rule):
    stream = Aggregator(Streaming(1e5, 0.01, horizon=2), rule, random_state=0)
    exact = Aggregator(rule=rule)
    for day in range(2):
        so_far = np.vstack(PERIODS[: day + 1])
        stream.partial_fit(PERIODS[day])
        assert stream.score(so_far) == pytest.approx(exact.fit(so_far).score(so_far), abs=1e-3)
    with pytest.raises(BudgetExhausted):
        stream.partial_fit(PERIODS[0])


def test_sweeps_and_searches_take_it_for_one_period():
    X = np.vstack(PERIODS)
    search = GridSearchCV(DPStreamingBorda(horizon=7), {"epsilon": [0.5, 5.0]}, cv=2, random_state=0).fit(X)
    assert not hasattr(search.best_estimator_, "stream_")
    assert search.best_estimator_.periods_ == 1
    scores = cross_validate(DPStreamingBorda(horizon=7), X, cv=2, random_state=0)["test_score"]
    assert np.isfinite(scores).all()
    with pytest.raises(ValueError, match="selection is stated for pure candidates only"):
        PrivateSelection(DPStreamingBorda(), {"horizon": [1, 7]}, random_state=0).fit(X)
