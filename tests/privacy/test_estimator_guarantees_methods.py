"""A budget refuses a subclass that overrides a method of the fit, or charges what the fit revealed.

Such a class may read ballots twice or add less noise. If it defines ``guarantee_before`` and states too little there,
the difference is charged after the fit, and the call fails.
"""

import math
import sqlite3
from contextlib import suppress
from dataclasses import replace
from functools import wraps

import numpy as np
import pytest
from budget_tools import pure
from sklearn.pipeline import make_pipeline
from state_tools import dying, watched_connections

from sklearn_dprank import DPBorda, SegmentedAggregator
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.model_selection import PrivateSelection
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee, budget as budget_file
from sklearn_dprank.privacy.guarantee import TRUST
from sklearn_dprank.rules import SortByScore

X = np.tile(np.arange(3), (100, 1))
every_relation = pytest.mark.parametrize("neighboring", ["add_remove", "replace"])


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


# --- charged after the fit


def vouching(**methods):
    """Return a subclass of DPBorda with these methods and an own forecast."""

    @wraps(DPBorda.guarantee_before)  # the function then has the name and the module of the package's own
    def guarantee_before(self, X, voter_epsilon):
        return DPBorda.guarantee_before(self, X, voter_epsilon)

    return type("Vouching", (DPBorda,), {"guarantee_before": guarantee_before, **methods})


def changing(method, **parameters):
    """Return a class whose fit changes parameters in this method."""

    def changed(self, *args, **kwargs):
        self.set_params(**parameters)
        return getattr(DPBorda, method)(self, *args, **kwargs)

    return vouching(**{method: changed})


def stating(**changes):
    """Return a class that states another guarantee after the fit than before it."""
    return vouching(guarantee_after=lambda self, declared: replace(self.privacy_, **changes))


SEEDING = changing("_release", random_state=0)


@every_relation
def test_the_excess_of_a_fit_over_its_charge_is_charged(account, neighboring):
    budget, times = account(3.0, neighboring=neighboring), 1 + (neighboring == "replace")
    budget.charge(pure(0.5, neighboring), "before")
    with pytest.raises(RuntimeError, match=r"charged epsilon = 0\.1 .* revealed more: epsilon = 8 ") as error:
        budget.fit(changing("read_ballots", epsilon=8.0)(epsilon=0.1), X)
    assert not isinstance(error.value, BudgetExhausted)
    assert [release.guarantee.epsilon for release in budget.releases_] == [0.5, 8.0 * times]
    assert budget.spent_.epsilon == 0.5 + 8.0 * times
    assert budget.remaining.epsilon == 0
    with pytest.raises(BudgetExhausted, match=f"of epsilon = 3, {0.5 + 8.0 * times:g} is spent"):
        budget.charge(pure(1e-3, neighboring), "more")


def test_noise_that_became_smaller_is_charged():
    """The stated epsilon stays the same, and delta grows."""
    budget = PrivacyBudget(3.0, 1e-4)
    with pytest.raises(RuntimeError, match="delta = 1e-06"):
        budget.fit(changing("read_ballots", delta=1e-6)(epsilon=0.5, delta=1e-7, noise="gaussian"), X)
    assert budget.spent_ == DPBorda(epsilon=0.5, delta=1e-6, noise="gaussian").fit(X).privacy_


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_leak_uses_up_the_budget(account, delta):
    budget = account(3.0, delta)
    leaking = vouching(guarantee_after=lambda self, declared: PrivacyGuarantee.nothing("a leak"))
    with pytest.raises(RuntimeError, match="revealed more: not private"):
        budget.fit(leaking(epsilon=0.1), X)
    assert budget.spent_.epsilon == math.inf
    assert (budget.remaining.epsilon, budget.remaining.mu) == (0, 0)
    with pytest.raises(BudgetExhausted, match="Nothing is left"):
        budget.charge(pure(1e-3), "more")


@every_relation
@pytest.mark.parametrize(
    "kind",
    [SEEDING, stating(unit="one item of a ballot"), stating(trust="none")],
    ids=["with a seed", "of an item", "with no trusted party"],
)
def test_a_void_guarantee_uses_up_the_budget(account, kind, neighboring):
    budget = account(3.0, neighboring=neighboring)
    with pytest.raises(RuntimeError, match="revealed more"):
        budget.fit(kind(epsilon=0.1), X)
    (release,) = budget.releases_
    assert (release.guarantee.epsilon, release.guarantee.unit) == (math.inf, "one ballot")
    assert release.guarantee.neighboring == neighboring
    assert (budget.spent_.epsilon, budget.remaining.epsilon) == (math.inf, 0)
    with pytest.raises(BudgetExhausted, match="Nothing is left"):
        budget.charge(pure(1e-3, neighboring), "more")


