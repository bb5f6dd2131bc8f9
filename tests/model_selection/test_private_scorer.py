"""`PrivateKendallTau`: exact agreement plus discrete Laplace noise, on persons and weights too, and in selections."""

import math
import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from long_tools import of_catalogue
from oracles import all_ballots, distinct_ballots
from scipy import stats
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from sklearn_dprank import Aggregator, Borda, DPBorda, DPKwikSort, DPPairwise, SegmentedAggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.weights import BALLOT, PERSON, WEIGHT_GRID, WeightBound
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.mechanisms import LaplaceNoise
from sklearn_dprank.model_selection import PrivateKendallTau, PrivateSelection, cross_validate
from sklearn_dprank.model_selection.private import NetAgreement
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee, guarantee_of

X = make_mallows(50, 4, 0.8, random_state=0)
FITTED = Borda().fit(X)
SILENT = 1e9  # nats: noise is 0, but for once in e^(10^8) calls


def naive_agreement(order, ballots):
    """Voters who agree minus voters who disagree, pair by pair; comparisons with NaN are false."""
    return sum(
        int(ballot[i] < ballot[j]) - int(ballot[i] > ballot[j])
        for ballot in np.asarray(ballots, dtype=float)
        for i, j in combinations(order, 2)
    )


@pytest.mark.parametrize("form", ["comparisons", "ratings", "lists"])
def test_net_agreement_of_a_large_catalogue_is_that_of_the_items_that_are_listed(form):
    ranks = np.random.default_rng(0).permutation(5001)
    few, many = (NetAgreement(tuple(ranks[:m])).vector(of_catalogue(form, m), None) for m in (12, 5001))
    assert many.dtype == few.dtype == np.int64 and many.tolist() == few.tolist() != [0]


@pytest.mark.slow
@given(st.lists(st.sampled_from(all_ballots(4).tolist()), min_size=1, max_size=8), st.permutations(range(4)))
def test_net_agreement_is_the_naive_one(ballots, order):
    agreement = NetAgreement(tuple(np.argsort(order)))
    vector = agreement.vector(Profile.from_rankings(ballots), None)
    assert agreement.read(vector, 4) == naive_agreement(order, ballots)


@pytest.mark.slow
@pytest.mark.parametrize(("neighboring", "epsilon"), [("add_remove", 1.5), ("replace", 3.0), ("add_remove", 0.3)])
def test_noise_has_the_exact_law(neighboring, epsilon):
    """Discrete Laplace noise of rate epsilon over the sensitivity, around the exact value."""
    ballots = distinct_ballots(3)[:5]
    fitted = Borda().fit(ballots)
    profile = Profile.from_rankings(ballots)
    size = 4000
    scorer = PrivateKendallTau(epsilon, neighboring, random_state=np.random.default_rng(5))
    noise = [scorer(fitted, profile) - naive_agreement(fitted.consensus_, ballots) for _ in range(size)]
    rate = epsilon / (3 if neighboring == "add_remove" else 6)
    cells = np.arange(-40, 41)
    expected = size * math.tanh(rate / 2) * np.exp(-rate * abs(cells))
    kept = expected >= 10
    observed = np.array([np.count_nonzero(np.equal(noise, cell)) for cell in cells[kept]])
    observed, expected = (
        np.append(observed, size - observed.sum()),
        np.append(expected[kept], size - expected[kept].sum()),
    )
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_random_state():
    scorer = PrivateKendallTau(0.1, random_state=7)
    assert len({scorer(FITTED, X) for _ in range(5)}) == 1
    generator = np.random.default_rng(7)
    assert len({PrivateKendallTau(0.1, random_state=generator)(FITTED, X) for _ in range(10)}) > 1


def test_guarantee_is_of_the_parameters():
    guarantee = PrivateKendallTau(0.25, "replace").guarantee
    assert (guarantee.epsilon, guarantee.delta) == (0.25, 0.0)
    assert (guarantee.trust, guarantee.neighboring) == ("central", "replace")
    assert guarantee.certified
    assert not PrivateKendallTau(random_state=0).guarantee.certified


