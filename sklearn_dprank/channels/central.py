"""A trusted curator: noise is added to what the ballots say together."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from ..mechanisms import additive_noise
from ..privacy.checks import check_delta, check_epsilon, check_neighboring
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import Ledger
from ..privacy.noise import round_down
from ..queries import Ask
from .plan import Plan, Session, refuse


class _Price(NamedTuple):
    """What one kind of query gets: a calibrated mechanism, how often, and what one answer costs."""

    mechanism: Any
    times: int
    epsilon: Fraction


class Central(BaseEstimator):
    """Central differential privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total privacy loss, in nats.
    delta : float, default=0.0
        Total failure probability; needed by Gaussian noise and only by it.
    noise : {"laplace", "gaussian", "knorm"}, default="laplace"
        What is added to the answers.
    release : Query or None, default=None
        None pays for each question as the rule asks it. A query is published once for the whole
        budget, and the rule's questions are derived from it, which costs nothing.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    calibration : {"exact", "published"}, default="exact"
        "published" takes the noise scale that the paper prints; the guarantee stays the true one.

    Examples
    --------
    >>> from sklearn_dprank.channels import Central
    >>> from sklearn_dprank.queries import Ask, NetWins
    >>> print(Central(epsilon=0.5).plan([Ask(NetWins())], n_items=10).guarantee)
    epsilon = 0.5 (central, add_remove)
    """

    def __init__(
        self, epsilon=1.0, delta=0.0, noise="laplace", release=None, neighboring="add_remove", calibration="exact"
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.release = release
        self.neighboring = neighboring
        self.calibration = calibration

    def plan(self, asks, n_items, n_voters=None):
        """Price the asks; the number of voters is private here and is not read.

        Raises
        ------
        ValueError
            If a parameter is invalid, noise and delta disagree, or the rule and the channel do not fit.
        """
        self._check()
        if self.release is not None:
            for ask in asks:
                if not ask.query.follows_from(self.release):
                    refuse(self, ask.query, f"release={self.release} does not determine it.")
            asks = [Ask(self.release)]
        epsilon = round_down(self.epsilon)
        prices = {}
        loss = 0
        for ask in asks:
            sensitivity = ask.query.sensitivity(n_items, self.neighboring)
            if self.noise == "knorm" and sensitivity.gauge is None:
                refuse(self, ask.query, "noise='knorm' is for NetWins (a Borda rule); use noise='laplace'.")
            budget, excess = epsilon * ask.share, Fraction(1)
            if self.calibration == "published":
                true_l1, sensitivity = sensitivity.l1, self._published(ask.query, n_items, sensitivity)
                excess = Fraction(true_l1, sensitivity.l1)
            mechanism = additive_noise(self.noise, sensitivity, budget, self.delta * float(ask.share), ask.times)
            prices[type(ask.query)] = _Price(mechanism, ask.times, budget * excess / ask.times)
            loss += ask.share * excess
        return Plan(self._guarantee(float(loss), asks, prices), _Opener(prices, self.release))

    def _guarantee(self, loss, asks, prices):
        first = next(iter(prices.values())).mechanism
        return PrivacyGuarantee(
            epsilon=float(self.epsilon) * loss,
            delta=float(self.delta),
            trust="central",
            neighboring=self.neighboring,
            how=f"{first.how} on " + ", then ".join(f"{a.times} x {type(a.query).__name__}" for a in asks),
            arithmetic=first.arithmetic,
        )

    def _published(self, query, n_items, sensitivity):
        l1 = query.published_l1(n_items)
        if l1 is None or self.noise != "laplace":
            refuse(self, query, "calibration='published' has no printed scale for it; use calibration='exact'.")
        return sensitivity._replace(l1=l1)

    def _check(self):
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_neighboring(self.neighboring)
        if self.noise not in ("laplace", "gaussian", "knorm"):
            raise ValueError(f"noise must be 'laplace', 'gaussian' or 'knorm', got {self.noise!r}.")
        if self.noise == "gaussian" and self.delta == 0:
            raise ValueError("noise='gaussian' needs delta > 0, got delta=0; set delta=1e-6, say, or noise='laplace'.")
        if self.noise != "gaussian" and self.delta > 0:
            raise ValueError(
                f"noise={self.noise!r} is pure and needs delta=0, got delta={self.delta!r}; "
                "set delta=0 or noise='gaussian'."
            )
        if self.calibration not in ("exact", "published"):
            raise ValueError(f"calibration must be 'exact' or 'published', got {self.calibration!r}.")


@dataclass(frozen=True)
class _Opener:
    """Opens sessions at fixed prices."""

    prices: dict
    release: Any

    def __call__(self, profile, bits):
        session = _CentralSession(profile, self.prices, bits)
        if self.release is not None:
            session.publish(self.release)
        return session


class _CentralSession(Session):
    def __init__(self, profile, prices, bits):
        super().__init__(profile.n_items, bits.coins)
        self._profile = profile
        self._prices = prices
        self._noise = bits.noise
        self._ledger = Ledger({kind: (price.times, price.epsilon) for kind, price in prices.items()})
        self._answers = {}
        self._published = None

    def publish(self, query):
        """Answer `query` now; from here on everything is derived from it."""
        self._published = query, self.answer(query)

    def answer(self, query):
        if self._published is not None:
            return query.derive(*self._published)
        if query not in self._answers:  # an answer given again is free
            self._ledger.charge(type(query))
            mechanism = self._prices[type(query)].mechanism
            noisy = mechanism.release(query.vector(self._profile), self._noise)
            self._answers[query] = query.read(noisy, self.n_items)
        return self._answers[query]
