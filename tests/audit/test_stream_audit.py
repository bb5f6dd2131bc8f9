"""Streams: the joint law of all published totals of small ones, ballot by ballot, and what copies of one add to it.

Totals are linear in the ballots and in the noise. Both maps are read off the code that runs, by ballots and noise of
one coordinate at a time. Two neighbouring streams then publish Gaussians of one covariance, and what tells them apart
is their distance mu in it, exactly.
"""

import copy
import math
import pickle

import numpy as np
import pytest
from audited import STREAMS
from oracles import distinct_ballots
from scipy import stats
from stream_tools import nobody, scripted, telling, totals

from sklearn_dprank import DPStreamingBorda
from sklearn_dprank.privacy import PrivacyGuarantee
from sklearn_dprank.privacy.composition import gaussian_delta

M, LOUD = 3, 1e6  # noise so large that the rounding of totals does not show
NOBODY = nobody(M)


def publish(estimator, periods, noise):
    """All totals of one stream with this noise, as one vector."""
    with scripted(noise):
        return totals(telling(estimator, np.shape(periods[0])[1]), periods).ravel()


def silent(n_draws, width):
    return np.zeros((n_draws, width))


def noise_map(show, n_draws, width):
    """Columns: what one coordinate of one draw does to everything that `show(noise)` publishes."""
    loud = LOUD * np.eye(n_draws * width).reshape(-1, n_draws, width)
    return np.array([show(noise) for noise in loud]).T / LOUD


def farthest(moves, noise):
    """The largest squared mu of changes of the published vector under its noise."""
    return max(float(move @ np.linalg.solve(noise @ noise.T, move)) for move in moves)


def moves_of(show, n_periods, neighboring):
    """Every change that neighbours can make: `show(periods)` is what is published of these ballots without noise."""
    found = []
    for period in range(n_periods):
        ballots = [
            [NOBODY] * period + [[ballot]] + [NOBODY] * (n_periods - period - 1) for ballot in distinct_ballots(M)
        ]
        shown = [show(periods) for periods in ballots]
        found += [a - b for a in shown for b in shown] if neighboring == "replace" else shown
    return [move for move in found if move.any()]


def width_of(estimator):
    with scripted(silent(1, 1)):
        return len(telling(estimator, M).partial_fit(NOBODY).told_)


def mu_squared(estimator):
    """What a whole stream reveals of one ballot, by the law of what it publishes."""
    channel, _ = estimator._compose()
    n, width = channel.horizon, width_of(estimator)
    noise = noise_map(lambda noise: publish(estimator, [NOBODY] * n, noise), n, width)
    moves = moves_of(lambda periods: publish(estimator, periods, silent(n, width)), n, channel.neighboring)
    return farthest(moves, noise)


@pytest.mark.parametrize("estimator", STREAMS.values(), ids=STREAMS)
def test_all_totals_together_keep_the_promise_and_use_it_up(estimator):
    promise = telling(estimator, M).partial_fit(NOBODY).privacy_
    mu = math.sqrt(mu_squared(estimator))
    delta = gaussian_delta(promise.epsilon, 1.0, mu)
    assert 0.999 * promise.delta < delta <= promise.delta * (1 + 1e-4)  # totals are rounded, by a millionth
    assert mu**2 == pytest.approx(promise.losses.mu_squared, rel=1e-5)


@pytest.mark.parametrize("estimator", STREAMS.values(), ids=STREAMS)
def test_the_noise_that_is_stated_is_that_of_every_total(estimator):
    """`noise_` of period t has the standard deviation of total t: sigma times the norm of the first t weights."""
    n, width = estimator._compose()[0].horizon, width_of(estimator)
    noise = noise_map(lambda noise: publish(estimator, [NOBODY] * n, noise), n, width)
    deviations = np.sqrt(np.diag(noise @ noise.T)).reshape(n, width)
    stream = telling(estimator, M)
    stated = [stream.partial_fit(NOBODY).noise_.law.std for _ in range(n)]
    np.testing.assert_allclose(deviations, np.repeat(stated, width).reshape(n, width), rtol=1e-5)
    assert (np.diff(stated) > 0).all()


def whitened(estimator, streams):
    """The draws behind the releases of streams without ballots, in standard deviations."""
    n, width = estimator._compose()[0].horizon, width_of(estimator)
    noise = noise_map(lambda noise: publish(estimator, [NOBODY] * n, noise), n, width)
    told = np.array([totals(stream, [NOBODY] * n).ravel() for stream in streams])
    return np.linalg.solve(noise, told.T).T.reshape(len(told), n, width)


@pytest.mark.parametrize("name", ["two periods", "three periods", "margins"])
def test_the_noise_of_every_period_is_fresh(name):
    """Standard normal and independent, of other periods and of other items."""
    estimator = STREAMS[name]
    drawn = whitened(estimator, [telling(estimator, M, seed) for seed in range(200)])
    assert stats.kstest(drawn.ravel(), stats.norm.cdf).pvalue > 1e-3
    correlation = np.corrcoef(drawn.reshape(len(drawn), -1).T)
    assert np.abs(correlation - np.eye(len(correlation))).max() < 4 / math.sqrt(len(drawn))
    # Nor does one stream repeat another's.
    assert abs(np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]) < 4 / math.sqrt(drawn.size)


