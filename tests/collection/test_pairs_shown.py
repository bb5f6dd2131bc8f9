"""Shown pairs: one comparison of each person, drawn uniformly, with its outcome randomised."""

import json
import math
from collections import Counter
from itertools import product

import audited
import numpy as np
import pytest
from local_tools import law_of, worst_ratio
from long_tools import compared_by

from sklearn_dprank import LDPPairwise
from sklearn_dprank.ballots import Profile
from sklearn_dprank.collection import Allowance, Device
from sklearn_dprank.datasets import make_comparisons
from sklearn_dprank.privacy import BudgetExhausted, PrivacyGuarantee
from sklearn_dprank.queries import PairTallies
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import yan

SHOWN, _ = audited.SHOWN
PAIRS = [(0, 1), (2, 0), (0, 1)]
OUTCOMES = (1, 0, None)


def comparisons(outcomes, pairs=PAIRS):
    return [[*pair, outcome] for pair, outcome in zip(pairs, outcomes, strict=True)]


def device_law(own):
    protocol = SHOWN.protocol(3)
    return law_of(lambda: Device(protocol).report(own), protocol["flip"][0])


# --- the device


def test_device_draws_each_comparison_alike_and_flips_its_outcome():
    keep = 1 / (1 + math.exp(-1.5))
    law = Counter()
    for text, probability in device_law([[0, 1, 1], [2, 0, 1], [1, 2, None]]).items():
        report = json.loads(text)
        law[*report["pairs"][0], report["answers"][0]] += probability
    expected = {(0, 1, 1): keep, (0, 1, 0): 1 - keep, (0, 2, 0): keep, (0, 2, 1): 1 - keep}
    expected |= {(1, 2, 1): 0.5, (1, 2, 0): 0.5}
    assert law == pytest.approx({answer: p / 3 for answer, p in expected.items()})


def test_report_protects_the_outcomes_of_all_comparisons_of_a_person():
    """The pairs are the same, and the outcomes are any. The stated epsilon is reached."""
    laws = [device_law(comparisons(outcomes)) for outcomes in product(OUTCOMES, repeat=3)]
    assert worst_ratio(laws) == pytest.approx(SHOWN.guarantee_before(compared_by([comparisons([1, 1, 1])])).epsilon)
    assert worst_ratio(laws) <= 1.5 + 1e-12


def test_drawn_pair_does_not_depend_on_the_outcomes():
    laws = []
    for outcomes in product(OUTCOMES, repeat=3):
        law = Counter()
        for text, probability in device_law(comparisons(outcomes)).items():
            law[str(json.loads(text)["pairs"])] += probability
        laws.append(law)
    assert all(law == pytest.approx({"[[0, 1]]": 2 / 3, "[[0, 2]]": 1 / 3}) for law in laws)


def test_device_reports_once_however_often_pairs_are_shown():
    """Further comparisons get no second report, and the allowance is charged once for all of them."""
    allowance = Allowance(epsilon=2.0)
    device = Device(SHOWN.protocol(3), allowance=allowance)
    report = device.report([[0, 1, 1]])
    assert device.report([[0, 1, 1]]) == report
    for later in ([[0, 1, 1], [1, 2, 0]], [[0, 1, 0]], [[1, 2, 1]]):
        with pytest.raises(BudgetExhausted, match="already reported another ballot"):
            device.report(later)
    with pytest.raises(BudgetExhausted):
        Device(SHOWN.protocol(3), allowance=allowance)
    with pytest.raises(BudgetExhausted):
        Device(SHOWN.protocol(["a", "b", "c"]), allowance=allowance)
    assert allowance.spent[0] == pytest.approx(1.5)


@pytest.mark.parametrize(
    "ballot",
    [
        *([], [[]], [[0, 1]], [[0, 1, 1, 1]], [0, 1, 1], [[0, 0, 1]], [[0, 3, 1]], [[-1, 0, 1]], [[0.5, 1, 1]]),
        *([[0, 1, 2]], [[0, 1, 0.5]], [[0, 1, -1]], [[0, None, 1]], [[0, 1, "tie"]], [[0, 1, math.inf]], None, 7),
        *([[0, 1, True]], [[False, 1, 0]]),
    ],
    ids=repr,
)
def test_malformed_comparisons_are_refused_without_a_charge(ballot):
    device = Device(SHOWN.protocol(3))
    with pytest.raises(ValueError, match=r"ballot must list one or more comparisons \[first, second, outcome\]"):
        device.report(ballot)
    assert json.loads(device.to_json())["said"] == {}


