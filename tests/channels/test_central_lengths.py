"""Fits on ballots of bounded length: less noise, the bound in the guarantee, and neighbours within the sensitivity."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles import profiles, seeded
from scipy.stats import kendalltau

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    DPSwissBorda,
    DPTopK,
    LDPPairwise,
    SegmentedAggregator,
    ShufflePairwise,
)
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.ballots.weights import WEIGHT_GRID
from sklearn_dprank.channels import Central
from sklearn_dprank.channels.segmented import pooled
from sklearn_dprank.mechanisms import Laplace
from sklearn_dprank.model_selection import PrivateKendallTau, PrivateSelection, cross_validate
from sklearn_dprank.queries import (
    AllMargins,
    Ask,
    GroupNetWins,
    KemenyUtility,
    NetWins,
    NumberOfVoters,
    PairMargin,
    PairTallies,
    PositionalScores,
    ScaledMargins,
)
from sklearn_dprank.queries.base import weighted_sensitivity
from sklearn_dprank.rules import KwikSortRule, Rule
from sklearn_dprank.rules.base import Consensus
from sklearn_dprank.sampling.bit_source import Bits


def comparisons(n_voters, n_items, spread, seed):
    """Return one comparison of each voter by the Bradley-Terry model, and the strengths."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(spread, -spread, n_items)
    pairs = np.argsort(rng.random((n_voters, n_items)), axis=1)[:, :2]
    won = rng.random(n_voters) < 1 / (1 + np.exp(np.diff(strengths[pairs])[:, 0]))
    X = np.full((n_voters, n_items), np.nan)
    X[np.arange(n_voters), pairs[:, 0]], X[np.arange(n_voters), pairs[:, 1]] = ~won, won
    return X, strengths


X, STRENGTHS = comparisons(600, 5, 2.0, seed=0)
PAIRS = Profile.from_rankings(X, max_listed=2)


def test_one_comparison_a_voter_gives_a_good_order():
    """With 30 items, 5,000 voters and epsilon 1, the noise costs almost nothing; without the bound, it is all."""
    bounded, unbounded, exact = [], [], []
    for seed in range(6):
        votes, strengths = comparisons(5000, 30, 3.0, seed)
        for found, estimator, profile in (
            (bounded, DPBorda(epsilon=1.0, random_state=seed), Profile.from_rankings(votes, max_listed=2)),
            (unbounded, DPBorda(epsilon=1.0, random_state=seed), votes),
            (exact, Borda(), votes),
        ):
            found.append(kendalltau(-estimator.fit(profile).ranks_, strengths)[0])
    assert np.mean(bounded) >= 0.94 and np.mean(exact) - np.mean(bounded) < 0.01
    assert np.mean(unbounded) < 0.4


@pytest.mark.parametrize(
    "estimator",
    [
        DPBorda(),
        DPBorda(noise="knorm"),
        DPBorda(noise="gaussian", delta=1e-6),
        DPHistogram(),
        DPPairwise(),
        DPKwikSort(),
        DPKemenySampler(),
        DPPrudentOrder(),
        DPSwissBorda(),
        DPTopK(2),
        SegmentedAggregator(),
        Aggregator(Central(), "plurality"),
    ],
    ids=repr,
)
def test_the_bound_is_part_of_the_guarantee(estimator):
    fitted, plain = estimator.fit(PAIRS), estimator.guarantee_before(X)
    assert fitted.privacy_.how == f"{plain.how}, calibrated to ballots of at most 2 items (longer ones count less)"
    assert (fitted.privacy_.epsilon, fitted.privacy_.unit) == (plain.epsilon, "one ballot")
    assert "calibrated to ballots of at most 2 items" in fitted.privacy_.statement(width=None)
    assert fitted.privacy_ == estimator.guarantee_before(PAIRS)
    assert fitted.max_listed_ == 2 and type(fitted.max_listed_) is int and fitted.max_weight_ == 1
    assert not hasattr(estimator.fit(X), "max_listed_")