def test_ballots_profiles_and_names():
    expected = PrivateKendallTau(SILENT)(FITTED, X)
    scorer = PrivateKendallTau(SILENT)
    assert scorer(FITTED, Profile.from_rankings(X)) == expected
    assert scorer(FITTED, Profile.from_rankings(X, keep="counts")) == expected
    assert scorer(FITTED, X.tolist()) == expected
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = Borda().fit(frame)
    assert scorer(named, frame) == expected
    with pytest.raises(ValueError, match="feature names should match"):
        scorer(named, frame[list("badc")])


def test_pipelines_are_scored_on_what_their_aggregator_sees():
    pipeline = make_pipeline("passthrough", RatingsToRankings(), Borda()).fit(-X)
    assert PrivateKendallTau(SILENT)(pipeline, -X) == PrivateKendallTau(SILENT)(FITTED, X)
    assert PrivateKendallTau(SILENT)(pipeline, X) < 0  # read as ratings, the reverse


def test_transformers_that_may_mix_ballots_are_refused():
    """The noise is for one row: a mean of all rows would let one voter move them all."""
    for steps in ((SimpleImputer(),), (RatingsToRankings(), SimpleImputer())):
        pipeline = make_pipeline(*steps, Borda()).fit(X)
        with pytest.raises(ValueError, match=r"no noise for the step 'simpleimputer' \(SimpleImputer\), which may mix"):
            PrivateKendallTau()(pipeline, X)


def test_as_a_scikit_learn_scorer():
    search = GridSearchCV(Borda(), [{}], scoring=PrivateKendallTau(SILENT), cv=KFold(2)).fit(X)
    for k, (train, test) in enumerate(KFold(2).split(X)):
        expected = naive_agreement(Borda().fit(X[train]).consensus_, X[test])
        assert search.cv_results_[f"split{k}_test_score"].tolist() == [expected]
    trials = cross_validate(Borda(), X, n_trials=2, scoring=PrivateKendallTau(SILENT), random_state=0, progress=False)
    assert trials["test_score"].tolist() == [PrivateKendallTau(SILENT)(FITTED, X)] * 2


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, math.nan, "much"])
def test_bad_epsilon(epsilon):
    message = re.escape(f"epsilon must be a positive, finite number (in nats), got {epsilon!r}.")
    with pytest.raises(ValueError, match=message):
        PrivateKendallTau(epsilon)(FITTED, None)  # before the ballots
    with pytest.raises(ValueError, match=message):
        _ = PrivateKendallTau(epsilon).guarantee


def test_bad_parameters():
    with pytest.raises(ValueError, match="neighboring must be one of"):
        PrivateKendallTau(neighboring="swap")(FITTED, None)
    with pytest.raises(ValueError, match="random_state must be None, an int"):
        PrivateKendallTau(random_state="now")(FITTED, None)


def test_bad_estimators_and_ballots():
    scorer = PrivateKendallTau()
    with pytest.raises(ValueError, match="estimator must be an aggregator, or a Pipeline that ends in one, got Ridge"):
        scorer(Ridge(), X)
    with pytest.raises(ValueError, match="got Ridge"):
        scorer(make_pipeline(RatingsToRankings(), Ridge()).fit(X, X[:, 0]), X)
    with pytest.raises(NotFittedError):
        scorer(Borda(), X)
    with pytest.raises(ValueError, match="expecting 4 "):
        scorer(FITTED, X[:, :3])
    with pytest.raises(ValueError, match="expecting 4 items"):
        scorer(FITTED, Profile.from_rankings(X[:, :3]))


# Persons and weights


VOTES = make_mallows(120, 4, 0.7, center=range(4), random_state=0)
WHO = np.random.default_rng(1).integers(0, 50, len(VOTES))
W = np.random.default_rng(2).gamma(2, 1, len(VOTES))
COMPARED = Profile.from_comparisons(None, [0, 0, 1] * 9, [1, 2, 2] * 9, person=[0] * 27, items=range(4))