def test_curator_cannot_name_the_pair():
    for options in ({"pairs": [[0, 1]]}, {"voter": 3}):
        with pytest.raises(ValueError, match="must be given if and only if"):
            Device(SHOWN.protocol(3)).report([[0, 1, 1], [1, 2, 1]], **options)


# --- the curator


def test_fit_and_devices_have_the_same_law():
    """The exact law of the counts, for persons with one, two and three comparisons."""
    persons = [[[0, 1, 1]], comparisons([0, None], PAIRS[:2]), comparisons([1, 1, 0])]
    profile = compared_by(persons)
    plan = SHOWN.plan_for(profile)[1]
    poll = plan.open(profile)
    fitted = law_of(
        lambda: poll(Bits.from_random_state()).answer(PairTallies())[0].wins.tolist(), plan.protocol["flip"][0]
    )
    expected = Counter()
    for reports in product(*[device_law(own).items() for own in persons]):
        wins = np.zeros((3, 3), dtype=int)
        for text, _ in reports:
            (pair,), (answer,) = (json.loads(text)[name] for name in ("pairs", "answers"))
            wins[tuple(pair if answer else pair[::-1])] += 1
        expected[json.dumps(wins.tolist())] += math.prod(p for _, p in reports)
    assert fitted == pytest.approx(dict(expected))


def test_counts_of_pairs_are_exact_and_margins_are_unbiased():
    """Each person has one comparison, so the counts of pairs are those of the table."""
    persons = [[[0, 1, 1]]] * 60 + [[[1, 0, 1]]] * 20 + [[[0, 2, None]]] * 40 + [[[2, 1, 1]]] * 5
    profile, margins = compared_by(persons), []
    for seed in range(400):
        fitted = LDPPairwise(1.0, pairs="shown", random_state=seed).fit(profile)
        margins.append(fitted.margins_[[0, 0, 1], [1, 2, 2]])
    asked = np.array([80, 40, 5])
    np.testing.assert_array_equal(fitted.noise_.law.asked[[0, 0, 1], [1, 2, 2]], asked)
    std = 1 / (math.tanh(0.5) * np.sqrt(asked))
    np.testing.assert_allclose(fitted.noise_.law.std[[0, 0, 1], [1, 2, 2]], std)
    error = (np.mean(margins, axis=0) - [0.5, 0, -1]) / (std / 20)
    assert np.abs(error).max() < 4


def test_reports_of_devices_are_read_as_shown_pairs():
    rng = np.random.default_rng(0)
    sent = [Device(SHOWN.protocol(3)).report(comparisons(rng.integers(2, size=3))) for _ in range(50)]
    bad = [{**sent[0], "pairs": [[0, 1], [0, 2]]}, {**sent[0], "answers": [None]}, {**sent[0], "voter": 3}]
    other = LDPPairwise(epsilon=1.5).client(3).report([0, 1, 2])
    fitted = SHOWN.fit_reports([*bad, *map(json.dumps, sent), other], items=3)
    assert fitted.reports_accepted_ == 50
    reasons = {"another protocol": 1, "answer out of range": 1, "wrong keys": 1, "wrong number of answers": 1}
    assert fitted.reports_refused_ == reasons
    assert fitted.noise_.law.asked.sum() == 100 and fitted.noise_.law.asked[1, 2] == 0
    counts = SHOWN.count_reports(sent[:20], items=3) + SHOWN.count_reports(sent[20:], items=3)
    np.testing.assert_array_equal(SHOWN.fit_reports(counts, items=3).margins_, fitted.margins_)


def test_matched_opponents_do_not_bias_the_order():
    """With a large epsilon. In net wins, items with strong opponents would lose."""
    votes, strengths = make_comparisons(20_000, 8, matched=0.9, random_state=0)
    profile = Profile.from_comparisons(
        votes, "first", "second", outcome="winner", person="person", items=range(8), max_weight=1
    )
    fitted = LDPPairwise(8.0, pairs="shown", random_state=0).fit(profile)
    order = np.argsort(-strengths)
    agreement = sum(fitted.ranks_[a] < fitted.ranks_[b] for k, a in enumerate(order) for b in order[k + 1 :])
    assert agreement >= 26  # of 28 pairs
    assert fitted.reports_accepted_ == profile.n_voters


