"""`recommend`: what comes back, which estimator it names where, what it refuses, and the error curves that it reads."""

import dataclasses
import json
import math
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_dprank import (
    DPBorda,
    DPBradleyTerry,
    DPPairwise,
    DPPrudentOrder,
    DPSwissBorda,
    DPTopK,
    LDPBorda,
    LDPPairwise,
    SecAggBorda,
    SecAggSwissBorda,
)
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_comparisons, make_mallows
from sklearn_dprank.metrics import excess_kendall_tau
from sklearn_dprank.model_selection import advice as rules, recommend
from sklearn_dprank.model_selection.advice import (
    FITTED,
    LEAST_GUESS,
    RESOLUTION,
    RESOLUTION_OF_BEST,
    UNIT,
    ErrorModel,
    Leaderboard,
    curves,
    expected,
    of_random_order,
)
from sklearn_dprank.privacy.composition import choice_range

STORED = curves()
TRUSTS = ["central", "local", "shuffle", "secure_aggregation"]

# What comes back


@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("epsilon", [0.01, 1, 3.0])
@pytest.mark.parametrize(("n_items", "k", "guess"), [(2, None, None), (5, 2, 0.1), (16, None, 0.4), (17, 5, None)])
@pytest.mark.parametrize("intervals", [False, True])
def test_result_is_usable(n_items, k, guess, epsilon, trust, intervals):
    advice = recommend(n_items, 200.0, epsilon, 1e-6, trust, k=k, disagreement=guess, intervals=intervals)
    X = make_mallows(200, n_items, 0.5, random_state=0)
    worst = 0.5 - (guess or 0.05) + 1e-6 if k is None else 1 - k / n_items
    for each in (advice, *advice.alternatives):
        with pytest.raises(NotFittedError):
            each.estimator.score(X)
        least, largest = each.error_range
        assert (RESOLUTION if k is None else RESOLUTION_OF_BEST) <= least <= each.error <= largest <= worst
        copy = clone(each.estimator)
        assert copy.get_params() == each.estimator.get_params()
        fitted = copy.set_params(random_state=0).fit(X)
        publishes = hasattr(fitted, "rank_intervals")
        assert publishes or not intervals
        assert each is not advice or advice.intervals == publishes
        wanted = np.minimum(np.arange(n_items), k) if isinstance(copy, DPTopK) else np.arange(n_items)
        assert sorted(fitted.ranks_) == wanted.tolist()
        # What was asked for is what is promised; pure mechanisms promise more.
        assert fitted.privacy_.epsilon <= epsilon and fitted.privacy_.delta <= 1e-6
        assert fitted.privacy_.trust == trust or (trust == "shuffle" and fitted.privacy_.trust == "local")
        assert fitted.privacy_.neighboring == ("add_remove" if trust == "central" else "replace")
    errors = [each.error for each in advice.alternatives]
    assert errors == sorted(errors)
    assert advice.estimator not in [each.estimator for each in advice.alternatives]
    assert f"{100 * (guess or 0.35):g} % of the pairs" in advice.reference
    with pytest.raises(dataclasses.FrozenInstanceError):
        advice.error = 0.0


def test_with_intervals_the_best_that_publishes_them_is_chosen():
    for arguments in [(10, 1000, 0.1), (45, 5000, 0.1, 1e-6), (45, 400, 1.0, 1e-6, "secure_aggregation")]:
        for k in (None, 3):
            free, bound = (recommend(*arguments, k=k, intervals=intervals) for intervals in (False, True))
            assert bound.intervals and not free.intervals
            publishing = [each for each in free.alternatives if rules.publishes_intervals(each.estimator)]
            chosen = {repr(each.estimator) for each in (bound, *bound.alternatives)}
            assert chosen == {repr(each.estimator) for each in publishing} and bound.error == publishing[0].error
            assert f"{publishing[0].estimator!r} does, with an expected error of " in free.reason
            assert bound.reason.endswith("It publishes rank intervals.")
            assert "is the least of those that publish rank intervals, on average over" in bound.reason
    alone = recommend(10, 1e4, 1.0, trust="local")
    assert alone.reason == recommend(10, 1e4, 1.0, trust="local", intervals=True).reason and alone.intervals


# The rules


@pytest.mark.parametrize(("neighboring", "halved"), [("add_remove", 1), ("replace", 2)])
def test_replaced_ballots_need_twice_the_epsilon(neighboring, halved):
    for epsilon in (0.01, 0.05, 0.2):
        advice = recommend(8, 2000, halved * epsilon, neighboring=neighboring)
        assert advice.error == recommend(8, 2000, epsilon).error
        assert advice.estimator.neighboring == neighboring


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6])
def test_gaussian_where_its_noise_is_less(epsilon, delta):
    few, many = (recommend(m, m / epsilon, epsilon, delta).estimator for m in (5, 45))
    assert (few.noise, few.delta) == ("knorm", 0)
    assert many.delta == delta and (isinstance(many, DPSwissBorda) or many.noise == "gaussian")
    assert recommend(45, 45 / epsilon, epsilon).estimator.noise == "knorm"  # without delta


