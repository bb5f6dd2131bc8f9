"""`PrivateSelection` returns the best of independent draws, and its guarantee covers everything that it leaves.

Wrong parameters are refused before a ballot is read. The guarantee depends on the law of the number of draws.
"""

import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracles import seeded
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from wire_vectors import DealtBits

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    LDPPairwise,
    ShufflePairwise,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.model_selection import PrivateSelection, private as private_selection
from sklearn_dprank.model_selection.private import (
    NetAgreement,
    candidates_of,
    draw_count,
    eta_of,
    gamma_of,
    happens,
)
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.theory import hay

X = make_mallows(200, 4, 0.6, random_state=0)
TWO = [DPBorda(epsilon=0.5), DPKemenySampler(epsilon=0.5)]
FITTED = {"best_estimator_", "best_params_", "best_score_", "consensus_", "ranks_", "privacy_", "n_features_in_"}


class Unreadable:
    """Ballots with a public shape. Reading them is an error."""

    def __init__(self, n_items=4):
        self.shape = (30, n_items)

    def __array__(self, *args, **kwargs):
        raise AssertionError("the ballots were read")


@pytest.fixture
def draws(monkeypatch):
    """Return a function that sets the number of draws of all selections."""
    return lambda number: monkeypatch.setattr(private_selection, "draw_count", lambda *args: number)


# The guarantee


@pytest.mark.parametrize(
    ("distribution", "factor"),
    [("geometric", 3), ("logarithmic", 2), (0.25, 2.25), (-0.5, 1.5), (1, 3), (np.float64(0), 2)],
)
def test_total_guarantee(distribution, factor):
    """It is (2 + eta) times the sum of the largest epsilon of a candidate and that of the score."""
    candidates = [DPBorda(epsilon=0.5), DPPairwise(epsilon=0.25)]
    search = PrivateSelection(candidates, score_epsilon=0.75, distribution=distribution)
    guarantee = search.guarantee(n_items=4)
    assert (guarantee.epsilon, guarantee.delta) == (factor * 1.25, 0)
    assert (guarantee.trust, guarantee.neighboring, guarantee.arithmetic) == ("central", "add_remove", "exact")
    assert guarantee.certified
    assert "Theorem 2" in guarantee.how
    assert any("running time" in caveat for caveat in guarantee.caveats)


def test_total_is_never_rounded_below():
    """Rounding to the nearest double would round about half of these totals down."""
    for epsilon in np.arange(1, 40) / 37:
        search = PrivateSelection(DPBorda(epsilon=epsilon), score_epsilon=0.2, distribution=0.3)
        exact = (2 + Fraction(0.3)) * (Fraction(epsilon) + Fraction(0.2))
        assert 0 <= Fraction(search.guarantee(4).epsilon) - exact < Fraction(1, 2**50), epsilon


def test_only_a_selection_without_a_seed_is_certified():
    search = PrivateSelection(TWO, random_state=0)
    assert not search.guarantee(4).certified
    search.set_params(random_state=None).fit(X)
    assert search.privacy_.certified and search.best_estimator_.privacy_.certified


def test_a_printed_noise_scale_counts_with_its_true_epsilon():
    """Under replace, the scale that Hay et al. print spends 2 floor(9 / 2) / 6 times epsilon."""
    candidate = DPBorda(epsilon=0.75, noise=hay.PrintedLaplace(), neighboring="replace")
    assert PrivateSelection(candidate, score_epsilon=1.0).guarantee(3).epsilon == pytest.approx(3 * (1.0 + 1.0))


def test_the_score_of_local_candidates_needs_a_curator():
    candidates = [LDPPairwise(epsilon=1.0), DPBorda(epsilon=1.0, neighboring="replace")]
    search = PrivateSelection(candidates, random_state=0)
    assert search.guarantee(4, n_voters=200).neighboring == "replace"
    assert search.fit(X).privacy_.epsilon == 6.0
    assert search.privacy_.trust == "central"


