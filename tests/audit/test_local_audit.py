"""What reports tell about a ballot: exact laws of the devices, transcripts, shuffles, and samples of the whole path."""

import json
import math
from collections import Counter
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pytest
from audit_tools import epsilon_lower_bound, worst_loss
from local_tools import Field, apart, law_of, reports_of, worst_ratio
from oracles import distinct_ballots, rankings

from sklearn_dprank import LDPAdaptivePairs, LDPGroupKwikSort, LDPPairwise, LDPQuickSort, ShufflePairwise
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.channels import Local, Shuffle, balanced_design
from sklearn_dprank.collection.client import Device
from sklearn_dprank.collection.client.protocol import FLIP_GRID, digest
from sklearn_dprank.collection.curator import (
    HypercubeSampling,
    RandomizedResponse,
)
from sklearn_dprank.privacy.ledger import BudgetExhausted
from sklearn_dprank.privacy.shuffle.amplification import shuffle_amplification
from sklearn_dprank.queries import Ask, NetWins, PairTallies
from sklearn_dprank.sampling.streams import Bits
from sklearn_dprank.theory import song, yan

NAN = np.nan
FEW = [[0, 1, 2], [2, 1, 0], [1, 0, 1], [NAN, 0, 1], [NAN, NAN, NAN]]  # every way not to have an opinion
MIXED = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [0, 0, 1, 1], [1, NAN, 0, NAN], [0, 0, 0, 0]]
BALLOTS = {
    "every kind": FEW,
    "all of 3": distinct_ballots(3),
    "half of 3": distinct_ballots(3)[::2],
    "all of 4": distinct_ballots(4),
    "a third of 4": distinct_ballots(4)[::3],
    "some of 4": MIXED,
    "opposites of 4": MIXED[:2],
    "all strict of 4": rankings(4),
    "some strict of 4": rankings(4)[::5],
}


def report_laws(randomizer, epsilon, m, ballots, coins=True):
    """The law of ``client.report`` on each ballot, and what the guarantee says."""
    plan = Local(epsilon, randomizer).plan([Ask(NetWins())], m)
    flip = plan.protocol.get("flip", [None])[0]
    laws = [law_of(lambda b=ballot: Device(plan.protocol).report(b), flip, coins) for ballot in BALLOTS[ballots]]
    assert all(sum(law.values()) == pytest.approx(1) for law in laws)
    return laws, plan.guarantee.epsilon


# --- one report


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.4, 2.0])
@pytest.mark.parametrize(
    ("randomizer", "m", "ballots"),
    [
        (RandomizedResponse(), 3, "all of 3"),
        (RandomizedResponse(2), 3, "half of 3"),
        (RandomizedResponse(), 4, "a third of 4"),
        (RandomizedResponse(2), 4, "opposites of 4"),
        (yan.PrintedLaplace(), 3, "all of 3"),
        (yan.PrintedLaplace(2), 3, "every kind"),
        (song.PrintedGaussian(1e-4, 2), 3, "every kind"),
        (HypercubeSampling(), 3, "all of 3"),
        (HypercubeSampling("half_tie"), 3, "all of 3"),
    ],
    ids=str,
)
def test_reports_spend_exactly_what_is_stated(randomizer, m, ballots, epsilon):
    laws, stated = report_laws(randomizer, epsilon, m, ballots)
    spent = worst_ratio(laws)
    assert spent <= stated + 1e-12
    assert spent == pytest.approx(stated, rel=1e-9)  # all K answers together, and no less
    assert getattr(randomizer, "is_tight", True) == (stated == epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["best_cap", "half_tie"])
def test_hypercube_of_four_items(variant):
    """Six pairs, an even number: as printed, ties would cost ln(1 + e) = 1.313."""
    laws, stated = report_laws(HypercubeSampling(variant), 1.0, 4, "some strict of 4", coins=False)
    assert worst_ratio(laws) == pytest.approx(stated, rel=1e-9) and worst_ratio(laws) <= 1 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("randomizer", "m", "ballots"),
    [
        (RandomizedResponse(), 4, "all of 4"),
        (RandomizedResponse(2), 4, "some of 4"),
        (RandomizedResponse(3), 3, "all of 3"),
        (song.PrintedGaussian(1e-4, 3), 3, "every kind"),
    ],
    ids=str,
)
def test_more_reports(randomizer, m, ballots):
    laws, stated = report_laws(randomizer, 1.0, m, ballots)
    assert 0.8 * stated < worst_ratio(laws) <= stated + 1e-12


