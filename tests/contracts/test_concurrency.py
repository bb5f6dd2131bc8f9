"""Threads and processes at once: under a seed what they make alone, and without one never the same noise twice."""

import multiprocessing
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from every_estimator import CLASSES, seeded
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sklearn_dprank import Aggregator, DPBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Local
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget
from sklearn_dprank.sampling.bit_source import Bits

X = make_mallows(300, 5, 0.8, random_state=0)
THREADS = 4
ESTIMATORS = [cls() for cls in CLASSES] + [Aggregator(Central(), "kemeny"), Aggregator(Local(), "borda")]


def at_once(run, arguments):
    """Return what ``run`` makes of each argument, in threads that start together."""
    start = Barrier(THREADS)

    def waiting(argument):
        start.wait(timeout=600)
        return run(argument)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(waiting, arguments))


@pytest.mark.filterwarnings("ignore::UserWarning")  # of small budgets
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_threads_that_share_a_profile_make_what_each_makes_alone(estimator):
    """Nothing of the profile is counted yet, so that they count together."""

    def run(profile, seed):
        fitted = seeded(estimator, seed).fit(profile)
        return fitted.consensus_.tolist(), {name: repr(value) for name, value in vars(fitted).items()}

    alone = [run(Profile.from_rankings(X), seed) for seed in range(THREADS)]
    shared = Profile.from_rankings(X)
    assert at_once(lambda seed: run(shared, seed), range(THREADS)) == alone


def test_threads_that_share_a_generator_get_different_noise_and_all_of_it():
    def run(generator):
        return tuple(DPBorda(epsilon=1e-3, random_state=generator).fit(X).scores_)

    alone, shared = np.random.default_rng(7), np.random.default_rng(7)
    expected = {run(alone) for _ in range(THREADS)}
    assert len(expected) == THREADS
    assert set(at_once(run, [shared] * THREADS)) == expected


def test_threads_draw_different_words_of_the_system():
    words = at_once(lambda _: Bits.from_random_state(None).noise.words(500).tolist(), range(THREADS))
    assert len({word for mine in words for word in mine}) == THREADS * 500


class Slow:
    """Words; reading one of them takes so long that every other thread runs."""

    def __init__(self, words):
        self._words = words

    def __len__(self):
        return len(self._words)

    def item(self, at):
        word = self._words.item(at)
        time.sleep(0.005)
        return word


def test_threads_that_share_the_system_s_bits_draw_no_word_twice():
    bits = Bits.from_random_state(None).noise
    bits._buffer = Slow(np.arange(1000, dtype=np.uint64))
    words = at_once(lambda _: [bits.integer(2**64) for _ in range(5)], range(THREADS))
    assert sorted(word for mine in words for word in mine) == list(range(5 * THREADS))


def slow_to_read(monkeypatch, meanwhile):
    """Run `meanwhile` in another thread whenever a fit has been priced and reads its ballots."""
    read, inside = RankAggregator.read_ballots, []

    def read_ballots(self, *args, **kwargs):
        if not inside:
            inside.append(True)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(meanwhile).result()
        return read(self, *args, **kwargs)

    monkeypatch.setattr(RankAggregator, "read_ballots", read_ballots)


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("given", [{"noise": "laplace"}, {"noise": "gaussian", "delta": 1e-6}])
@pytest.mark.parametrize("price", [0.05, 5.0])
def test_a_fit_in_another_thread_does_not_change_a_charge(monkeypatch, in_pipeline, given, price):
    """While one thread fits at epsilon 1, another sets another epsilon on the same object, and fits."""
    borda = DPBorda(epsilon=1.0, **given)
    estimator = make_pipeline("passthrough", borda) if in_pipeline else borda
    slow_to_read(monkeypatch, lambda: borda.set_params(epsilon=price).fit(X))
    budget = PrivacyBudget(10.0, 1e-4)
    assert budget.fit(estimator, X) is estimator
    assert borda.privacy_.epsilon <= 1.0
    (release,) = budget.releases_
    assert release.guarantee == DPBorda(epsilon=1.0, **given).fit(X).privacy_


def test_parts_of_an_estimator_are_priced_as_they_are_used(monkeypatch):
    channel = Central(epsilon=1.0)
    slow_to_read(monkeypatch, lambda: channel.set_params(epsilon=8.0))
    budget = PrivacyBudget(10.0)
    fitted = budget.fit(Aggregator(channel, "borda"), X)
    assert (fitted.privacy_.epsilon, budget.spent_.epsilon) == (1.0, 1.0)


def test_threads_that_share_a_budget_and_a_profile_spend_no_more_than_it_has():
    budget, shared = PrivacyBudget(1.0), Profile.from_rankings(X)

    def run(_):
        try:
            return tuple(budget.fit(DPBorda(epsilon=0.4), shared).scores_)
        except BudgetExhausted:
            return None

    released = [scores for scores in at_once(run, range(THREADS)) if scores is not None]
    assert len(released) == len(set(released)) == len(budget.releases_) == 2
    assert budget.spent_.epsilon == 0.8


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted({"fork", "spawn"} & set(multiprocessing.get_all_start_methods())))
def test_processes(method):
    """With a seed the fit of this process; without, noise of their own, and other than their parent's."""
    DPBorda(epsilon=1e-3).fit(X)  # the parent has drawn before
    fits = [DPBorda(epsilon=1e-3, random_state=seed) for seed in (0, 1, None, None, None, None)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later, of forks of a process with threads
        with multiprocessing.get_context(method).Pool(2) as pool:
            fitted = [pool.apply_async(each.fit, (X,)) for each in fits]
            scores = [tuple(each.get(timeout=600).scores_) for each in fitted]
            pool.close()
            pool.join()
    assert scores[:2] == [tuple(clone(each).fit(X).scores_) for each in fits[:2]]
    assert len({*scores, tuple(DPBorda(epsilon=1e-3).fit(X).scores_)}) == 7