def test_score_of_comparisons_is_bounded_in_the_norm_of_its_noise():
    """One person with 27 comparisons changes the score by at most one comparison, whatever norm the profile has."""
    fitted = DPBorda(epsilon=1.0, random_state=0).fit(VOTES)
    fitted.ranks_ = np.arange(4)
    for norm in ("l1", "l2"):
        scores = [PrivateKendallTau(epsilon=40.0)(fitted, COMPARED.clipped(norm)) for _ in range(5)]
        assert 0.8 < np.median(scores) < 1.2


PERSONS = Profile.from_rankings(VOTES, groups=WHO, sample_weight=W, max_weight=2.5)
WEIGHED = Profile.from_rankings(VOTES, sample_weight=W, max_weight=2.5)
UNITS = pytest.mark.parametrize(("profile", "unit"), [(PERSONS, PERSON), (WEIGHED, BALLOT)], ids=["persons", "weights"])
CONSENSUS = Borda().fit(VOTES)
SILENT_ON_THE_GRID = 1e10  # nats: noise is 0, but for once in e^700 calls


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
    PrivateKendallTau(epsilon, neighboring)(CONSENSUS, profile)
    PrivateKendallTau(epsilon, neighboring)(CONSENSUS, profile.counted())
    most = (1 if neighboring == "add_remove" else 2) * Fraction(5, 2) * WEIGHT_GRID * 6
    exact = sum(
        int(profile.margins[i, j]) for k, i in enumerate(CONSENSUS.consensus_) for j in CONSENSUS.consensus_[k + 1 :]
    )
    assert [vector for _, vector in used] == [exact] * 2
    assert all(0.9999 * Fraction(epsilon) / most < rate <= Fraction(epsilon) / most for rate, _ in used)


def test_a_score_is_in_votes_and_not_divided_by_the_total_weight():
    scorer = PrivateKendallTau(SILENT_ON_THE_GRID)
    times = [1, 4, 2]
    weighed = Profile.from_rankings(VOTES[:3], sample_weight=times, max_weight=4)
    assert scorer(CONSENSUS, weighed) == scorer(CONSENSUS, np.repeat(VOTES[:3], times, axis=0)) != 0
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
    assert scorer.guarantee_for(VOTES) == scorer.guarantee_for(Profile.from_rankings(VOTES)) == scorer.guarantee
    fit = DPBorda(neighboring="replace").fit(profile).privacy_
    assert PrivacyGuarantee.compose([fit, guarantee]).unit == unit
    with pytest.raises(ValueError, match="epsilon must be"):
        PrivateKendallTau(-1).guarantee_for(profile)


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


def test_an_order_for_each_segment_has_no_score():
    regions = SegmentedAggregator(["a", "b"], delta=0.0, pooling=False)
    budget = PrivacyBudget(100.0)
    with pytest.raises(ValueError, match="has an order for each segment, and a score is of one order"):
        budget.fit(PrivateSelection([DPBorda(), regions]), VOTES)
    assert budget.releases_ == ()
    with pytest.raises(ValueError, match="has an order for each segment, and a score is of one order"):
        PrivateKendallTau()(regions.fit(VOTES, segments=["a", "b"] * 60), VOTES)
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
        profile = Profile.from_rankings(VOTES, groups=WHO)
        profile.bound = bound
        for refused in (
            PrivateSelection(DPBorda()).fit,
            PrivateSelection(DPBorda()).guarantee_before,
            PrivateKendallTau().guarantee_for,
            lambda ballots: PrivateKendallTau()(CONSENSUS, ballots),
        ):
            with pytest.raises(ValueError, match="needs a public bound on weights; pass a number as max_weight"):
                refused(profile)
        if bound is not None:
            with pytest.raises(ValueError, match="needs a public bound on weights"):
                PrivateSelection(DPBorda()).guarantee(4, bound=bound)


def test_an_epsilon_too_small_for_the_bound_is_refused_before_a_draw():
    profile = Profile.from_rankings(VOTES, groups=WHO, max_weight=1e9)
    search = PrivateSelection(DPBorda(epsilon=50.0), score_epsilon=1e-3, random_state=0)
    with pytest.raises(ValueError, match=r"score_epsilon=0\.001 makes the score impossible: .* use at least"):
        search.fit(profile)
    assert not hasattr(search, "privacy_")
    assert search.guarantee(4).epsilon == pytest.approx(3 * 50.001)
