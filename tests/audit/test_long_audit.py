"""Exact audit of fits on long data: what one person with a few rows changes in all that a fit asks.

A fit on a base of other persons shows the questions. Then the same questions are asked of the profiles with one more
person, in the integers of the fit. Along one transcript of answers, the questions are equal on all these profiles.
"""

from functools import cache
from itertools import chain, combinations_with_replacement, permutations, product

import numpy as np
import pytest
from oracles import permutohedron_gauge
from sklearn.base import clone

import sklearn_dprank as dp
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.channels.segmented import SegmentedProfile
from sklearn_dprank.mechanisms import GaussianNoise, LaplaceNoise, NoNoise
from sklearn_dprank.privacy.composition import gaussian_sigma
from sklearn_dprank.queries import KemenyUtility
from sklearn_dprank.sampling.bit_source import Bits

M = 3
GAUSSIAN = {"noise": "gaussian", "delta": 1e-6}
ESTIMATORS = [
    *(dp.Aggregator(Central(**more), "bradley_terry") for more in ({}, GAUSSIAN)),
    *(dp.DPBorda(**more) for more in ({}, GAUSSIAN, {"noise": "knorm"})),
    *(dp.DPBradleyTerry(**more) for more in ({}, {"n_rounds": 1}, {"delta": 0.0})),
    dp.DPKemenySampler(),
    *(dp.DPKwikSort(**more) for more in ({}, GAUSSIAN)),
    *(dp.DPPairwise(**more) for more in ({}, GAUSSIAN)),
    *(dp.DPPositionalRule(**more) for more in ({}, {"scores": [3, 1]})),
    *(dp.DPPrudentOrder(**more) for more in ({}, {"delta": 1e-6}, {"window": 2})),
    dp.SegmentedAggregator(["a", "b"]),
    dp.DPSwissBorda(),
    *(dp.DPTopK(k) for k in (1, 2)),
]


def ratings(rows, **bound):
    person, item, place = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Profile.from_long(person=person, item=item, position=place, items=range(M), **bound)


def comparisons(rows, **bound):
    person, winner, loser, tied = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    table = {"a": winner, "b": loser, "won": np.where(tied, "tie", "a"), "who": person}
    return Profile.from_comparisons(table, "a", "b", outcome="won", person="who", items=range(M), **bound)


def lists(rows, **bound):
    return Profile.from_orders([order for _, order in rows], items=range(M), **bound)


def lists_of_persons(rows, **bound):
    return lists(rows, person=[person for person, _ in rows], **bound)


RATED = list(product(range(M), range(2)))
COMPARED = [(i, j, tied) for i, j in permutations(range(M), 2) for tied in (0, 1) if not tied or i < j]
ORDERS = [(order,) for n in range(M + 1) for order in permutations(range(M), n)]
LENGTHS, WEIGHTS = [{}, {"max_listed": 2}], [{"max_weight": c} for c in (0.5, 1, 2.5)]
#: What reads rows, the kinds of rows, the bounds, and the largest number of rows of a person.
FORMS = {
    "ratings": (ratings, RATED, LENGTHS, 3),
    "comparisons": (comparisons, COMPARED, WEIGHTS, 3),
    "lists": (lists, ORDERS, LENGTHS, 1),
    "lists of persons": (lists_of_persons, ORDERS, LENGTHS, 3),
}
CASES = [
    (estimator, form, bound)
    for estimator, (form, (_, _, bounds, _)) in product(ESTIMATORS, FORMS.items())
    for bound in bounds
    if not (isinstance(estimator, dp.DPPositionalRule) and form == "comparisons")
    and not (isinstance(estimator, dp.SegmentedAggregator) and form != "lists")
    and not (getattr(estimator, "scores", None) and bound != {"max_listed": 2})
]


@cache
def profiles(form, bound, most_rows):
    """The profile of some persons, and the profiles with one more: all of few rows, and random ones of up to 12."""
    read, kinds, _, most = FORMS[form]
    rng = np.random.default_rng(0)
    few = chain(*(combinations_with_replacement(kinds, n) for n in range(1, min(most, most_rows) + 1)))
    many = [] if most == 1 else [[kinds[k] for k in rng.integers(len(kinds), size=n)] for n in range(4, 13)]
    base = [(person, *kinds[k]) for person in (1, 2, 3) for k in rng.integers(len(kinds), size=most)]
    return [read([*base, *((0, *row) for row in rows)], **dict(bound)) for rows in ([], *few, *many)]


