"""Group sizes in shuffling, and the total epsilon of several shuffles.

If the curator assigns the pairs, a voter hides among the voters with the same pair. If voters draw their pairs
privately, a voter hides among all voters. Sizes are public and fixed before any client randomises.
"""

from __future__ import annotations

import math

from ..._utils.checks import at_least_two, check_whole
from .amplification import shuffle_amplification, shuffle_local_epsilon


def composed_shuffle_epsilon(local_epsilon: float, n_messages: int, delta: float, n_shuffles: int) -> float:
    """Return the total central epsilon of a voter's answers in several shuffles.

    A voter sends K answers as K messages, one to each of K shuffles of `n_messages` each. Each shuffle has delta / K,
    and the epsilons add up (basic composition).

    Parameters
    ----------
    local_epsilon : float
        Pure epsilon of *each* message.
    n_messages : int
        Messages in each shuffle.
    delta : float
        Total central delta.
    n_shuffles : int
        K, the number of shuffles that one voter takes part in.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> round(composed_shuffle_epsilon(1.0, 1000, 1e-6, n_shuffles=4), 2)
    0.65
    """
    check_whole(n_shuffles, "n_shuffles")
    delta = float(delta)
    each = shuffle_amplification(local_epsilon, n_messages, delta / n_shuffles)
    return each if n_shuffles == 1 else n_shuffles * each * (1 + 2.0**-52)


def composed_local_epsilon(epsilon: float, n_messages: int, delta: float, n_shuffles: int) -> float:
    """Return the largest epsilon of each message for a total central epsilon.

    This is the inverse of `composed_shuffle_epsilon`.

    Parameters
    ----------
    epsilon : float
        Target for the total central epsilon of all shuffles.
    n_messages, delta, n_shuffles
        As in `composed_shuffle_epsilon`.

    Returns
    -------
    float
        Rounded down.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> round(composed_local_epsilon(0.646, 1000, 1e-6, n_shuffles=4), 1)
    1.0
    """
    check_whole(n_shuffles, "n_shuffles")
    epsilon, delta = float(epsilon), float(delta)
    each = epsilon if n_shuffles == 1 else epsilon / n_shuffles * (1 - 2.0**-51)
    return shuffle_local_epsilon(each, n_messages, delta / n_shuffles)


def balanced_group_size(n_voters: int, n_items: int, n_queries: int = 1) -> int:
    """Return the number of voters that answer each pair in a balanced design.

    Parameters
    ----------
    n_voters : int
        Number of voters.
    n_items : int
        Number of items, at least 2.
    n_queries : int, default=1
        Number of pairs per voter.

    Returns
    -------
    int
        floor(n K / C(m, 2)): the messages that hide a voter if the curator knows the pair. Below 2, no other message
        hides the voter.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> balanced_group_size(5000, 10)
    111
    """
    check_whole(n_voters, "n_voters")
    at_least_two(n_items=n_items)
    check_whole(n_queries, "n_queries", 1, math.comb(n_items, 2))
    return n_voters * n_queries // math.comb(n_items, 2)
