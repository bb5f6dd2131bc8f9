"""Privacy of Gaussian noise, of bounded ranges, and of many releases together.

Every result is rounded to the side that protects more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, gammaln, ndtr

from .._utils.checks import check_choice, check_number, check_positive
from .._utils.types import GaussianConstant
from .rounding import rounded_down, rounded_up, smallest, sum_up

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_LEAST_DELTA = 1e-290  # down to here, the tails are doubles of full precision
_SLACK = 1e-10  # relative; far above the rounding errors of `gaussian_delta`
_CLASSICAL = {"dwork_roth": 1.25, "dwork_2006": 0.8, "two": 2.0}


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the exact delta of Gaussian noise at `epsilon`.

    Parameters
    ----------
    epsilon : float
        At least 0.
    sigma : float
        Standard deviation of the noise on each coordinate.
    sensitivity : float, default=1.0
        Largest change of the statistic by one voter, in the L2 norm. For q adaptive answers of sensitivity D each, it
        is D sqrt(q).

    Returns
    -------
    float
        Phi(r/2 - epsilon/r) - e^epsilon Phi(-r/2 - epsilon/r), with r = sensitivity / sigma.

    Raises
    ------
    ValueError
        If `epsilon` is negative, or if `sigma` or `sensitivity` is not positive.

    Notes
    -----
    With x = epsilon/r - r/2 and Mills' ratio M, the result is phi(x) (M(x) - M(x + r)). For small r, the difference is
    computed as the integral of -M' = 1 - x M(x). This avoids cancellation, and e^epsilon is never computed.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian mechanism for differential privacy", Theorem 8.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 3.0), 6)
    0.000208
    """
    check_number(epsilon, "epsilon", least=0)
    check_positive(sigma=sigma, sensitivity=sensitivity)
    return float(_deltas(float(epsilon), float(sensitivity) / float(sigma)))  # single precision is too coarse for tails


