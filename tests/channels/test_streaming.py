"""The channel of streams: what it prices, what it refuses, and what a stream keeps."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from oracles import rankings

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Streaming
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import AllMargins, Ask, Histogram, NetWins, PairMargin, PositionalScores
from sklearn_dprank.rules import SortByScore
from sklearn_dprank.sampling.bit_source import Bits

M = 4
PROFILE = Profile.from_rankings(rankings(M))


def opened(channel, asks, profile=PROFILE, seed=0):
    return channel.plan(asks, M).open(profile)(Bits.from_random_state(seed))


@pytest.mark.parametrize("horizon", [1, 3, 365])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_the_guarantee_is_that_of_the_whole_stream(horizon, neighboring):
    promise = Streaming(0.4, 1e-5, horizon, neighboring).plan([Ask(NetWins())], M).guarantee
    assert (promise.epsilon, promise.delta, promise.trust) == (0.4, 1e-5, "central")
    assert (promise.neighboring, promise.unit, promise.arithmetic) == (neighboring, "one ballot", "exact")
    assert promise.how == f"rounded Gaussian noise, correlated over {horizon} periods, on NetWins"
    assert promise.losses.epsilon(1e-5) == pytest.approx(0.4)
    one_release = Central(0.4, 1e-5, "gaussian", neighboring=neighboring).plan([Ask(NetWins())], M).guarantee
    assert promise.losses.mu_squared == pytest.approx(one_release.losses.mu_squared)


def test_a_part_of_the_budget_is_stated_as_what_it_is():
    half = Streaming(1.0, 1e-6, 10).plan([Ask(NetWins(), share=Fraction(1, 2))], M).guarantee
    whole = Streaming(1.0, 1e-6, 10).plan([Ask(NetWins())], M).guarantee
    assert 0.5 < half.epsilon < 1  # in the Gaussian unit: 1 / sqrt(2) of it, about
    assert half.losses.mu_squared == pytest.approx(whole.losses.mu_squared / 2)


def test_two_totals_share_the_budget():
    asks = [Ask(NetWins(), share=Fraction(1, 4)), Ask(AllMargins(), share=Fraction(3, 4))]
    plan = Streaming(1.0, 1e-6, 2).plan(asks, M)
    assert plan.guarantee.epsilon == 1.0
    assert plan.guarantee.losses.epsilon(1e-6) == pytest.approx(1.0)
    stream = plan.open(PROFILE)(Bits.from_random_state(0))
    assert stream.answer(NetWins()).shape == (M,)
    assert stream.answer(AllMargins()).shape == (M, M)
    assert set(stream.published) == {"periods"}


@pytest.mark.parametrize(
    ("query", "times"), [(PairMargin(0, 1), 1), (NetWins(), 2), (Histogram(), 1)], ids=["one pair", "twice", "orders"]
)
def test_queries_without_running_totals_are_refused(query, times):
    with pytest.raises(
        ValueError, match=r"^Streaming cannot answer \w+.*, which the rule asks for; .* use a rule that "
    ):
        Streaming().plan([Ask(query, times)], M)


def test_only_what_was_declared_is_answered():
    stream = opened(Streaming(), [Ask(NetWins())])
    first = stream.answer(NetWins())
    assert first.dtype == np.int64
    np.testing.assert_array_equal(first, stream.answer(NetWins()))  # asked again, the same
    with pytest.raises(BudgetExhausted, match=r"AllMargins\(\) was not declared"):
        stream.answer(AllMargins())


@pytest.mark.parametrize("query", [NetWins(), AllMargins(), PositionalScores((1.0, 0.0, 0.0, 0.0))], ids=str)
def test_totals_with_a_large_budget_are_exact(query):
    channel, rng = Streaming(1e6, 1e-2, 5), np.random.default_rng(0)
    periods = [Profile.from_rankings(rng.permuted(np.tile(np.arange(M), (k + 3, 1)), axis=1)) for k in range(5)]
    plan, stream, total = channel.plan([Ask(query)], M), None, 0
    for profile in periods:
        poll = plan.open(profile)
        stream = poll(Bits.from_random_state(0), stream)
        total = total + query.read(query.vector(profile, None), M)
        np.testing.assert_allclose(stream.answer(query), total, atol=0.01)


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
    ballots = np.tile(np.arange(M), (1237, 1))
    stream = opened(Streaming(horizon=3), SortByScore().asks(M), Profile.from_rankings(ballots), None)
    again = Streaming(horizon=3).plan(SortByScore().asks(M), M).open(PROFILE)(Bits.from_random_state(None), stream)
    for kept, periods in ((stream, 1), (again, 2)):
        shapes = {array.shape for array in arrays(vars(kept)) if array.dtype != np.uint64}  # but words of the source
        assert shapes == {(periods, M), (M,)}  # and the published total
        stored = pickle.dumps(kept)
        assert ballots.astype(np.uint8).tobytes() not in stored and b"sklearn_dprank.ballots.profile" not in stored
    assert (stream.period, again.period) == (1, 2)
    assert repr(again) == "Stream(period=2)"  # and no number of it
