"""A trusted curator: noise is added to what the ballots say together."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from ..mechanisms import ExponentialMechanism, additive_noise, exponential_mechanism
from ..privacy.checks import check_delta, check_epsilon, check_neighboring
from ..privacy.guarantee import PrivacyGuarantee
from ..privacy.ledger import BudgetExhausted, Ledger
from ..privacy.noise import round_down
from ..privacy.rounding import exact, rounded_up
from ..queries import Ask, Histogram, NetWins, OrderUtility, PositionalScores, Query, ScoresByHistogram, Sensitivity
from .plan import Plan, Publication, Session, check_asks, refuse

_NOISES = ("laplace", "gaussian", "knorm", "exponential")


class _Price(NamedTuple):
    """What one kind of query gets: a mechanism calibrated to its sensitivity, how often, and one answer's cost."""

    query: Query
    sensitivity: Sensitivity
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
    noise : {"laplace", "gaussian", "knorm", "exponential"}, default="laplace"
        What is added to the answers. Orders are always drawn by the exponential mechanism, and
        "exponential" answers nothing else.
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
        """Price the asks; the number of voters is not read, but where it is public ("replace") it may be warned of.

        Raises
        ------
        ValueError
            If a parameter is invalid, noise and delta disagree, or the rule and the channel do not fit.
        """
        self._check()
        for ask in asks:
            ask.query.check(n_items)
            if n_voters is not None and self.neighboring == "replace":
                ask.query.warn_of_few(n_items, n_voters * float(self.epsilon) * float(ask.share))
        release = None
        if self.release is not None:
            asks, release = self._released(asks, n_items)
        check_asks(self, asks)
        epsilon = round_down(self.epsilon)
        prices = {ask.query.kind: self._price(ask, epsilon * Fraction(ask.share), n_items) for ask in asks}
        reads_ballots = any(isinstance(price.query, (Histogram, ScoresByHistogram)) for price in prices.values())
        guarantee = self._guarantee(sum(p.epsilon * p.times for p in prices.values()), epsilon, prices)
        return Plan(guarantee, _Opener(prices, release, self.neighboring), reads_ballots=reads_ballots)

    def _released(self, asks, n_items):
        """Return what is published once, as the only ask and as a query."""
        for ask in asks:
            if not ask.query.follows_from(self.release):
                refuse(self, ask.query, f"release={self.release} does not determine it.")
        scores = {ask.query for ask in asks if isinstance(ask.query, (NetWins, PositionalScores))}
        release = self.release
        if release == Histogram() and all(isinstance(ask.query, PositionalScores) for ask in asks):
            release = Histogram(unseen_last=True)
        if isinstance(release, Histogram) and n_items > release.largest:
            if self.noise == "gaussian" and len(asks) == len(scores) == 1:
                release = ScoresByHistogram(scores.pop())
        release.check(n_items)
        return [Ask(release)], release

    def _price(self, ask, budget, n_items):
        """Return what one kind of query gets for its share of the budget."""
        query, times = ask.query, ask.times
        sensitivity = query.sensitivity(n_items, self.neighboring)
        if isinstance(query, OrderUtility):
            if self.calibration == "published" or self.delta:
                refuse(self, query, "an order is drawn with pure epsilon; use delta=0 and calibration='exact'.")
            mechanism = exponential_mechanism(sensitivity, budget, n_items, times, query.options(n_items))
            return _Price(query, sensitivity, mechanism, times, budget / times)
        if self.noise == "exponential":
            refuse(self, query, "noise='exponential' draws orders only; use noise='laplace'.")
        if self.noise == "knorm" and sensitivity.gauge is None:
            refuse(self, query, "noise='knorm' is for NetWins (the Borda rule); use noise='laplace'.")
        covered = self._published(query, n_items, sensitivity) if self.calibration == "published" else sensitivity
        delta = float(exact(self.delta) * Fraction(ask.share))
        noise = additive_noise(self.noise, covered, budget, delta, times)
        return _Price(query, sensitivity, noise, times, budget * Fraction(sensitivity.l1, covered.l1) / times)

    def _guarantee(self, loss, epsilon, prices):
        used = [price.mechanism for price in prices.values()]
        return PrivacyGuarantee(
            epsilon=rounded_up(exact(self.epsilon) * loss / epsilon),
            delta=rounded_up(self.delta),
            trust="central",
            neighboring=self.neighboring,
            how=", then ".join(f"{p.mechanism.how} on {p.times} x {type(p.query).__name__}" for p in prices.values()),
            arithmetic="; ".join(sorted({noise.arithmetic for noise in used} - {"exact"})) or "exact",
        )

    def _published(self, query, n_items, sensitivity):
        l1 = query.published_l1(n_items)
        if l1 is None or self.noise != "laplace":
            refuse(self, query, "calibration='published' has no printed scale for it; use calibration='exact'.")
        return sensitivity._replace(l1=l1)

    def _check(self):
        if isinstance(self.release, type):
            name = self.release.__name__
            raise ValueError(f"release must be a query object, got the class {name}; use release={name}().")
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_neighboring(self.neighboring)
        if self.noise not in _NOISES:
            raise ValueError(f"noise must be one of {list(_NOISES)}, got {self.noise!r}.")
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
    neighboring: str

    def sessions(self, profile):
        """Return what opens session after session; they share what costs a pass or a table."""
        return partial(self, profile, shared={})

    def __call__(self, profile, bits, shared=None):
        session = _CentralSession(profile, self.prices, self.neighboring, bits, shared)
        if self.release is not None:
            session.publish(self.release)
        return session


