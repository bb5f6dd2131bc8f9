"""Exact audits of private selection: the law of the selected draw on neighbouring profiles, by enumeration.

The law of one draw (candidate, order, score) is made from the package's own candidates (see audit_tools) and the
noise that the package's scorer asks for. The number of draws enters by its generating function f alone: the best score
is a certain one with probability f(probability up to it) - f(probability below it).
"""

import math
from contextlib import contextmanager
from itertools import combinations, permutations, product

import numpy as np
import pytest
from audit_tools import law, neighbours, noise_pmf, profile_of, profile_with, worst_loss
from oracles import distinct_ballots
from scipy import stats
from sklearn.base import clone

from sklearn_dprank import Borda, DPBorda, DPKemenySampler, DPKwikSort, DPPrudentOrder
from sklearn_dprank._utils.checks import changed_ballots
from sklearn_dprank.ballots import weights
from sklearn_dprank.mechanisms import LaplaceNoise
from sklearn_dprank.model_selection import PrivateKendallTau, PrivateSelection
from sklearn_dprank.model_selection.private import candidates_of, eta_of, gamma_of
from sklearn_dprank.orders.permutations import order_to_positions

DEPTH = 45  # scores are cut where exp(-DEPTH) of their mass is left
RELATIONS = ["add_remove", "replace"]
BASES = {
    "nobody": {2: [], 3: []},
    "mixed": {2: [[0, 1], [1, 0], [0, 0]], 3: [[0, 1, 2], [0, 1, 2], [0, 0, 1], [np.nan, 1, 0]]},
    "unanimous": {2: [[0, 1]] * 5, 3: [[0, 1, 2]] * 5},
}
EXTREME = {2: np.array([[0, 1], [1, 0]]), 3: np.array([[0, 1, 2], [2, 1, 0], [0, 0, 1]])}
POOLS = {
    "one": [DPBorda()],
    "two": [DPBorda(), DPKemenySampler()],
    "three": [DPBorda(), DPPrudentOrder(), DPKwikSort()],
}


def selection_of(pool, neighboring, epsilon=0.5, score_epsilon=0.5, **parameters):
    """A selection among the pool, at an epsilon for add_remove; replace has twice it."""
    factor = 2 if neighboring == "replace" else 1
    candidates = [clone(e).set_params(epsilon=factor * epsilon, neighboring=neighboring) for e in POOLS[pool]]
    return PrivateSelection(candidates, score_epsilon=factor * score_epsilon, **parameters)


# --- the law of one draw


class _Asked(Exception):
    """Carries the noise that the scorer asks for, and on what."""


@contextmanager
def no_noise_but_a_report():
    def report(self, vector, bits):
        raise _Asked(self, int(vector[0]))

    added = LaplaceNoise.added
    LaplaceNoise.added = report
    try:
        yield
    finally:
        LaplaceNoise.added = added


def score_pmf(scorer, order, profile, scores):
    """The probability of each score of an order."""
    fitted = Borda()
    fitted.n_features_in_ = profile.n_items
    fitted.ranks_ = order_to_positions(np.array(order))
    with no_noise_but_a_report(), pytest.raises(_Asked) as asked:
        scorer(fitted, profile)
    noise, exact = asked.value.args
    return noise_pmf(noise, scores - exact)


def law_of_a_draw(selection, profile, scores):
    """The probability of every (candidate, order, score), shape (n_candidates, m!, n_scores)."""
    m = profile.n_items
    scorer = PrivateKendallTau(selection.score_epsilon, selection.guarantee(m).neighboring)
    by_score = np.array([score_pmf(scorer, order, profile, scores) for order in permutations(range(m))])
    candidates = candidates_of(selection.estimator, selection.param_grid)
    orders = np.array([law(candidate, profile) for candidate, _ in candidates])
    return orders[:, :, None] * by_score / len(orders)


# --- the law of the best of K draws


def random_stopping(eta, gamma):
    """f(b) - f(a) for the truncated negative binomial distribution, without cancellation.

    f is (v^-eta - 1) / (gamma^-eta - 1) with v = 1 - (1 - gamma) x, and log(v) / log(gamma) for eta = 0.
    """

    def difference(below, here, above):
        if gamma == 1:  # one draw
            return here
        low = gamma + (1 - gamma) * above
        log_ratio = np.log1p((1 - gamma) * here / low)
        if eta == 0:
            return log_ratio / -math.log(gamma)
        high = gamma + (1 - gamma) * (here + above)
        return high**-eta * np.expm1(eta * log_ratio) / (gamma**-eta - 1)

    return difference


def always(k):
    """f(b) - f(a) for a fixed number of draws."""

    def difference(below, here, above):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(below > 0, below**k * np.expm1(k * np.log1p(here / below)), here**k)

    return difference