@pytest.mark.parametrize("n_queries", [1, 2])
def test_without_an_opinion_an_answer_is_a_fair_coin(n_queries):
    laws, _ = report_laws(RandomizedResponse(n_queries), 3.0, 3, "every kind")
    for law, silent in zip(laws, [set(), set(), {(0, 2)}, {(0, 1), (0, 2)}, {(0, 1), (0, 2), (1, 2)}], strict=True):
        said: Counter = Counter()
        for text, chance in law.items():
            report = json.loads(text)
            for pair, answer in zip(report["pairs"], report["answers"], strict=True):
                said[tuple(pair), answer] += chance
        for pair in combinations(range(3), 2):
            share = said[pair, 1] / (said[pair, 0] + said[pair, 1])
            assert (share == pytest.approx(0.5)) == (pair in silent)


@pytest.mark.slow
@pytest.mark.parametrize("randomizer", [RandomizedResponse(2), yan.PrintedLaplace(), HypercubeSampling()], ids=str)
def test_the_shape_of_a_report_does_not_depend_on_the_ballot(randomizer):
    """Everything but the answers has one law, whatever the ballot: keys, types, sizes, and which pairs were drawn."""
    shapes = []
    for law in report_laws(randomizer, 1.0, 3, "every kind")[0]:
        shape: Counter = Counter()
        for text, chance in law.items():
            report = json.loads(text)
            private = {"answers", "signs", "positions"} & set(report)
            assert len(private) == 1
            hidden = report.pop(private.pop())
            shape[json.dumps(report), type(hidden), len(hidden)] += chance
        shapes.append(shape)
    assert all(shape == pytest.approx(shapes[0]) for shape in shapes)


# --- what would be wrong is seen


class Redrawing(Device):
    """A device that draws again when asked to send again."""

    def report(self, ballot):
        self._sent = {}
        return super().report(ballot)


def test_a_device_that_draws_again_is_caught():
    protocol = RandomizedResponse().protocol(1.0, 3)

    def twice(kind, ballot):
        client = kind(protocol)
        return [client.report(ballot), client.report(ballot)]

    for kind, spent in [(Device, 1.0), (Redrawing, 2.0)]:
        laws = [law_of(lambda k=kind, b=b: twice(k, b), protocol["flip"][0], coins=False) for b in FEW[:2]]
        assert worst_ratio(laws) == pytest.approx(spent, rel=1e-9)


class Forgetful(Device):
    """A device that forgets its first answer, and so gives one more than was agreed."""

    def answer(self, question, ballot):
        said = super().answer(question, ballot)
        self._sent = {what: kept for what, kept in self._sent.items() if what != "each 1"}
        return said


# --- interactive protocols


def transcript_laws(protocol, asked, ballots, kind=Device):
    """For each ballot, the law of one device's answers to these pairs one after the other."""

    def answers(ballot):
        client, out = kind(protocol), []
        for number, pair in enumerate(asked, 1):
            question = {"protocol": digest(protocol), "question": number, "kind": "each", "pairs": [list(pair)]}
            out.append(client.answer(question, ballot)["answer"])
        return out

    flip = protocol["flips"]["each"]
    return [law_of(lambda b=b: answers(b), flip) for b in ballots]


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [LDPQuickSort(1.0, n_queries=2), LDPGroupKwikSort(1.5), LDPAdaptivePairs(0.7)], ids=str
)
def test_all_transcripts_of_one_voter(estimator):
    """Every sequence of questions, so that however they depend on earlier answers, answers x budget is the most."""
    protocol = estimator.protocol(3)
    answers, epsilon = protocol["answers"], estimator.epsilon
    flip = protocol["flips"]["each"]
    each = math.log((FLIP_GRID - flip) / flip)
    assert answers * each == pytest.approx(epsilon, rel=1e-12)
    ballots = [[0, 1, 2], [2, 1, 0]] if answers > 2 else FEW[:4]
    spent = [
        worst_ratio(transcript_laws(protocol, asked, ballots))
        for asked in product(combinations(range(3), 2), repeat=answers)
    ]
    assert max(spent) <= epsilon + 1e-12 and max(spent) == pytest.approx(epsilon, rel=1e-9)
    with pytest.raises(BudgetExhausted, match="every answer that its budget pays for"):
        transcript_laws(protocol, [(0, 1)] * (answers + 1), ballots[:1])
    over = transcript_laws(protocol, [(0, 1)] * (answers + 1), ballots[:2], kind=Forgetful)
    assert worst_ratio(over) == pytest.approx((answers + 1) * each)  # a device that over-spends is caught