@pytest.mark.slow
def test_a_shuffler_of_one_voter_is_not_recommended():
    advice = recommend(10, 3, 4.0, 1e-6, "shuffle")
    assert type(advice.estimator) is LDPBorda and "adds too little" in advice.reason
    assert recommend(10, 2500.9, 1, 1e-6, "shuffle").estimator.min_reports == 2500
    plenty = [recommend(10, n, 1, 1e-6, "shuffle").error for n in (1e8, 1e9)]
    assert plenty[0] == plenty[1] < 0.001  # the bias of the rule is left


@pytest.mark.filterwarnings("ignore:1,001 items")
def test_peeled_orders_with_a_delta():
    """Where Swiss rounds have more noise. If errors are nearly equal, rounds are better, because they have no floor."""
    for n_items, epsilon, guess in [(17, 0.03, 0.2), (20, 0.02, 0.12)]:
        advice = recommend(n_items, 5000, epsilon, 1e-6, disagreement=guess)
        assert repr(advice.estimator) == repr(DPPrudentOrder(epsilon, 1e-6))
        nearly = recommend(45, 5000, 5 * epsilon, 1e-6, disagreement=guess)
        assert isinstance(nearly.estimator, DPSwissBorda)
        (peeled,) = (each for each in nearly.alternatives if repr(each.estimator).startswith("DPPrudentOrder(delta"))
        assert peeled.error < nearly.error < peeled.error + 0.0005 and peeled.error_range[1] > 4 * nearly.error_range[1]
    assert repr(recommend(10, 5000, 0.05, 1e-6).estimator) == repr(DPPrudentOrder(0.05))
    considered = [recommend(m, 5000, 0.1, delta) for m, delta in [(2, 1e-6), (45, 0.0), (1001, 1e-6)]]
    assert not any(
        isinstance(each.estimator, DPPrudentOrder) and each.estimator.delta
        for advice in considered
        for each in (advice, *advice.alternatives)
    )


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("n_items", [3, 10, 45])
def test_range_of_a_pick_is_about_the_exact_one(n_items, epsilon):
    assert rules.range_of_pick(n_items, epsilon, 1e-6) == pytest.approx(
        choice_range(epsilon, 1e-6, n_items - 1), rel=0.15
    )


def test_local_rule():
    for epsilon, n_items, guess, name in [
        (0.5, 10, None, LDPPairwise),
        (2.0, 45, None, LDPBorda),
        (2.0, 45, 0.12, LDPPairwise),
        (4.0, 10, 0.45, LDPBorda),
    ]:
        assert type(recommend(n_items, 1e4, epsilon, trust="local", disagreement=guess).estimator) is name
    assert type(recommend(2, 1e4, 8, trust="local").estimator) is LDPPairwise


def test_secure_aggregation():
    few = recommend(10, 2000.7, 0.2, 1e-6, "secure_aggregation")
    assert repr(few.estimator) == repr(SecAggBorda(0.2, 1e-6, min_reports=2000)) and few.alternatives == ()
    many = recommend(45, 5000, 0.1, 1e-6, "secure_aggregation", disagreement=0.12)
    assert isinstance(many.estimator, SecAggSwissBorda)
    assert "it asks voters in rounds, SecAggBorda once" in many.reason
    # Skellam noise is hardly wider than the Gaussian noise of a curator who replaces ballots.
    central = recommend(10, 2000, 0.2, 1e-6, neighboring="replace")
    (gaussian,) = (a for a in central.alternatives if repr(a.estimator).startswith("DPBorda(delta"))
    assert gaussian.error <= few.error <= 1.3 * gaussian.error


def test_the_best_few():
    """The error is the share missed; `DPTopK` is best where n epsilon is large against the ways to choose them."""
    ways = math.log(math.perm(45, 3))
    for signal, top in [(0.3, False), (6.0, True)]:
        advice = recommend(45, 5000, signal * ways / 5000, k=3)
        assert isinstance(advice.estimator, DPTopK) == top
        assert ("DPTopK does not pay here" in advice.reason) != top
        considered = [advice.estimator, *(each.estimator for each in advice.alternatives)]
        assert sum(isinstance(each, DPTopK) and each.k == 3 for each in considered) == 1
    assert "share of the best 3 that it misses" in advice.reason
    more = recommend(45, 5000, 0.05, k=10).error
    assert RESOLUTION_OF_BEST <= more <= 1 - 10 / 45
    for trust in TRUSTS[1:]:
        assert RESOLUTION_OF_BEST <= recommend(45, 5000, 1.0, 1e-6, trust, k=3).error <= 1 - 3 / 45


# Camps