@pytest.mark.slow
def test_the_secure_source_s_noise_is_fresh_too():
    estimator = STREAMS["three periods"]
    drawn = whitened(estimator, [telling(estimator, M, None) for _ in range(150)])
    assert stats.kstest(drawn.ravel(), stats.norm.cdf).pvalue > 1e-6
    for one, two in [(0, 1), (0, 2), (1, 2)]:
        assert stats.pearsonr(drawn[:, one].ravel(), drawn[:, two].ravel()).pvalue > 1e-6


# --- copies


SHARED, AFTER = 1, 2  # periods before a stream is copied, and after
COPIED = DPStreamingBorda(horizon=SHARED + AFTER)
WAYS = {"pickle": lambda stream: pickle.loads(pickle.dumps(stream)), "deepcopy": copy.deepcopy, "copy": copy.copy}


def continued(periods, noise, copied=copy.deepcopy):
    """Everything that two continuations of one stream publish; `periods` are the shared ones, then those of each."""
    with scripted(noise):
        stream = telling(COPIED, M)
        shared = totals(stream, periods[:SHARED])
        other = copied(stream)
        mine = totals(stream, periods[SHARED : SHARED + AFTER])
        return np.concatenate([shared, mine, totals(other, periods[SHARED + AFTER :])]).ravel()


@pytest.mark.slow
def test_two_continuations_reveal_what_the_docstring_states():
    n = SHARED + 2 * AFTER
    noise = noise_map(lambda noise: continued([NOBODY] * n, noise), n, M)
    promise = telling(COPIED, M).partial_fit(NOBODY).privacy_
    both = PrivacyGuarantee.compose([promise] * 2)
    alone, shared, twice = [], [], []
    for ballot in distinct_ballots(M):
        shown = [continued([NOBODY] * k + [[ballot]] + [NOBODY] * (n - k - 1), silent(n, M)) for k in range(n)]
        shared.append(shown[0])
        alone += shown[SHARED:]
        twice.append(shown[SHARED] + shown[SHARED + AFTER])  # a period that is published again
    worst = {
        name: farthest([m for m in moves if m.any()], noise)
        for name, moves in {"alone": alone, "shared": shared, "twice": twice}.items()
    }
    stated = promise.losses.mu_squared
    assert worst["alone"] <= stated
    assert stated < worst["shared"] <= 2 * stated * (1 + 1e-5)
    assert stated < worst["twice"] <= 2 * stated * (1 + 1e-5)
    assert both.losses.mu_squared == pytest.approx(2 * stated)
    assert gaussian_delta(both.epsilon, 1.0, math.sqrt(max(worst.values()))) <= both.delta


@pytest.mark.parametrize("copied", WAYS.values(), ids=WAYS)
def test_copies_never_repeat_each_other_s_noise(copied):
    """Equal ballots, four items in 20 periods: equal totals by chance once in 10^20 runs at most."""
    stream = telling(DPStreamingBorda(horizon=21), 4, None)
    stream.partial_fit(nobody(4))
    other = copied(stream)
    mine, its = (totals(each, [nobody(4)] * 20) for each in (stream, other))
    assert not (mine == its).all(axis=1).any()
    assert stream.privacy_.certified and other.privacy_.certified


@pytest.mark.parametrize("copied", WAYS.values(), ids=WAYS)
def test_seeded_copies_are_not_certified(copied):
    stream = telling(DPStreamingBorda(horizon=5), M, 0).partial_fit(NOBODY)
    assert not copied(stream).partial_fit(NOBODY).privacy_.certified


def test_a_stolen_stream_does_not_contain_later_noise():
    """Knowing the noise so far, a ballot cast later is as hidden as if the stream had begun then."""
    estimator = DPStreamingBorda(horizon=3)
    known = 1
    noise = noise_map(lambda noise: publish(estimator, [NOBODY] * 3, noise), 3, M)[known * M :, known * M :]
    moves = moves_of(lambda periods: publish(estimator, periods, silent(3, M)), 3, "add_remove")
    later = [move[known * M :] for move in moves if not move[: known * M].any()]
    promise = telling(estimator, M).partial_fit(NOBODY).privacy_
    assert farthest(later, noise) <= promise.losses.mu_squared
    stored = telling(estimator, M, None).partial_fit(NOBODY).stream_
    assert pickle.loads(pickle.dumps(stored)).bits.noise._buffer.size == 0 < stored.bits.noise._buffer.size


# --- the orders that are published


@pytest.mark.slow
def test_orders_have_the_law_of_the_totals():
    """Two items, two periods: which of four pairs of orders is published, against the bivariate normal."""
    estimator = DPStreamingBorda(epsilon=0.7, delta=1e-3, horizon=2)
    periods = [[[0, 1]] * 3, [[1, 0]] * 2]
    noise = noise_map(lambda noise: publish(estimator, [nobody(2)] * 2, noise), 2, 2)
    contrast = np.kron(np.eye(2), [1, -1])  # item 0 goes first where this is positive
    mean = contrast @ [3, -3, 1, -1]
    spread = contrast @ noise @ noise.T @ contrast.T
    first = {
        (a, b): stats.multivariate_normal([0, 0], np.outer([a, b], [a, b]) * spread).cdf([a, b] * mean)
        for a in (1, -1)
        for b in (1, -1)
    }
    seen = dict.fromkeys(first, 0)
    for seed in range(600):
        stream = DPStreamingBorda(epsilon=0.7, delta=1e-3, horizon=2, random_state=seed)
        seen[tuple(1 if stream.partial_fit(X).ranks_[0] == 0 else -1 for X in periods)] += 1
    expected = 600 * np.array(list(first.values()))
    assert expected.sum() == pytest.approx(600)
    assert stats.chisquare(list(seen.values()), expected).pvalue > 1e-3
