"""Simulated rankings: Mallows, Plackett-Luce and uniform profiles."""

from __future__ import annotations

from math import expm1, log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import factorial

from .._utils.checks import check_number, check_whole
from .._utils.types import RandomState
from ..sampling.bit_source import seed_sequence


def _checked_generator(n_voters, n_items, random_state):
    """Check the sizes; return `random_state` if it is a Generator (so that it advances), else one seeded from it."""
    check_whole(n_voters, "n_voters")
    check_whole(n_items, "n_items")
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))


def make_mallows(
    n_voters: int, n_items: int, phi: float, *, center: ArrayLike | None = None, random_state: RandomState = None
) -> NDArray[np.int64]:
    """Draw rankings from Mallows' model, by repeated insertion.

    A ranking at Kendall tau distance d from the centre has probability proportional to ``phi ** d``.

    Parameters
    ----------
    n_voters : int
        Number of rankings, at least 1.
    n_items : int
        Number of items, at least 1.
    phi : float
        Dispersion, in [0, 1]. At 0, every ranking is the centre. At 1, all rankings are equally likely.
    center : array-like of int, shape (n_items,), default=None
        Position of each item in the centre: a permutation of 0, ..., n_items - 1, like the rows of the result. None
        draws one uniformly. With the fixed centre 0, 1, 2, ..., a mechanism that breaks ties by column would look
        better than it is.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default=None
        Source of the draws; an int makes them reproducible.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Positions: entry (v, i) is the position of item i on the ballot of voter v; 0 is best.

    Raises
    ------
    ValueError
        If an argument is outside the ranges above.

    Notes
    -----
    Other conventions for the same model: Yan et al. (2020) and Song et al. (2022) use ``theta = 1 - phi``, the package
    PerMallows uses ``theta = -log(phi)``, and Hay et al. (2017) use this phi.

    The item at place k of the centre overtakes v of its k predecessors with probability proportional to ``phi ** v``,
    independently of the others. The expected distance to the centre is therefore the sum over places of the mean of v.
    The first of two items k places apart in the centre comes first with probability
    ``(k + 1) / (1 - phi ** (k + 1)) - k / (1 - phi ** k)``.

    References
    ----------
    C. L. Mallows (1957), "Non-null ranking models", Biometrika 44.

    J.-P. Doignon, A. Pekec and M. Regenwetter (2004), "The repeated insertion model for rankings", Psychometrika 69.

    Examples
    --------
    >>> from sklearn_dprank.datasets import make_mallows
    >>> X = make_mallows(1000, 4, phi=0.5, center=[3, 0, 1, 2], random_state=0)
    >>> X.shape
    (1000, 4)
    >>> X.mean(axis=0).argsort()  # item 1 is first in the centre, then 2, 3 and 0
    array([1, 2, 3, 0])
    """
    rng = _checked_generator(n_voters, n_items, random_state)
    check_number(phi, "phi", least=0, most=1)
    places = rng.permutation(n_items) if center is None else np.asarray(center)
    if places.shape != (n_items,) or not np.array_equal(np.sort(places), np.arange(n_items)):
        raise ValueError(
            f"center must be a permutation of 0, ..., {n_items - 1} (where the centre puts each item), got {places}."
        )

    # One row per place of the centre and one column per voter, so that every step is a few passes over rows.
    positions = np.empty((n_items, n_voters), dtype=np.min_scalar_type(n_items))
    for place in range(n_items):
        # The item overtakes v of the earlier ones with a probability proportional to phi^v. By inversion:
        # P(V < v) = (1 - phi^v) / (1 - phi^(place + 1)) = u, solved for v. The minimum is for rounding errors.
        uniform = rng.random(n_voters)
        if phi == 1:
            overtaken = uniform * (place + 1)
        elif phi == 0:
            overtaken = 0 * uniform
        else:
            overtaken = np.log1p(uniform * expm1((place + 1) * log(phi))) / log(phi)
        positions[place] = place - np.minimum(overtaken.astype(np.int64), place)
        earlier = positions[:place]
        earlier += earlier >= positions[place]
    return positions[places.astype(np.int64)].T.astype(np.int64, order="C")