# The selected draw


def test_the_results_are_those_of_the_selected_draw():
    search = PrivateSelection(DPBorda(), {"epsilon": [0.5, 1.0], "noise": ["laplace", "knorm"]}, random_state=1).fit(X)
    assert search.best_params_ in list(ParameterGrid(search.param_grid))
    assert search.best_params_.items() <= search.best_estimator_.get_params().items()
    np.testing.assert_array_equal(search.ranks_, search.best_estimator_.ranks_)
    np.testing.assert_array_equal(search.consensus_, search.best_estimator_.consensus_)
    assert type(search.best_score_) is int
    assert search.n_features_in_ == 4
    assert search.score(X) == -average_kendall_tau(search.ranks_, X)
    repeated = clone(search.best_estimator_).fit(X)  # with the seed of the draw
    np.testing.assert_array_equal(repeated.ranks_, search.ranks_)


def test_the_first_of_the_best_draws_is_selected(monkeypatch, draws):
    scores, scored = [3, 9, 1, 9, 2], []

    class Scorer:
        def __init__(self, epsilon, neighboring, seed):
            assert (epsilon, neighboring) == (1.0, "add_remove")

        def __call__(self, fitted, ballots):
            scored.append(fitted)
            return scores[len(scored) - 1]

    monkeypatch.setattr(private_selection, "PrivateKendallTau", Scorer)
    draws(5)
    search = PrivateSelection(TWO, random_state=0).fit(X)
    assert search.best_estimator_ is scored[1]
    assert search.best_score_ == 9


@pytest.mark.slow
def test_candidates_are_drawn_uniformly():
    candidates = [DPBorda(epsilon=1.0), DPKwikSort(epsilon=1.0), DPPairwise(epsilon=1.0)]
    profile = Profile.from_rankings(X)
    names = [
        type(PrivateSelection(candidates, mean_draws=1, random_state=seed).fit(profile).best_estimator_).__name__
        for seed in range(300)
    ]
    assert stats.chisquare(np.unique(names, return_counts=True)[1]).pvalue > 1e-3


# Randomness


@pytest.mark.slow
def test_a_seed_repeats_the_result_and_no_seed_does_not():
    def outcome(random_state):
        fitted = PrivateSelection(TWO, random_state=random_state).fit(X)
        return fitted.best_score_, fitted.ranks_.tolist(), type(fitted.best_estimator_).__name__

    assert outcome(3) == outcome(3) == outcome(np.int64(3))
    assert outcome(np.random.default_rng(1)) == outcome(np.random.default_rng(1))
    assert len({str(outcome(seed)) for seed in range(5)}) > 1
    assert len({str(outcome(None)) for _ in range(5)}) > 1


def test_every_fit_and_score_has_its_own_seed_or_none(monkeypatch, draws):
    used = []
    with_seed, scorer = private_selection.with_seed, private_selection.PrivateKendallTau
    monkeypatch.setattr(private_selection, "with_seed", lambda e, seed: used.append(seed) or with_seed(e, seed))
    monkeypatch.setattr(private_selection, "PrivateKendallTau", lambda e, n, s: used.append(s) or scorer(e, n, s))
    draws(50)
    PrivateSelection(TWO, random_state=0).fit(X)
    assert len(set(used)) == len(used) == 100
    used.clear()
    PrivateSelection([DPBorda(random_state=5)]).fit(X)
    assert set(used) == {None} and len(used) == 100


# Time, memory and fitted attributes


def test_a_fit_keeps_no_ballot_and_no_draw_that_lost():
    search = PrivateSelection(TWO, random_state=0)
    before = repr(search.get_params())
    search.fit(X).score(X)
    assert set(vars(search)) - set(search.get_params(deep=False)) == FITTED
    assert repr(search.get_params()) == before
    assert not any(hasattr(estimator, "ranks_") for estimator in TWO)
    stored = pickle.dumps(search)
    profile = Profile.from_rankings(X)
    for secret in (profile.pairwise_counts, profile.margins, profile.net_wins, profile.positions.table, X):
        assert np.ascontiguousarray(secret).tobytes() not in stored
    assert NetAgreement(tuple(search.ranks_)).vector(profile, None) != [search.best_score_]
    np.testing.assert_array_equal(pickle.loads(stored).ranks_, search.ranks_)


