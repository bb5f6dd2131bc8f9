"""Threads that share a stream publish every period once, and never see a part of one."""

import copy
import pickle
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from state_tools import at_once

from sklearn_dprank import DPBorda, DPStreamingBorda
from sklearn_dprank._utils import estimators as fitted
from sklearn_dprank.privacy import BudgetExhausted
from sklearn_dprank.rules import SortByScore

N, THREADS = 100_000, 8  # with few ballots the threads do not meet
X = np.tile([0, 1, 2], (N, 1))
WINS = np.array([2 * N, 0, -2 * N])
LOUD = {"epsilon": 1e6, "delta": 0.01}  # totals are exact


def streaming(**parameters):
    return DPStreamingBorda(**{**LOUD, "horizon": 2 * THREADS, **parameters})


def test_a_period_that_another_call_overtakes_comes_after_it(monkeypatch):
    """The second call is made, and ends, while the first one decides."""
    stream, aggregate, overtaken = streaming(horizon=3).partial_fit([[0, 1, 2]]), SortByScore.aggregate, []

    def overtaking(self, session):
        if not overtaken:
            overtaken.append(True)
            stream.partial_fit([[0, 1, 2]] * 10)
        return aggregate(self, session)

    monkeypatch.setattr(SortByScore, "aggregate", overtaking)
    stream.partial_fit([[0, 1, 2]] * 100)
    assert (stream.periods_, stream.scores_.tolist()) == (3, [222, 0, -222])
    drawn = stream.stream_._kept
    assert [sums[:, 0].tolist() for sums, _ in drawn.values()] == [[2, 20, 200]]
    with pytest.raises(BudgetExhausted):
        stream.partial_fit(X)


def test_threads_that_begin_with_different_items_agree_on_one_number():
    stream = streaming()
    tables = [X if k % 2 else np.tile([0, 1, 2, 3], (N, 1)) for k in range(THREADS)]

    def accepted(k):
        try:
            return stream.partial_fit(tables[k]) is stream
        except ValueError:
            return False

    assert at_once(accepted, THREADS).count(True) == THREADS // 2
    assert stream.periods_ == THREADS // 2
    assert len(stream.ranks_) == stream.n_features_in_ == (3 if stream.scores_[0] == THREADS * N else 4)


@pytest.mark.slow
@pytest.mark.parametrize("look", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_of_a_stream_in_use_is_whole(look):
    stream, seen = streaming(horizon=200).partial_fit(X[:10]), deque(maxlen=200)
    looked, done = threading.Semaphore(0), threading.Event()

    def watch():
        try:
            while not done.is_set():
                seen.append(look(stream))
                looked.release()
        finally:
            looked.release(60)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            watching = pool.submit(watch)
            try:
                for period in range(60):
                    stream.partial_fit(X[:10])
                    if period % 10 == 0:
                        looked.acquire()  # a look ends in between, however slow the machine is
            finally:
                done.set()
            watching.result()
    finally:
        sys.setswitchinterval(interval)
    assert len(seen) > 1
    for each in seen:
        assert each.periods_ == each.stream_.period
        assert each.scores_[0] == 20 * each.periods_
        assert each.partial_fit(X[:10]).scores_[0] == 20 * each.periods_  # and it goes on


@pytest.mark.slow
def test_threads_that_fit_one_estimator_leave_one_release():
    """Every attribute is of the same fit: the order that is published is that of the scores."""
    tables = [np.roll(np.arange(6), k)[None].repeat(50, axis=0) for k in range(THREADS)]
    estimator = DPBorda(epsilon=1e3)
    for _ in range(20):
        at_once(lambda k: estimator.fit(tables[k]), THREADS)
        assert estimator.consensus_.tolist() == np.argsort(-estimator.scores_).tolist()
        assert estimator.consensus_.tolist() == np.argsort(estimator.ranks_).tolist()


def test_a_parameter_that_is_set_meanwhile_stays_set(monkeypatch):
    estimator, aggregate = DPBorda(), SortByScore.aggregate

    def setting(self, session):
        estimator.set_params(epsilon=0.25)
        return aggregate(self, session)

    monkeypatch.setattr(SortByScore, "aggregate", setting)
    assert estimator.fit(X[:10]).epsilon == 0.25
    assert estimator.privacy_.epsilon == 1.0


def test_a_fit_that_raises_leaves_the_one_before():
    estimator = DPBorda().fit(X[:10])
    before = vars(estimator)
    for bad in ("no ballots", [[0, 1, 2, 3, "a"]]):
        with pytest.raises(ValueError):
            estimator.fit(bad)
    with pytest.raises(ValueError):
        estimator.fit([[0, 1, 2, 3]], voter_epsilon=[1.0])
    assert vars(estimator) is before
    assert estimator.n_features_in_ == 3


class Interrupted:
    """A lock whose holder is interrupted as it lets go, once."""

    def __init__(self, lock):
        self.lock, self.left = lock, 1

    def __enter__(self):
        self.lock.acquire()

    def __exit__(self, *error):
        self.lock.release()
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_an_interrupt_after_a_period_was_published_takes_it_back(monkeypatch):
    stream = streaming().partial_fit(X)
    before = vars(stream)
    with monkeypatch.context() as patch:
        patch.setattr(fitted, "_replacing", Interrupted(threading.Lock()))
        with pytest.raises(KeyboardInterrupt):
            stream.partial_fit(X)
    assert vars(stream) is before
    assert stream.partial_fit(X).scores_.tolist() == (2 * WINS).tolist()
