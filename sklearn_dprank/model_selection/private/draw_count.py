"""Exact sampling of the number of draws from the truncated negative binomial distribution."""

import math
from fractions import Fraction
from numbers import Real

from scipy.optimize import brentq

from ..._utils.checks import check_number, safe_repr

_ETA = {"geometric": 1.0, "logarithmic": 0.0}
_LONGEST = 10**5  # limit of 1 / gamma, because P(K > k) decays like (1 - gamma)^k


def eta_of(distribution):
    """Return eta of `distribution` (a name or eta itself); raise ValueError if it is invalid."""
    if isinstance(distribution, str) and distribution in _ETA:
        return _ETA[distribution]
    if isinstance(distribution, Real) and not isinstance(distribution, bool) and -1 < float(distribution) <= 1:
        return float(distribution)
    known = '"geometric", "logarithmic" or a number eta with -1 < eta <= 1'
    raise ValueError(f"distribution must be {known}, got {safe_repr(distribution)}.")


def mean_draws_of(eta, log_inverse_gamma):
    """Return E[K] of the truncated negative binomial distribution for eta > -1, as a double.

    It is eta (1 - gamma) / (gamma (1 - gamma^eta)), and (1 - gamma) / (gamma log(1 / gamma)) for eta = 0.
    `log_inverse_gamma` is log(1 / gamma), at least 0.
    """
    t = log_inverse_gamma
    if t == 0:
        return 1.0
    return math.expm1(t) / t * (1.0 if eta * t == 0 else eta * t / -math.expm1(-eta * t))


def gamma_of(eta, mean_draws):
    """Return gamma in (0, 1] with E[K] = `mean_draws`, as a Fraction.

    It is exact for eta = 1, and accurate to double precision otherwise. No guarantee depends on it. A `mean_draws` with
    gamma below 1e-5 raises ValueError, because the number of draws would have too long a tail.
    """
    check_number(mean_draws, "mean_draws", least=1)
    mean, most = float(mean_draws), math.log(_LONGEST)
    largest = mean_draws_of(eta, most)
    if mean > largest * (1 + 1e-12):
        raise ValueError(
            f"mean_draws must be at most {math.floor(largest + 1e-6)} with this distribution, got {mean_draws!r}: the "
            "number of draws would now and then be a hundred thousand times as large."
        )
    if eta == 1:
        return 1 / Fraction(mean)
    found = brentq(lambda t: mean_draws_of(eta, t) - mean, 0.0, most * (1 + 1e-9), xtol=1e-14)
    return Fraction(math.exp(-found))


def draw_count(eta, gamma, bits):
    """Draw K >= 1 exactly from the truncated negative binomial distribution, for -1 < eta <= 1 and a Fraction gamma.

    It uses rejection, step by step. For eta >= 0, a geometric number is accepted with the product of the (l + eta) / (l
    + 1). For eta < 0, the product is proportional to the law of a number that stops at k with probability -eta / k.
    That number is accepted with probability (1 - gamma)^(k - 1). The mean number of steps is at most about 1 / gamma.
    """
    eta = Fraction(eta)
    while True:
        k = 1
        while True:
            stop, stay = (gamma, (k + eta) / (k + 1)) if eta >= 0 else (-eta / k, 1 - gamma)
            if happens(stop, bits):
                return k
            if not happens(stay, bits):
                break
            k += 1


def happens(probability, bits):
    """Return True with exactly this probability, a Fraction, by comparing its binary digits with uniform ones."""
    rest, whole = probability.numerator, probability.denominator
    while rest:
        digits, rest = divmod(rest << 64, whole)
        drawn = bits.integer(2**64)
        if drawn != digits:
            return drawn < digits
    return False
