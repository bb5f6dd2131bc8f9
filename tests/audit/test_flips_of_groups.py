"""Groups flip `each` answer and the `last` one with probabilities of their own, on devices and in the simulation.

A group answers often, each time for little; everybody's last report has half of the budget. One for the other would
spend many times what is stated, or waste it, and the consensus alone hardly shows which.
"""

import json

import numpy as np
import pytest
from oracles import flip_probability
from scipy import stats

from sklearn_dprank import Aggregator, LDPGroupKwikSort
from sklearn_dprank.channels import Groups, Interactive
from sklearn_dprank.collection import Device
from sklearn_dprank.queries import AllMargins, PairMargin
from sklearn_dprank.rules import KwikSortRule
from sklearn_dprank.rules.base import Consensus

GRID = 2**52
M, EPSILON = 5, 8.0  # from five items on, groups may run out of answers and keep half back


class Probe(KwikSortRule):
    """Asks as KwikSort may, on and on, and publishes what it hears."""

    def aggregate(self, session):
        pairs = [(i, j) for i in range(session.n_items) for j in range(i + 1, session.n_items)][:5]
        each = [int(session.answer(PairMargin(i, j))) for i, j in pairs]
        last = session.answer(AllMargins())
        return Consensus(np.arange(session.n_items), {"each": each, "last": last})


def probed(seed=0):
    return Aggregator(Interactive(EPSILON, Groups()), Probe(on_exhausted="kemeny"), random_state=seed)


def flips(estimator):
    found = estimator.protocol(M)["flips"]
    return found["each"] / GRID, found["last"] / GRID


def test_the_two_prices():
    """Seven answers of a voter at half of epsilon, and one last report for the other half."""
    each, last = flips(LDPGroupKwikSort(EPSILON))
    assert LDPGroupKwikSort(EPSILON).protocol(M)["answers"] == 7
    assert each == pytest.approx(flip_probability(EPSILON / 14), abs=1e-9)
    assert last == pytest.approx(flip_probability(EPSILON / 2), abs=1e-9)
    assert flips(probed()) == (each, last)


def devices_by_text(estimator, n_voters):
    """An `ask` that hands each question to the devices of unanimous voters, as text both ways."""
    protocol = estimator.protocol(M)
    devices = [Device(protocol, random_state=10**6 + v) for v in range(n_voters)]

    def ask(question):
        question = json.loads(json.dumps(question))
        return [json.dumps(devices[voter].answer(question, list(range(M)))) for voter in question["voters"]]

    return ask


def simulated(estimator, n_voters):
    return estimator.fit([list(range(M))] * n_voters)


def collected(estimator, n_voters):
    return estimator.fit_interactive(devices_by_text(estimator, n_voters), items=M, n_voters=n_voters)


@pytest.mark.parametrize("run", [simulated, pytest.param(collected, marks=pytest.mark.slow)])
def test_unanimous_answers_are_flipped_with_the_probability_of_their_kind(run):
    """Of n / m voters asked each time all agree: the flips are all that is random, and they are counted."""
    n_voters = 1500
    heard = run(probed(), n_voters)
    each, last = flips(heard)
    group = n_voters // M
    flipped = [(group - margin) // 2 for margin in heard.each_]
    assert stats.binomtest(sum(flipped), 5 * group, each).pvalue > 1e-4
    # Margins are estimated by dividing by 1 - 2 flip. Unanimous ones are 1, but for noise that only `last` keeps small.
    margins = heard.last_[np.triu_indices(M, 1)]
    deviation = 2 * np.sqrt(last * (1 - last) / (n_voters / 10)) / (1 - 2 * last)
    assert np.abs(margins - 1).max() < 4 * deviation < 0.25
    assert abs(margins.mean() - 1) < 4 * deviation / np.sqrt(10)
