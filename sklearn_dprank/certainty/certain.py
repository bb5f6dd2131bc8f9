"""What an aggregator says about the certainty of its own order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._scikit_learn import available_if
from ..checks import check_number
from .noise import PublishedNoise


def _noise_is_known(estimator):
    """Tell whether the fit published noisy numbers that order items, with their noise; before a fit, nobody knows."""
    if not hasattr(estimator, "ranks_"):
        return True
    noise = getattr(estimator, "noise_", None)
    if noise is None or not noise.orders:
        raise AttributeError("this fit published an order only, or numbers of which the law of the noise is not known.")
    return True


class Certain:
    """The part of an aggregator that reads its own release: each method is there if the law of its noise is known."""

    ranks_: NDArray[np.int64]
    noise_: PublishedNoise

    @available_if(_noise_is_known)
    def rank_intervals(self, level: float = 0.95) -> NDArray[np.int64]:
        """Return between which ranks each item really stands, all items at once with probability `level`.

        It is there where the fit published ``scores_`` or ``margins_`` and the law of their noise, ``noise_``.

        Parameters
        ----------
        level : float, default=0.95
            How often the intervals, all of them, hold what they say, at least; between 0 and 1.

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
        An item's rank is the number of items above it: with ``scores_``, those with more net wins (Borda's order); with
        ``margins_``, those that more voters prefer to it than the other way round, whatever the rule made of it. Where
        two are really tied, the interval holds both orders. It follows from the release and from public numbers, and
        costs no privacy.

        It speaks of **these voters**, those who are counted, and of what the noise hides of them: not of a population
        that they may be a sample of. Each release has intervals of its own, every period of a stream too. With
        `~sklearn_dprank.LDPBorda` the noise is the sum of many reports, and is taken for normal.

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
        return np.column_stack([above.sum(axis=0), len(above) - 1 - above.sum(axis=1)])

    @available_if(_noise_is_known)
    def pair_confidence(self) -> NDArray[np.float64]:
        """Return how likely each item is really above each other, one pair at a time.

        It is there where the fit published ``scores_`` or ``margins_`` and the law of their noise, ``noise_``.

        Returns
        -------
        ndarray of float, shape (n_items, n_items)
            Of the pairs of which ``[i, j]`` is about p, item i is above item j in a share of about p. A half on the
            diagonal; ``[i, j]`` and ``[j, i]`` add up to 1.

        Notes
        -----
        What "above" means, and of whom it speaks, is as for `rank_intervals`: of these voters, not of a population.

        The noise alone would claim too much where it hides nearly everything (.95 where .76 is true): the largest of
        many noisy numbers is large by noise. True scores are therefore taken to be normal around 0, with the variance
        that is left of the published ones' when that of the noise is taken away (empirical Bayes, after James and
        Stein); true margins to be differences of such strengths of the items, and a remainder of each pair's own. Where
        what is left is not told from noise, nothing is claimed: all is a half. It costs no privacy.

        References
        ----------
        Efron and Morris (1973), "Stein's estimation rule and its competitors: an empirical Bayes approach".

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
        """What carries the noise."""
        noisy: NDArray[Any] = getattr(self, f"{self.noise_.on}_")
        return noisy
