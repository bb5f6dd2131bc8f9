"""Reports of the local and the shuffle model reveal what the guarantee states, and no more.

Most tests compute the exact law of all that a curator receives, for several ballots, and compare the largest log ratio
or the largest delta with the guarantee. The last ones sample the whole path through JSON. Where a law is exact, the
stated epsilon must also be reached: an audit that overlooks something would find less.
"""

import json
import math
from collections import Counter
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from audit_tools import worst_delta
from local_tools import law_of
from oracles import rankings

from sklearn_dprank.channels import Local, Shuffle, balanced_design
from sklearn_dprank.collection import Device, HypercubeSampling, RandomizedResponse
from sklearn_dprank.queries import Ask, NetWins, PairTallies
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import yan

NAN = np.nan
OPPOSITES = [[0, 1, 2], [2, 1, 0]]
UNSURE = [*OPPOSITES, [1, 0, 1], [NAN, 0, 1], [NAN, NAN, NAN]]  # every way not to have an opinion


def report_laws(randomizer, epsilon, ballots, coins=True):
    """(law of the report on each ballot, stated epsilon)."""
    plan = Local(epsilon, randomizer).plan([Ask(NetWins())], len(ballots[0]))
    flip = plan.protocol.get("flip", [None])[0]
    laws = [law_of(lambda b=ballot: Device(plan.protocol).report(b), flip, coins) for ballot in ballots]
    assert all(sum(law.values()) == pytest.approx(1) for law in laws)
    return laws, plan.guarantee.epsilon


# --- one report


@pytest.mark.parametrize("n_queries", [1, 2])
def test_without_an_opinion_an_answer_is_a_fair_coin(n_queries):
    """A failure: the report tells whether the voter has an opinion on a pair."""
    laws, _ = report_laws(RandomizedResponse(n_queries), 3.0, UNSURE)
    without_opinion = [set(), set(), {(0, 2)}, {(0, 1), (0, 2)}, {(0, 1), (0, 2), (1, 2)}]
    for law, undecided in zip(laws, without_opinion, strict=True):
        chances: Counter = Counter()
        for text, probability in law.items():
            report = json.loads(text)
            for pair, answer in zip(report["pairs"], report["answers"], strict=True):
                chances[tuple(pair), answer] += probability
        for pair in combinations(range(3), 2):
            share_of_ones = chances[pair, 1] / (chances[pair, 0] + chances[pair, 1])
            assert (share_of_ones == pytest.approx(0.5)) == (pair in undecided)


@pytest.mark.slow
@pytest.mark.parametrize("randomizer", [RandomizedResponse(2), yan.PrintedLaplace(), HypercubeSampling()], ids=str)
def test_the_shape_of_a_report_does_not_depend_on_the_ballot(randomizer):
    """Everything but the answers has one law for all ballots: keys, types, sizes, and which pairs were drawn."""
    shapes = []
    for law in report_laws(randomizer, 1.0, UNSURE)[0]:
        shape: Counter = Counter()
        for text, probability in law.items():
            report = json.loads(text)
            (private,) = {"answers", "signs"} & set(report)
            answers = report.pop(private)
            shape[json.dumps(report), type(answers), len(answers)] += probability
        shapes.append(shape)
    assert all(shape == pytest.approx(shapes[0]) for shape in shapes)


# --- the shuffle


def shuffle_plan(m=3, **parameters):
    return Shuffle(**parameters).plan([Ask(PairTallies())], m)


def message_laws(plan, ballots, *pairs):
    """For each ballot, {messages: probability}; a message is (item, item, answer)."""
    flip = plan.protocol["flip"][0]
    laws = [law_of(lambda b=b: Device(plan.protocol).report(b, *pairs)["messages"], flip) for b in ballots]
    return [{tuple((*m["pair"], m["answer"]) for m in json.loads(text)): p for text, p in law.items()} for law in laws]


def single(laws):
    """Laws of one message, from laws of lists of one message."""
    return [{message: p for (message,), p in law.items()} for law in laws]


