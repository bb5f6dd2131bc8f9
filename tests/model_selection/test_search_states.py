"""Searches that are changed, cut short and run again, beside plain fits: the same cells, and the same price."""

import pickle
from unittest import mock

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from joblib import parallel_config
from sklearn import model_selection
from sklearn.base import clone
from state_tools import Crash, walk

from sklearn_dprank import DPBorda
from sklearn_dprank.metrics import kendall_tau_scorer
from sklearn_dprank.model_selection import GridSearchCV, PrivateKendallTau, PrivateSelection
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, guarantee_of

X = np.array([[0, 1, 2, 3]] * 4 + [[3, 1, 0, 2]] * 3)
GRIDS = [[0.25], [0.125, 2.0], [0.5, 1.0, 4.0]]
SCORES = [None, kendall_tau_scorer, PrivateKendallTau(0.5)]
CHANGES = [{"param_grid": {"epsilon": grid}} for grid in GRIDS] + [{"scoring": scoring} for scoring in SCORES]
CHANGES += [{"n_trials": 1}, {"n_trials": 3}, {"refit": False}, {"refit": True}, {"random_state": 5}]
CHANGES += [{"public_ballots": True}, {"public_ballots": False}]
BUDGET = 4.0
_FITS: dict = {}


def plain_score(epsilon, seed):
    """The score of one fit, made as anybody would."""
    if (epsilon, seed) not in _FITS:
        _FITS[epsilon, seed] = DPBorda(epsilon=epsilon, random_state=seed).fit(X).score(X)
    return _FITS[epsilon, seed]


class Stops:
    """A scorer that is interrupted at one of its calls."""

    def __init__(self, at):
        self.left = at

    def __call__(self, fitted, X):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return fitted.score(X)


