"""Distances between rankings and ballots. Rankings are positions (``ranks_``, not ``consensus_``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .ballots.profile import Ballots, as_profile
from .ballots.reading import check_ballot, compact_positions, names_differ
from .orders.kemeny import minimum_order, warn_of_gap
from .orders.permutations import FEW, as_positions, check_order, disagreements, opposite_pairs, order_to_positions
from .privacy.estimator_guarantees import GuaranteedEstimator, last_step
from .queries import n_pairs

__all__ = [
    "average_kendall_tau",
    "excess_kendall_tau",
    "kemeny_positions",
    "kendall_tau_distance",
    "kendall_tau_scorer",
    "margin_error_rate",
    "pairwise_error_rate",
    "ranking_changed",
]


def __dir__():
    return [*__all__, "__all__"]


def _labels(positions):
    """Return the labels of a Series of positions; None for other positions, and for the labels 0, 1, 2, ..."""
    if not hasattr(type(positions), "iloc") or positions.ndim > 1:
        return None
    labels = positions.index.tolist()
    return None if labels == list(range(len(labels))) else labels


def _check_labels(positions, names, name="positions", other="X"):
    """Raise ValueError if a Series of positions is known to have other items than `other`, or in another order."""
    labels = _labels(positions)
    if labels is not None and names_differ(labels, names):
        raise ValueError(
            f"{name} is a Series with other items than {other}, or the same in another order. Select the items of "
            f"{other} in their order by {name}.loc[...], or pass {name}.to_numpy() if its order is right."
        )


def kendall_tau_distance(a: ArrayLike, b: ArrayLike, *, normalize: bool = True) -> float:
    """Return the share, or the number, of item pairs that two rankings put in opposite orders.

    Parameters
    ----------
    a, b : array-like of shape (n_items,)
        Positions; smaller is better. Pairs with a tie or NaN in either ranking are not counted.
    normalize : bool, default=True
        Whether to divide by C(n_items, 2).

    Returns
    -------
    float
        Between 0 and 1 if normalised, else the number of pairs.

    Raises
    ------
    ValueError
        If the rankings have different numbers of items, or do not hold numbers.

    References
    ----------
    Hay et al. (2017), Section 2.1. For strict rankings and normalised distance d, 1 - 2 d is Kendall's tau. Song et al.
    (2022) print the sum over ordered pairs, which counts every pair twice. Here, every pair counts once.

    Examples
    --------
    >>> from sklearn_dprank.metrics import kendall_tau_distance
    >>> kendall_tau_distance([0, 1, 2], [2, 1, 0]), kendall_tau_distance([0, 1, 2], [1, 0, 2], normalize=False)
    (1.0, 1.0)
    """
    _check_labels(b, _labels(a), "b", "a")
    first, second = check_ballot(a), check_ballot(b)
    n_items = len(first)
    if len(second) != n_items:
        raise ValueError(f"a and b must rank the same items, got {n_items} and {len(second)} positions.")
    if n_items > FEW:
        # Only items that both rank, as small integers, which are sorted fast.
        small = [compact_positions(ballot[np.newaxis]) for ballot in (first, second)]
        both = ~(small[0].unranked | small[1].unranked)
        first, second = (ballot.table[both, 0] for ballot in small)
    opposite = opposite_pairs(first, second)
    return float(opposite / n_pairs(n_items) if normalize else opposite)


def average_kendall_tau(positions: ArrayLike, X: Ballots, *, normalize: bool = True) -> float:
    """Return the average Kendall tau distance from one ranking to all ballots.

    A pair that the ranking ties counts one half for each voter who prefers one of its items. Ties are therefore not
    rewarded.

    Parameters
    ----------
    positions : array-like of shape (n_items,)
        Positions of the ranking; smaller is better.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots. With a Profile whose pairs are already counted, this takes O(n_items^2) time. Long data of more
        than 5,000 items are read by the pairs of each ballot, in any number.
    normalize : bool, default=True
        Whether to divide by C(n_items, 2).

    Returns
    -------
    float
        Strict disagreements per voter, plus half of the pairs that the ranking ties and the voter does not. Divided by
        C(n_items, 2) if normalised.

    Raises
    ------
    ValueError
        If X contains no ballots.

    References
    ----------
    Fagin, Kumar and Sivakumar (2003), "Comparing top k lists": K^(1/2) for pairs that the ranking ties.

    Examples
    --------
    >>> from sklearn_dprank.metrics import average_kendall_tau
    >>> average_kendall_tau([0, 1, 2], [[0, 1, 2], [2, 1, 0]])
    0.5
    >>> average_kendall_tau([0, 1, 1], [[0, 1, 2], [0, 2, 1], [0, 1, 1]], normalize=False)  # the last says no more
    0.333...
    """
    profile = as_profile(X)
    _check_labels(positions, profile.item_names)
    places = as_positions(positions, profile.n_items)
    # Voters who prefer i to j disagree with every ranking that puts i after j.
    if profile.has_pair_counts:
        opposed = disagreements(profile.pairwise_counts, places)
    else:
        agreed, total = profile.agreement(np.unique(places, return_inverse=True)[1])
        opposed = (total - agreed) / 2
    if profile.total_weight == 0:
        raise ValueError("X holds no ballot, so no average exists; pass at least one ballot.")
    scale = profile.total_weight * (n_pairs(profile.n_items) if normalize else 1)
    return float(opposed / scale)


def excess_kendall_tau(
    positions: ArrayLike, X: Ballots, *, optimum: ArrayLike | None = None, normalize: bool = True
) -> float:
    """Return the excess Kendall tau error: how much farther a ranking is from the ballots than the Kemeny optimum.

    Parameters
    ----------
    positions : array-like of shape (n_items,)
        Positions of the ranking; smaller is better.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.
    optimum : array-like of shape (n_items,) or None, default=None
        Positions of the optimum, if known. None computes it. If about ten seconds do not prove an optimum, the best
        order found is used, with a `ConvergenceWarning`.
    normalize : bool, default=True
        Whether to divide by C(n_items, 2).

    Returns
    -------
    float
        At least 0, also for a ranking with ties (see `average_kendall_tau`). Below 0 only if the order used as the
        optimum is not optimal.

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
        Positions of an order with the fewest disagreements; of several, the first by item index. If about ten seconds
        do not prove an optimum, the best order found, with a `ConvergenceWarning`.
    """
    found = minimum_order(as_profile(X).pairwise_counts.T)
    warn_of_gap(found)
    return order_to_positions(found.order)


def margin_error_rate(margins: ArrayLike, X: Ballots) -> float:
    """Return the share of item pairs whose estimated margin contradicts a strict majority, before a rule is applied.

    Parameters
    ----------
    margins : array-like of shape (n_items, n_items)
        Estimated margins in any unit, positive where the row's item beats the column's, such as ``margins_``.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.

    Returns
    -------
    float
        Between 0 and 1. Only opposite signs count, as in the paper. A pair without a majority is not an error. Neither
        is a pair with an estimated margin of 0, for example because no voter was asked about it.

    Raises
    ------
    ValueError
        If `margins` has another shape, or the two margins of a pair do not have opposite signs.

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
    """Return the share of item pairs that a ranking orders against a strict majority; tied pairs count half.

    Parameters
    ----------
    positions : array-like of shape (n_items,)
        Positions of the ranking; smaller is better. Any numbers are accepted, and only their order counts.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Yan et al. (2020), equation 4. The paper applies it to an estimated profile (`margin_error_rate`). Here it is
    applied to the order of a ranking.

    Examples
    --------
    >>> from sklearn_dprank.metrics import pairwise_error_rate
    >>> pairwise_error_rate([1, 0, 2], [[0, 1, 2], [0, 1, 2], [1, 0, 2]])
    0.333...
    """
    profile = as_profile(X)
    _check_labels(positions, profile.item_names)
    places = as_positions(positions, profile.n_items)
    wrong = disagreements((profile.margins > 0).astype(np.int64), places)
    return float(wrong / n_pairs(profile.n_items))


