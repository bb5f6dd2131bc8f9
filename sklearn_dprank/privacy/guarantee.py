"""What a release promises, as frozen data."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, Self

from ..checks import check_neighboring, check_number
from .rounding import rounded_up, sum_up


class Trust(NamedTuple):
    """A trust model: who must be trusted, and what happens to a ballot."""

    parties: tuple[str, ...]
    meaning: str


#: From the least to the most trusting.
TRUST = {
    "local": Trust((), "each ballot is randomised before it leaves the voter"),
    "shuffle": Trust(
        ("the shuffler",), "each ballot is randomised by its voter, then a trusted shuffler mixes the reports"
    ),
    "central": Trust(("the curator",), "a trusted curator sees the ballots"),
    "none": Trust(("everybody",), "no privacy: the release is a function of the ballots"),
}
_AND = " + "
NEIGHBORING = {
    "add_remove": "with and without one ballot",
    "replace": "one ballot replaced by any other; the number of voters is public",
}


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
    trust : {"local", "shuffle", "central", "none"}
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

    Raises
    ------
    ValueError
        If the trust model or the neighbouring relation is unknown, or a number out of bounds.

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

    def __post_init__(self):
        if not isinstance(self.trust, str) or self.trust != _all_of([self.trust]):
            raise ValueError(f"trust must be one of {sorted(TRUST)} or 'shuffle + central', got {self.trust!r}.")
        check_neighboring(self.neighboring)
        check_number(self.epsilon, "epsilon", least=0, most=math.inf)
        check_number(self.delta, "delta", least=0, most=1)
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, rounded_up(getattr(self, name)))

    @property
    def parties(self) -> tuple[str, ...]:
        """Who must be trusted, as a tuple of str; empty where it is nobody.

        Examples
        --------
        >>> from sklearn_dprank.privacy import PrivacyGuarantee
        >>> shuffled = PrivacyGuarantee(1.0, 1e-6, "shuffle", "replace", "randomized response")
        >>> noisy = PrivacyGuarantee(1.0, 0.0, "central", "replace", "discrete Laplace noise")
        >>> PrivacyGuarantee.compose([shuffled, noisy]).parties
        ('the shuffler', 'the curator')
        """
        return tuple(party for name in self.trust.split(_AND) for party in TRUST[name].parties)

    @classmethod
    def nothing(cls, how: str = "exact statistics") -> Self:
        """Return the guarantee of a release that protects nobody."""
        return cls(math.inf, 0.0, "none", "add_remove", how)

    @classmethod
    def compose(cls, guarantees: Iterable["PrivacyGuarantee"]) -> Self:
        """Return what holds if everything in `guarantees` is released (basic composition).

        Parameters
        ----------
        guarantees : iterable of PrivacyGuarantee
            Releases computed from the same voters, under one neighbouring relation and for one unit.

        Returns
        -------
        PrivacyGuarantee
            Epsilons and deltas summed, and rounded up; everybody whom one of them trusts; the weakest arithmetic
            and certificate of all.

        Raises
        ------
        ValueError
            If there are none, or their neighbouring relations or units differ.
        """
        guarantees = list(guarantees)
        if not guarantees:
            raise ValueError("guarantees must hold at least one guarantee.")
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
        return cls(
            epsilon=sum_up(g.epsilon for g in guarantees),
            delta=min(1.0, sum_up(g.delta for g in guarantees)),
            trust=_all_of(g.trust for g in guarantees),
            neighboring=relations.pop(),
            how=f"{len(guarantees)} releases, basic composition",
            arithmetic="; ".join(sorted({g.arithmetic for g in guarantees} - {"exact"})) or "exact",
            certified=all(g.certified for g in guarantees),
            caveats=tuple(dict.fromkeys(c for g in guarantees for c in g.caveats)),
            unit=units.pop(),
        )

    def simulated(self, certified: bool) -> Self:
        """Return the same promise, uncertified unless `certified`."""
        return replace(self, certified=self.certified and certified)

    def under_replace(self) -> Self:
        """Return what holds when one ballot is replaced: it is removed, and another is added.

        Group privacy for two steps: 2 epsilon, and delta times 1 + e^epsilon, both rounded up.

        Examples
        --------
        >>> from sklearn_dprank.privacy import PrivacyGuarantee
        >>> print(PrivacyGuarantee(0.5, 0.0, "central", "add_remove", "discrete Laplace noise").under_replace())
        epsilon = 1 (central, replace)
        """
        if self.neighboring == "replace":
            return self
        delta = 0.0
        if self.delta:  # math.exp is off by less than an ulp
            growth = math.nextafter(math.nextafter(math.exp(min(self.epsilon, 700.0)), math.inf), math.inf)
            delta = min(1.0, rounded_up(Fraction(self.delta) * (1 + Fraction(growth))))
        return replace(self, epsilon=2 * self.epsilon, delta=delta, neighboring="replace")

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return "not private"
        delta = f", delta = {self.delta:g}" if self.delta else ""
        seed = "" if self.certified else "; simulation only: a seed was given"
        but = "; read its caveats" if self.caveats else ""
        return f"epsilon = {self.epsilon:.6g}{delta} ({self.trust}, {self.neighboring}{seed}{but})"


def _all_of(trusts):
    """Return the trust that needs everybody whom one of these needs; an unknown one is left out."""
    named = {name for trust in trusts for name in trust.split(_AND)}
    if "none" in named:
        return "none"
    needed = [name for name in TRUST if name in named and TRUST[name].parties]
    return _AND.join(needed) if needed else "local"