class Searches(RuleBasedStateMachine):
    """One search of each sort on one estimator; `charged` is what the budget of these voters must hold."""

    def __init__(self):
        super().__init__()
        self.estimator = DPBorda()
        self.budget, self.charged = PrivacyBudget(BUDGET), []

    @initialize(seed=st.sampled_from([None, 0]), workers=st.sampled_from([None, None, 2]))
    def begin(self, seed, workers):
        more = {"n_trials": 2, "random_state": 3, "progress": False, "n_jobs": workers}
        self.search = GridSearchCV(self.estimator, {"epsilon": GRIDS[1]}, **more)
        self.selection = PrivateSelection(self.estimator, {"epsilon": [0.125]}, score_epsilon=0.125, mean_draws=2)
        self.selection.set_params(random_state=seed)
        self.theirs = model_selection.GridSearchCV(self.estimator, {"epsilon": [1e5]}, cv=2, error_score="raise")

    @property
    def grid(self):
        return self.search.param_grid["epsilon"]

    def fit(self, search):
        with parallel_config(backend="threading"):
            return search.fit(X)

    # --- sweeps

    @rule(changed=st.sampled_from(CHANGES))
    def change(self, changed):
        self.search.set_params(**changed)

    @rule()
    def sweep(self):
        self.check(self.fit(self.search), len(self.grid) * self.search.n_trials, self.search.refit)

    @rule(at=st.integers(1, 6))
    def cut_a_sweep_short(self, at):
        """Finished trials stay and have their usual values; results of an earlier sweep are not mixed in."""
        scoring, workers = self.search.scoring, self.search.n_jobs
        self.search.set_params(scoring=Stops(at), n_jobs=None)
        whole = len(self.grid) * self.search.n_trials
        if at <= whole:
            with pytest.raises(KeyboardInterrupt):
                self.fit(self.search)
            self.check(self.search, at - 1, refitted=False)
        self.search.set_params(scoring=scoring, n_jobs=workers)

    @rule()
    def cut_the_refit_short(self):
        """All candidates are made, and the best one is not once more."""
        if self.search.refit:
            made = [*(DPBorda(epsilon=epsilon) for epsilon in self.grid), Crash]
            making = mock.patch("sklearn_dprank.model_selection.search.configured", side_effect=made)
            with making, pytest.raises(Crash):
                self.fit(self.search)
            self.check(self.search, len(self.grid) * self.search.n_trials, refitted=False)

    def check(self, search, n_finished, refitted):
        found, private = search.cv_results_, isinstance(search.scoring, PrivateKendallTau)
        assert [params["epsilon"] for params in found["params"]] == self.grid
        cells, seeds = (np.stack(found[name])[:, 0] for name in ("trial_test_score", "seed"))
        assert cells.shape == seeds.shape == (len(self.grid), search.n_trials)
        done = np.isfinite(cells)
        assert done.sum() == n_finished
        if not private:
            for row, trial in zip(*np.nonzero(done), strict=True):
                assert cells[row, trial] == plain_score(self.grid[row], int(seeds[row, trial]))
        cost = float(sum(epsilon * n for epsilon, n in zip(self.grid, done.sum(axis=1), strict=True)))
        scores = 0.5 * n_finished if private else np.inf
        if refitted:
            cost += search.best_params_["epsilon"]
            assert search.best_estimator_.epsilon == search.best_params_["epsilon"] == self.grid[search.best_index_]
            assert len(search.best_estimator_.consensus_) == 4
        else:
            assert not hasattr(search, "best_estimator_")
        assert search.fits_cost_.epsilon == pytest.approx(cost)
        assert search.results_cost_.epsilon == pytest.approx(cost + scores)
        assert search.privacy_.epsilon == (0 if search.public_ballots else search.results_cost_.epsilon)
        again = pickle.loads(pickle.dumps(search))
        assert guarantee_of(again) == search.privacy_
        assert guarantee_of(again, declared=False) == search.results_cost_

    @rule()
    def sweep_by_another(self):
        """A search with the same parameters finds the same after any earlier calls."""
        other = clone(self.search)
        self.check(self.fit(other), len(self.grid) * other.n_trials, other.refit)
        self.fit(self.search)
        found = [np.stack(one.cv_results_["trial_test_score"]).tolist() for one in (self.search, other)]
        assert found[0] == found[1]

    @rule(at=st.sampled_from([None, 1, 2]))
    def search_by_scikit_learn(self, at):
        self.theirs.set_params(scoring=None if at is None else Stops(at))
        if at is None:
            assert self.theirs.fit(X).best_params_ == {"epsilon": 1e5}
            assert np.isinf(guarantee_of(self.theirs).epsilon)
        else:
            with pytest.raises(KeyboardInterrupt):
                self.theirs.fit(X)

    # --- what is charged to the voters' budget

    def pay(self, estimator, price, run):
        """Charge a fit; the plain list decides whether it fits."""
        if sum(self.charged) + price > BUDGET:
            with pytest.raises(BudgetExhausted):
                self.budget.fit(estimator, X)
            return
        run(estimator)
        self.charged.append(price)

    @rule(epsilon=st.sampled_from([0.25, 1.0]))
    def release(self, epsilon):
        self.pay(DPBorda(epsilon=epsilon), epsilon, lambda estimator: self.budget.fit(estimator, X))

    @rule(eta=st.sampled_from(["geometric", "logarithmic"]), dear=st.booleans())
    def select(self, eta, dear):
        """(2 + eta) times candidate and score, for any number of draws."""
        price = (3 if eta == "geometric" else 2) * ((0.25 if dear else 0.125) + 0.125)
        grid = {"epsilon": [0.125, 0.25] if dear else [0.125]}
        self.selection.set_params(distribution=eta, param_grid=grid)
        if self.selection.random_state is not None:
            with pytest.raises(ValueError, match="has a seed"):
                self.budget.fit(self.selection, X)
            assert self.selection.fit(X).consensus_.tolist() == clone(self.selection).fit(X).consensus_.tolist()
            return
        self.pay(self.selection, price, lambda estimator: self.budget.fit(estimator, X))
        if hasattr(self.selection, "privacy_"):
            assert self.selection.privacy_.epsilon in (0.5, 0.75, 1.125)

    @precondition(lambda self: self.selection.random_state is None and sum(self.charged) < BUDGET / 2)
    @rule()
    def cut_a_selection_short(self):
        """It has begun to read the ballots, and stays charged; what was selected before stays what it was."""
        self.selection.set_params(distribution="logarithmic", param_grid={"epsilon": [0.125]})
        before = {name: value for name, value in vars(self.selection).items() if name.endswith("_")}

        def run(estimator):
            with mock.patch.object(PrivateKendallTau, "__call__", side_effect=Crash), pytest.raises(Crash) as error:
                self.budget.fit(estimator, X)
            assert "still charged" in error.value.__notes__[0]
            assert {name: value for name, value in vars(estimator).items() if name.endswith("_")} == before

        self.pay(self.selection, 0.5, run)

    @rule()
    def pay_for_a_sweep(self):
        """Public ballots are free; other searches have no known price, or only that of seeds."""
        if self.search.public_ballots:
            self.pay(self.search, 0.0, lambda search: self.budget.fit(search, X))
            self.check(self.search, len(self.grid) * self.search.n_trials, self.search.refit)
        else:
            private = isinstance(self.search.scoring, PrivateKendallTau)
            with pytest.raises(ValueError, match="records those of its trials" if private else "public_ballots"):
                self.budget.fit(self.search, X)
        with pytest.raises(ValueError, match="has no privacy guarantee"):
            self.budget.fit(self.theirs, X)

    @invariant()
    def the_budget_holds_what_was_charged_and_the_estimator_nothing(self):
        assert [release.guarantee.epsilon for release in self.budget.releases_] == self.charged
        assert self.budget.spent_.epsilon == sum(self.charged) <= BUDGET
        assert self.budget.remaining.epsilon == BUDGET - sum(self.charged)
        assert vars(self.estimator) == vars(DPBorda())


@pytest.mark.parametrize("walks", [(12, 12), pytest.param((150, 40, True), marks=pytest.mark.slow)])
def test_searches_and_plain_fits(walks):
    walk(Searches, *walks)
