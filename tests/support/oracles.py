"""Slow, obvious reference implementations, and ballots and profiles for tests."""

import math
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from sklearn_dprank.channels import Answers
from sklearn_dprank.mechanisms import MECHANISMS
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.queries import AllMargins, KemenyUtility, MaxViolatedPrefixMargin, NetWins, PairMargin
from sklearn_dprank.sampling.bit_source import SeededBits


def objects(rows):
    """Return rows of any cells as an array of objects, without casts by NumPy."""
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for at in np.ndindex(out.shape):
        out[at] = rows[at[0]][at[1]]
    return out


def seeded(seed=0):
    """A bit source that gives the same words each time."""
    return SeededBits(np.random.SeedSequence(seed))


def naive_counts(X):
    """C[i, j]: voters who strictly prefer i to j; every comparison with NaN is false."""
    X = np.asarray(X)
    return np.array([[np.count_nonzero(a < b) for b in X.T] for a in X.T], dtype=np.int64)


def naive_placements(X):
    """{(item, first, last): voters}, NaN tied last."""
    out = {}
    for row in np.asarray(X, dtype=float):
        row = np.where(np.isnan(row), np.inf, row)
        for item, value in enumerate(row):
            first = int(np.count_nonzero(row < value))
            key = item, first, first + int(np.count_nonzero(row == value)) - 1
            out[key] = out.get(key, 0) + 1
    return out


def naive_scores(X, scores):
    """Positional scores as Fractions: tied items share the mean of their positions' scores."""
    totals = [Fraction(0)] * len(scores)
    for (item, first, last), voters in naive_placements(X).items():
        shared = [Fraction(score) for score in scores[first : last + 1]]
        totals[item] += voters * sum(shared) / len(shared)
    return totals


def naive_disagreements(positions, X):
    """Strict disagreements of all ballots with one ranking, pair by pair."""
    return sum(
        int(np.count_nonzero((x[i] - x[j]) * (positions[i] - positions[j]) < 0))
        for x in np.asarray(X, dtype=float)
        for i, j in combinations(range(len(positions)), 2)
    )


def kendall(a, b):
    """Pairs of items on whose order two rankings without ties differ."""
    return sum((a[i] < a[j]) != (b[i] < b[j]) for i, j in combinations(range(len(a)), 2))


def assert_same_profile(one, other):
    """Check that two profiles have the same size, pairwise counts and placements."""
    assert (one.n_voters, one.n_items) == (other.n_voters, other.n_items)
    np.testing.assert_array_equal(one.pairwise_counts, other.pairwise_counts)
    np.testing.assert_array_equal(one.placements, other.placements)


def naive_kemeny(counts):
    """(Fewest disagreements, list of all orders that have them), by trying every order."""
    orders = np.array(list(permutations(range(len(counts)))))
    costs = sum(counts[orders[:, b], orders[:, a]] for a, b in combinations(range(len(counts)), 2))
    return int(costs.min()), [tuple(order) for order in orders[costs == costs.min()].tolist()]


def permutohedron_gauge(w):
    """Gauge of the permutohedron of net wins: k items together win at most k (m - k) times."""
    m = len(w)
    best = np.sort(np.asarray(w, dtype=float))[::-1].cumsum()[:-1]
    return float(np.max(best / [k * (m - k) for k in range(1, m)]))


def rankings(m):
    """All strict rankings of m items, as positions."""
    return np.array(list(permutations(range(m))), dtype=float)


def all_ballots(m):
    """Every ballot with ties and missing items: 26 at m=3, 150 at m=4 (dense ranks, NaN)."""
    rows = np.array(list(product([*range(m), np.nan], repeat=m)))
    return np.array([row for row in rows if set(row[~np.isnan(row)]) == set(range(len(set(row[~np.isnan(row)]))))])


def distinct_ballots(m):
    """One ballot for each way to prefer some items to others: 19 at m=3, 135 at m=4."""
    ballots = all_ballots(m)
    opinions = (ballots[:, :, None] < ballots[:, None, :]).reshape(len(ballots), -1)
    return ballots[np.unique(opinions, axis=0, return_index=True)[1]]


@st.composite
def profiles(draw, max_voters=12, max_items=6, strict=False):
    """Ballots with ties, gaps and missing items, in one of several dtypes; or complete strict rankings."""
    m, n = draw(st.integers(2, max_items)), draw(st.integers(1, max_voters))
    if strict or draw(st.booleans()):
        seed = draw(st.integers(0, 2**32 - 1))
        return np.random.default_rng(seed).permuted(np.tile(np.arange(m), (n, 1)), axis=1)
    dtype = draw(st.sampled_from([np.int64, np.int8, np.uint16, np.float32, np.float64]))
    if np.dtype(dtype).kind == "f":
        entries = st.sampled_from([*range(m), np.nan]) | st.sampled_from([-0.5, 0.25, 1e6, -1e6, np.nan])
    else:
        entries = st.integers(0, m) | st.integers(*([-128, 127] if dtype != np.uint16 else [0, 65535]))
    return draw(hnp.arrays(dtype, (n, m), elements=entries.map(dtype)))


_EXTREMES = [-128, -127, -1, 0, 1, 126, 127, 2047, 2048, 2049, 2050, 4097, 65503, -(2**62), 2**62, 2**62 + 1, 2**63 - 1]


