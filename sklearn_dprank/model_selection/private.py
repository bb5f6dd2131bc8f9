"""Private selection: one candidate is chosen by a private score, and only it is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, Never, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._utils.checks import changed_ballots, check_epsilon, check_number, refuse_unknown, safe_repr
from .._utils.estimators import AllowsMissing, BaseEstimator, MetaEstimatorMixin, clear_fitted, parametrized
from .._utils.types import Amount, Neighboring, RandomState
from ..ballots.profile import Ballots, Profile, Shape, as_profile
from ..ballots.reading import shape_of
from ..ballots.weights import BALLOT, WEIGHT_GRID, WeightBound
from ..channels.base import RankAggregator
from ..channels.plan import bound_text
from ..channels.segmented import SegmentedAggregator, SegmentRule
from ..mechanisms import Laplace
from ..privacy import PrivacyGuarantee
from ..privacy.estimator_guarantees import GuaranteedEstimator, last_step, mixing_step, own_methods, record_pipeline
from ..privacy.rounding import round_down, rounded_up
from ..queries.base import Query, Sensitivity, n_pairs, weighted_sensitivity
from ..queries.statistics import listed
from ..sampling.bit_source import Bits, BitSource, SecureBits, SeededBits, seed_sequence
from .parameters import Grid, configured, grid_of, in_words, is_aggregator, with_seed


@parametrized
class PrivateKendallTau(BaseEstimator):
    """Score a fitted aggregator privately, by the noisy agreement of the ballots with its order.

    Use it as a scikit-learn scorer, ``scorer(fitted, X)``; larger is better. Every call is a separate release.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one call, in nats.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only. With an int, every call
        has the same noise.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot, or that of a Profile with persons or weights. Trust: the curator who calls the scorer. The
    statistic is the net agreement of the order with the ballots. Over all pairs of items, it is the number of voters
    who prefer the upper item minus the number of voters who prefer the lower item. It is an integer. For each of the
    C(m, 2) pairs, a ballot adds +1 or -1, or 0 if it ties the items or has no opinion. In total, a ballot adds between
    -C(m, 2) (the reversed order) and +C(m, 2) (the order itself). Adding or removing one ballot therefore changes the
    statistic by at most C(m, 2), and replacing one by at most 2 C(m, 2). The statistic gets exact discrete Laplace
    noise of that scale over epsilon.

    In a Profile with persons or weights, the statistic is the sum of weight times net agreement. One unit, such as all
    ballots of one person, has at most the weight ``max_weight`` in total. It therefore changes the statistic by at most
    ``max_weight`` times as much as one ballot does, and the noise is larger by the same factor. `guarantee_for` states
    the unit.

    In a table, a row of X is a ballot. For a voter with k rows, epsilon is k times as large. The score may be
    published. The estimator that it scores is a release with its own cost. The guarantees add up; see also
    `PrivateSelection`.

    .. rubric:: Remarks

    The score is not divided by the number of voters, which is private under "add_remove", or by the total weight, which
    is always private. Candidates scored on the same ballots have the same scale. With n complete strict ballots, the
    net agreement is n C(m, 2) (1 - 2 d), where d is the average Kendall tau distance. Both rank candidates in the same
    order.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Algorithm 2, for the noise.

    Examples
    --------
    >>> from sklearn_dprank import Borda
    >>> from sklearn_dprank.model_selection import PrivateKendallTau
    >>> X = [[0, 1, 2]] * 100
    >>> scorer = PrivateKendallTau(epsilon=0.5, random_state=0)
    >>> abs(scorer(Borda().fit(X), X) - 300) < 100
    True
    >>> print(scorer.guarantee)
    epsilon = 0.5 (central, add_remove; simulation only: a seed was given)
    """

    epsilon: Amount = 1.0
    neighboring: Neighboring = "add_remove"
    random_state: RandomState = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Guarantee of one call on ballots without persons or weights, from the parameters alone."""
        return self.guarantee_for(None)

    def guarantee_for(self, X: Ballots | None) -> PrivacyGuarantee:
        """Return the guarantee of one call on these ballots; no ballot is read.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items), Profile or None
            Ballots. A Profile with persons or weights determines the unit. It is one ballot for other ballots and None.

        Returns
        -------
        PrivacyGuarantee
            Guarantee of one call.

        Raises
        ------
        ValueError
            If a parameter is invalid, or X is a Profile without a public bound on weights.

        Examples
        --------
        >>> from sklearn_dprank.ballots import Profile
        >>> from sklearn_dprank.model_selection import PrivateKendallTau
        >>> persons = Profile.from_rankings([[0, 1, 2], [0, 2, 1]], groups=["ann", "ann"])
        >>> PrivateKendallTau(epsilon=0.5).guarantee_for(persons).unit
        'all ballots of one person'
        """
        unit = unit_of(X.bound, X.weights) if isinstance(X, Profile) else BALLOT
        check_epsilon(self.epsilon)
        changed_ballots(self.neighboring)
        how = "discrete Laplace noise on the net agreement" + bound_text(X.bound if isinstance(X, Profile) else None)
        stated = PrivacyGuarantee(float(self.epsilon), 0.0, "central", self.neighboring, how, unit=unit)
        return stated.simulated(self.random_state is None)

    def __call__(self, estimator: BaseEstimator, X: Ballots, y: None = None) -> int | float:
        """Return the noisy net agreement of the estimator's order with the ballots.

        Parameters
        ----------
        estimator : fitted aggregator, or a Pipeline that ends in one
            Estimator to score. Its order counts as public here.
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots, as for the estimator's ``fit`` (before a pipeline's transformers).
        y : None
            Ignored.

        Returns
        -------
        int or float
            Score in pairs times voters; larger is better. With persons or weights, a multiple of 1 / 720720: an item
            pair on which a ballot of weight 1 agrees adds 1.

        Raises
        ------
        ValueError
            If a parameter is invalid, the estimator is not an aggregator, a transformer before it may mix ballots with
            each other, or X is not a set of ballots over its items. Also if epsilon is too small for the bound on
            weights.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        self.guarantee_for(X)
        bits = Bits.from_random_state(self.random_state)
        refuse_mixing(estimator)
        fitted: Any = estimator
        if isinstance(estimator, Pipeline):
            for _, step in estimator.steps[:-1]:
                X = X if step in (None, "passthrough") else step.transform(X)
            fitted = estimator.steps[-1][1]
        if not is_aggregator(fitted):
            raise ValueError(
                f"estimator must be an aggregator, or a Pipeline that ends in one, got {type(fitted).__name__}."
            )
        check_is_fitted(fitted, "ranks_")
        if fitted.ranks_.ndim > 1:
            raise ValueError(
                "estimator has an order for each segment, and a score is of one order; leave out its classes."
            )
        profile = fitted.read_ballots(X).clipped("l1")
        agreement, bound = NetAgreement(tuple(fitted.ranks_.tolist())), profile.bound
        noise = score_noise(self.epsilon, self.neighboring, profile.n_items, bound)
        drawn = noise.sampler(agreement, agreement.vector(profile, bits.coins))(bits.noise)
        score = agreement.read(drawn, profile.n_items)
        return score if bound is None else score / WEIGHT_GRID


def unit_of(bound, weights=None):
    """Return the unit of a private score; raise ValueError if ballots have weights without a public bound on them."""
    if bound is None and weights is None:
        return BALLOT
    if bound is None or not isinstance(bound.most, int):
        raise ValueError(
            "a private score needs a public bound on weights; pass a number as max_weight when you read the Profile."
        )
    return bound.unit


def score_noise(epsilon, neighboring, n_items, bound):
    """Return the noise of one score, from public numbers; raise ValueError if epsilon is too small for it."""
    agreement = NetAgreement(tuple(range(n_items)))  # all orders without ties have the same sensitivity
    moved = weighted_sensitivity(agreement, n_items, neighboring, bound)
    return Laplace().calibrated(agreement, moved, n_items, round_down(epsilon), delta=0.0)


def refuse_mixing(estimator):
    """Raise ValueError if a pipeline's transformers may mix ballots, because one voter could then change them all."""
    if (mixing := mixing_step(estimator)) is not None:
        name, step = mixing
        raise ValueError(
            f"PrivateKendallTau has no noise for the step {name!r} ({type(step).__name__}), which may mix ballots with "
            "each other; only RatingsToRankings is known to read each by itself."
        )


