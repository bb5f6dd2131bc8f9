"""How far a ranking is from ballots; every ranking is given by positions (``ranks_``, not ``consensus_``)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .ballots.profile import Ballots, as_profile
from .ballots.rankings import check_ballot, compact_positions
from .orders.kemeny import minimum_order, warn_of_gap
from .orders.permutations import FEW, as_positions, disagreements, opposite_pairs, order_to_positions
from .queries import n_pairs


def kendall_tau_distance(a: ArrayLike, b: ArrayLike, *, normalize: bool = True) -> float:
    """Count the pairs of items that two rankings put in opposite orders.

    Parameters
    ----------
    a, b : array-like of shape (n_items,)
        Positions; smaller is better. A tie, or NaN, is no disagreement, on either side: neither is the consensus.
    normalize : bool, default=True
        Whether to divide by C(n_items, 2).

    Returns
    -------
    float
        Between 0 and 1, or a number of pairs.

    Raises
    ------
    ValueError
        If the rankings are not of the same items, or hold something else than numbers.

    References
    ----------
    Hay et al. (2017), Section 2.1. For strict rankings 1 - 2 d is Kendall's tau. Song et al. (2022) print
    the sum over ordered pairs, which counts every pair twice; it is over unordered pairs here.

    Examples
    --------
    >>> from sklearn_dprank.metrics import kendall_tau_distance
    >>> kendall_tau_distance([0, 1, 2], [2, 1, 0]), kendall_tau_distance([0, 1, 2], [1, 0, 2], normalize=False)
    (1.0, 1.0)
    """
    first, second = check_ballot(a), check_ballot(b)
    n_items = len(first)
    if len(second) != n_items:
        raise ValueError(f"a and b must rank the same items, got {n_items} and {len(second)} positions.")
    if n_items > FEW:
        first, second = _ranked_by_both(first, second)
    opposite = opposite_pairs(first, second)
    return float(opposite / n_pairs(n_items) if normalize else opposite)


def _ranked_by_both(*ballots):
    """Return where two ballots put the items that both rank, in small integers, which are sorted fast."""
    first, second = (compact_positions(ballot[np.newaxis]) for ballot in ballots)
    both = ~(first.unranked | second.unranked)
    return first.table[both, 0], second.table[both, 0]


def average_kendall_tau(positions: ArrayLike, X: Ballots, *, normalize: bool = True) -> float:
    """Average the Kendall tau distance from one ranking to all ballots.

    A pair that the ranking ties counts one half for each voter who does not, so that to say less is not to agree more.

    Parameters
    ----------
    positions : array-like of shape (n_items,)
        The ranking; smaller is better.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots. On a Profile whose pairs are counted this takes O(n_items^2).
    normalize : bool, default=True
        Whether to divide by C(n_items, 2).

    Returns
    -------
    float
        Strict disagreements a voter, and half of what the ranking ties and the voter does not, over C(n_items, 2) if
        normalised.

    Raises
    ------
    ValueError
        If X holds no ballot.

    References
    ----------
    Fagin, Kumar and Sivakumar (2003), "Comparing top k lists": K^(1/2) where the ranking ties.

    Examples
    --------
    >>> from sklearn_dprank.metrics import average_kendall_tau
    >>> average_kendall_tau([0, 1, 2], [[0, 1, 2], [2, 1, 0]])
    0.5
    >>> average_kendall_tau([0, 1, 1], [[0, 1, 2], [0, 2, 1], [0, 1, 1]], normalize=False)  # the last says no more
    0.333...
    """
    profile = as_profile(X)
    places = as_positions(positions, profile.n_items)
    # Voters who prefer i to j disagree with every ranking that puts i after j.
    opposed = disagreements(profile.pairwise_counts, places)
    if profile.n_voters == 0:
        raise ValueError("X holds no ballot, so no average exists; pass at least one ballot.")
    scale = profile.n_voters * (n_pairs(profile.n_items) if normalize else 1)
    return float(opposed / scale)


def excess_kendall_tau(
    positions: ArrayLike, X: Ballots, *, optimum: ArrayLike | None = None, normalize: bool = True
) -> float:
    """Return how much farther a ranking is from the ballots than the Kemeny optimum.

    Parameters
    ----------
    positions : array-like of shape (n_items,)
        The ranking; smaller is better.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.
    optimum : array-like of shape (n_items,) or None, default=None
        Positions of the optimum, where known; found otherwise, or the best order that about ten seconds find, with a
        `ConvergenceWarning`.
    normalize : bool, default=True
        Whether to divide by C(n_items, 2).

    Returns
    -------
    float
        At least 0, for a ranking with ties too (see `average_kendall_tau`); below 0 only if what was taken for the
        optimum is none.

    References
    ----------
    Hay et al. (2017), Definition 3.

    Examples
    --------
    >>> from sklearn_dprank.metrics import excess_kendall_tau
    >>> excess_kendall_tau([1, 0, 2], [[0, 1, 2], [0, 1, 2], [1, 0, 2]], normalize=False)
    0.333...
    """
    profile = as_profile(X)
    if optimum is None:
        optimum = kemeny_positions(profile)
    best = average_kendall_tau(optimum, profile, normalize=normalize)
    return average_kendall_tau(positions, profile, normalize=normalize) - best


def kemeny_positions(X: Ballots) -> NDArray[np.int64]:
    """Return the positions of a Kemeny optimum of the ballots.

    Parameters
    ----------
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.

    Returns
    -------
    ndarray of int64, shape (n_items,)
        Positions of an order with the fewest disagreements; the first by item index among several. Where some ten
        seconds do not prove one, the best that was found, with a `ConvergenceWarning`.
    """
    found = minimum_order(as_profile(X).pairwise_counts.T)
    warn_of_gap(found)
    return order_to_positions(found.order)


def margin_error_rate(margins: ArrayLike, X: Ballots) -> float:
    """Return the share of item pairs whose estimated margin is against a strict majority, before any rule orders them.

    Parameters
    ----------
    margins : array-like of shape (n_items, n_items)
        Positive where the row's item is estimated to beat the column's, in any unit: an aggregator's ``margins_``.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.

    Returns
    -------
    float
        Between 0 and 1. Only opposite signs count, as in the paper: a pair without a majority is no error, and neither
        is one that is estimated to be even, say because nobody was asked about it.

    Raises
    ------
    ValueError
        If there is not one margin for each pair, or the two of a pair have not opposite signs.

    References
    ----------
    Yan et al. (2020), equation 4.

    Examples
    --------
    >>> from sklearn_dprank.metrics import margin_error_rate
    >>> margin_error_rate([[0, -5, 2], [5, 0, 0], [-2, 0, 0]], [[0, 1, 2], [0, 1, 2], [1, 0, 2]])
    0.333...
    """
    profile = as_profile(X)
    shape = (profile.n_items, profile.n_items)
    try:
        signs = np.sign(np.asarray(margins, dtype=float))
    except (TypeError, ValueError):
        raise ValueError("margins must hold numbers: by how much each item beats each other one.") from None
    if signs.shape != shape or not np.array_equal(signs, -signs.T):
        raise ValueError(f"margins must be a matrix of shape {shape} with margins[i, j] = -margins[j, i], as margins_.")
    wrong = np.count_nonzero(np.triu(signs * profile.margins < 0))
    return float(wrong / n_pairs(profile.n_items))


def pairwise_error_rate(positions: ArrayLike, X: Ballots) -> float:
    """Return the share of item pairs that a ranking orders against a strict majority; a pair that it ties counts half.

    Parameters
    ----------
    positions : array-like of shape (n_items,)
        The ranking; smaller is better. Any scores work too: an estimated profile is judged by its order.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Yan et al. (2020), equation 4; there for an estimated profile (`margin_error_rate`), here for the order that a
    ranking implies.

    Examples
    --------
    >>> from sklearn_dprank.metrics import pairwise_error_rate
    >>> pairwise_error_rate([1, 0, 2], [[0, 1, 2], [0, 1, 2], [1, 0, 2]])
    0.333...
    """
    profile = as_profile(X)
    places = as_positions(positions, profile.n_items)
    wrong = disagreements((profile.margins > 0).astype(np.int64), places)
    return float(wrong / n_pairs(profile.n_items))


def ranking_changed(a: ArrayLike, b: ArrayLike) -> float:
    """Tell whether two rankings order any pair of items differently.

    Its mean over fits is the error rate of a private rule: how often noise changes the ranking.

    Parameters
    ----------
    a, b : array-like of shape (n_items,)
        Positions; smaller is better. Pairs that only one of them ties are ordered differently.

    Returns
    -------
    float
        1.0 if some pair is, else 0.0.

    Raises
    ------
    ValueError
        If the rankings are not of the same items, or hold something else than numbers.

    References
    ----------
    Shang et al. (2014), Definition 3.

    Examples
    --------
    >>> from sklearn_dprank.metrics import ranking_changed
    >>> ranking_changed([0, 1, 2], [0, 2, 1]), ranking_changed([0, 1, 2], [1, 2, 3])
    (1.0, 0.0)
    """
    first = as_positions(a, np.size(a), "a")
    second = as_positions(b, len(first), "b")
    first, second = (np.unique(positions, return_inverse=True)[1] for positions in (first, second))
    return float(not np.array_equal(first, second))


def kendall_tau_scorer(estimator: Any, X: Ballots, y: None = None) -> float:
    """Score a fitted aggregator for model selection: ``scoring=kendall_tau_scorer``.

    Parameters
    ----------
    estimator : fitted aggregator, or a Pipeline that ends in one
        What is scored.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots (before the pipeline's transformers, if any).
    y : None
        Ignored.

    Returns
    -------
    float
        Minus the average Kendall tau distance; not private.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.metrics import kendall_tau_scorer
    >>> search = GridSearchCV(DPBorda(random_state=0), {"epsilon": [0.1, 10.0]}, scoring=kendall_tau_scorer, cv=2)
    >>> search.fit([[0, 1, 2]] * 50).best_params_
    {'epsilon': 10.0}
    """
    return estimator.score(X)