def law_of_the_best(draw, difference):
    """The law of the best of K draws from that of one, shape (..., n_scores) in increasing order of the score."""
    here = draw.reshape(-1, draw.shape[-1]).sum(axis=0)
    below = np.append(0, np.cumsum(here)[:-1])
    above = np.append(np.cumsum(here[::-1])[::-1][1:], 0)
    return draw / here * difference(below, here, above)


def stopping_of(selection):
    eta = eta_of(selection.distribution)
    return random_stopping(eta, float(gamma_of(eta, selection.mean_draws)))


def losses(selection, base, m, ballots, difference=None):
    """(worst loss of one draw, worst loss of the selected one) over a base with each ballot."""
    neighboring = selection.guarantee(m).neighboring
    profiles, pairs = neighbours(base, ballots, neighboring, m)
    most = math.comb(m, 2)
    far = math.ceil(DEPTH * changed_ballots(neighboring) * most / selection.score_epsilon) + (len(base) + 1) * most
    draws = [law_of_a_draw(selection, profile, np.arange(-far, far + 1)) for profile in profiles]
    best = [law_of_the_best(draw, difference or stopping_of(selection)) for draw in draws]
    for one in (*draws, *best):
        assert one.sum() == pytest.approx(1, abs=1e-9)
    return worst_loss(draws, pairs), worst_loss(best, pairs)


def check(selection, base, m, ballots):
    """Return the worst loss as a share of the promise."""
    one, best = losses(selection, base, m, ballots)
    total = selection.guarantee(m).epsilon
    eta = eta_of(selection.distribution)
    assert one <= total / (2 + eta) + 1e-9
    assert best <= total + 1e-9
    return best / total


def pmf_of(eta, gamma, longest):
    """P(K = 1), ..., P(K = longest): (1 - gamma)^k times the product of (l + eta) / (l + 1), normalised."""
    k = np.arange(1, 5000)
    log_weights = k * math.log1p(-gamma) + np.append(0, np.cumsum(np.log((k[:-1] + eta) / (k[:-1] + 1))))
    return (np.exp(log_weights) / np.exp(log_weights).sum())[:longest]


@pytest.mark.slow
@pytest.mark.parametrize("eta", [-0.5, 0.0, 0.5, 1.0])
def test_the_law_of_the_best_is_that_of_all_sequences(eta):
    """The first of the best draws, enumerated over all sequences of up to eight draws with ties."""
    q, scores, gamma = np.array([0.2, 0.3, 0.4, 0.1]), np.array([0, 1, 1, 2]), 0.5
    by_score = np.array([q[scores == s].sum() for s in (0, 1, 2)])
    below, above = np.array([0, 0.2, 0.9]), np.array([0.8, 0.1, 0])
    pmf, found, expected = pmf_of(eta, gamma, 8), np.zeros(4), np.zeros(4)
    for k in range(1, 9):
        for sequence in product(range(4), repeat=k):
            found[sequence[np.argmax(scores[list(sequence)])]] += pmf[k - 1] * np.prod(q[list(sequence)])
        expected += pmf[k - 1] * (q / by_score[scores]) * always(k)(below, by_score, above)[scores]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    pmf = pmf_of(eta, gamma, 200)
    np.testing.assert_allclose(
        random_stopping(eta, gamma)(below, by_score, above),
        sum(p * always(k)(below, by_score, above) for k, p in enumerate(pmf, start=1)),
        rtol=1e-9,
    )


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("distribution", ["geometric", "logarithmic", -0.5, 0.4])
@pytest.mark.parametrize("mean_draws", [1, 2, 100])
def test_loss_never_exceeds_the_promise(distribution, mean_draws, base, neighboring):
    for pool in POOLS:
        selection = selection_of(pool, neighboring, distribution=distribution, mean_draws=mean_draws)
        check(selection, base[2], 2, distinct_ballots(2))


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("distribution", ["geometric", "logarithmic"])
def test_loss_on_three_items(distribution, base, neighboring):
    selection = selection_of("two", neighboring, distribution=distribution, mean_draws=1000)
    check(selection, base[3], 3, distinct_ballots(3))


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize(("distribution", "share"), [("geometric", 0.97), ("logarithmic", 0.99), (-0.25, 0.99)])
def test_the_audit_is_tight(distribution, share, neighboring):
    """Almost all of (2 + eta) epsilon is used up where the score has most of the budget: far more than epsilon."""
    mean_draws = 300 if distribution == -0.25 else 1000
    parameters = {"epsilon": 0.01, "score_epsilon": 1.0, "distribution": distribution, "mean_draws": mean_draws}
    for m in (2, 3):
        selection = selection_of("one", neighboring, **parameters)
        base = [list(range(m))] * 20
        assert check(selection, base, m, EXTREME[m]) > share


