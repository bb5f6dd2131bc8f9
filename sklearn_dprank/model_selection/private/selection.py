"""`PrivateSelection`: the best of a random number of private fits, with one total guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import repeat
from typing import Any, Literal, Never, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..._utils.checks import check_epsilon, refuse_unknown
from ..._utils.fitted import clear_fitted
from ..._utils.scikit_learn import BaseEstimator, MetaEstimatorMixin
from ..._utils.types import Amount, RandomState
from ...ballots.profile import Ballots, Shape
from ...ballots.weights import BALLOT, WeightBound
from ...privacy import PrivacyGuarantee
from ...privacy.estimator_guarantees import GuaranteedEstimator, record_pipeline
from ...privacy.rounding import rounded_up
from ...sampling.streams import SecureBits, SeededBits, seed_sequence
from ..parameters import Grid, is_aggregator
from ..seeds import with_seed
from .candidates import aggregator_of, candidates_of, counted_once, public_shape, pure_guarantee
from .draw_count import draw_count, eta_of, gamma_of
from .scorer import PrivateKendallTau, check_public, score_noise


class PrivateSelection(GuaranteedEstimator, MetaEstimatorMixin, BaseEstimator):
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
    ranks_ : ndarray of int, shape (n_items,)
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

    best_estimator_: Any
    best_params_: dict[str, Any]
    best_score_: int | float
    consensus_: NDArray[Any]
    ranks_: NDArray[np.int64]
    privacy_: PrivacyGuarantee
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        estimator: BaseEstimator | Sequence[BaseEstimator],
        param_grid: Grid | None = None,
        *,
        score_epsilon: Amount = 1.0,
        distribution: Literal["geometric", "logarithmic"] | float = "geometric",
        mean_draws: float = 10,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.score_epsilon = score_epsilon
        self.distribution = distribution
        self.mean_draws = mean_draws
        self.random_state = random_state

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
        count_bits, choice_bits, seeds = _streams(self.random_state)
        shared = counted_once(candidates, X)
        best: tuple[Any, ...] = ()
        for _ in range(draw_count(eta, gamma, count_bits)):  # the number must stay secret, so it is not stored
            estimator, params = candidates[choice_bits.integer(len(candidates))]
            fit_seed, score_seed = next(seeds)
            ballots = shared if is_aggregator(estimator) else X
            fitted = with_seed(clone(estimator), fit_seed).fit(ballots)
            score = PrivateKendallTau(self.score_epsilon, privacy.neighboring, score_seed)(fitted, ballots)
            # The first of equal scores is kept. Given all K scores, draws with the same score are independent and
            # identically distributed. A rule that depends only on their order therefore picks a uniformly random one.
            if not best or score > best[0]:
                best = score, fitted, params
        self._publish(privacy, *best)
        return record_pipeline(self)

    def score(self, X: Ballots, y: None = None) -> float:
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
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.score(X)

    def guarantee_before(self, X: Any, voter_epsilon: Any = None) -> PrivacyGuarantee:
        shape = public_shape(X)
        return self.guarantee(shape.n_items, shape.n_voters, shape.bound)

    def _publish(self, privacy, score, fitted, params):
        """Set the fitted attributes to the best draw, with the total as its guarantee."""
        clear_fitted(self)
        aggregator = aggregator_of(fitted)
        aggregator.privacy_ = privacy
        self.best_estimator_ = fitted
        self.best_params_ = params
        self.best_score_ = score
        self.consensus_ = aggregator.consensus_
        self.ranks_ = aggregator.ranks_
        self.privacy_ = privacy
        self.n_features_in_ = fitted.n_features_in_
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_

    def _total(self, candidates, shape):
        """Return the guarantee of the selected draw; raise ValueError if parameters or candidates are incompatible."""
        check_epsilon(self.score_epsilon, "score_epsilon")
        eta = eta_of(self.distribution)
        gamma_of(eta, self.mean_draws)
        if shape.bound is not None:
            check_public(shape.bound)
        guarantees = [pure_guarantee(candidate.estimator, shape) for candidate in candidates]
        unit = BALLOT if shape.bound is None else shape.bound.unit
        total = guarantee_of_the_best(guarantees, float(self.score_epsilon), eta, unit)
        try:
            score_noise(self.score_epsilon, total.neighboring, shape.n_items, shape.bound)
        except ValueError as error:
            raise ValueError(f"score_epsilon={self.score_epsilon!r} makes the score impossible: {error}") from error
        return total.simulated(certified=self.random_state is None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _streams(random_state):
    """Return bits for the number of draws, bits for the candidates, and an endless iterator of seeds of draws."""
    if random_state is None:
        return SecureBits(), SecureBits(), repeat((None, None))
    count, choice, draws = seed_sequence(random_state).spawn(3)
    return SeededBits(count), SeededBits(choice), _seeds(draws)


def _seeds(sequence):
    """Yield (seed of the fit, seed of the score) for each draw."""
    while True:
        fit, score = sequence.spawn(2)
        yield int(fit.generate_state(1, np.uint32)[0]), int(score.generate_state(1, np.uint32)[0])


_RUNNING_TIME = "running time reveals the number of draws, and is outside the guarantee"


def guarantee_of_the_best(guarantees, score_epsilon, eta, unit=BALLOT):
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