def test_huge_weights_do_not_overflow_positional_scores():
    first_two = np.full((70, 20), np.nan)
    first_two[:, :2] = 0, 1
    one, many = (
        Profile.from_rankings(X, sample_weight=np.full(len(X), 1e10), max_weight=1e10, max_listed=2)
        for X in (first_two[:1], first_two)
    )
    scores = PositionalScores(tuple(range(20, 0, -1)))
    assert scores.vector(many, None).tolist() == [70 * each for each in scores.vector(one, None).tolist()]


def test_noise_is_that_of_short_ballots():
    noise = DPBorda(epsilon=0.5).fit(PAIRS).noise_
    assert (noise.law.rate, noise.grid) == (Laplace().calibrated(None, _moved(2), 5, 0.5, 0.0).rate, WEIGHT_GRID)
    gaussian = DPBorda(delta=1e-6, noise="gaussian")
    ratio = gaussian.fit(PAIRS).noise_.law.std / WEIGHT_GRID / gaussian.fit(X).noise_.law.std
    assert ratio == pytest.approx((2 / 40) ** 0.5, rel=1e-3)


def _moved(l1):
    return NetWins().sensitivity(5, "add_remove")._replace(l1=l1 * WEIGHT_GRID)


def test_a_bound_of_all_items_changes_no_result():
    complete = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 0, 1, 1, 2]] * 40
    for k in (5, 6, 10**20):
        profile = Profile.from_rankings(complete, max_listed=k)
        np.testing.assert_array_equal(profile.margins, Profile.from_rankings(complete).margins * WEIGHT_GRID)
        assert DPBorda().plan_for(profile)[1].prices[NetWins()].sensitivity.l1 == 12 * WEIGHT_GRID


def test_a_plan_is_for_one_bound_on_the_length():
    plan = DPBorda().plan_for(PAIRS)[1]
    for other in (X, Profile.from_rankings(X, max_listed=3), Profile.from_rankings(X, sample_weight=np.ones(len(X)))):
        with pytest.raises(ValueError, match="got a Profile with another one"):
            plan.open(other if isinstance(other, Profile) else Profile.from_rankings(other))


@pytest.mark.parametrize("estimator", [LDPPairwise(), ShufflePairwise()], ids=repr)
def test_channels_without_a_bound_refuse_it(estimator):
    with pytest.raises(ValueError, match="max_listed are for the channels Exact and Central"):
        estimator.fit(PAIRS)


# KwikSort: one ballot changes C(k, 2) of the answers at most


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize(("k", "paid"), [(2, 1), (3, 3), (4, 6), (5, 10), (None, 10)])
def test_pairs_are_paid_only_if_one_ballot_changes_them(k, paid, neighboring):
    profile = Profile.from_rankings(X, max_listed=k)
    plan = DPKwikSort(epsilon=1.5, neighboring=neighboring).plan_for(profile)[1]
    price, unit = plan.prices[PairMargin().kind], 1 if k is None else WEIGHT_GRID
    moves = 2 if neighboring == "replace" else 1
    assert price.times == 10 and price.mechanism.rate == Fraction(3, 2) / (moves * paid * unit)
    # All answers together: the L1 norm of all margins, times the rate.
    total = weighted_sensitivity(AllMargins(), 5, neighboring, profile.bound).l1
    assert total * price.mechanism.rate <= 1.5 and plan.guarantee.epsilon == 1.5


def test_gaussian_pairs_are_all_paid():
    bounded, plain = (
        DPKwikSort(noise="gaussian", delta=1e-6).plan_for(Shape(5, bound=b))[1] for b in (PAIRS.bound, None)
    )
    sigma, other = (plan.prices[PairMargin().kind].mechanism.sigma for plan in (bounded, plain))
    assert sigma == pytest.approx(other * WEIGHT_GRID)


@dataclass(frozen=True)
class AgainMargin(PairMargin):
    """A query of the user's own that may ask about one pair several times."""

    again: int = 0


def test_answers_about_one_pair_in_several_ways_are_all_paid():
    bounded = Central(epsilon=1.0).plan([Ask(AgainMargin(), 12)], 5, bound=PAIRS.bound)
    assert bounded.prices[AgainMargin().kind].mechanism.rate == Fraction(1, 12 * WEIGHT_GRID)