class _CentralSession(Session):
    def __init__(self, profile, prices, neighboring, bits, shared=None):
        super().__init__(profile.n_items, bits.coins)
        self._shared = shared
        self._profile = profile
        self._prices = prices
        self._neighboring = neighboring
        self._noise = bits.noise
        # A stream of its own: a sweep, which completes strict ballots once, tosses the rule's coins as a fit does.
        self._completion = bits.assignment
        self._ledger = Ledger({kind: (price.times, price.epsilon) for kind, price in prices.items()})
        self._answers: dict[Any, Any] = {}
        self._published: Publication | None = None

    def publish(self, query):
        """Answer `query` now; from here on everything is derived from it."""
        self._published = Publication(query.meaning, self.answer(query))

    def answer(self, query):
        if self._published is not None:
            return self._published.derive(query)
        answer = self._answers.get(query)
        if answer is None:  # an answer given again is free
            self._check_price(query)
            self._ledger.charge(query.kind)
            released = self._released(query, self._prices[query.kind].mechanism)
            answer = self._answers[query] = query.read(released, self.n_items)
        return answer

    def _check_price(self, query):
        """Raise unless the query is no more sensitive than the one of its kind that was priced, if there is one."""
        price = self._prices.get(query.kind)
        if price is None or query == price.query:
            return
        if not query.sensitivity(self.n_items, self._neighboring).within(price.sensitivity):
            raise BudgetExhausted(f"{query!r} is more sensitive than {price.query!r}, which was declared and priced.")

    def _released(self, query, mechanism):
        if self._shared is not None:
            if isinstance(mechanism, ExponentialMechanism):
                sampler = self._once((query, mechanism), lambda: mechanism.sampler(query, self._exact(query)))
                return sampler(self._noise)
            if isinstance(query, (Histogram, ScoresByHistogram)) and self._profile.strict:
                return mechanism.release(query, self._once(query, lambda: self._exact(query)), self._noise)
        return mechanism.release(query, self._exact(query), self._noise)

    def _exact(self, query):
        return query.vector(self._profile, self._completion)

    def _once(self, key, make):
        """Return what no noise changes; the sessions of one sweep share the last of it (none near random anchors)."""
        if key not in self._shared:
            self._shared.clear()  # a table is large, and an anchor of an earlier session never comes back
            self._shared[key] = make()
        return self._shared[key]
