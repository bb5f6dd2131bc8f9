"""Amplification by shuffling, group sizes, and the total epsilon of several shuffles.

If the curator assigns the pairs, a voter hides among the voters with the same pair. If voters draw their pairs
privately, a voter hides among all voters. Sizes are public and fixed before any client randomises.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from .._utils.checks import at_least_two, check_choice, check_number, check_probability, check_whole
from .._utils.types import ShuffleMethod


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


# Privacy amplification by shuffling: central epsilon of shuffled, locally private messages.
#
# Each of n users randomises one message. A trusted shuffler hides who sent which message, so the curator receives a
# multiset. Neighbouring inputs differ in the value of one user, and n is public. A privacy curve gives delta as a
# function of epsilon. In the formulas of curves, f = 1 / (1 + e^local_epsilon).

_SLACK = 1e-9  # relative; above the rounding errors of the curves
_MAX_LOCAL = 500.0


class UnsoundAmplificationWarning(UserWarning):
    """Warning for an amplification claim that is computed as printed in a paper, although it is false."""


def shuffle_amplification(
    local_epsilon: float, n_messages: int, delta: float, method: ShuffleMethod = "blanket"
) -> float:
    """Return the central epsilon of one shuffle of locally private messages.

    Parameters
    ----------
    local_epsilon : float
        Pure epsilon of each message; positive, at most 500.
    n_messages : int
        Public number of messages that hide a voter, including the voter's own. If the curator knows the pair of each
        voter, count only the voters with the same pair (`~sklearn_dprank.privacy.shuffle.balanced_group_size`).
        If voters draw their pairs privately, count all messages in the shuffle.
    delta : float
        Central delta, strictly between 0 and 1.
    method : {"blanket", "exact", "clones", "closed_form", "song2022"}, default="blanket"
        - "blanket": numerical bound for randomized response on one bit. The pair is public, or the voter draws it
          uniformly and hides it in the message. Any n.
        - "exact": exact value for randomized response on one bit with a public pair; at most 1000 messages.
        - "clones": numerical bound for any local randomizers, including adaptive ones.
        - "closed_form": closed form of the clones bound, about five times larger. If local_epsilon <= ln(n / (16 ln(2 /
          delta))) does not hold, no amplification is claimed.
        - "song2022": the claim local_epsilon - ln n, as printed. It is false. Use it for comparison only.

    Returns
    -------
    float
        Central epsilon at `delta`, rounded up, between 0 and `local_epsilon` (the value of "song2022" can be negative).
        A single message gives `local_epsilon`.

    Raises
    ------
    ValueError
        If a parameter is out of range, or n is too large for "exact".

    Warns
    -----
    UnsoundAmplificationWarning
        For "song2022". Its value must never be stated as a guarantee.

    Notes
    -----
    "blanket" also holds for a hidden pair. A pair on which two rankings agree only contracts the privacy loss. The
    bound for binary randomized response with all n users therefore covers it.

    Theorems 1-2 of Song et al. (2022) claim that (epsilon + ln n)-local privacy gives epsilon centrally. Cheu et al.
    (2019) prove the converse: a single-message protocol with central epsilon has local privacy epsilon + ln n. For n =
    100 and local epsilon 1 + ln 100, the true delta at epsilon = 1 is 0.69.

    References
    ----------
    Balle, Bell, Gascon and Nissim (2019), "The privacy blanket of the shuffle model".
    Cheu, Smith, Ullman, Zeber and Zhilyaev (2019), "Distributed differential privacy via
    shuffling".
    Feldman, McMillan and Talwar (2021), "Hiding among the clones", Theorems 3.1 and 3.2.

    Examples
    --------
    >>> round(shuffle_amplification(1.0, 1000, 1e-6), 3)
    0.149
    >>> round(shuffle_amplification(1.0, 1000, 1e-6, method="closed_form"), 3)
    0.566
    """
    _check(n_messages, delta, method, local_epsilon=local_epsilon)
    # Single precision would underflow, and arrays need an integer.
    local_epsilon, delta, n_messages = float(local_epsilon), float(delta), int(n_messages)
    if method == "song2022":
        return local_epsilon - math.log(n_messages)
    if n_messages == 1:
        return local_epsilon
    if method == "closed_form":
        if local_epsilon > closed_form_limit(n_messages, delta):
            return local_epsilon
        return min(closed_form_epsilon(local_epsilon, n_messages, delta), local_epsilon)
    curve = _CURVES[method](local_epsilon, n_messages)
    return _boundary(lambda epsilon: _log_ratio(curve(epsilon), delta), safe=local_epsilon, unsafe=0.0)


def shuffle_local_epsilon(epsilon: float, n_messages: int, delta: float, method: ShuffleMethod = "blanket") -> float:
    """Return the largest local epsilon whose shuffle is (epsilon, delta)-private.

    This is the inverse of `shuffle_amplification`.

    Parameters
    ----------
    epsilon : float
        Target for the central epsilon; positive, at most 500.
    n_messages : int
        Public number of messages in the shuffle, fixed before any client randomises.
    delta : float
        Central delta, strictly between 0 and 1.
    method : {"blanket", "exact", "clones", "closed_form", "song2022"}, default="blanket"
        As in `shuffle_amplification`.

    Returns
    -------
    float
        Rounded down, at most 500. It is at least `epsilon`, because a message of that epsilon needs no shuffler.

    Raises
    ------
    ValueError
        If a parameter is out of range, or n is too large for "exact".

    Warns
    -----
    UnsoundAmplificationWarning
        For "song2022". Its value must never be used to collect ballots.

    Examples
    --------
    >>> round(shuffle_local_epsilon(0.149, 1000, 1e-6), 2)
    1.0
    """
    _check(n_messages, delta, method, epsilon=epsilon)
    epsilon, delta, n_messages = float(epsilon), float(delta), int(n_messages)
    if method == "song2022":
        return epsilon + math.log(n_messages)
    if n_messages == 1:
        return epsilon
    if method == "closed_form":
        limit = closed_form_limit(n_messages, delta)
        if limit <= epsilon or closed_form_epsilon(epsilon, n_messages, delta) > epsilon:
            return epsilon
        return _boundary(
            lambda local: math.log(closed_form_epsilon(local, n_messages, delta) / epsilon), safe=epsilon, unsafe=limit
        )

    def log_ratio(local):
        return _log_ratio(_CURVES[method](local, n_messages)(epsilon), delta)

    unsafe = epsilon + 1
    while unsafe < _MAX_LOCAL and log_ratio(unsafe) <= 0:
        unsafe = 2 * unsafe - epsilon
    return _boundary(log_ratio, safe=epsilon, unsafe=min(unsafe, _MAX_LOCAL))


def _log_ratio(value, delta):
    return math.log(max(value * (1 + _SLACK), 1e-320) / delta)


def _boundary(excess, safe, unsafe):
    """Return a point close to the sign change of `excess` between `safe` and `unsafe`, on the safe side."""
    if excess(unsafe) <= 0:
        return unsafe
    root = brentq(excess, safe, unsafe, xtol=1e-13, rtol=1e-12)
    for step in (0.0, 1e-12, 1e-10, 1e-8, 1e-6):
        point = root + step * (safe - root)
        if excess(point) <= 0:
            return point
    return safe


def _check(n_messages, delta, method, **epsilon):
    """Raise ValueError unless the parameters of a shuffle are valid; warn of a method that is unsound."""
    check_choice(method, "method", _METHODS)
    whole = isinstance(n_messages, float) and n_messages.is_integer()  # accept floats such as 1e4
    check_whole(int(n_messages) if whole else n_messages, "n_messages")
    check_probability(delta=delta)
    if method == "exact" and n_messages > MAX_EXACT:
        raise ValueError(
            f"method='exact' takes at most {MAX_EXACT} messages, got {n_messages}; use method='blanket', "
            "an upper bound at any number."
        )
    for name, value in epsilon.items():
        check_number(value, name, above=0, most=_MAX_LOCAL)
    if method == "song2022":
        warnings.warn(
            "method='song2022' reproduces a published amplification claim that is false; it must not be stated as a "
            "guarantee. Use method='blanket'.",
            UnsoundAmplificationWarning,
            stacklevel=3,
        )


MAX_EXACT = 1000  # messages; the exact curve stores MAX_EXACT**2 doubles
_BLOCKS = 4096
_SPREAD = 12  # standard deviations on each side of the mean that are cut into blocks


def blanket_curve(local_epsilon, n_messages):
    """Return the privacy-blanket curve of binary randomized response.

    Parameters
    ----------
    local_epsilon : float
        Epsilon of one message.
    n_messages : int
        Messages in the shuffle.

    Returns
    -------
    callable
        Function that returns delta for an epsilon.

    References
    ----------
    Balle, Bell, Gascon and Nissim (2019), "The privacy blanket of the shuffle model", Section 5.
    """
    # A user answers with a fair coin with probability 2 f, independently of the input.
    return _clone_curve(local_epsilon, n_messages - 1, 2 / (1 + math.exp(local_epsilon)))


def clones_curve(local_epsilon, n_messages):
    """Return the clones curve for any local randomizers (parameters as in `blanket_curve`).

    References
    ----------
    Feldman, McMillan and Talwar (2021), "Hiding among the clones", Theorem 3.2.
    """
    return _clone_curve(local_epsilon, n_messages - 1, math.exp(-local_epsilon))


def exact_curve(local_epsilon, n_messages):
    """Return the exact curve of binary randomized response (parameters as in `blanket_curve`).

    Notes
    -----
    If j of the others hold a one, the count of ones is N_j + Bernoulli(1 - f) or N_j + Bernoulli(f), with N_j = Bin(j,
    1 - f) + Bin(n - 1 - j, f). No single j is always the worst, so the maximum runs over all j. Exchanging zeros and
    ones maps j to n - 1 - j and reverses the direction, so the maximum covers both directions.
    """
    f = 1 / (1 + math.exp(local_epsilon))
    others = n_messages - 1
    j = np.arange(n_messages)[:, None]
    ones = np.asarray(binom.pmf(np.arange(n_messages), j, 1 - f))
    zeros = np.asarray(binom.pmf(np.arange(n_messages), j, f))
    counts = np.zeros((n_messages, n_messages + 2))  # N_j on 0..n-1, with a zero at each end
    for k in range(n_messages):
        counts[k, 1:-1] = np.convolve(ones[k, : k + 1], zeros[others - k, : n_messages - k])
    stay, shifted = counts[:, 1:], counts[:, :-1]

    def delta(epsilon):
        low, high = f - math.exp(epsilon) * (1 - f), -(1 - f) * math.expm1(epsilon - local_epsilon)
        return float(np.maximum(low * stay + high * shifted, 0.0).sum(axis=1).max())

    return delta


def closed_form_epsilon(local_epsilon, n_messages, delta):
    """Return the closed form of the clones bound, which is valid up to `closed_form_limit`.

    References
    ----------
    Feldman, McMillan and Talwar (2021), "Hiding among the clones", Theorem 3.1.
    """
    share = math.exp(local_epsilon) / n_messages
    inner = 8 * math.sqrt(share * math.log(4 / delta)) + 8 * share
    return math.log1p(math.tanh(local_epsilon / 2) * inner) * (1 + 2.0**-48)


def closed_form_limit(n_messages, delta):
    """Return the largest local epsilon for which the closed form is valid."""
    return math.log(n_messages / (16 * math.log(2 / delta)))


def _clone_curve(local_epsilon, others, clone):
    """Return delta(epsilon) = E_C of the hockey-stick divergence of A + Bern(1 - f) from A + Bern(f).

    C ~ Bin(others, clone) users answer with a fair coin, and A ~ Bin(C, 1/2) of them answer one. The two directions are
    symmetric. Adding a coin is post-processing, so the divergence decreases in C. If C has too many values, they are
    cut into blocks, and each block is evaluated at its lower end. This can only increase delta.
    """
    if others < _BLOCKS:
        coins = np.arange(others + 1)
        weights = binom.pmf(coins, others, clone)
    else:
        centre, spread = others * clone, _SPREAD * math.sqrt(others * clone * (1 - clone))
        ends = np.linspace(max(centre - spread, 0), min(centre + spread, others), _BLOCKS).astype(np.int64)
        coins = np.unique(np.append(ends, 0))
        weights = np.diff(np.append(binom.cdf(coins - 1, others, clone), 1.0))

    def delta(epsilon):
        if epsilon >= local_epsilon:
            return 0.0
        f = 1 / (1 + math.exp(local_epsilon))
        # The likelihood ratio at a count of x (C + 1) is [(1-f) x + f (1-x)] / [f x + (1-f) (1-x)]. It increases with
        # x, equals e^epsilon at x = tau, and first exceeds it at the count k.
        gap = -math.expm1(-epsilon - local_epsilon)
        tau = (1 - f) * gap / (math.tanh(local_epsilon / 2) * (1 + math.exp(-epsilon)))
        k = np.floor((coins + 1) * tau) + 1
        # f S(k) + (1-f) S(k-1) - e^epsilon [(1-f) S(k) + f S(k-1)], with S(k) = P(A >= k) and
        # S(k-1) = S(k) + pmf(k-1).
        high = -(1 - f) * math.expm1(epsilon - local_epsilon)  # (1-f) - e^epsilon f, without cancellation
        excess = high * binom.pmf(k - 1, coins, 0.5) - math.expm1(epsilon) * binom.sf(k - 1, coins, 0.5)
        return float(weights @ np.maximum(excess, 0.0))

    return delta


_CURVES = {"exact": exact_curve, "blanket": blanket_curve, "clones": clones_curve}
_METHODS = (*_CURVES, "closed_form", "song2022")
