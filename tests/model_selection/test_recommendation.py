"""`recommend`: what comes back, which mechanism it names where, and what it refuses."""

import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_dprank import (
    Borda,
    DPBorda,
    DPPrudentOrder,
    DPSwissBorda,
    DPTopK,
    Kemeny,
    LDPBorda,
    LDPPairwise,
    SecAggBorda,
    SecAggSwissBorda,
    ShufflePairwise,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection import advice as rules, cross_validate, recommend
from sklearn_dprank.model_selection.advice import (
    LEAST_GUESS,
    RESOLUTION,
    RESOLUTION_OF_BEST,
    Alternative,
    Considered,
    ErrorModel,
    expected,
    preferred,
    worth,
)
from sklearn_dprank.privacy.composition import choice_range

TRUSTS = ["central", "local", "shuffle", "secure_aggregation"]

# What comes back


@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("epsilon", [0.01, 1, 3.0])
@pytest.mark.parametrize(("n_items", "k", "guess"), [(2, None, None), (5, 2, 0.1), (16, None, 0.4), (17, 5, None)])
@pytest.mark.parametrize("intervals", [False, True])
def test_result_is_usable(n_items, k, guess, epsilon, trust, intervals):
    advice = recommend(n_items, 200.0, epsilon, 1e-6, trust, k=k, disagreement=guess, intervals=intervals)
    X = make_mallows(200, n_items, 0.5, random_state=0)
    worst = 0.45 if k is None else 1 - k / n_items
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


def test_reason_names_what_decided_and_the_runner_up():
    advice = recommend(10, 1000, 0.1)
    assert "with n epsilon = 100 (6.62 ln m! for m = 10 items) its expected error is the least on" in advice.reason
    assert "20 to 42 % of the pairs" in advice.reason
    runner_up = advice.alternatives[0]
    assert repr(runner_up.estimator) in advice.reason and f"{100 * runner_up.error:.2g} against" in advice.reason
    assert "about 15 % of the pairs" in recommend(10, 1000, 0.1, disagreement=0.15).reason
    assert (
        "with n epsilon = 500 (0.247 m^2 for m = 45 items) and delta = 1e-06" in recommend(45, 5000, 0.1, 1e-6).reason
    )
    assert "with epsilon = 1 its expected error" in recommend(10, 1000, 1, trust="local").reason
    assert "with 1000 reports, epsilon = 1 and delta = 1e-06" in recommend(10, 1000, 1, 1e-6, "shuffle").reason
    assert "with 1000 honest voters" in recommend(10, 1000, 1, 1e-6, "secure_aggregation").reason
    assert "n epsilon / 2 (neighboring='replace') = 50" in recommend(10, 1000, 0.1, neighboring="replace").reason


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


def crossing(n_items, disagreement=None):
    """Return the n epsilon, over ln m!, from which on drawn orders are recommended."""
    scale = math.lgamma(n_items + 1)
    signals = np.geomspace(0.5, 60, 40)
    drawn = [type(recommend(n_items, 1e4, s * scale / 1e4, disagreement=disagreement).estimator) for s in signals]
    first = drawn.index(DPPrudentOrder)
    assert set(drawn[:first]) == {DPBorda} and set(drawn[first:]) == {DPPrudentOrder}  # one crossing
    return signals[first]


@pytest.mark.parametrize(
    ("n_items", "guess", "bounds"),
    [
        (4, None, (5, 8)),
        (5, None, (5, 8)),
        (7, None, (4, 6)),
        (10, None, (4, 6)),
        (16, None, (3.5, 6)),
        (4, 0.4, (10, 16)),
        (10, 0.3, (2.5, 4)),
        (10, 0.4, (8, 13)),
    ],
)
def test_where_drawn_orders_start(n_items, guess, bounds):
    """Later on few items, and where voters disagree more."""
    assert bounds[0] <= crossing(n_items, guess) <= bounds[1]


@pytest.mark.parametrize(("neighboring", "halved"), [("add_remove", 1), ("replace", 2)])
def test_replaced_ballots_need_twice_the_epsilon(neighboring, halved):
    for epsilon in (0.01, 0.05, 0.2):
        advice = recommend(8, 2000, halved * epsilon, neighboring=neighboring)
        assert advice.error == recommend(8, 2000, epsilon).error
        assert advice.estimator.neighboring == neighboring


@pytest.mark.slow
def test_two_items_are_one_margin(example):
    """K-norm noise flips a margin w with probability exp(-epsilon w) / 2, and so does permute-and-flip."""
    for n_voters in (1, 1e3, 1e9):
        assert recommend(2, n_voters, 0.1).estimator.noise == "knorm"
    script = example("_electorates")
    votes = script.Electorate([[0, 1]] * 60 + [[1, 0]] * 40)  # the other order has an excess error of .2
    chance = math.exp(-1) / 2
    for estimator in (DPBorda(0.05, noise="knorm"), DPPrudentOrder(0.05)):
        flips = votes.excess(script.fits(estimator, votes, 600, 0)) / 0.2
        assert flips.mean() == pytest.approx(chance, abs=4 * math.sqrt(chance / 600))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6])