@dataclass(frozen=True)
class NetAgreement(Query):
    """Net agreement: over all pairs, the voters who prefer the upper item of an order minus those who prefer the lower.

    For each of the C(m, 2) pairs, a ballot adds +1 or -1, or 0 if it ties the items or has no opinion. In total, it
    adds between -C(m, 2) (the reversed order) and C(m, 2) (the order itself).

    Parameters
    ----------
    ranks : tuple of int
        Position of each item in the order; smaller is better. Pairs that the order ties are not counted.
    """

    ranks: tuple[int, ...]
    in_words = "the net agreement with an order"

    def vector(self, profile, coins):
        ranks = np.array(self.ranks)
        if profile.has_pair_counts:
            return profile.margins[ranks[:, None] < ranks].sum(keepdims=True)
        return np.array([profile.agreement(ranks)[0]])

    def sensitivity(self, n_items, neighboring, max_listed=None):
        most = changed_ballots(neighboring) * n_pairs(listed(n_items, max_listed))
        return Sensitivity(most, Fraction(most**2))

    def read(self, vector, n_items):
        return int(vector[0])


# Exact sampling of the number of draws from the truncated negative binomial distribution.

_ETA = {"geometric": 1.0, "logarithmic": 0.0}
_LONGEST = 10**5  # limit of 1 / gamma, because P(K > k) decays like (1 - gamma)^k


