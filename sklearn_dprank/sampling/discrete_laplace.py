"""Discrete Laplace noise on integers, exactly.

The sampler is Algorithm 2 of Canonne, Kamath and Steinke (2020): it uses integers
only, so its law is the stated one exactly, and nothing leaks through the low bits of a double.
"""

from bisect import bisect_right
from fractions import Fraction
from math import factorial

import numpy as np
from numpy.typing import NDArray

from .bit_source import BitSource

_MAX_DENOMINATOR = 2**48  # with at most 2**15 - 1 whole turns, q * (turns + 1) stays below 2**63
_MAX_TURNS = 2**15 - 1
_FACTORIAL = factorial(12)  # the factorial that rejection wastes least on: .89 of 2**29
_LADDER = np.array([_FACTORIAL // factorial(k) for k in range(12, 0, -1)])
_STEPS = _LADDER.tolist()
_SCALAR = 8  # below this many draws a plain loop beats the arrays


def discrete_laplace(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw integers x with probability proportional to exp(-rate |x|), exactly.

    Added to an integer statistic that one voter moves by at most `sensitivity` in the L1 norm, it
    is epsilon-differentially private with rate = epsilon / sensitivity.

    Parameters
    ----------
    rate : Fraction
        Positive; its denominator must not exceed 2**48 and its numerator must be below 2**63.
        `~sklearn_dprank.privacy.rounding.round_down` of epsilon over a sensitivity up to 10**5 qualifies.
    size : int
        How many to draw.
    bits : BitSource
        Where the uniform integers come from.

    Returns
    -------
    ndarray of int64, shape (size,)
        The noise.

    Raises
    ------
    ValueError
        If `rate` is out of bounds.

    Notes
    -----
    With rate p/q, the magnitude is floor((U + q V) / p), U on 0..q-1 and V geometric. Products of
    q and the round number, which overflow 64 bits, never occur: the Bernoulli(U / (q k)) of the
    paper is the conjunction of independent Bernoulli(U / q) and Bernoulli(1 / k). U + q V would
    overflow only for V >= 2**15, which has probability exp(-32768); V is clipped there.

    References
    ----------
    Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy",
    Algorithms 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.streams import SeededBits
    >>> discrete_laplace(Fraction(1, 10), 5, SeededBits(np.random.SeedSequence(0))).dtype
    dtype('int64')
    """
    rate = rate if isinstance(rate, Fraction) else Fraction(rate)  # a copy would take as long as a tenth of a draw
    p, q = rate.numerator, rate.denominator
    if not 0 < p < 2**63 or q > _MAX_DENOMINATOR:
        raise ValueError(f"rate must be a positive fraction p/q with p < 2**63 and q <= 2**48, got {rate}.")
    if size == 1:
        return np.array([_one_laplace(p, q, bits)], np.int64)
    if size < _SCALAR:
        return np.array([_one_laplace(p, q, bits) for _ in range(size)], np.int64)
    out = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        # A try succeeds with probability 1 - 1/e, less the share of rejected negative zeros.
        tries = int((size - done) * (1.6 + 1.6 * min(p / q, 1.0))) + 8
        start = bits.integers(q, tries)
        start = start[_bernoulli_exp(start, q, bits)]
        magnitude = (start + q * _whole_turns(len(start), bits)) // p
        negative = bits.coins(len(start))
        drawn = np.where(negative, -magnitude, magnitude)[(magnitude > 0) | ~negative][: size - done]
        out[done : done + len(drawn)] = drawn
        done += len(drawn)
    return out


def _harmonic_run(size, bits):
    """Draw lengths of runs of successes of Bernoulli(1/1), Bernoulli(1/2), ...: P(run >= k) = 1/k!."""
    draws = bits.integers(_FACTORIAL, size)
    runs = len(_LADDER) - _LADDER.searchsorted(draws, side="right")
    if np.count_nonzero(draws) < size:  # all twelve succeeded, which happens once in 12! draws
        for i in np.flatnonzero(draws == 0):
            while bits.integer(int(runs[i]) + 1) == 0:
                runs[i] += 1
    return runs


def _bernoulli_exp(numerators, denominator, bits):
    """Draw Bernoulli(exp(-numerator / denominator)) for numerators on 0..denominator (Algorithm 1)."""
    if not len(numerators):
        return np.zeros(0, dtype=bool)
    runs = _harmonic_run(len(numerators), bits)  # at least 1 each
    ends = runs.cumsum()
    starts = ends - runs
    failed = bits.integers(denominator, int(ends[-1])) >= numerators.repeat(runs)
    places = np.where(failed, np.arange(len(failed)), len(failed))
    first_failure = np.minimum.reduceat(places, starts) - starts
    return np.minimum(runs, first_failure) & 1 == 0


def _whole_turns(size, bits):
    """Draw V with P(V >= v) = exp(-v): the gaps between failures in a stream of Bernoulli(1/e)."""
    failures = np.empty(0, dtype=np.int64)
    length = 0
    while len(failures) < size:
        more = int((size - len(failures)) * 1.65) + 16
        # Algorithm 1 with exponent 1: success when the run is even.
        odd = (_harmonic_run(more, bits) & 1).nonzero()[0]
        failures = np.concatenate([failures, odd + length])
        length += more
    turns = failures[:size].copy()
    turns[1:] -= failures[: size - 1] + 1
    return np.minimum(turns, _MAX_TURNS)


def _one_laplace(p, q, bits):
    """Draw one discrete Laplace variate of rate p/q with Python integers."""
    while True:
        start = bits.integer(q)
        if not _one_bernoulli_exp(start, q, bits):
            continue
        turns = 0
        while turns < _MAX_TURNS and _one_run(bits) % 2 == 0:
            turns += 1
        magnitude = (start + q * turns) // p
        negative = bits.integer(2)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def _one_bernoulli_exp(numerator, denominator, bits):
    """Draw one Bernoulli(exp(-numerator / denominator)), with numerator <= denominator."""
    k = 1
    while bits.integer(denominator) < numerator and (k == 1 or bits.integer(k) == 0):
        k += 1
    return k % 2 == 1


def _one_run(bits):
    """Draw one `_harmonic_run`."""
    draw = bits.integer(_FACTORIAL)
    run = len(_LADDER) - bisect_right(_STEPS, draw)
    if draw == 0:
        while bits.integer(run + 1) == 0:
            run += 1
    return run
