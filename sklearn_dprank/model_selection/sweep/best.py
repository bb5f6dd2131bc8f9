"""What a search hands on of its best estimator: the score of it, and the items that it knows."""

from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._utils.scikit_learn import available_if
from ...ballots.profile import Ballots
from ..parameters import Metric
from .refit import deciding


def _refitted(search):
    if search.refit is False:
        raise AttributeError("this search has no best_estimator_ because refit=False.")
    return True


class BestEstimator:
    """The half of a search that its ``best_estimator_`` answers for."""

    refit: Any
    scorer_: dict[str, Metric | None]
    best_estimator_: Any

    @available_if(_refitted)
    def score(self, X: Ballots, y: None = None) -> float:
        """Score the best estimator by the metric that decides; not private.

        Parameters
        ----------
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots.
        y : None
            Ignored.

        Returns
        -------
        float
            Larger is better.
        """
        check_is_fitted(self, "best_estimator_")
        name = deciding(self.refit, list(self.scorer_))
        if name is None:
            raise ValueError(f"several metrics {list(self.scorer_)}, and refit does not say which decides.")
        scorer = self.scorer_[name]
        return self.best_estimator_.score(X) if scorer is None else scorer(self.best_estimator_, X)

    @property
    def n_features_in_(self) -> int:
        """Number of items."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the items, where the ballots had them."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.feature_names_in_
