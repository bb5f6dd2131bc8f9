"""Exact discrete Laplace noise on integers, with one sampler for a few numbers and one for millions.

`discrete_laplace` is Algorithm 2 of Canonne, Kamath and Steinke (2020). It uses integers only, so its distribution is
exact and the low bits of doubles leak no information. `many_laplace` has the same distribution. It inverts the
distribution function with a table, and is a hundred times as fast once the table exists.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import factorial

import numpy as np
from numpy.typing import NDArray

from .bit_source import BitSource

_MAX_DENOMINATOR = 2**48  # with at most 2**15 - 1 turns, q * (turns + 1) is below 2**63
_MAX_TURNS = 2**15 - 1
_FACTORIAL = factorial(12)  # the factorial with the fewest rejections: 0.89 of 2**29
_LADDER = np.array([_FACTORIAL // factorial(k) for k in range(12, 0, -1)])
_STEPS = _LADDER.tolist()
_SCALAR = 8  # for fewer draws, a plain loop is faster than arrays


def discrete_laplace(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw integers x with probability proportional to exp(-rate |x|), exactly.

    Add them to an integer statistic that one voter changes by at most `sensitivity` in the L1 norm. With rate = epsilon
    / sensitivity, the result is epsilon-differentially private.

    Parameters
    ----------
    rate : Fraction
        Positive, with a denominator of at most 2**48 and a numerator below 2**63. Results of
        `~sklearn_dprank.privacy.rounding.round_down` with a limit of at most 2**48 qualify.
    size : int
        Number of draws.
    bits : BitSource
        Source of uniform integers.

    Returns
    -------
    ndarray of int64, shape (size,)
        The noise.

    Raises
    ------
    ValueError
        If `rate` is out of range.

    Notes
    -----
    With rate p/q, the magnitude is floor((U + q V) / p), where U is uniform on 0..q-1 and V is geometric. Products of q
    and the number of the trial would overflow 64 bits. To avoid them, Bernoulli(U / (q k)) in the paper is drawn as the
    conjunction of independent Bernoulli(U / q) and Bernoulli(1 / k). U + q V would overflow only for V >= 2**15, which
    has probability exp(-32768). V is clipped below that.

    References
    ----------
    Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy",
    Algorithms 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> discrete_laplace(Fraction(1, 10), 5, SeededBits(np.random.SeedSequence(0))).dtype
    dtype('int64')
    """
    rate = rate if isinstance(rate, Fraction) else Fraction(rate)  # a copy would cost a tenth of a draw
    p, q = rate.numerator, rate.denominator
    if not 0 < p < 2**63 or q > _MAX_DENOMINATOR:
        raise ValueError(f"rate must be a positive fraction p/q with p < 2**63 and q <= 2**48, got {rate}.")
    if size < _SCALAR:
        return np.array([_one_laplace(p, q, bits) for _ in range(size)], np.int64)
    out = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        # A trial succeeds with probability 1 - 1/e, minus the share of rejected negative zeros.
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
    if np.count_nonzero(draws) < size:  # all twelve succeeded, with probability 1/12!
        for i in np.flatnonzero(draws == 0):
            while bits.integer(int(runs[i]) + 1) == 0:
                runs[i] += 1
    return runs


def _bernoulli_exp(numerators, denominator, bits):
    """Draw Bernoulli(exp(-numerator / denominator)) for numerators in 0..denominator (Algorithm 1)."""
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
        # Algorithm 1 with exponent 1: success if the run is even.
        odd = (_harmonic_run(more, bits) & 1).nonzero()[0]
        failures = np.concatenate([failures, odd + length])
        length += more
    turns = failures[:size].copy()
    turns[1:] -= failures[: size - 1] + 1
    return np.minimum(turns, _MAX_TURNS)


def _one_laplace(p, q, bits):
    """Draw one discrete Laplace number of rate p/q with Python integers."""
    while True:
        start, k = bits.integer(q), 1
        while bits.integer(q) < start and (k == 1 or bits.integer(k) == 0):
            k += 1
        if k % 2 == 0:  # Bernoulli(exp(-start / q)) failed
            continue
        turns = 0
        while turns < _MAX_TURNS and _one_run(bits) % 2 == 0:
            turns += 1
        magnitude = (start + q * turns) // p
        negative = bits.integer(2)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def _one_run(bits):
    """Draw one length as in `_harmonic_run`."""
    draw = bits.integer(_FACTORIAL)
    run = len(_LADDER) - bisect_right(_STEPS, draw)
    if draw == 0:
        while bits.integer(run + 1) == 0:
            run += 1
    return run


LEAST_RATE = Fraction(1, 1000)  # for smaller rates, the table would have more than 44,000 steps per side
_DIGITS = 60  # initial number of decimal digits of the steps
_UNDECIDED = np.iinfo(np.int64).min


