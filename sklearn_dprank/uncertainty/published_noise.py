"""Noise of a published answer, and the confidence statements that it allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .laws import AnswersLaw, LaplaceLaw, NormalLaw, SkellamLaw


@dataclass(frozen=True)
class PublishedNoise:
    """Distribution of the noise in a published answer.

    It is public: its numbers are fixed in advance or drawn independently of the ballots.

    Attributes
    ----------
    on : str
        Name of the noisy answer: "scores" for ``scores_``, "net_wins", "margins", or "histogram".
    law : LaplaceLaw, NormalLaw, SkellamLaw or AnswersLaw
        Distribution of the noise, with its scale.
    grid : int, default=1
        The law is that of the noise on `grid` times the answer: 720720 for weighted ballots, whose counts are integers
        in units of 1 / 720720.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> borda = DPBorda(epsilon=0.5, random_state=0).fit([[0, 1, 2]] * 100)
    >>> borda.noise_
    PublishedNoise(on='scores', law=LaplaceLaw(rate=Fraction(1, 8)), grid=1)
    >>> round(borda.noise_.law.std, 1)
    11.3
    """

    on: str
    law: LaplaceLaw | NormalLaw | SkellamLaw | AnswersLaw
    grid: int = 1

    @property
    def orders(self) -> bool:
        """Whether the noisy answer determines an order of the items."""
        return self.on in ("scores", "net_wins", "margins")

    def surely_before(self, published: NDArray[Any], level: float) -> NDArray[np.bool_]:
        """Return which items are above which, all jointly with probability `level`: shape (n_items, n_items).

        Parameters
        ----------
        published : ndarray
            The noisy answer.
        level : float
            Between 0 and 1.

        Notes
        -----
        Scores: with probability `level`, the noise changes all differences of two numbers by at most the quantile of
        its range. Every larger difference then has the sign of the difference of true scores.

        Margins: Holm's procedure tests the hypotheses "i is not above j", two per pair. Consider the first error. Only
        false hypotheses were rejected before it, so the hypotheses left include all true ones. The first error
        therefore needs a true hypothesis with a p-value of at most (1 - level) over the number of true ones. By Boole's
        inequality, this has a probability of at most 1 - level, for any dependence between pairs.

        References
        ----------
        Holm (1979), "A simple sequentially rejective multiple test procedure".
        """
        published = self._on_grid(published)
        if self.on != "margins":
            least = self.law.range_quantile(len(published), level)  # type: ignore[union-attr]  # no answers on scores
            return published[:, None] - published > least
        return _holm(self.law.p_values(published), 1 - level)

    def chance_before(self, published: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability that each item is above each other: shape (n_items, n_items), 0.5 on the diagonal.

        Parameters
        ----------
        published : ndarray
            The noisy answer.
        """
        law: Any = self.law
        published = self._on_grid(published)
        return law.chance_above(published) if self.on == "margins" else law.chance_before(published)

    def _on_grid(self, published):
        """Return the answer in the units of the law, in which it is a whole number."""
        return published if self.grid == 1 else np.rint(published * self.grid)


def _holm(p_values, risk):
    """Return which hypotheses about ordered pairs are rejected, with family-wise error rate `risk`."""
    m = len(p_values)
    pairs = np.flatnonzero(~np.eye(m, dtype=bool))
    order = pairs[p_values.ravel()[pairs].argsort(kind="stable")]
    kept = p_values.ravel()[order] * np.arange(len(order), 0, -1) > risk
    out = np.zeros(m * m, dtype=bool)
    out[order[: kept.argmax() if kept.any() else len(order)]] = True
    return out.reshape(m, m)