# Ballots, pipelines and grids


@pytest.mark.parametrize("keep", ["positions", "counts"])
def test_a_profile_gives_the_result_of_its_ballots(keep):
    frame = pd.DataFrame(X, columns=list("abcd"))
    profile = Profile.from_rankings(frame, keep=keep)
    search = PrivateSelection(TWO, random_state=0)
    assert clone(search).fit(profile).consensus_.tolist() == clone(search).fit(frame).consensus_.tolist()
    assert profile.item_names.tolist() == list("abcd")


def test_candidates_may_be_pipelines():
    pipeline = make_pipeline(RatingsToRankings(), DPBorda(epsilon=1.0))
    grid = {"dpborda": [DPBorda(epsilon=1.0), DPKwikSort(epsilon=1.0)], "ratingstorankings": [RatingsToRankings()]}
    search = PrivateSelection(pipeline, grid, random_state=0).fit(-X)
    assert isinstance(search.best_estimator_, Pipeline)
    assert search.best_estimator_[-1].privacy_ == search.privacy_
    assert search.privacy_.epsilon == 6.0
    assert search.n_features_in_ == 4
    assert search.score(-X) == -average_kendall_tau(search.ranks_, X) > -0.5
    both = PrivateSelection([pipeline, DPBorda(epsilon=1.0)], random_state=0).fit(X)
    assert both.privacy_.epsilon == 6.0


def test_a_list_of_grids_over_channels_and_rules():
    grid = [{"channel": [Central(epsilon=0.5), Central(epsilon=1.0)]}, {"rule": ["hierarchical"]}]
    search = PrivateSelection(Aggregator(Central(epsilon=1.0)), grid, random_state=0)
    assert len(candidates_of(search.estimator, grid)) == 3
    assert search.fit(X).privacy_.epsilon == 6.0


# Refusals


def check_refused(message, *args, n_items=4, **kwargs):
    """Check that `guarantee` and `fit` raise one error with this text, before a ballot is read."""
    search = PrivateSelection(*args, **kwargs)
    with pytest.raises(ValueError, match=re.escape(message)) as by_guarantee:
        search.guarantee(n_items, 30)
    with pytest.raises(ValueError) as by_fit:
        search.fit(Unreadable(n_items))
    assert str(by_guarantee.value) == str(by_fit.value)
    assert not hasattr(search, "privacy_")


def test_score_epsilon_must_be_positive():
    for epsilon in (0, -1, math.inf, math.nan, "1"):
        message = f"score_epsilon must be a positive, finite number (in nats), got {epsilon!r}."
        check_refused(message, TWO, score_epsilon=epsilon)


def test_mean_draws_must_be_at_least_one():
    for mean in (0, 0.99, -3, math.inf, math.nan, "ten", True, None):
        check_refused(f"mean_draws must be a finite number of at least 1, got {mean!r}.", TWO, mean_draws=mean)


@pytest.mark.parametrize(("distribution", "most"), [("geometric", 10**5), ("logarithmic", 8685), (-0.5, 158)])
def test_mean_draws_must_not_need_a_longer_tail(distribution, most):
    gamma_of(eta_of(distribution), most)
    message = f"mean_draws must be at most {most} with this distribution"
    check_refused(message, TWO, distribution=distribution, mean_draws=most + 1)


def test_distribution_must_be_known():
    for distribution in ("poisson", -1, -1.5, 1.1, math.nan, True, None, ["geometric"]):
        message = 'distribution must be "geometric", "logarithmic" or a number eta'
        check_refused(message, TWO, distribution=distribution)