def many_laplace(rate: Fraction, size: int, bits: BitSource) -> NDArray[np.int64]:
    """Draw integers x with probability proportional to exp(-rate |x|), exactly.

    Parameters
    ----------
    rate : Fraction
        At least `LEAST_RATE`.
    size : int
        Number of draws. From about 100,000 draws, the table saves time.
    bits : BitSource
        Source of the uniform numbers u (see Notes).

    Returns
    -------
    ndarray of int64, shape (size,)
        The noise.

    Raises
    ------
    ValueError
        If `rate` is too small.

    Notes
    -----
    For u uniform on (0, 1), x is the largest k with P(x >= k) > u. The comparison is exact:

    - Two bytes of u determine x, unless a step P(x >= k) lies among the numbers that begin with these bytes. A table
      contains x for them.
    - Otherwise, u gets six more bytes, and these 64 bits are compared with the integer parts of 2^64 P(x >= k).
    - With probability below 2^-47, the 64 bits equal one of these integer parts. Then u gets as many further bits as it
      needs.

    All comparisons use integers. The steps are computed from decimals of sixty digits with a bounded error. An integer
    part is used only if it is the same with the error added and subtracted. Otherwise, the number of digits is doubled.
    The steps are exp(-rate k) / (1 + exp(-rate)) for k > 0, and are mirrored at one half. They are never multiples of
    2^-64, because exp of a nonzero fraction is transcendental.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.sampling.bit_source import SeededBits
    >>> noise = many_laplace(Fraction(1, 2), 10**6, SeededBits(np.random.SeedSequence(0)))
    >>> bool(abs(noise.mean()) < 0.02)
    True
    """
    if rate < LEAST_RATE:
        raise ValueError(f"rate must be at least 1/1000, got {float(rate):g}.")
    steps, table = _table(rate)
    leads = bits.words(-(-size // 4)).view(np.uint16)[:size]
    out = table.take(leads)
    rows = (out == _UNDECIDED).nonzero()[0]
    words = bits.words(len(rows)) >> np.uint64(16) | leads[rows].astype(np.uint64) << np.uint64(48)
    above = steps.searchsorted(words, side="right")
    out[rows] = len(steps) // 2 - above
    for at in (steps[above - 1] == words).nonzero()[0]:  # if `above` is 0, the last step is larger too
        out[rows[at]] = _settled(rate, int(words[at]), bits)
    return out


@lru_cache(maxsize=4)
def _table(rate):
    """Return the steps, ascending, and x for each pair of bytes of u, or `_UNDECIDED`."""
    # The integer parts of 2^64 P(x >= k) for k = 1, 2, ..., up to and including the first 0.
    digits, parts = _DIGITS, list[int]()
    while not parts or parts[-1]:
        with localcontext(prec=digits):
            ratio, error, parts = (-Decimal(rate.numerator) / rate.denominator).exp(), Decimal(10) ** (30 - digits), []
            chance = 2**64 * ratio / (1 + ratio)
            # After k roundings, the relative error is about k 10^-digits; 2^64 times 44,000 is below 10^24.
            while (not parts or parts[-1]) and int(chance - error) == int(chance + error):
                parts.append(int(chance))
                chance *= ratio
        digits *= 2
    behind = np.array(parts, dtype=np.uint64)
    steps = np.concatenate([behind[::-1], ~behind])  # P(x >= 1 - k) = 1 - P(x >= k)
    edges = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    last = edges + np.uint64(2**48 - 1)
    table = len(steps) // 2 - steps.searchsorted(edges, side="right")
    return steps, np.where(steps.searchsorted(last, side="right") != steps.searchsorted(edges), _UNDECIDED, table)


def _settled(rate, digits, bits):
    """Return x for a u with these first 64 bits; draw further bits until they determine x."""
    mirrored, length = digits >= 2**63, 64
    if mirrored:  # x(1 - u) = -x(u)
        digits = 2**64 - 1 - digits
    while True:
        if digits and (least := _reach(rate, digits + 1, length, -1)) == _reach(rate, digits, length, 1):
            return -least if mirrored else least
        digits, length = digits << 64 | bits.integer(2**64), length + 64


def _reach(rate, digits, length, side):
    """Return the largest k >= 0 with P(x >= k) > u, for u = digits / 2^length up to one half.

    This is the integer part of -ln(u (1 + exp(-rate))) / rate, rounded with an error bound in the direction of `side`.
    """
    with localcontext(prec=60 + length * 302 // 1000):
        power = Decimal(rate.numerator) / rate.denominator
        chance = Decimal(digits) / 2**length * (1 + (-power).exp())
        k = -chance.ln() * rate.denominator / rate.numerator
        return max(0, math.floor(k + side * Decimal(10) ** -(20 + length * 302 // 1000)))
