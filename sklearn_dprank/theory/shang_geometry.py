"""Geometry of positional rules on the simplex of rankings, for the error bounds of Shang et al. (2014).

A normalised profile p is uniform on the simplex with one vertex a ranking, N = m! of them. For a pair of candidates
let b be the unit vector along the difference of their scores: D = <b, p> is the signed distance to their tie, with
density f_D.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from .._utils.checks import at_least_two


def webb_density_bound(n_items: int) -> float:
    """Return (m! - 1)/sqrt(2), above the density of D at 0 for every positional rule.

    The largest central slice of a regular simplex has volume sqrt(N)/((N - 2)! sqrt(2)); the simplex itself has
    sqrt(N)/(N - 1)!, with N = m!.

    Parameters
    ----------
    n_items : int
        Number m of candidates.

    Returns
    -------
    float
        Bound on f_D(0), hence on f_D everywhere.

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
    """Return the distinct entries of b, one an ordered pair of positions, and how often each occurs: (m - 2)!."""
    scores = np.asarray(scores, dtype=float)
    at_least_two(n_items=len(scores))
    differences = (scores[:, None] - scores)[~np.eye(len(scores), dtype=bool)]
    if not differences.any():
        raise ValueError("scores must not all be equal: such a rule ranks nothing.")
    repeats = math.factorial(len(scores) - 2)
    return differences / math.sqrt(repeats * np.sum(differences**2)), repeats


def central_density(scores: Sequence[float] | NDArray[Any]) -> float:
    """Return f_D(0) exactly for a positional rule, as a product integral.

    f_D(0) = (N - 1)/pi Int_0^inf Prod_{b_k > 0} 1/(1 + b_k^2 t^2) dt, N = m!: a uniform point of the simplex is a
    normalised vector of independent exponentials, and b pairs each ranking with its mirror.

    Parameters
    ----------
    scores : array-like of shape (n_items,)
        Points of each position; shifts and scale do not matter.

    Returns
    -------
    float
        Density of D at 0, its maximum.

    Notes
    -----
    That 0 is the maximum (Lemma 1) is true, but equation (13) of its proof is not: off centre, the slice is not
    proportional to the density of a sum of exponentials. The reason is that f_D is even and, by Brunn and
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

    D <= w if and only if sum_k (b_k - w) xi_k <= 0 for independent exponentials xi; inverted by Gil-Pelaez.

    Parameters
    ----------
    width : float
        Distance to the hyperplane of ties, in units of the normalised profile.
    scores : array-like of shape (n_items,)
        Points of each position.

    Returns
    -------
    float
        Probability that a uniform profile is that close to a tie between two given candidates.

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
