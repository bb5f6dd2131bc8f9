"""A trusted shuffler between the voters' devices and the curator."""

from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..privacy.bits import Bits
from ..privacy.checks import check_delta, check_epsilon
from ..privacy.flips import flip_probability
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted
from ..privacy.shuffle_groups import balanced_group_size, composed_local_epsilon, composed_shuffle_epsilon
from ..profile import Profile
from ..queries import PairTallies, Tallies, n_pairs
from ..randomizers.answers import FLIP_GRID, counted_wins, flipped_answers, is_answer, is_pair, parsed
from ..randomizers.base import RefusedReport
from .devices import device_ballot, simulated_ballots
from .plan import Plan, Publication, PublishedSession, refuse_underived

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

    def plan(self, asks, n_items, n_voters=None):
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
        protocol = {
            "version": 1,
            "randomizer": "rr-shuffled",
            "n_items": int(n_items),
            "n_queries": rounds,
            "pairs": self.pairs,
            "min_reports": int(n_voters),
            "flip": [int(flip_probability(each) * FLIP_GRID), FLIP_GRID],
        }
        guarantee = PrivacyGuarantee(
            float(epsilon),
            float(self.delta) if amplified else 0.0,
            "shuffle",
            "replace",
            f"randomized response on {rounds} {self.pairs} pair(s), each among at least {max(crowd, 1)} messages",
            caveats=(f"without the shuffler, local epsilon = {each * rounds:.6g}",),
        )
        facts = {"local_epsilon": each * rounds}
        return Plan(
            guarantee, _Opener(protocol, crowd, facts), protocol, client=_ClientMaker(protocol), reads_ballots=True
        )

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


class ShuffleClient:
    """One voter's device in the shuffle model: holds one report of K messages.

    Parameters
    ----------
    protocol : dict
        As published by the curator.
    random_state : None, int, Generator or RandomState
        None is the operating system's secure source; anything else is for simulation.
    """

    def __init__(self, protocol, random_state=None):
        self.protocol = protocol
        self._bits = Bits.from_random_state(random_state)
        self._ballot: Any = None
        self._report: list[dict] = []

    def report(self, ballot, pairs=None):
        """Randomise the ballot, once.

        Parameters
        ----------
        ballot : array-like of shape (n_items,)
            Where this voter puts each item; smaller is better, equal is tied, NaN is no opinion.
        pairs : sequence of (int, int) or None, default=None
            The curator's assignment (a row of `balanced_design`), for assigned pairs only.

        Returns
        -------
        list of dict
            JSON-able messages: version, pair, answer and the number of the shuffle to send it to, nothing
            else. Assigned pairs all go to shuffle 0, where those with one pair hide each other. Called again with
            the same ballot, the same messages.

        Raises
        ------
        BudgetExhausted
            If another ballot was reported before.
        ValueError
            If the ballot does not have one number an item, or pairs do not fit the protocol.
        """
        m, k = self.protocol["n_items"], self.protocol["n_queries"]
        positions, key = device_ballot(ballot, m)
        if (pairs is not None) != (self.protocol["pairs"] == "assigned"):
            raise ValueError("pairs must be given if and only if the protocol assigns them.")
        if self._ballot not in (None, key):
            raise BudgetExhausted("this client has reported another ballot; one voter's budget pays for one report.")
        if self._ballot is None:
            if pairs is None:
                drawn = _hidden_pairs(1, k, m, self._bits)[0]
            else:
                drawn = _assigned_pairs(pairs, k, m)
            said = flipped_answers(
                drawn[None, :, 0], drawn[None, :, 1], self.protocol["flip"][0], positions, self._bits
            )
            self._ballot = key
            self._report = [
                {"version": 1, "shuffle": number if pairs is None else 0, "pair": pair, "answer": int(answer)}
                for number, (pair, answer) in enumerate(zip(drawn.tolist(), said[0], strict=True))
            ]
        return [dict(message, pair=list(message["pair"])) for message in self._report]


@dataclass(frozen=True)
class _ClientMaker:
    protocol: dict

    def __call__(self, random_state=None):
        return ShuffleClient(self.protocol, random_state)


