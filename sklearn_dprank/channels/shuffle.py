"""A trusted shuffler between the voters' devices and the curator."""

from functools import lru_cache, partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..checks import check_delta, check_epsilon
from ..devices import shuffled
from ..devices.protocol import FLIP_GRID, digest
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.shuffle_groups import balanced_group_size, composed_local_epsilon, composed_shuffle_epsilon
from ..profile import Profile
from ..queries import PairTallies, Publication, Tallies, n_pairs
from ..randomizers.base import as_text, cost_as_text, drafted, flip_within
from ..randomizers.reports import (
    Inbox,
    RefusedReport,
    as_reports,
    fields,
    protocol_of,
    require_answer,
    require_pair,
)
from ..randomizers.response import counted_wins
from .plan import POSITIONS, Plan, PublishedSession, ballots_of, refuse_underived

# Functions of public numbers that repeated trials ask for again and again.
_central_epsilon = lru_cache(maxsize=256)(composed_shuffle_epsilon)
_local_epsilon = lru_cache(maxsize=256)(composed_local_epsilon)


class Shuffle(BaseEstimator):
    """The shuffle model: locally randomised messages, mixed so that nobody knows whose is whose.

    Parameters
    ----------
    epsilon : float, default=1.0
        Central target, in nats; the local epsilon is found from it and the least number of reports.
    delta : float, default=1e-6
        Central failure probability.
    local_epsilon : float or None, default=None
        Given instead of the target: local epsilon of one voter's K messages together. The guarantee then
        says what it amounts to.
    n_queries : int, default=1
        K: each voter sends K messages in K shuffles.
    pairs : {"hidden", "assigned"}, default="hidden"
        Whether each voter draws its pairs privately, and hides among all voters, or the curator assigns
        them by a balanced design, and a voter hides among those with the same pair only.
    min_reports : int or None, default=None
        Public: how many voters will take part at least. The curator releases nothing below it. None
        is the number of voters in `fit`; `fit_reports` needs it.

    References
    ----------
    Balle, Bell, Gascon and Nissim (2019) for the blanket bound; Song et al. (2022) for assigned pairs.

    Notes
    -----
    Song et al. claim epsilon - ln(n / C(m, 2)), from a theorem that they cite the wrong way round; it is false.

    Examples
    --------
    >>> from sklearn_dprank.channels import Shuffle
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> plan = Shuffle(local_epsilon=1.0).plan([Ask(NetWins())], n_items=10, n_voters=5000)
    >>> round(plan.guarantee.epsilon, 3)
    0.063
    """

    collects_reports = True

    def __init__(self, epsilon=1.0, delta=1e-6, local_epsilon=None, n_queries=1, pairs="hidden", min_reports=None):
        self.epsilon = epsilon
        self.delta = delta
        self.local_epsilon = local_epsilon
        self.n_queries = n_queries
        self.pairs = pairs
        self.min_reports = min_reports

    def plan(self, asks, n_items, n_voters=None, items=None):
        """Find the local epsilon; the number of voters is public here.

        Raises
        ------
        ValueError
            If a parameter is invalid, the least number of reports is unknown or above the number of voters,
            or the reports do not determine what the rule asks for.
        """
        n_voters = self._check(n_items, n_voters)
        refuse_underived(self, asks, PairTallies(), "shuffled reports give PairTallies.")
        crowd, rounds = self._crowd(n_voters, n_items), int(self.n_queries)
        amplified = crowd >= 2
        if self.local_epsilon is not None:
            each = float(self.local_epsilon) / rounds
            epsilon = _central_epsilon(each, crowd, self.delta, rounds) if amplified else self.local_epsilon
        else:
            epsilon = float(self.epsilon)
            each = _local_epsilon(epsilon, crowd, self.delta, rounds) if amplified else epsilon / rounds
        flip = flip_within(as_text(each)) if amplified else flip_within(as_text(epsilon), rounds)
        protocol = drafted(
            "rr-shuffled",
            n_items if items is None else items,
            as_text(epsilon),
            delta=as_text(self.delta),
            local_epsilon=cost_as_text(flip, rounds),
            n_queries=rounds,
            pairs=self.pairs,
            min_reports=int(n_voters),
            flip=[flip, FLIP_GRID],
        )
        guarantee = PrivacyGuarantee(
            float(epsilon),
            float(self.delta) if amplified else 0.0,
            "shuffle",
            "replace",
            f"randomized response on {rounds} {self.pairs} pair(s), each among at least {max(crowd, 1)} messages",
            caveats=(f"without the shuffler, local epsilon = {each * rounds:.6g}",),
        )
        published = {"local_epsilon": each * rounds}
        return Plan(guarantee, partial(_ShufflePoll, protocol, crowd, published), protocol, needs=POSITIONS)

    def _crowd(self, n_voters, n_items):
        """Return among how many messages one hides."""
        return n_voters if self.pairs == "hidden" else balanced_group_size(n_voters, n_items, int(self.n_queries))

    def _check(self, n_items, n_voters):
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        if self.delta == 0:
            raise ValueError("delta must be positive in the shuffle model, got 0; set delta=1e-6, say.")
        if self.local_epsilon is not None:
            check_epsilon(self.local_epsilon, "local_epsilon")
        if self.pairs not in ("hidden", "assigned"):
            raise ValueError(f"pairs must be 'hidden' or 'assigned', got {self.pairs!r}.")
        most = n_pairs(n_items)
        if not isinstance(self.n_queries, Integral) or not 1 <= int(self.n_queries) <= most:
            raise ValueError(f"n_queries must be an integer from 1 to the {most} pairs, got {self.n_queries!r}.")
        if self.min_reports is None:
            if n_voters is None:
                raise ValueError("min_reports must be given: the local epsilon is found from it before anyone reports.")
            return n_voters
        if not isinstance(self.min_reports, Integral) or int(self.min_reports) < 1:
            raise ValueError(f"min_reports must be a positive integer, got {self.min_reports!r}.")
        if n_voters is not None and n_voters < int(self.min_reports):
            raise ValueError(f"min_reports={self.min_reports} is above the {n_voters} voters; nothing is released.")
        return int(self.min_reports)


