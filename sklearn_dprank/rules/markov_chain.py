"""MC4: a walk moves to items that majorities prefer, and items are sorted by where it ends up."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..orders.kemeny.components import majority_components
from ..queries import AllMargins, Ask
from .base import Consensus, Rule

_EQUAL = 1e-9  # logarithms of chances that differ by less are equal: rounding must not decide


class MarkovChainRule(Rule):
    """MC4 (Dwork et al. 2001): sort by the chances of a walk that moves to items which majorities prefer.

    A step picks one of the m items at random, moves to it if more voters prefer it to the present item than the
    other way round, and stays otherwise.

    References
    ----------
    Dwork, Kumar, Naor and Sivakumar (2001), MC4; Hay, Elagina and Miklau (2017), Section 7, compare
    with it. Grassmann, Taksar and Heyman (1985) for the elimination.

    Notes
    -----
    The walk ends in the items that nothing outside beats, and says nothing of the others. As Dwork et al. propose,
    these items come first, are taken away, and the walk begins anew among the rest. Where ties leave it several places
    to end in, they are sorted by the chance to end there from a random item; within each, items are sorted by the
    stationary distribution. Equal chances are a tie.

    Thus each item stands above all that it beats directly or through others and that do not beat it so in turn: a
    Condorcet winner is first, a transitive majority is the consensus. How large majorities are does not matter.
    Chances are computed by elimination without subtractions, to the last digits; no walk is taken.

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
    """Return the items best first, a list."""
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
    """Return after how many walks each item is taken away: the longest way up from its component."""
    rounds = np.zeros(len(beats), dtype=int)
    for part in parts:  # what beats a component comes before it
        above = beats[:, part].any(axis=1)
        above[part] = False
        rounds[part] = 1 + rounds[above].max(initial=-1)
    return rounds


def _chances_of_ends(beats, ends, others):
    """Return the logarithms, up to a constant, of the chances to end in each of some components from a random item.

    A walk that begins anew at a random item whenever it has ended is at each end in proportion to them.
    """
    if len(ends) == 1:
        return np.zeros(1)
    others = others[np.argsort(beats[:, others].sum(axis=0), kind="stable")]
    n_ends = len(ends)
    moves = np.zeros((1 + n_ends + len(others),) * 2)  # from the beginning, the ends, the other items
    moves[0, 1 : 1 + n_ends], moves[0, 1 + n_ends :] = [len(end) for end in ends], 1
    moves[1 : 1 + n_ends, 0] = 1
    moves[1 + n_ends :, 1 : 1 + n_ends] = np.transpose([beats[end][:, others].sum(axis=0) for end in ends])
    moves[1 + n_ends :, 1 + n_ends :] = beats[np.ix_(others, others)].T
    return log_stationary(moves)[1 : 1 + n_ends]


def _chances_within(beats, part):
    """Return the logarithms, up to a constant, of the chances to be at each item of a component."""
    inside = beats[np.ix_(part, part)]
    falling = np.argsort(inside.sum(axis=0), kind="stable")
    chances = np.empty(len(part))
    chances[falling] = log_stationary(inside[np.ix_(falling, falling)].T)
    return chances


def _places(chances):
    """Return the places of items by falling chance, 0 first; nearly equal ones share a place."""
    falling = np.argsort(-chances)
    places = np.empty(len(chances), dtype=int)
    places[falling] = np.append(0, np.cumsum(-np.diff(chances[falling]) > _EQUAL))
    return places


def log_stationary(moves: Any) -> NDArray[np.float64]:
    """Return the logarithms, up to a constant, of the stationary distribution of an irreducible chain.

    Parameters
    ----------
    moves : array-like, shape (k, k)
        Rates of moving from row to column; the diagonal does not matter. It is fastest if the first states are likely.

    Returns
    -------
    ndarray, shape (k,)
        0 for the first state. Each chance is right to the last digits, relatively, also where it is below any double;
        only a product of rates below 1e-300 is lost.

    Notes
    -----
    Grassmann, Taksar and Heyman's elimination: nothing is ever subtracted. States are eliminated in an order in which
    each moves directly to one that is still there, so that no divisor is small.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.rules.markov_chain import log_stationary
    >>> np.exp(log_stationary([[0, 1], [4, 0]]))
    array([1.  , 0.25])
    """
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
    """Return the states in an order in which each but the first moves to an earlier one."""
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