def test_gaussian_where_its_noise_is_less(epsilon, delta):
    few, many = (recommend(m, m / epsilon, epsilon, delta).estimator for m in (5, 45))
    assert (few.noise, few.delta) == ("knorm", 0)
    assert many.delta == delta and (isinstance(many, DPSwissBorda) or many.noise == "gaussian")
    assert recommend(45, 45 / epsilon, epsilon).estimator.noise == "knorm"  # without delta


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_items", "n_voters", "epsilon"), [(10, 1000, 0.1), (10, 1000, 1), (45, 5000, 2), (3, 300, 2)]
)
def test_shuffle_takes_the_messages_that_carry_most(n_items, n_voters, epsilon):
    chosen = recommend(n_items, n_voters, epsilon, 1e-6, "shuffle").estimator
    assert type(chosen) is ShufflePairwise and chosen.min_reports == n_voters and chosen.pairs == "hidden"
    assert (chosen.epsilon, chosen.delta) == (epsilon, 1e-6)
    best = max(worth(epsilon, n_voters, 1e-6, k) for k in range(1, min(16, math.comb(n_items, 2)) + 1))
    assert worth(epsilon, n_voters, 1e-6, chosen.n_queries) >= 0.85 * best


@pytest.mark.slow
def test_a_shuffler_of_one_voter_is_not_recommended():
    advice = recommend(10, 3, 4.0, 1e-6, "shuffle")
    assert type(advice.estimator) is LDPBorda and "adds too little" in advice.reason
    assert recommend(10, 2500.9, 1, 1e-6, "shuffle").estimator.min_reports == 2500
    plenty = [recommend(10, n, 1, 1e-6, "shuffle").error for n in (1e8, 1e9)]
    assert plenty[0] == plenty[1] < 0.001  # the bias of the rule is left


@pytest.mark.filterwarnings("ignore:1,001 items")
def test_peeled_orders_with_a_delta():
    """For many items and many voters; up to 16 items, whole orders need less epsilon."""
    for n_items, epsilon, guess in [(45, 0.1, 0.12), (100, 1.0, None)]:
        advice = recommend(n_items, 5000, epsilon, 1e-6, disagreement=guess)
        assert repr(advice.estimator) == repr(DPPrudentOrder(epsilon, 1e-6))
        assert isinstance(recommend(n_items, 5000, epsilon / 10, 1e-6, disagreement=guess).estimator, DPSwissBorda)
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
    (gaussian,) = (a for a in central.alternatives if getattr(a.estimator, "noise", "") == "gaussian")
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


@pytest.mark.slow
def test_a_guess_narrows_the_range():
    for trust in TRUSTS:
        anything = recommend(12, 3000, 0.5, 1e-6, trust)
        guessed = [recommend(12, 3000, 0.5, 1e-6, trust, disagreement=guess) for guess in (0.15, 0.35, 0.4)]
        for advice in guessed:
            low, high = advice.error_range
            same = [
                each for each in (anything, *anything.alternatives) if repr(each.estimator) == repr(advice.estimator)
            ]
            assert same[0].error_range[0] <= low + 1e-9 and high <= 1.05 * same[0].error_range[1]
    assert recommend(12, 3000, 0.01).error_range[0] < recommend(12, 3000, 0.01).error
    assert anything.error == guessed[1].error or repr(anything.estimator) != repr(guessed[1].estimator)


# Few voters, and shares of opinions


def test_few_voters_get_a_prudent_order_earlier():
    """Thirty voters agree more with their own consensus than all voters do with the centre."""
    assert isinstance(recommend(11, 30, 2.0).estimator, DPPrudentOrder)
    assert isinstance(recommend(11, 3000, 0.02).estimator, DPBorda)  # n epsilon is the same
    guessed = [type(recommend(11, n, 60 / n, disagreement=0.35).estimator) for n in (30, 3000)]
    assert guessed == [DPBorda, DPBorda]  # an estimate is about these voters