def balanced_design(n_voters, n_items, n_queries, bits):
    """Assign `n_queries` distinct pairs to each voter, every pair to equally many voters or to one more.

    Parameters
    ----------
    n_voters, n_items, n_queries : int
        Public sizes.
    bits : BitSource
        Draws the design; it never sees a ballot.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_queries, 2)
        Each voter's pairs (i, j), i < j. At least floor(n_voters n_queries / C(n_items, 2)) voters share a pair.

    Examples
    --------
    >>> from sklearn_dprank.privacy.bits import Bits
    >>> balanced_design(4, 3, 1, Bits.from_random_state(0).assignment).shape
    (4, 1, 2)
    """
    pairs = np.column_stack(np.triu_indices(n_items, 1))
    # Any n_queries consecutive slots of one repeated order of all pairs are distinct.
    slots = pairs[bits.permutation(len(pairs))[np.arange(n_voters * n_queries) % len(pairs)]]
    return slots.reshape(n_voters, n_queries, 2)[bits.permutation(n_voters)]


class _ShufflePoll:
    """Shuffled messages: those of the field, refused below the least number, or those that devices draw here."""

    def __init__(self, protocol, crowd, published, voters):
        self._protocol, self._crowd = protocol, crowd
        self._m, inbox = len(protocol["items"]), Inbox()
        if isinstance(voters, Profile):
            self._ballots: Any = ballots_of(voters)
            inbox.accepted = voters.n_voters * protocol["n_queries"]
        else:
            self._ballots = None
            self._wins = self._counted(as_reports(voters), inbox)
        self._published = {**inbox.published, **published}

    def __call__(self, bits):
        wins = self._wins if self._ballots is None else self._simulated(self._ballots, bits)
        flip, grid = self._protocol["flip"]
        publication = Publication(PairTallies(), (Tallies(flip / grid, wins),))
        return PublishedSession(self._m, bits.coins, publication, self._published)

    def _simulated(self, ballots, bits):
        design = None
        if self._protocol["pairs"] == "assigned":
            m, k = len(self._protocol["items"]), self._protocol["n_queries"]
            design = balanced_design(ballots.table.shape[1], m, k, bits.assignment)
        first, second, answers = shuffled.draw(self._protocol, ballots, bits, design)
        return counted_wins(first, second, answers, self._m)

    def _counted(self, messages, inbox):
        """Return how many messages put i before j, int64, shape (n_items, n_items)."""
        wins = np.zeros((self._m, self._m), dtype=np.int64)
        m, k, hidden = len(wins), self._protocol["n_queries"], self._protocol["pairs"] == "hidden"
        heard = np.zeros(k if hidden else 1, dtype=np.int64)  # messages in each shuffle
        name = digest(self._protocol)

        def take(message):
            if protocol_of(message) != name:
                raise RefusedReport("another protocol")
            shuffle, pair, said = fields(message, "shuffle", "pair", "answer")
            if type(shuffle) is not int or not 0 <= shuffle < len(heard):
                raise RefusedReport("shuffle out of range")
            require_pair(pair, m)
            require_answer(said)
            heard[shuffle] += 1
            wins[tuple(pair) if said else tuple(reversed(pair))] += 1

        inbox.read(messages, take)
        inbox.require("devices must follow estimator.protocol(items), with the same items in the same order.")
        self._check_crowd(heard.min(), self._protocol["min_reports"] * (1 if hidden else k), "in a shuffle")
        if not hidden:
            self._check_crowd((wins + wins.T)[np.triu_indices(m, 1)].min(), self._crowd, "about a pair")
        return wins

    def _check_crowd(self, least, promised, where):
        if least < promised:
            raise ValueError(
                f"only {least} messages {where}, where {promised} were promised to hide each voter "
                f"(min_reports={self._protocol['min_reports']}); nothing is released."
            )