@pytest.mark.parametrize(("delta", "recommended"), [(0.0, DPPairwise), (1e-6, DPPairwise)])
def test_estimators_without_a_floor_are_recommended_for_many_voters(delta, recommended):
    """Majorities of these three camps form cycles: prudent orders and Borda keep an error at any epsilon."""
    rng = np.random.default_rng(16)
    camps = [make_mallows(1500, 20, 0.7, center=rng.permutation(20), random_state=496 + i) for i in range(3)]
    profile = Profile.from_rankings(np.vstack(camps))
    advice = recommend(20, 4500, 10.0, delta, disagreement=0.35)
    assert isinstance(advice.estimator, recommended)
    floors = {}
    for each in (advice, *advice.alternatives):
        fitted = clone(each.estimator).set_params(random_state=0).fit(profile)
        found = excess_kendall_tau(fitted.ranks_, profile)
        floors[type(each.estimator).__name__] = found
        assert found <= 2 * each.error_range[1], each
        if type(each.estimator) in (DPBorda, DPPrudentOrder):
            assert found > 0.001
    assert floors[recommended.__name__] < 1e-4


def test_the_reason_names_the_electorates_of_the_largest_error():
    cycles = recommend(20, 4500, 1.0, disagreement=0.35)
    assert (
        "largest error of its range is that of three to five camps whose majorities may form a cycle" in cycles.reason
    )
    agreed = recommend(20, 450, 0.05, 1e-6, disagreement=0.1)
    assert "is that of Mallows, Plackett-Luce or mixed votes, who contradict the consensus on 5 %" in agreed.reason
    board = recommend(30, 2000, 1.0, 1e-6, comparisons_per_person=10).reason
    assert "exposures of the Zipf exponent 1.3 and 60 % of matched opponents" in board
    assert "camps" in recommend(10, 1e6, 1.0, k=3).reason and "camps" not in recommend(10, 10, 0.1, k=3).reason


def test_errors_of_camps_fall_with_the_disagreement_below_that_of_cycles():
    for family in STORED.camps:
        for n_items in (3, 12, 200):
            none, few, many = (rules.expected_of_camps(family, n_items, 1e9, level) for level in (0.05, 0.2, 0.3))
            assert none == (0, 0) and few <= many and few[0] <= few[1] and many[0] <= many[1]
        assert rules.expected_of_camps(family, 2, 1.0, 0.35) == (0, 0)


def test_as_many_camps_as_items_are_in_the_range_of_advice():
    """Five rotated camps of five items: each item beats the next one, and net wins are nearly tied."""
    centers = [np.roll(np.arange(5), turn) for turn in range(5)]
    votes = np.vstack([make_mallows(1000, 5, 0.35, center=each, random_state=i) for i, each in enumerate(centers)])
    profile = Profile.from_rankings(votes)
    for epsilon in (0.01, 0.1):
        advice = recommend(5, 5000, epsilon, disagreement=0.45)
        for each in (advice, *advice.alternatives):
            fits = [clone(each.estimator).set_params(random_state=seed).fit(profile).ranks_ for seed in range(10)]
            assert np.mean([excess_kendall_tau(ranks, profile) for ranks in fits]) <= 2 * each.error_range[1]


# Few voters, and shares of opinions


def test_errors_of_few_voters_are_near_measured_ones():
    """Sixty voters have more pairs that are nearly tied than many voters, whose error would be 0.38 points."""
    few, many = (
        next(each for each in (advice, *advice.alternatives) if isinstance(each.estimator, DPPrudentOrder))
        for advice in (recommend(5, n, 30 / n, disagreement=0.35) for n in (60, 60_000))
    )
    assert many.error == pytest.approx(0.0038, rel=0.01)
    votes = [
        make_mallows(60, 5, 0.6865, random_state=seed) for seed in range(100)
    ]  # they disagree on 35 % of the pairs
    found = [
        excess_kendall_tau(DPPrudentOrder(0.5, random_state=seed).fit(X).ranks_, X) for X in votes for seed in range(10)
    ]
    assert few.error == pytest.approx(np.mean(found), rel=0.2) and np.mean(found) > 1.15 * many.error


def test_few_voters_disagree_less_with_themselves():
    for n_voters, level, found in [(30, 0.42, 0.392), (30, 0.35, 0.332), (100, 0.42, 0.409)]:  # of simulated optima
        assert ErrorModel(11, n_voters=n_voters).of_sample(level) == pytest.approx(found, abs=0.006)
    assert ErrorModel(11).of_sample(0.42) == pytest.approx(0.42)
    assert ErrorModel(11, n_voters=1).of_sample(0.2) == LEAST_GUESS


def test_one_share_of_opinions_is_as_many_voters_fewer():
    for arguments in [(9, 2000, 0.05), (20, 2000, 0.3, 1e-6)]:
        half = recommend(*arguments, opinion_share=0.5)
        few = recommend(arguments[0], arguments[1] / 2, *arguments[2:])
        assert repr(half.estimator) == repr(few.estimator)
        assert (half.error, half.error_range) == (few.error, few.error_range)
        assert half.error == recommend(*arguments, opinion_share=(0.5, 0.5)).error