# --- persons and weights

GRID, BOUND = 2, 2.5  # a coarse grid in place of 720720: a person has at most 5 units
OTHERS = [([0, 1, 2], 1.0), ([1, 0, 2], 1.0), ([2, 2, 0], 0.5)]  # each of another person
UNANIMOUS = [([0, 1, 2], 9.0)] * 20
SAME = [  # ballots and weights of one person; the first has no weight: a person who came or went
    [([0, 1, 2], 0.0)],
    [([0, 1, 2], 9.0)],
    [([2, 1, 0], 1.0), ([2, 1, 0], 4.0)],
    [([0, 1, 2], 1.0), ([2, 1, 0], 1.0), ([1, 0, 2], 7.0)],
    [([1, 2, 0], 0.5), ([0, 0, np.nan], 2.0)],
]


def losses_of_persons(selection, persons, others, monkeypatch):
    """(worst loss of one draw, worst loss of the selected one) over persons; only counts of ballots matter."""
    monkeypatch.setattr(weights, "WEIGHT_GRID", GRID)
    profiles = [profile_with(person, others, BOUND) for person in persons]
    _, first = np.unique([one.margins.ravel() for one in profiles], axis=0, return_index=True)
    profiles = [profiles[0], *(profiles[k] for k in sorted(set(first.tolist()) - {0}))]
    pairs = list(combinations(range(len(profiles)), 2))
    if selection.guarantee(3).neighboring == "add_remove":
        pairs = [(0, k) for k in range(1, len(profiles))]
    bound = profiles[0].bound
    guarantee = selection.guarantee(3, bound=bound)
    assert guarantee.unit == weights.PERSON and guarantee.epsilon == selection.guarantee(3).epsilon
    reach = changed_ballots(guarantee.neighboring) * 3 * bound.most
    far = math.ceil(DEPTH * reach / selection.score_epsilon) + 3 * bound.most * (len(others) + 1)
    draws = [law_of_a_draw(selection, one, np.arange(-far, far + 1)) for one in profiles]
    best = [law_of_the_best(draw, stopping_of(selection)) for draw in draws]
    for one in (*draws, *best):
        assert one.sum() == pytest.approx(1, abs=1e-9)
    return worst_loss(draws, pairs), worst_loss(best, pairs)


@pytest.mark.parametrize("neighboring", RELATIONS)
def test_a_person_loses_no_more_than_the_promise(neighboring, monkeypatch):
    selection = selection_of("two", neighboring, mean_draws=100)
    one, best = losses_of_persons(selection, SAME, OTHERS, monkeypatch)
    total = selection.guarantee(3).epsilon
    assert one <= total / 3 + 1e-9
    assert total / 4 < best <= total + 1e-9


@pytest.mark.parametrize("neighboring", RELATIONS)
def test_the_audit_of_a_person_is_tight(neighboring, monkeypatch):
    """Where the score has most of the budget, a person uses up almost all of it."""
    selection = selection_of("one", neighboring, epsilon=0.01, score_epsilon=1.0, mean_draws=1000)
    _, best = losses_of_persons(selection, SAME[:3], UNANIMOUS, monkeypatch)
    assert 0.95 < best / selection.guarantee(3).epsilon <= 1 + 1e-9


# --- what is audited is what is sampled


def p_value_of_fits(size, distribution, mean_draws):
    """Chi-square of fits with seeds 0, 1, ... against the exact law of (candidate, order, score)."""
    profile = profile_of([[0, 1], [0, 1], [1, 0], [0, np.nan]], 2)
    parameters = {"score_epsilon": 1.0, "distribution": distribution, "mean_draws": mean_draws}
    selection = PrivateSelection([DPBorda(epsilon=0.3), DPKemenySampler(epsilon=2.0)], **parameters)
    scores = np.arange(-60, 61)
    expected = size * law_of_the_best(law_of_a_draw(selection, profile, scores), stopping_of(selection))
    observed = np.zeros_like(expected)
    for seed in range(size):
        fitted = clone(selection).set_params(random_state=seed).fit(profile)
        candidate = ["DPBorda", "DPKemenySampler"].index(type(fitted.best_estimator_).__name__)
        observed[candidate, fitted.ranks_[0], fitted.best_score_ + 60] += 1
    rare = expected < 8
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    return stats.chisquare(observed, expected * (size / expected.sum())).pvalue


@pytest.mark.parametrize(
    ("distribution", "mean_draws"), [pytest.param("geometric", 3, marks=pytest.mark.slow), ("logarithmic", 2.5)]
)
def test_the_audited_law_is_the_one_that_is_fitted(distribution, mean_draws):
    assert p_value_of_fits(900, distribution, mean_draws) > 1e-3
