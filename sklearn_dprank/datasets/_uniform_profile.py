"""A uniform profile: every histogram of rankings is equally likely."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import factorial

from .._utils.checks import check_whole
from .._utils.types import RandomState
from ._random import as_generator


def make_uniform_profile(n_voters: int, n_items: int, *, random_state: RandomState = None) -> NDArray[np.int64]:
    """Draw a profile uniformly from the simplex of profiles.

    The shares of the m! rankings are uniform on their simplex, and the voters draw theirs by these shares: every
    histogram of n voters is then equally likely. It is another thing where every voter draws any ranking with equal
    chances (``make_mallows(phi=1)``): the more these are, the more equal are the shares.

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
        Positions: entry (v, i) is where voter v puts item i; 0 is best. The voters are in random order.

    Raises
    ------
    ValueError
        If an argument is outside the ranges above.

    Notes
    -----
    Shang et al. (2014) assume that the shares are uniform on the simplex, and do not say how n voters come by them.
    Where all C(n + m! - 1, n) histograms are equally likely, shares are uniform up to their grain, 1 / n.

    The shares themselves are not drawn: Polya's urn has the same law. Voter v = 0, 1, ... takes a fresh ranking with
    probability m! / (m! + v), and that of a random earlier voter otherwise, so that any number of items will do.

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
    check_whole(n_voters, "n_voters")
    check_whole(n_items, "n_items")
    rng = as_generator(random_state)
    voters = np.arange(n_voters)
    copies = rng.random(n_voters) < voters / (factorial(n_items) + voters)
    source = np.where(copies, rng.integers(np.maximum(voters, 1)), voters)
    while not np.array_equal(followed := source[source], source):  # from copies to what they are copies of
        source = followed
    fresh, holder = np.unique(source, return_inverse=True)
    return rng.permuted(np.tile(np.arange(n_items), (len(fresh), 1)), axis=1)[holder]