def test_few_voters_disagree_less_with_themselves():
    for n_voters, level, found in [(30, 0.42, 0.392), (30, 0.35, 0.332), (100, 0.42, 0.409)]:  # of simulated optima
        assert ErrorModel(11, n_voters=n_voters).of_sample(level) == pytest.approx(found, abs=0.006)
    assert ErrorModel(11).of_sample(0.42) == pytest.approx(0.42)
    assert ErrorModel(11, n_voters=1).of_sample(0.2) == LEAST_GUESS


@pytest.mark.slow
def test_borda_of_few_voters_without_noise(example):
    """Its error is about 0.1 / n, as in the model without noise."""
    script = example("_electorates")
    for n_items, n_voters in [(8, 30), (11, 100), (16, 30)]:
        votes = script.electorates(n_items, 0.35, 8, n_voters, seed=5)
        found = [each.excess(Borda().fit(each.profile).ranks_[None])[0] for each in votes]
        stated = ErrorModel(n_items, 0.35, n_voters=n_voters).errors("knorm", 1e6, 0.35)
        assert np.mean(found) == pytest.approx(stated.mean, rel=0.4)
        assert stated.largest == pytest.approx(0.3 / n_voters, rel=0.2) and np.mean(found) < stated.largest


def test_one_share_of_opinions_is_as_many_voters_fewer():
    for arguments in [(9, 2000, 0.05), (20, 2000, 0.3, 1e-6)]:
        half = recommend(*arguments, opinion_share=0.5)
        few = recommend(arguments[0], arguments[1] / 2, *arguments[2:])
        assert repr(half.estimator) == repr(few.estimator)
        assert (half.error, half.error_range) == (few.error, few.error_range)
        assert half.error == recommend(*arguments, opinion_share=(0.5, 0.5)).error


def test_unequal_shares_are_averaged_and_bias_scores():
    model = ErrorModel(9, 0.35, None, 1e6, (0.1, 0.4))
    shares = np.geomspace(0.1, 0.4, 7)
    each = [expected("prudent", 9, 30 * share, 0.35).mean for share in shares]
    assert model.errors("prudent", 30.0, 0.35).mean == pytest.approx(shares @ each / shares.sum(), abs=1e-5)
    # Without noise, the bias is left: 0.02 ln 4 of the error of a random order, 0.1 ln 4 at most.
    for family, factor in [("knorm", 1), ("gaussian", 1), ("swiss", 0.5), ("two_stage", 0.3)]:
        mean, least, largest = model.errors(family, 1e7, 0.35)
        floor, _, most = ErrorModel(9, 0.35, None, 1e6).errors(family, 1e7, 0.35)
        wanted = factor * 0.15 * math.log(4)
        assert mean == pytest.approx(math.hypot(floor, 0.02 * wanted), abs=1e-6)
        assert largest == pytest.approx(math.hypot(most, 0.1 * wanted), abs=1e-6)
        assert least <= floor
    assert model.errors("prudent", 1e7, 0.35).mean == RESOLUTION
    assert ErrorModel(2, 0.35, None, 1e6, (0.1, 0.4)).errors("knorm", 1e7, 0.35).mean == RESOLUTION


def test_unequal_shares_favour_prudent_orders():
    """Net wins are biased at any epsilon, so the largest errors are where scores are recommended."""
    alike, unequal = (recommend(9, 20_000, 0.02, opinion_share=share) for share in (0.2, (0.04, 0.8)))
    (of_scores,) = (each for each in unequal.alternatives if "knorm" in repr(each.estimator))
    assert isinstance(alike.estimator, DPPrudentOrder) and isinstance(unequal.estimator, DPPrudentOrder)
    assert of_scores.error > 0.008 and of_scores.error_range[1] > 0.04
    assert unequal.error > alike.error and unequal.error_range[1] > alike.error_range[1]


@pytest.mark.parametrize("k", [1, 3, 8])
def test_near_ties_are_in_the_range_of_the_best(k):
    """However large n epsilon is: half of one item is missed if it is nearly tied with the next."""
    for guess in (None, 0.2, 0.4):
        advice = recommend(9, 1e6, 1.0, k=k, disagreement=guess)
        assert advice.error < 0.01 and advice.error_range[1] == pytest.approx(min(0.5 / k, 1 - k / 9), abs=1e-5)
    assert recommend(9, 100, 0.001, k=k, opinion_share=(0.1, 0.9)).error_range[1] == 1


def test_equal_means_are_decided_by_the_largest_error():
    def considered(name, judged, largest, costs=0):
        return Considered(Alternative(name, judged, (0.0, largest)), judged, costs)

    assert preferred([considered("a", 0.1, 0.4), considered("b", 0.1009, 0.2)]).alternative.estimator == "b"
    assert preferred([considered("a", 0.1, 0.4), considered("b", 0.1011, 0.2)]).alternative.estimator == "a"
    assert preferred([considered("a", 0.1, 0.4), considered("b", 0.0955, 0.2, 1)]).alternative.estimator == "b"
    assert preferred([considered("a", 0.1, 0.4), considered("b", 0.097, 0.2, 1)]).alternative.estimator == "a"


