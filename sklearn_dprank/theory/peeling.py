"""Error of the peeled prudent order (`DPPrudentOrder` with a delta), and what no mechanism can do with less."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from .._utils.checks import at_least_two, changed_ballots, check_positive, check_probability
from .._utils.types import Neighboring
from ..privacy.composition import choice_range

__all__ = ["agreeing_voters", "peeled_margin", "peeled_voters"]


def peeled_margin(
    n_items: int, epsilon: float, delta: float, failure: float, *, neighboring: Neighboring = "add_remove"
) -> float:
    """Return the margin by which a peeled order may exceed the smallest possible largest overruled margin.

    Let v be the smallest margin such that some order overrules no margin above v. With probability at least
    1 - `failure`, the peeled order overrules no margin above v plus this bound, on any profile.

    Parameters
    ----------
    n_items : int
        Number m of items, at least 2.
    epsilon, delta : float
        Privacy parameters of `DPPrudentOrder`, with delta above 0.
    failure : float
        Probability of failure, in (0, 1).
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation; "replace" doubles the bound.

    Returns
    -------
    float
        (2 / w) ln(C(m, 2) / failure) voters, with w the range of one of m - 1 choices (4 / w under "replace").

    Notes
    -----
    Take an order that overrules no margin above v. At each place, none of the remaining items beats its first remaining
    item by more than v. Any item that is beaten by more than v + T has less than e^(-w T / 2) of the probability of
    this item. With k items left, there are at most k - 1 such items. The sum of k - 1 over k = 2, ..., m is C(m, 2), so
    one of them is chosen with probability at most C(m, 2) e^(-w T / 2). For rounding, the mechanism lowers its rate by
    up to 0.1 % (for up to 100 items), which raises the bound by as much.

    Examples
    --------
    >>> round(peeled_margin(45, 0.1, 1e-6, 0.01))
    2787
    """
    at_least_two(n_items=n_items)
    check_positive(epsilon=epsilon, delta=delta)
    check_probability(failure=failure)
    width = choice_range(float(epsilon), float(delta), n_items - 1)
    return 2 * changed_ballots(neighboring) / width * math.log(math.comb(n_items, 2) / failure)


def peeled_voters(
    n_items: int,
    epsilon: float,
    delta: float,
    margin: float,
    failure: float,
    *,
    neighboring: Neighboring = "add_remove",
) -> float:
    """Return a number of voters for which a peeled order is the majority order.

    Parameters
    ----------
    n_items : int
        Number m of items, at least 2.
    epsilon, delta : float
        Privacy parameters of `DPPrudentOrder`, with delta above 0.
    margin : float
        Smallest margin of any pair as a share of the voters, in (0, 1]. The majorities must form an order.
    failure : float
        Probability of any wrong pair, in (0, 1).
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation.

    Returns
    -------
    float
        Sufficient number of voters.

    Notes
    -----
    The best remaining item beats all others by at least n margin, and every other item is beaten by at least as much.
    Costs thus differ by 2 n margin. `peeled_margin` with this difference gives n.

    Examples
    --------
    >>> round(peeled_voters(45, 0.1, 1e-6, 0.2, 0.01))
    6967
    """
    if not 0 < margin <= 1:
        raise ValueError(f"margin must lie in (0, 1], got {margin!r}: it is a share of the voters.")
    return peeled_margin(n_items, epsilon, delta, failure, neighboring=neighboring) / (2 * margin)


def agreeing_voters(n_items: int, rho: float, error: float, *, neighboring: Neighboring = "add_remove") -> float:
    """Return the least number of agreeing voters whose order a private mechanism can find, among balanced others.

    A profile consists of voters with one and the same order, which is random, and of voters who balance each other
    (with as many of each order as of its reverse). A mechanism with rho-zero-concentrated differential privacy that
    orders at most a share `error` of the pairs wrongly, on average, needs at least this many agreeing voters.

    Parameters
    ----------
    n_items : int
        Number m of items, at least 2.
    rho : float
        Privacy parameter. Gaussian noise of sensitivity over standard deviation mu has rho = mu^2 / 2.
    error : float
        Expected share of wrong pairs, in (0, 1).
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation.

    Returns
    -------
    float
        sqrt(R / rho) voters (twice that under "replace"), or 0 if `error` is at least 1/2.

    Notes
    -----
    Without the agreeing voters, the profile does not depend on their order. It has distance a from the profile with a
    of them (a / 2 under "replace", where half of them reverse their order). The Kullback-Leibler divergence of the
    results is at most rho a^2 by group privacy, and so is the information about the order. An order within the error
    requires at least R = ln m! - H nats, with H the largest entropy of a random order that inverts at most a share
    `error` of the pairs on average (rate-distortion theory). H is the entropy of a Mallows distribution:
    min over phi of ln Z(phi) - error C(m, 2) ln phi.

    References
    ----------
    Bun and Steinke (2016), "Concentrated differential privacy", Propositions 27 and 44 (group privacy, mutual
    information); Cover and Thomas (2006), "Elements of information theory", Chapter 10.

    Examples
    --------
    >>> round(agreeing_voters(45, 0.0002, 0.01))
    719
    """
    at_least_two(n_items=n_items)
    check_positive(rho=rho)
    check_probability(error=error)
    if error >= 0.5:
        return 0.0
    places = np.arange(1, n_items + 1)

    def entropy(log_phi):
        log_sizes = np.log(np.expm1(places * log_phi) / np.expm1(log_phi))
        return log_sizes.sum() - error * math.comb(n_items, 2) * log_phi

    least = minimize_scalar(entropy, bounds=(-50.0, -1e-9), method="bounded").fun
    return changed_ballots(neighboring) * math.sqrt(max(math.lgamma(n_items + 1) - least, 0.0) / rho)