def gaussian_deltas(epsilons: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Return the exact delta at each epsilon of Gaussian releases with total parameter mu.

    Parameters
    ----------
    epsilons : ndarray of float
        May be negative. Delta is the largest excess of a probability over e^epsilon times the probability under a
        neighbour.
    mu : float
        Sensitivity over standard deviation; 0 for releases that reveal no information.

    Examples
    --------
    >>> gaussian_deltas(np.array([-1.0, 0.0, 1.0]), 0.5).round(4)
    array([0.6346, 0.1974, 0.0068])
    """
    epsilons = np.asarray(epsilons, dtype=float)
    deltas = _deltas(np.abs(epsilons), mu) if mu > 0 else np.zeros_like(epsilons)
    return np.where(epsilons < 0, _mirrored(np.abs(epsilons), deltas), deltas)


def _deltas(epsilon, r):
    """Return phi(x) (M(x) - M(x + r)), with x = epsilon/r - r/2, for epsilons of at least 0."""
    x = np.minimum(epsilon / r - r / 2, 1e100)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    if r > 1:
        return ndtr(-x) - density * _mills(x + r)
    grid = x[..., None] + r * (_NODES + 1) / 2
    return density * r / 2 * np.sum(_WEIGHTS * (1 - grid * _mills(grid)), axis=-1)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest standard deviation that makes Gaussian noise (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        Strictly between 0 and 1.
    sensitivity : float, default=1.0
        Largest change of the statistic by one voter, in the L2 norm. For q adaptive answers of sensitivity D each, it
        is D sqrt(q).

    Returns
    -------
    float
        Rounded up: at this sigma, `gaussian_delta` is at most `delta`.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    Balle and Wang (2018), "Improving the Gaussian mechanism for differential privacy", Algorithm 1.

    Examples
    --------
    >>> round(gaussian_sigma(1.0, 1e-4), 4)
    3.1857
    """
    check_number(delta, "delta", least=_LEAST_DELTA, below=1)
    check_positive(sensitivity=sensitivity)
    delta = float(delta)
    enough = smallest(lambda sigma: gaussian_delta(epsilon, sigma) <= delta * (1 - _SLACK))
    return enough * float(sensitivity) * (1 + 2.0**-50)


def gaussian_epsilon(delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Return the smallest epsilon of Gaussian noise at `delta`.

    Use it to find the true epsilon of a noise scale as printed in a paper.

    Parameters
    ----------
    delta : float
        Strictly between 0 and 1.
    sigma : float
        Standard deviation of the noise on each coordinate.
    sensitivity : float, default=1.0
        Largest change of the statistic by one voter, in the L2 norm.

    Returns
    -------
    float
        Rounded up; 0 if `delta` alone covers the privacy loss.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> round(gaussian_epsilon(1e-4, 3.1857), 4)
    1.0
    """
    check_number(delta, "delta", least=_LEAST_DELTA, below=1)
    most = float(delta) * (1 - _SLACK)
    return smallest(lambda epsilon: gaussian_delta(epsilon, sigma, sensitivity) <= most, from_zero=True)


def classical_gaussian_sigma(
    epsilon: float,
    delta: float,
    sensitivity: float = 1.0,
    constant: GaussianConstant = "dwork_roth",
) -> float:
    """Return the standard deviation as printed in the papers: sensitivity sqrt(2 ln(c / delta)) / epsilon.

    Parameters
    ----------
    epsilon : float
        Positive. The formulas are proved for epsilon up to 1.
    delta : float
        Between 0 and 1, and below c.
    sensitivity : float, default=1.0
        Largest change of the statistic by one voter, in the L2 norm.
    constant : {"dwork_roth", "dwork_2006", "two"}, default="dwork_roth"
        c = 5/4 (Dwork and Roth, 2014; Song et al., 2022), c = 4/5 (Dwork et al., 2006) or c = 2.

    Returns
    -------
    float
        Sigma as printed. `gaussian_epsilon` and `gaussian_delta` compute its true privacy.

    Raises
    ------
    ValueError
        If a parameter is out of range or `constant` is unknown.

    Notes
    -----
    The surviving text of Shang et al. (2014) does not show whether Theorem 1 has c = 4/5 or c = 2. The two differ by 4
    % at delta = 5e-5, and both are valid for epsilon <= 1. Above 1, the 5/4 form is not proved. At delta = 1e-4, it
    fails only from about epsilon = 8. `gaussian_sigma` is always valid, and smaller than these formulas where they are
    valid.

    References
    ----------
    Dwork and Roth (2014), "The algorithmic foundations of differential privacy", Theorem A.1.
    Shang, Wang, Cuff and Kulkarni (2014), "The application of differential privacy for rank
    aggregation: privacy and accuracy", Theorem 1.

    Examples
    --------
    >>> round(classical_gaussian_sigma(1.0, 1e-4), 4)
    4.3436
    """
    check_choice(constant, "constant", _CLASSICAL)
    c = _CLASSICAL[constant]
    check_number(delta, "delta", least=_LEAST_DELTA, below=min(1, c))
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    return sensitivity * math.sqrt(2 * math.log(c / delta)) / epsilon


def _mills(x):
    """Return Mills' ratio (1 - Phi(x)) / phi(x)."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


# Tight adaptive composition of choices of bounded range, such as those of the exponential mechanism.
#
# A choice has range w if the logs of its probability ratios under two neighbours lie in an interval of length w, for
# all outcomes. The exponential mechanism with epsilon w has range w, which is stronger than pure epsilon w.
#
# Let V_k(epsilon) be the largest delta of k adaptive choices at epsilon, with V_0(epsilon) = max(0, 1 - e^epsilon). The
# loss of the first choice lies in some interval from t - w to t, with 0 <= t <= w, and V_k-1 is convex as a function of
# e^epsilon. The worst choice therefore has the two losses t, with probability q, and t - w. The mean of e^-loss is 1,
# so q = (e^w - e^t) / (e^w - 1), and
#
#     V_k(epsilon) = max over t of q V_k-1(epsilon - t) + (1 - q) V_k-1(epsilon - t + w).
#
# References: Durfee and Rogers (2019), "Practical differentially private top-k selection with pay-what-you-get
# composition", for bounded range; Dong, Durfee and Rogers (2020), "Optimal differential privacy composition for
# exponential mechanisms and the cost of adaptivity", for the worst choice and the recursion.

_STEPS, _FEW_STEPS, _MANY = 16, 8, 256  # grid steps per range, and above this number of choices
_FAR = 16.0  # standard deviations of the total loss; a loss beyond them has a probability below 1e-55
_LARGEST = 50.0  # epsilon per choice from which the sum of epsilons is used
_SUM_SLACK = 1e-9  # relative; far above the rounding errors of the sums


def range_deltas(width: float, n_choices: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an upper bound on the total delta of adaptive choices, on a grid of epsilons.

    Parameters
    ----------
    width : float
        Range of each choice; positive.
    n_choices : int
        Number of choices.

    Returns
    -------
    epsilons, deltas : ndarray of float, shape (n_values,)
        Ascending epsilons from 0, and the bound at each. Above the grid, it is at most the last delta.

    Notes
    -----
    Between the grid points jh and (j + 1) h, let t = jh + log(1 + (g - 1) x), with g = e^h and x from 0 to 1. The
    perspective of a convex function is convex, so e^t V(epsilon - t) lies below its chord in x, and so does e^t
    V(epsilon - t + w). Let A_j = V(epsilon - jh), B_j = V(epsilon - jh + w), and q_j = q at t = jh. These chords and
    the linear q bound q A + (1 - q) B from above by a quadratic polynomial in x over 1 + (g - 1) x. As a rational
    Bezier curve, it is at most the largest of its three control values:

    - at x = 0, q_j A_j + (1 - q_j) B_j, and at x = 1 the same for j + 1;
    - in the middle, (g (q_j A_j+1 + (1 - q_j) B_j+1) + q_j+1 A_j + (1 - q_j+1) B_j) / (1 + g).
    """
    steps = _STEPS if n_choices <= _MANY else _FEW_STEPS
    far = math.ceil(_FAR * math.sqrt(n_choices) / 2 + width * n_choices / 8)
    step, most = width / steps, steps * min(n_choices, far)
    epsilons: NDArray[np.float64] = step * np.arange(most + 1, dtype=np.float64)
    deltas = np.zeros(most + 1)
    t = step * np.arange(steps + 1)
    high = np.exp(t) * np.expm1(step * np.arange(steps, -1, -1)) / math.expm1(width)  # q, for loss t
    low = np.expm1(t) / math.expm1(width)  # 1 - q, for loss t - w
    growth, size = math.exp(step), most + 1
    for _ in range(n_choices):
        below = _mirrored(epsilons[steps:0:-1], deltas[steps:0:-1])
        known = np.concatenate([below, deltas, np.full(steps, deltas[-1])])
        after_high = [known[steps - j : steps - j + size] for j in range(steps + 1)]
        after_low = [known[2 * steps - j : 2 * steps - j + size] for j in range(steps + 1)]
        for j in range(steps + 1):
            np.maximum(deltas, high[j] * after_high[j] + low[j] * after_low[j], out=deltas)
            if j < steps:
                middle = growth * (high[j] * after_high[j + 1] + low[j] * after_low[j + 1])
                middle += high[j + 1] * after_high[j] + low[j + 1] * after_low[j]
                np.maximum(deltas, middle / (1 + growth), out=deltas)
    return epsilons, deltas


def _mirrored(epsilons, deltas):
    """Return the deltas at -epsilons; the two neighbours can be exchanged."""
    return np.exp(-epsilons) * deltas - np.expm1(-epsilons)


def range_delta(epsilon: float, width: float, n_choices: int) -> float:
    """Return an upper bound on the delta of adaptive choices of range `width` at `epsilon`.

    Examples
    --------
    >>> round(range_delta(1.0, 0.1, 44), 9), range_delta(1.0, 0.5, 2)
    (0.000215873, 0.0)
    """
    if epsilon < 0:
        return float(_mirrored(-epsilon, range_delta(-epsilon, width, n_choices)))
    epsilons, deltas = range_deltas(width, n_choices)
    above = int(np.searchsorted(epsilons, epsilon, side="right"))
    if above == len(epsilons):
        return 0.0 if epsilon >= n_choices * width else float(deltas[-1])
    before, after = np.expm1(epsilons[above - 1 : above + 1] - epsilon)
    share = -before / (after - before)  # the chord in e^epsilon lies above the convex curve
    return float((1 - share) * deltas[above - 1] + share * deltas[above])


@lru_cache(maxsize=256)
def choice_range(epsilon: float, delta: float, n_choices: int) -> float:
    """Return about the largest range for which adaptive choices are together (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        Total epsilon; positive.
    delta : float
        Total delta, strictly between 0 and 1.
    n_choices : int
        Number of choices, each of which may depend on the results of earlier ones.

    Returns
    -------
    float
        Rounded down. At least epsilon / n_choices, the range of choices whose epsilons add up. For many choices and
        delta = 1e-6, it is 8 % larger than sqrt(8 rho / n_choices), with the rho of zero-concentrated differential
        privacy that gives (epsilon, delta).

    Examples
    --------
    >>> round(choice_range(1.0, 1e-6, 44), 4), round(1 / 44, 4)
    (0.0712, 0.0227)
    """
    basic = rounded_down(epsilon / n_choices * (1 - 2.0**-50))
    if basic > _LARGEST:
        return basic

    allowed = delta * (1 - _SUM_SLACK)

    def excess(log_width):
        return math.log(max(range_delta(epsilon, math.exp(log_width), n_choices), 5e-324)) - math.log(allowed)

    # Many choices lose about as much as one Gaussian release with mu = width sqrt(n_choices) / 2.
    guess = 1.9 / (gaussian_sigma(epsilon, max(delta, 1e-200)) * math.sqrt(n_choices))
    low = math.log(max(basic, min(guess, _LARGEST)))
    if excess(low) > 0:
        low = math.log(basic)
        if excess(low) > 0:  # by rounding: exp(log(basic)) may be above basic, and delta next to nothing
            return basic
    high, ahead = low, 0.1
    while excess(high) <= 0:
        low, high, ahead = high, high + ahead, 2 * ahead
        if high > math.log(2 * _LARGEST):
            return math.exp(low)
    width = math.exp(brentq(excess, low, high, xtol=1e-7))
    while width > basic and range_delta(epsilon, width, n_choices) > allowed:
        width *= 1 - 1e-7
    return max(width, basic)


# Tight composition of pure, Gaussian and other releases.
#
# A pure release of epsilon reveals at most as much as randomised response of epsilon (a coin). A Gaussian release
# reveals at most as much as one number from N(0, 1) or N(mu, 1). Here, mu is its sensitivity over its standard
# deviation. Both hold for adaptive releases. Together, releases therefore reveal at most as much as one coin per pure
# release and one Gaussian number. For this number, mu^2 = mu_1^2 + ... The privacy loss of coin i is +-epsilon_i. With
# L the sum of these losses, delta(epsilon) is the mean of the Gaussian's delta(epsilon - L).

_VALUES = 1 << 14  # largest number of values of the coins' total loss; beyond it, an integral replaces their sum
_ALIKE = 5e-3  # relative; epsilons of many releases are rounded up by at most this much
_SMOOTHED = 1e-4  # mu^2 of a Gaussian release that the integral adds, relative to the sum of the squared epsilons


class Losses(NamedTuple):
    """Privacy losses of releases, in the form that composition needs.

    Attributes
    ----------
    mu_squared : float
        Sum of (sensitivity / standard deviation)^2 over the Gaussian releases.
    pure : tuple of float
        Epsilons of the pure releases.
    approximate : tuple of (float, float)
        (epsilon, delta) of all other releases.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian differential privacy", Theorem 4 and Proposition 4;
    Kairouz, Oh and Viswanath (2017), "The composition theorem for differential privacy", Theorem 3.3.
    """

    mu_squared: float = 0.0
    pure: tuple[float, ...] = ()
    approximate: tuple[tuple[float, float], ...] = ()

    @classmethod
    def together(cls, losses: Iterable[Losses]) -> Losses:
        """Return the combined losses of several releases."""
        losses = list(losses)
        return cls(
            sum_up(each.mu_squared for each in losses),
            tuple(epsilon for each in losses for epsilon in each.pure),
            tuple(pair for each in losses for pair in each.approximate),
        )

    def check(self) -> None:
        """Raise ValueError if a number is negative or NaN, or a delta is above 1."""
        try:
            numbers = [("mu_squared", self.mu_squared, math.inf), *(("pure", each, math.inf) for each in self.pure)]
            for epsilon, delta in self.approximate:
                numbers += [("approximate epsilons", epsilon, math.inf), ("approximate deltas", delta, 1)]
        except (TypeError, ValueError):
            raise ValueError("losses must hold mu_squared, a tuple pure and pairs (epsilon, delta).") from None
        for name, value, most in numbers:
            check_number(value, f"losses: {name}", least=0, most=most)

    @lru_cache(maxsize=256)  # noqa: B019, a tuple of numbers is small
    def epsilon(self, delta: float) -> float:
        """Return about the smallest epsilon at total `delta`, which includes the deltas of approximate releases.

        Returns
        -------
        float
            Rounded up; `inf` if `delta` is too small for any epsilon. Without Gaussian releases, at most the sum of the
            epsilons.

        Examples
        --------
        >>> from sklearn_dprank.privacy.composition import gaussian_sigma
        >>> ten = Losses(10 / gaussian_sigma(0.1, 1e-7) ** 2)
        >>> round(ten.epsilon(1e-6), 3)
        0.298
        """
        epsilons = [*self.pure, *(epsilon for epsilon, _ in self.approximate)]
        basic = sum_up(epsilons)
        left = delta - sum_up(each for _, each in self.approximate)
        if left < 0 or math.isinf(self.mu_squared):
            return math.inf
        if left < _LEAST_DELTA or math.isinf(basic):  # so far out, tails are rounded to 0
            return math.inf if self.mu_squared else basic
        groups = Counter(epsilon for epsilon in epsilons if epsilon > 0)
        if math.prod(count + 1 for count in groups.values()) <= _VALUES:
            values, weights = coin_losses(groups)
            mu = math.sqrt(self.mu_squared) * (1 + 2.0**-50)

            def delta_at(epsilon):
                return weights @ gaussian_deltas(epsilon - values, mu)
        else:
            delta_at = _deltas_of_many(groups, self.mu_squared, left)

        tight = smallest(lambda epsilon: delta_at(epsilon) <= left * (1 - _SUM_SLACK), from_zero=True)
        return tight if self.mu_squared else min(basic, tight)

    def twice(self) -> Self:
        """Return the losses of the same releases for neighbours at distance 2 (group privacy)."""
        return type(self)(
            4 * self.mu_squared,
            tuple(2 * epsilon for epsilon in self.pure),
            tuple((2 * epsilon, delta_of_two(epsilon, delta)) for epsilon, delta in self.approximate),
        )


def delta_of_two(epsilon: float, delta: float) -> float:
    """Return delta (1 + e^epsilon), rounded up: the delta of group privacy at distance 2 and 2 epsilon."""
    if not delta:
        return 0.0
    if epsilon > 700.0:  # where e^epsilon is close to the largest double
        return 1.0
    growth = math.exp(epsilon)  # the error is less than one ulp
    growth = math.nextafter(math.nextafter(growth, math.inf), math.inf)
    return min(1.0, rounded_up(Fraction(delta) * (1 + Fraction(growth))))


def coin_losses(groups: Mapping[float, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the possible total losses of several randomised responses, rounded up, and their probabilities.

    Parameters
    ----------
    groups : dict of float to int
        Numbers of responses by epsilon. Each response loses epsilon with probability e^epsilon / (1 + e^epsilon), else
        -epsilon.

    Returns
    -------
    losses, weights : ndarray of float, shape (n_values,)

    Examples
    --------
    >>> losses, weights = coin_losses({1.0: 2})
    >>> losses.round(3).tolist(), weights.round(3).tolist()
    ([-2.0, 0.0, 2.0], [0.072, 0.393, 0.534])
    """
    losses, weights = np.zeros(1), np.ones(1)
    for epsilon, count in sorted(groups.items()):
        heads = np.arange(count + 1)  # binomial; the odds of heads are e^epsilon to 1
        ways = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1)
        shares = np.exp(ways + heads * epsilon - count * np.logaddexp(0, epsilon))
        losses = (losses[:, None] + epsilon * np.arange(-count, count + 1, 2)).ravel()
        weights = (weights[:, None] * shares).ravel()
    return losses + losses.max(initial=0) * (len(groups) + 1) * 2.0**-52, weights


def _deltas_of_many(groups, mu_squared, delta):
    """Return an upper bound on delta as a function of epsilon, for `groups` of coins and a Gaussian number.

    Let K(t) = log E[e^(t L)] for the total loss L. A coin adds log(cosh(epsilon (t + 1/2)) / cosh(epsilon / 2)), and
    the Gaussian number adds t (t + 1) mu^2 / 2. For any c > 0, delta(epsilon) is the integral over all real y of f(y) =
    e^(K(t) - t epsilon) / (2 pi t (t + 1)), with t = c + iy. The trapezoidal rule with step s = 2 pi / T is s (f(0) + 2
    Re f(s) + 2 Re f(2 s) + ...). It equals the sum of e^(c T k) delta(epsilon + T k) over all integers k. It therefore
    errs upwards, by a negligible amount if T is large. An additional small Gaussian release makes the integrand vanish
    beyond y = 10 / mu. Gopi, Lee and Wutschitz (2021) and Zhu, Dong and Wang (2022) describe this inversion.
    """
    steps: Counter[float] = Counter()
    for epsilon, count in groups.items():
        if len(groups) >= 500:  # round up to one of few values, by at most half a percent
            epsilon = max(epsilon, math.exp(math.ceil(math.log(epsilon) / _ALIKE) * _ALIKE))
        steps[epsilon] += count
    total = sum(count * epsilon**2 for epsilon, count in steps.items())
    mu_squared = max(mu_squared, 0.0) + _SMOOTHED * total

    def log_moments(t):
        return t * (t + 1) * mu_squared / 2 + sum(
            count * (_log_cosh(epsilon * (t + 0.5)) - _log_cosh(np.array([epsilon / 2])))
            for epsilon, count in steps.items()
        )

    c = np.logspace(-1, 5, 300) / math.sqrt(total + mu_squared)  # a smaller one, for delta near 1, takes more nodes
    bounds = (log_moments(c) + c * np.log(c) - (c + 1) * np.log1p(c) - math.log(delta)) / c  # Chernoff's, of epsilon
    best = np.argmin(bounds)
    c, most = c[best], bounds[best]
    period = (60 - math.log(delta)) / c + 2 * max(most, 0.0)
    y = np.arange(0.0, 10 / math.sqrt(mu_squared), 2 * math.pi / period)
    t, top = c + 1j * y, log_moments(c[None])[0]
    values = np.exp(log_moments(t) - top) / (t * (t + 1)) * np.where(y > 0, 2, 1) / period

    largest = sum(count * epsilon for epsilon, count in steps.items())
    rounding = 1e-13 * (1 + largest) * np.abs(values).sum()  # decides if epsilon is far below `most`

    def delta_at(epsilon):
        exponent = top - c * epsilon
        found = max((values * np.exp(-1j * y * epsilon)).real.sum(), 0.0) + rounding
        return math.inf if exponent > 700 else math.exp(exponent) * found

    return delta_at


def _log_cosh(x):
    """Return log cosh of numbers whose real part is at least 0, with a small relative error."""
    far = x.real > 20
    a, b = np.where(far, 0, x.real), x.imag  # log1p of a complex number has an absolute error
    size = np.log1p(np.sinh(a) ** 2 - np.sin(b) ** 2) / 2
    near = size if np.isrealobj(x) else size + 1j * np.arctan2(np.sinh(a) * np.sin(b), np.cosh(a) * np.cos(b))
    return np.where(far, x - math.log(2) + np.log1p(np.exp(-2 * np.where(far, x, 0))), near)