@pytest.mark.parametrize(
    ("kind", "terms", "charged"),
    [
        (stating(trust="shuffle"), {}, (0.1, TRUST["shuffle"].parties, True)),
        (stating(trust="shuffle", epsilon=0.05), {}, (0.1, TRUST["shuffle"].parties, True)),
        (SEEDING, {"simulation": True}, (0.1, ("the curator",), False)),
    ],
    ids=["other parties", "other parties and less epsilon", "a seed in a simulation"],
)
def test_the_parties_and_the_certificate_of_a_fit_are_charged(kind, terms, charged):
    """Epsilon of the charge never decreases."""
    budget = PrivacyBudget(3.0, **terms)
    with pytest.raises(RuntimeError, match="revealed more"):
        budget.fit(kind(epsilon=0.1), X)
    assert (budget.spent_.epsilon, budget.spent_.parties, budget.spent_.certified) == charged


@pytest.mark.parametrize(
    "kind",
    [
        stating(trust="local", epsilon=0.05),
        stating(trust="central", epsilon=0.05),
        changing("read_ballots", epsilon=0.05),
    ],
    ids=["trusting less", "trusting the same", "adding more noise"],
)
def test_a_fit_that_reveals_less_is_accepted(kind):
    """The guarantee before the fit stays charged."""
    budget = PrivacyBudget(3.0)
    budget.fit(kind(epsilon=0.1), X)
    assert str(budget.spent_) == "epsilon = 0.1 (central, add_remove)"


# --- while the fit runs, and if the account cannot be written after it


def test_the_whole_budget_is_charged_during_a_fit_without_a_proved_forecast(account):
    budget, seen = account(3.0, 1e-4), []

    def read_ballots(self, *args, **kwargs):
        seen.append((budget.spent_.epsilon, budget.remaining.epsilon))
        return DPBorda.read_ballots(self, *args, **kwargs)

    budget.fit(make_pipeline(RatingsToRankings(), vouching(read_ballots=read_ballots)(epsilon=0.1)), X)
    assert seen == [(math.inf, 0.0)]
    assert budget.spent_.epsilon == 0.1


@pytest.mark.parametrize("is_proved", [False, True])
def test_a_charge_that_cannot_be_settled_stays(path, is_proved, monkeypatch):
    """The file is locked while the fit runs: the account keeps its charge, and the result is not handed over."""
    monkeypatch.setattr(budget_file, "_WAIT", 0.01)
    budget, other = PrivacyBudget.open(path, 3.0), sqlite3.connect(path, isolation_level=None)

    def read_ballots(self, *args, **kwargs):
        other.execute("BEGIN IMMEDIATE")
        self.set_params(epsilon=5.0)
        return DPBorda.read_ballots(self, *args, **kwargs)

    if is_proved:  # as if the package's own forecast were wrong
        monkeypatch.setattr("sklearn_dprank.privacy.budget.is_forecast_proved", lambda estimator: True)
    estimator = vouching(read_ballots=read_ballots)(epsilon=0.1)
    stays = "the smaller charge from before the fit" if is_proved else "an open charge, which leaves nothing"
    with pytest.raises(RuntimeError, match=rf"revealed epsilon = 5 .* locked\)\. The account keeps {stays}"):
        budget.fit(estimator, X)
    other.execute("COMMIT")
    other.close()
    assert not hasattr(estimator, "consensus_")
    assert PrivacyBudget.open(path).spent_.epsilon == (0.1 if is_proved else math.inf)


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


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("statement", range(1, 31))
def test_an_interrupt_never_leaves_a_charge_too_small(account, statement, after):
    """The interrupt comes at one of the SQL statements that charge the fit and then raise its charge."""
    read = []

    def read_ballots(self, *args, **kwargs):
        read.append(True)
        self.set_params(epsilon=90.0)
        return DPBorda.read_ballots(self, *args, **kwargs)

    with watched_connections():
        budget = account(100.0)
        with suppress(KeyboardInterrupt, RuntimeError), dying(statement, after, KeyboardInterrupt):
            budget.fit(vouching(read_ballots=read_ballots)(epsilon=0.1), X)
        spent = budget.spent_.epsilon
        assert spent in (90.0, math.inf) if read else spent in (0.0, math.inf)
        assert budget.remaining.epsilon == max(0.0, 100.0 - spent)