def eta_of(distribution):
    """Return eta of `distribution` (a name or eta itself); raise ValueError if it is invalid."""
    if isinstance(distribution, str) and distribution in _ETA:
        return _ETA[distribution]
    if isinstance(distribution, Real) and not isinstance(distribution, bool) and -1 < float(distribution) <= 1:
        return float(distribution)
    known = '"geometric", "logarithmic" or a number eta with -1 < eta <= 1'
    raise ValueError(f"distribution must be {known}, got {safe_repr(distribution)}.")


def mean_draws_of(eta, log_inverse_gamma):
    """Return E[K] of the truncated negative binomial distribution for eta > -1, as a double.

    It is eta (1 - gamma) / (gamma (1 - gamma^eta)), and (1 - gamma) / (gamma log(1 / gamma)) for eta = 0.
    `log_inverse_gamma` is log(1 / gamma), at least 0.
    """
    t = log_inverse_gamma
    if t == 0:
        return 1.0
    return math.expm1(t) / t * (1.0 if eta * t == 0 else eta * t / -math.expm1(-eta * t))


def gamma_of(eta, mean_draws):
    """Return gamma in (0, 1] with E[K] = `mean_draws`, as a Fraction.

    It is exact for eta = 1, and accurate to double precision otherwise. No guarantee depends on it. A `mean_draws` with
    gamma below 1e-5 raises ValueError, because the number of draws would have too long a tail.
    """
    check_number(mean_draws, "mean_draws", least=1)
    mean, most = float(mean_draws), math.log(_LONGEST)
    largest = mean_draws_of(eta, most)
    if mean > largest * (1 + 1e-12):
        raise ValueError(
            f"mean_draws must be at most {math.floor(largest + 1e-6)} with this distribution, got {mean_draws!r}: the "
            "number of draws would now and then be a hundred thousand times as large."
        )
    if eta == 1:
        return 1 / Fraction(mean)
    found = brentq(lambda t: mean_draws_of(eta, t) - mean, 0.0, most * (1 + 1e-9), xtol=1e-14)
    return Fraction(math.exp(-found))


def draw_count(eta, gamma, bits):
    """Draw K >= 1 exactly from the truncated negative binomial distribution, for -1 < eta <= 1 and a Fraction gamma.

    It uses rejection, step by step. For eta >= 0, a geometric number is accepted with the product of the (l + eta) / (l
    + 1). For eta < 0, the product is proportional to the law of a number that stops at k with probability -eta / k.
    That number is accepted with probability (1 - gamma)^(k - 1). The mean number of steps is at most about 1 / gamma.
    """
    eta = Fraction(eta)
    while True:
        k = 1
        while True:
            stop, stay = (gamma, (k + eta) / (k + 1)) if eta >= 0 else (-eta / k, 1 - gamma)
            if happens(stop, bits):
                return k
            if not happens(stay, bits):
                break
            k += 1


