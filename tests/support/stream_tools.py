"""Streams with noise that a test chooses, and access to their totals."""

from contextlib import contextmanager
from unittest import mock

import numpy as np

from sklearn_dprank import Aggregator
from sklearn_dprank.mechanisms import additive
from sklearn_dprank.queries import Ask
from sklearn_dprank.rules import Consensus, Rule


class Tell(Rule):
    """Publishes the answer to a query itself, as ``told_``."""

    def __init__(self, query):
        self.query = query

    def asks(self, n_items):
        return [Ask(self.query)]

    def aggregate(self, session):
        answer = np.asarray(session.answer(self.query))
        flat = answer if answer.ndim == 1 else answer[np.triu_indices(len(answer), 1)]
        return Consensus(np.arange(session.n_items), {"told": flat})


def telling(estimator, n_items, seed=0):
    """The same stream, not yet begun, which tells the totals that the estimator's rule would read."""
    channel, rule = estimator._compose()
    (ask,) = rule.asks(n_items)
    return Aggregator(channel, Tell(ask.query), random_state=seed)


@contextmanager
def scripted(noise):
    """Let the k-th draw add sigma times ``noise[k]`` without rounding; all of them must be drawn."""
    left = iter(noise)
    with mock.patch.object(additive, "rounded_gaussian", lambda values, sigma, bits: values + sigma * next(left)):
        yield
    assert next(left, None) is None


def totals(stream, periods):
    """What a stream tells after each period."""
    return np.array([stream.partial_fit(X).told_ for X in periods])


def nobody(n_items):
    """Return the ballots of a period without voters."""
    return np.empty((0, n_items))
