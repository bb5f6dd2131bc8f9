"""Costs of orders: what one ballot can do to the law exp(-rate cost), by enumeration."""

from itertools import combinations, permutations

import numpy as np
import pytest
from oracles import distinct_ballots, naive_counts, naive_disagreements

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.queries import KemenyUtility, MaxViolatedMargin, n_pairs
from sklearn_dprank.rules import Choose, ChooseNearAnchor
from sklearn_dprank.sampling.bit_source import SeededBits

RATE = 0.7
NEIGHBORING = ["add_remove", "replace"]


def orders_of(m):
    return np.array(list(permutations(range(m))))


def kemeny_costs(counts):
    """Voters' strict opinions that each order contradicts."""
    m = len(counts)
    return np.array([sum(counts[b, a] for a, b in combinations(order, 2)) for order in orders_of(m)], dtype=float)


def prudent_costs(counts, anchor=None, window=None):
    """The largest margin that each order overrules, signed; among pairs near each other in the anchor only."""
    m = len(counts)
    margins = counts - counts.T
    place = np.arange(m) if anchor is None else np.argsort(anchor)
    near = abs(place[:, None] - place) < (m if window is None else window)
    return np.array([max(margins[b, a] for a, b in combinations(o, 2) if near[a, b]) for o in orders_of(m)], float)


def allowed(m, anchor, window):
    place = np.argsort(anchor)
    return np.array([all(place[a] - place[b] < window for a, b in combinations(order, 2)) for order in orders_of(m)])


def log_law(costs):
    return -RATE * costs - np.logaddexp.reduce(-RATE * costs)


def bases(m):
    """Profiles on which a ballot matters most, and others: one mind (with the reverse once), a cycle, nobody."""
    ranking = np.arange(m)
    return {
        "one mind": [ranking] * 60,
        "one mind, one enemy": [ranking] * 60 + [ranking[::-1]],
        "cycle": [np.roll(ranking, k) for k in range(m)] * 5,
        "ties": [[0] * m, [0, 0, *range(1, m - 1)], [np.nan, *range(m - 1)]] * 3,
        "two": [ranking, np.roll(ranking, 1)],
    }


def worst_loss(costs_of, m, neighboring, keep=slice(None)):
    """The largest loss per unit of rate over bases, all weak and partial ballots and all orders."""
    ballots = distinct_ballots(m)
    votes = np.array([naive_counts([ballot]) for ballot in ballots])
    worst = 0.0
    for base in [np.zeros((m, m), dtype=int), *map(naive_counts, bases(m).values())]:
        laws = np.array([log_law(costs_of(base + vote)[keep]) for vote in votes])
        if neighboring == "add_remove":
            moves = laws - log_law(costs_of(base)[keep])
        else:
            moves = laws[:, None] - laws[None, :]
        worst = max(worst, np.abs(moves).max())
    return worst / RATE


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("m", [3, 4])
def test_loss_of_the_kemeny_cost(m, neighboring):
    """C(m, 2) under add/remove, which needs no factor 2 because ballots only add disagreements; twice that else."""
    stated = KemenyUtility().sensitivity(m, neighboring)
    assert stated.l1 == {"add_remove": 1, "replace": 2}[neighboring] * n_pairs(m)
    worst = worst_loss(kemeny_costs, m, neighboring)
    assert worst <= stated.l1 * (1 + 1e-12)
    assert worst >= stated.l1 * (1 - 1e-9)  # on ballots of one mind
    assert stated.l2_squared == stated.l1**2


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("m", [3, 4])
def test_loss_of_the_largest_overruled_margin(m, neighboring):
    """2 and 4, whatever the number of items."""
    stated = MaxViolatedMargin().sensitivity(m, neighboring)
    assert stated.l1 == {"add_remove": 2, "replace": 4}[neighboring]
    worst = worst_loss(prudent_costs, m, neighboring)
    assert worst <= stated.l1 * (1 + 1e-12)
    assert worst >= stated.l1 * (1 - 1e-9)


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize(("anchor", "window"), [((1, 0, 2), 2), ((2, 0, 1), 3), ((3, 1, 0, 2), 2), ((0, 1, 2, 3), 3)])
def test_loss_within_a_window(anchor, window, neighboring):
    """The same: the pairs counted and the orders allowed are public. The base measure cancels."""
    m = len(anchor)
    query = MaxViolatedMargin(anchor, window)
    worst = worst_loss(lambda c: prudent_costs(c, anchor, window), m, neighboring, allowed(m, anchor, window))
    stated = query.sensitivity(m, neighboring).l1
    assert stated == MaxViolatedMargin().sensitivity(m, neighboring).l1
    assert worst <= stated * (1 + 1e-12)
    assert worst >= stated * 0.99


