"""Shang, Wang, Cuff and Kulkarni (2014): how often noise on the histogram changes a positional ranking.

Setting: the normalised profile p is uniform on the simplex of the m! rankings, every count gets independent
N(0, sigma^2), and candidates are sorted by total positional score. For a pair of candidates let b be the unit
vector along the difference of their scores and D = <b, p>; noise flips the pair with probability Q(n |D| / sigma),
and the error rate is at most C(m, 2) times the expectation of that.
"""

import math

from scipy.special import ndtr

from .._utils.checks import positive
from .shang_geometry import webb_density_bound
from .shang_noise import published_sigma, score_noise_std

__all__ = [
    "borda_bound",
    "equation_27",
    "lemma_2",
    "lemma_3",
    "published_sigma",
    "score_noise_std",
    "simple_bound",
    "theorem_2",
]


def lemma_2(n_voters: float, n_items: int, sigma: float, width: float, slab: float) -> float:
    """Return the bound of Lemma 2: C(m, 2) (P(|D| <= width) + Q(n width / sigma)).

    Near a tie any error is allowed for; further away the noise has to cross the whole width.

    Parameters
    ----------
    n_voters, n_items : int
        Voters n and candidates m.
    sigma : float
        Standard deviation of the noise on each count.
    width : float
        Where to split, t > 0; any value gives a valid bound.
    slab : float
        P(|D| <= width), or a bound on it: `slab_probability`, or 2 width times a density bound.

    Returns
    -------
    float
        Bound on the probability that the ranking changes (vacuous above 1).

    Notes
    -----
    The first term may be halved, since Q <= 1/2.

    References
    ----------
    Shang et al. (2014), Lemma 2.

    Examples
    --------
    >>> from sklearn_dprank.theory.shang_geometry import slab_probability
    >>> round(lemma_2(2000, 3, 46.0, 0.05, slab_probability(0.05, [2, 1, 0])), 3)
    0.758
    """
    positive(n_voters=n_voters, sigma=sigma, width=width)
    return math.comb(n_items, 2) * (slab + float(ndtr(-n_voters * width / sigma)))


def _split(n_voters, n_items, sigma, density, half):
    """Return a = 2 f sigma/n (or half of it) and the best split x* = t* n/sigma (0 when no split helps)."""
    positive(n_voters=n_voters, sigma=sigma)
    density = webb_density_bound(n_items) if density is None else density
    slope = (1 if half else 2) * density * sigma / n_voters
    return slope, math.sqrt(max(0.0, -2 * math.log(slope * math.sqrt(2 * math.pi))))


def theorem_2(
    n_voters: float, n_items: int, sigma: float, *, density: float | None = None, half: bool = False
) -> float:
    """Return the bound of Theorem 2: C(m, 2) (a x* + Q(x*)).

    a = sqrt(2) (m! - 1) sigma/n is Lemma 2's slab bound a unit of x = t n/sigma, and x* = sqrt(2 ln(1/(a sqrt(2
    pi)))) is the best split.

    Parameters
    ----------
    n_voters, n_items : int
        Voters n and candidates m.
    sigma : float
        Standard deviation of the noise on each count.
    density : float, optional
        Bound on f_D(0); by default `webb_density_bound`, good for every positional rule.
    half : bool, default=False
        Whether to halve the slab term, as Q <= 1/2 allows.

    Returns
    -------
    float
        Bound on the probability that the ranking changes.

    Notes
    -----
    The theorem needs n > 2 sqrt(pi) (m! - 1) sigma; below that the best split is 0, and the bound is C(m, 2)/2.
    It loses a factor sqrt(ln n) to `simple_bound`, which is always smaller.

    References
    ----------
    Shang et al. (2014), Theorem 2 and equation (24).

    Examples
    --------
    >>> sigma = published_sigma(0.1, 5e-5)
    >>> round(theorem_2(2000, 3, sigma), 3), round(theorem_2(2000, 3, sigma, half=True), 3)
    (0.925, 0.547)
    """
    slope, split = _split(n_voters, n_items, sigma, density, half)
    return math.comb(n_items, 2) * (slope * split + float(ndtr(-split)))


def equation_27(n_voters: float, n_items: int, sigma: float, *, density: float | None = None) -> float:
    """Return Theorem 2 with the Gaussian tail approximated: C(m, 2) a (x* + (1 - e^(-1.4 x*))/(1.135 x*)).

    Parameters
    ----------
    n_voters, n_items : int
        Voters n and candidates m.
    sigma : float
        Standard deviation of the noise on each count.
    density : float, optional
        Bound on f_D(0); by default `webb_density_bound`.

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
    >>> round(equation_27(2000, 3, published_sigma(0.1, 5e-5)), 3)
    0.926
    """
    slope, split = _split(n_voters, n_items, sigma, density, half=False)
    if split == 0:
        raise ValueError(f"n_voters must exceed n * a * sqrt(2 pi) = {slope * n_voters * math.sqrt(2 * math.pi):.0f}.")
    return math.comb(n_items, 2) * slope * (split + (1 - math.exp(-1.4 * split)) / (1.135 * split))


def lemma_3(n_voters: float, n_items: int, sigma: float, *, density: float | None = None) -> float:
    """Return the bound of Lemma 3: 2 C(m, 2) f (sigma/n) Int_0^{n/(2 f sigma)} Q(u) du.

    No density under f puts more mass near 0 than the uniform one of height f.

    Parameters
    ----------
    n_voters, n_items : int
        Voters n and candidates m.
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
    >>> round(lemma_3(2000, 3, published_sigma(0.1, 5e-5)), 4)
    0.1948
    """
    positive(n_voters=n_voters, sigma=sigma)
    density = webb_density_bound(n_items) if density is None else density
    edge = n_voters / (2 * density * sigma)
    # Int_0^z Q = z Q(z) + (1 - e^{-z^2/2}) / sqrt(2 pi)
    integral = edge * float(ndtr(-edge)) - math.expm1(-(edge**2) / 2) / math.sqrt(2 * math.pi)
    return 2 * math.comb(n_items, 2) * density * sigma / n_voters * integral


def simple_bound(n_voters: float, n_items: int, sigma: float, *, density: float | None = None) -> float:
    """Return C(m, 2) f sqrt(2/pi) sigma/n, simpler and smaller than Theorem 2.

    Lemma 3 with the integral carried to infinity. It needs no condition on n, has no logarithm, and Theorem 3
    (the error rate tends to 0, also for delta proportional to 1/n) follows at once.

    Parameters
    ----------
    n_voters, n_items : int
        Voters n and candidates m.
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
    >>> round(simple_bound(2000, 3, published_sigma(0.1, 5e-5)), 4)
    0.1948
    """
    positive(n_voters=n_voters, sigma=sigma)
    density = webb_density_bound(n_items) if density is None else density
    return math.comb(n_items, 2) * density * math.sqrt(2 / math.pi) * sigma / n_voters


def borda_bound(n_voters: float, sigma: float) -> float:
    """Return the bound for Borda with three candidates: (25 sqrt(3)/6) sqrt(2/pi) sigma/n, about 5.758 sigma/n.

    `simple_bound` with the exact f_D(0) = 25 sqrt(3)/18; asymptotically tight.

    Parameters
    ----------
    n_voters : int
        Voters n.
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
    >>> round(borda_bound(2000, published_sigma(0.1, 5e-5)), 4)
    0.1325
    """
    return simple_bound(n_voters, 3, sigma, density=25 * math.sqrt(3) / 18)