def test_both_directions_of_a_pair_are_one_answer():
    """Otherwise, a ballot could change two answers about one pair."""

    class Both(Rule):
        def asks(self, n_items):
            return [Ask(PairMargin(), 3)]

        def aggregate(self, answers):
            found = [answers.answer(PairMargin(*pair)) for pair in ((0, 1), (1, 0), (2, 1), (1, 2))]
            assert found[0] == -found[1] and found[2] == -found[3] and answers.left == {PairMargin: 1}
            return Consensus(np.arange(5))

    Aggregator(Central(epsilon=0.1), Both()).fit(PAIRS)
    plan = Central(epsilon=0.1).plan([Ask(PairMargin(), 2), Ask(AllMargins(), share=0.5)][:1], 5)
    answers = plan.open(Profile.from_rankings(X))(Bits.from_random_state(0))
    assert answers.answer(PairMargin(3, 1)) == -answers.answer(PairMargin(1, 3))


# Neighbours: a person comes, goes or is replaced

QUERIES = [
    NetWins(),
    AllMargins(),
    PairTallies(),
    PairTallies(((0, 2), (1, 2))),
    PairMargin(1, 0),
    GroupNetWins(((0, 2), (1, 3))),
    PositionalScores((5.0, 3.0, 1.0, 0.0)),
    ScaledMargins(((0, 1), (0, 2), (1, 3))),
    ScaledMargins(groups=((0, 1, 3), (2,))),
    NumberOfVoters(),
]
weights = st.floats(0, 9) | st.sampled_from([0.0, 1.0, 2.5])


@settings(max_examples=60, deadline=None)
@given(
    X=profiles(max_voters=9, max_items=4).filter(lambda X: X.shape[1] == 4),
    k=st.integers(2, 4),
    max_weight=st.sampled_from([0.3, 1, 2.5]),
    data=st.data(),
)
def test_no_person_with_long_ballots_moves_a_query_further(X, k, max_weight, data):
    n = len(X)
    who = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    w = data.draw(st.lists(weights, min_size=n, max_size=n))
    by = data.draw(st.sampled_from(["groups", "sample_weight", "both", "neither"]))
    columns = {"groups": np.array(who), "sample_weight": np.array(w)} if by == "both" else {}
    columns |= {"groups": np.array(who)} if by == "groups" else {}
    columns |= {"sample_weight": np.array(w)} if by == "sample_weight" else {}
    limits = {"max_listed": k} | ({} if by == "neither" else {"max_weight": max_weight})
    own = np.array(who) == who[0] if "groups" in columns else np.arange(n) == 0

    def read(rows, values=X):
        return Profile.from_rankings(values[rows], **{name: column[rows] for name, column in columns.items()}, **limits)

    everybody = np.ones(n, dtype=bool)
    turned = X.copy()
    turned[own] = X[own][:, ::-1]
    whole, without, other = read(everybody), read(~own), read(everybody, turned)
    for query in QUERIES:
        vectors = [query.vector(profile, seeded(0)).astype(object) for profile in (whole, without, other)]
        for neighboring, (one, two) in (("add_remove", vectors[:2]), ("replace", vectors[::2])):
            stated, moved = weighted_sensitivity(query, 4, neighboring, whole.bound), one - two
            assert abs(moved).sum() <= stated.l1 and (moved**2).sum() <= stated.l2_squared


# Other users of a profile


def test_persons_and_lengths_share_a_choice_of_the_weight():
    rng = np.random.default_rng(0)
    who = rng.integers(0, 150, len(X))
    profile = Profile.from_rankings(X, groups=who, max_weight="auto", max_listed=2)
    fitted = DPBorda(epsilon=3.0, delta=1e-6, noise="gaussian", random_state=0).fit(profile)
    assert fitted.max_listed_ == 2 and fitted.max_weight_ in (1.0, 2.0, 4.0, 8.0)
    chosen = Profile.from_rankings(X, groups=who, max_weight=fitted.max_weight_, max_listed=2)
    np.testing.assert_allclose(fitted.scores_ * WEIGHT_GRID, chosen.net_wins, atol=8 * fitted.noise_.law.std)


