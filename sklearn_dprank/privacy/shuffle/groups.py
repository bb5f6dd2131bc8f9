"""How many messages hide a voter, and what several shuffles cost together.

If the curator assigns the pairs, a voter hides among those asked the same pair; if voters draw
theirs privately, among all. Sizes are public and fixed before anyone randomises.
"""

import math

from ..._utils.checks import at_least_two, check_whole
from ..._utils.types import ShuffleMethod
from .amplification import (
    blanket_curve,
    check_local,
    check_shuffle,
    shuffle_amplification,
    shuffle_local_epsilon,
    smallest_epsilon,
)


def composed_shuffle_epsilon(
    local_epsilon: float, n_messages: int, delta: float, n_shuffles: int, method: ShuffleMethod = "blanket"
) -> float:
    """Return the central epsilon of a voter's answers in several shuffles.

    K answers are K messages in K shuffles of `n_messages` each; every shuffle is taken at
    delta / K and the epsilons add up (basic composition).

    Parameters
    ----------
    local_epsilon : float
        Pure epsilon of *each* message.
    n_messages : int
        Messages in each shuffle.
    delta : float
        Central delta of all shuffles together.
    n_shuffles : int
        K, how many shuffles one voter takes part in.
    method : str, default="blanket"
        As in `shuffle_amplification`.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    ValueError
        If a parameter is out of bounds.

    Examples
    --------
    >>> round(composed_shuffle_epsilon(1.0, 1000, 1e-6, n_shuffles=4), 2)
    0.65
    """
    check_whole(n_shuffles, "n_shuffles")
    delta = float(delta)
    each = shuffle_amplification(local_epsilon, n_messages, delta / n_shuffles, method)
    return each if n_shuffles == 1 else n_shuffles * each * (1 + 2.0**-52)


def composed_local_epsilon(
    epsilon: float, n_messages: int, delta: float, n_shuffles: int, method: ShuffleMethod = "blanket"
) -> float:
    """Return the largest epsilon of each message for a total, the inverse of `composed_shuffle_epsilon`.

    Parameters
    ----------
    epsilon : float
        Central target of all shuffles together.
    n_messages, delta, n_shuffles, method
        As in `composed_shuffle_epsilon`.

    Returns
    -------
    float
        Rounded down.

    Raises
    ------
    ValueError
        If a parameter is out of bounds.

    Examples
    --------
    >>> round(composed_local_epsilon(0.646, 1000, 1e-6, n_shuffles=4), 1)
    1.0
    """
    check_whole(n_shuffles, "n_shuffles")
    epsilon, delta = float(epsilon), float(delta)
    each = epsilon if n_shuffles == 1 else epsilon / n_shuffles * (1 - 2.0**-51)
    return shuffle_local_epsilon(each, n_messages, delta / n_shuffles, method)


def balanced_group_size(n_voters: int, n_items: int, n_queries: int = 1) -> int:
    """Return how many voters answer each pair in a balanced design.

    Parameters
    ----------
    n_voters : int
        Voters in all.
    n_items : int
        Items, at least 2.
    n_queries : int, default=1
        Pairs a voter is asked.

    Returns
    -------
    int
        floor(n K / C(m, 2)): the messages a voter hides among when the curator knows the pair.
        Below 2 there is nothing to hide among.

    Raises
    ------
    ValueError
        If a parameter is out of bounds.

    Examples
    --------
    >>> balanced_group_size(5000, 10)
    111
    """
    check_whole(n_voters, "n_voters")
    at_least_two(n_items=n_items)
    check_whole(n_queries, "n_queries", 1, math.comb(n_items, 2))
    return n_voters * n_queries // math.comb(n_items, 2)


def random_group_epsilon(local_epsilon: float, n_voters: int, n_items: int, delta: float) -> float:
    """Return the central epsilon when each voter is assigned one pair at random, unbalanced.

    The size of a voter's group is 1 + Bin(n - 1, 1 / C(m, 2)) and delta is its mean over the
    sizes, so the price of unequal groups is included.

    Parameters
    ----------
    local_epsilon : float
        Pure epsilon of each message (randomized response on one bit).
    n_voters : int
        Voters in all.
    n_items : int
        Items, at least 2.
    delta : float
        Central delta, strictly between 0 and 1.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    ValueError
        If a parameter is out of bounds.

    Examples
    --------
    >>> round(random_group_epsilon(1.0, 5000, 10, 1e-5), 3)
    0.424
    """
    at_least_two(n_items=n_items)
    check_shuffle(n_voters, delta)
    check_local(local_epsilon=local_epsilon)
    local_epsilon, delta = float(local_epsilon), float(delta)
    # Another voter supplies a blanket coin if it is in the group and answers at random.
    curve = blanket_curve(local_epsilon, n_voters, inclusion=1 / math.comb(n_items, 2))
    return smallest_epsilon(curve, local_epsilon, delta)
