"""Polls travel: unpickled by plain `pickle`, one opens the same sessions for the same bits."""

import json
import pickle

import numpy as np
import pytest
from local_tools import apart, reports_of

from sklearn_dprank import LDPPairwise, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Exact, Groups, Interactive, Local, NonPrivateSurvey, Rounds, Shuffle, Slots
from sklearn_dprank.collection import HypercubeSampling, PrivUnitG, RandomizedResponse
from sklearn_dprank.queries import AllMargins, Histogram, MaxViolatedMargin
from sklearn_dprank.rules import (
    AdaptiveBradleyTerryRule,
    BradleyTerryRule,
    Choose,
    ChooseNearAnchor,
    KwikSortRule,
    SortByScore,
)
from sklearn_dprank.sampling.bit_source import Bits

M = 5
BALLOTS = np.random.default_rng(0).permuted(np.tile(np.arange(float(M)), (60, 1)), axis=1)
BALLOTS[::4, 1] = np.nan
PROFILE = Profile.from_rankings(BALLOTS, keep="positions")
CASES = {
    "exact": (Exact(), SortByScore()),
    "truthful": (NonPrivateSurvey(2), BradleyTerryRule()),
    "laplace": (Central(), KwikSortRule(3, "kemeny")),
    "gaussian": (Central(delta=1e-6, noise="gaussian"), SortByScore()),
    "knorm": (Central(noise="knorm"), SortByScore()),
    "exponential": (Central(), Choose(MaxViolatedMargin())),
    "near an anchor": (Central(), ChooseNearAnchor(2)),
    "margins released": (Central(release=AllMargins()), KwikSortRule()),
    "histogram released": (Central(release=Histogram()), SortByScore()),
    "pairs": (Local(randomizer=RandomizedResponse(2)), BradleyTerryRule()),
    "corner": (Local(randomizer=HypercubeSampling()), KwikSortRule()),
    "vector": (Local(randomizer=PrivUnitG()), SortByScore()),
    "slots": (Interactive(schedule=Slots(3)), KwikSortRule(on_exhausted="coin")),
    "groups": (Interactive(8.0, Groups()), KwikSortRule(3, "kemeny")),
    "rounds": (Interactive(schedule=Rounds()), AdaptiveBradleyTerryRule()),
    "hidden pairs": (Shuffle(), BradleyTerryRule()),
    "assigned pairs": (Shuffle(pairs="assigned", n_queries=2), BradleyTerryRule()),
}


def plain(answer):
    """Arrays as lists, all the way down."""
    if isinstance(answer, (list, tuple)):
        return [plain(part) for part in answer]
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def heard(poll, rule, seed):
    """All that a rule heard in one session, and what it made of it."""
    session, answers = poll(Bits.from_random_state(seed)), []
    plainly = session.answer

    def answer(query):
        answers.append((query, plainly(query)))
        return answers[-1][1]

    session.answer = answer
    order = rule.aggregate(session).order
    session.close()
    return repr(plain((answers, order, session.published)))


@pytest.mark.parametrize("case", CASES)
def test_an_unpickled_poll_gives_the_same_answers(case):
    channel, rule = CASES[case]
    plan = channel.plan(rule.asks(M), M, len(BALLOTS))
    poll = plan.open(PROFILE)
    before = pickle.loads(pickle.dumps(poll))
    expected = [heard(poll, rule, seed) for seed in range(4)]
    after = pickle.loads(pickle.dumps(poll))
    assert [heard(before, rule, seed) for seed in range(4)] == expected
    assert [heard(after, rule, seed) for seed in range(4)] == expected
    assert [heard(pickle.loads(pickle.dumps(plan)).open(PROFILE), rule, seed) for seed in range(4)] == expected
    assert case == "exact" or len(set(expected)) > 1  # fresh randomness for each session


def shuffled(estimator):
    return [line for sent in reports_of(estimator, BALLOTS, 0) for line in map(json.dumps, apart(json.loads(sent)))]


@pytest.mark.parametrize(
    ("estimator", "collected"),
    [(LDPPairwise(n_queries=2), lambda e: reports_of(e, BALLOTS, 0)), (ShufflePairwise(min_reports=60), shuffled)],
    ids=["local", "shuffle"],
)
def test_a_poll_of_the_field_has_read_its_reports_once(estimator, collected):
    channel, rule = estimator._compose()
    poll = channel.plan(rule.asks(M), M).open(iter([*collected(estimator), "{"]))
    again = pickle.loads(pickle.dumps(poll))
    for seed in range(3):
        assert heard(again, rule, seed) == heard(poll, rule, seed)
    published = again(Bits.from_random_state(0)).published
    assert (published["reports_accepted"], published["reports_refused"]) == (60, {"not JSON": 1})


def no_answers(question):
    return []


def test_a_poll_of_questions_needs_a_messenger_that_travels():
    rule = KwikSortRule(on_exhausted="coin")
    plan = Interactive().plan(rule.asks(M), M, 60)
    again = pickle.loads(pickle.dumps(plan.open(no_answers)))
    with pytest.raises(ValueError, match="none arrived"):
        heard(again, rule, 0)
