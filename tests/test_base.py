"""Bad input: one clear message each, that names the parameter, the value and the remedy, and quotes no ballot."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPPairwise,
    DPPrudentOrder,
    Kemeny,
    LDPPairwise,
    LDPQuickSort,
    PositionalRule,
    ShufflePairwise,
)
from sklearn_dprank.channels import Central, Local
from sklearn_dprank.profile import Profile

X = np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2]])
ESTIMATORS = [Borda(), DPBorda(), LDPPairwise(), ShufflePairwise(), Kemeny()]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("ballots", "message"),
    [
        ([71.5, 72.5, 73.5], "X must have two dimensions"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), r"0 feature"),
        ([[71.5], [72.5]], "1 feature.*minimum of 2 is required"),
        ([[71.5, np.inf]], "infinity"),
        ([["cat", "dog"], ["dog", "cat"]], "X must hold numbers.*orders_to_positions"),
        (np.array([["cat", 71.5]], dtype=object), "X must hold numbers"),
        ([[71.5, 72.5], [73.5]], "inhomogeneous"),
        ([[1j, 71.5]], "Complex data not supported"),
    ],
)
def test_ballots(estimator, ballots, message):
    with pytest.raises(ValueError, match=message) as error:
        estimator.fit(ballots)
    for quoted in ("71.5", "72.5", "73.5", "cat", "dog"):
        assert quoted not in str(error.value)


@pytest.mark.parametrize("cls", [DPBorda, DPKemenySampler, LDPPairwise, LDPQuickSort, ShufflePairwise])
@pytest.mark.parametrize("epsilon", [0, -1.0, np.inf, np.nan, "1", None])
def test_epsilon(cls, epsilon):
    with pytest.raises(
        ValueError, match=f"'epsilon' parameter of {cls.__name__} must be a float in the range"
    ) as error:
        cls(epsilon=epsilon).fit(X)
    assert repr(epsilon) in str(error.value)


@pytest.mark.parametrize("delta", [-0.1, 1.0, 2, np.nan, "0"])
def test_delta(delta):
    with pytest.raises(ValueError, match="'delta' parameter of DPBorda must be a float in the range"):
        DPBorda(delta=delta).fit(X)


@pytest.mark.parametrize("epsilon", [0, -1.0, np.inf, np.nan, "1", None])
@pytest.mark.parametrize("channel", [Central, Local])
def test_channels_check_for_themselves(channel, epsilon):
    with pytest.raises(ValueError, match="epsilon must be a positive, finite number") as error:
        Aggregator(channel(epsilon=epsilon)).fit(X)
    assert repr(epsilon) in str(error.value)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (DPBorda(noise="gaussian"), "noise='gaussian' needs delta > 0, got delta=0"),
        (DPBorda(delta=1e-6), "noise='laplace' is pure and needs delta=0, got delta=1e-06"),
        (DPBorda(noise="knorm", delta=1e-6), "noise='knorm' is pure and needs delta=0"),
        (DPBorda(noise="uniform"), "'noise' parameter of DPBorda must be a str among"),
        (DPBorda(neighboring="swap"), "'neighboring' parameter of DPBorda must be a str among"),
        (DPBorda(noise="knorm", calibration="published"), "calibration='published' has no printed scale"),
        (DPBorda(random_state="seed"), "'random_state' parameter of DPBorda must be"),
        (DPBorda(random_state=-1), "'random_state' parameter of DPBorda must be"),
        (DPPairwise(rule="condorcet"), "rule must be None, one of .*'kemeny'.* got 'condorcet'"),
        (DPPairwise(rule=Borda()), 'rule must be a rule, got the estimator Borda; use rule="borda"'),
        (DPPairwise(rule=Kemeny), 'rule must be a rule, got the estimator Kemeny; use rule="kemeny"'),
        (DPPairwise(rule="bradley_terry"), "Central cannot answer PairTallies, which the rule asks for"),
        (PositionalRule(scores="approval"), r"scores must be one of \['borda', 'plurality', 'veto'\]"),
        (PositionalRule(scores=[1, 0]), r"scores must hold one number for each of the 3 items, got shape \(2,\)"),
        (PositionalRule(scores=[1, np.nan, 0]), "scores must be finite"),
        (Kemeny(tolerance=-1), "'tolerance' parameter of Kemeny must be a float in the range"),
        (DPPrudentOrder(window=1), "'window' parameter of DPPrudentOrder must be .*an int in the range"),
        (DPKemenySampler(sampler="mcmc"), "'sampler' parameter of DPKemenySampler must be a str among"),
        (LDPPairwise(n_queries=4), "n_queries must be an integer between 1 and the 3 pairs of 3 items, got 4"),
        (LDPPairwise(rule="borda", randomizer="gauss"), "'randomizer' parameter of LDPPairwise must be a str among"),
        (LDPPairwise(randomizer="djw", rule="bradley_terry"), "Local cannot answer PairTallies.*HypercubeSampling"),
        (ShufflePairwise(delta=0.0), "delta must be positive in the shuffle model, got 0"),
        (ShufflePairwise(min_reports=10), "min_reports=10 is above the 3 voters; nothing is released"),
    ],
)
def test_parameters(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X)


@pytest.mark.parametrize(
    ("estimator", "n_items", "message"),
    [
        (DPHistogram(), 11, "all 11! rankings is explicit up to 10 items only"),
        (DPPrudentOrder(), 17, "17 items needs a window .* set window=7"),
        (DPKemenySampler(sampler="table"), 26, "goes up to 25 items, got 26; use sampler='auto'"),
    ],
)
def test_too_many_items(estimator, n_items, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(np.arange(n_items)[None])


def test_other_items_at_score_than_at_fit():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = Borda().fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.score(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="X has 2 features, but Borda is expecting 3"):
        Borda().fit(X).score(X[:, :2])
    with pytest.raises(ValueError, match="item names should match"):
        fitted.score(Profile.from_rankings(frame[["b", "a", "c"]]))
    with pytest.raises(ValueError, match="X has 2 items, but Borda is expecting 3 items"):
        fitted.score(Profile.from_rankings(X[:, :2]))


def test_not_fitted():
    with pytest.raises(NotFittedError, match="DPBorda instance is not fitted yet"):
        DPBorda().score(X)


def test_ballots_are_needed_where_counts_do_not_do():
    counted = Profile.from_rankings(X, keep="counts")
    for estimator in (LDPPairwise(), LDPQuickSort(), ShufflePairwise(), DPHistogram()):
        with pytest.raises(ValueError, match="needs the ballots; build the Profile with keep='positions'"):
            estimator.fit(counted)
    np.testing.assert_array_equal(Borda().fit(counted).ranks_, Borda().fit(X).ranks_)


@pytest.mark.parametrize(
    ("items", "message"),
    [(1, "at least two items, got 1"), (["a"], "at least two items, got 1"), (["a", "b", "a"], "distinct names")],
)
def test_items_of_the_field(items, message):
    for call in (
        lambda: LDPPairwise().client(items),
        lambda: LDPPairwise().protocol(items),
        lambda: LDPPairwise().fit_reports([], items=items),
        lambda: LDPQuickSort().fit_interactive(list, items=items, n_voters=3),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_methods_that_do_not_apply_are_hidden():
    for estimator in (Borda(), DPBorda(), Aggregator(Central())):
        assert not any(hasattr(estimator, name) for name in ("client", "protocol", "fit_reports", "fit_interactive"))
    assert hasattr(LDPPairwise(), "fit_reports")
    assert not hasattr(LDPPairwise(), "fit_interactive")
    assert hasattr(LDPQuickSort(), "fit_interactive")
    assert not hasattr(LDPQuickSort(), "fit_reports")
    assert hasattr(Aggregator(Local()), "client")
    assert not hasattr(LDPPairwise(rule="no rule"), "client")