def asked(estimator, voters):
    """The (query, price) of each answer of a fit on the first profile, and (profiles, answers) integers of each."""
    rule, plan = estimator.plan_for(voters[0])
    if isinstance(estimator, dp.SegmentedAggregator):  # who is added is in no segment, in the first or in the second
        voters = [
            SegmentedProfile(one, np.array([0, 1, 0, *[k % 3 - 1] * (one.n_voters - 3)]), 2)
            for k, one in enumerate(voters)
        ]
    opened = [plan.open(one)(Bits.from_random_state(0)) for one in voters]
    heard, ask = [], opened[0].ask

    def remember(query):
        heard.append(query)
        return ask(query)

    opened[0].ask = remember
    rule.aggregate(opened[0])
    heard += [price.query for kind, price in plan.prices.items() if kind not in {query.kind for query in heard}]
    vectors = [np.array([one._vector(query).ravel() for one in opened]) for query in heard]
    return [(query, plan.prices[query.kind]) for query in heard], vectors, plan.guarantee


def moves(vectors, neighboring):
    """The differences of the answers of neighbours, by answer, each (pairs, numbers), in exact integers."""
    ends = np.cumsum([vector.shape[1] for vector in vectors])
    together = np.unique(np.concatenate(vectors, axis=1) - np.concatenate([one[0] for one in vectors]), axis=0)
    if neighboring == "replace":
        one, other = np.triu_indices(len(together), 1)
        together = np.concatenate([together, together[one] - together[other]])
    exact = np.int64 if abs(together).max() < 2**28 else object  # sums of squares
    return np.split(together.astype(exact), ends[:-1], axis=1)


def check(estimator, form, bound, neighboring, most_rows):
    estimator = clone(estimator).set_params(
        **{name: neighboring for name in estimator.get_params() if "neighb" in name}
    )
    prices, vectors, guarantee = asked(estimator, profiles(form, tuple(bound.items()), most_rows))
    mu_squared = loss = worst = 0
    for (query, price), moved in zip(prices, moves(vectors, neighboring), strict=True):
        stated, mechanism, l1 = price.sensitivity, price.mechanism, abs(moved).sum(axis=1)
        if isinstance(mechanism, NoNoise):
            assert not l1.any()
        elif query.answered_with == "order":
            change = l1 / 2 if query == KemenyUtility() else 2 * abs(moved).max(axis=1)
            worst = max(worst, (change / stated.l1).max())
        elif isinstance(mechanism, GaussianNoise):
            mu_squared += (moved**2).sum(axis=1) / mechanism.sigma**2
            assert ((moved**2).sum(axis=1) <= stated.l2_squared).all() and (l1 <= stated.l1).all()
        elif isinstance(mechanism, LaplaceNoise):
            loss += l1 * mechanism.rate
            assert (l1 <= stated.l1).all()
        else:
            worst = max(worst, *(permutohedron_gauge(one) / stated.gauge for one in moved))
    worst = max(worst, np.max(loss) / guarantee.epsilon)
    if guarantee.delta:
        worst = max(worst, np.max(mu_squared) * gaussian_sigma(guarantee.epsilon, guarantee.delta) ** 2)
    return worst


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize(
    ("estimator", "form", "bound"), [case for case in CASES if case[1] != "lists of persons"], ids=str
)
def test_no_person_of_two_rows_changes_a_fit_beyond_its_guarantee(estimator, form, bound, neighboring):
    """And some person uses up a good part of it."""
    assert 0.3 < check(estimator, form, bound, neighboring, 2) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize(("estimator", "form", "bound"), [case for case in CASES if case[1] != "lists"], ids=str)
def test_no_person_of_three_rows_changes_a_fit_beyond_its_guarantee(estimator, form, bound, neighboring):
    assert check(estimator, form, bound, neighboring, 3) <= 1 + 1e-9
