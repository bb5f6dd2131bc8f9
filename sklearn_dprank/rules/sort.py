"""Positional rules, Borda by default."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.checks import Check, check_parameters, or_none, safe_repr
from .._utils.types import Scores
from ..queries import Ask, NetWins, PositionalScores
from .base import Consensus, Rule, descending

_NAMED = ("borda", "plurality", "veto")


def check_scores(scores, name):
    """Raise ValueError unless `scores` is the name of a rule or may be a vector."""
    if scores not in _NAMED if isinstance(scores, str) else _as_vector(scores).ndim == 0:
        raise ValueError(f"{name} must be one of {list(_NAMED)} or a vector, got {safe_repr(scores)}.")


def _as_vector(scores):
    """Return scores as an array of floats, of dimension 0 if they are not numbers."""
    try:
        return np.asarray(scores, dtype=float)
    except (OverflowError, TypeError, ValueError):
        return np.array(0.0)


class SortByScore(Rule):
    """Rule that sorts items by positional scores, Borda by default.

    Parameters
    ----------
    scores : None, "borda", "plurality", "veto" or array-like of shape (n_items,), default=None
        Score of each position, best position first; larger is better. None uses net wins, which sort like Borda scores
        and need less noise.

    Examples
    --------
    >>> from sklearn_dprank.rules import SortByScore
    >>> SortByScore(scores="plurality").asks(3)[0].query.scores
    (1.0, 0.0, 0.0)
    """

    parameter_checks: dict[str, Check] = {"scores": or_none(check_scores)}

    def __init__(self, scores: Scores | None = None) -> None:
        self.scores = scores

    def asks(self, n_items: int) -> list[Ask]:
        check_parameters(self)
        return [Ask(self._query(n_items))]

    def aggregate(self, session: Any) -> Consensus:
        return Consensus(descending(session.answer(self._query(session.n_items)), session))

    def _query(self, n_items):
        if self.scores is None:
            return NetWins()
        return PositionalScores(tuple(score_vector(self.scores, n_items)))


def score_vector(scores, n_items):
    """Return the score of each position as a list of floats; raise ValueError if `scores` is invalid.

    Examples
    --------
    >>> score_vector("borda", 3)
    [2.0, 1.0, 0.0]
    """
    named = {
        "borda": np.arange(n_items - 1, -1, -1.0),
        "plurality": np.eye(1, n_items)[0],
        "veto": 1 - np.eye(1, n_items, n_items - 1)[0],
    }
    check_scores(scores, "scores")
    if isinstance(scores, str):
        return named[scores].tolist()
    vector = _as_vector(scores)
    if vector.shape != (n_items,):
        raise ValueError(f"scores must hold one number for each of the {n_items} items, got shape {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ValueError("scores must be finite.")
    return vector.tolist()
