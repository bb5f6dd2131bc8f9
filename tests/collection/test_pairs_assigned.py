"""Assigned pairs of registered voters: public, uniform, independent of ballots, verified by device and curator."""

import json
from collections import Counter
from itertools import combinations

import numpy as np
import plain_device
import pytest
from local_tools import same_law
from scipy import stats

from sklearn_dprank import LDPPairwise
from sklearn_dprank.collection import Device
from sklearn_dprank.collection.pairs import public_pairs
from sklearn_dprank.theory import song, yan

SEED = "0123456789abcdef" * 2
X = np.random.default_rng(0).permuted(np.tile(np.arange(5), (300, 1)), axis=1)


def assigned(epsilon=1.0, n_voters=300, seed=SEED, **options):
    return LDPPairwise(epsilon, pairs="assigned", n_voters=n_voters, assignment_seed=seed, **options)


def reports(estimator, ballots, seed=0, epsilon=None):
    protocol = estimator.protocol(len(ballots[0]), epsilon=epsilon)
    return [Device(protocol, random_state=seed + v).report(ballot, voter=v) for v, ballot in enumerate(ballots)]


# --- the assignment


@pytest.mark.parametrize(("m", "k"), [(2, 1), (3, 1), (3, 3), (5, 4), (40, 2)])
def test_assigned_pairs_follow_from_seed_and_voter(m, k):
    """They are the first distinct numbers of a sequence of hashes, as a device without NumPy finds them."""
    protocol = assigned(n_queries=k).protocol(m)
    first, second = public_pairs(protocol, [0, 17, 299])
    noise, every = [2**63] * k, list(combinations(range(m), 2))
    for row, voter in enumerate((0, 17, 299)):
        words = {name: plain_device.Words(noise) for name in ("noise", "coins", "assignment")}
        told = plain_device.report(protocol, [*range(m)], words, voter=voter)["pairs"]
        assert np.column_stack([first[row], second[row]]).tolist() == told
        assert len({tuple(pair) for pair in told} & set(every)) == k
        assert Device(protocol).report([*range(m)], voter=voter)["pairs"] == told


@pytest.mark.parametrize("seed", [SEED, SEED[::-1]])
def test_pairs_are_uniform_and_independent(seed):
    protocol = assigned(seed=seed, n_voters=4001).protocol(4)
    first, second = public_pairs(protocol, range(4001))
    numbers = (4 * first + second).ravel()
    counts = Counter(numbers.tolist())
    assert len(counts) == 6 and stats.chisquare([*counts.values()]).pvalue > 1e-3
    neighbours = np.unique(16 * numbers[1:] + numbers[:-1], return_counts=True)[1]
    assert len(neighbours) == 36 and stats.chisquare(neighbours).pvalue > 1e-3


# --- the device


def test_the_same_epsilon_as_of_hidden_pairs():
    for options in (
        {},
        {"n_queries": 3},
        {"randomizer": yan.PrintedLaplace()},
        {"randomizer": song.PrintedGaussian(1e-4)},
    ):
        hidden, own = LDPPairwise(1.5, **options), assigned(1.5, **options)
        assert Device(own.protocol(5)).epsilon == Device(hidden.protocol(5)).epsilon
        assert own.protocol(5)["flip"] == hidden.protocol(5)["flip"]
        assert own.fit(X).privacy_.epsilon == hidden.fit(X).privacy_.epsilon


def test_a_device_answers_about_its_own_pairs_only():
    protocol = assigned(n_queries=2).protocol(5)
    own = np.column_stack([items[0] for items in public_pairs(protocol, [3])]).tolist()
    other = np.column_stack([items[0] for items in public_pairs(protocol, [4])]).tolist()
    device = Device(protocol, random_state=0)
    for pairs in (other, own[::-1], own[:1], [*own, *own], [], [[0, 1], [2]], "pairs", 7):
        with pytest.raises(ValueError, match="pairs must be those that follow from the protocol and voter=3"):
            device.report(X[3], pairs, voter=3)
    assert json.loads(device.to_json())["said"] == {}
    report = device.report(X[3], own, voter=3)
    assert report["pairs"] == own and report == device.report(X[3], voter=3)


@pytest.mark.parametrize("voter", [300, -1, True, 2.0, "7", 10**400])
def test_a_device_refuses_a_number_that_is_not_registered(voter):
    with pytest.raises(ValueError, match="voter must be an integer from 0 to 299, got"):
        Device(assigned().protocol(5)).report(X[0], voter=voter)


