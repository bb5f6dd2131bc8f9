"""Local model: each voter's device randomises its ballot once."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from .._utils.checks import EPSILON, LISTED_OR_NONE, Check, check_epsilon, check_parameters, one_of, safe_repr
from .._utils.estimators import BaseEstimator, parametrized
from .._utils.types import Amount, ItemNames, RandomState, RuleName
from ..ballots.profile import Profile
from ..ballots.weights import WeightBound
from ..collection import HypercubeSampling, PrivUnitG, RandomizedResponse, Randomizer
from ..collection.base import ReceivedReports
from ..collection.pairs import PAIRS, AssignedPairs, ShownPairs
from ..collection.protocol import stated_epsilon
from ..collection.randomizers import (
    CLIENT_RANDOMIZERS,
    check_flips,
    check_randomizer,
    checked,
    flips_of,
)
from ..collection.reports import ANSWERED_BEFORE, FOLLOW, ReportReader, Tally, new_voters
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import Ask
from ..rules import RULE, BradleyTerryRule, KwikSortRule, Rule, SortByScore, resolve_rule
from .base import RankAggregator
from .plan import POSITIONS, Answers, Plan, ballots_of, check_derivable, listed_text, outcomes_of

_LARGEST_GRID = 100  # epsilons; each needs separate counts


@parametrized
class Local(BaseEstimator):
    """Local differential privacy: each voter sends one randomised report, and all answers are derived from the reports.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one report, in nats.
    randomizer : Randomizer or None, default=None
        Randomizer of the voter's device. None is `RandomizedResponse()` on one random pair.

    Examples
    --------
    >>> from sklearn_dprank.channels import Local
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> print(Local(epsilon=2.0).plan([Ask(NetWins())], n_items=10).guarantee)
    epsilon = 2 (local, replace)
    """

    epsilon: Amount = 1.0
    randomizer: Randomizer | None = None

    parameter_checks: ClassVar[dict[str, Check]] = {**EPSILON, "randomizer": check_randomizer}
    collects_reports = True
    personal_budgets = True

    @property
    def takes_comparisons(self) -> bool:
        """Whether persons have comparisons whose pairs are public, in place of ballots."""
        return isinstance(self.randomizer, ShownPairs)

    def plan(
        self,
        asks: list[Ask],
        n_items: int,
        n_voters: int | None = None,
        voter_epsilon: Any = None,
        items: ItemNames | None = None,
        bound: WeightBound | None = None,
    ) -> Plan:
        """Return the plan, if the reports determine all asks.

        Parameters
        ----------
        asks : list of Ask
            Asks of the rule.
        n_items : int
            Number of items.
        n_voters : int or None, default=None
            Number of ballots of a simulation, which is public. None for remote devices.
        voter_epsilon : sequence of float or None, default=None
            Public grid of epsilons that voters chose from. None is `epsilon` for all voters.
        items : list or None, default=None
            Item names in the protocol, for remote devices. None is the item indices.
        bound : WeightBound or None, default=None
            Bound of a profile of comparisons. None for ballots and for remote devices.

        Raises
        ------
        ValueError
            If an epsilon is invalid, or the reports do not determine the rule's asks.
        """
        check_parameters(self)
        personal = voter_epsilon is not None
        grid = list(map(float, voter_epsilon if personal else [self.epsilon]))
        for value in grid:
            check_epsilon(value, "voter_epsilon")
        if not 1 <= len(grid) <= _LARGEST_GRID:
            raise ValueError(
                f"voter_epsilon must hold 1 to {_LARGEST_GRID} distinct values, got {len(grid)}; round them."
            )
        randomizer = RandomizedResponse() if self.randomizer is None else self.randomizer
        name = type(randomizer).__name__
        how = f"reports by {getattr(randomizer, 'how', name)}"  # of voters, not of their simulation
        how += listed_text(getattr(randomizer, "max_listed", None))
        if n_voters is not None:
            randomizer = randomizer.simulating(n_voters)
        check_derivable(self, asks, n_items, randomizer.releases, f"reports by {name}")
        client = randomizer.client
        named = n_items if items is None else items
        protocols = {value: checked(randomizer.protocol(value, named), client) for value in grid}
        largest = max(stated_epsilon(protocol, client) for protocol in protocols.values())
        caveats = ("each voter has its own epsilon, which is public; the largest is stated",) if personal else ()
        guarantee = PrivacyGuarantee(largest, 0.0, "local", "replace", how, randomizer.arithmetic, caveats=caveats)
        if self.takes_comparisons:
            guarantee = outcomes_of(guarantee, bound)
        reader = _LocalReader(randomizer, protocols.values())
        reads = partial(_opened, randomizer, protocols, personal, reader)
        own_client = None if randomizer.name in CLIENT_RANDOMIZERS else client
        return Plan(
            guarantee,
            reads,
            protocols[min(grid)],
            needs=frozenset({"counts"}) if self.takes_comparisons else POSITIONS,
            client=own_client,
            n_items=n_items,
            bound=bound,
            reader=reader,
        )


class _LocalReader(ReportReader):
    """Reader of the reports of one randomizer.

    If reports name their voters, each voter counts once, with the first report under any of the protocols. The code of
    an answer is then (p m + i) m + j if it puts item i before item j in a report of protocol p.
    """

    second, number = ANSWERED_BEFORE, "voter"

    def __init__(self, randomizer, protocols):
        super().__init__(protocols)
        self._randomizer = randomizer

    def read(self, submissions, reports, name):
        drawn = self._randomizer.read_all(reports, self.protocols[name])
        if not self._randomizer.names_voters:
            return drawn
        voters = [report["voter"] for report in reports]
        new_voters(voters, submissions.keys())  # refuses those who have reported
        m, p = len(self.protocols[name]["items"]), list(self.protocols).index(name)
        first, second, answers = drawn
        codes = p * m**2 + np.where(answers, first * m + second, second * m + first)
        submissions.update(zip(voters, map(bytes, codes), strict=True))
        return tuple(part[:0] for part in drawn)  # `received` counts them, each voter once

    def received(self, counts):
        """Return the `ReceivedReports` of each protocol that has reports."""
        m = len(next(iter(self.protocols.values()))["items"])
        # Number of the protocol of each answer, and of each voter, whose answers are all in one report.
        of_answer, wins = np.divmod(counts.submitted(), m**2)
        of_voter = np.array([np.frombuffer(codes, np.int64, 1)[0] // m**2 for codes in counts.submissions.values()])
        received = []
        for p, (name, tally) in enumerate(counts.tallies.items()):
            named = Tally(np.bincount(wins[of_answer == p], minlength=m**2).reshape(m, m), int((of_voter == p).sum()))
            counted, n_reports = tally.plus(named)
            if n_reports:
                received.append(ReceivedReports(self.protocols[name], counted, n_reports))
        return received

    def counts(self, drawn, protocol):
        return self._randomizer.counts(drawn, protocol)

    def are_counts(self, counts, n_reports, protocol):
        # If voters are named, each counts once, and a sum does not tell who is in it.
        return not self._randomizer.names_voters and self._randomizer.are_counts(counts, n_reports, protocol)


def _opened(randomizer, protocols, personal, reader, voters):
    """Return what answers, given bits, from received reports, or new simulated reports for each release."""
    received, groups = [], []
    if isinstance(voters, Profile):
        if voters.n_voters == 0:  # their number is public here
            raise ValueError("X holds no ballot, and the local model needs at least one report; add a ballot.")
        epsilons, ballots = voters.voter_epsilon, ballots_of(voters)
        if personal != (epsilons is not None) or (
            epsilons is not None and not protocols.keys() >= set(epsilons.tolist())
        ):
            raise ValueError("the plan is for voters with other epsilons of their own; make it for this profile.")
        for epsilon, protocol in protocols.items():
            own = ballots._replace(table=ballots.table[:, epsilons == epsilon]) if personal else ballots
            groups.append((protocol, own, np.count_nonzero(epsilons == epsilon) if personal else voters.n_voters))
        published = {"reports_accepted": voters.n_voters, "reports_refused": {}}
    else:
        counts = reader(voters)
        hint = "" if personal else " If voters have their own epsilon, give epsilons=."
        published, received = counts.published(f"Devices {FOLLOW}.{hint}"), reader.received(counts)
    return partial(_answers, randomizer, next(iter(protocols.values())), published, received, groups)


def _answers(randomizer, protocol, published, received, groups, bits):
    """Return the answers that follow from received reports, or from simulated reports of groups of voters."""
    received = received or [
        ReceivedReports(followed, randomizer.simulated(followed, ballots, bits), n_voters)
        for followed, ballots, n_voters in groups
    ]
    # With several epsilons, the reports are weighted by epsilon, and no law of the noise is stated.
    law = randomizer.law(received[0]) if len(received) == 1 else None
    answers = Answers(len(protocol["items"]), bits.coins, published=published)
    answers.publish_numbers(randomizer.releases, randomizer.combined(received), law)
    return answers


# Estimators for the local model with one report per voter.


@parametrized
class LDPPairwise(RankAggregator):
    """Private ranking in the local model; try this estimator first if voters trust only their own device.

    Each voter answers a few random pairs (Yan et al. 2020). With ``randomizer="djw"``, each voter sends randomised
    answers to all pairs (Alabi et al. 2022).

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
    n_queries : int or None, default=1
        Number of pairs that each voter answers, at epsilon / n_queries per answer. None is the choice of `LDPKwikSort`.
        ``randomizer="djw"`` does not use it.
    randomizer : {"rr", "djw"} or Randomizer, default="rr"
        Randomised response, or hypercube sampling of Duchi, Jordan and Wainwright on the vector of all comparisons
        (Alabi et al., Theorem 8). `~sklearn_dprank.theory.yan.PrintedLaplace` and
        `~sklearn_dprank.theory.song.PrintedGaussian` have the noise as those papers print it; ``privacy_`` still states
        the true epsilon.
    rule : None, str or Rule, default=None
        Rule that turns answers into a ranking. None is Bradley-Terry, or Borda for ``randomizer="djw"``, which gives no
        answer counts.
    pairs : {"hidden", "assigned", "shown"}, default="hidden"
        "hidden": each voter's device draws its pairs, and reports them with the answers. "assigned": each registered
        voter has public pairs, and the curator refuses reports on others. The error is the same, but a voter who lies
        can spoil only the own pairs. "shown": persons compare two items at a time
        (`~sklearn_dprank.ballots.Profile.from_comparisons`), and it is public which ones. Each device draws one of the
        person's comparisons. "assigned" and "shown" are not for ``randomizer="djw"``; "shown" needs ``n_queries=1`` and
        ``randomizer="rr"``.
    n_voters : int or None, default=None
        Number of registered voters, for assigned pairs. They have the numbers 0 to n_voters - 1. `fit` needs no number;
        `protocol`, `client` and `fit_reports` need one.
    assignment_seed : str or None, default=None
        Public random seed of the assigned pairs, 32 lowercase hexadecimal digits (``secrets.token_hex(16)``). Draw it
        after all voters are registered, so that nobody can register for a pair. `fit` needs no seed;
        `protocol`, `client` and `fit_reports` need one.
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
        Number of reports or answers that were counted.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
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

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect reports, run
    ``client(items)`` on each device and ``fit_reports`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    With shown pairs, the unit is the outcomes of all comparisons of one person, and one of them is reported. Who took
    part, and which items a person compared, is not protected. The next pair of a person must not depend on the person's
    own outcomes, and a comparison without an outcome should be a tie, because missing ones are public.

    .. rubric:: Remarks

    With shown pairs, the numbers of answers on each pair are exact, however unequal they are, and so
    Bradley-Terry is not biased by the choice of opponents. Intervals are for margins in which a person with K
    comparisons counts 1 / K in each of them.

    Yan et al. print the flip of randomised response the wrong way round.

    With one pair per voter, `fit` draws the answers of all devices together. Let f be the flip probability. With
    probability 1 - 2 f, a device gives the true answer about its pair. Otherwise, all answers about all pairs are
    equally likely. The distribution is exactly that of devices, but a seed gives other values than the same seed gives
    devices.

    With assigned pairs, a voter's pairs follow from `assignment_seed` and the voter's number, by SHA-256. They do not
    depend on the ballot, so the guarantee is the same. Over random seeds, they have the distribution of pairs that
    voters draw. So a seed gives the same fit for both values of `pairs`. One lying voter counts as 1 / tanh(epsilon /
    2) honest voters on an assigned pair, and as n_items / 2 times as many if voters choose their pairs
    (:ref:`dishonest-voters`).

    References
    ----------
    Yan, Li and Liu (2020); Song et al. (2022); Alabi et al. (2022), Theorem 8. Cheu, Smith and Ullman (2021), for lying
    voters. Bradley-Terry decoding of the same reports is new in this package.

    Examples
    --------
    >>> from sklearn_dprank import LDPPairwise
    >>> LDPPairwise(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    n_queries: int | None = 1
    randomizer: Literal["rr", "djw"] | Randomizer = "rr"
    rule: RuleName | Rule | None = None
    pairs: Literal["hidden", "assigned", "shown"] = "hidden"
    n_voters: int | None = None
    assignment_seed: str | None = None
    random_state: RandomState = None

    parameter_checks = {
        "randomizer": partial(check_flips, names=("rr", "djw")),
        "pairs": one_of(*PAIRS),
        **AssignedPairs.parameter_checks,
        **RULE,
    }

    def _compose(self):
        djw = isinstance(self.randomizer, str) and self.randomizer == "djw"
        randomizer = HypercubeSampling() if djw else flips_of(self.randomizer, self.n_queries)
        if self.pairs == "assigned":
            randomizer = AssignedPairs(randomizer, self.n_voters, self.assignment_seed)
        if self.pairs == "shown":
            if djw or not isinstance(self.randomizer, str):
                raise ValueError(f"pairs='shown' needs randomizer='rr', got {safe_repr(self.randomizer)}.")
            randomizer = ShownPairs(self.n_queries)
        return Local(self.epsilon, randomizer), resolve_rule(self.rule, SortByScore() if djw else BradleyTerryRule())


@parametrized
class LDPKwikSort(RankAggregator):
    """KwikSort in the local model; use it to reproduce Yan et al. (2020).

    LDP-KwikSort:RR and LDP-KwikSort:Lap: each voter answers K random pairs, and KwikSort sorts the items by the
    estimates.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
    n_queries : int or None, default=None
        Number of pairs K that each voter answers. None is an integer next to epsilon / 2: the one with the smaller
        error in the error function of the paper.
    randomizer : {"rr"} or Randomizer, default="rr"
        Randomised response. `~sklearn_dprank.theory.yan.PrintedLaplace` has the Laplace noise as the paper prints it;
        ``privacy_`` still states the true epsilon.
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
        Number of reports or answers that were counted.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
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

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect reports, run
    ``client(items)`` on each device and ``fit_reports`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    This class has the settings of the paper. `LDPPairwise` decodes the same reports by Bradley-Terry. At equal error,
    it needs about 2.3 times less epsilon.

    References
    ----------
    Yan, Li and Liu (2020), Algorithms 1-4.

    Examples
    --------
    >>> from sklearn_dprank import LDPKwikSort
    >>> LDPKwikSort(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    n_queries: int | None = None
    randomizer: Literal["rr"] | Randomizer = "rr"
    random_state: RandomState = None

    parameter_checks = {"randomizer": check_flips}

    def _compose(self):
        return Local(self.epsilon, flips_of(self.randomizer, self.n_queries)), KwikSortRule()


@parametrized
class LDPBorda(RankAggregator):
    """Private Borda ranking in the local model; use it for 20 or more items from about epsilon = 1 on.

    PrivUnit Borda (new in this package): each voter sends its centred Borda vector, randomised by PrivUnitG of Asi et
    al. (2022). Items are sorted by the sums.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
    max_listed : int or None, default=None
        Public bound k on the number of items that a ballot lists, at least 2. If voters list few of many items, the
        error is smaller by about (k / m)^1.5. Longer ballots count less. None is no bound.
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
        Number of reports or answers that were counted.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    scores_ : ndarray, shape (n_items,)
        Estimated net wins, on average over the voters.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect reports, run
    ``client(items)`` on each device and ``fit_reports`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    For 20 or more items, its error is usually smaller than that of `LDPPairwise` from about epsilon = 1 on. For 10
    items, it is smaller for few voters only: from about epsilon = 1.2 on for 1,000 voters, and not at all for 10,000.
    If voters agree on most pairs, `LDPPairwise` is usually better.
    `~sklearn_dprank.model_selection.recommend` compares the two. If voters can be asked in rounds, `LDPAdaptivePairs`
    needs less epsilon for few items.

    Tied and partial ballots have shorter vectors. The device then sends plus or minus the direction, with probabilities
    that keep the sum unbiased. So every report is about a unit vector.

    A device shortens its report to a public norm. The mean component of an honest report along the voter's vector, the
    lean, is smaller. A voter who lies can send a vector of the full norm. Norm over lean is 8.5, 4.3, 2.3 and 1.5 at
    epsilon .5, 1, 2 and 4 for 4 items, and 22, 11, 5.6 and 3.0 for 20 items. Lies about a single item count
    sqrt((n_items + 1) / 3) times as much (:ref:`dishonest-voters`).

    References
    ----------
    Asi, Feldman and Talwar (2022) for PrivUnitG.

    Examples
    --------
    >>> from sklearn_dprank import LDPBorda
    >>> LDPBorda(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    max_listed: int | None = None
    random_state: RandomState = None

    parameter_checks = {"max_listed": LISTED_OR_NONE}

    def _compose(self):
        return Local(self.epsilon, PrivUnitG(self.max_listed)), SortByScore()
