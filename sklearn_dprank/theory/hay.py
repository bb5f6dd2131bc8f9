"""Hay, Elagina and Miklau (2017): what privacy costs in the central model, Theorems 5.1 and 5.2."""

import math

from .._utils.checks import at_least_two, is_published, positive, probability, votes_changed
from .._utils.types import Neighboring, Variant

__all__ = ["epsilon_lower_bound", "p_sample_expected_error", "p_sample_voters"]


def epsilon_lower_bound(
    n_items: int, failure: float, *, neighboring: Neighboring = "add_remove", variant: Variant = "corrected"
) -> float:
    """Return the least epsilon at which the optimal ranking can be found on every profile (Theorem 5.1).

    If an epsilon-private algorithm misses the (unique) Kemeny optimum with probability at most `failure` on
    every large enough profile, its epsilon is at least this.

    Parameters
    ----------
    n_items : int
        Number m of items, at least 2.
    failure : float
        Tolerated probability delta of missing the optimum, in (0, 1).
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation; the printed bound is about the first and ignores this.
    variant : {"corrected", "published"}, default="corrected"
        The stronger bound, or the printed one.

    Returns
    -------
    float
        Lower bound on epsilon (0 when there is none).

    Notes
    -----
    The paper prints epsilon >= ln((m! - 1)(1 - delta)/delta)/2, which is true, and calls it O(m log m) where
    it means Omega. Its proof compares two profiles at distance two; going through their common neighbour, a
    profile in which all rankings tie, gives two inequalities: exp(epsilon) >= m! (1 - delta), and
    exp(epsilon) >= (1 - 1/m!)/delta. The printed bound is the mean of the two logarithms, so the larger one is
    never weaker; it is attained on these profiles, hence cannot be improved by comparing them.
    Under replace-one neighbours the two profiles are neighbours and the printed bound doubles.
    If the algorithm must also return one fixed ranking on the tied profile, as the paper's convention of breaking
    ties consistently can be read, the two logarithms add up: again twice the printed bound.

    References
    ----------
    Hay, Elagina and Miklau (2017), Theorem 5.1.

    Examples
    --------
    >>> round(epsilon_lower_bound(10, 0.5), 2), round(epsilon_lower_bound(10, 0.5, variant="published"), 2)
    (14.41, 7.55)
    """
    at_least_two(n_items=n_items)
    probability(failure=failure)
    log_orders = math.lgamma(n_items + 1)
    log_others = log_orders + math.log1p(-math.exp(-log_orders))  # ln(m! - 1)
    kept, lost = math.log1p(-failure), math.log(failure)
    if is_published(variant):
        bound = (log_others + kept - lost) / 2
    elif votes_changed(neighboring) == 2:
        bound = log_others + kept - lost
    else:
        bound = max(log_orders + kept, log_others - log_orders - lost)
    return max(bound, 0.0)


def p_sample_voters(
    n_items: int,
    epsilon: float,
    error: float,
    failure: float,
    *,
    neighboring: Neighboring = "add_remove",
    variant: Variant = "corrected",
) -> float:
    """Return how many voters make P-SAMPLE accurate (Theorem 5.2).

    With this many, the normalised error (excess average Kendall tau over C(m, 2)) is at most `error` with
    probability at least 1 - `failure`, on any profile.

    Parameters
    ----------
    n_items : int
        Number m of items.
    epsilon : float
        Privacy parameter.
    error : float
        Normalised error alpha, in (0, 1).
    failure : float
        Probability delta, in (0, 1).
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation; replace-one halves the exponent and doubles the voters. Ignored by the printed form.
    variant : {"corrected", "published"}, default="corrected"
        Which formula.

    Returns
    -------
    float
        Sufficient number of voters.

    Notes
    -----
    The paper prints n >= 2/(alpha epsilon) ln(m! + ln(1/delta)): the parenthesis is misplaced, so that the bound
    hardly depends on delta and fails for small delta; and the 2 belongs to the exponential mechanism with
    the factor 1/2 that P-SAMPLE omits. Corrected: n >= (ln m! + ln(1/delta))/(alpha epsilon).

    References
    ----------
    Hay, Elagina and Miklau (2017), Theorem 5.2 and Definition 10.

    Examples
    --------
    >>> round(p_sample_voters(10, 0.1, 0.05, 0.01), 1)
    3941.9
    """
    at_least_two(n_items=n_items)
    positive(epsilon=epsilon)
    probability(error=error, failure=failure)
    if is_published(variant):
        # ln(m! + x) = ln m! + ln(1 + x/m!), which does not overflow
        log_orders = math.lgamma(n_items + 1)
        return 2 / (error * epsilon) * (log_orders + math.log1p(-math.log(failure) * math.exp(-log_orders)))
    return votes_changed(neighboring) * (math.lgamma(n_items + 1) - math.log(failure)) / (error * epsilon)


def p_sample_expected_error(
    n_voters: float, n_items: int, epsilon: float, *, neighboring: Neighboring = "add_remove"
) -> float:
    """Return a bound on the expected normalised error of P-SAMPLE: ln(m!)/(n epsilon), on any profile.

    The entropy of the output is the expected loss in the exponent plus the log partition function, which is not
    negative; and it is at most ln(m!). Under replace-one neighbours the bound doubles.

    Parameters
    ----------
    n_voters, n_items : int
        Voters n and items m.
    epsilon : float
        Privacy parameter.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation.

    Returns
    -------
    float
        Bound on the expected excess average Kendall tau over C(m, 2).

    Examples
    --------
    >>> round(p_sample_expected_error(1000, 10, 0.1), 4)
    0.151
    """
    positive(n_voters=n_voters, epsilon=epsilon)
    at_least_two(n_items=n_items)
    return votes_changed(neighboring) * math.lgamma(n_items + 1) / (n_voters * epsilon)
