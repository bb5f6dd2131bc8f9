"""A budget allows and states the same as a plain list of its charges, also after crashes."""

import math
import pickle
import sqlite3
import tempfile
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy.special import expit
from scipy.stats import norm
from state_tools import Crash, at_once, dying, walk, watched_connections

from sklearn_dprank import DPBorda
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee
from sklearn_dprank.privacy.composition import Losses

MOST = 2.0**-16
BUDGETS = [
    {"epsilon": 1.0},
    {"epsilon": 1.0, "neighboring": "replace"},
    {"epsilon": 1.0, "delta": MOST, "basic_delta": MOST},
    {"epsilon": 1.0, "delta": MOST, "basic_delta": 0.0},
    {"epsilon": 1.0, "delta": MOST, "basic_delta": MOST / 4, "neighboring": "replace"},
]


def of(epsilon, delta=0.0, neighboring="add_remove", mu=None, certified=True):
    losses = None if mu is None else Losses(mu_squared=mu**2)
    return PrivacyGuarantee(epsilon, delta, "central", neighboring, "noise", certified=certified, losses=losses)


RELEASES = [of(1 / 16), of(1 / 64), of(5 / 16), of(1 / 8, neighboring="replace")]
RELEASES += [of(1 / 8, MOST / 8), of(0.0, MOST / 2), of(1 / 4, MOST / 4, "replace")]
RELEASES += [of(1 / 4, MOST / 64, mu=mu) for mu in (0.02, 0.07, 0.13)]
releases = st.sampled_from(RELEASES)


def doubled(one):
    """Return the guarantee under replacement: one removal and one addition."""
    losses = one.losses
    delta = min(1.0, one.delta * (1 + math.exp(one.epsilon)))
    mu = 2 * math.sqrt(losses.mu_squared) if losses.mu_squared else None
    return of(2 * one.epsilon, delta, "replace", mu)


def fits(terms, charged):
    """Return whether one of the two rules holds: sums, or one Gaussian release with the rest of delta."""
    delta = terms.get("delta", 0.0)
    kept = terms.get("basic_delta", delta)
    epsilons, deltas = (sum(Fraction(getattr(one, name)) for one in charged) for name in ("epsilon", "delta"))
    if epsilons <= terms["epsilon"] and deltas <= kept:
        return True
    if delta == kept or any(one.delta and not one.losses.mu_squared for one in charged):
        return False
    squares = [one.losses.mu_squared or (2 * norm.ppf(expit(one.epsilon))) ** 2 for one in charged]
    mu, epsilon = math.sqrt(sum(squares)), terms["epsilon"]
    lost = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    return lost <= delta - kept


