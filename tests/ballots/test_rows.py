"""Counts of rows equal those of a table, and no person moves a statistic beyond its stated sensitivity."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from oracles import seeded

from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.rows import isqrt
from sklearn_dprank.ballots.weights import WEIGHT_GRID as D
from sklearn_dprank.channels import Central
from sklearn_dprank.queries import (
    AllMargins,
    Ask,
    GroupNetWins,
    KemenyUtility,
    MaxViolatedMargin,
    NetWins,
    NumberOfVoters,
    PairMargin,
    PairTallies,
    ScaledMargins,
)

M = 4
QUERIES = [NetWins(), AllMargins(), PairTallies(), PairMargin(0, 2), GroupNetWins(((0, 1, 2),)), NumberOfVoters()]
QUERIES += [GroupNetWins(((0, 1), (2, 3))), ScaledMargins(pairs=((0, 1), (1, 2))), ScaledMargins(groups=((0, 1, 2),))]
NEIGHBORING = ("add_remove", "replace")
NOISE = {"laplace": {}, "gaussian": {"delta": 1e-6}}


def ratings(rows, **bounds):
    """Profile of rows (person, item, place)."""
    person, item, place = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Profile.from_long(person=person, item=item, position=place, items=range(M), **bounds)


def comparisons(rows, max_weight=1):
    """Profile of rows (person, winner, loser, tied)."""
    person, winner, loser, tied = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    outcome = np.where(tied, "tie", "first")
    table = {"first": winner, "second": loser, "outcome": outcome, "person": person}
    names = {"person": "person", "outcome": "outcome", "items": range(M), "max_weight": max_weight}
    return Profile.from_comparisons(table, "first", "second", **names)


def one_person(rows_of, row_kinds, most_rows=3):
    """Yield the profile of each person with up to three rows."""
    for n_rows in range(1, most_rows + 1):
        for rows in combinations_with_replacement(row_kinds, n_rows):
            yield rows_of([(0, *row) for row in rows])


PAIRS = [(i, j, tied) for i, j in product(range(3), repeat=2) for tied in (0, 1) if i != j and (not tied or i < j)]
PERSONS = {
    **{f"comparisons {c}": (lambda rows, c=c: comparisons(rows, c), PAIRS) for c in (0.5, 1, 2.5)},
    "ratings": (ratings, list(product(range(M), range(2)))),
    "ratings, listed 2": (lambda rows: ratings(rows, max_listed=2), list(product(range(M), range(2)))),
    "ratings, listed 3": (lambda rows: ratings(rows, max_listed=3), list(product(range(M), range(2)))),
}


@pytest.fixture(scope="module", params=PERSONS)
def persons(request):
    return list(one_person(*PERSONS[request.param]))


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("noise", NOISE)
def test_no_person_moves_a_statistic_beyond_its_sensitivity(persons, noise, neighboring):
    """By the statistic and the sensitivity of the plan of a fit; a person may also come or go under "replace"."""
    norm = "l2" if noise == "gaussian" else "l1"
    for query in QUERIES:
        plan = Central(noise=noise, neighboring=neighboring, **NOISE[noise]).plan(
            [Ask(query)], M, bound=persons[0].bound
        )
        stated = plan.prices[query.kind].sensitivity
        every = np.unique([query.vector(one.clipped(norm), seeded()) for one in persons], axis=0).astype(object)
        moved = every
        if neighboring == "replace":
            moved = np.concatenate([every, (every[:, None] - every).reshape(-1, every.shape[1])])
        worst = max((moved**2).sum(axis=1)) / stated.l2_squared if noise == "gaussian" else 0
        worst = max(worst, max(abs(moved).sum(axis=1)) / stated.l1)
        assert worst <= 1, query


@pytest.mark.parametrize("neighboring", NEIGHBORING)
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("c", [0.5, 1, 2.5])
def test_bounds_on_net_wins_of_comparisons_are_attained(c, noise, neighboring):
    query, norm = NetWins(), "l2" if noise == "gaussian" else "l1"
    heavy = [comparisons([(0, *pair, 0)] * 3, c).clipped(norm) for pair in ((0, 1), (1, 0))]
    plan = Central(noise=noise, neighboring=neighboring, **NOISE[noise]).plan([Ask(query)], M, bound=heavy[0].bound)
    one, other = (query.vector(profile, seeded()).astype(object) for profile in heavy)
    moved, stated = one - other if neighboring == "replace" else one, plan.prices[query].sensitivity
    reached = (moved**2).sum() / stated.l2_squared if norm == "l2" else abs(moved).sum() / stated.l1
    assert 1 - 1e-5 < reached <= 1


@pytest.mark.parametrize("query", [KemenyUtility(), MaxViolatedMargin()], ids=str)
def test_no_person_changes_costs_of_orders_beyond_the_stated_loss(persons, query):
    """The costs of two orders differ by at most all margins, and the largest margin moves twice."""
    plan = Central(noise="exponential").plan([Ask(query)], M, bound=persons[0].bound)
    loss = plan.prices[query.kind].sensitivity.l1
    for one in persons:
        margins = abs(one.margins)
        change = margins.sum() // 2 if query == KemenyUtility() else 2 * margins.max()
        assert change <= loss


@pytest.mark.parametrize("rows_of", [ratings, comparisons], ids=["ratings", "comparisons"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_statistics_of_a_person_do_not_depend_on_others(rows_of, norm):
    rng = np.random.default_rng(0)
    width = 2 if rows_of is ratings else 3
    for _ in range(40):
        rows = rng.integers(0, M, (60, width + 1))
        if rows_of is comparisons:
            rows = rows[rows[:, 1] != rows[:, 2]]
            rows[:, 3] %= 2
        else:
            rows[:, 2] %= 3
        who = rows[:, 0]
        for query in QUERIES:
            of = [query.vector(rows_of(rows[part]).clipped(norm), seeded()) for part in (who >= 0, who == 0, who > 0)]
            assert (of[0] == of[1] + of[2]).all()


@pytest.mark.parametrize("max_listed", [None, 2, 3])
def test_counts_of_ratings_equal_those_of_a_table(max_listed):
    rng = np.random.default_rng(1)
    table = rng.integers(0, 4, (200, M)).astype(float)
    table[rng.random(table.shape) < 0.4] = np.nan
    person, item = np.nonzero(~np.isnan(table))
    order = rng.permutation(len(person))
    person, item = person[order], item[order]
    profile = ratings(np.column_stack([person, item, table[person, item]]), max_listed=max_listed)
    wide = Profile.from_rankings(table, sample_weight=np.ones(len(table)), max_listed=max_listed)
    for query in QUERIES[:-1]:
        if query != NumberOfVoters():  # a table also counts voters without any opinion
            assert (query.vector(profile, seeded()) == query.vector(wide, seeded())).all()
    assert profile.total_weight == D * profile.n_voters == D * np.unique(person).size


def test_counts_of_comparisons_equal_sums_of_clipped_persons():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, M, (300, 4))
    rows = rows[rows[:, 1] != rows[:, 2]]
    rows[:, 0] **= 2  # persons 0, 1, 4 and 9
    rows[:, 3] = rows[:, 3] == 0
    profile = comparisons(rows, 3)
    l1, l2, pairs = np.zeros((3, M, M), dtype=object)
    for who in np.unique(rows[:, 0]):
        own = np.zeros((M, M), dtype=object)
        for _, winner, loser, tied in rows[rows[:, 0] == who].tolist():
            own[winner, loser] += not tied
        wins = own.sum(axis=1) - own.sum(axis=0)
        l1[0] += wins * min(D, 6 * D // abs(wins).sum())
        l2[0] += wins * min(D, int((6 * D**2 // (wins**2).sum()) ** 0.5))
        pairs += own * min(D, 3 * D // own.sum())
    assert (profile.net_wins == l1[0]).all()
    assert (profile.clipped("l2").net_wins == l2[0]).all()
    assert (profile.pairwise_counts == pairs).all()
    assert profile.clipped("l2").clipped("l1").net_wins.tolist() == profile.net_wins.tolist()


def test_many_comparisons_do_not_overflow():
    rows = np.tile([0, 0, 1, 0], (200_000, 1))
    for norm in ("l1", "l2"):
        assert comparisons(rows).clipped(norm).net_wins.tolist() == [600_000, -600_000, 0, 0]


def test_isqrt_is_exact_beside_squares():
    roots = np.unique(np.concatenate([np.arange(2000), np.random.default_rng(0).integers(1, 10**9, 2000)]))
    assert (isqrt(roots**2) == roots).all() and (isqrt(roots[1:] ** 2 - 1) == roots[1:] - 1).all()


def test_parts_of_a_profile_add_up_to_the_whole():
    rng = np.random.default_rng(3)
    rows = rng.integers(0, M, (80, 4))
    rows = rows[rows[:, 1] != rows[:, 2]]
    rows[:, 3] %= 2
    for profile in (comparisons(rows), ratings(rows[:, :3], max_listed=2)):
        part, rest = profile[[0, 2]], profile[np.array([False, True, False, True])]
        assert (part.pairwise_counts + rest.pairwise_counts == profile.pairwise_counts).all()
        assert part.shape == (2, M) and part.total_weight + rest.total_weight == profile.total_weight
        with pytest.raises(ValueError, match="taken twice"):
            profile[[0, 0]]


def test_pairs_of_too_many_items_are_refused_with_what_can():
    profile = Profile.from_long(person=[0, 0], item=[5, 7], rating=[1, 2], items=range(6000))
    assert profile.net_wins[[5, 7]].tolist() == [-D, D] and profile.net_wins.any()
    with pytest.raises(ValueError, match="DPBorda"):
        profile.margins[0]


def test_means_of_repeated_ratings_do_not_depend_on_other_rows():
    """Sums of doubles depend on their order, and a rounding error would break a tie."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        n_own, n_others = rng.integers(2, 60), rng.integers(0, 30)
        item, stars = rng.integers(0, 3, n_own), rng.integers(1, 50, n_own) / 10
        own = Profile.from_long(person=np.ones(n_own, dtype=int), item=item, rating=stars, items=range(3))
        person = np.repeat([0, 1, 2], [n_others, n_own, n_others])  # each other person rates one item, and has no wins
        items = np.concatenate([np.zeros(n_others, dtype=int), item, np.ones(n_others, dtype=int)])
        values = np.concatenate([rng.random(n_others), stars, rng.random(n_others)])
        rows = rng.permutation(len(person))
        whole = Profile.from_long(person=person[rows], item=items[rows], rating=values[rows], items=range(3))
        assert (whole.net_wins == own.net_wins).all()


def test_long_ballot_stays_within_the_bound_on_its_length():
    eight = Profile.from_long(person=[0] * 8, item=range(8), rating=range(8), items=range(8), max_listed=2)
    assert 0 < sum(int(wins) ** 2 for wins in eight.net_wins) <= 2 * D**2
    assert eight.pairwise_counts.sum() <= D