def happens(probability, bits):
    """Return True with exactly this probability, a Fraction, by comparing its binary digits with uniform ones."""
    rest, whole = probability.numerator, probability.denominator
    while rest:
        digits, rest = divmod(rest << 64, whole)
        drawn = bits.integer(2**64)
        if drawn != digits:
            return drawn < digits
    return False


# Candidates of private selection: configured estimators with pure guarantees that share one profile.


def pure_guarantee(estimator, shape):
    """Return the guarantee of one fit of a candidate on this Shape; raise ValueError if it is not pure."""
    aggregator, who = last_step(estimator), f"the candidate {in_words(estimator)}"
    if not is_aggregator(aggregator):
        raise ValueError(f"{who} must be an aggregator, or a Pipeline that ends in one.")
    if (mixing := mixing_step(estimator)) is not None:
        raise ValueError(
            f"{who} has a step {type(mixing[1]).__name__}, which may mix ballots with each other; only "
            "RatingsToRankings is known to read each by itself. Leave it out, or do it to each ballot by itself "
            "beforehand."
        )
    if own := own_methods(aggregator):
        raise ValueError(
            f"{who} has a {own[0]} of its own, so its guarantee is not known before the fit; define _compose "
            "instead, or leave it out."
        )
    steps = estimator.steps[:-1] if isinstance(estimator, Pipeline) else []
    if shape.bound is not None and any(step not in (None, "passthrough") for _, step in steps):
        raise ValueError(
            f"{who} transforms tables, and a Profile with persons or weights is not one; transform the table before "
            "Profile.from_rankings, and leave the steps out."
        )
    try:
        rule, plan = aggregator.plan_for(shape)
    except ValueError as error:
        raise ValueError(f"{who} is impossible: {error}") from error
    if isinstance(rule, SegmentRule):
        raise ValueError(f"{who} has an order for each segment, and a score is of one order; leave out its classes.")
    for name in ("plan_for", "guarantee_before"):  # `own_methods` accepts a class that overrides these
        definer = next(base for base in type(aggregator).__mro__ if name in vars(base))
        if definer not in (RankAggregator, SegmentedAggregator):
            raise ValueError(
                f"{who} has a {name} of its own, which may not match its fit; define _compose instead, or leave it out."
            )
    if math.isinf(plan.guarantee.epsilon):
        raise ValueError(f"{who} is not private; choose among private ones only.")
    if plan.guarantee.delta > 0:
        raise ValueError(
            f"{who} has delta={plan.guarantee.delta:g}; selection is stated for pure candidates only: set delta=0 "
            "and a pure noise."
        )
    return plan.guarantee


def public_shape(X):
    """Return the Shape of the input of `fit`, without reading a ballot."""
    if isinstance(X, Profile):
        if X.voter_epsilon is not None:
            raise ValueError("voters with an epsilon of their own are not supported; leave voter_epsilon out.")
        unit_of(X.bound, X.weights)
        return Shape(X.n_items, X.n_voters, bound=X.bound)
    n_voters, n_items = shape_of(X)
    return Shape(n_items, n_voters)


def candidates_of(estimator, param_grid):
    """Return (unfitted estimator, parameters that distinguish it from the others) of every candidate."""
    several = isinstance(estimator, (list, tuple))
    bases = list(estimator) if several else [estimator]
    if not bases:
        raise ValueError("estimator is empty; give at least one candidate to choose.")
    grid = grid_of({} if param_grid is None else param_grid)
    candidates = []
    for base in bases:
        if not is_aggregator(last_step(base)):
            raise ValueError(
                "estimator must be an aggregator, a Pipeline that ends in one, or a list of these, "
                f"got {safe_repr(base)}."
            )
        candidates += [(configured(base, row), {"estimator": base, **row} if several else row) for row in grid]
    return candidates


