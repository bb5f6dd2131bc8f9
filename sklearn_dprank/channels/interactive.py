"""Interactive local model: a curator asks voters in rounds, and a question may depend on earlier answers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import EPSILON, Check, check_made, check_parameters, check_whole, safe_repr
from .._utils.estimators import BaseEstimator, parametrized
from .._utils.types import Amount, ItemNames, RandomState
from ..ballots.profile import Profile
from ..collection.base import MOST_ANSWERS, joined, make_protocol
from ..collection.pairs import InteractiveRandomizer, PairFlips, counted_wins, group_load
from ..collection.protocol import FLIP_GRID, as_text, cost_as_text, digest, lower_reading, stated_epsilon
from ..collection.randomizers import check_randomizer, checked, resolve_flips
from ..collection.reports import (
    FOLLOW,
    Inbox,
    as_reports,
    columns,
    new_numbers,
    pair_answers,
    reject_unless,
    whole_numbers,
)
from ..orders.permutations import quicksort_query_bound
from ..privacy.errors import BudgetExhausted
from ..privacy.guarantee import PrivacyGuarantee
from ..queries import AllMargins, Ask, PairMargin, PairTallies, Tallies
from ..rules import AdaptiveBradleyTerryRule, KwikSortRule
from .base import RankAggregator
from .plan import POSITIONS, Answers, Plan, ballots_of, refuse


class VoterLoad(NamedTuple):
    """Number of answers that a schedule asks of each voter, from public inputs only.

    Attributes
    ----------
    answers : int
        Maximum number of answers per voter, without the last report. They share the epsilon outside the reserve.
    reserve : float
        Epsilon reserved for a last report of every voter, used when questions run out. 0 means no last report.
    how : str
        Short description for the guarantee, with {} in place of the randomizer.
    start : callable of (n_voters, bits) -> iterator of ndarray or None
        Yields the voters of each question. None refuses a question, and the end refuses all further questions.
    """

    answers: int
    reserve: float
    how: str
    start: Callable[..., Iterator[NDArray[np.int64] | None]]


@parametrized
class Slots(BaseEstimator):
    """Schedule that gives every voter `n_queries` slots and divides all slots equally among the questions.

    Parameters
    ----------
    n_queries : int, default=1
        K, the number of answers per voter. Each answer costs epsilon / K.

    References
    ----------
    Song et al. (2022), Section 4.1 (the baseline LDP-Quicksort). The paper does not state who answers. Here, each of q
    questions (a public number) takes floor(n K / q) slots of distinct voters, at most n. The slots come from K random
    orders of all voters.

    Examples
    --------
    >>> from sklearn_dprank.channels import Slots
    >>> from sklearn_dprank.queries import Ask, PairMargin
    >>> Slots(n_queries=2).voter_load(1.0, [Ask(PairMargin(), times=29)], n_items=10, n_voters=100).answers
    2
    """

    n_queries: int = 1

    parameter_checks: ClassVar[dict[str, Check]] = {"n_queries": partial(check_whole, most=MOST_ANSWERS)}
    question = PairMargin().kind
    last_resort = None

    def warn_of_few(self, epsilon: float, asks: list[Ask], n_voters: int) -> None:
        """Warn if too few voters answer each question. The number of voters is public here.

        A question has s = n K / q answers with epsilon / K each. Suppose that all voters agree. The majority of the
        answers is wrong with a probability of about Phi(-sqrt(s) sinh(epsilon / (2 K))), which is 1/4 if s sinh^2 is
        about 1/2. Quicksort then misorders three pairs in ten, for 5 to 40 items and every epsilon and K.
        """
        slots, questions = int(self.n_queries), asks[0].times
        answers = float(min(Fraction(n_voters * slots, questions), Fraction(n_voters)))
        share = float(Fraction(epsilon) / slots)
        is_clear = answers * math.sinh(min(share / 2, 1.0)) ** 2 >= 0.5  # above 1, one answer is enough
        if answers < 1 or not is_clear:
            warnings.warn(
                f"{n_voters} voters with n_queries={safe_repr(self.n_queries)} give {answers:.3g} answers to "
                f"each of {questions} comparisons, at an epsilon of {share:.3g} each. Even if all voters agree, the "
                "order is little better than coin flips. Use a larger epsilon, more voters, or LDPPairwise.",
                UserWarning,
                stacklevel=2,
            )

    def voter_load(self, epsilon: float, asks: list[Ask], n_items: int, n_voters: int) -> VoterLoad:
        """Return the `VoterLoad`.

        Raises
        ------
        ValueError
            If `n_queries` is not a positive integer.
        """
        check_parameters(self)
        slots, questions = int(self.n_queries), asks[0].times
        size = min(n_voters, n_voters * slots // questions)
        return VoterLoad(slots, 0.0, f"{slots} answer{'s' * (slots > 1)} a voter by {{}}", partial(_deals, slots, size))


def _deals(slots, size, n_voters, bits):
    """Yield `size` voters at a time from `slots` random orders of all voters."""
    waiting = np.empty(0, dtype=np.int64)
    for _ in range(slots if size else 0):
        # A new order of all voters. Those still waiting go last, so that no question has one voter twice.
        deal = bits.permutation(n_voters)
        again = np.isin(deal, waiting)
        waiting = np.concatenate([waiting, deal[~again], deal[again]])
        while len(waiting) >= size:
            yield waiting[:size]
            waiting = waiting[size:]


class Groups(BaseEstimator):
    """Schedule that divides voters into m groups and sends each question to a random group.

    A group receives at most tau questions, and all groups together q. Beyond these limits, the reserved half of epsilon
    pays for one non-interactive report of every voter.

    References
    ----------
    Alabi et al. (2022), Algorithms 2 and 3.

    Notes
    -----
    As printed, the counter increases once for every user who answers. Algorithm 3 does not state the epsilon of an
    answer. Here, the counter increases once per question, before any answer. An answer costs epsilon / (2 tau), or
    epsilon / q if tau >= q and no fallback is needed. Responses are in {-1, 1}. With the printed {0, 1}, they would
    spend only part of the budget.

    Examples
    --------
    >>> from sklearn_dprank.channels import Groups
    >>> from sklearn_dprank.queries import Ask, PairMargin
    >>> Groups().voter_load(1.0, [Ask(PairMargin(), times=45)], n_items=10, n_voters=100).answers
    15
    """

    question = PairMargin().kind
    last_resort = AllMargins().kind

    def voter_load(self, epsilon: float, asks: list[Ask], n_items: int, n_voters: int) -> VoterLoad:
        """Return the `VoterLoad`."""
        questions = asks[0].times
        load = min(group_load(quicksort_query_bound(n_items), n_items), questions)
        reserve = epsilon / 2 if load < questions or len(asks) > 1 else 0.0
        start = partial(_turns, n_items, load, questions)
        return VoterLoad(load, reserve, f"at most {load} answer{'s' * (load > 1)} a voter by {{}}", start)


def _turns(n_groups, load, questions, n_voters, bits):
    """Yield the voters of a random group, or None if it was asked `load` times or all groups `questions` times."""
    group = bits.permutation(n_voters) % n_groups
    asked = np.zeros(n_groups, dtype=np.int64)
    while True:
        chosen = bits.integer(n_groups)
        asked[chosen] += 1
        exhausted = asked[chosen] > load or asked.sum() > questions
        yield None if exhausted else np.flatnonzero(group == chosen)


class Rounds(BaseEstimator):
    """Schedule that asks each voter once: each question goes to an equal share of all voters, at the whole epsilon.

    Examples
    --------
    >>> from sklearn_dprank.channels import Rounds
    >>> from sklearn_dprank.queries import Ask, PairTallies
    >>> Rounds().voter_load(1.0, [Ask(PairTallies(), times=4)], n_items=10, n_voters=100).answers
    1
    """

    question = PairTallies().kind
    last_resort = None

    def voter_load(self, epsilon: float, asks: list[Ask], n_items: int, n_voters: int) -> VoterLoad:
        """Return the `VoterLoad`."""
        rounds = asks[0].times
        return VoterLoad(1, 0.0, f"one answer a voter by {{}}, in {rounds} rounds", partial(_shares, rounds))


def _shares(rounds, n_voters, bits):
    """Return an iterator of equal shares of all voters, in random order."""
    return iter(np.array_split(bits.permutation(n_voters), rounds))


# Interactive local model: each voter's device randomises the answers to a few adaptive questions.


def _check_schedule(schedule, name):
    """Raise ValueError unless `schedule` is None or a schedule object."""
    check_made(schedule, name, "schedule")
    if schedule is not None and not hasattr(schedule, "voter_load"):
        raise ValueError(f"{name} must be None, Slots(), Groups() or Rounds(), got {safe_repr(schedule)}.")


@parametrized
class Interactive(BaseEstimator):
    """Local differential privacy with adaptive questions to voters who still have budget.

    Parameters
    ----------
    epsilon : float, default=1.0
        Joint privacy loss of all answers of one voter, in nats.
    schedule : Slots, Groups, Rounds or None, default=None
        Schedule that selects the voters for each question. None is `Slots()`.
    randomizer : PairFlips or None, default=None
        Randomizer of each answer. None is `RandomizedResponse()`. A randomizer of `theory` uses the scale as printed
        for the answer's share of epsilon. The guarantee states the epsilon that it really spends.

    Examples
    --------
    >>> from sklearn_dprank.channels import Interactive
    >>> from sklearn_dprank.rules import KwikSortRule
    >>> asks = KwikSortRule(on_exhausted="coin").asks(10)
    >>> print(Interactive(epsilon=2.0).plan(asks, n_items=10, n_voters=100).guarantee)
    epsilon = 2 (local, replace)
    """

    epsilon: Amount = 1.0
    schedule: Slots | Groups | Rounds | None = None
    randomizer: PairFlips | None = None

    parameter_checks: ClassVar[dict[str, Check]] = {
        **EPSILON,
        "schedule": _check_schedule,
        "randomizer": check_randomizer,
    }
    asks_questions = True

    def plan(self, asks: list[Ask], n_items: int, n_voters: int | None = None, items: ItemNames | None = None) -> Plan:
        """Return the plan, with the number of answers per voter. The number of voters is public here.

        Raises
        ------
        ValueError
            If epsilon is invalid, or the schedule or the randomizer does not fit the rule's asks.
        """
        check_parameters(self)
        schedule = Slots() if self.schedule is None else self.schedule
        randomizer = resolve_flips(self, "its schedule (Slots(n_queries=...))")
        name, (ask, *last_asks) = type(schedule).__name__, asks
        for each in asks:
            each.query.check(n_items)
        if ask.query.kind != schedule.question:
            refuse(self, ask.query, f"{name} is for {schedule.question.__name__}.")
        load = schedule.voter_load(float(self.epsilon), asks, n_items, 1 if n_voters is None else n_voters)
        if last_asks and not (load.reserve and [each.query.kind for each in last_asks] == [schedule.last_resort]):
            refuse(self, last_asks[0].query, f"{name} keeps no budget back for it.")
        if n_voters is not None and hasattr(schedule, "warn_of_few"):
            schedule.warn_of_few(float(self.epsilon), asks, n_voters)
        reserve = Decimal(load.reserve)
        with localcontext(prec=800):  # all digits of a double, so that the shares do not exceed the whole
            share = lower_reading(as_text(self.epsilon)) - reserve
        flips = {"each": randomizer.flip(share, load.answers), "last": randomizer.flip(reserve, 1) if reserve else None}
        fields = {"answers": int(load.answers), "flips": flips, "flip_grid": FLIP_GRID}
        stated = self.epsilon if randomizer.is_tight else cost_as_text(InteractiveRandomizer().spent(fields))
        named = n_items if items is None else items
        protocol = checked(make_protocol("rr-interactive", named, stated, fields))
        how = load.how.format(randomizer.how)
        guarantee = PrivacyGuarantee(stated_epsilon(protocol, InteractiveRandomizer()), 0.0, "local", "replace", how)
        kinds = {schedule.question: "each", **({schedule.last_resort: "last"} if load.reserve else {})}
        reads = partial(partial, _InteractiveAnswers, load, kinds, protocol, n_voters)
        return Plan(guarantee, reads, protocol, needs=POSITIONS, n_items=n_items)


class _InteractiveAnswers(Answers):
    """Answers of voters whom the schedule chooses: simulated, with the ballots of a profile, or remote.

    For remote voters, ``voters(question)`` returns an iterable of reports, or of pairs (voter, report).
    """

    def __init__(self, load, kinds, protocol, n_voters, voters, bits):
        super().__init__(len(protocol["items"]), bits.coins)
        simulated = isinstance(voters, Profile)
        self._messenger: Any = None if simulated else voters
        self._ballots = ballots_of(voters) if simulated else None
        self._n_voters = voters.n_voters if simulated else n_voters
        self._kinds, self._protocol, self._bits = kinds, protocol, bits
        self._asked: Any = None  # voters who pay for the next answer
        self._following = load.start(self._n_voters, bits.assignment)
        self._inbox, self._n_asked = Inbox(), 0

    def charge(self, query):
        """Choose the voters whose share of the budget pays for the answer."""
        kind = self._kinds.get(query.kind)
        if kind is None:
            raise BudgetExhausted(f"no answer was planned for {query}.")
        self._asked = next(self._following, None) if kind == "each" else np.arange(self._n_voters)
        if self._asked is None:
            raise BudgetExhausted(f"no answer is left for {query}.")

    def ask(self, query):
        """Ask the voters who pay, and return the answer to the query from their answers about pairs."""
        kind, asked = self._kinds[query.kind], self._asked
        pairs = np.fromiter(chain.from_iterable(query.asked_pairs(self.n_items)), dtype=np.int64).reshape(-1, 2)
        self._n_asked += 1
        if self._ballots is None:
            first, second, answers = self._collected(kind, pairs, asked)
        else:
            self._inbox.accepted += len(asked)
            given = self._protocol, self._ballots, self._bits
            first, second, answers = InteractiveRandomizer().draw(*given, kind, pairs, asked)
        if isinstance(query, PairMargin):  # a matrix takes longer than thousands of answers about one pair
            return 2 * np.count_nonzero(answers) - np.size(answers)
        wins = counted_wins(first, second, answers, self.n_items)
        return query.derive_from(PairTallies(), (Tallies(self._protocol["flips"][kind] / FLIP_GRID, wins),))

    def _collected(self, kind, pairs, asked):
        """Return (first, second, answers) of remote voters, arrays of int of shape (n_answers,)."""
        name, number = digest(self._protocol), self._n_asked
        question = {"protocol": name, "question": number, "kind": kind, "pairs": pairs.tolist()}
        reports = self._messenger({**question, "voters": asked.tolist()})
        reports = as_reports(reports, "what ask returns", "return a list of the devices' answers.")
        if not hasattr(reports, "readline"):
            reports = self._one_each(reports, set(asked.tolist()))
        # A report contains a random number of its device, and each number is accepted once per question.
        read = partial(self._read, number, pairs, len(asked), set())
        drawn = [each for _, each in self._inbox.read_together(reports, {name}, read)]
        return joined(drawn) if drawn else np.empty((3, 0), dtype=np.int64)

    def _one_each(self, reports, asked):
        """Yield reports; of pairs (voter, report), yield the first of each voter who was asked and count the rest."""
        waiting = set(asked)
        for report in reports:
            if type(report) is tuple and len(report) == 2:
                voter, report = report
                if not isinstance(voter, Integral) or voter not in waiting:
                    known = isinstance(voter, Integral) and voter in asked
                    self._inbox.refused["voter answered before" if known else "voter not asked"] += 1
                    continue
                waiting.remove(voter)
            yield report

    def _read(self, number, allowed, n_asked, received, reports, _):
        """Return (first, second, answers); refuse invalid reports, and more than one for each voter asked."""
        asked, numbers, pairs, answers = columns(reports, "question", "report", "pair", "answer")
        whole_numbers(asked, number, number, "another question")
        first, second, answered = pair_answers(pairs, answers, self.n_items)
        among = np.isin(first * self.n_items + second, allowed @ (self.n_items, 1))
        reject_unless(among.all(), "pair out of range")
        new = new_numbers(numbers, received)
        reject_unless(len(received) + len(reports) <= n_asked, "more reports than voters asked")
        received |= new  # last, because a refused block is read again in halves
        return first, second, answered

    def close(self):
        """Raise ValueError if no answer of remote voters was accepted; simulated voters may be too few to be asked."""
        if self._ballots is None:
            self._inbox.require(
                "The function ask must deliver each question to the devices in question['voters'], and return their "
                f"answers. Devices {FOLLOW}. A larger n_voters may be needed, so that somebody is asked."
            )
        self.published = self._inbox.published


# Estimators for the local model with adaptive questions.


@parametrized
class LDPQuickSort(RankAggregator):
    """Quicksort in the local model; use it to reproduce the baseline of Song et al. (2022).

    LDP-Quicksort: asks voters about each pair that quicksort compares.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
    n_queries : int, default=1
        K, the number of answers that each voter may give, at epsilon / K each. Each comparison asks floor(s) distinct
        voters, where s = min(n, n K / q) and q = floor((m - 1) log2 m). After q comparisons, fair coins decide. A
        `UserWarning` is issued if s is below 1 or below 1 / (2 sinh(epsilon / (2 K))^2). About three pairs in ten are
        then misordered, even if all voters agree.
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
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect answers, run
    ``client(items)`` on each device and ``fit_interactive`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    References
    ----------
    Song et al. (2022), Section 4.1: the baseline of the paper, which does not specify it further.

    Examples
    --------
    >>> from sklearn_dprank import LDPQuickSort
    >>> LDPQuickSort(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    n_queries: int = 1
    random_state: RandomState = None

    def _compose(self):
        return Interactive(self.epsilon, Slots(self.n_queries)), KwikSortRule(on_exhausted="coin")


@parametrized
class LDPGroupKwikSort(RankAggregator):
    """KwikSort over groups of voters in the local model; use it to reproduce Alabi et al. (2022).

    LDPKwikSort of Alabi et al., Algorithms 2 and 3: each comparison asks one of m groups of voters.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
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
        Certified bound, as in `Kemeny`, for the order computed from the last reports. Set only if the questions ran
        out.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect answers, run
    ``client(items)`` on each device and ``fit_interactive`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Whether questions ran out depends only on the answers and on public coins, so it may be published. For every
    practical number of items, one random pair per voter (`LDPPairwise`) has several times less noise.

    References
    ----------
    Alabi et al. (2022), Algorithms 2 and 3, Corollary 12; `sklearn_dprank.channels.Groups` states the corrections.

    Examples
    --------
    >>> from sklearn_dprank import LDPGroupKwikSort
    >>> LDPGroupKwikSort(epsilon=8.0, random_state=0).fit([[0, 1, 2]] * 600).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    random_state: RandomState = None

    def _compose(self):
        return Interactive(self.epsilon, Groups()), KwikSortRule(on_exhausted="kemeny")


@parametrized
class LDPAdaptivePairs(RankAggregator):
    """Private ranking in the local model in rounds; use it if you can query voters in rounds.

    Adaptive randomised response (new in this package): later voters are asked about pairs that are still close.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of everything that one voter's device sends, in nats.
    n_rounds : int, default=4
        Number of rounds, at most 1,000. Each round asks an equal share of the voters, and each voter is asked once.
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
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: only the voter's own device. Neighbours differ in one replaced ballot; the number of voters
    is public. `fit` simulates the devices on ballots that the curator already has. To collect answers, run
    ``client(items)`` on each device and ``fit_interactive`` at the curator.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    At equal error, the best local mechanism in the literature needs about 1.8 times the epsilon.

    Examples
    --------
    >>> from sklearn_dprank import LDPAdaptivePairs
    >>> LDPAdaptivePairs(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    epsilon: Amount = 1.0
    n_rounds: int = 4
    random_state: RandomState = None

    def _compose(self):
        return Interactive(self.epsilon, Rounds()), AdaptiveBradleyTerryRule(self.n_rounds)
