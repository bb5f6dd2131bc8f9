"""Answers that depend on earlier ones, audited along their transcripts: what all of them together reveal.

Along one transcript, all released answers of a session, the questions are the same on neighbouring profiles: the
privacy loss is that of one Gaussian whose mean moves by mu, mu^2 = sum |difference of the exact answers|^2 / sigma^2.
The largest mu over transcripts bounds the loss of all that is released, and so of what is made of it.
"""

from itertools import combinations

import numpy as np
import pytest
from audit_tools import neighbours
from audited import ROUNDS
from long_tools import compared
from oracles import distinct_ballots
from sklearn.base import clone

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.mechanisms import GaussianNoise, NoNoise
from sklearn_dprank.privacy.composition import gaussian_delta, gaussian_sigma
from sklearn_dprank.sampling.bit_source import Bits

RELATIONS = ["add_remove", "replace"]


class Overheard:
    """A mechanism that remembers what it was asked, and how much noise it put on it."""

    def __init__(self, mechanism, heard):
        self._mechanism, self._heard = mechanism, heard
        self.deviation = mechanism.deviation

    def sampler(self, query, vector):
        self._heard.append((query, self._mechanism))
        return self._mechanism.sampler(query, vector)


def transcript(estimator, profile, seed):
    """(query, noise) of every answer of one session, as the session itself drew them."""
    channel, rule = estimator._compose()
    bound = {} if profile.bound is None else {"bound": profile.bound}
    plan, heard = channel.plan(rule.asks(profile.n_items), profile.n_items, **bound), []
    for kind, price in plan.prices.items():
        plan.prices[kind] = price._replace(mechanism=Overheard(price.mechanism, heard))
    rule.aggregate(plan.open(profile)(Bits.from_random_state(seed)))
    return heard, plan.guarantee


def mu_squared(heard, one, other):
    total = 0.0
    for query, noise in heard:
        moved = (query.vector(one, None) - query.vector(other, None)).astype(float)
        assert isinstance(noise, GaussianNoise) or not moved.any()
        total += 0 if isinstance(noise, NoNoise) else (moved**2).sum() / noise.sigma**2
    return total


def worst_mu(estimator, ballots, base, neighboring, seeds):
    m = len(ballots[0])
    profiles, pairs = neighbours(base, ballots, neighboring, m)
    worst = 0.0
    for seed in seeds:
        heard, guarantee = transcript(estimator, profiles[0], seed)
        worst = max(worst, max(mu_squared(heard, profiles[a], profiles[b]) for a, b in pairs))
    return np.sqrt(worst), guarantee


