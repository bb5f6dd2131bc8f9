"""Certified releases take all their random words from the operating system."""

import copy
import json
import os

import numpy as np
import pytest
from sklearn.base import clone

import sklearn_dprank
from sklearn_dprank import Aggregator, LDPPairwise, LDPQuickSort, ShufflePairwise
from sklearn_dprank.channels import Central
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.model_selection import PrivateKendallTau, PrivateSelection
from sklearn_dprank.sampling.bit_source import Bits

M = 8
# Tied nowhere, so that all depends on noise; few voters and tiny budgets, so that noise decides.
X = np.random.default_rng(0).permuted(np.tile(np.arange(M), (30, 1)), axis=1)
HEAD = 16  # bytes of a read: the 128 bits that a seed would be made of


class System:
    """Stands for the operating system's generator: a known stream of bytes; all but HEAD may be exchanged."""

    def __init__(self, other=0):
        self._head = np.random.Generator(np.random.Philox(1))
        self._tail = np.random.Generator(np.random.Philox(2 + other))
        self.dealt = []

    def __call__(self, size):
        drawn = self._head.bytes(min(size, HEAD)) + self._tail.bytes(max(size - HEAD, 0))
        self.dealt.append(drawn)
        return drawn


def on(monkeypatch, run, other=0):
    """What ``run()`` returns on such a stream."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", System(other))
        return run()


def test_words_are_the_system_s_bytes_as_they_come(monkeypatch):
    system = System()
    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", system)
        bits = Bits.from_random_state(None)
        for stream in (bits.noise, bits.coins, bits.assignment):
            system.dealt.clear()
            dealt = np.concatenate([stream.words(size) for size in (1, 7, 56, 2000, 64, 64)])
            came = np.frombuffer(b"".join(system.dealt), dtype=np.uint64)
            assert set(dealt.tolist()) <= set(came.tolist())
            assert len(set(dealt.tolist())) == len(dealt) == 2192
    assert bits.certified


def private_estimators():
    public = [getattr(sklearn_dprank, name) for name in sklearn_dprank.__all__]
    made = [cls() for cls in public if isinstance(cls, type) and issubclass(cls, RankAggregator)]
    private = [estimator for estimator in made if "epsilon" in estimator.get_params()]
    return [*private, Aggregator(Central(noise="gaussian", delta=1e-6, epsilon=1e-3), "borda")]


def check(monkeypatch, run):
    """The same bytes give the same; other bytes behind the first HEAD of each read, that no seed holds, another."""
    first = on(monkeypatch, run)
    assert first == on(monkeypatch, run)
    assert first != on(monkeypatch, run, other=1)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of hopeless budgets
@pytest.mark.parametrize("estimator", private_estimators(), ids=lambda e: type(e).__name__)
def test_a_whole_fit_uses_only_the_system_s_bytes(estimator, monkeypatch):
    estimator = clone(estimator)
    if "epsilon" in estimator.get_params():
        estimator.set_params(epsilon=1e-3)

    def run():
        fitted = clone(estimator).fit(X)
        assert fitted.privacy_.certified
        return fitted.consensus_.tolist()

    check(monkeypatch, run)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", private_estimators(), ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    "seed", [0, np.random.default_rng, np.random.RandomState], ids=["int", "Generator", "RandomState"]
)
def test_a_fit_with_a_seed_is_never_certified(estimator, seed):
    fitted = clone(estimator).set_params(random_state=seed if seed == 0 else seed(0)).fit(X)
    assert not fitted.privacy_.certified


def test_later_periods_use_only_the_system_s_bytes(monkeypatch):
    day = sklearn_dprank.DPStreamingBorda(epsilon=1e-3, horizon=5).partial_fit(X)

    def run():
        later = copy.deepcopy(day).partial_fit(X)
        assert later.privacy_.certified
        return later.consensus_.tolist()

    check(monkeypatch, run)


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
def test_devices_use_only_the_system_s_bytes(monkeypatch):
    one = LDPPairwise(epsilon=0.1, n_queries=25)
    check(monkeypatch, lambda: json.dumps(one.client(M).report(list(range(M)))))
    many = ShufflePairwise(local_epsilon=0.1, n_queries=25, min_reports=100)
    check(monkeypatch, lambda: json.dumps(many.client(M).report(list(range(M)))))
    answers, seen = LDPQuickSort(epsilon=0.1, n_queries=30), []

    def ask(question):
        seen.append({key: value for key, value in question.items() if key != "voters"})
        return [json.dumps(answers.client(M).answer(question, X[voter])) for voter in question["voters"]]

    answers.fit_interactive(ask, items=M, n_voters=1)

    def replies():
        device = answers.client(M)
        return [device.answer({**seen[0], "question": number}, list(range(M)))["answer"] for number in range(1, 31)]

    check(monkeypatch, replies)


def test_selection_and_private_scores_use_only_the_system_s_bytes(monkeypatch):
    borda = sklearn_dprank.DPBorda(epsilon=1e-3, noise="knorm")
    fitted = borda.fit(X)
    check(monkeypatch, lambda: [PrivateKendallTau(epsilon=1e-3)(fitted, X) for _ in range(3)])
    selection = PrivateSelection([clone(borda)], score_epsilon=1e-3, mean_draws=3)

    def run():
        chosen = clone(selection).fit(X)
        assert chosen.privacy_.certified
        return chosen.consensus_.tolist(), chosen.best_score_

    check(monkeypatch, run)