@pytest.mark.parametrize("trust", ["central", "local", "shuffle", "secure_aggregation"])
def test_short_ballots_have_smaller_errors(trust):
    common = {"n_items": 20, "n_voters": 1e4, "epsilon": 0.5, "delta": 1e-6, "trust": trust}
    share = 2 / (20 * 19)
    plain, short = recommend(**common, opinion_share=share), recommend(**common, max_listed=2)
    assert short.error < plain.error or trust == "shuffle"
    for each in (short, *short.alternatives):
        assert getattr(each.estimator, "max_listed", 2) == 2 and "Swiss" not in type(each.estimator).__name__
    assert ("on a Profile with max_listed=2" in short.reason) == (trust == "central")
    same = [repr(recommend(**common, max_listed=k)) for k in (None, 20, 99)]
    assert len(set(same)) == 1
    longer = recommend(**common, max_listed=9)
    names = {type(each.estimator).__name__ for each in (longer, *longer.alternatives)}
    assert any("Swiss" in name for name in names) == (trust in ("central", "secure_aggregation"))


def test_errors_of_comparisons_are_in_their_range():
    rng, m, n = np.random.default_rng(0), 20, 5000
    pairs = np.argsort(rng.random((n, m)), axis=1)[:, :2]
    strengths = np.linspace(1.5, -1.5, m)
    won = rng.random(n) < 1 / (1 + np.exp(np.diff(strengths[pairs])[:, 0]))
    X = np.full((n, m), np.nan)
    np.put_along_axis(X, pairs, np.stack([~won, won], axis=1).astype(float), axis=1)
    profile, share = Profile.from_rankings(X, max_listed=2), 2 / (m * (m - 1))
    for epsilon in (0.1, 1.0):
        advice = recommend(m, n, epsilon, max_listed=2, disagreement=0.27)
        assert type(advice.estimator) is DPBorda and advice.estimator.noise == "laplace"
        fits = [clone(advice.estimator).set_params(random_state=seed).fit(profile) for seed in range(8)]
        measured = np.mean([excess_kendall_tau(fit.ranks_, X) for fit in fits]) / share
        assert advice.error_range[0] < measured < advice.error_range[1]
        assert 0.3 < advice.error / measured < 3


def test_unequal_shares_favour_prudent_orders():
    """Net wins are biased at any epsilon, so the largest errors are where scores are recommended."""
    alike, unequal = (recommend(9, 20_000, 0.02, opinion_share=share) for share in (0.2, (0.04, 0.8)))
    (of_scores,) = (each for each in unequal.alternatives if "knorm" in repr(each.estimator))
    assert isinstance(alike.estimator, DPPrudentOrder) and isinstance(unequal.estimator, DPPrudentOrder)
    assert of_scores.error > 0.008 and of_scores.error_range[1] > 0.04
    assert unequal.error > alike.error and unequal.error_range[1] > alike.error_range[1]


@pytest.mark.parametrize("k", [1, 3, 8])
def test_camps_and_near_ties_are_in_the_range_of_the_best(k):
    """However large n epsilon is: camps miss one item, and half of one is missed if it is nearly tied with the next."""
    for guess in (None, 0.2, 0.4):
        advice = recommend(9, 1e6, 1.0, k=k, disagreement=guess)
        missed = 1 if guess != 0.2 else 0.8  # camps form fewer cycles
        assert advice.error < 0.01 and advice.error_range[1] == pytest.approx(min(missed / k, 1 - k / 9), abs=1e-5)
    few = recommend(9, 1e6, 1.0, k=k, disagreement=0.05)
    assert few.error_range[1] == pytest.approx(min(0.5 / k, 1 - k / 9), abs=1e-5)
    assert recommend(9, 100, 0.001, k=k, opinion_share=(0.1, 0.9)).error_range[1] == 1


# Leaderboards from comparisons


@pytest.fixture(scope="module")
def leaderboards(example):
    return example("measure_leaderboards")


def test_a_leaderboard_is_recommended_from_public_numbers():
    common = {"n_items": 30, "n_voters": 2000, "epsilon": 1.0, "comparisons_per_person": 10}
    pure, rounds = recommend(**common), recommend(**common, delta=1e-6)
    assert repr(pure.estimator) == "DPBradleyTerry(delta=0.0)" and pure.alternatives == ()
    assert rounds.estimator.get_params() == DPBradleyTerry().get_params() and rounds.intervals
    assert [repr(each.estimator) for each in rounds.alternatives] == ["DPBradleyTerry(delta=0.0)"]
    votes, _ = make_comparisons(200, 30, random_state=0)
    profile = Profile.from_comparisons(
        votes, "first", "second", outcome="winner", person="person", items=range(30), max_weight=1
    )
    for each in (pure, rounds):
        fitted = clone(each.estimator).set_params(random_state=0).fit(profile)
        assert fitted.privacy_.epsilon <= 1 and fitted.privacy_.unit == "all comparisons of one person"
        assert RESOLUTION <= each.error_range[0] < each.error < each.error_range[1] < 0.5
        taus = [f"{1 - 2 * error:.2f}" for error in (each.error, *each.error_range[::-1])]
        assert each.reason.endswith(
            "Kendall's tau to the true order is expected to be {}, from {} to {}.".format(*taus)
        )
    replaced = recommend(**{**common, "epsilon": 2.0}, neighboring="replace")
    assert replaced.error == pure.error and replaced.estimator.neighboring == "replace"