def test_the_cost_of_one_order_is_the_definition():
    for base in bases(4).values():
        counts = naive_counts(base)
        near = MaxViolatedMargin((3, 1, 0, 2), 2)
        costs = [
            [query.cost(counts - counts.T, order) for order in orders_of(4)]
            for query in (KemenyUtility(), MaxViolatedMargin(), near)
        ]
        overruled = kemeny_costs(np.maximum(counts - counts.T, 0))
        np.testing.assert_array_equal(costs[0], overruled)
        np.testing.assert_array_equal(costs[1], prudent_costs(counts))
        keep = allowed(4, near.anchor, near.window)
        np.testing.assert_array_equal(np.array(costs[2])[keep], prudent_costs(counts, near.anchor, near.window)[keep])
        assert np.isinf(np.array(costs[2])[~keep]).all()


def test_halving_what_is_stated_would_be_caught():
    assert worst_loss(kemeny_costs, 3, "replace") > KemenyUtility().sensitivity(3, "add_remove").l1 * 1.9
    assert worst_loss(prudent_costs, 3, "add_remove") > MaxViolatedMargin().sensitivity(3, "add_remove").l1 / 2 * 1.9


@pytest.mark.parametrize("m", [3, 4])
def test_every_ballot_moves_costs_by_what_the_proof_says(m):
    base = naive_counts(bases(m)["ties"] + bases(m)["cycle"])
    for ballot in distinct_ballots(m):
        counts = base + naive_counts([ballot])
        added = kemeny_costs(counts) - kemeny_costs(base)
        assert (added >= 0).all() and (added <= n_pairs(m)).all()
        assert added.tolist() == [naive_disagreements(np.argsort(order), [ballot]) for order in orders_of(m)]
        assert np.abs(prudent_costs(counts) - prudent_costs(base)).max() <= 1


def test_margins_say_it_all():
    """Both costs are functions of the margins, but for what all orders share."""
    X = bases(4)["ties"] + bases(4)["cycle"][:7]
    counts, coins = naive_counts(X), SeededBits(np.random.SeedSequence(0))
    for query in (KemenyUtility(), MaxViolatedMargin(), MaxViolatedMargin((0, 1, 2, 3), 2)):
        vector = query.vector(Profile.from_rankings(X), coins)
        np.testing.assert_array_equal(vector.reshape(4, 4), counts - counts.T)
    over = np.maximum(counts - counts.T, 0)
    shared = kemeny_costs(counts) - kemeny_costs(over)
    assert set(shared) == {np.triu(np.minimum(counts, counts.T), 1).sum()}


# Refusals: public parameters only


@pytest.mark.parametrize(
    ("query", "n_items", "message"),
    [
        (MaxViolatedMargin(), 17, r"17 items needs a window \(without one at most 16 items\); set window=7"),
        (MaxViolatedMargin(window=1), 5, "window must be None or an integer from 2 to 12, got 1"),
        (MaxViolatedMargin(window=13), 50, "window must be None or an integer from 2 to 12, got 13"),
        (MaxViolatedMargin(window=2.5), 5, "window must be None or an integer from 2 to 12, got 2.5"),
        (MaxViolatedMargin((0, 1, 2)), 3, "anchor has no effect without a window"),
        (MaxViolatedMargin((0, 1, 1), 2), 3, "anchor must be an order of the 3 items"),
        (MaxViolatedMargin((0, 1), 2), 3, "anchor must be an order of the 3 items"),
    ],
)
def test_refusals(query, n_items, message):
    with pytest.raises(ValueError, match=message):
        query.check(n_items)


def test_what_is_accepted():
    MaxViolatedMargin().check(16)
    MaxViolatedMargin(window=7).check(500)
    MaxViolatedMargin((2, 0, 1), np.int64(2)).check(3)


def test_rules_that_ask():
    assert [ask.query for ask in Choose().asks(9)] == [KemenyUtility()]
    asked = ChooseNearAnchor(5).asks(9)
    assert [(str(ask.query), ask.share, ask.times) for ask in asked] == [
        ("NetWins", 0.5, 1),
        ("MaxViolatedMargin within 5", 0.5, 1),
    ]
    with pytest.raises(ValueError, match="a window needs an anchor; set anchor, or use ChooseNearAnchor"):
        Choose(MaxViolatedMargin(window=5)).asks(9)
    with pytest.raises(ValueError, match=r"query must be one that decides, as .*, got 'kemeny'"):
        Choose("kemeny").asks(9)
