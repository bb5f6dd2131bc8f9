"""Simulated rankings (Mallows, Plackett-Luce, uniform profiles), comparisons and ratings."""

from __future__ import annotations

from math import expm1, log
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, factorial

from .._utils.checks import check_choice, check_number, check_whole, safe_repr
from .._utils.types import RandomState
from ..sampling.bit_source import seed_sequence


def _checked_generator(n_voters, n_items, random_state, name="n_voters"):
    """Check the sizes; return `random_state` if it is a Generator (so that it advances), else one seeded from it."""
    check_whole(n_voters, name)
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


def make_comparisons(
    n_persons: int,
    n_items: int,
    *,
    comparisons_per_person: float = 10,
    exposure: Literal["zipf", "even"] = "zipf",
    matched: float = 0.0,
    ties: float = 0.2,
    strengths: ArrayLike | None = None,
    random_state: RandomState = None,
) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Draw comparisons from the Bradley-Terry model, as in the log of an arena.

    Persons differ in activity, items in exposure, and opponents may be chosen by strength.

    Parameters
    ----------
    n_persons : int
        Number of persons, at least 1.
    n_items : int
        Number of items, at least 2.
    comparisons_per_person : float, default=10
        Mean number of comparisons of a person, above 0. Activity is log-normal, with a heavy tail. It is rounded, and
        at least 1, so the mean is larger for small values (3.1 for 3, 1.4 for 1).
    exposure : {"zipf", "even"}, default="zipf"
        Probability that an item is drawn. "zipf" is in proportion to 1, 1/2, 1/3, ..., in an order that does not depend
        on the strengths. "even" is the same for all items.
    matched : float, default=0.0
        Share of comparisons of items of similar strength. The second item is then one of the next stronger or the next
        weaker items, a tenth of all items on each side, with equal probability. Other second items are drawn by
        exposure.
    ties : float, default=0.2
        Share of ties, which do not depend on the strengths.
    strengths : array-like of float, shape (n_items,), default=None
        Strengths, larger is better. Item i beats item j with probability
        ``1 / (1 + exp(strengths[j] - strengths[i]))``, unless they tie. None draws them from a standard normal
        distribution.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default=None
        Source of the draws; an int makes them reproducible.

    Returns
    -------
    votes : dict of ndarray
        One comparison a row: ``person``, ``first`` and ``second`` (numbers from 0), and ``winner``, which is "first",
        "second" or "tie". `Profile.from_comparisons` and pandas take it.
    strengths : ndarray of float, shape (n_items,)
        The true strengths.

    Raises
    ------
    ValueError
        If an argument is outside the ranges above.

    Examples
    --------
    >>> from sklearn_dprank import DPBradleyTerry
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.datasets import make_comparisons
    >>> votes, strengths = make_comparisons(2000, 4, matched=0.5, strengths=[2, 0, 1, 3], random_state=0)
    >>> profile = Profile.from_comparisons(votes, "first", "second", outcome="winner", person="person", items=range(4))
    >>> DPBradleyTerry(epsilon=1.0, random_state=0).fit(profile).consensus_.tolist()
    [3, 0, 2, 1]
    """
    check_whole(n_items, "n_items", 2)
    rng = _checked_generator(n_persons, n_items, random_state, "n_persons")
    check_number(matched, "matched", least=0, most=1)
    check_number(ties, "ties", least=0, most=1)
    truth = _checked_strengths(strengths, n_items, rng)
    persons = _active_persons(n_persons, comparisons_per_person, "comparisons_per_person", rng)
    shares = _exposure_shares(exposure, n_items, rng)
    first, second = rng.choice(n_items, size=(2, len(persons)), p=shares)
    while len(same := np.flatnonzero(first == second)):
        second[same] = rng.choice(n_items, size=len(same), p=shares)

    near = np.flatnonzero(rng.random(len(persons)) < matched)
    reach, order = max(1, n_items // 10), np.argsort(truth)
    place = np.argsort(order)[first[near]]
    opponent = rng.integers(np.maximum(place - reach, 0), np.minimum(place + reach, n_items - 1))
    second[near] = order[opponent + (opponent >= place)]

    wins = rng.random(len(persons)) < expit(truth[first] - truth[second])
    winner = np.where(rng.random(len(persons)) < ties, "tie", np.where(wins, "first", "second"))
    return {"person": persons, "first": first, "second": second, "winner": winner}, truth


def make_ratings(
    n_persons: int,
    n_items: int,
    *,
    ratings_per_person: float = 20,
    exposure: Literal["zipf", "even"] = "zipf",
    seen: int = 3,
    strengths: ArrayLike | None = None,
    random_state: RandomState = None,
) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Draw ratings of 1 to 5 stars by persons who rate what they expect to like, as in a shop.

    Good items are therefore popular, and mostly rated by persons to whose taste they are.

    Parameters
    ----------
    n_persons : int
        Number of persons, at least 1.
    n_items : int
        Number of items, at least 1.
    ratings_per_person : float, default=20
        Mean number of choices of a person, above 0, with the heavy tail of `make_comparisons`. A person rates an item
        once, and later choices of the same item are dropped. So there are fewer ratings.
    exposure : {"zipf", "even"}, default="zipf"
        Probability that an item is seen, as in `make_comparisons`.
    seen : int, default=3
        Number of items that a person sees for each choice, at least 1. The person chooses the one with the largest
        ``strengths[i] + taste``, where tastes are standard normal. With 1, persons rate whatever they see.
    strengths : array-like of float, shape (n_items,), default=None
        Strengths, larger is better. None draws them from a standard normal distribution.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default=None
        Source of the draws; an int makes them reproducible.

    Returns
    -------
    ratings : dict of ndarray
        One rating a row, sorted by person: ``person`` and ``item`` (numbers from 0), and ``stars``, from 1 to 5.
        `Profile.from_long` and pandas take it.
    strengths : ndarray of float, shape (n_items,)
        The true strengths.

    Raises
    ------
    ValueError
        If an argument is outside the ranges above.

    Notes
    -----
    Stars are ``2.5 + strengths[i] + taste + generosity``, rounded and clipped. The generosity of a person is normal
    with standard deviation 1/2.

    Let q_i be the shares by exposure. With ``seen=2``, item i is chosen with probability
    ``q_i * (q_i + 2 * sum(q_j * norm.cdf((strengths[i] - strengths[j]) / sqrt(2)) for j != i))``.

    Examples
    --------
    >>> from sklearn_dprank import DPBradleyTerry
    >>> from sklearn_dprank.ballots import Profile
    >>> from sklearn_dprank.datasets import make_ratings
    >>> ratings, strengths = make_ratings(1000, 4, ratings_per_person=3, strengths=[2, 0, 1, 3], random_state=0)
    >>> profile = Profile.from_long(ratings, "person", "item", rating="stars", items=range(4))
    >>> DPBradleyTerry(epsilon=1.0, random_state=0).fit(profile).consensus_.tolist()
    [3, 0, 2, 1]
    """
    rng = _checked_generator(n_persons, n_items, random_state, "n_persons")
    check_whole(seen, "seen")
    truth = _checked_strengths(strengths, n_items, rng)
    persons = _active_persons(n_persons, ratings_per_person, "ratings_per_person", rng)
    items = rng.choice(n_items, size=(len(persons), seen), p=_exposure_shares(exposure, n_items, rng))
    liking = truth[items] + rng.standard_normal(items.shape)
    best = (np.arange(len(persons)), liking.argmax(axis=1))
    items, liking = items[best], liking[best]
    kept = np.sort(np.unique(persons * n_items + items, return_index=True)[1])
    persons, items, liking = persons[kept], items[kept], liking[kept]
    generosity = rng.standard_normal(n_persons)[persons] / 2
    stars = np.clip(np.rint(2.5 + liking + generosity), 1, 5).astype(np.int64)
    return {"person": persons, "item": items, "stars": stars}, truth


def _checked_strengths(strengths, n_items, rng):
    """Return the strengths as an array; None draws them."""
    values = rng.standard_normal(n_items) if strengths is None else np.array(strengths, dtype=np.float64)
    if values.shape != (n_items,) or not np.isfinite(values).all():
        raise ValueError(f"strengths must be {n_items} finite numbers, one an item, got {safe_repr(strengths)}.")
    return values


def _active_persons(n_persons, mean, name, rng):
    """Return the person of each row: log-normal numbers of rows, rounded, at least 1."""
    check_number(mean, name, above=0, most=1e6)
    spread = 1.2
    activity = np.rint(mean * np.exp(spread * rng.standard_normal(n_persons) - spread**2 / 2))
    return np.repeat(np.arange(n_persons), np.maximum(activity, 1).astype(np.int64))


def _exposure_shares(exposure, n_items, rng):
    """Return the probability that each item is drawn."""
    check_choice(exposure, "exposure", choices=("zipf", "even"))
    shares = np.ones(n_items) if exposure == "even" else 1 / (1 + rng.permutation(n_items))
    return shares / shares.sum()