def test_errors_of_leaderboards_by_the_formula():
    """Two items: one correlation. Persons with one comparison are clipped by nothing."""
    of, noise, persons = FITTED["rounds"], math.sqrt(2) / 0.236704, 1000
    model = Leaderboard(2, None, persons, 1.0)
    s = 1.0
    share = np.tanh(np.abs(np.random.default_rng(0).standard_normal(10**6)) * s / math.sqrt(2))  # of decided answers
    half, slope = (1 - share.mean()) / 2, (1 - share**2).mean()
    met = persons / 2 * slope
    v = (of.noise * noise / met) ** 2 + of.sampling / met
    expected_error = math.acos(math.sqrt(1 / (1 + v / s**2))) / math.pi
    assert model.error("rounds", noise, half, 0.0, 0.0) == pytest.approx(expected_error, rel=0.01)
    advice = recommend(2, persons, 1.0, 1e-6, comparisons_per_person=1, disagreement=half, exposure_ratio=1)
    assert advice.estimator.delta == 1e-6 and advice.error == pytest.approx(expected_error, rel=0.01)


@pytest.mark.parametrize("family", ["rounds", "one round"])
def test_errors_of_leaderboards_move_as_they_must(family):
    def error(n=2000.0, each=10.0, noise=6.0, disagreement=0.35, exponent=1.0, matched=0.3, m=30):
        return Leaderboard(m, None, n, each).error(family, noise, disagreement, exponent, matched)

    here = error()
    smaller = [error(n=4000), error(each=20), error(noise=3), error(disagreement=0.3), error(exponent=0.5)]
    assert max(smaller) < here and error(matched=0.0) < here < error(matched=0.6) and here < error(m=60)
    assert error(n=1e15, matched=0.0) == RESOLUTION and error(n=1e-300) == error(noise=1e300) == 0.5


def test_what_is_unknown_about_comparisons_is_in_the_range():
    common = {"n_items": 30, "n_voters": 2000, "epsilon": 1.0, "delta": 1e-6, "comparisons_per_person": 10}
    unknown = recommend(**common)
    guesses = [{"matched": 0.0}, {"matched": 0.6}, {"exposure_ratio": 1}, {"exposure_ratio": 80}, {"disagreement": 0.4}]
    for guess in guesses:
        known = recommend(**common, **guess)
        assert unknown.error_range[0] <= known.error_range[0] < known.error_range[1] <= unknown.error_range[1]
        assert known.error != unknown.error
    assert recommend(**common, matched=0.3, exposure_ratio=30, disagreement=0.35).error == unknown.error


@pytest.mark.parametrize("setting", [(20, 2000, 10, 0.0), (20, 2000, 10, 0.6), (8, 1000, 3, 0.3)])
def test_stated_errors_of_leaderboards_are_near_measured_ones(leaderboards, setting):
    """Within 25 % of the error, or .03 of tau, for votes with Zipf exposures that no constant was fitted on."""
    m, n, each, matched = setting
    cell = leaderboards.Cell(m, n, each, 1.0, matched, 1.0, 0.2, 1.2, 12)
    rng = np.random.default_rng(7)
    means, comparisons = leaderboards.taus_of(cell.votes(rng) for _ in range(cell.runs))
    said, (tau, noise) = leaderboards.stated(cell.facts(comparisons), "rounds"), means["rounds"]
    assert (abs(said - tau) <= np.maximum(0.03 + 2 * noise, 0.25 * (1 - tau))).all()


def test_the_script_finds_the_constants_that_made_the_errors(leaderboards, monkeypatch):
    monkeypatch.setattr(leaderboards, "ADVISED", (0.3, 3.0))
    wanted, cells = FITTED["rounds"], []
    for m, n, each, matched in [(5, 500, 2, 0.0), (30, 3000, 10, 0.3), (50, 20_000, 5, 0.6), (10, 300, 40, 0.0)]:
        facts = leaderboards.Cell(m, n, each, 1.0, matched, 1.0, 0.2, 1.2, 1).facts(each)
        cells.append((facts, {"rounds": (leaderboards.stated(facts, "rounds"), 0.01)}))
    monkeypatch.setitem(FITTED, "rounds", wanted._replace(noise=2.0, sampling=1.0, repeats=0.3))
    found = leaderboards.fitted_constants(cells, "rounds")
    assert tuple(found) == pytest.approx(tuple(wanted), rel=0.05)


