"""Privacy curves of shuffled messages: delta as a function of epsilon, and one closed form.

All speak of n users who each send one message through the same local randomizer, and of two
inputs that differ in one user (replacement). f = 1 / (1 + e^local_epsilon) throughout.
"""

import math

import numpy as np
from scipy.stats import binom

MAX_EXACT = 1000  # messages; the exact curve holds an array of MAX_EXACT**2 doubles
_BLOCKS = 4096
_SPREAD = 12  # standard deviations cut into blocks


def blanket_curve(local_epsilon, n_messages, inclusion=1.0):
    """Return the privacy-blanket curve of binary randomized response.

    Parameters
    ----------
    local_epsilon : float
        Epsilon of one message.
    n_messages : int
        Messages in the shuffle.
    inclusion : float, default=1.0
        Probability that each of the other messages is in the shuffle at all.

    Returns
    -------
    callable
        delta as a function of epsilon.

    References
    ----------
    Balle, Bell, Gascon and Nissim (2019), "The privacy blanket of the shuffle model", Section 5.
    """
    # A user answers with a fair coin with probability 2 f, whatever the input.
    return _clone_curve(local_epsilon, n_messages - 1, inclusion * 2 * _flip(local_epsilon))


def clones_curve(local_epsilon, n_messages):
    """Return the clones curve, for any local randomizers (parameters as `blanket_curve`).

    References
    ----------
    Feldman, McMillan and Talwar (2021), "Hiding among the clones", Theorem 3.2.
    """
    return _clone_curve(local_epsilon, n_messages - 1, math.exp(-local_epsilon))


def exact_curve(local_epsilon, n_messages):
    """Return the exact curve of binary randomized response (parameters as `blanket_curve`).

    Notes
    -----
    If j of the others hold a one, the count of ones is N_j + Bernoulli(1 - f) against
    N_j + Bernoulli(f), with N_j = Bin(j, 1 - f) + Bin(n - 1 - j, f). No j is always the worst, so
    the maximum runs over all of them. Exchanging zeros and ones maps j to n - 1 - j and reverses
    the direction, so the maximum covers both directions.
    """
    f = _flip(local_epsilon)
    others = n_messages - 1
    j = np.arange(n_messages)[:, None]
    ones = np.asarray(binom.pmf(np.arange(n_messages), j, 1 - f))
    zeros = np.asarray(binom.pmf(np.arange(n_messages), j, f))
    counts = np.zeros((n_messages, n_messages + 2))  # N_j on 0..n-1, with a zero on either side
    for k in range(n_messages):
        counts[k, 1:-1] = np.convolve(ones[k, : k + 1], zeros[others - k, : n_messages - k])
    stay, shifted = counts[:, 1:], counts[:, :-1]

    def delta(epsilon):
        low, high = _coefficients(epsilon, local_epsilon)
        return float(np.maximum(low * stay + high * shifted, 0.0).sum(axis=1).max())

    return delta


def closed_form_epsilon(local_epsilon, n_messages, delta):
    """Return the closed form of the clones bound, valid up to `closed_form_limit`.

    References
    ----------
    Feldman, McMillan and Talwar (2021), "Hiding among the clones", Theorem 3.1.
    """
    share = math.exp(local_epsilon) / n_messages
    inner = 8 * math.sqrt(share * math.log(4 / delta)) + 8 * share
    return math.log1p(math.tanh(local_epsilon / 2) * inner) * (1 + 2.0**-48)


def closed_form_limit(n_messages, delta):
    """Return the largest local epsilon to which the closed form applies."""
    return math.log(n_messages / (16 * math.log(2 / delta)))


def _clone_curve(local_epsilon, others, clone):
    """Return delta(epsilon) = E_C of the hockey stick of A + Bern(1 - f) against A + Bern(f).

    C ~ Bin(others, clone) users answer a fair coin and A ~ Bin(C, 1/2) of them a one. The two
    directions are mirror images. One more coin is post-processing, so the hockey stick falls as C
    grows: where C has too many values they are cut into blocks and each is taken at its lower
    end, which can only raise delta.
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
        f = _flip(local_epsilon)
        # The likelihood ratio grows with the count and first exceeds e^epsilon at k.
        gap = -math.expm1(-epsilon - local_epsilon)
        tau = (1 - f) * gap / (math.tanh(local_epsilon / 2) * (1 + math.exp(-epsilon)))
        k = np.floor((coins + 1) * tau) + 1
        # f S(k) + (1-f) S(k-1) - e^epsilon [(1-f) S(k) + f S(k-1)], with S(k-1) = S(k) + pmf(k-1).
        high = _coefficients(epsilon, local_epsilon)[1]
        excess = high * binom.pmf(k - 1, coins, 0.5) - math.expm1(epsilon) * binom.sf(k - 1, coins, 0.5)
        return float(weights @ np.maximum(excess, 0.0))

    return delta


def _flip(local_epsilon):
    return 1 / (1 + math.exp(local_epsilon))


def _coefficients(epsilon, local_epsilon):
    """Return f - e^epsilon (1 - f) and (1 - f) - e^epsilon f, the second without cancellation."""
    f = _flip(local_epsilon)
    return f - math.exp(epsilon) * (1 - f), -(1 - f) * math.expm1(epsilon - local_epsilon)
