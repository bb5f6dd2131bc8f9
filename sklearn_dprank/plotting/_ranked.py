"""Positions, names and guarantee of a fitted estimator, for displays."""

import math
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._utils.checks import safe_repr
from ..ballots.names import names_of
from ..privacy.estimator_guarantees import guarantee_of, last_step
from ..privacy.guarantee import PrivacyGuarantee
from ._style import read_positions
from ._words import text_of

#: Warnings about releases that must not be published without further thought.
NOT_PRIVATE, _SIMULATED, _CAVEATS = "not private", "simulation only", "read its caveats"

#: Meaning of ranks by what a release publishes, and the end of the label of their axis.
SAYS = {"scores": "Rank by net wins (Borda)", "margins": "Rank by majorities (how many items beat it)"}
OF_WHOM = "1 is best\nof these voters, not of a population"


class Ranked(NamedTuple):
    """Positions of the items, item names if there are any, short text of the estimator, and its guarantee."""

    positions: np.ndarray
    item_names: np.ndarray | None
    text: str
    guarantee: PrivacyGuarantee


def ranked(estimator, called, read=read_positions):
    """Read a fitted estimator that has ``ranks_``, or a Pipeline that ends in one.

    Estimators of other packages count as not private, even if they state a guarantee. Errors call the estimator
    `called`. `read` checks the positions: those of one order, by default.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    TypeError
        If it is not an estimator.
    ValueError
        If it has no ``ranks_``, or they are not positions.
    """
    last = last_step(estimator)
    if not hasattr(type(last), "fit"):
        raise TypeError(f"{called} must be a fitted estimator, got {safe_repr(last)}.")
    if not hasattr(last, "ranks_"):
        check_is_fitted(last)
        raise ValueError(
            f"{called} must have ranks_, where each item stands, got {type(last).__name__} that has not; of a search, "
            "pass its best_estimator_."
        )
    positions = read(last.ranks_, f"ranks_ of {called}")
    text = text_of(estimator if isinstance(estimator, BaseEstimator) else type(estimator))
    ours = isinstance(getattr(last, "consensus_", None), np.ndarray)
    names = names_of(last) if ours else getattr(last, "feature_names_in_", None)
    return Ranked(positions, names, text, guarantee_of(estimator))


def mark_of(guarantee):
    """Return the warning for a release with this guarantee; "" if it may be published."""
    if math.isinf(guarantee.epsilon) or guarantee.delta >= 1:
        return NOT_PRIVATE
    if not guarantee.certified:
        return _SIMULATED
    return _CAVEATS if guarantee.caveats else ""
