"""What a release promises, as frozen data."""

import math
from dataclasses import dataclass, replace

TRUST = {
    "none": "no privacy: the release is a function of the ballots",
    "central": "a trusted curator sees the ballots",
    "local": "each ballot is randomised before it leaves the voter",
    "shuffle": "each ballot is randomised by its voter, then a trusted shuffler mixes the reports",
}
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
    trust : {"none", "central", "local", "shuffle"}
        Who must be trusted with the ballots.
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
        if self.trust not in TRUST:
            raise ValueError(f"trust must be one of {sorted(TRUST)}, got {self.trust!r}.")
        if self.neighboring not in NEIGHBORING:
            raise ValueError(f"neighboring must be one of {sorted(NEIGHBORING)}, got {self.neighboring!r}.")
        if not (self.epsilon >= 0 and 0 <= self.delta <= 1):
            raise ValueError(f"epsilon must be >= 0 and delta in [0, 1], got {self.epsilon!r} and {self.delta!r}.")

    @classmethod
    def nothing(cls, how="exact statistics"):
        """Return the guarantee of a release that protects nobody."""
        return cls(math.inf, 0.0, "none", "add_remove", how)

    @classmethod
    def compose(cls, guarantees):
        """Return what holds if everything in `guarantees` is released (basic composition).

        Parameters
        ----------
        guarantees : iterable of PrivacyGuarantee
            Releases computed from the same voters, under one neighbouring relation.

        Returns
        -------
        PrivacyGuarantee
            Epsilons and deltas summed; the weakest trust, arithmetic and certificate of all.

        Raises
        ------
        ValueError
            If there are none, or their neighbouring relations differ.
        """
        guarantees = list(guarantees)
        if not guarantees:
            raise ValueError("guarantees must hold at least one guarantee.")
        relations = {g.neighboring for g in guarantees if math.isfinite(g.epsilon)}
        if len(relations) > 1:
            raise ValueError(
                f"guarantees under different neighbouring relations do not add up ({sorted(relations)}); "
                "fit all estimators with one `neighboring`."
            )
        order = list(TRUST)
        return cls(
            epsilon=math.fsum(g.epsilon for g in guarantees),
            delta=min(1.0, math.fsum(g.delta for g in guarantees)),
            trust=min((g.trust for g in guarantees), key=order.index),
            neighboring=relations.pop() if relations else guarantees[0].neighboring,
            how=f"{len(guarantees)} releases, basic composition",
            arithmetic="; ".join(sorted({g.arithmetic for g in guarantees} - {"exact"})) or "exact",
            certified=all(g.certified for g in guarantees),
            caveats=tuple(dict.fromkeys(c for g in guarantees for c in g.caveats)),
        )

    def simulated(self, certified):
        """Return the same promise, uncertified unless `certified`."""
        return replace(self, certified=self.certified and certified)

    def under_replace(self):
        """Return what holds when one ballot is replaced: it is removed, and another is added.

        Group privacy for two steps: 2 epsilon, and delta grows by 1 + e^epsilon.

        Examples
        --------
        >>> from sklearn_dprank.privacy import PrivacyGuarantee
        >>> print(PrivacyGuarantee(0.5, 0.0, "central", "add_remove", "discrete Laplace noise").under_replace())
        epsilon = 1 (central, replace)
        """
        if self.neighboring == "replace":
            return self
        delta = min(1.0, self.delta * (1 + math.exp(min(self.epsilon, 700.0)))) if self.delta else 0.0
        return replace(self, epsilon=2 * self.epsilon, delta=delta, neighboring="replace")

    def __str__(self):
        if math.isinf(self.epsilon):
            return "not private"
        delta = f", delta = {self.delta:g}" if self.delta else ""
        seed = "" if self.certified else "; simulation only: a seed was given"
        but = "; read its caveats" if self.caveats else ""
        return f"epsilon = {self.epsilon:.6g}{delta} ({self.trust}, {self.neighboring}{seed}{but})"
