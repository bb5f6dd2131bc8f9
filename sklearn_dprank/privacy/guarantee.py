"""Privacy guarantee of a release, its composition and its explanation in plain English."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from itertools import count
from textwrap import TextWrapper
from typing import NamedTuple, Self

from .._utils.checks import CHANGED_BALLOTS, check_choice, check_flag, check_number, check_whole, safe_repr
from ..ballots.weights import COMPARISON, OF_PERSONS, OUTCOME, OUTCOMES
from .composition import Losses, delta_of_two
from .rounding import rounded_up, sum_up

_EQUAL = 1e-12  # relative; a sum of deltas that is rounded up may exceed their decimal sum by this much
_ALIKE = 1e-6  # relative tolerance between a stated epsilon and one computed from losses


@dataclass(frozen=True)
class PrivacyGuarantee:
    """Upper limit on what one release reveals about one ballot.

    For all neighbouring profiles P, P' and every set S of outputs, Pr[release(P) in S] <= e^epsilon Pr[release(P') in
    S] + delta.

    Parameters
    ----------
    epsilon : float
        Privacy loss in nats; `inf` means no privacy.
    delta : float
        Probability by which the bound on epsilon may be exceeded.
    trust : {"local", "shuffle", "secure_aggregation", "central", "none"}
        Trust model. For several releases, it can be a sum such as "shuffle + central". Then the parties of all these
        models must be trusted; see `parties`.
    neighboring : {"add_remove", "replace"}
        Neighbouring relation.
    how : str
        Short description of the mechanism.
    arithmetic : str, default="exact"
        "exact", or a description of the floating-point loss.
    certified : bool, default=True
        False if a seed was given. Then the numbers hold for a simulation only.
    caveats : tuple of str, default=()
        Further conditions that a reader must know.
    unit : str, default="one ballot"
        Unit of protection.
    losses : Losses or None, default=None
        Privacy losses of the releases covered, for tighter composition by `compose`. None stands for (epsilon, delta)
        only. So do losses that amount to less than the stated epsilon.
    whom : tuple of (str, str), default=()
        Pairs (trust model, party) that replace the default parties of the trust model.

    Raises
    ------
    ValueError
        If the trust model or the neighbouring relation is unknown, or a number is out of range, also in `losses`.

    Notes
    -----
    Epsilon and delta are stored as floats. Other numbers, such as fractions, are rounded up.

    Examples
    --------
    >>> from sklearn_dprank.privacy import PrivacyGuarantee
    >>> one = PrivacyGuarantee(0.5, 0.0, "central", "add_remove", "discrete Laplace noise")
    >>> PrivacyGuarantee.compose([one, one]).epsilon
    1.0
    >>> print(one)
    epsilon = 0.5 (central, add_remove)
    """

    epsilon: float
    delta: float
    trust: str
    neighboring: str
    how: str
    arithmetic: str = "exact"
    certified: bool = True
    caveats: tuple[str, ...] = ()
    unit: str = "one ballot"
    losses: Losses | None = field(default=None, repr=False)
    whom: tuple[tuple[str, str], ...] = ()

    def __post_init__(self):
        if not isinstance(self.trust, str) or self.trust != all_of([self.trust]):
            raise ValueError(
                f"trust must be one of {sorted(TRUST)} or 'shuffle + central', got {safe_repr(self.trust)}."
            )
        check_choice(self.neighboring, "neighboring", CHANGED_BALLOTS)
        check_number(self.epsilon, "epsilon", least=0, most=math.inf)
        check_number(self.delta, "delta", least=0, most=1)
        check_flag(self.certified, "certified")
        for name in ("how", "arithmetic", "unit"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a str, got {safe_repr(getattr(self, name))}.")
        if not isinstance(self.caveats, tuple) or not all(isinstance(caveat, str) for caveat in self.caveats):
            raise ValueError(f"caveats must be a tuple of str, got {safe_repr(self.caveats)}.")
        if not isinstance(self.whom, tuple) or not all(
            isinstance(pair, tuple) and list(map(type, pair)) == [str, str] for pair in self.whom
        ):
            raise ValueError(f"whom must be a tuple of pairs (trust model, party) of str, got {safe_repr(self.whom)}.")
        if not isinstance(self.losses, Losses | None):
            raise ValueError(f"losses must be None or Losses, got {safe_repr(self.losses)}.")
        if self.losses is not None:
            self.losses.check()
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, rounded_up(getattr(self, name)))
        # At epsilon 0, even losses of no release at all seem to agree with any delta.
        is_all_delta = self.epsilon == 0 < self.delta
        if self.losses is None or is_all_delta or self.losses.epsilon(self.delta) < self.epsilon * (1 - _ALIKE):
            stated = Losses(approximate=((self.epsilon, self.delta),)) if self.delta else Losses(pure=(self.epsilon,))
            object.__setattr__(self, "losses", stated)

    @property
    def parties(self) -> tuple[str, ...]:
        """Names of the parties that must be trusted, as a tuple of str; empty if there are none.

        Examples
        --------
        >>> from sklearn_dprank.privacy import PrivacyGuarantee
        >>> shuffled = PrivacyGuarantee(1.0, 1e-6, "shuffle", "replace", "randomized response")
        >>> noisy = PrivacyGuarantee(1.0, 0.0, "central", "replace", "discrete Laplace noise")
        >>> PrivacyGuarantee.compose([shuffled, noisy]).parties
        ('the shuffler (one public protocol for all voters)', 'the voters whose messages are mixed', 'the curator')
        """
        return tuple(dict.fromkeys(party for _, party in trusted(self.trust, self.whom)))

    @classmethod
    @cache
    def nothing(cls, how: str = "exact statistics") -> Self:
        """Return the guarantee of a release without privacy: epsilon is infinite."""
        return cls(math.inf, 0.0, "none", "add_remove", how)

    @classmethod
    def compose(cls, guarantees: Iterable[PrivacyGuarantee], *, delta: float | None = None) -> Self:
        """Return the joint guarantee of several releases, where each may depend on the results of earlier ones.

        Their epsilons and deltas must be fixed in advance. If these may depend on earlier results, use `PrivacyBudget`.

        Parameters
        ----------
        guarantees : iterable of PrivacyGuarantee
            Releases computed from the same voters, with the same neighbouring relation and unit.
        delta : float or None, default=None
            Delta of the joint guarantee. None is the sum of their deltas. Then epsilon is at most the sum of their
            epsilons. A larger delta gives a smaller epsilon. For pure releases, None is delta 0, so that epsilon is the
            sum; pass a delta such as 1e-6 for less than the sum.

        Returns
        -------
        PrivacyGuarantee
            Rounded up. Gaussian releases compose exactly, by the sum of their squared mu. Pure releases have the sum of
            their epsilons or, if a positive `delta` is passed, the optimal bound where it is smaller. A mixture of both
            also composes exactly. For other releases, the deltas add up, and the epsilons compose like those of pure
            releases. The result trusts all parties of the releases, and has their weakest arithmetic and certificate.

        Raises
        ------
        ValueError
            If `guarantees` is empty, neighbouring relations or units differ, or `delta` is too small for the releases.

        References
        ----------
        Dong, Roth and Su (2022) for Gaussian releases; Kairouz, Oh and Viswanath (2017) for pure ones.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> one = DPBorda(epsilon=0.1, delta=1e-7, noise="gaussian").fit([[0, 1, 2]] * 100).privacy_
        >>> round(PrivacyGuarantee.compose([one] * 10).epsilon, 3)
        0.298
        >>> pure = DPBorda(epsilon=0.1).fit([[0, 1, 2]] * 100).privacy_
        >>> [round(PrivacyGuarantee.compose([pure] * 100, delta=delta).epsilon, 2) for delta in (None, 1e-6)]
        [10.0, 4.77]
        """
        guarantees = list(guarantees)
        if not guarantees:
            raise ValueError("guarantees must hold at least one guarantee.")
        if foreign := [each for each in guarantees if not isinstance(each, PrivacyGuarantee)]:
            raise ValueError(
                f"guarantees must be PrivacyGuarantee objects, [fit.privacy_ for fit in fits] for example, "
                f"got {safe_repr(foreign[0])}."
            )
        # Releases without privacy state a relation and a unit that mean nothing, so these need not agree.
        private = [g for g in guarantees if math.isfinite(g.epsilon)] or guarantees[:1]
        relations = {g.neighboring for g in private}
        if len(relations) > 1:
            raise ValueError(
                f"guarantees under different neighbouring relations do not add up ({sorted(relations)}); "
                "compose [g.under_replace() for g in guarantees], or fit all estimators with one `neighboring`."
            )
        units = {g.unit for g in private}
        if len(units) > 1:
            raise ValueError(
                f"guarantees for different units do not add up ({sorted(units)}); state all of them for one unit."
            )
        whom: tuple[tuple[str, str], ...] = ()  # none, if each has the default parties of its trust model
        if any(g.whom for g in guarantees):
            whom = tuple(dict.fromkeys(pair for g in guarantees for pair in trusted(g.trust, g.whom)))
        losses = Losses.together(g.losses or Losses() for g in guarantees)
        basic, least = sum_up(g.epsilon for g in guarantees), min(1.0, sum_up(g.delta for g in guarantees))
        if delta is None:
            delta = least
        check_number(delta, "delta", least=0, most=1)
        if delta < least <= delta * (1 + _EQUAL):  # twenty doubles 1e-8 add up to more than the double 2e-7
            delta = least
        epsilon = losses.epsilon(float(delta))
        if delta >= least:
            epsilon = min(epsilon, basic)
        if epsilon == math.inf > basic:
            raise ValueError(
                f"delta={delta!r} is too small for what the releases leave outside, {least:.6g}; raise it."
            )
        return cls(
            epsilon=epsilon,
            delta=float(delta),
            trust=all_of(g.trust for g in guarantees),
            neighboring=relations.pop(),
            how=f"{len(guarantees)} releases, {'basic' if epsilon == basic else 'tight'} composition",
            arithmetic="; ".join(sorted({g.arithmetic for g in guarantees} - {"exact"})) or "exact",
            certified=all(g.certified for g in guarantees),
            caveats=tuple(dict.fromkeys(c for g in guarantees for c in g.caveats)),
            unit=units.pop(),
            losses=losses,
            whom=whom,
        )

    def simulated(self, certified: bool) -> Self:
        """Return the same guarantee, not certified unless `certified` is True."""
        if certified or not self.certified:
            return self
        simulation = copy(self)  # all other fields are checked already
        object.__setattr__(simulation, "certified", False)
        return simulation

    def under_replace(self) -> Self:
        """Return the guarantee for the replacement of one ballot, which is one removal and one addition.

        This is group privacy at distance 2. Delta is multiplied by 1 + e^epsilon. Epsilon is doubled, or grows less for
        Gaussian noise. Both are rounded up.

        Examples
        --------
        >>> from sklearn_dprank.privacy import PrivacyGuarantee
        >>> print(PrivacyGuarantee(0.5, 0.0, "central", "add_remove", "discrete Laplace noise").under_replace())
        epsilon = 1 (central, replace)
        """
        if self.neighboring == "replace":
            return self
        delta = delta_of_two(self.epsilon, self.delta)
        losses = (self.losses or Losses()).twice()
        epsilon = min(2 * self.epsilon, losses.epsilon(delta))
        return replace(self, epsilon=epsilon, delta=delta, neighboring="replace", losses=losses)

    def statement(self, width: int | None = 88) -> str:
        """Return an explanation of the guarantee in plain English.

        Parameters
        ----------
        width : int or None, default=88
            Maximal length of a line, at least 40. Longer topics continue on indented lines. None gives one line for
            each topic.

        Returns
        -------
        str
            The meaning for lay readers, then the topics in the order of the questions of NIST SP 800-226: release,
            unit, neighbours, trusted parties, epsilon as odds, delta, composition (see `compose`), arithmetic,
            exclusions, and any caveats.

        Raises
        ------
        ValueError
            If `width` is not None and not an integer of at least 40.

        Notes
        -----
        The first line bounds the probability of a right guess between two neighbours that are equally likely. It is at
        most (e^epsilon + delta) / (1 + e^epsilon), averaged over the results.

        References
        ----------
        Near et al. (2025), Guidelines for evaluating differential privacy guarantees, NIST SP 800-226.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> fitted = DPBorda(epsilon=0.5).fit([[0, 1, 2]] * 100)
        >>> print(fitted.privacy_.statement(width=None).splitlines()[0])
        In plain words: suppose somebody knows all other ballots. To them, it is equally likely that your ballot was
        cast or not. Without this result, they guess right half of the time. With it, they guess right at most 62.3 %
        of the time.
        """
        check_whole(width, "width", 40, optional=True)
        meaning, odds = _in_words(self)
        plainly, caveats = f"In plain words: {meaning}.", [f"Caveat: {caveat}." for caveat in self.caveats]
        if odds is None:
            topics = [plainly, f"Not private: {self.how}.", *caveats]
        else:
            of_person, delta = self.unit in OF_PERSONS, self.delta
            more = (
                " A person with k of them is less protected: epsilon is k times as large"
                f"{', and delta grows, too' * (delta > 0)}."
            )
            meant = "".join(f" {text}." for term, text in _TERMS.items() if term in self.how)
            neighbours = NEIGHBORING[self.neighboring].format(self.unit, "person" if of_person else "voter")
            hidden = _HIDDEN[self.unit == COMPARISON, self.neighboring]
            if self.unit in (OUTCOME, OUTCOMES):
                hidden = _OUTCOMES_HIDDEN
            treatments = "; ".join(TRUST[name].treatment for name in self.trust.split(AND))
            failure = "the bound on probabilities always holds"
            if delta:
                failure = f"the probability of a set of outcomes may exceed this bound by at most {delta:.6g}"
            exact = ": no rounding error weakens the guarantee" if self.arithmetic == "exact" else ""
            n_voters = "the number of voters; " if self.neighboring == "add_remove" else ""
            topics = [
                plainly,
                f"Released: {self.how}.{meant}",
                f"Unit: {self.unit}.{'' if of_person else more}",
                f"Hidden: {hidden}. The guarantee compares results {neighbours}.",
                f"Trust: {treatments}. Trusted parties: {', '.join(self.parties) or 'none'}.",
                f"Epsilon = {self.epsilon:.6g}: {odds}.",
                f"Delta = {delta:.6g}: {failure}.",
                "Composition: this covers this release only. Each further release about the same voters reveals more. "
                "So does each test on their ballots that only chose the settings of this release.",
                f"Arithmetic: {self.arithmetic}{exact}.",
                f"Not covered: {n_voters}scores and other values computed exactly from the ballots; the seed of "
                "random numbers; running times; what the result reveals about people in general; what voters tell "
                "about their ballots.",
                *caveats,
            ]
        lines = [" ".join(topic.split()) for topic in topics]
        if width is None:
            return "\n".join(lines)
        wrapper = TextWrapper(width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        return "\n".join(map(wrapper.fill, lines))

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return "not private"
        delta = f", delta = {self.delta:g}" if self.delta else ""
        seed = "" if self.certified else "; simulation only: a seed was given"
        but = "; read its caveats" if self.caveats else ""
        return f"epsilon = {self.epsilon:.6g}{delta} ({self.trust}, {self.neighboring}{seed}{but})"

    def _repr_html_(self) -> str:
        """Return the guarantee in one line, which opens to its statement, for notebooks."""
        lines = (line.partition(": ") for line in self.statement(width=None).splitlines())
        entries = "".join(f"<li><b>{escape(topic)}</b>{colon}{escape(text)}</li>" for topic, colon, text in lines)
        return f"<details><summary>{escape(str(self))}</summary><ul>{entries}</ul></details>"


#: Neighbouring relations, of a unit and of those who are counted.
NEIGHBORING = {
    "add_remove": "with and without {}",
    "replace": "before and after {} is replaced by any other. The number of {}s is public",
}
#: Terms in descriptions of releases, and what they mean.
_TERMS = {
    "net wins": "The net wins of an item count how often it beats another item, minus how often another item beats it",
    "margin": "The margin of two items is the number of voters who prefer the one, minus those who prefer the other",
}
_HIDDEN = {  # by whether the unit is a comparison, and by relation
    (False, "add_remove"): "whether somebody voted, and how",
    (False, "replace"): "how somebody voted",
    (True, "add_remove"): "whether somebody compared two items, and how",
    (True, "replace"): "which items somebody compared, and how",
}
_OUTCOMES_HIDDEN = "who won in the comparisons that somebody made, but not which items they compared"
#: Caveat of a search on ballots that are declared public. Its epsilon is 0, although its results reveal ballots.
DECLARED_PUBLIC = "the ballots were declared public, which nothing checks"
_LARGE = 1e6  # probability ratio above which the guarantee is close to meaningless
#: By whether the unit is a person, and by relation: what somebody knows, what they do not know, and what they guess.
_GAMES = {
    (False, "add_remove"): (
        "all other ballots",
        "it is equally likely that your ballot was cast or not",
        "a certain ballot was cast",
    ),
    (False, "replace"): (
        "all other ballots",
        "your ballot is one of two that are equally likely",
        "a voter cast the first of two possible ballots",
    ),
    (True, "add_remove"): (
        "the ballots of all other people",
        "it is equally likely that you voted or not",
        "a certain person voted",
    ),
    (True, "replace"): (
        "the ballots of all other people",
        "you voted in one of two ways that are equally likely",
        "a person voted in the first of two possible ways",
    ),
}
_OUTCOME_GAMES = {
    OUTCOME: (
        "which items were compared, and all other outcomes",
        "your outcome is one of two that are equally likely",
        "an outcome was the first of two possible ones",
    ),
    OUTCOMES: (
        "which items were compared, and all outcomes of other people",
        "your outcomes are one of two possibilities that are equally likely",
        "a person's outcomes were the first of two possibilities",
    ),
}


def _in_words(guarantee):
    """Return the meaning of the guarantee for lay readers, and of epsilon as a probability ratio and an even bet.

    The former states how often a guess between two neighbours is right. The latter is None without any protection.
    """
    is_declaration = DECLARED_PUBLIC in guarantee.caveats and guarantee.epsilon == guarantee.delta == 0
    if math.isinf(guarantee.epsilon) or is_declaration:
        return "this result does not protect the voters. It may show how somebody voted", None
    is_person = guarantee.unit in OF_PERSONS
    game: tuple[str, ...] = _GAMES[is_person, guarantee.neighboring]
    ratio, single = math.exp(min(guarantee.epsilon, 2 * math.log(_LARGE))), "person" if is_person else "ballot"
    if guarantee.unit in (OUTCOME, OUTCOMES):
        game, single = _OUTCOME_GAMES[guarantee.unit], "outcome" if guarantee.unit == OUTCOME else "person"
    if guarantee.unit == COMPARISON:
        single = "comparison"
        game = tuple(text.replace("ballot", single).replace("cast", "made") for text in game)
    known, unknown, guessed = game
    share = (ratio + guarantee.delta) / (1 + ratio)
    if not guarantee.certified:
        meaning = (
            "this is a simulation only. Anybody who knows the seed can remove the noise, so no voter has this guarantee"
        )
    elif share > _LARGE / (1 + _LARGE):
        meaning = "this guarantee protects almost nothing. The result may show how somebody voted"
    else:
        but = ". Read the caveats below, too" if guarantee.caveats else ""
        meaning = (
            f"suppose somebody knows {known}. To them, {unknown}. Without this result, they guess right half of the "
            f"time. With it, they guess right at most {_percent(share)} of the time{but}"
        )
    if guarantee.epsilon > math.log(_LARGE):
        return meaning, (
            f"one {single} may change a probability by a factor of more than {_LARGE:,.0f}, which protects almost "
            "nothing"
        )
    digits, apart = max(0, 2 - math.floor(math.log10(ratio))), "apart from delta, " if guarantee.delta else ""
    factor = f"{math.ceil(ratio * 10**digits) / 10**digits:,.{digits}f}"  # three digits, rounded up
    return meaning, (
        f"{apart}no single {single} changes the probability of any outcome by more than a factor of {factor}. "
        f"For somebody who knows {known}, a probability of 50 % that {guessed} becomes at most "
        f"{_percent(ratio / (1 + ratio))}"
    )


def _percent(share):
    """Return a share in percent, rounded up; a share below 1 never shows as 100 %."""
    digits = next(digits for digits in count(1) if math.ceil(100 * share * 10**digits) < 100 * 10**digits)
    return f"{math.ceil(100 * share * 10**digits) / 10**digits:.{digits}f} %"


class Trust(NamedTuple):
    """Trust model: trusted parties and treatment of a ballot."""

    parties: tuple[str, ...]
    treatment: str


#: The shuffler must check that all voters have the same protocol. The digest in a message would otherwise identify a
#: voter with a protocol of their own.
SHUFFLER = "the shuffler (one public protocol for all voters)"
#: Trust models, from least to most trust.
TRUST = {
    "local": Trust((), "each ballot is randomised before it leaves the voter"),
    "shuffle": Trust(
        (SHUFFLER, "the voters whose messages are mixed"),
        "each ballot is randomised by its voter, then a trusted shuffler mixes the reports",
    ),
    "secure_aggregation": Trust(
        ("one of the servers", "the voters who add noise"),
        "each voter splits a noisy ballot among servers that do not all collude; nobody sees more than the sum",
    ),
    "central": Trust(("the curator",), "a trusted curator, who computes the result, sees the ballots"),
    "none": Trust(("everybody",), "no privacy: the release is a function of the ballots"),
}
AND = " + "


def all_of(trusts: Iterable[str]) -> str:
    """Return the combined trust model, which trusts the parties of all these models; ignore unknown models."""
    named = {name for trust in trusts for name in trust.split(AND)}
    if "none" in named:
        return "none"
    needed = [name for name in TRUST if name in named and TRUST[name].parties]
    return AND.join(needed) if needed else "local"


def trusted(trust: str, whom: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs (trust model, party): those in `whom`, or the default parties of a model without any."""
    return [
        (name, party)
        for name in trust.split(AND)
        for party in [own for model, own in whom if model == name] or TRUST[name].parties
    ]