@dataclass(frozen=True)
class _Opener:
    """Counts shuffled messages, and refuses to open below the least number."""

    protocol: dict
    crowd: int
    facts: dict

    def __call__(self, voters, bits):
        refused: dict[str, int] = {}
        if isinstance(voters, Profile):
            wins = self._simulated(simulated_ballots(voters), bits)
        else:
            wins = self._counted(voters, refused)
        flip, grid = self.protocol["flip"]
        facts = {"reports_refused": refused, **self.facts}
        published = Publication(PairTallies(), (Tallies(flip / grid, wins),))
        return PublishedSession(self.protocol["n_items"], bits.coins, published, facts)

    def _simulated(self, ballots, bits):
        m, k = self.protocol["n_items"], self.protocol["n_queries"]
        n_voters = ballots.table.shape[1]
        if self.protocol["pairs"] == "hidden":
            drawn = _hidden_pairs(n_voters, k, m, bits)
        else:
            drawn = balanced_design(n_voters, m, k, bits.assignment)
        said = flipped_answers(drawn[..., 0], drawn[..., 1], self.protocol["flip"][0], ballots, bits)
        return counted_wins(drawn[..., 0], drawn[..., 1], said, m)

    def _counted(self, messages, refused):
        m, k, hidden = self.protocol["n_items"], self.protocol["n_queries"], self.protocol["pairs"] == "hidden"
        heard = np.zeros(k if hidden else 1, dtype=np.int64)  # messages in each shuffle
        wins = np.zeros((m, m), dtype=np.int64)
        for message in messages:
            try:
                shuffle, (i, j), said = _checked(parsed(message), m, len(heard))
            except RefusedReport as error:
                refused[error.reason] = refused.get(error.reason, 0) + 1
                continue
            heard[shuffle] += 1
            wins[(i, j) if said else (j, i)] += 1
        self._check_crowd(heard.min(), self.protocol["min_reports"] * (1 if hidden else k), "in a shuffle")
        if not hidden:
            self._check_crowd((wins + wins.T)[np.triu_indices(m, 1)].min(), self.crowd, "about a pair")
        return wins

    def _check_crowd(self, least, promised, where):
        if least < promised:
            raise ValueError(
                f"only {least} messages {where}, where {promised} were promised to hide each voter "
                f"(min_reports={self.protocol['min_reports']}); nothing is released."
            )


def _hidden_pairs(n_voters, k, n_items, bits):
    """Return k independent uniform pairs for each voter, with replacement, shape (n_voters, k, 2)."""
    pairs = np.column_stack(np.triu_indices(n_items, 1))
    return pairs[bits.assignment.integers(len(pairs), n_voters * k)].reshape(n_voters, k, 2)


def _assigned_pairs(pairs, k, n_items):
    """Return the curator's assignment, shape (k, 2), if it is k distinct pairs: the curator is not trusted."""
    asked = np.asarray(pairs).tolist()
    known = isinstance(asked, list) and all(is_pair(pair, n_items) for pair in asked)
    if not (known and len(asked) == len({tuple(pair) for pair in asked}) == k):
        raise ValueError(f"pairs must hold {k} distinct pairs (i, j) of items, i < j.")
    return np.array(asked, dtype=np.int64)


def _checked(message, n_items, n_shuffles):
    """Return (shuffle, pair, answer) of a message that follows the protocol."""
    if not isinstance(message, dict):
        raise RefusedReport("not a JSON object")
    if message.get("version") != 1:
        raise RefusedReport("wrong version")
    if set(message) != {"version", "shuffle", "pair", "answer"}:
        raise RefusedReport("wrong keys")
    shuffle = message["shuffle"]
    if type(shuffle) is not int or not 0 <= shuffle < n_shuffles:
        raise RefusedReport("shuffle out of range")
    if not is_pair(message["pair"], n_items):
        raise RefusedReport("pair out of range")
    if not is_answer(message["answer"]):
        raise RefusedReport("answer out of range")
    return shuffle, message["pair"], message["answer"]
