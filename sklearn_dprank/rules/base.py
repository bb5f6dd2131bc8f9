"""Base class of rules, validation of what they ask and return, and rules that sort by a score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import Check, check_parameters, safe_repr
from .._utils.estimators import BaseEstimator, parametrized
from .._utils.types import Scores
from ..queries import Ask, NetWins, NumberOfVoters, PositionalScores, TopListScores
from ..queries.scores import NetWinProducts


class Consensus(NamedTuple):
    """Result of a rule.

    Attributes
    ----------
    order : ndarray of int, shape (n_items,)
        Item indices, best first. If it is shorter, all other items are tied behind these.
    published : dict
        Other facts that may be published, by name. ``fit`` stores each as an attribute with a trailing underscore.
    """

    order: np.ndarray
    published: dict[str, Any] = {}


class Rule(BaseEstimator):
    """Base class of rules, which compute a consensus from the answers of a release and never read ballots.

    Subclasses define `asks` and `aggregate`.
    """

    #: Check of each constructor parameter; see `sklearn_dprank._utils.checks`.
    parameter_checks: dict[str, Check] = {}

    def asks(self, n_items: int) -> list[Ask]:
        """Return what this rule will ask, how often, and for which share of the budget.

        Parameters
        ----------
        n_items : int
            Number of items.

        Returns
        -------
        list of Ask
            One for each kind of query.
        """
        raise NotImplementedError

    def aggregate(self, answers: Any) -> Consensus:
        """Return the consensus that follows from the answers.

        Parameters
        ----------
        answers : Answers
            Answers the queries of `asks`.

        Returns
        -------
        Consensus
            Order of the items, and other facts to publish.
        """
        raise NotImplementedError


def asks_of(rule: Rule, n_items: int) -> list[Ask]:
    """Return the asks of a rule as a list; raise ValueError if they are not `Ask` objects or a parameter is invalid."""
    check_parameters(rule)  # a rule from outside the package need not check them in `asks`
    asks = rule.asks(n_items)
    several = isinstance(asks, Iterable) and not isinstance(asks, Ask)
    wrong = [asks] if not several else [ask for ask in asks if not isinstance(ask, Ask)]
    if wrong:
        raise ValueError(
            f"{type(rule).__name__}.asks(n_items) must return a list of Ask, [Ask(AllMargins())] say, "
            f"got {'' if not several else 'a list with '}{safe_repr(wrong[0])}."
        )
    return list(asks)


def descending(scores: Any, answers: Any) -> Any:
    """Return the items by descending score, int, shape (n_items,); the coins of `answers` break ties."""
    scores = np.asarray(scores)
    if scores.shape != (answers.n_items,):
        raise ValueError(
            f"scores must hold one number for each of the {answers.n_items} items, got shape {scores.shape}; what a "
            "query reads, or a randomizer estimates, has one for each."
        )
    falling = -scores
    order = falling.argsort(kind="stable")
    ordered = falling[order]
    if (ordered[1:] > ordered[:-1]).all():
        return order
    return np.lexsort((answers.tie_break(), falling))


# Positional rules, Borda by default.

_NAMED = ("borda", "plurality", "veto")


def check_scores(scores, name):
    """Raise ValueError unless `scores` is None, the name of a rule, or may be a vector."""
    if scores is None:
        return
    if scores not in _NAMED if isinstance(scores, str) else _as_vector(scores).ndim == 0:
        raise ValueError(f"{name} must be one of {list(_NAMED)} or a vector, got {safe_repr(scores)}.")


def _as_vector(scores):
    """Return scores as an array of floats, of dimension 0 if they are not numbers."""
    try:
        return np.asarray(scores, dtype=float)
    except (OverflowError, TypeError, ValueError):
        return np.array(0.0)


@parametrized
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

    scores: Scores | None = None

    parameter_checks = {"scores": check_scores}

    def asks(self, n_items: int) -> list[Ask]:
        if self.scores is None:
            return [Ask(NetWins())]
        return [Ask(PositionalScores(tuple(score_vector(self.scores, n_items))))]

    def aggregate(self, answers: Any) -> Consensus:
        (ask,) = self.asks(answers.n_items)
        return Consensus(descending(answers.answer(ask.query), answers))


class BordaOfSampleRule(Rule):
    """Rule that sorts items by net wins with Gaussian noise, and estimates how they vary between samples of voters.

    15 % of the budget pay for the second moments of ballots, and 2 % for the number of voters if it is not public.

    Examples
    --------
    >>> from sklearn_dprank.rules.base import BordaOfSampleRule
    >>> [str(ask.share) for ask in BordaOfSampleRule().asks(3)]
    ['83/100', '3/20', '1/50']
    """

    def asks(self, n_items: int) -> list[Ask]:
        shares = {NetWins(): Fraction(83, 100), NetWinProducts(): Fraction(15, 100), NumberOfVoters(): Fraction(2, 100)}
        return [Ask(query, share=share) for query, share in shares.items()]

    def aggregate(self, answers: Any) -> Consensus:
        net_wins, products, number = (ask.query for ask in self.asks(answers.n_items))
        scores, noise_of = answers.answer(net_wins), (answers.deviation(net_wins), answers.deviation(products))
        # One standard deviation more leaves a larger covariance.
        n_voters = answers.answer(number) + answers.deviation(number)
        law = NetWinProducts.law(scores, answers.answer(products), n_voters, *noise_of)
        return Consensus(descending(scores, answers), {"scores": np.array(scores), "noise": law})


def _top_list_scores(scores, name="scores"):
    """Return the query with these scores; raise ValueError if `scores` is not None, or a vector that does not rise."""
    vector = _as_vector(scores)
    return TopListScores(tuple(vector.tolist()) if vector.ndim else scores)


@parametrized
class TopListRule(Rule):
    """Rule that sorts items by their scores on lists that leave most items out.

    If the items are private, the consensus has only those that were published.

    Parameters
    ----------
    scores : array-like of shape (k,) or None, default=None
        Score of each position that counts, as in `~sklearn_dprank.queries.TopListScores`.

    Examples
    --------
    >>> from sklearn_dprank.rules import TopListRule
    >>> TopListRule(scores=[3, 2, 1]).asks(1000)[0].query
    TopListScores(scores=(3.0, 2.0, 1.0))
    """

    scores: Sequence[float] | NDArray[Any] | None = None

    parameter_checks = {"scores": _top_list_scores}

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(_top_list_scores(self.scores))]

    def aggregate(self, answers: Any) -> Consensus:
        (ask,) = self.asks(answers.n_items)
        scores = answers.answer(ask.query)
        if not answers.private_items:
            return Consensus(descending(scores, answers))
        published = np.flatnonzero(scores)
        scores = scores[published]
        order = np.lexsort((answers.coins.permutation(len(scores)), -scores))  # ties tell nothing of unpublished items
        return Consensus(published[order], {"scores": scores[order] / (answers.grid * ask.query.steps)})


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
