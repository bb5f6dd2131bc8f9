"""Private scores and selections on persons and weights: noise in proportion to the bound, and one unit throughout."""

import re
from fractions import Fraction

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPKwikSort,
    DPPairwise,
    LDPPairwise,
    SegmentedAggregator,
    ShufflePairwise,
)
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import BALLOT, PERSON, WEIGHT_GRID, WeightBound
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.mechanisms import LaplaceNoise
from sklearn_dprank.model_selection import PrivateKendallTau, PrivateSelection
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee, guarantee_of

X = make_mallows(120, 4, 0.7, center=range(4), random_state=0)
WHO = np.random.default_rng(1).integers(0, 50, len(X))
W = np.random.default_rng(2).gamma(2, 1, len(X))
PERSONS = Profile.from_rankings(X, groups=WHO, sample_weight=W, max_weight=2.5)
WEIGHED = Profile.from_rankings(X, sample_weight=W, max_weight=2.5)
UNITS = pytest.mark.parametrize(("profile", "unit"), [(PERSONS, PERSON), (WEIGHED, BALLOT)], ids=["persons", "weights"])
FITTED = Borda().fit(X)
SILENT = 1e10  # nats: noise is 0, but for once in e^700 calls


# The score


@UNITS
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_noise_of_a_score_grows_with_the_bound(profile, unit, neighboring, monkeypatch):
    """A person moves the net agreement by at most 2.5 x 720720 x C(4, 2), and twice that under "replace"."""
    used = []

    def added(noise, vector, bits):
        used.append((noise.rate, int(vector[0])))
        return vector

    monkeypatch.setattr(LaplaceNoise, "added", added)
    epsilon = 0.5
    PrivateKendallTau(epsilon, neighboring)(FITTED, profile)
    PrivateKendallTau(epsilon, neighboring)(FITTED, profile.counted())
    most = (1 if neighboring == "add_remove" else 2) * Fraction(5, 2) * WEIGHT_GRID * 6
    exact = sum(int(profile.margins[i, j]) for k, i in enumerate(FITTED.consensus_) for j in FITTED.consensus_[k + 1 :])
    assert [vector for _, vector in used] == [exact] * 2
    assert all(0.9999 * Fraction(epsilon) / most < rate <= Fraction(epsilon) / most for rate, _ in used)


def test_a_score_is_in_votes_and_not_divided_by_the_total_weight():
    scorer = PrivateKendallTau(SILENT)
    times = [1, 4, 2]
    weighed = Profile.from_rankings(X[:3], sample_weight=times, max_weight=4)
    assert scorer(FITTED, weighed) == scorer(FITTED, np.repeat(X[:3], times, axis=0)) != 0
    person = Profile.from_rankings([[0, 1, 2, 3], [0, 1, 3, 2]], groups=["ann", "ann"])  # they agree on 6 and 4 pairs
    upwards = Borda().fit([[0, 1, 2, 3]])
    assert scorer(upwards, person) == 5
    others = Profile.from_rankings([[0, 1, 2, 3], [0, 1, 3, 2], [1, 1, 1, 1]], groups=["ann", "ann", "bob"])
    assert scorer(upwards, others) == 5  # the total weight is 2 here


@UNITS
def test_the_guarantee_of_a_score_names_the_unit(profile, unit):
    scorer = PrivateKendallTau(0.25, "replace")
    guarantee = scorer.guarantee_for(profile)
    assert (guarantee.epsilon, guarantee.neighboring, guarantee.unit) == (0.25, "replace", unit)
    assert scorer.guarantee_for(X) == scorer.guarantee_for(Profile.from_rankings(X)) == scorer.guarantee
    fit = DPBorda(neighboring="replace").fit(profile).privacy_
    assert PrivacyGuarantee.compose([fit, guarantee]).unit == unit
    with pytest.raises(ValueError, match="epsilon must be"):
        PrivateKendallTau(-1).guarantee_for(profile)


def test_a_fit_on_persons_and_a_score_of_ballots_do_not_add_up():
    fit = DPBorda().fit(PERSONS).privacy_
    with pytest.raises(ValueError, match="guarantees for different units do not add up"):
        PrivacyGuarantee.compose([fit, PrivateKendallTau().guarantee_for(X)])


# Selection


@UNITS
def test_a_selection_states_the_unit_before_and_after(profile, unit):
    search = PrivateSelection([DPBorda(epsilon=0.5), DPPairwise(epsilon=0.25)], score_epsilon=0.5, random_state=0)
    before = search.guarantee(4, bound=profile.bound)
    assert (before.epsilon, before.unit) == (3.0, unit)
    assert search.guarantee_before(profile) == before
    fitted = search.fit(profile)
    assert guarantee_of(fitted) == fitted.privacy_ == fitted.best_estimator_.privacy_ == before
    units = fitted.best_score_ * WEIGHT_GRID
    assert units == pytest.approx(round(units), abs=1e-3)
    assert abs(fitted.best_score_) < 1e4
    single = "person" if unit == PERSON else "ballot"
    assert f"Unit: {unit}." in before.statement() and f"no single {single} changes" in before.statement()


