"""Streams: prices, correlated noise against a naive sum, and `partial_fit` from period to period."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracles import rankings
from stream_tools import nobody, scripted

from sklearn_dprank import Aggregator, Borda, DPStreamingBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Streaming
from sklearn_dprank.channels.streaming import CorrelatedNoise, root_weights
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.mechanisms.additive import GaussianNoise
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection, cross_validate
from sklearn_dprank.privacy.composition import gaussian_sigma
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import AllMargins, Ask, NetWins, Sensitivity
from sklearn_dprank.rules import SortByScore
from sklearn_dprank.sampling.bit_source import Bits

# The channel


N_ITEMS = 4
PROFILE = Profile.from_rankings(rankings(N_ITEMS))


def opened(channel, asks, profile=PROFILE, seed=0):
    return channel.plan(asks, N_ITEMS).open(profile)(Bits.from_random_state(seed))


@pytest.mark.parametrize("horizon", [1, 3, 365])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_the_guarantee_is_that_of_the_whole_stream(horizon, neighboring):
    promise = Streaming(0.4, 1e-5, horizon, neighboring).plan([Ask(NetWins())], N_ITEMS).guarantee
    assert (promise.epsilon, promise.delta, promise.trust) == (0.4, 1e-5, "central")
    assert (promise.neighboring, promise.unit, promise.arithmetic) == (neighboring, "one ballot", "exact")
    assert promise.how == f"rounded Gaussian noise, correlated over {horizon} periods, on the net wins of each item"
    assert promise.losses.epsilon(1e-5) == pytest.approx(0.4)
    one_release = Central(0.4, 1e-5, "gaussian", neighboring=neighboring).plan([Ask(NetWins())], N_ITEMS).guarantee
    assert promise.losses.mu_squared == pytest.approx(one_release.losses.mu_squared)


def test_a_part_of_the_budget_is_stated_as_what_it_is():
    half = Streaming(1.0, 1e-6, 10).plan([Ask(NetWins(), share=Fraction(1, 2))], N_ITEMS).guarantee
    whole = Streaming(1.0, 1e-6, 10).plan([Ask(NetWins())], N_ITEMS).guarantee
    assert 0.5 < half.epsilon < 1  # in the Gaussian unit: 1 / sqrt(2) of it, about
    assert half.losses.mu_squared == pytest.approx(whole.losses.mu_squared / 2)


def test_two_totals_share_the_budget():
    asks = [Ask(NetWins(), share=Fraction(1, 4)), Ask(AllMargins(), share=Fraction(3, 4))]
    plan = Streaming(1.0, 1e-6, 2).plan(asks, N_ITEMS)
    assert plan.guarantee.epsilon == 1.0
    assert plan.guarantee.losses.epsilon(1e-6) == pytest.approx(1.0)
    stream = plan.open(PROFILE)(Bits.from_random_state(0))
    assert stream.answer(NetWins()).shape == (N_ITEMS,)
    assert stream.answer(AllMargins()).shape == (N_ITEMS, N_ITEMS)
    assert set(stream.published) == {"periods"}


def test_only_what_was_declared_is_answered():
    stream = opened(Streaming(), [Ask(NetWins())])
    first = stream.answer(NetWins())
    assert first.dtype == np.int64
    np.testing.assert_array_equal(first, stream.answer(NetWins()))  # asked again, the same
    with pytest.raises(BudgetExhausted, match=r"AllMargins\(\) was not declared"):
        stream.answer(AllMargins())


def arrays(value):
    """Every array that can be reached."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from arrays(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from arrays(each)
    elif hasattr(value, "__dict__"):
        yield from arrays(vars(value))


def test_a_stream_keeps_sums_and_no_ballots():
    ballots = np.tile(np.arange(N_ITEMS), (1237, 1))
    stream = opened(Streaming(horizon=3), SortByScore().asks(N_ITEMS), Profile.from_rankings(ballots), None)
    again = (
        Streaming(horizon=3)
        .plan(SortByScore().asks(N_ITEMS), N_ITEMS)
        .open(PROFILE)(Bits.from_random_state(None), stream)
    )
    for kept, periods in ((stream, 1), (again, 2)):
        shapes = {array.shape for array in arrays(vars(kept)) if array.dtype != np.uint64}  # but words of the source
        assert shapes == {(periods, N_ITEMS), (N_ITEMS,)}  # and the published total
        stored = pickle.dumps(kept)
        assert ballots.astype(np.uint8).tobytes() not in stored and b"sklearn_dprank.ballots.profile" not in stored
    assert (stream.period, again.period) == (1, 2)
    assert repr(again) == "Stream(period=2)"  # and no number of it


# Correlated noise


UNIT = 2**16