def test_the_last_resort_is_paid_for():
    """At five items a group answers 7 questions for epsilon / 2, and everybody once more for the other half."""
    protocol = LDPGroupKwikSort(1.0).protocol(5)
    assert protocol["answers"] == 7
    flips = [protocol["flips"]["each"]] * 7 + [protocol["flips"]["last"]]
    assert sum(math.log((FLIP_GRID - flip) / flip) for flip in flips) == pytest.approx(1.0, rel=1e-12)
    client, ballot = Device(protocol, random_state=0), list(range(5))
    kinds = ["each"] * 3 + ["last"] + ["each"] * 4
    for number, kind in enumerate(kinds, 1):
        client.answer({"protocol": digest(protocol), "question": number, "kind": kind, "pairs": [[0, 1]]}, ballot)
    for kind in ("each", "last"):
        with pytest.raises(BudgetExhausted, match="every answer that its budget pays for"):
            client.answer({"protocol": digest(protocol), "question": 99, "kind": kind, "pairs": [[0, 1]]}, ballot)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "others"), [(LDPQuickSort(1.0, n_queries=2), [[1, 0, 2]]), (LDPGroupKwikSort(1.0), [])], ids=str
)
def test_whole_runs_of_the_rule(estimator, others):
    """Questions as the curator's rule asks them: the law of everything said and of the consensus, together."""
    protocol = estimator.protocol(3)

    def run(ballot):
        said = []
        ballots = [ballot, *others]
        clients = [Device(protocol) for _ in ballots]

        def ask(question):
            reports = [clients[v].answer(question, ballots[v]) for v in question["voters"]]
            said.append([question["voters"], reports])
            return reports

        try:
            estimator.fit_interactive(ask, items=3, n_voters=len(ballots))
        except ValueError as error:  # all groups that were drawn are empty, and nobody was asked
            return said, str(error)
        return said, estimator.consensus_.tolist()

    assert estimator.plan_for(Shape(3, len(others) + 1))[1].guarantee.epsilon == 1.0
    laws = [law_of(lambda b=b: run(b), protocol["flips"]["each"], coins=True) for b in ([0, 1, 2], [2, 1, 0])]
    assert sum(laws[0].values()) == pytest.approx(1)
    assert 0.6 < worst_ratio(laws) <= 1 + 1e-12


# --- the shuffle


def message_laws(plan, ballots, pairs=None):
    """For each ballot, the law of its messages: {(messages): probability}, a message being (pair, answer)."""
    out = []
    for ballot in ballots:
        arguments = (ballot,) if pairs is None else (ballot, pairs)
        law = law_of(lambda a=arguments: Device(plan.protocol).report(*a)["messages"], plan.protocol["flip"][0])
        out.append({tuple((*m["pair"], m["answer"]) for m in json.loads(text)): p for text, p in law.items()})
    return out


def histograms(laws):
    """The law of how often each message comes from devices with these laws of one message."""
    total = {(): 1.0}
    for law in laws:
        grown: Counter = Counter()
        for seen, p in total.items():
            for message, q in law.items():
                grown[tuple(sorted([*seen, message]))] += p * q
        total = grown
    return total


def worst_delta(inputs, n, epsilon):
    """The largest hockey stick over all sets of n ballots and all replacements of one, given each device's law."""
    worst = 0.0
    for others in combinations_with_replacement(inputs, n - 1):
        rest = histograms(others)
        laws = []
        for mine in inputs:
            law: Counter = Counter()
            for seen, p in rest.items():
                for message, q in mine.items():
                    law[tuple(sorted([*seen, message]))] += p * q
            laws.append(law)
        keys = sorted(set().union(*laws))
        table = np.array([[law[key] for key in keys] for law in laws])
        sticks = np.maximum(table[:, None] - math.exp(epsilon) * table[None], 0).sum(axis=2)
        worst = max(worst, sticks.max())
    return worst


def single(laws):
    """Laws of one message from laws of lists of one."""
    return [{message: p for (message,), p in law.items()} for law in laws]


def shuffle_plan(**parameters):
    n = parameters.pop("min_reports")
    m = parameters.pop("m", 3)
    return Shuffle(min_reports=n, **parameters).plan([Ask(PairTallies())], m)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "ballots"), [(4, [*rankings(3), [0, 0, 1], [NAN, NAN, NAN]]), (5, rankings(3))])