def test_private_scores_use_the_bound():
    fitted = Borda().fit(PAIRS)
    scores = [PrivateKendallTau(epsilon=1.0, random_state=seed)(fitted, PAIRS) for seed in range(200)]
    exact = PAIRS.margins[fitted.ranks_[:, None] < fitted.ranks_].sum() / WEIGHT_GRID
    assert np.std(scores) == pytest.approx(2**0.5, rel=0.3)  # Laplace noise of scale 1, not C(5, 2)
    assert np.mean(scores) == pytest.approx(exact, abs=0.5)
    selected = PrivateSelection(DPBorda(), {"epsilon": [0.5, 1.0]}, random_state=0).fit(PAIRS)
    for stated in (selected.privacy_, PrivateKendallTau().guarantee_for(PAIRS)):
        assert stated.how.endswith(", calibrated to ballots of at most 2 items (longer ones count less)")
    assert selected.privacy_.unit == "one ballot"


def test_folds_keep_the_bound():
    found = cross_validate(DPBorda(), PAIRS, cv=3, n_trials=1, random_state=0, progress=False)
    assert len(found["test_score"]) == 3


def test_segments_keep_the_bound():
    profile = Profile.from_rankings(X, max_listed=2)
    segments = np.arange(len(X)) % 3
    fitted = SegmentedAggregator([0, 1, 2], epsilon=2.0, random_state=0).fit(profile, segments=segments)
    assert fitted.max_listed_ == 2 and fitted.net_wins_.shape == (3, 5)
    unbounded = SegmentedAggregator([0, 1, 2], epsilon=2.0).fit(X, segments=segments).noise_.law.std
    assert fitted.noise_.law.std / WEIGHT_GRID == pytest.approx(unbounded * (2 / 40) ** 0.5, rel=1e-3)
    assert all(kendalltau(-ranks, STRENGTHS)[0] > 0.7 for ranks in fitted.ranks_)


def test_pooling_knows_how_far_short_ballots_spread():
    """Segments of like voters differ by chance; their own answers deserve a weight of .36, with the bound or without.

    Without information, the standard deviation is that of the longest ballots.
    """
    wins = []
    for seed in range(4):
        margins = Profile.from_rankings(comparisons(300, 30, 1.0, seed)[0]).net_wins
        wins.append(margins + np.random.default_rng(seed).normal(0, 6, 30))
    answers = np.array(wins), np.sum(wins, axis=0), np.full(4, 300.0)
    for bound in (2, None):
        assert pooled(*answers, 6.0, 6.0, 1.0, bound).own_weights == pytest.approx(0.36, abs=0.08)
    short, long = (pooled(*answers, 1e6, 1e6, 1.0, bound).std for bound in (2, None))
    assert long / short == pytest.approx(np.sqrt((30**2 - 1) / 3 / (6 / 90)), rel=0.01)


def test_swiss_rounds_read_scaled_margins_by_their_bound():
    """The scale of the last question depends on the bound."""
    fitted = DPSwissBorda(epsilon=50.0, random_state=0).fit(PAIRS)
    assert kendalltau(-fitted.ranks_, STRENGTHS)[0] == pytest.approx(1)
    spread = fitted.scores_.max() - fitted.scores_.min()
    exact = Aggregator(rule="bradley_terry").fit(X)
    assert spread == pytest.approx(np.ptp(STRENGTHS), rel=0.5) and (exact.ranks_ == fitted.ranks_).all()


def test_custom_rules_see_the_bound():
    class Reads(KwikSortRule):
        def aggregate(self, answers):
            assert answers.max_listed == self.expected
            return super().aggregate(answers)

    for profile, expected in ((PAIRS, 2), (Profile.from_rankings(X), None)):
        rule = Reads()
        rule.expected = expected
        Aggregator(Central(), rule).fit(profile)
        Aggregator(rule=rule).fit(profile)


def test_kemeny_samples_use_the_bound():
    plan = DPKemenySampler(epsilon=1.0).plan_for(PAIRS)[1]
    assert plan.prices[KemenyUtility()].mechanism.rate == pytest.approx(1 / WEIGHT_GRID, rel=1e-4)