def naive_weights(horizon):
    """Return c_0 = 1, c_k = c_{k-1} (2k - 1) / (2k), as fractions."""
    weights = [Fraction(1)]
    for k in range(1, horizon):
        weights.append(weights[-1] * Fraction(2 * k - 1, 2 * k))
    return weights


def naive_totals(parts, noise, sigma):
    """Return prefix sums plus the weighted noise of all periods so far."""
    c = [float(w) for w in naive_weights(len(parts))]
    return [
        sum(parts[s] for s in range(t + 1)) + sigma * sum(c[t - s] * noise[s] for s in range(t + 1))
        for t in range(len(parts))
    ]


def calibrated(horizon, m=5, epsilon=1.0, delta=1e-6, neighboring="add_remove"):
    sensitivity = NetWins().sensitivity(m, neighboring)
    return CorrelatedNoise.calibrated(NetWins(), sensitivity, m, Fraction(epsilon), delta, horizon, Fraction(1))


def totals_of(noise, parts, bits=None):
    """Return the total after each period; scripted noise needs no `bits`."""
    found = np.empty((0, parts.shape[1]))
    for t in range(len(parts)):
        found = np.vstack([found, noise.added(parts[: t + 1], found, bits)])
    return found.cumsum(axis=0)


@pytest.mark.parametrize("horizon", [1, 2, 3, 10, 300])
def test_root_weights_are_rounded_and_square_to_prefix_sums(horizon):
    exact = naive_weights(horizon)
    weights = root_weights(horizon)
    assert weights.dtype == np.int64
    assert [abs(int(w) - c * UNIT) <= Fraction(1, 2) for w, c in zip(weights, exact, strict=True)] == [True] * horizon
    squared = np.convolve([float(c) for c in exact], [float(c) for c in exact])[:horizon]
    np.testing.assert_allclose(squared, 1, rtol=1e-9)


def test_last_weight_of_the_longest_stream_is_above_zero():
    assert root_weights(100_000)[-1] > 100


@pytest.mark.parametrize("horizon", [1, 2, 3, 30])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_sigma_covers_a_ballot_in_all_draws(horizon, neighboring):
    noise = calibrated(horizon, neighboring=neighboring)
    squared = 40 * (4 if neighboring == "replace" else 1)
    reach = math.sqrt(squared) * math.sqrt(sum(float(c) ** 2 for c in naive_weights(horizon)))
    assert noise.noise.sigma == pytest.approx(UNIT * gaussian_sigma(1.0, 1e-6, reach), rel=1e-4)
    assert noise.sensitivity.l2_squared == squared * sum(int(w) ** 2 for w in root_weights(horizon))
    assert noise.noise.losses(noise.sensitivity, 1).mu_squared == pytest.approx(1 / gaussian_sigma(1.0, 1e-6) ** 2)


@pytest.mark.parametrize("horizon", [1, 4, 25])
def test_totals_equal_a_naive_sum(horizon):
    rng = np.random.default_rng(horizon)
    parts, noise = rng.integers(-1000, 1000, (horizon, 6)), rng.standard_normal((horizon, 6))
    made = calibrated(horizon, m=6)
    with scripted(noise):
        found = totals_of(made, parts)
    np.testing.assert_allclose(found, naive_totals(parts, noise, made.noise.sigma / UNIT), atol=0.02)
    with scripted(np.zeros((horizon, 6))):
        np.testing.assert_allclose(totals_of(made, parts), parts.cumsum(axis=0), atol=1e-9)


@pytest.mark.parametrize("size", [2**20, 2**44, 2**60, 2**90], ids=lambda size: f"2^{size.bit_length() - 1}")
def test_mixtures_of_large_sums_do_not_overflow(size):
    """The mixture is exact, in 64 bits or beyond; noise has a fixed, small sigma."""
    made = CorrelatedNoise(GaussianNoise(0.01), Sensitivity(1, Fraction(1)), 3)
    sums = np.array([[size, 0], [1, -size], [-size, 3]], dtype=np.int64 if size < 2**63 else object)
    seen = []
    kind = type(made.noise)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "added", lambda self, vector, bits: seen.append(vector) or np.asarray(vector, float))
        made.added(sums, np.zeros((2, 2)), None)
    weights = [int(w) for w in root_weights(3)][::-1]
    expected = [sum(w * int(x) for w, x in zip(weights, column, strict=True)) for column in sums.T]
    assert [int(x) for x in seen[0]] == expected


# `partial_fit`


M, T = 5, 4
PERIODS = [make_mallows(60, M, 0.7, center=[3, 0, 4, 1, 2], random_state=day) for day in range(T)]
NAMES = ["tea", "milk", "water", "wine", "juice"]