@pytest.mark.parametrize("guess", [0.05, 0.2, 0.35, 0.48])
@pytest.mark.parametrize("trust", TRUSTS)
def test_errors_are_not_above_those_of_a_random_order(trust, guess):
    for n_items, n_voters, epsilon in [(2, 10, 0.01), (11, 30, 0.2), (45, 1000, 0.05)]:
        advice = recommend(n_items, n_voters, epsilon, 1e-6, trust, disagreement=guess)
        for each in (advice, *advice.alternatives):
            assert each.error <= each.error_range[1] <= 0.5 - guess + 1e-6


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
        ({"n_items": 4.0}, "n_items must be an integer from 2 to 65534, got 4.0"),
        ({"n_voters": 0}, "n_voters must be a positive, finite number; a public estimate will do; got 0"),
        ({"n_voters": math.inf}, "n_voters must be a positive, finite number"),
        ({"n_voters": math.nan}, "n_voters must be a positive, finite number"),
        ({"n_voters": 10**400}, "n_voters must be at most 1e+15, got more; a public estimate will do."),
        ({"epsilon": 0}, "epsilon must be a positive, finite number (in nats), got 0"),
        ({"delta": 1}, "delta must be a number in [0, 1), got 1"),
        ({"delta": -0.1}, "delta must be a number in [0, 1), got -0.1"),
        ({"intervals": 1}, "intervals must be True or False, got 1"),
        (
            {"trust": "none"},
            "trust must be one of ['central', 'local', 'shuffle', 'secure_aggregation'], got 'none'",
        ),
        ({"k": 0}, "k must be an integer from 1 to 9, got 0"),
        ({"k": 10}, "k must be an integer from 1 to 9, got 10"),
        ({"disagreement": 0.04}, "disagreement must be a number of at least 0.05 and at most 0.48, got 0.04"),
        ({"disagreement": 0.5}, "disagreement must be a number of at least 0.05 and at most 0.48, got 0.5"),
        ({"opinion_share": 0}, "opinion_share must be a number above 0 and at most 1, got 0"),
        ({"opinion_share": 1.1}, "opinion_share must be a number above 0 and at most 1, got 1.1"),
        ({"opinion_share": (0.2, 2)}, "opinion_share must be a number above 0 and at most 1, got 2"),
        (
            {"opinion_share": (0.1, 0.2, 0.3)},
            "opinion_share must be a number, or the smallest and the largest share, got 3 numbers",
        ),
        ({"opinion_share": (0.3, 0.2)}, "the first share of opinion_share must be at most the second, got 0.3 and 0.2"),
        ({"trust": "secure_aggregation"}, "delta must be positive for trust='secure_aggregation', got 0: the noise"),
        ({"neighboring": "both"}, "neighboring must be one of ['add_remove', 'replace'], got 'both'"),
        ({"trust": "local", "neighboring": "add_remove"}, "neighboring must be 'replace' or None for trust='local'"),
        ({"trust": "shuffle"}, "delta must be positive for trust='shuffle', got 0: shuffling hides no voter with"),
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


@pytest.mark.parametrize("epsilon", [0.02, 0.05])
def test_ballots_with_gaps_are_fewer_voters(epsilon):
    """Half of all opinions are missing: on the pairs that are left the error is that of a quarter of the voters."""
    votes = make_mallows(3000, 8, 0.75, random_state=0).astype(float)
    votes[np.random.default_rng(1).random(votes.shape) < 0.5] = np.nan
    profile = Profile.from_rankings(votes)
    share = profile.pairwise_counts.sum() / (len(votes) * 28)
    assert share == pytest.approx(0.25, abs=0.01)
    fits = cross_validate(DPBorda(epsilon=epsilon, noise="knorm"), profile, n_trials=60, random_state=0)
    found = (Kemeny().fit(profile).score(profile) - fits["test_score"].mean()) / share
    few, many = (recommend(8, n, epsilon, disagreement=0.35) for n in (share * len(votes), len(votes)))
    expected = [_of_knorm(advice) for advice in (few, many)]
    assert found == pytest.approx(expected[0], rel=0.5) and found > 4 * expected[1]


def _of_knorm(advice):
    """Return the error of K-norm Borda, chosen or not."""
    (error,) = (each.error for each in (advice, *advice.alternatives) if "knorm" in repr(each.estimator))
    return error
