"""A budget refuses a subclass that overrides a method of the fit, or charges all that is left before its fit.

Such a class may read ballots twice or add less noise.
"""

import math
from functools import wraps

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_dprank import DPBorda, SegmentedAggregator
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.model_selection import PrivateSelection
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyBudget
from sklearn_dprank.rules import SortByScore

X = np.tile(np.arange(3), (100, 1))


# --- refused before the fit


@pytest.mark.parametrize(
    "name",
    ["fit", "read_ballots", "_set_items", "_planned", "_release", "publish", "_checked_order", "guarantee_after"],
)
def test_an_own_method_is_refused(name):
    def own(self, *args, **kwargs):
        pytest.fail("a ballot was read")

    in_front, derived = type("InFront", (), {name: own}), type("Derived", (DPBorda,), {name: own})
    of_object = DPBorda(epsilon=0.1)
    setattr(of_object, name, own)
    for estimator in (derived(epsilon=0.1), type("Mixed", (in_front, DPBorda), {})(epsilon=0.1), of_object):
        for fitted in (estimator, make_pipeline(RatingsToRankings(), estimator)):
            budget = PrivacyBudget(10.0)
            with pytest.raises(ValueError, match=rf"has a {name} of its own, so .* charge\(\) an upper bound"):
                budget.fit(fitted, X)
            assert budget.releases_ == ()


@pytest.mark.parametrize(
    ("base", "arguments", "fitted", "name"),
    [
        *((SegmentedAggregator, ["a", "b"], {"segments": ["a"] * 100}, name) for name in ("fit", "_segment_numbers")),
        *((SegmentedAggregator, ["a", "b"], {"segments": ["a"] * 100}, name) for name in ("publish", "_release")),
        *((PrivateSelection, DPBorda(), {}, name) for name in ("fit", "_total")),
    ],
)
def test_an_own_method_is_refused_below_an_own_forecast(base, arguments, fitted, name):
    """The forecast of the base class does not vouch for its subclasses."""
    derived = type("Derived", (base,), {name: lambda self, *args, **kwargs: pytest.fail("it ran")})
    budget = PrivacyBudget(10.0, 1e-5)
    with pytest.raises(ValueError, match=f"has a {name} of its own"):
        budget.fit(derived(arguments), X, **fitted)
    assert budget.releases_ == ()


@pytest.mark.parametrize("name", ["_release", "publish"])
def test_a_method_between_a_forecast_and_its_base_is_refused(name):
    """`SegmentedAggregator` calls it by ``super()``, or does not define it."""
    between = type("Between", (DPBorda,), {name: lambda self, *args, **kwargs: pytest.fail("it ran")})

    class Both(SegmentedAggregator, between):
        def __init__(self, classes=None, epsilon=1.0, delta=1e-6, pooling=True, neighboring="add_remove"):
            super().__init__(classes, epsilon, delta, pooling, neighboring)

    with pytest.raises(ValueError, match=f"has a {name} of its own"):
        PrivacyBudget(10.0, 1e-5).fit(Both(["a", "b"]), X, segments=["a"] * 100)


def test_a_pipeline_with_a_fit_of_its_own_is_refused():
    pipeline = make_pipeline(DPBorda(epsilon=0.1))
    pipeline.fit = lambda X, y=None: DPBorda(epsilon=8.0).fit(X)
    with pytest.raises(ValueError, match="has no privacy guarantee"):
        PrivacyBudget(10.0).fit(pipeline, X)


@pytest.mark.parametrize("name", [None, "fit", "_release"])
def test_a_method_that_never_runs_is_not_refused(name):
    """A subclass without methods, and one with a mixin behind DPBorda."""
    behind = type("Behind", (), {} if name is None else {name: lambda self, *args: pytest.fail("it ran")})
    budget = PrivacyBudget(1.0)
    budget.fit(type("Subclass", (DPBorda, behind), {})(epsilon=0.5), X)
    assert budget.spent_.epsilon == 0.5


# --- charged in full before the fit


@pytest.mark.parametrize("items", [["a", "b", "c", "d"], None])
def test_a_plan_that_depends_on_the_items_of_the_fit_is_charged_in_full(account, items):
    """A failed fit states no guarantee to compare with the charge."""

    class ByItem(DPBorda):
        def _compose(self):
            known = getattr(self, "n_features_in_", 0) == 4 and hasattr(self, "feature_names_in_") == bool(items)
            return Central(epsilon=2.0 if known else 0.1), Failing()

    budget, estimator = account(3.0), ByItem()
    estimator.n_features_in_ = 3  # of an earlier fit
    profile = Profile.from_rankings([[0, 1, 2, 3]] * 9, items=items)
    with pytest.raises(KeyError):
        budget.fit(estimator, profile)
    assert (budget.spent_.epsilon, estimator.n_features_in_) == (2.0, 3)


class Failing(SortByScore):
    """Rule that fails after it has read the noisy scores."""

    def aggregate(self, session):
        raise KeyError("it fails")


@pytest.mark.parametrize("decorated", [False, True])
def test_a_plan_of_its_own_is_charged_openly(account, decorated):
    """The inherited forecast calls it, and a failed fit states no guarantee to compare."""

    class Small(DPBorda):
        def plan_for(self, profile):
            return DPBorda(epsilon=0.01).plan_for(profile)

        def _compose(self):
            return super()._compose()[0], Failing()

    kind = wraps(DPBorda, updated=())(Small) if decorated else Small
    budget = account(3.0)
    with pytest.raises(KeyError):
        budget.fit(kind(epsilon=0.9), X)
    assert (budget.spent_.epsilon, budget.remaining.epsilon) == (math.inf, 0)