def streaming(**parameters):
    return DPStreamingBorda(**{"horizon": T, "random_state": 0, **parameters})


def orders(stream, periods=PERIODS):
    return [stream.partial_fit(X).consensus_.tolist() for X in periods]


def test_one_period_more_is_refused_before_its_ballots_are_read():
    stream = streaming()
    orders(stream)
    before = stream.consensus_.tolist()
    for X in ("no ballots", PERIODS[0]):
        with pytest.raises(BudgetExhausted, match="all 4 periods of this stream are published"):
            stream.partial_fit(X)
    assert (stream.consensus_.tolist(), stream.periods_) == (before, T)


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
    with pytest.warns(UserWarning, match="begins a stream without those of the fit"):
        stream.partial_fit(PERIODS[0])
    assert orders(stream, PERIODS[1:]) == orders(streaming())[1:]


# Ballots


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


# Ballots of bounded length

LISTS = np.where(np.arange(5) < 2, np.tile([0.0, 1, 2, 3, 4], (300, 1)), np.nan)


def test_short_ballots_of_a_stream_need_less_noise():
    bounded, plain = (DPStreamingBorda(epsilon=1.0, horizon=4, random_state=0) for _ in range(2))
    for _ in range(3):
        bounded.partial_fit(Profile.from_rankings(LISTS, max_listed=2))
        plain.partial_fit(LISTS)
    assert bounded.max_listed_ == 2 and bounded.stream_.grid == bounded.noise_.grid == 720720
    ratio = bounded.noise_.law.std / 720720 / plain.noise_.law.std
    assert ratio == pytest.approx((2 / 40) ** 0.5, rel=1e-3)
    deviation = bounded.noise_.law.std / 720720
    np.testing.assert_allclose(bounded.scores_, [900, -900, 0, 0, 0], atol=6 * deviation)
    assert bounded.privacy_.how.endswith("calibrated to ballots of at most 2 items (longer ones count less)")
    assert not hasattr(plain, "max_listed_")


def test_long_ballots_of_a_stream_count_less():
    """With noise of 0, the total is that of the profile."""
    estimator = DPStreamingBorda(epsilon=1e8, horizon=1)
    profile = Profile.from_rankings([[0, 1, 2, np.nan]] * 9 + [[3, 2, 1, 0]], max_listed=2)
    assert (estimator.fit(profile).scores_ * 720720).round().tolist() == pytest.approx(
        profile.net_wins.tolist(), abs=999
    )


def test_all_periods_have_one_bound():
    stream = DPStreamingBorda(horizon=3).partial_fit(Profile.from_rankings(LISTS, max_listed=2))
    for other in (LISTS, Profile.from_rankings(LISTS, max_listed=3)):
        with pytest.raises(ValueError, match="the parameters are not those that this stream began with"):
            stream.partial_fit(other)
    assert stream.partial_fit(Profile.from_rankings(LISTS[:0], max_listed=2)).periods_ == 2


def test_lists_of_a_stream_count_like_the_same_table():
    """With the noise of one seed; the lists of persons are refused, who may vote in several periods."""
    orders = [[0, 1]] * 300
    for limits in ({}, {"max_listed": 2}):
        streams = [DPStreamingBorda(horizon=3, random_state=0) for _ in range(2)]
        for _ in range(2):
            streams[0].partial_fit(Profile.from_orders(orders, items=range(5), **limits))
            streams[1].partial_fit(Profile.from_rankings(LISTS, **limits))
        lists, table = streams
        assert lists.privacy_.unit == "one ballot" and lists.periods_ == 2 and lists.noise_.grid == 720720
        assert lists.noise_.law.std / 720720 == pytest.approx(table.noise_.law.std / table.noise_.grid, rel=1e-3)
        np.testing.assert_allclose(lists.scores_, [600, -600, 0, 0, 0], atol=6 * lists.noise_.law.std / 720720)
    persons = Profile.from_orders(orders, items=range(5), person=range(300))
    for stream in (DPStreamingBorda(), streams[0]):
        with pytest.raises(ValueError, match="with one row of each person, or publish once by DPBorda"):
            stream.partial_fit(persons)


@pytest.mark.parametrize(
    "limits",
    [{"groups": range(300), "max_listed": 2}, {"sample_weight": np.ones(300)}, {"groups": range(300)}]
    + [{"sample_weight": np.ones(300), "max_weight": weight, "max_listed": 2} for weight in (2, "auto")],
)
def test_a_stream_takes_no_persons_and_no_weights(limits):
    with pytest.raises(ValueError, match=r"^groups, sample_weight, ratings and comparisons do not work with a stream"):
        DPStreamingBorda().partial_fit(Profile.from_rankings(LISTS, **limits))
