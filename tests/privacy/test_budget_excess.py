"""A fit that reveals more than its estimator stated before: the budget charges all of it, and the call fails."""

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

from sklearn_dprank import DPBorda
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee, budget as budget_file
from sklearn_dprank.privacy.guarantee import TRUST

X = np.tile(np.arange(3), (100, 1))
every_relation = pytest.mark.parametrize("neighboring", ["add_remove", "replace"])


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