def test_votes_that_fit_the_formula_are_those_of_make_comparisons(leaderboards):
    """The same law as `make_comparisons`, for Zipf's law and its activity."""
    cell = leaderboards.Cell(10, 20_000, 5, 1.0, 0.6, 1.0, 0.2, 1.2, 1)
    _, profile, comparisons = cell.votes(np.random.default_rng(0))
    votes, _ = make_comparisons(20_000, 10, comparisons_per_person=5, matched=0.6, random_state=0)
    assert comparisons == pytest.approx(len(votes["person"]) / 20_000, rel=0.02)
    assert profile.rows.tied.mean() == pytest.approx((votes["winner"] == "tie").mean(), abs=0.01)
    counts = np.sort(np.bincount(np.concatenate([votes["first"], votes["second"]])))
    assert np.sort(
        np.bincount(np.concatenate([profile.rows.winner, profile.rows.loser]))
    ) / counts.sum() == pytest.approx(counts / counts.sum(), abs=0.02)
    assert cell.facts(5)["exposure_ratio"] == pytest.approx(counts[-1] / counts[0], rel=0.1)


# The error


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(2, 200),
    st.floats(0, 9),
    st.floats(-3, 1),
    st.sampled_from(
        [("central", 0.0), ("central", 1e-6), ("local", 0.0), ("shuffle", 1e-6), ("secure_aggregation", 1e-6)]
    ),
    st.none() | st.floats(0.05, 0.48),
)
def test_error_of_each_estimator_falls_with_voters_and_stays_within_bounds(n_items, log_n, log_epsilon, model, guess):
    trust, delta = model
    few, many = (
        recommend(n_items, n, 10**log_epsilon, delta, trust, disagreement=guess) for n in (10**log_n, 3 * 10**log_n)
    )
    worst = 0.5 - (guess or 0.35)
    before = {_without_crowd(each.estimator): each for each in (few, *few.alternatives)}
    for each in (many, *many.alternatives):
        assert RESOLUTION <= each.error <= worst + 1e-6
        then = before.get(_without_crowd(each.estimator))
        if then is not None:
            assert each.error <= then.error and each.error_range <= then.error_range


def _without_crowd(estimator):
    return re.sub(r"min_reports=\d+", "", repr(estimator))


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_items": 1}, "n_items must be an integer from 2 to 65534, got 1"),
        ({"n_voters": 0}, "n_voters must be a positive, finite number; a public estimate will do; got 0"),
        ({"n_voters": math.inf}, "n_voters must be a positive, finite number"),
        ({"n_voters": 10**400}, "n_voters must be at most 1e+15, got more; a public estimate will do."),
        ({"epsilon": 0}, "epsilon must be a positive, finite number (in nats), got 0"),
        ({"delta": 1}, "delta must be a number in [0, 1), got 1"),
        ({"intervals": 1}, "intervals must be True or False, got 1"),
        ({"trust": "none"}, "trust must be one of ['central', 'local', 'shuffle', 'secure_aggregation'], got 'none'"),
        ({"k": 0}, "k must be an integer from 1 to 9, got 0"),
        ({"max_listed": 1}, "max_listed must be None or an integer of at least 2, got 1"),
        ({"disagreement": 0.04}, "disagreement must be a number of at least 0.05 and at most 0.48, got 0.04"),
        ({"opinion_share": 0}, "opinion_share must be a number above 0 and at most 1, got 0"),
        (
            {"opinion_share": (0.1, 0.2, 0.3)},
            "opinion_share must be a number, or the smallest and the largest share, got 3 numbers",
        ),
        ({"opinion_share": (0.3, 0.2)}, "the first share of opinion_share must be at most the second, got 0.3 and 0.2"),
        ({"trust": "secure_aggregation"}, "delta must be positive for trust='secure_aggregation', got 0: the noise"),
        ({"neighboring": "both"}, "neighboring must be one of ['add_remove', 'replace'], got 'both'"),
        ({"trust": "local", "neighboring": "add_remove"}, "neighboring must be 'replace' or None for trust='local'"),
        ({"trust": "shuffle"}, "delta must be positive for trust='shuffle', got 0: shuffling hides no voter with"),
        ({"matched": 0.2}, "matched describes comparisons, got 0.2; leave it out, or give comparisons_per_person."),
        ({"exposure_ratio": 3, "k": 99}, "exposure_ratio describes comparisons, got 3; leave it out"),
        (
            {"comparisons_per_person": 0.5},
            "comparisons_per_person must be a number of at least 1 and at most 1e+06, got",
        ),
        ({"comparisons_per_person": 5, "k": 3, "n_items": 0}, "k does not apply to comparisons, got 3; leave it out."),
        ({"comparisons_per_person": 5, "max_listed": 2}, "max_listed does not apply to comparisons, got 2; leave"),
        ({"comparisons_per_person": 5, "opinion_share": 0.2}, "opinion_share does not apply to comparisons, got 0.2"),
        ({"comparisons_per_person": 5, "opinion_share": (0.1, 1)}, "opinion_share does not apply to comparisons"),
        ({"comparisons_per_person": 5, "trust": "local"}, "trust must be 'central' with comparisons_per_person, got"),
        ({"comparisons_per_person": 5, "trust": "nobody"}, "trust must be one of ['central', 'local', 'shuffle', "),
        ({"comparisons_per_person": 5, "matched": 0.8}, "matched must be a number of at least 0 and at most 0.7, got"),
        ({"comparisons_per_person": 5, "exposure_ratio": 0}, "exposure_ratio must be a number of at least 1 and at"),
        ({"trust": "local", "epsilon": 501}, "epsilon must be at most 500 for trust='local', got 501"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        recommend(**{"n_items": 10, "n_voters": 1000, "epsilon": 1.0, **arguments})


class Unfit(DPBorda):
    """Accepts every parameter, and refuses to plan."""

    def __init__(self, epsilon=1.0, delta=0.0, noise="laplace", neighboring="add_remove", window=None):
        super().__init__(epsilon=epsilon, delta=delta, noise=noise, neighboring=neighboring)
        self.window = window

    def _planned(self, *shape):
        raise ValueError("no noise is that small.")


def test_what_refuses_to_fit_is_not_recommended(monkeypatch):
    """The next best is recommended, and the reason explains it; without another candidate, an error is raised."""
    monkeypatch.setattr(rules, "DPBorda", Unfit)
    monkeypatch.setattr(rules, "DPPairwise", Unfit)
    advice = recommend(10, 1000, 0.01)
    assert isinstance(advice.estimator, DPPrudentOrder)
    assert "cannot be fitted: Unfit(epsilon=0.01, noise='knorm'): no noise is that small." in advice.reason
    assert advice.alternatives == ()
    assert "the share of the best" not in advice.reason
    monkeypatch.setattr(rules, "DPPrudentOrder", Unfit)
    with pytest.raises(ValueError, match=r"no estimator accepts these parameters: .*no noise is that small"):
        recommend(10, 1000, 0.01)


@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("n_items", [2, 17])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 500.0])
@pytest.mark.parametrize("delta", [1e-300, np.float32(1e-30), 0.5])
def test_what_is_recommended_can_be_fitted(trust, n_items, epsilon, delta):
    """Or the parameter at fault is named."""
    try:
        advice = recommend(n_items, 1, epsilon, delta, trust)
    except ValueError as error:
        assert re.match("epsilon|delta|no estimator accepts these", str(error))
    else:
        advice.estimator.fit(np.tile(np.arange(n_items), (3, 1)))


