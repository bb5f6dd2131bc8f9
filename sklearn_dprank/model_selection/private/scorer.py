"""Private Kendall tau distance between ballots and a fitted order, and its use as a scorer."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..._utils.checks import check_epsilon, check_neighboring
from ..._utils.scikit_learn import BaseEstimator
from ..._utils.types import Amount, Neighboring, RandomState
from ...ballots.profile import Ballots
from ...mechanisms import Laplace
from ...privacy.estimator_guarantees import mixing_step
from ...privacy.guarantee import PrivacyGuarantee
from ...privacy.rounding import round_down
from ...queries.base import Query, Sensitivity, moves, n_pairs
from ...sampling.streams import Bits
from ..parameters import is_aggregator


class PrivateKendallTau(BaseEstimator):
    """Score a fitted aggregator privately: how far the ballots agree with its order, plus noise.

    A scikit-learn scorer, ``scorer(fitted, X)``; larger is better. Every call is a release of its own.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one call, in nats.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source. Anything else is for simulation only; with an
        int, every call has the same noise.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator who calls it. The statistic is the net agreement of the order with the
    ballots: over all pairs of items, the voters who prefer the upper item to the lower one minus those who
    prefer the lower to the upper. It is an integer. A ballot adds to each of the C(m, 2) pairs +1, -1 or, where
    it ties the items or has no opinion, 0; together something from -C(m, 2) (the reversed order) to +C(m, 2)
    (the order itself). One ballot more or less thus moves it by at most C(m, 2), and one ballot replaced by
    at most 2 C(m, 2). It gets exact discrete Laplace noise of that scale over epsilon. A row of X is a ballot: a voter
    who stands in k rows has k times epsilon. The score may be published. What it scores is a release with a price of
    its own: the guarantees add up, or see `PrivateSelection`.

    .. rubric:: Remarks

    It is not divided by the number of voters, which is private under "add_remove". Candidates scored on the same
    ballots have the same scale: with n complete strict ballots the net agreement is n C(m, 2) (1 - 2 d), d the
    average Kendall tau distance, so that both rank candidates alike.

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
        """What one call promises: a `PrivacyGuarantee`, from the parameters alone."""
        check_epsilon(self.epsilon)
        check_neighboring(self.neighboring)
        return PrivacyGuarantee(
            float(self.epsilon), 0.0, "central", self.neighboring, "discrete Laplace noise on the net agreement"
        ).simulated(self.random_state is None)

    def __call__(self, estimator: BaseEstimator, X: Ballots, y: None = None) -> int:
        """Return the noisy net agreement of the estimator's order with the ballots.

        Parameters
        ----------
        estimator : fitted aggregator, or a Pipeline that ends in one
            What is scored; its order counts as public here.
        X : array-like of shape (n_voters, n_items) or Profile
            The ballots, as for the estimator's ``fit`` (before a pipeline's transformers).
        y : None
            Ignored.

        Returns
        -------
        int
            In pairs times voters; larger is better.

        Raises
        ------
        ValueError
            If a parameter is invalid, the estimator is no aggregator or has a transformer before it that may mix
            ballots with each other, or X is no set of ballots over its items.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        epsilon = round_down(self.guarantee.epsilon)
        bits = Bits.from_random_state(self.random_state)
        ranks, profile = _order_and_ballots(estimator, X)
        agreement, n_items = NetAgreement(tuple(ranks.tolist())), profile.n_items
        noise = Laplace().calibrated(
            agreement, agreement.sensitivity(n_items, self.neighboring), n_items, epsilon, delta=0.0
        )
        drawn = noise.sampler(agreement, agreement.vector(profile, bits.coins)).draw(bits.noise)
        return agreement.read(drawn, n_items)


def refuse_mixing(estimator):
    """Refuse a pipeline whose transformers may mix ballots with each other: one voter could move all of them."""
    if (mixing := mixing_step(estimator)) is not None:
        name, step = mixing
        raise ValueError(
            f"PrivateKendallTau has no noise for the step {name!r} ({type(step).__name__}), which may mix ballots with "
            "each other; only RatingsToRankings is known to read each by itself."
        )


def _order_and_ballots(estimator, X):
    """Return (ranks, Profile) as the aggregator itself sees them, at the end of a pipeline if there is one."""
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
    return estimator.ranks_, estimator.read_ballots(X)


@dataclass(frozen=True)
class NetAgreement(Query):
    """Over all pairs, the voters who prefer the upper item of an order to the lower one minus those who do not.

    A ballot adds to each of the C(m, 2) pairs +1, -1 or, where it ties the items or has no opinion, 0: from -C(m, 2)
    (the reversed order) to C(m, 2) (the order itself) together.

    Parameters
    ----------
    ranks : tuple of int
        Where the order puts each item; smaller is better. A pair that it ties counts for nothing.
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
        most = moves(neighboring) * n_pairs(n_items)
        return Sensitivity(most, Fraction(most**2))

    def read(self, vector, n_items):
        return int(vector[0])