def test_a_budget_counts_selections_of_one_unit():
    budget = PrivacyBudget(epsilon=2.0)
    search = PrivateSelection(DPBorda(epsilon=0.1), score_epsilon=0.1, mean_draws=2)
    budget.fit(search, PERSONS)
    assert budget.spent_.unit == PERSON and budget.spent_.epsilon == pytest.approx(0.6)
    with pytest.raises(ValueError, match=re.escape("protects 'one ballot', the releases before it")):
        budget.fit(search, X)


def test_scores_of_a_selection_have_the_bound_of_the_profile(monkeypatch):
    """Fits and scores need noise in proportion to the bound; l1 is C(4, 2) for a score and 8 for Borda."""
    rates, added = [], LaplaceNoise.added

    def seen(noise, vector, bits):
        rates.append(noise.rate)
        return added(noise, vector, bits)

    monkeypatch.setattr(LaplaceNoise, "added", seen)
    PrivateSelection(DPBorda(epsilon=0.5), score_epsilon=0.25, mean_draws=1, random_state=0).fit(PERSONS)
    most = PERSONS.bound.most
    assert [float(rate) for rate in rates] == pytest.approx([0.5 / (8 * most), 0.25 / (6 * most)], rel=1e-4)


def test_candidates_of_another_unit_are_refused():
    class Rows(Central):
        """A channel that does not count persons."""

        def plan(self, asks, n_items, n_voters=None, bound=None):
            return super().plan(asks, n_items, n_voters)

    search = PrivateSelection([DPBorda(), Aggregator(Rows())])
    message = "candidates must protect the unit of the score, 'all ballots of one person', got ['one ballot']"
    for refused in (search.fit, search.guarantee_before):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused(PERSONS)
    assert search.guarantee(4).unit == BALLOT


@pytest.mark.parametrize("candidate", [LDPPairwise(), ShufflePairwise()], ids=lambda one: type(one).__name__)
def test_candidates_of_one_report_a_voter_are_refused(candidate):
    with pytest.raises(ValueError, match="is impossible: groups and sample_weight are for"):
        PrivateSelection([DPBorda(neighboring="replace"), candidate]).fit(PERSONS)


def test_an_order_for_each_segment_has_no_score():
    regions = SegmentedAggregator(["a", "b"], delta=0.0, pooling=False)
    budget = PrivacyBudget(100.0)
    with pytest.raises(ValueError, match="has an order for each segment, and a score is of one order"):
        budget.fit(PrivateSelection([DPBorda(), regions]), X)
    assert budget.releases_ == ()
    with pytest.raises(ValueError, match="has an order for each segment, and a score is of one order"):
        PrivateKendallTau()(regions.fit(X, segments=["a", "b"] * 60), X)
    whole = PrivateSelection(SegmentedAggregator(delta=0.0)).fit(PERSONS)
    assert whole.privacy_.unit == PERSON


def test_pipelines_that_transform_are_refused_before_a_draw():
    ratings = make_pipeline(RatingsToRankings(), DPBorda())
    search = PrivateSelection([DPBorda(), ratings], random_state=0)
    with pytest.raises(ValueError, match=r"transforms tables.*transform the table before Profile\.from_rankings"):
        search.fit(PERSONS)
    assert not hasattr(search, "privacy_")
    search.set_params(estimator=[make_pipeline("passthrough", DPBorda()), DPKwikSort()])
    assert search.fit(PERSONS).privacy_.unit == PERSON


def test_weights_need_a_public_bound():
    for bound in (None, WeightBound(PERSON, None), WeightBound(PERSON, "auto")):
        profile = Profile.from_rankings(X, groups=WHO)
        profile.bound = bound
        for refused in (
            PrivateSelection(DPBorda()).fit,
            PrivateSelection(DPBorda()).guarantee_before,
            PrivateKendallTau().guarantee_for,
            lambda ballots: PrivateKendallTau()(FITTED, ballots),
        ):
            with pytest.raises(ValueError, match="needs a public bound on weights; pass a number as max_weight"):
                refused(profile)
        if bound is not None:
            with pytest.raises(ValueError, match="needs a public bound on weights"):
                PrivateSelection(DPBorda()).guarantee(4, bound=bound)


def test_an_epsilon_too_small_for_the_bound_is_refused_before_a_draw():
    profile = Profile.from_rankings(X, groups=WHO, max_weight=1e9)
    search = PrivateSelection(DPBorda(epsilon=50.0), score_epsilon=1e-3, random_state=0)
    with pytest.raises(ValueError, match=r"score_epsilon=0\.001 makes the score impossible: .* use at least"):
        search.fit(profile)
    assert not hasattr(search, "privacy_")
    assert search.guarantee(4).epsilon == pytest.approx(3 * 50.001)