# The stored error curves


@pytest.fixture(scope="module")
def script(example):
    return example("simulate_recommendations")


# Reading


@pytest.mark.parametrize("family", STORED.families)
def test_stored_points_are_read_as_they_stand(family):
    stored = STORED.families[family]
    for (m, k), of_levels in stored.curves.items():
        resolution = RESOLUTION if k is None else RESOLUTION_OF_BEST
        for level, logs in zip(STORED.levels, of_levels, strict=True):
            worst = of_random_order(m, level, k)
            wanted = np.clip(worst * np.exp(logs), resolution, worst)
            # Rounding of the signal must not move it below the first point.
            read = [expected(family, m, x * (1 + 1e-9) / (1 - 2 * level), level, k) for x in stored.grid]
            np.testing.assert_allclose(np.transpose(read), wanted, rtol=1e-6, atol=1e-6, err_msg=f"{m, k, level}")


@pytest.mark.parametrize("family", STORED.camps)
def test_stored_points_of_camps_are_read_as_they_stand(family):
    stored = STORED.camps[family]
    for (m, _), of_levels in stored.curves.items():
        for level, logs in zip(STORED.camp_levels, of_levels, strict=True):
            read = [rules.expected_of_camps(family, m, x * (1 + 1e-9) / (1 - 2 * level), level) for x in stored.grid]
            np.testing.assert_allclose(np.transpose(read), of_random_order(m, level) * np.exp(logs), rtol=1e-6)


@pytest.mark.parametrize("family", STORED.families)
def test_curves_fall_and_lie_around_their_mean(family):
    for (m, k), of_levels in STORED.families[family].curves.items():
        for level, logs in zip(STORED.levels, of_levels, strict=True):
            mean, least, largest = logs
            where = (m, k, level)
            assert (np.diff(logs) <= 0).all(), where
            assert (least <= mean).all() and (mean <= largest).all(), where
            # With much noise, the error is that of a random order, within the precision of few trials.
            assert math.exp(mean[0]) == pytest.approx(1, rel=0.35), where


@pytest.mark.parametrize("family", STORED.camps)
def test_curves_of_camps_fall_to_more_than_the_mean_floor(family):
    for of_levels in STORED.camps[family].curves.values():
        assert (np.diff(of_levels) <= 0).all() and (of_levels[:, 0] <= of_levels[:, 1]).all()