def ranking_changed(a: ArrayLike, b: ArrayLike) -> float:
    """Return whether two rankings order any pair of items differently.

    The mean over fits is the error rate of a private rule: the share of fits in which noise changes the ranking.

    Parameters
    ----------
    a, b : array-like of shape (n_items,)
        Positions; smaller is better. A pair that only one ranking ties is ordered differently.

    Returns
    -------
    float
        1.0 if any pair is ordered differently, else 0.0.

    Raises
    ------
    ValueError
        If the rankings have different numbers of items, or do not hold numbers.

    References
    ----------
    Shang et al. (2014), Definition 3.

    Examples
    --------
    >>> from sklearn_dprank.metrics import ranking_changed
    >>> ranking_changed([0, 1, 2], [0, 2, 1]), ranking_changed([0, 1, 2], [1, 2, 3])
    (1.0, 0.0)
    """
    _check_labels(b, _labels(a), "b", "a")
    first = as_positions(a, np.size(a), "a")
    second = as_positions(b, len(first), "b")
    first, second = (np.unique(positions, return_inverse=True)[1] for positions in (first, second))
    return float(not np.array_equal(first, second))


def kendall_tau_scorer(estimator: Any, X: Ballots, y: None = None) -> float:
    """Score a fitted aggregator in model selection, as ``scoring=kendall_tau_scorer``.

    Parameters
    ----------
    estimator : fitted aggregator, or a Pipeline that ends in one
        Estimator to score. It may also be an estimator of your own, if its `fit` sets ``ranks_`` (positions, 0 is best)
        or ``consensus_`` (items by index or name, best first). Of any other estimator, `score` is called.
    X : array-like of shape (n_voters, n_items) or Profile
        The ballots, before the transformers of a pipeline.
    y : None
        Ignored.

    Returns
    -------
    float
        Minus the average Kendall tau distance. The score is not private.

    Raises
    ------
    ValueError
        If the estimator has neither ``ranks_``, ``consensus_`` nor `score`, or its ``consensus_`` is not an order.

    Notes
    -----
    It is a scorer as it is, without scikit-learn's ``make_scorer``, which is for metrics of predictions. For another
    metric, pass a function: ``scoring=lambda fitted, X: -excess_kendall_tau(fitted.ranks_, X)``.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.metrics import kendall_tau_scorer
    >>> search = GridSearchCV(DPBorda(random_state=0), {"epsilon": [0.1, 10.0]}, scoring=kendall_tau_scorer, cv=2)
    >>> search.fit([[0, 1, 2]] * 50).best_params_
    {'epsilon': 10.0}
    """
    last = last_step(estimator)
    ranked = hasattr(last, "ranks_") or hasattr(last, "consensus_")
    if isinstance(last, GuaranteedEstimator) or not ranked:  # an aggregator checks the items of X
        if hasattr(estimator, "score"):
            return estimator.score(X)
        raise ValueError(
            f"{type(last).__name__} has none of ranks_, consensus_ and score. Let fit set consensus_ (items by index "
            "or name, best first) or ranks_ (positions, 0 is best). Or pass scoring=, a function of (estimator, X)."
        )
    while last is not estimator:  # transform the ballots, as Pipeline.score does
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
        estimator = estimator[-1]
    profile = as_profile(X)
    if hasattr(last, "ranks_"):
        return -average_kendall_tau(last.ranks_, profile)
    order, names = last.consensus_, profile.item_names
    if names is not None and np.ndim(order) == 1 and set(order) <= set(names):
        order = [list(names).index(item) for item in order]
    order = check_order(order, profile.n_items, f"consensus_ of {type(last).__name__}")
    return -average_kendall_tau(order_to_positions(order, profile.n_items), profile)