def test_there_must_be_a_candidate():
    check_refused("estimator is empty; give at least one candidate", [])
    check_refused("param_grid is empty; give at least one candidate to choose, got []", DPBorda(), [])
    check_refused("a non-empty sequence", DPBorda(), {"epsilon": []})


def test_candidates_must_be_pure():
    grid = {"noise": ["laplace", "gaussian"], "delta": [1e-6]}
    message = "DPBorda(delta=1e-06) is impossible: noise='laplace' is pure and needs delta=0"
    check_refused(message, DPBorda(), grid)
    message = "DPBorda(delta=1e-06, noise='gaussian') has delta=1e-06; selection is stated for pure candidates only"
    check_refused(message, [DPBorda(), DPBorda(delta=1e-6, noise="gaussian")])
    check_refused("has delta=", ShufflePairwise())


def test_candidates_must_be_private():
    check_refused("the candidate Borda() is not private", [DPBorda(), Borda()])
    check_refused("is not private", make_pipeline(RatingsToRankings(), Borda()))
    check_refused("is not private", Aggregator())


def test_candidates_must_share_a_neighbouring_relation():
    message = "must share one neighbouring relation, got ['add_remove', 'replace']"
    check_refused(message, DPBorda(), {"neighboring": ["add_remove", "replace"]})
    check_refused(message, [DPBorda(), LDPPairwise()])


def test_candidates_must_be_aggregators():
    for estimator in (Ridge(), make_pipeline(RatingsToRankings(), Ridge()), None, DPBorda, [DPBorda(), "Borda"]):
        check_refused("estimator must be an aggregator, a Pipeline that ends in one, or a list of these", estimator)
    check_refused("must be an aggregator", make_pipeline(RatingsToRankings(), DPBorda()), {"dpborda": [Ridge()]})


class Keeps(DPBorda):
    """Subclass whose `fit` keeps the ballots, which the guarantee of its plan does not cover."""

    def fit(self, X, y=None):
        super().fit(X)
        self.ballots_ = X
        return self


def test_candidates_must_not_override_a_step_of_the_fit():
    message = "has a fit of its own, so its guarantee is not known before the fit; define _compose instead"
    check_refused(message, [DPBorda(), Keeps()])
    check_refused(message, make_pipeline(RatingsToRankings(), Keeps()), {"keeps__epsilon": [0.5, 1.0]})


class StatesLess(DPBorda):
    """Subclass whose `plan_for` states less than its fit spends."""

    def plan_for(self, profile):
        return DPBorda(epsilon=0.01).plan_for(profile)


class SpendsMore(DPBorda):
    """Subclass whose fit spends twice the epsilon of its plan, as its own forecast states."""

    def guarantee_before(self, X, voter_epsilon=None):
        return DPBorda(epsilon=2 * self.epsilon).guarantee_before(X)

    def fit(self, X, y=None):
        return DPBorda(epsilon=2 * self.epsilon).fit(X)


def test_candidates_must_not_state_a_guarantee_of_their_own():
    for candidate, name in ((StatesLess(), "plan_for"), (SpendsMore(), "guarantee_before")):
        message = f"has a {name} of its own, which may not match its fit; define _compose instead"
        check_refused(message, [DPBorda(), candidate])
        check_refused(message, make_pipeline(RatingsToRankings(), candidate))


def test_steps_of_pipelines_must_not_mix_ballots():
    for step in (StandardScaler(), FunctionTransformer()):
        message = f"has a step {type(step).__name__}, which may mix ballots"
        check_refused(message, make_pipeline(step, DPBorda()))


def test_every_candidate_must_be_possible():
    check_refused("DPBorda(epsilon=-1) is impossible: epsilon must be a positive", DPBorda(), {"epsilon": [1.0, -1]})
    check_refused("Invalid parameter 'epsilom'", DPBorda(), {"epsilom": [1.0]})
    check_refused("is impossible: Central cannot answer", Aggregator(Central(noise="exponential")))
    message = (
        "DPPrudentOrder() is impossible: the prudent order of 30 items needs a window (without one at most 16 items)"
    )
    check_refused(message, DPPrudentOrder(), n_items=30)


