"""Streams that are interrupted, pickled, resumed and copied have the sums of all their ballots."""

import copy
import math
import pickle
from unittest import mock

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone
from state_tools import Crash, at_once, walk
from stream_tools import nobody

from sklearn_dprank import DPStreamingBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.privacy import BudgetExhausted, guarantee_of

M, T = 4, 5
PERIODS = [np.array(ballots) for ballots in ([[0, 1, 2, 3]] * 3, [[3, 2, 0, 1]], [[1, 1, 0, 5], [2, 0, 2, 2]])]
PERIODS.append(nobody(M))
CROWD = np.tile([3, 1, 0, 2], (100_000, 1))  # with few ballots threads do not meet
PERIODS.append(Profile.from_rankings(CROWD))
BAD = ["no ballots", [[0, 1, 2]], [[0, 1, 2, math.inf]]]
LOUD, QUIET = {"epsilon": 1e6, "delta": 0.01}, {"epsilon": 0.5, "delta": 1e-6}
CHANGES = [{"epsilon": 0.7}, {"delta": 1e-7}, {"horizon": T + 1}, {"neighboring": "replace"}]
# Where a period can be cut short: before its noise is drawn, and while it is decided and published.
EARLY = ["channels.base.RankAggregator.plan_for", "channels.streaming.Stream.__init__"]
LATE = [
    "rules.SortByScore.aggregate",
    "channels.base.clear_fitted",
    "channels.base.order_to_positions",
    "channels.base.RankAggregator.publish",
]
periods = st.sampled_from(range(len(PERIODS)))


def net_wins(ballots):
    """By hand."""
    wins = np.zeros(M, dtype=int)
    for ballot in ballots:
        wins += [sum(int(place < other) - int(place > other) for other in ballot) for place in ballot]
    return wins


WINS = [net_wins(ballots) for ballots in PERIODS[:-1]]
WINS.append(100_000 * net_wins(CROWD[:1]))


class Streams(RuleBasedStateMachine):
    """One stream and copies of it, each beside the list of the periods that it was given."""

    def __init__(self):
        super().__init__()
        self.streams, self.shelf = [], []  # (stream, given), and the same with a pickle

    @initialize(terms=st.sampled_from([LOUD, QUIET]), seed=st.sampled_from([None, 0, 7]))
    def begin(self, terms, seed):
        """With much budget totals are exact; with a seed the noise is that of an uninterrupted twin."""
        self.terms, self.seed = terms, seed
        self.streams = [(self.new(), ())]
        self.promise = self.new().fit(PERIODS[0]).privacy_

    def new(self):
        return DPStreamingBorda(**self.terms, horizon=T, random_state=self.seed)

    def twin(self, given):
        """The same stream, never interrupted."""
        stream = self.new()
        for period in given:
            stream.partial_fit(PERIODS[period])
        return stream

    @rule(several=st.lists(periods, min_size=1, max_size=3))
    def feed(self, several):
        for period in several:
            self.feed_one(period)

    def feed_one(self, period):
        stream, given = self.streams[-1]
        if len(given) == T:
            with pytest.raises(BudgetExhausted, match=f"all {T} periods"):
                stream.partial_fit(PERIODS[period])
            return
        stream.partial_fit(PERIODS[period])
        self.streams[-1] = stream, (*given, period)

    @rule(threads=st.integers(2, 4))
    def feed_at_once(self, threads):
        """Each thread adds one period, of equal ballots, or is refused for want of room."""
        stream, given = self.streams[-1]

        def feed(_):
            try:
                stream.partial_fit(CROWD)
            except BudgetExhausted:
                return 0
            return 1

        added = sum(at_once(feed, threads))
        assert added == min(threads, T - len(given))
        self.streams[-1] = stream, (*given, *[len(PERIODS) - 1] * added)

    @rule(bad=st.sampled_from(BAD))
    def feed_what_is_no_period(self, bad):
        stream, given = self.streams[-1]
        if given:
            with pytest.raises((ValueError, BudgetExhausted)):
                stream.partial_fit(bad)

    @rule(period=periods, place=st.sampled_from(EARLY + LATE))
    def cut_a_period_short(self, period, place):
        """The interrupted period is not published, and the earlier ones are kept."""
        stream, given = self.streams[-1]
        error = BudgetExhausted if len(given) == T else Crash
        with mock.patch(f"sklearn_dprank.{place}", side_effect=Crash), pytest.raises(error):
            stream.partial_fit(PERIODS[period])

    @rule(changed=st.sampled_from(CHANGES))
    def change_the_terms(self, changed):
        stream, given = self.streams[-1]
        if given:
            with pytest.raises((ValueError, BudgetExhausted)):
                stream.set_params(**changed).partial_fit(PERIODS[0])
            stream.set_params(**self.new().get_params())

    @precondition(lambda self: self.streams[-1][1])
    @rule()
    def save(self):
        """A pickle on the shelf; the process goes on."""
        stream, given = self.streams[-1]
        self.shelf.append((pickle.dumps(stream), given))

    @precondition(lambda self: self.shelf)
    @rule(which=st.integers(0, 99))
    def die_and_resume(self, which):
        """From any pickle, the last one or an older one."""
        text, given = self.shelf[-1 - which % len(self.shelf)]
        self.streams[-1] = pickle.loads(text), given

    @precondition(lambda self: self.streams[-1][1])
    @rule()
    def go_on_with_a_copy(self):
        """A stream does not change with its copy."""
        stream, given = self.streams[-1]
        self.streams = [self.streams[-1], (copy.deepcopy(stream), given)]

    @precondition(lambda self: len(self.streams[-1][1]) == T)
    @rule()
    def begin_anew(self):
        self.streams[-1] = clone(self.streams[-1][0]), ()

    @invariant()
    def says_what_the_plain_sums_say(self):
        for stream, given in self.streams:
            assert hasattr(stream, "stream_") == hasattr(stream, "consensus_") == bool(given)
            if not given:
                continue
            assert stream.periods_ == stream.stream_.period == len(given) <= T
            assert stream.privacy_ == guarantee_of(stream) == self.promise
            assert stream.privacy_.epsilon <= self.terms["epsilon"] and stream.privacy_.certified == (self.seed is None)
            assert stream.consensus_.tolist() == np.argsort(stream.ranks_).tolist()
            assert (np.diff(stream.scores_[stream.consensus_]) <= 0).all()
            if self.terms is LOUD:
                assert stream.scores_.tolist() == sum(WINS[period] for period in given).tolist()
            if self.seed is not None:
                twin = self.twin(given)
                assert stream.scores_.tolist() == twin.scores_.tolist()
                assert stream.consensus_.tolist() == twin.consensus_.tolist()


@pytest.mark.parametrize("walks", [(40, 20), pytest.param((600, 40, True), marks=pytest.mark.slow)])
def test_streams_and_plain_sums(walks):
    walk(Streams, *walks)