@pytest.mark.parametrize(("local_epsilon", "delta"), [(1.0, 0.05), (2.0, 0.1)])
def test_hidden_pair_hides_among_all(n, ballots, local_epsilon, delta):
    plan = shuffle_plan(local_epsilon=local_epsilon, delta=delta, min_reports=n)
    claimed = plan.guarantee.epsilon
    assert claimed == shuffle_amplification(local_epsilon, n, delta) < 0.95 * local_epsilon
    inputs = single(message_laws(plan, ballots))
    truth = worst_delta(inputs, n, claimed)
    assert 0.5 * delta < truth <= delta
    # The bound is the exact curve of n binary answers, although a message says which of three pairs it is about.
    exact = shuffle_amplification(local_epsilon, n, truth * (1 + 1e-6), method="exact")
    assert exact == pytest.approx(claimed, rel=1e-4)


@pytest.mark.slow
def test_hidden_pair_of_six_voters():
    plan = shuffle_plan(local_epsilon=1.0, delta=0.03, min_reports=6)
    inputs = single(message_laws(plan, rankings(3)))
    assert 0.015 < worst_delta(inputs, 6, plan.guarantee.epsilon) <= 0.03


def test_more_voters_than_promised_only_help():
    plan = shuffle_plan(local_epsilon=1.0, delta=0.05, min_reports=3)
    inputs = single(message_laws(plan, rankings(3)[::2]))
    deltas = [worst_delta(inputs, n, plan.guarantee.epsilon) for n in (3, 4, 5)]
    assert 0.05 >= deltas[0] >= deltas[1] >= deltas[2]


@pytest.mark.parametrize("size", [3, 4, 5, 6])
@pytest.mark.parametrize("local_epsilon", [1.0, 2.5])
def test_assigned_pair_hides_among_its_group(size, local_epsilon):
    n, delta = 3 * size + 2, 0.06  # two voters too many for equal groups: they make two groups larger
    plan = shuffle_plan(local_epsilon=local_epsilon, delta=delta, pairs="assigned", min_reports=n)
    asked = balanced_design(n, 3, 1, Bits.from_random_state(0).assignment)[:, 0]
    counts = Counter(map(tuple, asked.tolist()))
    assert len(counts) == 3 and min(counts.values()) == size
    assert plan.guarantee.epsilon == shuffle_amplification(local_epsilon, size, delta)
    # Of the curator's view only the group's answers depend on its voters' ballots.
    inputs = single(message_laws(plan, [[0, 1, 2], [1, 0, 2], [0, 0, 1]], pairs=[[0, 1]]))
    truth = worst_delta(inputs, size, plan.guarantee.epsilon)
    assert truth <= delta * (1 + 1e-9)
    assert truth > 0.4 * delta
    # As if all n hid each voter, which is what a careless count claims, it fails.
    assert worst_delta(inputs, size, shuffle_amplification(local_epsilon, n, delta)) > delta


@pytest.mark.slow
def test_two_hidden_pairs_in_two_shuffles():
    delta = 0.2
    plan = shuffle_plan(local_epsilon=1.5, delta=delta, n_queries=2, min_reports=3)
    claimed = plan.guarantee.epsilon
    assert claimed < 1.5
    joint = message_laws(plan, rankings(3))
    parts = []
    for law in joint:
        firsts, seconds = Counter(), Counter()
        for (first, second), p in law.items():
            firsts[first] += p
            seconds[second] += p
        assert firsts == pytest.approx(seconds)
        for (first, second), p in law.items():
            assert p == pytest.approx(firsts[first] * seconds[second])  # independent draws, with replacement
        parts.append(firsts)
    worst = 0.0
    for others in combinations_with_replacement(range(6), 2):
        laws = [histograms([parts[k] for k in (*others, mine)]) for mine in range(6)]
        keys = sorted(set().union(*laws))
        one = np.array([[law[key] for key in keys] for law in laws])
        both = np.einsum("da,db->dab", one, one).reshape(6, -1)
        sticks = np.maximum(both[:, None] - math.exp(claimed) * both[None], 0).sum(axis=2)
        worst = max(worst, sticks.max())
    assert 0 < worst <= delta


