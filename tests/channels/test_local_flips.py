"""Channels that ask about pairs take any randomizer that flips answers, at its true cost, and no other."""

from itertools import combinations, product

import numpy as np
import pytest
from local_tools import law_of, worst_ratio
from oracles import flip_epsilon
from scipy.stats import norm

from sklearn_dprank.channels import Groups, Interactive, Local, Rounds, Shuffle, Slots
from sklearn_dprank.collection import Device, HypercubeSampling, PrivUnitG, RandomizedResponse
from sklearn_dprank.collection.protocol import FLIP_GRID, digest
from sklearn_dprank.privacy.composition import classical_gaussian_sigma
from sklearn_dprank.privacy.shuffle import composed_shuffle_epsilon, shuffle_amplification
from sklearn_dprank.queries import Ask, PairTallies
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, KwikSortRule
from sklearn_dprank.theory import song, yan

LAPLACE = yan.PrintedLaplace()
GAUSSIAN = song.PrintedGaussian(1e-4)
TALLIES = [Ask(PairTallies())]
BALLOTS = [[0, 1, 2], [2, 1, 0], [np.nan, 0, 1]]


def printed(randomizer, epsilon):
    """The flip of an answer as the papers print its noise."""
    if randomizer is LAPLACE:
        return np.exp(-epsilon / 2) / 2
    return norm.sf(0.5 / classical_gaussian_sigma(epsilon, 1e-4))


def questions(m, schedule, randomizer=None, epsilon=1.0, max_queries=None):
    rule = AdaptiveBradleyTerryRule(2)
    if not isinstance(schedule, Rounds):
        rule = KwikSortRule(max_queries, "kemeny" if isinstance(schedule, Groups) else "coin")
    return Interactive(epsilon, schedule, randomizer).plan(rule.asks(m), m, 400)


# --- printed noises: the printed flip, and what it really spends