def test_beyond_what_was_simulated():
    for k in (None, 2):
        for family in ("knorm", "gaussian", "top")[: 2 if k is None else 3]:
            worst = of_random_order(10, 0.35, k)
            assert expected(family, 10, 0.0, 0.35, k) == pytest.approx((worst,) * 3)
            assert expected(family, 10, 1e9, 0.35, k) == expected(family, 10, 1e4, 0.35, k)
            assert expected(family, 5000, 3.0, 0.35, k)[0] == pytest.approx(
                expected(family, 100, 3.0, 0.35, k and round(100 ** (math.log(2) / math.log(5000))))[0], abs=0.05
            )


def test_between_what_was_simulated():
    """Logarithms are linear: in ln m, in ln k / ln m, in the logarithm of 1 - 2 disagreement."""
    low, mid, high = (expected("knorm", m, 4.0, 0.35).mean for m in (16, 20, 30))
    share = math.log(20 / 16) / math.log(30 / 16)
    assert mid == pytest.approx(low ** (1 - share) * high**share, rel=0.01)
    level = 0.5 - math.sqrt((0.5 - 0.28) * (0.5 - 0.35))
    ends = [expected("knorm", 10, 1.0 / (1 - 2 * each), each).mean for each in (0.28, 0.35)]
    assert expected("knorm", 10, 1.0 / (1 - 2 * level), level).mean == pytest.approx(math.prod(ends) ** 0.5, rel=0.01)
    k = 10 ** ((math.log(1) + math.log(3)) / 2 / math.log(10))  # not a whole number: half way from 1 to 3
    ratios = [expected("top", 10, 3.0, 0.35, each).mean / (1 - each / 10) for each in (1, 3, k)]
    assert ratios[2] == pytest.approx((ratios[0] * ratios[1]) ** 0.5, rel=0.01)


# Simulating


def test_script_stores_what_is_read(script):
    text = files("sklearn_dprank.model_selection").joinpath("curves.json").read_text(encoding="utf-8")
    assert script.as_text(json.loads(text)) == text
    assert tuple(STORED.levels) == script.LEVELS and tuple(STORED.camp_levels) == script.CAMP_LEVELS
    for family, (_, grid, sizes) in script.FAMILIES.items():
        assert tuple(STORED.families[family].grid) == grid
        assert tuple(m for m, k in STORED.families[family].curves if k is None) == sizes
        if sizes:
            assert STORED.camps[family].grid.tolist() == script.camp_grid(family)
            with_camps = tuple(m for m in script.CAMP_SIZES if min(sizes) <= m <= max(sizes))
            assert tuple(m for m, _ in STORED.camps[family].curves) == with_camps
    of_top = STORED.families["top"].curves
    assert {m: tuple(k for size, k in of_top if size == m) for m in script.BEST} == script.BEST


def test_stored_lines_are_near_the_simulated_curves(script):
    """Means within 5 % and ranges within 15 %, with fewer numbers."""
    x = np.geomspace(0.1, 30, 16)
    errors = 0.15 * np.array([(1 + x**2) ** -0.6, (1 + x) ** -1.5, np.ones(16)])
    rows = script.as_rows(errors, 0.15)
    assert sum(map(len, rows)) < 2 * 16 and rows[2] == [0, 0, 15, 0]
    stored = rules.read({"grid": x.tolist(), "curves": {"10": [rows]}}).curves[10, None][0]
    off = abs(stored - np.log(errors / 0.15)).max(axis=1)
    assert (off <= np.log([1.05, 1.15, 1.15]) + 2 * UNIT).all() and off[1] > 0.02


def test_camps_count_for_the_levels_around_their_disagreement(script):
    """At .35, half of the weight has an error of .2 of a random order; at .45, all electorates are as bad as one."""
    kind, other = script.CAMPS[:2]
    flat = lambda error: {"knorm": np.full(len(script.camp_grid("knorm")), error)}  # noqa: E731
    found = script.camp_curves({5: [(kind, 0.3, flat(0.2)), (kind, 0.35, flat(0.4)), (kind, 0.46, flat(1.0))]}, [kind])
    (low, high) = rules.read(found["knorm"]).curves[5, None]
    np.testing.assert_allclose(np.exp([low[:, 0], high[:, 0]]), [[0.3, 0.4], [1, 1]], rtol=0.01)
    with pytest.raises(IndexError):
        script.camp_curves({5: [(kind, 0.3, flat(0.2))]}, [other])


@pytest.mark.slow
def test_stored_curves_are_simulated_again(script, capsys):
    """Other electorates, seeds and fewer trials: between the least and the largest that are stored, and a little."""
    rows = script.spot_checks()
    assert {row[0] for row in rows} == set(script.SPOT_CHECKS)
    for family, curve, _, mean, least, largest, found in rows:
        slack = 0.1 * mean + (0.002 if curve[1] is None else 0.05)
        assert least - slack <= found <= largest + slack, (family, curve)
