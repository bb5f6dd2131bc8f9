"""The noise of Shang et al. (2014): on each count of the histogram, and what it comes to on a candidate's score."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._utils.checks import at_least_two, check_choice, check_number
from .._utils.types import GaussianConstant
from ..privacy.calibration import classical_gaussian_sigma

_CONSTANTS: dict[str, GaussianConstant] = {"2/delta": "two", "4/(5 delta)": "dwork_2006"}


def published_sigma(epsilon: float, delta: float, *, form: Literal["2/delta", "4/(5 delta)"] = "2/delta") -> float:
    """Return the Gaussian noise of the paper's Theorem 1, for counts with L2 sensitivity 1.

    Parameters
    ----------
    epsilon : float
        Privacy parameter, at most 1.
    delta : float
        Privacy parameter, in (0, 1).
    form : {"2/delta", "4/(5 delta)"}, default="2/delta"
        Which of the two constants in use for that theorem stands inside the logarithm.

    Returns
    -------
    float
        sigma = sqrt(2 ln(form))/epsilon.

    Notes
    -----
    Copies of the paper lost the formula; the two candidates differ by 4% and both are valid for epsilon <= 1.
    Sensitivity 1 is for adding or removing a ballot; replacing one needs sqrt(2) times the noise. The analytic
    Gaussian mechanism needs far less (26.5 instead of 46.0 at epsilon = .1, delta = 5e-5).

    References
    ----------
    Shang et al. (2014), Theorem 1; Dwork, Kenthapadi, McSherry, Mironov and Naor (2006).

    Examples
    --------
    >>> round(published_sigma(0.1, 5e-5), 1), round(published_sigma(0.1, 5e-5, form="4/(5 delta)"), 1)
    (46.0, 44.0)
    """
    check_number(epsilon, "epsilon", above=0, most=1)
    check_choice(form, "form", _CONSTANTS)
    return classical_gaussian_sigma(epsilon, delta, constant=_CONSTANTS[form])


def score_noise_std(scores: ArrayLike, sigma: float) -> float:
    """Return the noise each candidate's score effectively gets from noise on all m! counts.

    The score noise has covariance (alpha - beta) I + beta 1 1^T; the common part moves no ranking, so for sorting
    it equals independent noise of variance alpha - beta = sigma^2 (m - 2)! (m sum s^2 - (sum s)^2).

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
    It grows like sqrt((m - 2)!): beyond about 12 candidates the noise drowns any profile.

    Examples
    --------
    >>> round(score_noise_std([2, 1, 0], 1.0), 4), round(score_noise_std(range(8), 1.0))
    (2.4495, 492)
    """
    scores = np.asarray(scores, dtype=float)
    at_least_two(n_items=len(scores))
    spread = len(scores) * np.sum(scores**2) - np.sum(scores) ** 2
    return sigma * math.sqrt(math.factorial(len(scores) - 2) * spread)
