"""Sums over persons with limited contributions: values, and sensitivities against all persons of few comparisons."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from long_tools import compared, rated

from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import COMPARISONS, WeightBound
from sklearn_dprank.queries import BradleyTerryResiduals, NetWinsAndExposures
from sklearn_dprank.queries.comparisons import ONE, clipped

M = 4
RELATIONS = ["add_remove", "replace"]
STRENGTHS = (1.5, 0.5, -0.25, -1.75)
QUERIES = [
    NetWinsAndExposures(),
    NetWinsAndExposures(4),
    NetWinsAndExposures(4, "l1"),
    BradleyTerryResiduals(),
    BradleyTerryResiduals(STRENGTHS),
]


def one(values):
    """Return the values of one person in grid steps."""
    return ONE * np.array(values)


@pytest.mark.parametrize(
    ("wins", "exposures", "limit", "ratio", "expected"),
    [
        ((1, -1), (1, 1), 34, 4, [(720720, -720720), (720720, 720720)]),
        ((3, -3), (3, 3), 34, 4, [(720720, -720720), (720720, 720720)]),
        ((0, 0), (2, 2), 34, 4, [(0, 0), (1441440, 1441440)]),
        ((3, -1, -1, -1), (3, 1, 1, 1), 34, 4, [(882696, *[-294232] * 3), (882696, *[294232] * 3)]),
        (
            (1, Fraction(1, 3), Fraction(-1, 3), -1),
            (1,) * 4,
            16,
            4,
            [(458377, 152792, -152792, -458377), (458377,) * 4],
        ),
        ((1, 0, -1), (1,) * 3, 32, 4, [(689140, 0, -689140), (689140,) * 3]),
        ((10**4, -(10**4)), (10**4, 10**4), 34, 4, [(720000, -720000), (720000, 720000)]),
        ((10**9, -(10**9)), (10**9, 10**9), 34, 4, [(0, 0), (0, 0)]),
    ],
)
def test_persons_are_scaled_down_in_exact_integers(wins, exposures, limit, ratio, expected):
    values = [np.array([int(ONE * x) for x in each]) for each in (wins, exposures)]
    parts = clipped(values, np.zeros(len(wins), int), Fraction(limit), weights=(ratio, 1))
    assert [part.tolist() for part in parts] == [list(each) for each in expected]


def test_factors_are_exact_square_roots():
    """Against integers of any size, also where doubles would round to the wrong side."""
    values = np.concatenate([ONE * np.arange(1, 400), np.random.default_rng(0).integers(1, 2**40, 4000)])
    (parts,) = clipped([values], np.arange(len(values)), Fraction(2))
    for value, part in zip(values.tolist(), parts.tolist(), strict=True):
        if value**2 < 2**53:
            factor = min(ONE, int(np.floor(np.sqrt(float(2 * ONE**4 // value**2)))))
            factor += (factor + 1) ** 2 * value**2 <= 2 * ONE**4 and factor < ONE
            factor -= factor**2 * value**2 > 2 * ONE**4
            assert part == value * factor // ONE
        assert part**2 <= 2 * ONE**2


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(40))
def test_no_person_exceeds_the_limit_at_any_size(norm, seed):
    """Values up to 10^15 grid steps, limits from 1/1000 to 10^6 comparisons; smaller persons are unchanged."""
    rng, power = np.random.default_rng(seed), 1 if norm == "l1" else 2
    persons, ratio = np.sort(rng.integers(0, 8, 40)), int(rng.choice([1, 4, 100]))
    exposures = rng.integers(0, int(10 ** rng.uniform(5, 15)), 40)
    wins = np.rint(exposures * rng.uniform(-1, 1, 40)).astype(np.int64)
    limit = 2 * (ratio**power + 1) * Fraction(int(ONE * 10 ** rng.uniform(-3, 6)), ONE)
    parts = clipped([wins, exposures], persons, limit, norm, (ratio, 1))
    assert (np.abs(parts[0]) <= parts[1]).all()

    def size(x, e, person):
        rows = zip(x[persons == person].tolist(), e[persons == person].tolist(), strict=True)
        return sum((ratio * abs(a)) ** power + b**power for a, b in rows)

    for person in np.unique(persons):
        before, after = size(wins, exposures, person), size(*parts, person)
        assert after <= limit * ONE**power
        assert before > limit * ONE**power or after == before


def test_residual_of_a_win_has_its_value():
    profile = compared([0], [0], [1], [1], 2)
    assert BradleyTerryResiduals((0.5, -0.5)).vector(profile, None).tolist() == [387663, -387663]


def test_two_persons_with_ties_have_their_values():
    """Unclipped: net wins (0, -1, 1) and exposures (3, 2, 3)."""
    votes = {
        "a": ["x", "y", "x", "z"],
        "b": ["y", "z", "z", "x"],
        "won": ["a", "tie", "b", "tie (bothbad)"],
        "who": ["u1", "u1", "u2", "u2"],
    }
    given = {"first": "a", "second": "b", "outcome": "won", "person": "who", "items": ["x", "y", "z"]}
    for max_weight, wins, exposures in (
        (10, one([0, -1, 1]), one([3, 2, 3])),
        (1, [17261, -681732, 664471], [2010674, 1363464, 2010674]),
    ):
        found = NetWinsAndExposures(4).vector(Profile.from_comparisons(votes, max_weight=max_weight, **given), None)
        assert found.tolist() == [*4 * np.array(wins), *exposures]


def test_ratings_give_mean_margins():
    persons, items, stars = [0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [5, 3, 1, 2, 4]
    cells = rated(persons, items, stars, 3).cells
    assert cells.net_wins.tolist() == [ONE, 0, -ONE, -ONE, ONE]
    assert cells.items.tolist() == items and set(cells.exposures.tolist()) == {ONE}
    assert np.bincount(cells.items, cells.net_wins).tolist() == one([0, 1, -1]).tolist()
    assert np.bincount(cells.items, cells.exposures).tolist() == one([2, 2, 1]).tolist()
    # A second rating of 8 for the first item gives a mean of 5, which is above 4.
    again = rated([*persons, 1], [*items, 0], [*stars, 8], 3).cells
    assert np.bincount(again.items, again.net_wins).tolist() == one([2, -1, -1]).tolist()


def test_lists_give_mean_margins_and_an_unlisted_item_has_no_exposure():
    cells = Profile.from_orders([["a", "b"], ["c", "a", "b"]], items=["a", "b", "c", "gin"]).cells
    assert np.bincount(cells.items, cells.net_wins, 4).tolist() == one([1, -2, 1, 0]).tolist()
    assert np.bincount(cells.items, cells.exposures, 4).tolist() == one([2, 2, 1, 0]).tolist()


@pytest.mark.parametrize("max_listed", [None, 2])
@pytest.mark.parametrize("ratio", [1, 4])
def test_a_person_with_many_ratings_reaches_the_limit_and_does_not_exceed_it(ratio, max_listed):
    """That of one comparison: the square of the net wins times q, plus that of the exposures, is at most 2 q + 2."""
    given = {"person": [0] * 8, "item": range(8), "rating": range(8), "items": range(8)}
    vector = NetWinsAndExposures(ratio).vector(Profile.from_long(**given, max_listed=max_listed), None)
    assert 0.9999 * (2 * ratio**2 + 2) < (vector**2).sum() / ONE**2 <= 2 * ratio**2 + 2
    assert len({*vector[8:]}) == 1


def every_person():
    """Return (persons, first, second, outcome) of all persons with one to three comparisons of four items."""
    kinds = list(product(combinations(range(M), 2), (1, 0, -1)))
    persons = [chosen for n in (1, 2, 3) for chosen in combinations_with_replacement(kinds, n)]
    rows = [(number, *pair, outcome) for number, chosen in enumerate(persons) for pair, outcome in chosen]
    return np.array(rows).T


def contributions(query, max_weight):
    """Return what each person alone adds to the vector, int64, shape (n_persons, k)."""
    rows = every_person()
    profiles = [compared(*rows[:, rows[0] == person], M, max_weight) for person in range(rows[0].max() + 1)]
    return np.array([query.vector(profile, None) for profile in profiles])


@pytest.mark.parametrize("max_weight", [0.5, 1, 2])
@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_sensitivity_holds_for_all_persons_of_few_comparisons(query, max_weight):
    vectors, bound = contributions(query, max_weight), WeightBound(COMPARISONS, int(max_weight * ONE), 2, "comparisons")
    assert len(vectors) == 1329
    squares = (vectors**2).sum(axis=1)
    apart = squares[:, None] + squares - 2 * vectors @ vectors.T
    added, replaced = (query.person_sensitivity(M, relation, bound) for relation in RELATIONS)
    assert squares.max() <= added.l2_squared and apart.max() <= replaced.l2_squared
    l1 = np.abs(vectors).sum(axis=1)
    assert l1.max() <= added.l1
    far = vectors[np.argsort(-l1)[:200]]
    assert np.abs(far[:, None] - far).sum(axis=2).max() <= replaced.l1
    # The limits are attained, or nearly.
    if getattr(query, "norm", None) == "l1":
        assert l1.max() >= 0.999 * added.l1 and np.abs(far[:, None] - far).sum(axis=2).max() >= 0.8 * replaced.l1
    else:
        assert squares.max() >= 0.999 * added.l2_squared and apart.max() >= 0.9 * replaced.l2_squared


@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_persons_add_up(query):
    """A profile of several persons has the sum of what each alone adds, in any order of the rows."""
    rows = every_person()[:, 500:560]
    order = np.random.default_rng(0).permutation(60)
    alone = [query.vector(compared(*rows[:, rows[0] == person], M), None) for person in np.unique(rows[0])]
    np.testing.assert_array_equal(query.vector(compared(*rows[:, order], M), None), np.sum(alone, axis=0))


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_sensitivity_holds_for_persons_with_several_weighted_ballots(query, neighboring):
    rng = np.random.default_rng(1)
    vectors = []
    for _ in range(300):
        n_ballots = rng.integers(1, 4)
        ballots = rng.integers(0, 3, size=(n_ballots, M)).astype(float)
        ballots[rng.random(ballots.shape) < 0.3] = np.nan
        weights = rng.choice([0.3, 1, 5], size=n_ballots)
        profile = Profile.from_rankings(ballots, groups=[0] * n_ballots, sample_weight=weights, max_weight=2.5)
        vectors.append(query.vector(profile, None))
    vectors = np.array(vectors)
    sensitivity = query.person_sensitivity(M, neighboring, profile.bound)
    others = vectors[None] if neighboring == "replace" else np.zeros((1, 1, vectors.shape[1]), int)
    apart = vectors[:, None] - others
    assert (apart**2).sum(axis=2).max() <= sensitivity.l2_squared
    assert np.abs(apart).sum(axis=2).max() <= sensitivity.l1
    if getattr(query, "norm", None) == "l1":
        assert np.abs(apart).sum(axis=2).max() >= 0.5 * sensitivity.l1
    else:
        assert (apart**2).sum(axis=2).max() >= 0.5 * sensitivity.l2_squared


def test_ratings_of_a_person_count_alike_in_long_and_wide_tables():
    ballots = np.array([[0, 1, np.nan, 1], [2, np.nan, 0, 1], [np.nan, np.nan, 0, np.nan]])
    persons, items = np.nonzero(~np.isnan(ballots))
    long, wide = rated(persons, items, -ballots[persons, items], M), Profile.from_rankings(ballots)
    for query in QUERIES:
        np.testing.assert_array_equal(query.vector(long, None), query.vector(wide, None))


@pytest.mark.parametrize("strengths", [[0.0] * M, (float("nan"),) * M, ("a",) * M, (1e9,) * M])
def test_strengths_that_are_no_finite_numbers_are_refused(strengths):
    with pytest.raises(ValueError, match="strengths"):
        BradleyTerryResiduals(strengths)


def test_strengths_of_another_number_of_items_are_refused():
    with pytest.raises(ValueError, match="each of the 3 items"):
        BradleyTerryResiduals(STRENGTHS).check(3)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("c", [1, 4])
def test_a_population_of_comparisons_varies_at_most_as_stated(norm, c):
    """For each share t there is b, so that (x - t e)^2 - b (x - t e) <= M e for all that a person may count."""
    query = NetWinsAndExposures(4, norm)
    most = query.most_varied(WeightBound(COMPARISONS, c * ONE, form="comparisons"))
    e = np.linspace(0, 6 * c, 2001)[1:]
    rest = np.sqrt(np.maximum(34 * c - e**2, 0)) / 4 if norm == "l2" else np.maximum(5 * c - e, 0) / 4
    e, x = (np.tile(each[rest > 0], 2) for each in (e, np.minimum(e, rest)))
    x[: len(x) // 2] *= -1  # the square is convex in x, so only the ends matter
    for share in np.linspace(0, 0.99, 100):
        away = x - share * e
        slopes = most * np.append(np.linspace(-6, 0, 121), -2 * share)
        needed = [((away**2 - b * away) / e).max() for b in slopes]
        assert min(needed) <= most * (1 + 1e-9), share
    assert (x**2 / e).max() == pytest.approx(most, rel=2e-3)  # no smaller number holds for t = 0


def test_contributions_of_persons_are_within_the_region_of_their_variance():
    """Opponents of an item count as much as the item, so the limits of one item are stricter than those of a person."""
    rng = np.random.default_rng(0)
    for norm in ("l1", "l2"):
        for _ in range(60):
            n, m = int(rng.integers(1, 9)), 4
            first = rng.integers(m, size=n)
            second = (first + rng.integers(1, m, size=n)) % m
            profile = compared(np.zeros(n, int), first, second, rng.integers(-1, 2, size=n), m)
            x, e = NetWinsAndExposures(4, norm).read(NetWinsAndExposures(4, norm).vector(profile, None), m)
            most = 16 * x**2 + e**2 if norm == "l2" else 4 * np.abs(x) + e
            assert most.max() <= (34 if norm == "l2" else 5) and (np.abs(x) <= e).all()


@pytest.mark.parametrize(("weights", "most"), [(None, 1.0), ([1, 3, 2], 3.0)])
def test_a_population_of_ballots_varies_by_its_largest_weight(weights, most):
    profile = Profile.from_rankings([[0, 1, 2], [2, 0, 1], [0, 1, None]], sample_weight=weights, max_weight=most)
    assert NetWinsAndExposures(4).most_varied(profile.bound) == most
    assert NetWinsAndExposures(4, "l1").most_varied(profile.bound) == most