def case(neighboring):
    return clone(ROUNDS["Swiss"]).set_params(neighboring=neighboring)


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("m", [2, 3, 4])
def test_no_ballot_tells_more_than_stated(m, neighboring):
    """Every weak and partial ballot; a strict one uses up everything."""
    ballots = distinct_ballots(m)
    if m == 4 and neighboring == "replace":  # fewer pairs
        ballots = np.concatenate([ballots[::6], [[0, 1, 2, 3], [3, 2, 1, 0]]])
    base = [range(m)] * 3 + [[0] * m]
    mu, guarantee = worst_mu(case(neighboring), ballots, base, neighboring, seeds=[0])
    assert 0.99 * guarantee.delta < gaussian_delta(guarantee.epsilon, 1.0, mu) <= guarantee.delta * (1 + 1e-9)


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("m", [2, 3, 4])
def test_a_ballot_tells_no_more_by_net_wins_and_their_products_than_stated(m, neighboring):
    """A strict ballot that is added uses up everything; opposite ones have the same products."""
    ballots, estimator = distinct_ballots(m), clone(ROUNDS["Borda of a sample"]).set_params(neighboring=neighboring)
    mu, guarantee = worst_mu(estimator, ballots, [range(m)] * 3, neighboring, seeds=[0])
    delta = gaussian_delta(guarantee.epsilon, 1.0, mu)
    assert (0.99 if neighboring == "add_remove" else 0.3) * guarantee.delta < delta <= guarantee.delta * (1 + 1e-9)


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("m", [14, 21, 45])
def test_no_ballot_tells_more_in_any_groups(m, neighboring):
    """With groups, which noise and coins choose: strict, tied and partial ballots of many kinds."""
    rng = np.random.default_rng(m)
    ballots = rng.permuted(np.tile(np.arange(m, dtype=float), (8, 1)), axis=1)
    ballots = np.concatenate([ballots, ballots[:2, ::-1], m - 1 - ballots[:1], ballots[2:4] // 3, ballots[:1]])
    ballots[-1][rng.random(m) < 0.4] = np.nan
    mu, guarantee = worst_mu(case(neighboring), ballots, [range(m)] * 5, neighboring, seeds=range(3))
    delta = gaussian_delta(guarantee.epsilon, 1.0, mu)
    assert 0.99 * guarantee.delta < delta <= guarantee.delta * (1 + 1e-9)


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize(("m", "epsilon", "by_pairs"), [(4, 30.0, True), (21, 30.0, True), (21, 0.5, False)])
def test_both_kinds_of_last_question_cost_the_same(m, epsilon, by_pairs, neighboring):
    """A ballot and its reverse reach the price of pairs and of groups; rounding of the scale leaves little unused."""
    rng = np.random.default_rng(m)
    ballots = rng.permuted(np.tile(np.arange(m, dtype=float), (4, 1)), axis=1)
    ballots = np.concatenate([ballots, m - 1 - ballots[:2], ballots[:1] // 2, ballots[:1]])
    ballots[-1][::3] = np.nan
    estimator = case(neighboring).set_params(epsilon=epsilon)
    profiles, _ = neighbours([range(m)] * 40, ballots, neighboring, m)
    for seed in range(3):
        heard, _ = transcript(estimator, profiles[0], seed)
        assert (heard[-1][0].pairs is not None) == by_pairs
    mu, guarantee = worst_mu(estimator, ballots, [range(m)] * 40, neighboring, seeds=range(3))
    delta = gaussian_delta(guarantee.epsilon, 1.0, mu)
    assert 0.9 * guarantee.delta < delta <= guarantee.delta * (1 + 1e-9)


@pytest.mark.parametrize("neighboring", RELATIONS)
def test_questions_follow_from_what_is_released(neighboring):
    """Profiles with the same answers get the same questions: groups depend on answers only."""
    estimator = case(neighboring)
    profile = Profile.from_rankings(np.tile(np.arange(21), (50, 1)))
    other = Profile.from_rankings(np.tile(np.arange(21)[::-1], (50, 1)))
    channel, rule = estimator._compose()
    plan = channel.plan(rule.asks(21), 21)
    asked = []
    for voters in (profile, other):
        session = plan.open(voters)(Bits.from_random_state(3))
        script = np.random.default_rng(7)
        queries = []

        def answer(query, queries=queries, script=script):
            queries.append(query)
            return query.read(np.rint(100 * script.normal(size=21)).astype(np.int64), 21)

        session.answer = answer
        consensus = rule.aggregate(session)
        asked.append((queries, consensus.order.tolist(), consensus.published["scores"].tolist()))
    assert asked[0] == asked[1]


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("m", [3, 4])
def test_no_ballot_tells_more_in_rounds_of_residuals(m, neighboring):
    """Every weak and partial ballot, at the strengths that noise chooses; none reaches the limit of all rounds."""
    ballots = distinct_ballots(m)[:: 1 if m == 3 else 5]
    leaderboard = clone(ROUNDS["leaderboard"]).set_params(neighboring=neighboring)
    mu, guarantee = worst_mu(leaderboard, ballots, [range(m)] * 3 + [[0] * m], neighboring, seeds=[0, 1])
    limit = 1 / gaussian_sigma(guarantee.epsilon, guarantee.delta)
    assert 0.5 * limit < mu <= limit * (1 + 1e-9)


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("max_weight", [0.5, 1, 3])
def test_no_person_tells_more_in_rounds_of_residuals(max_weight, neighboring):
    """Persons of up to 40 comparisons of 4 items: all wins of one item, ties, a repeated pair, and random ones."""
    rng, m, one = np.random.default_rng(0), 4, np.ones(40, int)
    rows = [
        (0 * one, rng.integers(1, m, 40), one),
        (3 * one, one, -one),
        (one, 2 * one, 0 * one),
        (one[:1], [0], one[:1]),
    ]
    for size in (1, 2, 3, 8, 40):
        first = rng.integers(0, m, size)
        rows.append((first, (first + rng.integers(1, m, size)) % m, rng.choice([-1, 0, 1], size)))

    def profile(persons):
        chosen = [rows[k] for k in persons]
        numbers = np.repeat(np.arange(len(chosen)), [len(first) for first, _, _ in chosen])
        return compared(numbers, *(np.concatenate(column) for column in zip(*chosen, strict=True)), m, max_weight)

    leaderboard = clone(ROUNDS["leaderboard"]).set_params(neighboring=neighboring)
    base, mu = [3, 4, 5], 0.0
    for seed in range(3):
        heard, guarantee = transcript(leaderboard, profile(base), seed)
        assert [type(query).__name__ for query, _ in heard] == ["NetWinsAndExposures"] + ["BradleyTerryResiduals"] * 11
        with_one = [profile([*base, k]) for k in range(len(rows))]
        pairs = combinations(with_one, 2) if neighboring == "replace" else ((profile(base), one) for one in with_one)
        mu = max(mu, *(np.sqrt(mu_squared(heard, one, other)) for one, other in pairs))
    limit = 1 / gaussian_sigma(guarantee.epsilon, guarantee.delta)
    assert 0.5 * limit < mu <= limit * (1 + 1e-9)