@st.composite
def odd_profiles(draw):
    """Ballots of every real dtype, at the ends of its range, with more items than a byte can number, masked or not."""
    dtype = np.dtype(draw(st.sampled_from(["?", "i1", "u1", "i2", "u2", "i4", "i8", "u8", "f2", "f4", "f8"])))
    shape = draw(st.integers(1, 4)), draw(st.sampled_from([2, 3, 5, 254, 255, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype.kind == "b":
        X = rng.random(shape) < 0.5
    elif draw(st.booleans()):  # small numbers, dense
        X = rng.integers(0, 100, shape).astype(dtype)
    else:
        low, high = (-65504, 65504) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        some = [value for value in _EXTREMES if low <= value <= high] + [low, high]
        some = draw(st.sampled_from([some, some[:1], some[-3:]]))  # far apart, or near one end
        width = draw(st.sampled_from([0, 3, 200]))
        pool = [min(max(value + shift, low), high) for value in some for shift in range(-width, width + 1)]
        X = np.array(pool, dtype=dtype)[rng.integers(0, len(pool), shape)]
    if dtype.kind == "f" and draw(st.booleans()):
        X[rng.random(shape) < 0.3] = np.nan
    if draw(st.booleans()):
        X = np.ma.masked_array(X, mask=rng.random(shape) < 0.3)
    return X


class ScriptedAnswers(Answers):
    """Answers from a margin matrix, at most `paid` pair margins; remembers what it was asked."""

    def __init__(self, margins, *, paid=None, seed=0, fair_ties=True):
        super().__init__(len(margins), SeededBits(np.random.SeedSequence(seed)), fair_ties=fair_ties)
        self.margins = np.asarray(margins)
        self.paid = paid
        self.asked = []

    def answer(self, query):
        if isinstance(query, PairMargin):
            if self.paid is not None and len(self.asked) >= self.paid:
                raise BudgetExhausted("no answer is left")
            self.asked.append((query.i, query.j))
            return self.margins[query.i, query.j]
        if isinstance(query, AllMargins):
            return self.margins
        if isinstance(query, NetWins):
            return self.margins.sum(axis=1)
        raise BudgetExhausted(f"{query} was not planned for")


def spent(answers):
    """The epsilon of the answers that a curator has given so far."""
    return sum((price.times - answers.left[kind]) * price.epsilon for kind, price in answers.prices.items())


def margins_of_order(order, size=2):
    """Margins of `size` voters who all agree on this order."""
    positions = np.argsort(order)
    return size * np.sign(positions[None, :] - positions[:, None])


def random_margins(rng, m, high=4):
    """An antisymmetric matrix of small integers, zeros and cycles included."""
    upper = np.triu(rng.integers(-high, high + 1, (m, m)), 1)
    return upper - upper.T


def every_total(cost):
    """All orders, lexicographically, and their total costs: the naive twin."""
    m = len(cost)
    orders = list(permutations(range(m)))
    return orders, [sum(cost[o[i], o[j]] for i in range(m) for j in range(i + 1, m)) for o in orders]


def cost_of(query, margins, order):
    """Return the cost of an order (items, best first) by the definition of the query; inf if it is never drawn."""
    if isinstance(query, MaxViolatedPrefixMargin):
        top, before = list(order)[: query.k], set(query.placed or ())
        if before & set(top):
            return math.inf
        behind = [set(range(len(margins))) - before - set(top[: k + 1]) for k in range(len(top))]
        return max(margins[other, item] for item, others in zip(top, behind, strict=True) for other in others)
    overruled = [(i, j) for j, i in combinations(order, 2)]
    if isinstance(query, KemenyUtility):
        return sum(max(margins[pair], 0) for pair in overruled)
    if query.window is not None:
        place = {item: k for k, item in enumerate(query.anchor)}
        if any(place[j] - place[i] >= query.window for i, j in overruled):
            return math.inf
        overruled = [(i, j) for i, j in overruled if abs(place[i] - place[j]) < query.window]
    return max(margins[pair] for pair in overruled)


def random_counts(rng, m, n, gaps=True):
    """Pairwise counts of n weak rankings, with ties and, if asked for, missing items."""
    ballots = rng.integers(0, m, (n, m)).astype(float)
    if gaps:
        ballots[rng.random((n, m)) < 0.2] = np.nan
    return (ballots[:, :, None] < ballots[:, None, :]).sum(axis=0)


def calibrated(name, sensitivity, epsilon, delta=0.0, times=1):
    """A noise by its name; it depends on no query."""
    return MECHANISMS[name].calibrated(None, sensitivity, None, epsilon, delta, times)


def released(mechanism, query, vector, bits):
    """One private answer."""
    return mechanism.sampler(query, vector)(bits)


def derived(query, source, answer):
    """What follows for a query from one published answer, about the fewest items that the query accepts."""

    def accepts(m):
        try:
            query.check(m)
        except ValueError:
            return False
        return True

    answers = Answers(next(filter(accepts, range(2, 200))), None)
    answers.publish(source, answer)
    return answers.answer(query)


def flip_probability(epsilon):
    """The flip of randomised response."""
    return 1 / (1 + math.exp(epsilon))


def flip_epsilon(flip):
    """The epsilon of an answer that is flipped with this probability."""
    return math.log1p(-flip) - math.log(flip)


def fit_of(draws, orders, law):
    """P-value of a chi-square test; cells expected below 5 are merged, impossible ones must be empty."""
    index = {tuple(order): k for k, order in enumerate(np.asarray(orders).tolist())}
    seen = np.bincount([index[tuple(draw)] for draw in draws.tolist()], minlength=len(orders))
    assert not seen[law == 0].any()
    large = law * len(draws) >= 5
    seen, law = np.append(seen[large], seen[~large].sum()), np.append(law[large], law[~large].sum())
    seen, law = seen[law > 1e-12], law[law > 1e-12]
    return 1.0 if len(law) == 1 else stats.chisquare(seen, law / law.sum() * seen.sum()).pvalue