def test_a_number_is_for_protocols_of_registered_voters():
    with pytest.raises(ValueError, match="voter must be given, because this protocol assigns pairs"):
        Device(assigned().protocol(5)).report(X[0])
    with pytest.raises(ValueError, match="if and only if the protocol has n_voters"):
        Device(LDPPairwise().protocol(5)).report(X[0], voter=0)


# --- the curator


def test_refused_reports_are_counted_by_reason():
    estimator, sent = assigned(), reports(assigned(), X)
    other = next(report for report in sent if report["pairs"] != sent[0]["pairs"])
    bad = [
        {**sent[0], "pairs": other["pairs"]},  # a pair of the liar's choice
        *({**sent[0], "voter": voter} for voter in (300, -1, True, 0.0, "0", None)),
        {**sent[0], "voter": other["voter"]},  # an index of another voter
        {name: value for name, value in sent[0].items() if name != "voter"},
        {**sent[0], "answers": [2]},
    ]
    fitted = estimator.fit_reports([*bad, *sent, *sent[:20], *reports(estimator, X[::-1], seed=999)[-3:]], items=5)
    assert fitted.reports_accepted_ == 300
    assert fitted.reports_refused_ == {
        "not the voter's pairs": 2,
        "no voter": 6,
        "wrong keys": 1,
        "answer out of range": 1,
        "voter answered before": 23,
    }
    clean = estimator.fit_reports(sent, items=5)
    np.testing.assert_array_equal(clean.margins_, fitted.margins_)


def test_a_voter_counts_once_under_all_epsilons():
    estimator = assigned()
    low, high = (reports(estimator, X[:40], epsilon=epsilon) for epsilon in (1.0, 2.0))
    fitted = estimator.fit_reports([*low[:20], *high], items=5, epsilons=[1.0, 2.0])
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (40, {"voter answered before": 20})


# --- simulations


@pytest.mark.parametrize("options", [{}, {"n_queries": 3}, {"randomizer": yan.PrintedLaplace()}])
def test_a_seed_gives_the_fit_of_hidden_pairs(options):
    """The error is the same, because the simulated law is."""
    hidden = LDPPairwise(2.0, random_state=3, **options).fit(X)
    own = LDPPairwise(2.0, pairs="assigned", random_state=3, **options).fit(X)
    np.testing.assert_array_equal(own.margins_, hidden.margins_)
    assert own.consensus_.tolist() == hidden.consensus_.tolist()
    assert own.reports_accepted_ == 300
    assert own.privacy_.how == "reports by randomized response on assigned pairs"


@pytest.mark.slow
def test_fit_has_the_law_of_devices_under_random_seeds():
    """Numbers of answers on each pair, and of those that put the first item first, for three voters."""
    ballots = np.array([[0, 1, 2], [2, 0, 1], [0, 1, 0]])
    rng = np.random.default_rng(5)
    seeds = [rng.bytes(16).hex() for _ in range(2000)]
    fitted = [
        assigned(2.0, 3, seed).fit_reports(reports(assigned(2.0, 3, seed), ballots, seed=3 * k), items=3)
        for k, seed in enumerate(seeds)
    ]
    simulated = [LDPPairwise(2.0, pairs="assigned", random_state=k).fit(ballots) for k in range(2000)]
    laws = [[tuple(np.round(fit.margins_[np.triu_indices(3, 1)], 6)) for fit in fits] for fits in (fitted, simulated)]
    assert same_law(*laws) > 1e-3


# --- parameters


def test_missing_assignment_parameters_raise():
    for lacking in ({"n_voters": None}, {"seed": None}):
        for call in (lambda e: e.protocol(5), lambda e: e.client(5), lambda e: e.fit_reports([], items=5)):
            with pytest.raises(ValueError, match=r"n_voters and assignment_seed must be given for devices, got .*None"):
                call(assigned(**lacking))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": "free"}, "pairs must be one of"),
        ({"pairs": "assigned", "n_voters": 0}, "n_voters must be None or an integer from 1 to"),
        ({"pairs": "assigned", "n_voters": 299}, "n_voters=299 is below the 300 ballots of X"),
        ({"pairs": "assigned", "assignment_seed": SEED[:-1]}, "assignment_seed must be None or 32 lowercase"),
        ({"pairs": "assigned", "assignment_seed": SEED.upper()}, "assignment_seed must be None or 32 lowercase"),
        ({"pairs": "assigned", "assignment_seed": 7}, "assignment_seed must be None or 32 lowercase"),
        ({"pairs": "assigned", "randomizer": "djw"}, "pairs='assigned' needs answers about single pairs"),
    ],
)
def test_invalid_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        LDPPairwise(**options).fit(X)
