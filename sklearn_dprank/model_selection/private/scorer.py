"""Private Kendall tau agreement between ballots and a fitted order, as a scorer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..._utils.checks import changed_ballots, check_epsilon, check_neighboring
from ..._utils.scikit_learn import BaseEstimator
from ..._utils.types import Amount, Neighboring, RandomState
from ...ballots.profile import Ballots, Profile
from ...ballots.weights import BALLOT, WEIGHT_GRID
from ...mechanisms import Laplace
from ...privacy.estimator_guarantees import mixing_step
from ...privacy.guarantee import PrivacyGuarantee
from ...privacy.rounding import round_down
from ...queries.base import Query, Sensitivity, n_pairs, weighted_sensitivity
from ...sampling.streams import Bits
from ..parameters import is_aggregator


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

    def __init__(
        self, epsilon: Amount = 1.0, neighboring: Neighboring = "add_remove", random_state: RandomState = None
    ) -> None:
        self.epsilon = epsilon
        self.neighboring = neighboring
        self.random_state = random_state

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Guarantee of one call on ballots without persons or weights, from the parameters alone."""
        return self._guarantee(BALLOT)

    def guarantee_for(self, X: Ballots) -> PrivacyGuarantee:
        """Return the guarantee of one call on these ballots; no ballot is read.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots. A Profile with persons or weights determines the unit.

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
        bound = public_bound(X)
        return self._guarantee(BALLOT if bound is None else bound.unit)

    def _guarantee(self, unit):
        check_epsilon(self.epsilon)
        check_neighboring(self.neighboring)
        how = "discrete Laplace noise on the net agreement"
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
        ranks, profile = _order_and_ballots(estimator, X)
        agreement, bound = NetAgreement(tuple(ranks.tolist())), public_bound(profile)
        noise = score_noise(self.epsilon, self.neighboring, profile.n_items, bound)
        drawn = noise.sampler(agreement, agreement.vector(profile, bits.coins)).draw(bits.noise)
        score = agreement.read(drawn, profile.n_items)
        return score if bound is None else score / WEIGHT_GRID


def public_bound(X):
    """Return the public bound on the weights of ballots, or None; raise ValueError if there are weights without one."""
    if not isinstance(X, Profile) or (X.bound is None and X.weights is None):
        return None
    check_public(X.bound)
    return X.bound


def check_public(bound):
    """Raise ValueError unless a bound on weights is a public number."""
    if bound is None or not isinstance(bound.most, int):
        raise ValueError(
            "a private score needs a public bound on weights; pass a number as max_weight when you read the Profile."
        )


def score_noise(epsilon, neighboring, n_items, bound):
    """Return the noise of one score, from public numbers; raise ValueError if epsilon is too small for it."""
    agreement = NetAgreement(tuple(range(n_items)))  # all orders without ties have the same sensitivity
    moved = weighted_sensitivity(agreement, n_items, neighboring, None if bound is None else bound.most)
    return Laplace().calibrated(agreement, moved, n_items, round_down(epsilon), delta=0.0)


def refuse_mixing(estimator):
    """Raise ValueError if a pipeline's transformers may mix ballots, because one voter could then change them all."""
    if (mixing := mixing_step(estimator)) is not None:
        name, step = mixing
        raise ValueError(
            f"PrivateKendallTau has no noise for the step {name!r} ({type(step).__name__}), which may mix ballots with "
            "each other; only RatingsToRankings is known to read each by itself."
        )


def _order_and_ballots(estimator, X):
    """Return (ranks, Profile) of the aggregator, which may be the last step of a pipeline."""
    refuse_mixing(estimator)
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            X = X if step in (None, "passthrough") else step.transform(X)
        estimator = estimator.steps[-1][1]
    if not is_aggregator(estimator):
        raise ValueError(
            f"estimator must be an aggregator, or a Pipeline that ends in one, got {type(estimator).__name__}."
        )
    check_is_fitted(estimator, "ranks_")
    if estimator.ranks_.ndim > 1:
        raise ValueError("estimator has an order for each segment, and a score is of one order; leave out its classes.")
    return estimator.ranks_, estimator.read_ballots(X)


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

    @classmethod
    def examples(cls, n_items):
        order = tuple(range(n_items))
        return [cls(order), cls((order[-1], *order[:-1])), cls((0, *[1] * (n_items - 1)))]

    def vector(self, profile, coins):
        ranks = np.array(self.ranks)
        return profile.margins[ranks[:, None] < ranks].sum(keepdims=True)

    def sensitivity(self, n_items, neighboring):
        most = changed_ballots(neighboring) * n_pairs(n_items)
        return Sensitivity(most, Fraction(most**2))

    def read(self, vector, n_items):
        return int(vector[0])