@pytest.mark.slow
def test_two_assigned_pairs():
    """Three voters, two of three pairs each, two voters a pair: all that the curator sees, for all ballots."""
    delta = 0.25
    plan = shuffle_plan(local_epsilon=2.0, delta=delta, n_queries=2, pairs="assigned", min_reports=3)
    claimed = plan.guarantee.epsilon
    design = balanced_design(3, 3, 2, Bits.from_random_state(1).assignment).tolist()
    assert Counter(tuple(pair) for row in design for pair in row) == {(0, 1): 2, (0, 2): 2, (1, 2): 2}
    tables = [message_laws(plan, rankings(3), pairs=row) for row in design]
    laws = {}
    for ballots in product(range(6), repeat=3):
        law: Counter = Counter()
        for messages in product(*[tables[v][b].items() for v, b in enumerate(ballots)]):
            view = tuple(sorted(message for sent, _ in messages for message in sent))
            law[view] += math.prod(p for _, p in messages)
        laws[ballots] = law
    keys = sorted(set().union(*laws.values()))
    rows = {ballots: np.array([law[key] for key in keys]) for ballots, law in laws.items()}
    worst = 0.0
    for ballots, p in rows.items():
        for voter, other in product(range(3), range(6)):
            q = rows[(*ballots[:voter], other, *ballots[voter + 1 :])]
            worst = max(worst, np.maximum(p - math.exp(claimed) * q, 0).sum())
    assert 0 < worst <= delta


# --- samples of the full path, as text


def consensus_numbers(estimator, ballots, size, seed, lines=reports_of):
    """The consensus of many runs from JSON lines to the curator, numbered."""
    number = {order: k for k, order in enumerate(permutations(range(3)))}
    text = lines(estimator, np.repeat(ballots, size, axis=0), seed)
    n = len(ballots)
    runs = [[text[k + v * size] for v in range(n)] for k in range(size)]
    return np.array([number[tuple(estimator.fit_reports(run, items=3).consensus_.tolist())] for run in runs])


@pytest.mark.slow
def test_full_path_through_text():
    estimator, dear = (LDPPairwise(epsilon, rule="borda", random_state=0) for epsilon in (1.0, 3.0))
    name = digest(estimator.protocol(3))

    def relabelled(device, ballots, seed):
        return [json.dumps({**json.loads(line), "protocol": name}) for line in reports_of(device, ballots, seed)]

    found = []
    for device in (estimator, dear):
        # The curator believes that epsilon is 1; the second field lies about its devices, which spend 3.
        first, second = (
            consensus_numbers(estimator, [ballot], 1000, seed, lambda _, b, s, d=device: relabelled(d, b, s))
            for seed, ballot in enumerate(([0, 1, 2], [2, 1, 0]))
        )
        found.append(epsilon_lower_bound(first, second))
    assert 0.5 < found[0] <= 1.0 < 1.5 < found[1]


@pytest.mark.slow
def test_full_path_of_a_shuffle():
    estimator = ShufflePairwise(local_epsilon=2.0, delta=0.05, min_reports=4, rule="borda")
    plan, rng = estimator.plan_for(Shape(3))[1], np.random.default_rng(0)
    epsilon, delta = plan.guarantee.epsilon, 0.05
    samples: list[list[int]] = []
    number: dict[bytes, int] = {}
    for mine in ([0, 1, 2], [2, 1, 0]):
        samples.append([])
        for _ in range(3000):
            devices = [Device(plan.protocol, random_state=int(seed)) for seed in rng.integers(2**32, size=4)]
            ballots = [mine, *[[2, 1, 0]] * 3]
            lines = [json.dumps(m) for d, b in zip(devices, ballots, strict=True) for m in apart(d.report(b))]
            rng.shuffle(lines)
            opened = plan.open(iter(lines))(Bits.from_random_state(0))
            tally = opened.answer(PairTallies())[0].wins.tobytes()
            samples[-1].append(number.setdefault(tally, len(number)))
    assert epsilon_lower_bound(*map(np.array, samples), delta=delta) <= epsilon < 2.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
def test_full_path_of_an_interactive_protocol():
    estimator = LDPQuickSort(1.0, n_queries=2, random_state=0)
    number = {order: k for k, order in enumerate(permutations(range(3)))}
    samples = []
    for mine in ([0, 1, 2], [2, 1, 0]):
        runs = []
        for seed in range(700):
            ballots = [mine, [1, 0, 2]]
            field = Field(estimator.protocol(3), ballots, seed)
            estimator.set_params(random_state=seed).fit_interactive(field, items=3, n_voters=2)
            runs.append(number[tuple(estimator.consensus_.tolist())])
        samples.append(np.array(runs))
    assert epsilon_lower_bound(*samples) <= 1.0


def test_the_tools_see_a_bare_ballot():
    laws = [{json.dumps(ballot): 1.0} for ballot in FEW[:2]]
    assert worst_ratio(laws) == np.inf
    table = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert worst_ratio([dict(zip("ab", row, strict=True)) for row in table]) == worst_loss(table, [(0, 1)])
