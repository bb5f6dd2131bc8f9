"""Mixin with rank intervals and pair probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._utils.checks import check_number
from .._utils.scikit_learn import available_if
from ..uncertainty.published_noise import PublishedNoise

_ORDERS_ONLY = ("DPPrudentOrder", "DPSwissBorda", "DPTopK", "SecAggSwissBorda")  # or several answers


def publishes_intervals(estimator: Any) -> bool:
    """Return whether a fit of an estimator of `recommend` or of ``dprank rank`` will publish rank intervals."""
    return type(estimator).__name__ not in _ORDERS_ONLY and getattr(estimator, "noise", "") != "knorm"


def noise_is_known(estimator):
    """Raise AttributeError if the fit did not publish scores or margins with a known noise law."""
    if not hasattr(estimator, "ranks_"):
        return True
    noise = getattr(estimator, "noise_", None)
    if noise is None or not noise.orders:
        raise AttributeError(
            "this fit published only an order, or numbers with an unknown noise distribution; for rank intervals, use "
            "DPBorda with noise='laplace' or 'gaussian', say."
        )
    return True


def best_and_worst(above):
    """Return the best and the worst rank of each item, shape (..., n_items, 2), if `above` holds what is above what."""
    return np.stack([above.sum(axis=-2), above.shape[-1] - 1 - above.sum(axis=-1)], axis=-1)


class RankIntervalsMixin:
    """Mixin with rank intervals and pair probabilities, which exist if the law of the published noise is known."""

    ranks_: NDArray[np.int64]
    noise_: PublishedNoise

    @available_if(noise_is_known)
    def rank_intervals(self, level: float = 0.95) -> NDArray[np.int64]:
        """Return simultaneous confidence intervals for the true ranks.

        After a fit, the method exists only if ``scores_`` or ``margins_`` and the noise distribution ``noise_`` exist.

        Parameters
        ----------
        level : float, default=0.95
            Simultaneous coverage probability, between 0 and 1.

        Returns
        -------
        ndarray of int, shape (n_items, 2)
            The best and the worst rank of each item, 0 is best, in the order of the columns.

        Raises
        ------
        ValueError
            If `level` is not between 0 and 1.

        Notes
        -----
        The rank of an item is the number of items above it. With ``scores_``, these are the items with more net wins
        (Borda's order). With ``margins_``, they are the items that more voters prefer to it than the other way round,
        for any rule. If two items are truly tied, their intervals allow both orders. Intervals are computed from the
        release and from public numbers, so they cost no privacy.

        Intervals refer to **these voters**, whose ballots were counted, and account for the noise. They do not describe
        a larger population from which the voters were sampled. The level holds for each release separately, and for
        each period of a stream. With `~sklearn_dprank.LDPBorda`, the noise is the sum of many reports, and is treated
        as normal.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> ballots = [[0, 1, 2, 3]] * 60 + [[1, 0, 3, 2]] * 50
        >>> DPBorda(epsilon=1.0, random_state=0).fit(ballots).rank_intervals()
        array([[0, 1],
               [0, 1],
               [2, 3],
               [2, 3]])
        """
        check_is_fitted(self, "ranks_")
        check_number(level, "level", above=0, below=1)
        above = self.noise_.surely_before(self._noisy, float(level))
        return best_and_worst(above)

    @available_if(noise_is_known)
    def pair_confidence(self) -> NDArray[np.float64]:
        """Return the posterior probability that each item is above each other.

        After a fit, the method exists only if ``scores_`` or ``margins_`` and the noise distribution ``noise_`` exist.

        Returns
        -------
        ndarray of float, shape (n_items, n_items)
            ``[i, j]`` is the probability that item i is above item j, averaged over the unknown spread of the true
            values. The diagonal is 0.5; ``[i, j]`` and ``[j, i]`` add up to 1.

        Notes
        -----
        As in `rank_intervals`, "above" refers to these voters, not to a population. It costs no privacy.

        True scores are modelled as independent normal numbers. True margins are modelled as differences of normal
        strengths of the items, plus a normal residual of each pair. The spreads of all of these are unknown, and the
        probability is averaged over them. Their prior is half-Cauchy, with a quarter of the noise's standard deviation
        as its scale.

        The probabilities are calibrated on average over signal-to-noise ratios, not at each one. If the ratio is low,
        probabilities above .9 are too high, but at most 1 % of the pairs have them. Skellam noise is treated as normal.
        Margins with Laplace noise are treated as normal, with the likelihood of the spreads raised to the power .5.

        References
        ----------
        Gelman (2006), "Prior distributions for variance parameters in hierarchical models".

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> ballots = [[0, 1, 2, 3]] * 60 + [[1, 0, 3, 2]] * 50
        >>> DPBorda(epsilon=1.0, random_state=0).fit(ballots).pair_confidence().round(2)[0]
        array([0.5 , 0.92, 1.  , 1.  ])
        """
        check_is_fitted(self, "ranks_")
        return self.noise_.chance_before(self._noisy)

    @property
    def _noisy(self) -> NDArray[Any]:
        """Published noisy scores or margins."""
        noisy: NDArray[Any] = getattr(self, f"{self.noise_.on}_")
        return noisy