# `PrivateSelection`: the best of a random number of private fits, with one total guarantee.


@parametrized
class PrivateSelection(GuaranteedEstimator, MetaEstimatorMixin, AllowsMissing):
    """Choose a candidate on private ballots: the best, by a private score, of a random number of private releases.

    Every draw fits a uniformly random candidate and scores it with `PrivateKendallTau`. The best draw itself is the
    result and is not fitted again. The cost of the search does not grow with the number of draws.

    Parameters
    ----------
    estimator : estimator, or list of estimators
        Candidates: an aggregator with a pure guarantee (delta = 0), a Pipeline of `RatingsToRankings` and such an
        aggregator, or a list of these. They are cloned, and their seeds are replaced.
    param_grid : dict, list of dict or None, default=None
        Values to try for each parameter, as in scikit-learn's `ParameterGrid`, with each of the estimators. None uses
        the estimators without changes.
    score_epsilon : float, default=1.0
        Privacy loss of the score of one draw, in nats.
    distribution : {"geometric", "logarithmic"} or float, default="geometric"
        Distribution of the number of draws: truncated negative binomial with this eta, -1 < eta <= 1 (geometric is 1,
        logarithmic is 0). A smaller eta costs less and more often makes few draws.
    mean_draws : float, default=10
        Expected number of draws, at least 1. The cost does not depend on it.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    best_estimator_ : estimator
        The selected draw: a fitted candidate. Its ``privacy_`` is the total guarantee and not that of one fit. Fitting
        it again is another release.
    best_params_ : dict
        Its values of `param_grid`; with a list of estimators, also "estimator", the candidate that was cloned.
    best_score_ : int or float
        Its private score. A float if ballots have persons or weights; see `PrivateKendallTau`.
    consensus_ : ndarray of shape (n_items,)
        Its consensus: the items, best first.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Joint guarantee of all attributes above.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot, or that of a Profile with persons or weights. Trust: the curator who runs `fit`. All candidates
    must use one neighbouring relation. With candidates of at most epsilon_c each, and eta as above, the total is (2 +
    eta) (epsilon_c + score_epsilon). It is 3 (epsilon_c + score_epsilon) for "geometric", and 2 (epsilon_c +
    score_epsilon) for "logarithmic". It is known before any ballot is read (`guarantee`). It counts the largest
    epsilon_c, so use the same epsilon for all candidates. The guarantee covers all fitted attributes together.

    Every draw fits and scores all ballots, and pays for both. Ballots are not split, so that no voter or person moves
    others between training and test. With persons or weights, a draw reveals at most epsilon_c + score_epsilon about
    one unit, such as all ballots of one person, because the noise of fit and score grows with ``max_weight``. The
    number of draws and the choice of each candidate depend on no ballot. The total is therefore the same for every
    unit. No score is divided by the number of voters or by the total weight.

    The running time of the fit reveals the number of draws, which the proof requires to be secret. That number is
    independent of the ballots, but the best of a known number of draws costs more. Draws that lose are not kept. What
    may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: When to use it

    If you can compare candidates on public or simulated votes, do that instead (`GridSearchCV`). It has no privacy
    cost, and leaves the whole budget for one release. With `PrivateSelection` and a budget in equal halves, each fit
    has a sixth of the total ("geometric") or a quarter ("logarithmic"). That is worth it only if the right candidate
    depends on these voters, and if they are so many that noise matters less than a wrong rule.

    We measured the excess of the average Kendall tau distance (means of 40 fits) with 8 items, 1000 voters, a total of
    1 and ``mean_draws=30``. The candidates were two kinds of Borda, noisy pairs and KwikSort. On votes that mislead
    Borda, the excess is 0.0015. With the whole budget, Borda alone has 0.0154, and the other candidates have at most
    0.0001. On Mallows votes, the excess is 0.003, and the candidates alone have 0.0005 to 0.002. Selection protects
    against a wrong candidate. Knowing the right one was better in every setting that we tried. Increase ``mean_draws``
    as time allows, because a good candidate must be drawn to be chosen.

    References
    ----------
    Liu and Talwar (2019), "Private selection from private candidates" (geometric); Papernot and Steinke (2022),
    "Hyperparameter tuning with Renyi differential privacy", Theorem 2, in the limit where both orders grow without
    bound.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda, DPPairwise
    >>> from sklearn_dprank.datasets import make_mallows
    >>> from sklearn_dprank.model_selection import PrivateSelection
    >>> X = make_mallows(2000, 5, 0.7, center=[0, 1, 2, 3, 4], random_state=0)
    >>> candidates = [DPBorda(epsilon=0.5), DPPairwise(epsilon=0.5)]
    >>> search = PrivateSelection(candidates, score_epsilon=0.5, random_state=0)
    >>> print(search.guarantee(n_items=5))
    epsilon = 3 (central, add_remove; simulation only: a seed was given...)
    >>> search.fit(X).consensus_
    array([0, 1, 2, 3, 4])
    >>> search.best_params_["estimator"] in candidates
    True

    One estimator with a grid:

    >>> grid = {"noise": ["laplace", "knorm"]}
    >>> PrivateSelection(DPBorda(epsilon=0.5), grid, score_epsilon=0.5, random_state=0).fit(X).ranks_
    array([0, 1, 2, 3, 4])
    """

    estimator: BaseEstimator | Sequence[BaseEstimator]
    param_grid: Grid | None = None
    _: KW_ONLY
    score_epsilon: Amount = 1.0
    distribution: Literal["geometric", "logarithmic"] | float = "geometric"
    mean_draws: float = 10
    random_state: RandomState = None

    best_estimator_: Any = field(init=False)
    best_params_: dict[str, Any] = field(init=False)
    best_score_: int | float = field(init=False)
    consensus_: NDArray[Any] = field(init=False)
    ranks_: Any = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: NDArray[Any] = field(init=False)

    def guarantee(
        self, n_items: int, n_voters: int | None = None, bound: WeightBound | None = None
    ) -> PrivacyGuarantee:
        """Return the total guarantee, from public inputs only.

        Parameters
        ----------
        n_items : int
            Number of items.
        n_voters : int or None, default=None
            Number of voters, for local candidates, where it is public.
        bound : WeightBound or None, default=None
            Public bound on weights, which determines the unit: ``profile.bound`` of a Profile with persons or weights.

        Returns
        -------
        PrivacyGuarantee
            Guarantee of `fit`.

        Raises
        ------
        ValueError
            If a parameter is invalid, a candidate is not private or not pure, or the candidates have different
            neighbouring relations or units. Also if a candidate does not accept a Profile with persons or weights,
            overrides a step of the fit, or states a guarantee of its own.
        """
        return self._total(candidates_of(self.estimator, self.param_grid), Shape(n_items, n_voters, bound=bound))

    def fit(self, X: Ballots, y: None = None, **unknown: Never) -> Self:
        """Draw candidates, and keep the best draw.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots, or ratings if the candidates are pipelines.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted selection.

        Raises
        ------
        ValueError
            As for `guarantee`, before any ballot is read; or if X is not a set of ballots.
        """
        refuse_unknown(self, unknown)
        candidates = candidates_of(self.estimator, self.param_grid)
        privacy = self._total(candidates, public_shape(X))
        eta = eta_of(self.distribution)
        gamma = gamma_of(eta, self.mean_draws)
        count_bits: BitSource = SecureBits()
        choice_bits, sequence = count_bits, None
        if self.random_state is not None:
            count, choice, sequence = seed_sequence(self.random_state).spawn(3)
            count_bits, choice_bits = SeededBits(count), SeededBits(choice)
        shared: Any = None  # a profile with counted pairs for all draws of candidates that accept one
        if any(is_aggregator(each) for each, _ in candidates):
            shared = as_profile(X, least_voters=1)
            if shared.has_pair_counts:
                shared.pairwise_counts  # noqa: B018
        best: tuple[Any, ...] = ()
        for _ in range(draw_count(eta, gamma, count_bits)):  # the number must stay secret, so it is not stored
            estimator, params = candidates[choice_bits.integer(len(candidates))]
            fit_seed, score_seed = None, None
            if sequence is not None:
                fit_seed, score_seed = (int(child.generate_state(1, np.uint32)[0]) for child in sequence.spawn(2))
            ballots = shared if is_aggregator(estimator) else X
            fitted = with_seed(clone(estimator), fit_seed).fit(ballots)
            score = PrivateKendallTau(self.score_epsilon, privacy.neighboring, score_seed)(fitted, ballots)
            # The first of equal scores is kept. Given all K scores, draws with the same score are independent and
            # identically distributed. A rule that depends only on their order therefore picks a uniformly random one.
            if not best or score > best[0]:
                best = score, fitted, params
        clear_fitted(self)
        self.best_score_, self.best_estimator_, self.best_params_ = best
        aggregator = last_step(self.best_estimator_)
        self.privacy_ = aggregator.privacy_ = privacy  # the total instead of that of one fit
        self.consensus_, self.ranks_ = aggregator.consensus_, aggregator.ranks_
        self.n_features_in_ = self.best_estimator_.n_features_in_
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return record_pipeline(self)

    def score(self, X: Ballots, y: None = None, **unknown: Never) -> float:
        """Return the score of the selected estimator; an exact function of X, so **not** private.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots (or ratings) over the items of `fit`.
        y : None
            Ignored.

        Returns
        -------
        float
            Minus the average Kendall tau distance: 0 is best, -1 is worst.
        """
        refuse_unknown(self, unknown, "score")
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.score(X)

    def guarantee_before(self, X: Any, voter_epsilon: Any = None) -> PrivacyGuarantee:
        return self._total(candidates_of(self.estimator, self.param_grid), public_shape(X))

    def _total(self, candidates, shape):
        """Return the guarantee of the selected draw; raise ValueError if parameters or candidates are incompatible."""
        check_epsilon(self.score_epsilon, "score_epsilon")
        eta = eta_of(self.distribution)
        gamma_of(eta, self.mean_draws)
        unit = unit_of(shape.bound)
        guarantees = [pure_guarantee(candidate, shape) for candidate, _ in candidates]
        total = guarantee_of_the_best(guarantees, float(self.score_epsilon), eta, unit)
        try:
            score_noise(self.score_epsilon, total.neighboring, shape.n_items, shape.bound)
        except ValueError as error:
            raise ValueError(f"score_epsilon={self.score_epsilon!r} makes the score impossible: {error}") from error
        total = replace(total, how=total.how + bound_text(shape.bound))
        return total.simulated(certified=self.random_state is None)


