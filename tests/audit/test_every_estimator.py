"""Everything private is audited: the list is complete by construction, and voters' devices are audited here."""

import inspect
import json
import math
import warnings
from collections import Counter
from contextlib import suppress
from itertools import combinations, combinations_with_replacement, product
from typing import get_type_hints

import numpy as np
import pytest
from audited import AUDITED, CENTRAL, LISTS, REPORTS, SHUFFLES, SUMS, TRANSCRIPTS
from docstring_tools import choices
from list_tools import private_profile
from local_tools import law_of, worst_ratio
from oracles import distinct_ballots, rankings

import sklearn_dprank
from sklearn_dprank import channels, collection as randomizers, mechanisms
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.privacy.shuffle import shuffle_amplification
from sklearn_dprank.theory import hay, shang, song, yan

NAN = np.nan
X = [[0, 1, 2], [2, 1, 0], [0, 2, 1]] * 3
EVERY_KIND = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 1], [NAN, 0, 1], [NAN, NAN, NAN]]


# --- the list


def quietly(estimator):
    """A fit on a few ballots; warnings about so few voters are not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X)


def private_classes():
    """The public estimators that promise something, by their own account."""
    public = [getattr(sklearn_dprank, name) for name in sklearn_dprank.__all__]
    public = [cls for cls in public if isinstance(cls, type) and issubclass(cls, RankAggregator)]
    return [cls for cls in public if hasattr(cls(), "channel") or math.isfinite(quietly(cls()).privacy_.epsilon)]


def unaudited(cls):
    """What of a class no audit has a case for: itself, or (parameter, option) where it takes one of a few words."""
    cases = [estimator for estimator in AUDITED if type(estimator) is cls]
    if not cases:
        return [cls]
    missing = []
    for name, hint in get_type_hints(cls.__init__).items():
        if name in ("rule", "return") or (name == "neighboring" and cases[0] in CENTRAL):
            continue  # rules only process answers, and the audits of curators put each case under both relations
        seen = {getattr(case, name) for case in cases if isinstance(getattr(case, name), str)}
        missing += [(name, option) for option in sorted(choices(hint) - seen)]
    return missing


@pytest.mark.parametrize("cls", private_classes(), ids=lambda cls: cls.__name__)
def test_every_private_estimator_and_option_has_an_audit(cls):
    assert not unaudited(cls), "add a case to tests/support/audited.py, which the exact audits take theirs from"


def public_classes(module, ability):
    found = [getattr(module, name) for name in module.__all__]
    return {cls for cls in found if inspect.isclass(cls) and hasattr(cls, ability)}


def noise_of_lists():
    """The class of the noise on lists of private items."""
    lists = private_profile([[0, 1, 2]], 2)
    (price,) = LISTS["lists"].plan_for(lists)[1].prices.values()
    return type(price.mechanism)


def test_every_channel_randomizer_and_noise_has_an_audit():
    composed = [estimator._compose() for estimator in AUDITED]
    assert {type(channel) for channel, _ in composed} == public_classes(channels, "plan") - {
        channels.Exact,
        channels.NonPrivateSurvey,
        channels.Channel,
    }
    used = {type(getattr(channel, "randomizer", None)) for channel, _ in composed}
    assert used >= public_classes(randomizers, "protocol") - {randomizers.Randomizer, randomizers.Device}
    pairs = [estimator._compose() for estimator in [*CENTRAL, *SUMS.values()]]
    prices = [price for channel, rule in pairs for price in channel.plan(rule.asks(3), 3).prices.values()]
    noises = {type(price.mechanism) for price in prices} | {noise_of_lists()}
    assert {noise for noise in noises if not hasattr(noise, "spent")} == public_classes(mechanisms, "sampler") - {
        mechanisms.Calibrated
    }
    printed = {noise.__module__ for noise in noises if hasattr(noise, "spent")}
    assert printed == {hay.__name__, shang.__name__}
    assert used >= {song.PrintedGaussian, yan.PrintedLaplace}


# --- one report


def stated(estimator):
    return quietly(estimator).privacy_.epsilon


def flip_of(protocol):
    """The numerator of the probability that an answer is flipped, where reports hold answers."""
    return protocol.get("flip", [None])[0]


FAST_REPORTS = ("djw", "KwikSort, as printed", "rr, an assigned pair")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FAST_REPORTS else pytest.mark.slow) for name in REPORTS]
)
def test_no_report_tells_two_ballots_further_apart_than_stated(name):
    estimator = REPORTS[name]
    flip = flip_of(estimator.protocol(3))
    many = name == "rr, two pairs"
    voter = {"voter": 7} if "n_voters" in estimator.protocol(3) else {}
    ballots = EVERY_KIND if many else distinct_ballots(3)
    laws = [law_of(lambda b=ballot: estimator.client(3).report(b, **voter), flip) for ballot in ballots]
    assert all(sum(law.values()) == pytest.approx(1) for law in laws)
    spent = worst_ratio(laws)
    assert spent <= stated(estimator) + 1e-12
    assert spent >= 0.6 * stated(estimator)


# --- answers to questions


def asked_by(estimator, m):
    """A question as the curator itself asks it, to be put about other pairs."""
    seen = []
    with suppress(ValueError):  # no device answers
        estimator.fit_interactive(lambda question: seen.append(question) or [], items=m, n_voters=m)
    return {key: value for key, value in seen[0].items() if key != "voters"}


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(estimator, id=name, marks=() if name == "adaptive pairs" else pytest.mark.slow)
        for name, estimator in TRANSCRIPTS.items()
    ],
)
def test_no_transcript_tells_two_ballots_further_apart_than_stated(estimator):
    """The worst of all sequences of questions, where each may depend on earlier answers."""
    protocol, question = estimator.protocol(3), asked_by(estimator, 3)
    ballots = EVERY_KIND[:2] if protocol["answers"] > 2 else EVERY_KIND

    def transcript(ballot, asked):
        device = estimator.client(3)
        each = [{**question, "question": number, "pairs": [list(pair)]} for number, pair in enumerate(asked, start=1)]
        return [device.answer(one, ballot)["answer"] for one in each]

    spent = [
        worst_ratio(
            [law_of(lambda b=ballot, a=asked: transcript(b, a), protocol["flips"]["each"]) for ballot in ballots]
        )
        for asked in product(combinations(range(3), 2), repeat=protocol["answers"])
    ]
    assert max(spent) <= stated(estimator) + 1e-12
    assert max(spent) == pytest.approx(stated(estimator), rel=1e-9)


# --- shuffles


def added(law, mine):
    """The law of a multiset of messages with those of one voter more."""
    grown: Counter = Counter()
    for (seen, p), (message, q) in product(law.items(), mine.items()):
        grown[tuple(sorted([*seen, message]))] += p * q
    return grown


@pytest.mark.parametrize("estimator", SHUFFLES.values(), ids=SHUFFLES)
def test_shuffled_messages_keep_epsilon_and_delta(estimator):
    """All messages about one pair (or about hidden ones), for all ballots of those who hide each other."""
    channel, _ = estimator._compose()
    hidden = channel.pairs == "hidden"
    arguments = [] if hidden else [[[0, 1]]]
    ballots = rankings(3) if hidden else [[0, 1, 2], [1, 0, 2], [0, 0, 1]]
    flip = flip_of(estimator.protocol(3))
    texts = [law_of(lambda b=ballot: estimator.client(3).report(b, *arguments), flip) for ballot in ballots]
    promise, local = quietly(estimator).privacy_, estimator.local_epsilon_
    assert local <= estimator.local_epsilon
    assert worst_ratio(texts) == pytest.approx(local, rel=1e-9)
    assert worst_ratio(texts) <= local + 1e-12
    laws = []
    for law in texts:
        messages = {text: json.loads(text) for text in law}
        assert all(len(sent["messages"]) == 1 for sent in messages.values())
        laws.append(Counter())
        for text, p in law.items():  # the random numbers of reports stay with the shuffler
            (message,) = messages[text]["messages"]
            laws[-1][*message["pair"], message["answer"]] += p
    crowd = estimator.min_reports // (1 if hidden else 3)
    assert promise.epsilon == shuffle_amplification(local, crowd, estimator.delta)
    worst = 0.0
    for others in combinations_with_replacement(laws, crowd - 1):
        rest: Counter = Counter({(): 1.0})
        for law in others:
            rest = added(rest, law)
        views = [added(rest, law) for law in laws]
        keys = sorted(set().union(*views))
        table = np.array([[view[key] for key in keys] for view in views])
        sticks = np.maximum(table[:, None] - math.exp(promise.epsilon) * table, 0).sum(axis=2)
        worst = max(worst, sticks.max())
    assert 0.4 * promise.delta < worst <= promise.delta * (1 + 1e-9)