def shuffled(laws, others=None):
    """The law of the sorted messages of several devices, from the laws of one message of each."""
    total = others or {(): 1.0}
    for law in laws:
        grown: Counter = Counter()
        for (messages, p), (message, q) in product(total.items(), law.items()):
            grown[tuple(sorted([*messages, message]))] += p * q
        total = grown
    return total


def as_rows(laws):
    """One row of probabilities a law, one column an output."""
    outputs = sorted(set().union(*laws))
    return np.array([[law.get(output, 0.0) for output in outputs] for law in laws])


def pairs_of(laws):
    return list(combinations(range(len(laws)), 2))


def delta_of_shuffle(laws, n, epsilon):
    """The largest delta over n - 1 other voters and the two ballots of one voter, from the laws on single ballots."""
    groups = [shuffled(others) for others in combinations_with_replacement(laws, n - 1)]
    views = (as_rows([shuffled([mine], others) for mine in laws]) for others in groups)
    return max(worst_delta(rows, pairs_of(laws), epsilon) for rows in views)


def test_more_voters_than_the_minimum_only_help():
    plan = shuffle_plan(local_epsilon=1.0, delta=0.05, min_reports=3)
    laws = single(message_laws(plan, rankings(3)[::2]))
    deltas = [delta_of_shuffle(laws, n, plan.guarantee.epsilon) for n in (3, 4, 5)]
    assert 0.05 >= deltas[0] >= deltas[1] >= deltas[2]


@pytest.mark.slow
def test_two_hidden_pairs_in_two_shuffles():
    """The two messages of a voter are independent draws, with replacement, and each shuffle hides one of them."""
    delta = 0.2
    plan = shuffle_plan(local_epsilon=1.5, delta=delta, n_queries=2, min_reports=3)
    assert plan.guarantee.epsilon < 1.5
    one_message = []
    for law in message_laws(plan, rankings(3)):
        firsts, seconds = Counter(), Counter()
        for (first, second), p in law.items():
            firsts[first] += p
            seconds[second] += p
        assert firsts == pytest.approx(seconds)
        for (first, second), p in law.items():
            assert p == pytest.approx(firsts[first] * seconds[second])
        one_message.append(firsts)
    worst = 0.0
    for others in combinations_with_replacement(one_message, 2):
        one_shuffle = as_rows([shuffled([*others, mine]) for mine in one_message])
        both_shuffles = np.einsum("da,db->dab", one_shuffle, one_shuffle).reshape(6, -1)
        worst = max(worst, worst_delta(both_shuffles, pairs_of(one_message), plan.guarantee.epsilon))
    assert 0 < worst <= delta


@pytest.mark.slow
def test_two_assigned_pairs():
    """Three voters, two of three pairs each, two voters a pair: all that the curator sees, for all ballots."""
    delta = 0.25
    plan = shuffle_plan(local_epsilon=2.0, delta=delta, n_queries=2, pairs="assigned", min_reports=3)
    design = balanced_design(3, 3, 2, Bits.from_random_state(1).assignment).tolist()
    assert Counter(tuple(pair) for row in design for pair in row) == {(0, 1): 2, (0, 2): 2, (1, 2): 2}
    sent = [message_laws(plan, rankings(3), row) for row in design]  # by voter and ballot
    profiles, laws = list(product(range(6), repeat=3)), []
    for ballots in profiles:
        law: Counter = Counter()
        for messages in product(*[sent[voter][ballot].items() for voter, ballot in enumerate(ballots)]):
            law[tuple(sorted(message for both, _ in messages for message in both))] += math.prod(p for _, p in messages)
        laws.append(law)
    neighbours = [
        (k, profiles.index((*ballots[:voter], other, *ballots[voter + 1 :])))
        for k, ballots in enumerate(profiles)
        for voter, other in product(range(3), range(6))
    ]
    assert 0 < worst_delta(as_rows(laws), neighbours, plan.guarantee.epsilon) <= delta