_RUNNING_TIME = "running time reveals the number of draws, and is outside the guarantee"


def guarantee_of_the_best(guarantees, score_epsilon, eta, unit):
    """Return the guarantee of the best draw, from the pure guarantees of the candidates.

    `score_epsilon` is in nats, and `eta` (above -1) is that of the number of draws. `unit` is that of the score.
    Different neighbouring relations or units raise ValueError.
    """
    relations = sorted({g.neighboring for g in guarantees})
    if len(relations) > 1:
        raise ValueError(
            f"candidates must share one neighbouring relation, got {relations}; set the same `neighboring` for all "
            '(local candidates are always "replace").'
        )
    if foreign := sorted({g.unit for g in guarantees} - {unit}):
        raise ValueError(
            f"candidates must protect the unit of the score, {unit!r}, got {foreign}; choose among candidates that "
            "count persons and weights."
        )
    dearest = max(g.epsilon for g in guarantees)
    exact = (2 + Fraction(eta)) * (Fraction(float(dearest)) + Fraction(score_epsilon))
    return PrivacyGuarantee(
        epsilon=rounded_up(exact),
        delta=0.0,
        trust="central",
        neighboring=relations[0],
        how=f"best of a random number of draws (truncated negative binomial, eta = {eta:g}): (2 + {eta:g}) x "
        f"({dearest:g} + {score_epsilon:g}) by Papernot and Steinke (2022), Theorem 2",
        unit=unit,
        arithmetic="; ".join(sorted({g.arithmetic for g in guarantees} - {"exact"})) or "exact",
        caveats=(_RUNNING_TIME, *dict.fromkeys(c for g in guarantees for c in g.caveats)),
    )
