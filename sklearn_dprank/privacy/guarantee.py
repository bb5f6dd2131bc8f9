"""`PrivacyGuarantee`: what a release reveals about one ballot at most."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Self

from .._utils.checks import check_flag, check_neighboring, check_number, shown
from .composition import Losses, delta_of_two
from .rounding import rounded_up, sum_up

_ALIKE = 1e-6  # relative: an epsilon found from losses, and as stated


@dataclass(frozen=True)
class PrivacyGuarantee:
    """The ceiling of what one release can reveal about one ballot.

    For all neighbouring profiles P, P' and every set S of outputs,
    Pr[release(P) in S] <= e^epsilon Pr[release(P') in S] + delta.

    Parameters
    ----------
    epsilon : float
        Privacy loss in nats; `inf` is no promise at all.
    delta : float
        Probability mass outside the promise.
    trust : {"local", "shuffle", "secure_aggregation", "central", "none"}
        Who must be trusted with the ballots; of several releases it may be a sum, "shuffle + central", and then
        all of them must be. `parties` says who they are.
    neighboring : {"add_remove", "replace"}
        Which profiles count as neighbours.
    how : str
        The mechanism in a few words.
    arithmetic : str, default="exact"
        "exact", or what is lost to floating point.
    certified : bool, default=True
        False when a seed was given: then the numbers hold for a simulation only.
    caveats : tuple of str, default=()
        What else a reader must know.
    unit : str, default="one ballot"
        What is protected.
    losses : Losses or None, default=None
        What else is known of the releases that it covers, for `compose`. None, and losses that amount to less than
        is stated, are (epsilon, delta) and nothing else.
    whom : tuple of (str, str), default=()
        Pairs (trust model, party): who must be trusted in this release, where more is known than the model says.

    Raises
    ------
    ValueError
        If the trust model or the neighbouring relation is unknown, or a number out of bounds, also in `losses`.

    Notes
    -----
    Epsilon and delta are kept as floats, a fraction that is none rounded up.

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
            raise ValueError(f"trust must be one of {sorted(TRUST)} or 'shuffle + central', got {shown(self.trust)}.")
        check_neighboring(self.neighboring)
        check_number(self.epsilon, "epsilon", least=0, most=math.inf)
        check_number(self.delta, "delta", least=0, most=1)
        check_flag(self.certified, "certified")
        for name in ("how", "arithmetic", "unit"):
            _check_text(getattr(self, name), name)
        if not isinstance(self.caveats, tuple) or not all(isinstance(caveat, str) for caveat in self.caveats):
            raise ValueError(f"caveats must be a tuple of str, got {shown(self.caveats)}.")
        if not isinstance(self.losses, Losses | None):
            raise ValueError(f"losses must be None or Losses, got {shown(self.losses)}.")
        if self.losses is not None:
            self.losses.check()
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, rounded_up(getattr(self, name)))
        object.__setattr__(self, "whom", _pairs_of_text(self.whom))
        if self.losses is None or self.losses.epsilon(self.delta) < self.epsilon * (1 - _ALIKE):
            object.__setattr__(self, "losses", Losses.stated(self.epsilon, self.delta))

    @property
    def parties(self) -> tuple[str, ...]:
        """Who must be trusted, as a tuple of str; empty where it is nobody.

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
        """Return the guarantee of a release that protects nobody."""
        return cls(math.inf, 0.0, "none", "add_remove", how)

    @classmethod
    def compose(cls, guarantees: Iterable["PrivacyGuarantee"], *, delta: float | None = None) -> Self:
        """Return what holds if everything in `guarantees` is released, each with a look at those before.

        Their prices must not depend on what was seen: where they may, keep a `PrivacyBudget`.

        Parameters
        ----------
        guarantees : iterable of PrivacyGuarantee
            Releases computed from the same voters, under one neighbouring relation and for one unit.
        delta : float or None, default=None
            At which delta to state it; None is the sum of theirs, and then epsilon is no more than the sum of theirs.

        Returns
        -------
        PrivacyGuarantee
            Gaussian releases exactly, by the sum of their squared mu; pure ones by the smaller of the sum of their
            epsilons and the optimal bound, which needs a delta; both together exactly; of others epsilons and deltas
            are summed. All is rounded up. Everybody whom one of them trusts; the weakest arithmetic and certificate.

        Raises
        ------
        ValueError
            If there are none, their neighbouring relations or units differ, or `delta` is too small for them.

        References
        ----------
        Dong, Roth and Su (2022) for Gaussian releases; Kairouz, Oh and Viswanath (2017) for pure ones.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> one = DPBorda(epsilon=0.1, delta=1e-7, noise="gaussian").fit([[0, 1, 2]] * 100).privacy_
        >>> round(PrivacyGuarantee.compose([one] * 10).epsilon, 3)
        0.298
        """
        guarantees = list(guarantees)
        if not guarantees:
            raise ValueError("guarantees must hold at least one guarantee.")
        if foreign := [each for each in guarantees if not isinstance(each, PrivacyGuarantee)]:
            raise ValueError(
                f"guarantees must hold what fits promise, [fit.privacy_ for fit in fits] say, got {shown(foreign[0])}."
            )
        promising = [g for g in guarantees if math.isfinite(g.epsilon)] or guarantees[:1]
        relations = {g.neighboring for g in promising}
        if len(relations) > 1:
            raise ValueError(
                f"guarantees under different neighbouring relations do not add up ({sorted(relations)}); "
                "compose [g.under_replace() for g in guarantees], or fit all estimators with one `neighboring`."
            )
        units = {g.unit for g in promising}
        if len(units) > 1:
            raise ValueError(
                f"guarantees for different units do not add up ({sorted(units)}); state all of them for one unit."
            )
        losses = Losses.together(g.losses or Losses() for g in guarantees)
        epsilon, delta, how = _total(guarantees, losses, delta)
        return cls(
            epsilon=epsilon,
            delta=delta,
            trust=all_of(g.trust for g in guarantees),
            neighboring=relations.pop(),
            how=f"{len(guarantees)} releases, {how} composition",
            arithmetic="; ".join(sorted({g.arithmetic for g in guarantees} - {"exact"})) or "exact",
            certified=all(g.certified for g in guarantees),
            caveats=tuple(dict.fromkeys(c for g in guarantees for c in g.caveats)),
            unit=units.pop(),
            losses=losses,
            whom=_whom(guarantees),
        )

    def simulated(self, certified: bool) -> Self:
        """Return the same promise, uncertified unless `certified`."""
        return replace(self, certified=False) if self.certified and not certified else self

    def under_replace(self) -> Self:
        """Return what holds when one ballot is replaced: it is removed, and another is added.

        Group privacy for two steps: delta times 1 + e^epsilon, and 2 epsilon, or less where noise is Gaussian; both
        rounded up.

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

    def statement(self) -> str:
        """Say in plain words what is promised, to whom, against whom, how strongly, and what is not.

        Returns
        -------
        str
            One sentence or two a line, in the order of the questions of NIST SP 800-226: what is released; the unit;
            the neighbours; who must be trusted; epsilon as odds; delta; what adds up; the arithmetic; what is not
            covered; and the caveats, if there are any.

        References
        ----------
        Near et al. (2025), Guidelines for evaluating differential privacy guarantees, NIST SP 800-226.

        Examples
        --------
        >>> from sklearn_dprank import DPBorda
        >>> print(DPBorda(epsilon=0.5).fit([[0, 1, 2]] * 100).privacy_.statement().splitlines()[4][:101])
        Epsilon = 0.5: no single ballot changes the probability of any outcome by more than a factor of 1.65.
        """
        return statement(self)

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return "not private"
        delta = f", delta = {self.delta:g}" if self.delta else ""
        seed = "" if self.certified else "; simulation only: a seed was given"
        but = "; read its caveats" if self.caveats else ""
        return f"epsilon = {self.epsilon:.6g}{delta} ({self.trust}, {self.neighboring}{seed}{but})"


def _check_text(value, name):
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a str, got {shown(value)}.")


def _pairs_of_text(whom):
    """Return pairs (trust model, party) as tuples; from JSON they are lists."""
    try:
        pairs = tuple((model, party) for model, party in whom)
    except (TypeError, ValueError):
        pairs = ((None, None),)
    if not all(isinstance(word, str) for pair in pairs for word in pair):
        raise ValueError(f"whom must be pairs (trust model, party) of str, got {shown(whom)}.")
    return pairs


def _whom(guarantees):
    """Return the parties of all, where those of one of them are more than its model says."""
    if not any(g.whom for g in guarantees):
        return ()
    return tuple(dict.fromkeys(pair for g in guarantees for pair in trusted(g.trust, g.whom)))


def _total(guarantees, losses, delta):
    """Return (epsilon, delta, how) of all guarantees together."""
    basic, least = sum_up(g.epsilon for g in guarantees), min(1.0, sum_up(g.delta for g in guarantees))
    if delta is not None:
        check_number(delta, "delta", least=0, most=1)
    epsilon = losses.epsilon(least if delta is None else delta)
    if delta is None or delta >= least:
        epsilon = min(epsilon, basic)
    if epsilon == math.inf > basic:
        raise ValueError(f"delta={delta!r} is too small for what the releases leave outside, {least:.6g}; raise it.")
    return epsilon, least if delta is None else float(delta), "basic" if epsilon == basic else "tight"


#: Which profiles count as neighbours.
NEIGHBORING = {
    "add_remove": "with and without one ballot",
    "replace": "one ballot replaced by any other; the number of voters is public",
}
_HIDDEN = {"add_remove": "whether somebody voted, and how", "replace": "how somebody voted"}
_GUESSED = {"add_remove": "a certain ballot was cast", "replace": "a voter cast the one or the other of two ballots"}
_LARGE = 1e6  # a ratio beyond which epsilon says next to nothing
_SIMULATION = "A simulation only: a seed was given, and who knows it undoes the noise. Nobody is promised what follows."


def statement(guarantee: Any) -> str:
    """Return what `PrivacyGuarantee.statement` says: plain words, a line a question."""
    caveats = [f"Read also: {caveat}." for caveat in guarantee.caveats]
    if math.isinf(guarantee.epsilon):
        return "\n".join([f"Not private: {guarantee.how}.", *caveats])
    lines = [
        f"Released: {guarantee.how}.",
        f"Unit: {guarantee.unit}. Whoever has k of them has k times epsilon, and a larger delta.",
        f"Hidden: {_HIDDEN[guarantee.neighboring]} ({NEIGHBORING[guarantee.neighboring]}).",
        f"Trust: {_trust(guarantee)}.",
        f"Epsilon = {guarantee.epsilon:.6g}: {_odds(guarantee)}.",
        f"Delta = {guarantee.delta:.6g}: {_failure(guarantee)}.",
        "Composition: what is released besides about the same voters adds up; PrivacyGuarantee.compose says to what.",
        f"Arithmetic: {guarantee.arithmetic}.",
        f"Not covered: {_not_covered(guarantee)}.",
    ]
    return "\n".join([*([] if guarantee.certified else [_SIMULATION]), *lines, *caveats])


def _trust(guarantee):
    meanings = "; ".join(TRUST[name].meaning for name in guarantee.trust.split(AND))
    return f"{meanings}. To be trusted: {', '.join(guarantee.parties) or 'nobody'}"


def _odds(guarantee):
    """Return epsilon as a ratio, and as what happens to a guess that was even."""
    if guarantee.epsilon > math.log(_LARGE):
        return f"one ballot may change a probability by a factor of more than {_LARGE:,.0f}, next to no promise"
    ratio = math.exp(guarantee.epsilon)
    guess = f"{_GUESSED[guarantee.neighboring]} is no surer than {_percent(ratio / (1 + ratio))} afterwards"
    return (
        f"no single ballot changes the probability of any outcome by more than a factor of {_up(ratio)}. "
        f"Who holds it for an even bet that {guess}"
    )


def _failure(guarantee):
    if not guarantee.delta:
        return "the promise has no exception"
    return f"no set of outcomes may become more probable than that by more than {guarantee.delta:.6g}"


def _not_covered(guarantee):
    exact = "scores and whatever else is computed from the ballots exactly; the seed; running times"
    n = "the number of voters; " if guarantee.neighboring == "add_remove" else ""
    return f"{n}{exact}; what the result tells of everybody, voter or not; who asks people how they voted"


def _up(ratio):
    """Return a ratio above 1 with three digits, rounded up."""
    digits = max(0, 2 - math.floor(math.log10(ratio)))
    return f"{math.ceil(ratio * 10**digits) / 10**digits:,.{digits}f}"


def _percent(share):
    """Return a share in percent, rounded up, and never certainty."""
    for digits in range(1, 12):
        rounded = math.ceil(100 * share * 10**digits) / 10**digits
        if rounded < 100:
            return f"{rounded:.{digits}f} %"
    return "certainty"


class Trust(NamedTuple):
    """A trust model: who must be trusted, and what happens to a ballot."""

    parties: tuple[str, ...]
    meaning: str


#: The shuffler and its duty: a voter with a protocol of its own can be traced by the digests of its messages.
SHUFFLER = "the shuffler (one public protocol for all voters)"
#: From the least to the most trusting.
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
    "central": Trust(("the curator",), "a trusted curator sees the ballots"),
    "none": Trust(("everybody",), "no privacy: the release is a function of the ballots"),
}
AND = " + "


def all_of(trusts: Iterable[str]) -> str:
    """Return the trust that needs everybody whom one of these needs; an unknown one is left out."""
    named = {name for trust in trusts for name in trust.split(AND)}
    if "none" in named:
        return "none"
    needed = [name for name in TRUST if name in named and TRUST[name].parties]
    return AND.join(needed) if needed else "local"


def trusted(trust: str, whom: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs (trust model, party) of a guarantee: those that it names itself, or those of the model."""
    named = trust.split(AND)
    own = {model for model, _ in whom}
    return [
        (name, party)
        for name in named
        for party in ([p for model, p in whom if model == name] if name in own else TRUST[name].parties)
    ]