@pytest.mark.slow
@pytest.mark.parametrize("randomizer", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize(("schedule", "answers"), [(Slots(2), 2), (Rounds(), 1)], ids=str)
def test_questions_with_published_noise_state_the_epsilon_of_a_transcript(randomizer, schedule, answers):
    plan = questions(3, schedule, randomizer, epsilon=1.5)
    flip = plan.protocol["flips"]["each"]
    assert plan.protocol["answers"] == answers
    assert flip / FLIP_GRID == pytest.approx(printed(randomizer, 1.5 / answers), rel=1e-12)
    stated = plan.guarantee.epsilon
    assert stated == pytest.approx(answers * flip_epsilon(flip / FLIP_GRID), rel=1e-9)
    assert stated == float(plan.protocol["epsilon"]) < 1.5

    def transcript(ballot, asked):
        device = Device(plan.protocol)
        each = [
            {"protocol": digest(plan.protocol), "question": number, "kind": "each", "pairs": [list(pair)]}
            for number, pair in enumerate(asked, start=1)
        ]
        return [device.answer(question, ballot)["answer"] for question in each]

    spent = [
        worst_ratio([law_of(lambda b=ballot, a=asked: transcript(b, a), flip) for ballot in BALLOTS])
        for asked in product(combinations(range(3), 2), repeat=answers)
    ]
    assert max(spent) <= stated + 1e-12
    assert max(spent) == pytest.approx(stated, rel=1e-9)


def test_the_reserve_has_published_noise_of_its_own():
    plan = questions(6, Groups(), LAPLACE, epsilon=8.0, max_queries=3)
    flips = {kind: flip / FLIP_GRID for kind, flip in plan.protocol["flips"].items()}
    assert plan.protocol["answers"] == 3
    assert flips["each"] == pytest.approx(printed(LAPLACE, 4.0 / 3), rel=1e-12)
    assert flips["last"] == pytest.approx(printed(LAPLACE, 4.0), rel=1e-12)
    assert plan.guarantee.epsilon == pytest.approx(3 * flip_epsilon(flips["each"]) + flip_epsilon(flips["last"]))
    assert plan.guarantee.epsilon < 8.0 and "thresholded Laplace noise" in plan.guarantee.how


@pytest.mark.parametrize("randomizer", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("pairs", ["hidden", "assigned"])
@pytest.mark.parametrize("n_queries", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_shuffled_published_noise_is_priced_by_its_flips(randomizer, pairs, n_queries):
    plan = Shuffle(local_epsilon=2.0, n_queries=n_queries, pairs=pairs, randomizer=randomizer).plan(TALLIES, 4, 1200)
    flip = plan.protocol["flip"][0]
    assert flip / FLIP_GRID == pytest.approx(printed(randomizer, 2.0 / n_queries), rel=1e-12)
    each = flip_epsilon(flip / FLIP_GRID)
    crowd = 1200 if pairs == "hidden" else 1200 * n_queries // 6
    assert plan.guarantee.epsilon == pytest.approx(composed_shuffle_epsilon(each, crowd, 1e-6, n_queries), rel=1e-6)
    assert (
        plan.guarantee.epsilon
        < Shuffle(local_epsilon=2.0, n_queries=n_queries, pairs=pairs).plan(TALLIES, 4, 1200).guarantee.epsilon
    )
    assert float(plan.protocol["epsilon"]) == pytest.approx(n_queries * each, rel=1e-9)
    assert f"local epsilon = {n_queries * each:.6g}" in plan.guarantee.caveats[0]
    design = None if pairs == "hidden" else [[0, 1], [2, 3]][:n_queries]
    ballots = [[0, 1, 2, 3], [3, 2, 1, 0]]
    laws = [law_of(lambda b=b: Device(plan.protocol).report(b, design), flip) for b in ballots]
    assert worst_ratio(laws) == pytest.approx(n_queries * each, rel=1e-9)


def test_a_target_is_kept_and_the_local_epsilon_is_stated_without_other_voters():
    found = Shuffle(epsilon=0.3, randomizer=LAPLACE).plan(TALLIES, 4, 1200).guarantee
    each = found.caveats[0].rpartition("= ")[2]
    assert found.epsilon == pytest.approx(shuffle_amplification(float(each), 1200, 1e-6), rel=1e-4)
    assert found.epsilon < 0.3
    alone = Shuffle(epsilon=1.0, pairs="assigned", n_queries=2, randomizer=GAUSSIAN).plan(TALLIES, 10, 40).guarantee
    assert alone.epsilon == pytest.approx(2 * flip_epsilon(printed(GAUSSIAN, 0.5)), rel=1e-9) and alone.delta == 0.0


# --- and they work


# --- what does not fit


@pytest.mark.parametrize("randomizer", [PrivUnitG(), HypercubeSampling()], ids=str)
def test_a_randomizer_without_answers_is_one_error_that_names_both_sides(randomizer):
    name = type(randomizer).__name__
    for channel, asks in (
        (Interactive(randomizer=randomizer), KwikSortRule(on_exhausted="coin").asks(3)),
        (Shuffle(randomizer=randomizer), TALLIES),
    ):
        asking = type(channel).__name__
        with pytest.raises(ValueError, match=f"^{asking} cannot use {name}: .*answers about single pairs"):
            channel.plan(asks, 3, 100)


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        (Interactive(randomizer=RandomizedResponse(2)), r"cannot use RandomizedResponse\(n_queries=2\): .*schedule"),
        (Interactive(randomizer=RandomizedResponse(None)), r"RandomizedResponse\(n_queries=None\)"),
        (Shuffle(randomizer=yan.PrintedLaplace(3)), r"cannot use PrintedLaplace\(n_queries=3\): .*of the channel"),
        (Interactive(randomizer=RandomizedResponse), "got the class RandomizedResponse"),
        (Shuffle(randomizer=PrivUnitG), "got the class PrivUnitG"),
        (Local(randomizer="rr"), "randomizer must be None or a randomizer of sklearn_dprank.collection, got 'rr'"),
        (Shuffle(randomizer=song.PrintedGaussian(delta=2)), "delta must"),
    ],
)
def test_wrong_parameters(channel, message):
    asks = KwikSortRule(on_exhausted="coin").asks(3) if isinstance(channel, Interactive) else TALLIES
    with pytest.raises(ValueError, match=message):
        channel.plan(asks, 3, **({} if isinstance(channel, Local) else {"n_voters": 100}))