def make_plackett_luce(
    n_voters: int, n_items: int, weights: ArrayLike | None = None, *, random_state: RandomState = None
) -> NDArray[np.int64]:
    """Draw rankings from the Plackett-Luce model, by Gumbel keys.

    A voter chooses the best item with probability proportional to its weight. The next item is chosen in the same way
    from the rest, and so on.

    Parameters
    ----------
    n_voters : int
        Number of rankings, at least 1.
    n_items : int
        Number of items, at least 1.
    weights : array-like of float, shape (n_items,), default=None
        Positive weights, on any scale. Item i comes before item j with probability
        ``weights[i] / (weights[i] + weights[j])``. None draws the weights uniformly from the simplex.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default=None
        Source of the draws; an int makes them reproducible.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Positions: entry (v, i) is the position of item i on the ballot of voter v; 0 is best.

    Raises
    ------
    ValueError
        If an argument is outside the ranges above.

    References
    ----------
    R. L. Plackett (1975), "The analysis of permutations", Applied Statistics 24.

    J. I. Yellott (1977), "The relationship between Luce's choice axiom, Thurstone's theory of comparative judgment, and
    the double exponential distribution", Journal of Mathematical Psychology 15.

    Examples
    --------
    >>> from sklearn_dprank.datasets import make_plackett_luce
    >>> X = make_plackett_luce(1000, 3, weights=[1, 4, 2], random_state=0)
    >>> X.mean(axis=0).argsort()
    array([1, 2, 0])
    """
    rng = _checked_generator(n_voters, n_items, random_state)
    values = rng.standard_exponential(n_items) if weights is None else np.asarray(weights, dtype=np.float64)
    if values.shape != (n_items,) or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"weights must be {n_items} positive finite numbers, one an item, got {weights!r}.")

    keys = rng.gumbel(size=(n_voters, n_items)) + np.log(values)
    return np.argsort(np.argsort(-keys, axis=1), axis=1)


def make_uniform_profile(n_voters: int, n_items: int, *, random_state: RandomState = None) -> NDArray[np.int64]:
    """Draw a profile uniformly from the simplex of profiles.

    The shares of the m! rankings are uniform on their simplex, and each voter draws a ranking by these shares. Every
    histogram of n voters is then equally likely. This differs from voters who draw uniformly random rankings
    (``make_mallows(phi=1)``): with more of these voters, the shares become more equal.

    Parameters
    ----------
    n_voters : int
        Number of rankings n, at least 1.
    n_items : int
        Number of items m, at least 1.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default=None
        Source of the draws; an int makes them reproducible.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_items)
        Positions: entry (v, i) is the position of item i on the ballot of voter v; 0 is best. The voters are in random
        order.

    Raises
    ------
    ValueError
        If an argument is outside the ranges above.

    Notes
    -----
    Shang et al. (2014) assume that the shares are uniform on the simplex, and do not state how n voters follow from
    them. If all C(n + m! - 1, n) histograms are equally likely, the shares are uniform up to their resolution, 1 / n.

    The shares themselves are not drawn, because Polya's urn has the same distribution. Voter v = 0, 1, ... takes a new
    random ranking with probability m! / (m! + v), and otherwise the ranking of a random earlier voter. This works for
    any number of items.

    References
    ----------
    Shang, Wang, Cuff and Kulkarni (2014), Section III-A.

    D. Blackwell and J. B. MacQueen (1973), "Ferguson distributions via Polya urn schemes", The Annals of Statistics 1.

    Examples
    --------
    >>> from sklearn_dprank.datasets import make_uniform_profile
    >>> X = make_uniform_profile(2000, 3, random_state=0)
    >>> X.shape
    (2000, 3)
    """
    rng = _checked_generator(n_voters, n_items, random_state)
    voters = np.arange(n_voters)
    copies = rng.random(n_voters) < voters / (factorial(n_items) + voters)
    source = np.where(copies, rng.integers(np.maximum(voters, 1)), voters)
    while not np.array_equal(followed := source[source], source):  # follow copies to their originals
        source = followed
    fresh, holder = np.unique(source, return_inverse=True)
    return rng.permuted(np.tile(np.arange(n_items), (len(fresh), 1)), axis=1)[holder]
