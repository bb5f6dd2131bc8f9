"""Non-private survey: each voter answers a few random questions without randomisation."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from .._utils.checks import COUNT, Check, check_parameters, check_whole
from .._utils.scikit_learn import BaseEstimator
from ..collection.client.pairs import PairsRandomizer
from ..collection.client.protocol import FLIP_GRID
from ..collection.curator.base import simulated
from ..collection.curator.response import PairFlips
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import Ask, PairTallies, Publication, Tallies, n_pairs
from .plan import POSITIONS, Plan, PublishedSession, ballots_of, check_derivable


class NonPrivateSurvey(BaseEstimator):
    """Non-private baseline for `Local`: voters answer a few random questions without randomisation.

    Each voter reports which item goes first in each of `n_queries` distinct random pairs. This is randomised response
    with flip probability 0. Compare it with `Local` for the cost of privacy, and with `Exact` for the cost of asking
    few questions.

    Parameters
    ----------
    n_queries : int, default=1
        Number of pairs that each voter answers; at most C(n_items, 2).

    Notes
    -----
    As in all channels with client reports, a voter without an opinion on a pair answers a fair coin. Coins also break
    ties. If voters with strict rankings answer all pairs, the estimated margins are those of `Exact`, divided by the
    number of voters.

    References
    ----------
    Yan, Li and Liu (2020), Sections 6.1.1 and 6.4: their non-private KwikSort receives K answers from each voter.

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.channels import NonPrivateSurvey
    >>> fitted = Aggregator(NonPrivateSurvey(n_queries=2), "kwiksort", random_state=0).fit([[0, 1, 2]] * 100)
    >>> print(fitted.consensus_, fitted.privacy_)
    [0 1 2] not private
    """

    parameter_checks: dict[str, Check] = {"n_queries": COUNT}

    def __init__(self, n_queries: int = 1) -> None:
        self.n_queries = n_queries

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None) -> Plan:
        """Return the plan, if answers about pairs determine all asks.

        Raises
        ------
        ValueError
            If `n_queries` is not from 1 to C(n_items, 2), or the answers do not determine the rule's asks.
        """
        check_parameters(self)
        check_whole(self.n_queries, "n_queries", 1, n_pairs(n_items))
        check_derivable(self, asks, PairTallies(), "answers about pairs give PairTallies.")
        terms = {"items": list(range(n_items)), "n_queries": int(self.n_queries), "flip": [0, FLIP_GRID]}
        guarantee = PrivacyGuarantee.nothing(f"truthful answers about {self.n_queries} random pair(s) a voter")
        return Plan(guarantee, partial(_SurveyPoll, terms), needs=POSITIONS, n_items=n_items)


class _SurveyPoll:
    """Poll of simulated voters, with new random pairs in each session."""

    def __init__(self, terms, profile):
        self._terms, self._ballots = terms, ballots_of(profile)

    def __call__(self, bits):
        blocks = simulated(PairsRandomizer(), self._terms, self._ballots, bits)
        wins = reduce(np.add, (PairFlips.counts(drawn, self._terms) for drawn, _ in blocks))
        publication = Publication(PairTallies(), (Tallies(0.0, wins),))
        return PublishedSession(len(self._terms["items"]), bits.coins, publication, {})
