"""Which published numbers carry what noise, and what can be said of the order beneath it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .laws import AnswersLaw, LaplaceLaw, NormalLaw, SkellamLaw


@dataclass(frozen=True)
class PublishedNoise:
    """The noise on what is published: public numbers, fixed before a ballot is looked at, or drawn apart from it.

    Attributes
    ----------
    on : str
        What carries it: "scores" for ``scores_``, "margins", or "histogram".
    law : LaplaceLaw, NormalLaw, SkellamLaw or AnswersLaw
        By what law, with its scale.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> borda = DPBorda(epsilon=0.5, random_state=0).fit([[0, 1, 2]] * 100)
    >>> borda.noise_
    PublishedNoise(on='scores', law=LaplaceLaw(rate=Fraction(1, 8)))
    >>> round(borda.noise_.law.std, 1)
    11.3
    """

    on: str
    law: LaplaceLaw | NormalLaw | SkellamLaw | AnswersLaw

    @property
    def orders(self) -> bool:
        """Whether it is on numbers that put items in order."""
        return self.on in ("scores", "margins")

    def surely_before(self, published: NDArray[Any], level: float) -> NDArray[np.bool_]:
        """Return which items are above which, all at once with probability `level`: shape (n_items, n_items).

        Parameters
        ----------
        published : ndarray
            What carries the noise.
        level : float
            Between 0 and 1.

        Notes
        -----
        Scores: with that probability no two numbers differ by more than the quantile of the noise's range because of
        noise, so that every larger difference is one of true scores.

        Margins: Holm's procedure on the statements "i is not above j", two a pair. Before the first wrong step only
        wrong statements were rejected, so that at most as many true ones as statements were left, and one of these had
        a p-value of at most (1 - level) over their number: by Boole's inequality that has a probability of at most
        1 - level, however pairs depend on each other.

        References
        ----------
        Holm (1979), "A simple sequentially rejective multiple test procedure".
        """
        if self.on == "scores":
            least = self.law.range_quantile(len(published), level)  # type: ignore[union-attr]  # no answers on scores
            return published[:, None] - published > least
        return _holm(self.law.p_values(published), 1 - level)

    def chance_before(self, published: NDArray[Any]) -> NDArray[np.float64]:
        """Return how likely each item is above each other: shape (n_items, n_items), a half on the diagonal.

        Parameters
        ----------
        published : ndarray
            What carries the noise.
        """
        law: Any = self.law
        return law.chance_before(published) if self.on == "scores" else law.chance_above(published)


def _holm(p_values, risk):
    """Return which of the statements about ordered pairs are rejected, at this risk for all of them together."""
    m = len(p_values)
    pairs = np.flatnonzero(~np.eye(m, dtype=bool))
    order = pairs[p_values.ravel()[pairs].argsort(kind="stable")]
    kept = p_values.ravel()[order] * np.arange(len(order), 0, -1) > risk
    out = np.zeros(m * m, dtype=bool)
    out[order[: kept.argmax() if kept.any() else len(order)]] = True
    return out.reshape(m, m)