def test_rank_intervals_hold_the_true_ranks():
    """Each person has one comparison, and the margins are those of the table."""
    wins = {(0, 1): 0.8, (0, 2): 0.9, (1, 2): 0.7}
    persons = [[[*pair, int(k < 200 * share)]] for pair, share in wins.items() for k in range(200)]
    profile, covered = compared_by(persons), 0
    for seed in range(60):
        fitted = LDPPairwise(2.0, pairs="shown", random_state=seed).fit(profile)
        best, worst = fitted.rank_intervals(0.8).T
        covered += bool(((best <= [0, 1, 2]) & (worst >= [0, 1, 2])).all())
        assert fitted.pair_confidence()[0, 2] > 0.5
    assert covered >= 48


# --- what is stated, and what is refused


def test_guarantee_states_that_only_outcomes_are_protected():
    one = Profile.from_comparisons(None, [0, 1], [1, 2], person=None, items=range(3))
    assert SHOWN.fit(one).privacy_.unit == "the outcome of one comparison"
    guarantee = SHOWN.fit(compared_by([comparisons([1, 1, 0])])).privacy_
    assert guarantee == SHOWN.guarantee_before(compared_by([comparisons([0, 1, 0])]))
    assert guarantee.unit == "the outcomes of all comparisons of one person"
    assert (guarantee.trust, guarantee.neighboring, guarantee.delta) == ("local", "replace", 0)
    text = guarantee.statement(width=None)
    assert "outcome of one comparison of each person" in text
    assert "Caveat: it is public who compared which items" in text and "which items somebody compared" not in text
    hidden = LDPPairwise().fit([[0, 1, 2]] * 9).privacy_
    with pytest.raises(ValueError, match="different units"):
        PrivacyGuarantee.compose([guarantee, hidden])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_queries": 2}, "pairs='shown' needs n_queries=1, .* got n_queries=2"),
        ({"n_queries": None, "epsilon": 9.0}, "pairs='shown' needs n_queries=1, .* got n_queries=None"),
        ({"n_queries": np.ones(2)}, "n_queries must be None or a positive integer"),
        ({"randomizer": "djw"}, "pairs='shown' needs randomizer='rr', got 'djw'"),
        ({"randomizer": yan.PrintedLaplace()}, "pairs='shown' needs randomizer='rr', got PrintedLaplace"),
        ({"pairs": "hidden"}, "If it is public who compared which items, set pairs='shown'"),
        ({"pairs": "assigned"}, "If it is public who compared which items, set pairs='shown'"),
    ],
)
def test_unfitting_parameters_are_refused_before_comparisons_are_read(options, match):
    estimator = LDPPairwise(**{"pairs": "shown", **options})
    profile = compared_by([comparisons([1, 1, 0])])
    for call in (estimator.fit, estimator.guarantee_before):
        with pytest.raises(ValueError, match=match):
            call(profile)


@pytest.mark.filterwarnings("ignore:5,001 items are more")
def test_ballots_and_other_long_data_are_refused_for_shown_pairs():
    lists = Profile.from_orders([[0, 1], [2, 0]], items=range(3))
    for X in ([[0, 1, 2]], Profile.from_rankings([[0, 1, 2]]), lists):
        for call in (SHOWN.fit, SHOWN.guarantee_before):
            with pytest.raises(ValueError, match=r"pairs='shown' is for comparisons .*Profile\.from_comparisons"):
                call(X)
    with pytest.raises(ValueError, match="at least one report"):
        SHOWN.fit(Profile.from_comparisons(None, [], [], person=[], items=range(3)))
    with pytest.raises(ValueError, match="voter_epsilon has no order of persons in long data"):
        SHOWN.fit(compared_by([comparisons([1, 1, 0])]), voter_epsilon=[1.0])
    with pytest.raises(ValueError, match="at most 5000 items of long data, got 5001"):
        SHOWN.guarantee_before(compared_by([[[0, 1, 1]]], 5001))