class Budget(RuleBasedStateMachine):
    """Handles on one account, and the list of its charges, `charged`."""

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "voters.budget"
        self._watched = watched_connections()
        self._watched.start()
        self.handles, self.charged, self.count = [], [], 0

    def teardown(self):
        self._watched.stop()
        self._folder.cleanup()

    @initialize(terms=st.sampled_from(BUDGETS), where=st.sampled_from(["memory", "file"]), dies=st.integers(1, 12))
    def begin(self, terms, where, dies):
        """Kill the process that creates the file at one of its first statements."""
        self.terms, self.in_file = terms, where == "file"
        if not self.in_file:
            self.handles = [PrivacyBudget(**terms)]
            return
        with pytest.raises((Crash, FileNotFoundError)), dying(dies, after=dies % 2):
            PrivacyBudget.open(self.path, **terms)
            raise Crash
        self.handles = [PrivacyBudget.open(self.path, **terms)]

    @property
    def handle(self):
        return self.handles[self.count % len(self.handles)]

    def in_its_terms(self, one):
        """Return the charge for a release, or None if its neighbouring relation does not fit."""
        if self.terms.get("neighboring") == "replace":
            return one if one.neighboring == "replace" else doubled(one)
        return None if one.neighboring == "replace" else one

    def expect(self, one, run):
        """Charge a release by `run`; the list decides whether it must be accepted."""
        self.count += 1
        guarantee = self.in_its_terms(one)
        if guarantee is None or not one.certified or math.isinf(one.epsilon):
            with pytest.raises(ValueError):
                run(str(self.count))
        elif fits(self.terms, [*self.charged, guarantee]):
            run(str(self.count))
            self.charged.append(guarantee)
        else:
            with pytest.raises(BudgetExhausted):
                run(str(self.count))

    @rule(one=releases)
    def charge(self, one):
        self.expect(one, lambda what: self.handle.charge(one, what))

    @rule(one=st.sampled_from([of(1 / 16, certified=False), PrivacyGuarantee.nothing("a leak")]))
    def charge_without_a_guarantee(self, one):
        self.expect(one, lambda what: self.handle.charge(one, what))

    @rule(epsilon=st.sampled_from([1 / 16, 1 / 4, 1.0]), broken=st.booleans())
    def fit(self, epsilon, broken):
        ballots = [[0, 1, math.inf]] if broken else [[0, 1, 2]] * 3

        def run(what):
            if broken and fits(self.terms, [*self.charged, self.in_its_terms(of(epsilon))]):
                with pytest.raises(ValueError, match="infinity") as error:
                    self.handle.fit(DPBorda(epsilon=epsilon), ballots)
                assert "still charged" in error.value.__notes__[0]
            else:
                assert len(self.handle.fit(DPBorda(epsilon=epsilon), ballots).consensus_) == 3

        self.expect(of(epsilon), run)

    @rule(one=st.sampled_from(RELEASES[:3]), n=st.integers(2, 3))
    def threads_charge_the_same(self, one, n):
        """As many are accepted as if they came one after the other."""
        guarantee, taken = self.in_its_terms(one), 0
        while taken < n and fits(self.terms, [*self.charged, guarantee]):
            self.charged.append(guarantee)
            taken += 1

        def run(k):
            try:
                self.handles[k % len(self.handles)].charge(one, "at once")
            except BudgetExhausted:
                return 0
            return 1

        assert sum(at_once(run, n)) == taken

    @precondition(lambda self: len(self.charged) % 5 == 4)
    @rule()
    def spend_the_rest(self):
        left, under_replace = self.handle.remaining.epsilon, self.terms.get("neighboring") == "replace"
        if left:
            one = of(left, neighboring="replace" if under_replace else "add_remove")
            self.handle.charge(one, "the rest")
            self.charged.append(one)
        assert self.handle.remaining.epsilon < 1e-4  # mu^2 is spent but for a part in 10^9
        with pytest.raises(BudgetExhausted):
            self.handle.charge(of(1 / 16, neighboring="replace" if under_replace else "add_remove"), "more")

    @precondition(lambda self: self.in_file)
    @rule(stated=st.booleans())
    def open_again(self, stated):
        self.handles = [PrivacyBudget.open(self.path, **(self.terms if stated else {})), *self.handles[:2]]

    @precondition(lambda self: self.in_file)
    @rule()
    def move_to_another_process(self):
        self.handles = [pickle.loads(pickle.dumps(self.handle)), *self.handles[:2]]

    @precondition(lambda self: self.in_file)
    @rule(
        one=releases,
        statement=st.integers(1, 8),
        after=st.booleans(),
        error=st.sampled_from([Crash, sqlite3.OperationalError]),
    )
    def fail_while_charging(self, one, statement, after, error):
        """A release is charged if and only if its COMMIT was run."""
        guarantee = self.in_its_terms(one)
        if guarantee is None or not fits(self.terms, [*self.charged, guarantee]):
            return
        with suppress(Crash, ValueError), dying(statement, after, error) as committed:
            self.handle.charge(one, "cut short")
        if committed():
            self.charged.append(guarantee)
        if error is Crash:
            self.handles = [PrivacyBudget.open(self.path)]

    @invariant()
    def the_account_agrees_with_the_list(self):
        if not self.handles:
            return
        for handle in self.handles:
            found = [release.guarantee for release in handle.releases_]
            assert [(one.epsilon, one.neighboring) for one in found] == [
                (one.epsilon, one.neighboring) for one in self.charged
            ]
            assert [one.delta for one in found] == pytest.approx([one.delta for one in self.charged], rel=1e-12)
        spent, delta = self.handle.spent_, self.terms.get("delta", 0.0)
        assert spent.epsilon <= self.terms["epsilon"] * (1 + 1e-9) and spent.delta <= delta * (1 + 1e-9)
        if not delta:
            assert spent.epsilon == pytest.approx(sum(one.epsilon for one in self.charged), abs=1e-12)
            assert self.handle.remaining.epsilon == pytest.approx(self.terms["epsilon"] - spent.epsilon, abs=1e-12)


def test_a_budget_and_a_plain_list():
    walk(Budget, 25, 20)


@pytest.mark.slow
def test_a_budget_and_a_plain_list_for_long():
    walk(Budget, 300, 50, shrink=True)
