"""Markov chain rule MC4."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..orders.kemeny.components import majority_components
from ..queries import AllMargins, Ask
from .base import Consensus, Rule

_EQUAL = 1e-9  # log probabilities that differ by less are equal, so that rounding errors do not order items


class MarkovChainRule(Rule):
    """Rule MC4 of Dwork et al. (2001): sorts items by the probabilities of a random walk to preferred items.

    Each step picks one of the m items at random. The walk moves to it if more voters prefer it to the present item than
    the other way round, and stays otherwise.

    Notes
    -----
    The walk ends in a set of items that are not beaten from outside. It gives no order of the other items. As Dwork et
    al. propose, these items come first and are removed, and a new walk starts among the rest. Ties can leave several
    sets in which the walk may end. They are sorted by the probability of ending there from a random item. Within each
    set, items are sorted by the stationary distribution. Equal probabilities are a tie.

    So each item is above all items that it beats, directly or through others, and that do not beat it in the same way.
    A Condorcet winner is first, and a transitive majority order is the consensus. The sizes of majorities do not
    matter. Probabilities are computed by elimination without subtractions, to the last digits. No walk is simulated.

    References
    ----------
    Dwork, Kumar, Naor and Sivakumar (2001), MC4; Hay, Elagina and Miklau (2017), Section 7, compare with it. Grassmann,
    Taksar and Heyman (1985) for the elimination.

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.channels import Central
    >>> votes = [[0, 1, 2], [0, 1, 2], [2, 0, 1]] * 60
    >>> Aggregator(rule="markov_chain").fit(votes).consensus_
    array([0, 1, 2])
    >>> Aggregator(Central(epsilon=1.0), "markov_chain", random_state=0).fit(votes).consensus_
    array([0, 1, 2])
    """

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(AllMargins())]

    def aggregate(self, session: Any) -> Consensus:
        priority = session.tie_break()
        return Consensus(np.array(_by_chances(session.answer(AllMargins()), priority)))


def _by_chances(margins, priority):
    """Return the items as a list, best first."""
    beats = margins > 0
    parts = majority_components(margins)
    rounds = _rounds(beats, parts)
    order: list[int] = []
    for number in range(rounds.max() + 1):
        ends = [part for part in parts if rounds[part[0]] == number]
        chances = _places(_chances_of_ends(beats, ends, np.flatnonzero(rounds > number)))
        for k in np.lexsort(([priority[end].min() for end in ends], chances)):
            end = ends[k]
            order += end[np.lexsort((priority[end], _places(_chances_within(beats, end))))].tolist()
    return order


def _rounds(beats, parts):
    """Return the number of earlier walks before each item is removed: the length of the longest path above it."""
    rounds = np.zeros(len(beats), dtype=int)
    for part in parts:  # components that beat this one come before it
        above = beats[:, part].any(axis=1)
        above[part] = False
        rounds[part] = 1 + rounds[above].max(initial=-1)
    return rounds


def _chances_of_ends(beats, ends, others):
    """Return the log probabilities, up to a constant, that a walk from a random item ends in each component of `ends`.

    A walk that starts again at a random item after each end is at the ends in proportion to these probabilities.
    """
    if len(ends) == 1:
        return np.zeros(1)
    others = others[np.argsort(beats[:, others].sum(axis=0), kind="stable")]
    n_ends = len(ends)
    moves = np.zeros((1 + n_ends + len(others),) * 2)  # states: the start, the ends, the other items
    moves[0, 1 : 1 + n_ends], moves[0, 1 + n_ends :] = [len(end) for end in ends], 1
    moves[1 : 1 + n_ends, 0] = 1
    moves[1 + n_ends :, 1 : 1 + n_ends] = np.transpose([beats[end][:, others].sum(axis=0) for end in ends])
    moves[1 + n_ends :, 1 + n_ends :] = beats[np.ix_(others, others)].T
    return log_stationary(moves)[1 : 1 + n_ends]


def _chances_within(beats, part):
    """Return the log stationary probabilities, up to a constant, of the items of a component."""
    inside = beats[np.ix_(part, part)]
    falling = np.argsort(inside.sum(axis=0), kind="stable")
    chances = np.empty(len(part))
    chances[falling] = log_stationary(inside[np.ix_(falling, falling)].T)
    return chances


def _places(chances):
    """Return the places of items by descending probability, 0 first; nearly equal items share a place."""
    falling = np.argsort(-chances)
    places = np.empty(len(chances), dtype=int)
    places[falling] = np.append(0, np.cumsum(-np.diff(chances[falling]) > _EQUAL))
    return places


def log_stationary(moves: Any) -> NDArray[np.float64]:
    """Return the log stationary distribution of an irreducible chain, shape (k,), up to a constant.

    It is 0 for the first state. ``moves[i, j]`` is the rate of moving from state i to state j. The diagonal is ignored.
    The elimination is fastest if the first states are likely. Each probability has a small relative error, even below
    the range of doubles. Only products of rates below 1e-300 are lost.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.rules.markov_chain import log_stationary
    >>> np.exp(log_stationary([[0, 1], [4, 0]]))
    array([1.  , 0.25])
    """
    # Elimination by Grassmann, Taksar and Heyman, without subtractions. Each eliminated state moves directly to a
    # remaining one, so that no divisor is small.
    flow = np.asarray(moves, dtype=float)
    order = _inwards(flow > 0)
    flow = flow[np.ix_(order, order)]
    for state in range(len(flow) - 1, 0, -1):
        leaves = flow[state, :state].sum()
        into = np.flatnonzero(flow[:state, state])
        flow[into, state] /= leaves
        flow[into, :state] += np.outer(flow[into, state], flow[state, :state])
    found = np.zeros(len(flow))
    for state in range(1, len(flow)):
        into = np.flatnonzero(flow[:state, state])
        found[state] = np.logaddexp.reduce(found[into] + np.log(flow[into, state]), initial=-1e300)
    out = np.empty(len(flow))
    out[order] = found
    return out


def _inwards(moves):
    """Return the states in an order in which each state but the first moves directly to an earlier one."""
    order = [0]
    waiting = np.ones(len(moves), dtype=bool)
    waiting[0] = False
    done = 0
    while done < len(order):
        near = np.flatnonzero(waiting & moves[:, order[done]])
        order += near.tolist()
        waiting[near] = False
        done += 1
    return order
