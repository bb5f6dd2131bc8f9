"""Shuffled reports about shown pairs hide among reports about the same pair, and not among all."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest
from audit_tools import worst_delta
from audited import SHOWN
from local_tools import law_of
from long_tools import compared_by
from sklearn.base import clone

from sklearn_dprank.privacy import shuffle_amplification
from sklearn_dprank.queries import PairTallies
from sklearn_dprank.sampling.bit_source import Bits

_, SHUFFLED = SHOWN
LOCAL, DELTA = SHUFFLED.local_epsilon, SHUFFLED.delta
OUTCOMES = (1, 0, None)


def released_law(estimator, persons):
    """The exact law of what a fit learns from the shuffler: the counts of messages, or that there are too few."""
    profile = compared_by(persons)
    plan = estimator.plan_for(profile)[1]
    poll = plan.open(profile)

    def run():
        try:
            return poll(Bits.from_random_state()).answer(PairTallies())[0].wins.tolist()
        except ValueError:
            return "too few"

    has_ties = any(outcome is None for own in persons for *_, outcome in own)
    return law_of(run, plan.protocol["flip"][0], coins=has_ties)


def largest_delta(shown, least, epsilon):
    """The largest delta at `epsilon` if one person has other outcomes; `shown` are the pairs of each person.

    A tie is a fair coin, and its law the mean of two others.
    """
    estimator = clone(SHUFFLED).set_params(min_reports=least)
    mine, *others = shown
    worst = 0.0
    for fixed in product((1, 0), repeat=sum(map(len, others))):
        rest = iter(fixed)
        given = [[(*pair, next(rest)) for pair in pairs] for pairs in others]
        laws = []
        for outcomes in product((1, 0), repeat=len(mine)):
            own = [(*pair, outcome) for pair, outcome in zip(mine, outcomes, strict=True)]
            laws.append(Counter(released_law(estimator, [own, *given])))
        results = sorted(set().union(*laws))
        rows = np.array([[law[result] for result in results] for law in laws])
        worst = max(worst, worst_delta(rows, [(a, b) for a in range(len(laws)) for b in range(a)], epsilon))
    return worst


@pytest.mark.parametrize(
    "shown",
    [
        [[(0, 1)]] * 3,
        [[(0, 1)]] * 3 + [[(1, 2)]] * 2,
        [[(0, 1), (1, 2)]] + [[(0, 1)]] * 2,
        [[(0, 1), (1, 2)], [(0, 1)], [(0, 1)], [(1, 2)], [(2, 1)]],
        [[(0, 1), (1, 2)]] * 3,
    ],
    ids=str,
)
def test_released_counts_keep_epsilon_and_delta_of_one_pair(shown):
    """The pairs that devices draw are part of what is released. A pair with fewer than three messages is not."""
    guarantee = SHUFFLED.guarantee_before(compared_by([[(0, 1, 1)]] * 3))
    assert guarantee.epsilon == shuffle_amplification(LOCAL, 3, DELTA) < 1.5
    found = largest_delta(shown, 3, guarantee.epsilon)
    assert 0.2 * DELTA < found <= DELTA * (1 + 1e-9)


def test_reports_about_other_pairs_do_not_hide_a_person():
    """With the epsilon of all five reports, delta would be exceeded."""
    shown = [[(0, 1)]] * 2 + [[(1, 2)]] * 3
    assert largest_delta(shown, 2, shuffle_amplification(LOCAL, 5, DELTA)) > DELTA
    alone = [[(0, 1)]] + [[(1, 2)]] * 3
    assert largest_delta(alone, 2, 0.0) == 0  # the person's report is left out


def test_pair_with_too_few_reports_is_left_out():
    """Whether it is does not depend on the outcomes."""
    for outcome in OUTCOMES:
        law = released_law(SHUFFLED, [[(0, 1, outcome)], *([[(1, 2, 1)]] * 3), [(2, 0, 1), (1, 2, 0)]])
        counts = Counter()
        for text, probability in law.items():
            wins = np.array(json.loads(text))
            assert wins[0].sum() == wins[:, 0].sum() == 0
            counts[int(wins.sum())] += probability
        assert counts == pytest.approx({3: 0.5, 4: 0.5})