def test_voters_must_not_have_their_own_epsilon():
    profile = Profile.from_rankings(X, voter_epsilon=np.ones(len(X)))
    with pytest.raises(ValueError, match="voters with an epsilon of their own are not supported"):
        PrivateSelection(LDPPairwise()).fit(profile)


# The number of draws


def probabilities(eta, gamma):
    """Return P(K = 1), P(K = 2), ... from the definition, without a tail of negligible probability."""
    k = np.arange(1, math.ceil(60 / gamma))
    log_weights = k * math.log1p(-gamma) + np.append(0, np.cumsum(np.log((k[:-1] + eta) / (k[:-1] + 1))))
    return np.exp(log_weights) / np.exp(log_weights).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distribution", "mean"),
    [("geometric", 10), ("geometric", 1.5), ("logarithmic", 10), ("logarithmic", 2), (0.5, 6), (-0.5, 4), (-0.9, 1.5)],
)
def test_the_number_of_draws_has_the_stated_mean_and_distribution(distribution, mean):
    eta, size, bits = eta_of(distribution), 4000, seeded(3)
    gamma = gamma_of(eta, mean)
    expected = probabilities(eta, float(gamma))
    k = np.arange(1, len(expected) + 1)
    assert (k * expected).sum() == pytest.approx(mean, rel=1e-6)
    drawn = np.array([draw_count(eta, gamma, bits) for _ in range(size)])
    assert drawn.min() == 1
    deviation = math.sqrt((k**2 * expected).sum() - mean**2)
    assert abs(drawn.mean() - mean) < 4 * deviation / math.sqrt(size)
    counts = np.bincount(np.minimum(drawn, len(expected)), minlength=len(expected) + 1)[1:]
    frequent = size * expected >= 8
    observed = np.append(counts[frequent], counts[~frequent].sum())
    assert stats.chisquare(observed, size * np.append(expected[frequent], expected[~frequent].sum())).pvalue > 1e-3


@pytest.mark.parametrize("distribution", ["geometric", "logarithmic", 0.5, -0.5])
def test_a_mean_of_one_makes_one_draw(distribution):
    eta = eta_of(distribution)
    assert gamma_of(eta, 1) == 1
    assert {draw_count(eta, gamma_of(eta, 1), seeded()) for _ in range(50)} == {1}


def test_gamma_known_answers():
    assert gamma_of(1.0, 10) == Fraction(1, 10)
    assert gamma_of(1.0, 2.5) == Fraction(2, 5)
    gamma = float(gamma_of(0.0, 7.0))
    assert (1 / gamma - 1) / math.log(1 / gamma) == pytest.approx(7.0)
    gamma = float(gamma_of(-0.5, 7.0))
    assert -0.5 * (1 - gamma) / (gamma * (1 - gamma**-0.5)) == pytest.approx(7.0)


def test_coins_have_exact_probabilities():
    """Uniform words are compared with the digits of p in base 2^64: 1/3 is 0.5555... in base 16, and 1/2 has one."""
    third = 2**64 // 3
    assert happens(Fraction(1, 3), DealtBits([third - 1]))
    assert not happens(Fraction(1, 3), DealtBits([third + 1]))
    assert happens(Fraction(1, 3), DealtBits([third, third, third - 1]))
    assert not happens(Fraction(1, 3), DealtBits([third, third, third + 1]))
    assert happens(Fraction(1, 2), DealtBits([2**63 - 1]))
    assert not happens(Fraction(1, 2), DealtBits([2**63]))
    assert happens(Fraction(1), DealtBits([2**64 - 1]))
    assert not happens(Fraction(0), DealtBits([]))
    fine = Fraction(1, 2**100)
    assert happens(fine, DealtBits([0, 2**28 - 1]))
    assert not happens(fine, DealtBits([0, 2**28]))
