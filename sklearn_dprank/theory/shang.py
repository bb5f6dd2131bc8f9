"""Shang, Wang, Cuff and Kulkarni (2014): probability that noise on the histogram changes a positional ranking.

The normalised profile p is uniform on the simplex of the m! rankings. Every count gets independent N(0, sigma^2) noise,
and candidates are sorted by total positional score. For a pair of candidates, let b be the unit vector along the
difference of their scores, and D = <b, p>. Noise reverses the pair with probability Q(n |D| / sigma). The error rate is
at most C(m, 2) times the expectation of this probability.

The simplex has N = m! vertices. D is the signed distance of a profile to the tie of the pair, with density f_D.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.special import ndtr

from .._utils.checks import at_least_two, check_choice, check_number, check_positive
from .._utils.types import GaussianConstant
from ..mechanisms import Gaussian, GaussianNoise
from ..mechanisms.additive import Times
from ..privacy.composition import classical_gaussian_sigma, gaussian_epsilon
from ..privacy.rounding import root_up
from ..queries import Histogram, Query, ScoresByHistogram, Sensitivity

__all__ = [
    "PrintedGaussian",
    "borda_bound",
    "central_density",
    "equation_27",
    "lemma_2",
    "lemma_3",
    "printed_sigma",
    "score_noise_std",
    "simple_bound",
    "slab_probability",
    "theorem_2",
    "webb_density_bound",
]


class PrintedGaussian(Gaussian):
    """Gaussian noise with the scale that Shang et al. print for the histogram, for ``noise=`` of `DPHistogram`.

    The guarantee states the true epsilon of this scale.

    Notes
    -----
    Theorem 1 prints sigma = sqrt(2 ln(2 / delta)) / epsilon for an L2 sensitivity of 1, which is that of a histogram
    under "add_remove". Under "replace", it is sqrt(2).

    References
    ----------
    Shang, Wang, Cuff and Kulkarni (2014), Theorem 1.

    Examples
    --------
    >>> from sklearn_dprank import DPHistogram
    >>> from sklearn_dprank.theory.shang import PrintedGaussian
    >>> printed = DPHistogram(0.1, 5e-5, noise=PrintedGaussian(), random_state=0)
    >>> round(printed.fit([[0, 1, 2]] * 100).privacy_.epsilon, 4)
    0.0535
    """

    def refusal(self, query: Query, n_items: int) -> str:
        """Return the remedy for a query for which the paper prints no scale, else ""."""
        if isinstance(query, (Histogram, ScoresByHistogram)):
            return ""
        return "Shang et al. print a scale of noise for histograms only; use noise='gaussian'."

    def calibrated(
        self, query: Query, sensitivity: Sensitivity, n_items: int, epsilon: Fraction, delta: float, times: Times = 1
    ) -> GaussianNoise:
        """Return noise with the printed sigma; `times` answers count as one of sqrt(times) times the sensitivity."""
        printed = query.sensitivity(n_items, "add_remove").l2_squared
        sigma = classical_gaussian_sigma(float(epsilon), delta, root_up(printed * times), "two")
        return _PrintedGaussianNoise(sigma)


@dataclass(frozen=True)
class _PrintedGaussianNoise(GaussianNoise):
    """Gaussian noise whose sigma follows from a printed formula."""

    def spent(self, sensitivity, times, delta):
        """Return the smallest epsilon of `times` answers at `delta`."""
        spent = gaussian_epsilon(delta, self.sigma, root_up(sensitivity.l2_squared * times))
        # For an epsilon of millions, subtracting half a square of that size leaves a relative error of 2**-52.
        return Fraction(spent) * (1 + Fraction(1, 2**48))


def lemma_2(n_voters: float, n_items: int, sigma: float, width: float, slab: float) -> float:
    """Return the bound of Lemma 2: C(m, 2) (P(|D| <= width) + Q(n width / sigma)).

    Near a tie, every profile counts as an error. Further away, the noise has to exceed the whole width.

    Parameters
    ----------
    n_voters, n_items : int
        Number n of voters, and number m of candidates.
    sigma : float
        Standard deviation of the noise on each count.
    width : float
        Distance t > 0 at which to split; any value gives a valid bound.
    slab : float
        P(|D| <= width), or a bound on it: `slab_probability`, or 2 width times a density bound.

    Returns
    -------
    float
        Bound on the probability that the ranking changes (vacuous above 1).

    Notes
    -----
    The first term may be halved, because Q <= 1/2.

    References
    ----------
    Shang et al. (2014), Lemma 2.

    Examples
    --------
    >>> from sklearn_dprank.theory.shang import slab_probability
    >>> round(lemma_2(2000, 3, 46.0, 0.05, slab_probability(0.05, [2, 1, 0])), 3)
    0.758
    """
    check_positive(n_voters=n_voters, sigma=sigma, width=width)
    return math.comb(n_items, 2) * (slab + float(ndtr(-n_voters * width / sigma)))


def _split(n_voters, n_items, sigma, half=False):
    """Return a = 2 f sigma/n (or half of it) and the best split x* = t* n/sigma (0 when no split helps)."""
    check_positive(n_voters=n_voters, sigma=sigma)
    slope = (1 if half else 2) * webb_density_bound(n_items) * sigma / n_voters
    return slope, math.sqrt(max(0.0, -2 * math.log(slope * math.sqrt(2 * math.pi))))


def theorem_2(n_voters: float, n_items: int, sigma: float, *, half: bool = False) -> float:
    """Return the bound of Theorem 2: C(m, 2) (a x* + Q(x*)).

    a = sqrt(2) (m! - 1) sigma/n is Lemma 2's slab bound per unit of x = t n/sigma. The best split is
    x* = sqrt(2 ln(1/(a sqrt(2 pi)))).

    Parameters
    ----------
    n_voters, n_items : int
        Number n of voters, and number m of candidates.
    sigma : float
        Standard deviation of the noise on each count.
    half : bool, default=False
        Whether to halve the slab term, as Q <= 1/2 allows.

    Returns
    -------
    float
        Bound on the probability that the ranking changes.

    Notes
    -----
    The theorem needs n > 2 sqrt(pi) (m! - 1) sigma. Below that, the best split is 0, and the bound is C(m, 2)/2. The
    bound exceeds `simple_bound`, which is always smaller, by a factor of order sqrt(ln n).

    References
    ----------
    Shang et al. (2014), Theorem 2 and equation (24).

    Examples
    --------
    >>> sigma = printed_sigma(0.1, 5e-5)
    >>> round(theorem_2(2000, 3, sigma), 3), round(theorem_2(2000, 3, sigma, half=True), 3)
    (0.925, 0.547)
    """
    slope, split = _split(n_voters, n_items, sigma, half)
    return math.comb(n_items, 2) * (slope * split + float(ndtr(-split)))


def equation_27(n_voters: float, n_items: int, sigma: float) -> float:
    """Return Theorem 2 with the Gaussian tail approximated: C(m, 2) a (x* + (1 - e^(-1.4 x*))/(1.135 x*)).

    Parameters
    ----------
    n_voters, n_items : int
        Number n of voters, and number m of candidates.
    sigma : float
        Standard deviation of the noise on each count.

    Returns
    -------
    float
        Approximation, within about 1% of `theorem_2`: O(sqrt(ln n)/n).

    Raises
    ------
    ValueError
        If n is too small for Theorem 2.

    References
    ----------
    Shang et al. (2014), equations (25) to (27); Karagiannidis and Lioumpas (2007).

    Examples
    --------
    >>> round(equation_27(2000, 3, printed_sigma(0.1, 5e-5)), 3)
    0.926
    """
    slope, split = _split(n_voters, n_items, sigma)
    if split == 0:
        raise ValueError(f"n_voters must exceed n * a * sqrt(2 pi) = {slope * n_voters * math.sqrt(2 * math.pi):.0f}.")
    return math.comb(n_items, 2) * slope * (split + (1 - math.exp(-1.4 * split)) / (1.135 * split))


def lemma_3(n_voters: float, n_items: int, sigma: float, *, density: float | None = None) -> float:
    """Return the bound of Lemma 3: 2 C(m, 2) f (sigma/n) Int_0^{n/(2 f sigma)} Q(u) du.

    Among the densities of at most f, the uniform density of height f has the most mass near 0.

    Parameters
    ----------
    n_voters, n_items : int
        Number n of voters, and number m of candidates.
    sigma : float
        Standard deviation of the noise on each count.
    density : float, optional
        Bound f on f_D(0); by default `webb_density_bound`, for one rule `central_density(scores)`.

    Returns
    -------
    float
        Bound on the probability that the ranking changes.

    References
    ----------
    Shang et al. (2014), Lemma 3.

    Examples
    --------
    >>> round(lemma_3(2000, 3, printed_sigma(0.1, 5e-5)), 4)
    0.1948
    """
    check_positive(n_voters=n_voters, sigma=sigma)
    density = webb_density_bound(n_items) if density is None else density
    edge = n_voters / (2 * density * sigma)
    # Int_0^z Q = z Q(z) + (1 - e^{-z^2/2}) / sqrt(2 pi)
    integral = edge * float(ndtr(-edge)) - math.expm1(-(edge**2) / 2) / math.sqrt(2 * math.pi)
    return 2 * math.comb(n_items, 2) * density * sigma / n_voters * integral


def simple_bound(n_voters: float, n_items: int, sigma: float, *, density: float | None = None) -> float:
    """Return C(m, 2) f sqrt(2/pi) sigma/n, which is simpler and smaller than Theorem 2.

    This is Lemma 3 with the integral up to infinity. It needs no condition on n and has no logarithm. Theorem 3 (the
    error rate tends to 0, also for delta proportional to 1/n) follows directly.

    Parameters
    ----------
    n_voters, n_items : int
        Number n of voters, and number m of candidates.
    sigma : float
        Standard deviation of the noise on each count.
    density : float, optional
        Bound f on f_D(0); by default `webb_density_bound`.

    Returns
    -------
    float
        Bound on the probability that the ranking changes.

    References
    ----------
    Shang et al. (2014), Lemma 3 and Theorem 3.

    Examples
    --------
    >>> round(simple_bound(2000, 3, printed_sigma(0.1, 5e-5)), 4)
    0.1948
    """
    check_positive(n_voters=n_voters, sigma=sigma)
    density = webb_density_bound(n_items) if density is None else density
    return math.comb(n_items, 2) * density * math.sqrt(2 / math.pi) * sigma / n_voters


def borda_bound(n_voters: float, sigma: float) -> float:
    """Return the bound for Borda with three candidates: (25 sqrt(3)/6) sqrt(2/pi) sigma/n, about 5.758 sigma/n.

    This is `simple_bound` with the exact f_D(0) = 25 sqrt(3)/18. It is asymptotically tight.

    Parameters
    ----------
    n_voters : int
        Number n of voters.
    sigma : float
        Standard deviation of the noise on each count.

    Returns
    -------
    float
        Bound on the probability that the ranking changes.

    References
    ----------
    Shang et al. (2014), Section IV.

    Examples
    --------
    >>> round(borda_bound(2000, printed_sigma(0.1, 5e-5)), 4)
    0.1325
    """
    return simple_bound(n_voters, 3, sigma, density=25 * math.sqrt(3) / 18)


def webb_density_bound(n_items: int) -> float:
    """Return (m! - 1)/sqrt(2), an upper bound on the density of D at 0 for every positional rule.

    The largest central slice of a regular simplex has volume sqrt(N)/((N - 2)! sqrt(2)). The simplex itself has volume
    sqrt(N)/(N - 1)!, with N = m!.

    Parameters
    ----------
    n_items : int
        Number m of candidates.

    Returns
    -------
    float
        Bound on f_D(0), and therefore on f_D everywhere.

    References
    ----------
    Webb (1996); Shang et al. (2014), proof of Theorem 2.

    Examples
    --------
    >>> round(webb_density_bound(3), 4)
    3.5355
    """
    at_least_two(n_items=n_items)
    return (math.factorial(n_items) - 1) / math.sqrt(2)


def _directions(scores):
    """Return the distinct entries of b, one per ordered pair of positions, and how often each occurs: (m - 2)!."""
    scores = np.asarray(scores, dtype=float)
    at_least_two(n_items=len(scores))
    differences = (scores[:, None] - scores)[~np.eye(len(scores), dtype=bool)]
    if not differences.any():
        raise ValueError("scores must not all be equal: such a rule ties all items.")
    repeats = math.factorial(len(scores) - 2)
    return differences / math.sqrt(repeats * np.sum(differences**2)), repeats


def central_density(scores: Sequence[float] | NDArray[Any]) -> float:
    """Return f_D(0) exactly for a positional rule, as a product integral.

    f_D(0) = (N - 1)/pi Int_0^inf Prod_{b_k > 0} 1/(1 + b_k^2 t^2) dt, N = m!. A uniform point of the simplex is a
    normalised vector of independent exponentials, and b pairs each ranking with its mirror.

    Parameters
    ----------
    scores : array-like of shape (n_items,)
        Points of each position; shift and scale have no effect.

    Returns
    -------
    float
        Density of D at 0, its maximum.

    Notes
    -----
    Lemma 1 is true: 0 is the maximum. Equation (13) of its proof is false, because off centre, the slice is not
    proportional to the density of a sum of exponentials. A correct proof is that f_D is even and, by Brunn and
    Minkowski, f_D^(1/(N - 2)) is concave.

    References
    ----------
    Shang et al. (2014), Lemma 1; Webb (1996).

    Examples
    --------
    >>> round(central_density([2, 1, 0]), 5), round(central_density([1, 0, 0]), 5)
    (2.40563, 2.5)
    """
    direction, repeats = _directions(scores)
    squares = direction[direction > 0] ** 2
    integral = quad(lambda t: math.exp(-repeats * np.log1p(squares * t**2).sum()), 0, math.inf, epsabs=1e-12)[0]
    return (math.factorial(len(scores)) - 1) / math.pi * integral


def slab_probability(width: float, scores: Sequence[float] | NDArray[Any]) -> float:
    """Return P(|D| <= width) exactly, twice the integral of f_D over [0, width] in Lemma 2.

    D <= w if and only if sum_k (b_k - w) xi_k <= 0 for independent exponentials xi. The distribution is inverted by
    Gil-Pelaez.

    Parameters
    ----------
    width : float
        Distance to the hyperplane of ties, in units of the normalised profile.
    scores : array-like of shape (n_items,)
        Points of each position.

    Returns
    -------
    float
        Probability that a uniform profile is within `width` of a tie between two given candidates.

    References
    ----------
    Shang et al. (2014), Lemma 2.

    Examples
    --------
    >>> round(slab_probability(0.01, [2, 1, 0]), 5)
    0.04809
    """
    direction, repeats = _directions(scores)
    shifted = direction - width

    def imaginary_part(u):
        # ln of prod_k 1/(1 - i c_k u), by modulus and angle
        modulus = math.exp(-repeats / 2 * np.log1p((shifted * u) ** 2).sum())
        return modulus * math.sin(repeats * np.arctan(shifted * u).sum()) / u

    below = 0.5 - quad(imaginary_part, 0, math.inf, epsabs=1e-12, limit=500)[0] / math.pi
    return 2 * below - 1


_CONSTANTS: dict[str, GaussianConstant] = {"2/delta": "two", "4/(5 delta)": "dwork_2006"}


def printed_sigma(epsilon: float, delta: float, *, form: Literal["2/delta", "4/(5 delta)"] = "2/delta") -> float:
    """Return the standard deviation of the Gaussian noise in the paper's Theorem 1, for counts with L2 sensitivity 1.

    Parameters
    ----------
    epsilon : float
        Privacy parameter, at most 1.
    delta : float
        Privacy parameter, in (0, 1).
    form : {"2/delta", "4/(5 delta)"}, default="2/delta"
        Argument of the logarithm. Both constants are in use for this theorem.

    Returns
    -------
    float
        sigma = sqrt(2 ln(form))/epsilon.

    Notes
    -----
    Copies of the paper lack the formula. The two candidates differ by 4% and both are valid for epsilon <= 1.
    Sensitivity 1 is for adding or removing a ballot; replacing one needs sqrt(2) times the noise. The analytic Gaussian
    mechanism needs far less noise (26.5 instead of 46.0 at epsilon = .1, delta = 5e-5).

    References
    ----------
    Shang et al. (2014), Theorem 1; Dwork, Kenthapadi, McSherry, Mironov and Naor (2006).

    Examples
    --------
    >>> round(printed_sigma(0.1, 5e-5), 1), round(printed_sigma(0.1, 5e-5, form="4/(5 delta)"), 1)
    (46.0, 44.0)
    """
    check_number(epsilon, "epsilon", above=0, most=1)
    check_choice(form, "form", _CONSTANTS)
    return classical_gaussian_sigma(epsilon, delta, constant=_CONSTANTS[form])


def score_noise_std(scores: ArrayLike, sigma: float) -> float:
    """Return the effective standard deviation of each candidate's score under noise on all m! counts.

    The score noise has covariance (alpha - beta) I + beta 1 1^T. The common part does not change a ranking. For
    sorting, the noise is thus equivalent to independent noise of variance alpha - beta = sigma^2 (m - 2)! (m sum
    s^2 - (sum s)^2).

    Parameters
    ----------
    scores : array-like of shape (n_items,)
        Points of each position.
    sigma : float
        Standard deviation of the noise on each count.

    Returns
    -------
    float
        Standard deviation, in points.

    Notes
    -----
    It grows like sqrt((m - 2)!). Beyond about 12 candidates, the noise exceeds the signal of any profile.

    Examples
    --------
    >>> round(score_noise_std([2, 1, 0], 1.0), 4), round(score_noise_std(range(8), 1.0))
    (2.4495, 492)
    """
    scores = np.asarray(scores, dtype=float)
    at_least_two(n_items=len(scores))
    spread = len(scores) * np.sum(scores**2) - np.sum(scores) ** 2
    return sigma * math.sqrt(math.factorial(len(scores) - 2) * spread)
