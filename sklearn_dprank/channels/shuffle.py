"""Shuffle model: a trusted shuffler between the voters' devices and the curator."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import (
    COUNT,
    DELTA,
    EPSILON,
    LEAST_EPSILON,
    VOTERS_OR_NONE,
    Check,
    check_epsilon,
    check_parameters,
    check_whole,
    one_of,
)
from .._utils.estimators import BaseEstimator, parametrized
from .._utils.types import Amount, ItemNames, RandomState, RuleName
from ..ballots.profile import Profile
from ..ballots.weights import WeightBound
from ..collection.base import Randomizer, make_protocol
from ..collection.pairs import PAIRS, PairFlips, ShuffledRandomizer, are_wins, counted_wins, hidden_wins
from ..collection.protocol import FLIP_GRID, as_text, cost_as_text, flips_cost, lower_reading
from ..collection.randomizers import check_flips, check_randomizer, checked, flips_of, resolve_flips
from ..collection.reports import (
    FOLLOW,
    ReportReader,
    Tally,
    columns,
    end_to_end,
    new_numbers,
    pair_answers,
    reject_unless,
    whole_numbers,
)
from ..privacy.guarantee import SHUFFLER, PrivacyGuarantee
from ..privacy.rounding import rounded_up
from ..privacy.shuffle import balanced_group_size, composed_local_epsilon, composed_shuffle_epsilon
from ..queries.base import Ask, n_pairs
from ..queries.pairs import PairTallies, Tallies
from ..rules import RULE, resolve_rule
from ..rules.base import Rule
from ..rules.bradley_terry import BradleyTerryRule
from ..rules.pairwise import HierarchicalRule
from ..sampling.bit_source import BitSource
from .base import RankAggregator
from .plan import POSITIONS, Answers, Plan, ballots_of, check_derivable, least_voters, outcomes_of

# Functions of public numbers, cached for repeated trials and for `recommend`.
message_epsilon_for = lru_cache(maxsize=256)(composed_local_epsilon)
_central_epsilon = lru_cache(maxsize=256)(composed_shuffle_epsilon)


@parametrized
class Shuffle(BaseEstimator):
    """Shuffle model: a shuffler mixes the voters' randomised messages, so that their senders stay unknown.

    Parameters
    ----------
    epsilon : float, default=1.0
        Central epsilon to reach, in nats. The local epsilon follows from it and from the least number of reports.
    delta : float, default=1e-6
        Central delta. Must be positive.
    local_epsilon : float or None, default=None
        Joint local epsilon of one voter's K messages, instead of `epsilon`. The guarantee then states the central
        epsilon that results.
    n_queries : int, default=1
        K, the number of messages per voter. Hidden pairs use K shuffles, with one message of each voter per shuffle.
        Assigned pairs use one shuffle. Shown pairs need 1.
    pairs : {"hidden", "assigned", "shown"}, default="hidden"
        "hidden": each voter draws its pairs privately and hides among all voters. "assigned": the curator assigns pairs
        by a balanced design, and a voter hides only among voters with the same pair. "shown": each person draws one of
        the own comparisons, whose pairs are public, and hides only among reports about the same pair.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. Below it, the curator releases no result. None is the number of
        voters in `fit`; `fit_reports` needs a number. With shown pairs, it is the limit for each pair, must be given,
        and pairs with fewer reports are left out.
    randomizer : PairFlips or None, default=None
        Randomizer of each answer. None is `RandomizedResponse()`. A randomizer of `theory` uses the scale as printed
        for the local epsilon. The guarantee states the epsilon that its flips really spend.

    References
    ----------
    Balle, Bell, Gascon and Nissim (2019) for the blanket bound; Song et al. (2022) for assigned pairs.

    Notes
    -----
    Song et al. claim epsilon - ln(n / C(m, 2)) as the central epsilon. The claim is false: it uses the converse of the
    theorem that they cite.

    Examples
    --------
    >>> from sklearn_dprank.channels import Shuffle
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> plan = Shuffle(local_epsilon=1.0).plan([Ask(NetWins())], n_items=10, n_voters=5000)
    >>> round(plan.guarantee.epsilon, 3)
    0.063
    """

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    local_epsilon: Amount | None = None
    n_queries: int = 1
    pairs: Literal["hidden", "assigned", "shown"] = "hidden"
    min_reports: int | None = None
    randomizer: PairFlips | None = None

    parameter_checks: ClassVar[dict[str, Check]] = {
        **EPSILON,
        **DELTA,
        "local_epsilon": partial(check_epsilon, optional=True),
        "n_queries": COUNT,
        "pairs": one_of(*PAIRS),
        "min_reports": VOTERS_OR_NONE,
        "randomizer": check_randomizer,
    }
    collects_reports = True

    @property
    def takes_comparisons(self) -> bool:
        """Whether persons have comparisons whose pairs are public, in place of ballots."""
        return isinstance(self.pairs, str) and self.pairs == "shown"  # read before parameters are checked

    def plan(
        self,
        asks: list[Ask],
        n_items: int,
        n_voters: int | None = None,
        items: ItemNames | None = None,
        bound: WeightBound | None = None,
    ) -> Plan:
        """Return the plan, with the local epsilon of the messages. The number of voters is public here.

        Raises
        ------
        ValueError
            If a parameter is invalid, the least number of reports is unknown or above the number of voters,
            or the reports do not determine the rule's asks.
        """
        check_parameters(self)
        if self.delta == 0:
            raise ValueError("delta must be positive in the shuffle model, got 0; set delta=1e-6, say.")
        check_whole(self.n_queries, "n_queries", 1, n_pairs(n_items))
        shown = self.takes_comparisons
        if shown and (self.n_queries != 1 or self.min_reports is None):
            raise ValueError(
                f"pairs='shown' needs n_queries=1 and min_reports, got n_queries={self.n_queries} and "
                f"min_reports={self.min_reports}. Set min_reports to the least number of reports about a pair. The "
                "local epsilon follows from it, and pairs with fewer reports are left out."
            )
        least = least_voters(self.min_reports, n_voters, "the local epsilon")
        check_derivable(self, asks, n_items, PairTallies(), "shuffled reports")
        randomizer = resolve_flips(self, "n_queries of the channel")
        rounds, delta = int(self.n_queries), float(self.delta)
        n_messages = balanced_group_size(least, n_items, rounds) if self.pairs == "assigned" else least
        # `epsilon` becomes the stated one. If `is_target`, it is the central epsilon to reach, else the joint local one
        # of all messages. Below two messages, nothing is amplified: delta is 0, and the local epsilon is stated.
        amplified, is_target = n_messages >= 2, self.local_epsilon is None
        epsilon = float(self.epsilon if self.local_epsilon is None else self.local_epsilon)
        message_epsilon = epsilon / rounds
        if amplified and is_target:
            message_epsilon = message_epsilon_for(epsilon, n_messages, self.delta, rounds)
        # The flip may spend `message_epsilon` on one message or, without amplification, `epsilon` on all, as locally.
        allowed, times = (as_text(message_epsilon), 1) if amplified else (as_text(epsilon), rounds)
        flip = randomizer.flip(allowed, times)
        local_cost = flips_cost(flip, rounds)
        # A printed scale, or a user's randomizer, may spend more or less than allowed: state what the flip spends.
        if not randomizer.is_tight or flips_cost(flip, times) > lower_reading(allowed):
            message_epsilon, epsilon = rounded_up(Fraction(flips_cost(flip))), rounded_up(Fraction(local_cost))
            is_target = False
        if amplified and not is_target:  # the bound is 0 if delta alone covers the answers
            epsilon = max(_central_epsilon(message_epsilon, n_messages, self.delta, rounds), LEAST_EPSILON)
        fields = {
            "n_queries": rounds,
            "flip": [flip, FLIP_GRID],
            "pairs": self.pairs,
            "min_reports": least,
            "central_epsilon": as_text(epsilon),
            "central_delta": repr(delta),
        }
        named = n_items if items is None else items
        protocol = checked(make_protocol("rr-shuffled", named, cost_as_text(local_cost), fields))
        how = f"{randomizer.how} on {rounds} {self.pairs} pair(s), each among at least {max(n_messages, 1)} messages"
        caveats = (f"without the shuffler, local epsilon = {message_epsilon * rounds:.6g}",)
        group = "the voters who report on a pair" if shown else "the voters"
        whom = ("shuffle", SHUFFLER), ("shuffle", f"{least} of {group} in each batch")
        spent = epsilon, delta if amplified else 0.0
        guarantee = PrivacyGuarantee(*spent, "shuffle", "replace", how, caveats=caveats, whom=whom)
        if shown:
            guarantee = outcomes_of(guarantee, bound)
        reader = _ShuffledReader(protocol)
        reads = partial(_opened, protocol, n_messages, {"local_epsilon": message_epsilon * rounds}, reader)
        needs = frozenset({"counts"}) if shown else POSITIONS
        return Plan(guarantee, reads, protocol, needs=needs, n_items=n_items, bound=bound, reader=reader)


def balanced_design(n_voters: int, n_items: int, n_queries: int, bits: BitSource) -> NDArray[np.int64]:
    """Assign `n_queries` distinct pairs to each voter, and each pair to the same number of voters or one more.

    Parameters
    ----------
    n_voters, n_items, n_queries : int
        Public sizes.
    bits : BitSource
        Random bits for the design, which does not depend on ballots.

    Returns
    -------
    ndarray of int64, shape (n_voters, n_queries, 2)
        Pairs (i, j), i < j, of each voter. At least floor(n_voters n_queries / C(n_items, 2)) voters share each pair.

    Examples
    --------
    >>> from sklearn_dprank.sampling.bit_source import Bits
    >>> balanced_design(4, 3, 1, Bits.from_random_state(0).assignment).shape
    (4, 1, 2)
    """
    pairs = np.column_stack(np.triu_indices(n_items, 1))
    # Any n_queries consecutive slots of one repeated order of all pairs are distinct.
    order = bits.permutation(len(pairs))
    slots = bits.permutation(n_voters)[:, None] * n_queries + np.arange(n_queries)
    return pairs[order].take(slots % len(pairs), axis=0)


class _ShuffledReader(ReportReader):
    """Reader of shuffled messages and of submissions.

    The code of a message is (shuffle n_items + i) n_items + j if it puts item i before item j. Counts are the number of
    messages in each shuffle, and then the number of messages for each (i, j).
    """

    def __init__(self, protocol):
        super().__init__([protocol])
        self._k, self.is_hidden = protocol["n_queries"], protocol["pairs"] != "assigned"
        self._n_items = len(protocol["items"])
        self._shuffles = self._k if self.is_hidden else 1  # assigned pairs share one

    def counts(self, drawn, protocol):
        shuffle, wins = np.divmod(drawn, self._n_items**2)
        return np.concatenate(
            [np.bincount(shuffle, minlength=self._shuffles), np.bincount(wins, minlength=self._n_items**2)]
        )

    def are_counts(self, counts, n_reports, protocol):
        if counts.shape != (self._shuffles + self._n_items**2,):
            return False
        received, wins = np.split(counts, [self._shuffles])
        possible = received.min() >= 0 and received.sum() == n_reports
        return possible and are_wins(wins.reshape(self._n_items, -1), n_reports, n_reports, self._n_items)

    def total(self, counts):
        """Return the number of messages in each shuffle, and of those that put item i before item j, as two arrays."""
        ((name, tally),) = counts.tallies.items()
        codes = counts.submitted()
        total = tally.plus(Tally(self.counts(codes, self.protocols[name]), len(codes))).counts
        received, wins = np.split(total, [self._shuffles])
        return received, wins.reshape(self._n_items, self._n_items)

    def read(self, submissions, reports, name):
        """Return the codes of messages; raise RefusedReport for invalid reports.

        A report is one message released by a shuffler, or a submission with all messages of one voter. A block with
        both forms is refused, and `Inbox` then reads its halves.
        """
        if not any("messages" in report for report in reports):
            return self._messages(reports, ("protocol",))[-1]
        numbers, groups = columns(reports, "report", "messages")
        k = self._k
        shuffle, *answers, codes = self._messages(end_to_end(groups, k, "wrong number of messages"), ())
        if self.is_hidden:  # one message in each shuffle
            reject_unless((np.sort(shuffle.reshape(-1, k), axis=1) == np.arange(k)).all(), "shuffle out of range")
        else:
            pairs = np.sort((answers[0] * self._n_items + answers[1]).reshape(-1, k), axis=1)
            reject_unless((pairs[:, 1:] != pairs[:, :-1]).all(), "pair asked twice")
        new_numbers(numbers, submissions.keys())  # refuses those that were received
        each = zip(numbers, codes.reshape(-1, k), strict=True)
        submissions.update((int(number, 16), messages.tobytes()) for number, messages in each)
        return codes[:0]  # `total` counts them

    def _messages(self, messages, head):
        """Return arrays (shuffle, first, second, code); refuse messages with other fields than theirs and `head`."""
        reject_unless(all(type(message) is dict for message in messages), "not a JSON object")
        numbers, pairs, answers = columns(messages, "shuffle", "pair", "answer", also=head)
        shuffle = whole_numbers(numbers, 0, self._shuffles - 1, "shuffle out of range")
        m, (first, second, answered) = self._n_items, pair_answers(pairs, answers, self._n_items)
        wins = np.where(answered, first * m + second, second * m + first)
        return shuffle, first, second, shuffle * m**2 + wins


def _opened(protocol, n_messages, published, reader, voters):
    """Return what answers, given bits, from received messages, at least the required number, or simulated ones."""
    k, least = protocol["n_queries"], protocol["min_reports"]
    if isinstance(voters, Profile):
        if voters.n_voters < least:
            raise ValueError(f"the plan is for {least} voters or more, got {voters.n_voters}.")
        published = {**published, "reports_accepted": voters.n_voters, "reports_refused": {}}
        return partial(_answers, protocol, published, None, ballots_of(voters))
    counts = reader(voters)
    published = {**published, **counts.published(f"Devices {FOLLOW}.")}
    received, wins = reader.total(counts)
    # With assigned pairs, the only shuffle has k messages of each voter.
    hiding = [("in a shuffle", received.min(), least if reader.is_hidden else least * k)]
    if not reader.is_hidden:
        hiding.append(("about a pair", (wins + wins.T)[np.triu_indices(len(wins), 1)].min(), n_messages))
    for where, found, required in hiding:
        if found < required:
            raise ValueError(
                f"only {found} messages {where}, where {required} are needed to hide each voter "
                f"(min_reports={least}); no result is released."
            )
    accepted = int(received.min() if reader.is_hidden else received.sum() // k)
    return partial(_answers, protocol, {**published, "reports_accepted": accepted}, wins, None)


def _answers(protocol, published, wins, ballots, bits):
    """Return the answers that follow from the wins in received messages, or in simulated messages about ballots."""
    m = len(protocol["items"])
    if ballots is not None and protocol["pairs"] == "hidden":
        wins = hidden_wins(protocol, ballots, bits)
    elif ballots is not None:
        design = None
        if protocol["pairs"] == "assigned":
            design = balanced_design(ballots.table.shape[1], m, protocol["n_queries"], bits.assignment)
        first, second, answers = ShuffledRandomizer().draw(protocol, ballots, bits, design)
        wins = counted_wins(first, second, answers, m)
    if protocol["pairs"] == "shown":  # a voter hides only among the messages about the same pair
        wins = np.where(wins + wins.T >= protocol["min_reports"], wins, 0)
        published = {**published, "reports_accepted": int(wins.sum())}
        if not wins.any():
            raise ValueError(
                f"no pair has the {protocol['min_reports']} messages that hide each voter (min_reports); no result is "
                "released."
            )
    tallies, release = Tallies(protocol["flip"][0] / FLIP_GRID, wins), Answers(m, bits.coins, published=published)
    release.publish_numbers(PairTallies(), (tallies,), tallies.law)
    return release


# Estimators for the shuffle model.


@parametrized
class ShufflePairwise(RankAggregator):
    """Private ranking in the shuffle model; try this estimator first if voters trust a shuffler.

    Hidden-pair shuffle (new in this package): each voter answers about a pair that its device draws privately, and a
    shuffler mixes the messages.

    Parameters
    ----------
    epsilon : float, default=1.0
        Target for the central epsilon, in nats. The local epsilon follows from it and from the minimum number of
        voters.
    delta : float, default=1e-6
        Central delta. Must be positive.
    n_queries : int, default=1
        K, the number of messages per voter, which share epsilon. With hidden pairs, each of them is in a separate
        shuffle. Several messages often give a smaller error than one: `~sklearn_dprank.model_selection.recommend`
        chooses the number.
    pairs : {"hidden", "assigned", "shown"}, default="hidden"
        "hidden": each voter draws its pairs privately and hides among all voters. "assigned": voters are assigned
        pairs, and a voter hides only among voters with the same pair. "shown": persons compare two items at a time
        (`~sklearn_dprank.ballots.Profile.from_comparisons`), and it is public which ones. Each device draws one of the
        person's comparisons, which hides only among reports about the same pair. It needs ``n_queries=1``.
    rule : None, str or Rule, default=None
        Rule that turns answers into a ranking. None is Bradley-Terry.
    local_epsilon : float or None, default=None
        Joint local epsilon of all messages of one voter, instead of `epsilon`. ``privacy_`` then states the central
        epsilon that results.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. With fewer voters, the fit fails and releases no result. None is
        ``len(X)`` in `fit`; protocols for devices need a number. With shown pairs, it is the lower limit on the number
        of reports about each pair, and must be given. Pairs with fewer reports are left out.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    reports_accepted_ : int
        Number of voters whose messages were counted, also if each sent several.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter, without trust in the shuffler.
    optimal_gap_ : float
        With the Kemeny rule: certified upper bound on (cost - optimum) / optimum. The cost of an order is the sum of
        the noisy margins that it overrules. Computed from the release only.
    shrinkage_ : float
        With the Kemeny rule: factor of the part of the margins that no scores explain, see
        `~sklearn_dprank.rules.KemenyRule`. Only if the noise has a known standard deviation.
    margins_ : ndarray, shape (n_items, n_items)
        Estimated margins: share of voters who prefer the row's item to the column's, minus the opposite share. 0 for a
        pair without answers.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: a shuffler that mixes the messages and removes their origin. Without the shuffler, the
    local epsilon (``local_epsilon_``) still holds. Neighbours differ in one replaced ballot; the number of voters is
    public and at least `min_reports`. The guarantee counts honest messages. Voters who drop out or lie do not hide
    others, so set `min_reports` to the number of voters that you are sure of.
    See :ref:`what may be published <may-be-published>`.

    With shown pairs, the unit is the outcomes of all comparisons of one person, as in `LDPPairwise`. Everybody may know
    who was shown which pair, so only reports about the same pair hide each other: epsilon follows from `min_reports` of
    them. Which pair a device draws does not depend on outcomes, so the numbers of reports are free.

    .. rubric:: Remarks

    A privately drawn pair is an additional fact that the shuffler hides. Every voter hides among all n voters, as in
    binary randomised response of n voters. With an assigned pair, a voter hides only among n / C(m, 2) voters.

    With hidden pairs, `fit` draws the messages of all devices together, as `LDPPairwise` does. Their distribution is
    exactly that of devices, and the draw takes a fraction of the time.

    References
    ----------
    Balle, Bell, Gascon and Nissim (2019) for the privacy blanket.

    Examples
    --------
    >>> from sklearn_dprank import ShufflePairwise
    >>> ShufflePairwise(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    n_queries: int = 1
    pairs: Literal["hidden", "assigned", "shown"] = "hidden"
    rule: RuleName | Rule | None = None
    local_epsilon: float | None = None
    min_reports: int | None = None
    random_state: RandomState = None

    parameter_checks = {**RULE}

    def _compose(self):
        channel = Shuffle(self.epsilon, self.delta, self.local_epsilon, self.n_queries, self.pairs, self.min_reports)
        return channel, resolve_rule(self.rule, BradleyTerryRule())


@parametrized
class ShuffleHierarchical(RankAggregator):
    """Hierarchical ranking in the shuffle model; use it to reproduce Song et al. (2022).

    DDP-Helnaksort: pairs are assigned, messages are shuffled among voters with the same pair, and hierarchical
    aggregation decides.

    Parameters
    ----------
    epsilon : float, default=1.0
        Target for the central epsilon, in nats. The local epsilon follows from it and from the minimum number of
        voters.
    delta : float, default=1e-6
        Central delta. Must be positive.
    n_queries : int, default=1
        K, the number of pairs that each voter is assigned.
    local_epsilon : float or None, default=None
        Joint local epsilon of all messages of one voter, instead of `epsilon`. ``privacy_`` then states the central
        epsilon that results.
    min_reports : int or None, default=None
        Public lower limit on the number of voters. With fewer voters, the fit fails and releases no result. None is
        ``len(X)`` in `fit`; protocols for devices need a number.
    randomizer : {"rr"} or Randomizer, default="rr"
        Randomised response. `~sklearn_dprank.theory.song.PrintedGaussian` has the noise that Algorithm 1 prints for the
        local epsilon; ``privacy_`` and ``local_epsilon_`` still state the true values.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    reports_accepted_ : int
        Number of voters whose messages were counted, also if each sent several.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter, without trust in the shuffler.
    margins_ : ndarray, shape (n_items, n_items)
        Estimated margins: share of voters who prefer the row's item to the column's, minus the opposite share. 0 for a
        pair without answers.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: a shuffler that mixes the messages and removes their origin. Without the shuffler, the
    local epsilon (``local_epsilon_``) still holds. Neighbours differ in one replaced ballot; the number of voters is
    public and at least `min_reports`. The guarantee counts honest messages. Voters who drop out or lie do not hide
    others, so set `min_reports` to the number of voters that you are sure of.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Song et al. claim (epsilon - ln(n / C(m, 2)), delta) after shuffling. They apply a theorem in the wrong direction.
    At n = 100 and epsilon = 1, the claim is even negative for up to 9 items. Here, the local epsilon follows from the
    blanket bound with the N = floor(n K / C(m, 2)) messages that really hide a voter. If N is below 2, shuffling does
    not amplify privacy. Song et al. also do not split delta over the K answers, and their printed level sum ranks in
    reverse.

    Algorithm 1 adds Gaussian noise of standard deviation K sqrt(2 ln(1.25 / delta)) / epsilon to an answer in {0, 1},
    and compares the result with 1/2. Its epsilon is the local one. The output is one flipped bit. With epsilon = 1 and
    delta = 1e-4 in the paper, it equals randomised response with epsilon = .184:
    ``ShuffleHierarchical(local_epsilon=1.0, randomizer=PrintedGaussian(delta=1e-4))`` with the noise of
    `~sklearn_dprank.theory.song`. With `epsilon` instead of `local_epsilon`, the noise is that of the local epsilon
    which the true bound allows. To repeat the central epsilon of the paper, compute the local one with
    `~sklearn_dprank.privacy.shuffle_local_epsilon` and ``method="song2022"``, which warns.

    References
    ----------
    Song, Lan, Li and Li (2022), Algorithms 1 and 2; Balle et al. (2019).

    Examples
    --------
    >>> from sklearn_dprank import ShuffleHierarchical
    >>> ShuffleHierarchical(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 500).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    delta: Amount = 1e-6
    n_queries: int = 1
    local_epsilon: float | None = None
    min_reports: int | None = None
    randomizer: Literal["rr"] | Randomizer = "rr"
    random_state: RandomState = None

    parameter_checks = {"randomizer": check_flips}

    def _compose(self):
        target, randomizer = (self.epsilon, self.delta, self.local_epsilon), flips_of(self.randomizer, 1)
        return Shuffle(*target, self.n_queries, "assigned", self.min_reports, randomizer), HierarchicalRule()
