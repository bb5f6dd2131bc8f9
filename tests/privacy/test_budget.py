"""A budget charges each fit before a ballot is read, and refuses fits that it cannot pay or whose cost is unknown.

The figures are compared with sums by hand here, and with a plain list of charges in test_budget_states.
"""

import copy
import math
import os
import pickle
import re
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np
import pytest
from audited import AUDITED, SHOWN
from budget_tools import charged, pure
from hypothesis import given, settings, strategies as st
from sklearn import config_context, model_selection
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sklearn_dprank import Borda, DPBorda, DPHistogram, DPKemenySampler, LDPBorda, LDPPairwise, SegmentedAggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.metrics import kendall_tau_scorer
from sklearn_dprank.model_selection import GridSearchCV, PrivateKendallTau, PrivateSelection
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee, guarantee_of
from sklearn_dprank.privacy.budget import Release, Releases, Terms, in_excess
from sklearn_dprank.privacy.composition import Losses
from sklearn_dprank.privacy.estimator_guarantees import guarantee_before

N_VOTERS = 1237  # a number that does not occur otherwise
X = np.random.default_rng(0).permuted(np.tile(np.arange(3), (N_VOTERS, 1)), axis=1)
GAUSSIAN = DPBorda(epsilon=0.1, delta=1e-7, noise="gaussian")
# Fits of segments need labels; tests of SegmentedAggregator look at their charge.
ALONE = [
    estimator for estimator in AUDITED if estimator not in SHOWN and not isinstance(estimator, SegmentedAggregator)
]
every = pytest.mark.parametrize("estimator", ALONE, ids=repr)


# --- charges


@every
def test_the_charge_is_the_guarantee_of_the_fit(estimator):
    fitted = clone(estimator).fit(X)
    stated = guarantee_before(estimator, X)
    assert stated == guarantee_of(fitted) == fitted.privacy_
    assert stated == guarantee_before(estimator, Profile.from_rankings(X)) == guarantee_before(estimator, X.tolist())
    budget = PrivacyBudget(stated.epsilon, stated.delta, neighboring=stated.neighboring)
    budget.charge(stated, "all at once")
    assert (budget.spent_.epsilon, budget.spent_.delta) <= (stated.epsilon, stated.delta)
    with pytest.raises(BudgetExhausted):
        budget.charge(stated, "once more")


@pytest.mark.parametrize("estimator", [DPHistogram(), LDPPairwise(), DPBorda(1.0, 1e-7, "gaussian", population=True)])
def test_a_profile_without_the_ballots_that_a_fit_needs_is_refused_before_a_charge(estimator):
    budget = PrivacyBudget(2.0, 1e-6)
    with pytest.raises(ValueError, match=r"needs the ballots; build the Profile with keep='positions'"):
        budget.fit(estimator, Profile.from_rankings(X, keep="counts"))
    assert budget.spent_.epsilon == 0


def test_the_largest_of_personal_epsilons_is_charged():
    own = np.array([0.5] * 1000 + [1.5] * 237)
    budget = PrivacyBudget(3.0, neighboring="replace")
    budget.fit(LDPPairwise(epsilon=1.0), X, voter_epsilon=own)
    nested = make_pipeline(RatingsToRankings(), make_pipeline(LDPPairwise()))
    budget.fit(nested, X, pipeline__ldppairwise__voter_epsilon=own)
    assert budget.spent_.epsilon == 3.0
    with pytest.raises(BudgetExhausted):
        budget.fit(LDPPairwise(epsilon=1.0), Profile.from_rankings(X, voter_epsilon=own))


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("second", [GAUSSIAN, DPBorda(epsilon=0.125), LDPPairwise(epsilon=0.25)])
def test_a_search_by_private_scores_is_charged_in_simulations_only(refit, second):
    grid = {"dpborda": [DPBorda(epsilon=0.25), second]}
    options = {"n_trials": 2, "scoring": PrivateKendallTau(0.5), "refit": refit, "progress": False}
    search = GridSearchCV(make_pipeline(DPBorda()), grid, **options)
    stated, found = guarantee_before(search, X), search.fit(X).results_cost_
    assert (stated.neighboring, stated.trust, stated.certified) == (found.neighboring, found.trust, False)
    assert found.epsilon <= stated.epsilon <= found.epsilon + 0.5 * refit and found.delta <= stated.delta
    with pytest.raises(ValueError, match="records those of its trials"):
        PrivacyBudget(100.0, 1e-3, neighboring="replace").fit(search, X)
    simulation = PrivacyBudget(100.0, 1e-3, neighboring="replace", simulation=True)
    assert not guarantee_of(simulation.fit(search, X)).certified and not simulation.spent_.certified
    with pytest.raises(ValueError, match='use cv="all"'):
        simulation.fit(clone(search).set_params(cv=3), X)


def test_a_search_with_wrong_parameters_is_not_charged():
    """Parameters are public, so the refusal reveals no ballot."""
    search = GridSearchCV(DPBorda(), {"epsilon": [0.25]}, n_trials=2, scoring=PrivateKendallTau(0.5), progress=False)
    simulation = PrivacyBudget(100.0, simulation=True)
    for wrong in ({"refit": "best"}, {"n_jobs": 0}, {"param_grid": {"random_state": [1]}}, {"n_trials": 0}):
        with pytest.raises(ValueError) as refused:
            simulation.fit(clone(search).set_params(**wrong), X)
        assert not hasattr(refused.value, "__notes__")
    assert simulation.releases_ == ()


# --- time of the charge, and refusals


@pytest.fixture
def reading(monkeypatch):
    """A list of functions. The last one is called in place of reading ballots."""
    called = []
    monkeypatch.setattr(RankAggregator, "read_ballots", lambda self, X, reset=False: called[-1]())
    return called


@pytest.mark.parametrize(
    "estimator",
    [DPBorda(), GAUSSIAN, make_pipeline(RatingsToRankings(), DPBorda()), PrivateSelection(DPBorda()), LDPBorda()],
    ids=repr,
)
@pytest.mark.parametrize("stopped_by", [ValueError("no good"), KeyboardInterrupt()], ids=repr)
def test_a_fit_is_charged_before_it_reads_and_stays_charged(reading, estimator, stopped_by):
    """The failure may depend on the ballots."""
    budget, then = PrivacyBudget(100.0, 1e-6, neighboring="replace"), []

    def read():
        then.extend(budget.releases_)
        raise stopped_by

    reading.append(read)
    fresh = clone(estimator)
    with pytest.raises(type(stopped_by)) as error:
        budget.fit(fresh, X)
    steps = getattr(fresh, "named_steps", {"": fresh}).values()
    assert not [name for step in steps for name in vars(step) if name.endswith("_")]  # nothing is handed over
    assert "still charged" in error.value.__notes__[0]
    assert tuple(then) == budget.releases_
    assert len(then) == 1


def test_an_interrupted_search_on_public_ballots_keeps_its_finished_trials():
    left = iter([0.5] * 5)

    def scoring(fitted, profile):
        if (score := next(left, None)) is None:
            raise KeyboardInterrupt
        return score

    search = GridSearchCV(DPBorda(), {"epsilon": [1.0, 2.0]}, n_trials=4, scoring=scoring, public_ballots=True)
    budget = PrivacyBudget(1.0)
    with pytest.raises(KeyboardInterrupt):
        budget.fit(search, X)
    assert [np.isfinite(cell.astype(float)).sum() for cell in search.cv_results_["trial_test_score"]] == [4, 1]
    assert not hasattr(search, "best_estimator_") and budget.spent_.epsilon == 0


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (DPBorda(epsilon=2.0), BudgetExhausted, "epsilon = 0.75"),
        (DPBorda(epsilon=0.76), BudgetExhausted, "Ask for less"),
        (GAUSSIAN, BudgetExhausted, "none may have a delta"),
        (Borda(), ValueError, "has no privacy guarantee"),
        (DPBorda(random_state=0), ValueError, "random_state=None"),
        (LDPPairwise(), ValueError, 'neighboring="replace"'),
        (DPBorda(neighboring="replace"), ValueError, 'neighboring="add_remove"'),
        (make_pipeline(SimpleImputer(), DPBorda()), ValueError, "'simpleimputer'"),
        (model_selection.GridSearchCV(DPBorda(), {"epsilon": [1]}), ValueError, "PrivateSelection"),
        (GridSearchCV(DPBorda(), {"epsilon": [1]}), ValueError, "public_ballots=True"),
        (GridSearchCV(DPBorda(), {"epsilon": [1]}, scoring=kendall_tau_scorer), ValueError, "public_ballots=True"),
        (DPBorda(epsilon=-1), ValueError, "epsilon must be"),
        (PrivateSelection(GAUSSIAN), ValueError, "pure"),
    ],
    ids=lambda value: re.sub(r" at 0x\w+", "", repr(value)),
)
def test_a_refused_fit_reads_no_ballot(reading, estimator, error, message):
    reading.append(lambda: pytest.fail("a ballot was read"))
    budget = charged(0.25)
    with pytest.raises(error, match=message):
        budget.fit(estimator, X)
    assert (len(budget.releases_), budget.spent_.epsilon) == (1, 0.25)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_metadata_under_another_name_is_charged():
    weights = np.full(N_VOTERS, 8.0)
    asking = LDPPairwise(epsilon=0.1).set_fit_request(voter_epsilon="weights")
    for pipeline in (make_pipeline(asking), make_pipeline(RatingsToRankings(), make_pipeline(clone(asking)))):
        budget = PrivacyBudget(8.0, neighboring="replace")
        budget.fit(pipeline, X, weights=weights)
        assert budget.spent_ == guarantee_of(pipeline)
        assert budget.spent_.epsilon == 8.0
        with pytest.raises(BudgetExhausted):
            budget.fit(clone(pipeline), X, weights=weights)
    budget = PrivacyBudget(8.0, neighboring="replace")
    with pytest.raises(TypeError, match="unexpected argument"):
        budget.fit(make_pipeline(asking), X, voter_epsilon=weights)
    with pytest.raises(ValueError, match="not explicitly set"):
        budget.fit(make_pipeline(LDPPairwise(epsilon=0.1)), X, voter_epsilon=weights)
    assert budget.releases_ == ()
    budget.fit(LDPPairwise(epsilon=0.1), X, voter_epsilon=weights)  # called directly, it takes its own name
    assert budget.spent_.epsilon == 8.0


# --- identifiers of releases


def test_a_release_id_is_charged_once(account):
    budget = account(1.0)
    assert budget.fit(DPBorda(epsilon=0.25), X, release_id="May").consensus_.shape == (3,)
    for again in (
        lambda: budget.fit(DPBorda(epsilon=0.25), X, release_id="May"),
        lambda: budget.fit(DPBorda(epsilon=5.0), X, release_id="May"),
        lambda: budget.charge(pure(0.25), "elsewhere", release_id="May"),
    ):
        with pytest.raises(BudgetExhausted, match=r"release_id='May' was charged at 20.* for DPBorda, so it is not"):
            again()
    budget.charge(pure(0.25), "elsewhere", release_id="June")
    budget.fit(DPBorda(epsilon=0.125), X)
    budget.fit(DPBorda(epsilon=0.125), X)
    assert [release.release_id for release in budget.releases_] == ["May", "June", None, None]
    assert budget.spent_.epsilon == 0.75


def test_a_failed_fit_uses_up_its_release_id_and_a_refused_one_does_not(account):
    budget = account(1.0)
    with pytest.raises(BudgetExhausted):
        budget.fit(DPBorda(epsilon=2.0), X, release_id="May")
    with pytest.raises(ValueError, match="infinity"):
        budget.fit(DPBorda(epsilon=0.25), [[0, 1, math.inf]], release_id="May")
    with pytest.raises(BudgetExhausted, match="was charged"):
        budget.fit(DPBorda(epsilon=0.25), X, release_id="May")
    assert budget.spent_.epsilon == 0.25


@pytest.mark.parametrize(
    ("release_id", "message"),
    [(wrong, "None or a str") for wrong in ("", 5, b"May", ["May"])] + [("a\udc80", "text that UTF-8 can store")],
)
def test_bad_release_ids_are_refused(account, release_id, message):
    budget = account(1.0)
    with pytest.raises(ValueError, match=f"release_id must be {message}"):
        budget.fit(DPBorda(epsilon=0.5), X, release_id=release_id)
    assert budget.releases_ == ()


def test_a_call_with_wrong_arguments_is_not_charged():
    budget = PrivacyBudget(10.0)
    for wrong in ({"sample_weight": [1]}, {"typo": 1}):
        with pytest.raises(TypeError):
            budget.fit(DPBorda(), X, **wrong)
    with pytest.raises(TypeError, match="must be an estimator"):
        budget.fit("DPBorda", X)
    for shape in ((3,), (3, 1), (2, 3, 4)):
        with pytest.raises(ValueError, match="shape"):
            budget.fit(DPBorda(), np.zeros(shape))
    assert budget.releases_ == ()


@pytest.mark.parametrize(
    ("guarantee", "what", "message"),
    [
        (0.5, "x", "must be a PrivacyGuarantee"),
        *((pure(0.5), what, "few words") for what in ("", None)),
        (replace(pure(0.1), unit="one household"), "of households", "'one household'"),
    ],
)
def test_bad_charges_are_refused(guarantee, what, message):
    budget = charged(0.1)
    with pytest.raises(ValueError, match=message):
        budget.charge(guarantee, what)
    assert len(budget.releases_) == 1


# --- spent and remaining budget


def test_replacing_a_ballot_costs_twice_adding_one():
    budget = charged(0.25, pure(0.25, "replace"), neighboring="replace")
    assert budget.spent_.epsilon == 0.75
    assert budget.spent_.neighboring == "replace"
    normal = GAUSSIAN.fit(X).privacy_
    both = charged(normal, delta=1e-5, neighboring="replace").releases_[0].guarantee
    assert both == normal.under_replace()
    assert both.losses.mu_squared == 4 * normal.losses.mu_squared


def test_ten_tenths_fit_into_one():
    budget = charged(*[0.1] * 9)
    assert budget.remaining.epsilon == 0.1
    budget.charge(pure(0.1), "the tenth")
    assert budget.spent_.epsilon == 1.0000000000000002  # never rounded down
    assert budget.spent_.caveats == ()
    with pytest.raises(BudgetExhausted, match=r"epsilon = 0\. Nothing is left; ballots of these voters allow no more"):
        budget.charge(pure(1e-9), "another")


def test_the_remaining_limits_are_tight():
    for before in ([], [0.3], [GAUSSIAN.fit(X).privacy_]):
        left = charged(*before, delta=1e-6).remaining
        charged(*before, delta=1e-6).fit(DPKemenySampler(epsilon=left.epsilon), X)
        for delta in (1e-7, 1e-9):
            most = left.gaussian_epsilon(delta)
            charged(*before, delta=1e-6).fit(DPBorda(epsilon=most, delta=delta, noise="gaussian"), X)
            with pytest.raises(BudgetExhausted, match=f"a Gaussian one with delta = {delta:g} epsilon = "):
                charged(*before, delta=1e-6).fit(DPBorda(epsilon=most * 1.001, delta=delta, noise="gaussian"), X)
    assert charged(0.5).remaining == (0.5, 0.0, 0.5, 0.0)
    assert charged(0.5).remaining.gaussian_epsilon(1e-6) == 0


# --- records and copies


def test_a_release_records_its_time_name_and_guarantee():
    budget = PrivacyBudget(1.0, 1e-6)
    before = datetime.now(UTC) - timedelta(seconds=1)
    budget.fit(make_pipeline(RatingsToRankings(), GAUSSIAN), X.max() - X.astype(float))
    (release,) = budget.releases_
    assert before <= release.when <= datetime.now(UTC) and release.when.microsecond == 0
    assert (release.what, release.guarantee) == ("DPBorda", GAUSSIAN.privacy_)
    assert str(N_VOTERS) not in repr(budget.releases_) + repr(budget.spent_) + repr(budget)
    assert repr(budget) == (
        "PrivacyBudget(epsilon=1.0, delta=1e-06, neighboring='add_remove', basic_delta=None, simulation=False)"
    )
    assert (PrivacyBudget(1.0).spent_.epsilon, PrivacyBudget(1.0).releases_) == (0, ())


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_one_thread_decides_at_a_time(path, kept):
    kept = Releases(path if kept == "file" else None, Terms(1.0))

    def decide(account, releases):
        seen = len(releases())
        time.sleep(0.01)  # another thread could read the same releases
        return Release(datetime.now(UTC), str(seen), pure(0.1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: kept.add(decide), range(4)))
    assert [release.what for release in kept.releases()] == ["0", "1", "2", "3"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # interrupts while a generator is closed
def test_a_budget_in_memory_is_usable_after_an_interrupt_at_any_step():
    """Python delivers interrupts when a call begins or ends. An interactive session keeps the last traceback."""
    budget, kept = PrivacyBudget(1000.0), []
    left = 0

    def interrupt(frame, event, argument):
        nonlocal left
        left -= event != "c_call"
        if left == 0:
            raise KeyboardInterrupt

    def stuck(*_):
        raise AssertionError("the budget is still held by an interrupted charge")

    signal.signal(signal.SIGALRM, stuck)
    for step in count(1):
        signal.alarm(60)
        left, spent = step, budget.spent_.epsilon
        sys.setprofile(interrupt)
        try:
            budget.charge(pure(1.0), f"interrupted at step {step}")
        except KeyboardInterrupt as error:
            kept.append(error)
        finally:
            sys.setprofile(None)
        assert budget.spent_.epsilon in (spent, spent + 1)
        if left > 0:
            break
    signal.alarm(0)
    assert len(kept) > 50
    assert budget.spent_.epsilon == spent + 1
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: budget.remaining.epsilon).result(60) == 1000 - spent - 1


def test_a_budget_in_memory_has_one_account(monkeypatch):
    budget = PrivacyBudget(1.0)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="two copies would spend it twice"):
            copied(budget)
    shared = copy.copy(budget)
    shared.charge(pure(0.5), "by the other name")
    assert budget.remaining.epsilon == 0.5
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    with pytest.raises(RuntimeError, match="the process that made it"):
        budget.charge(pure(0.1), "in a fork")
    with pytest.raises(RuntimeError, match="the process that made it"):
        _ = budget.spent_


# --- noise and charge


ROWS = np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] * 25)
UNITS = {
    "ballots": ({}, 1),
    "persons": ({"groups": [k // 2 for k in range(100)], "max_weight": 1}, 1),
    "persons with three votes": ({"groups": [k // 2 for k in range(100)], "max_weight": 3}, 3),
    "weights": ({"sample_weight": [2.0] * 100, "max_weight": 5}, 5),
    "light weights": ({"sample_weight": [0.1] * 100, "max_weight": 0.25}, 0.25),
}


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("unit", UNITS)
def test_the_noise_of_a_charge_hides_a_whole_unit(unit, neighboring, noise):
    """The scale of the published noise, over the effect of one unit, is that of the charged guarantee."""
    given, weight = UNITS[unit]
    estimator = DPBorda(0.5, noise=noise, delta=1e-6 if noise == "gaussian" else 0.0, neighboring=neighboring)
    budget = PrivacyBudget(1.0, 1e-4, neighboring=neighboring)
    budget.fit(estimator, Profile.from_rankings(ROWS, **given))
    (release,) = budget.releases_
    plain = clone(estimator).fit(ROWS)
    assert (release.guarantee.epsilon, release.guarantee.delta) == (plain.privacy_.epsilon, plain.privacy_.delta)
    assert release.guarantee == estimator.privacy_
    scales = [fitted.noise_.law.std / fitted.noise_.grid for fitted in (estimator, plain)]
    assert scales[0] / scales[1] == pytest.approx(weight, rel=2e-3)  # of fractions with small terms


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_the_spent_guarantee_keeps_the_caveats_of_its_releases(delta):
    one = replace(pure(0.25), caveats=("only if asked on a Monday",))
    budget = PrivacyBudget(1.0, delta)
    for number in range(2):
        budget.charge(one, str(number))
    spent = budget.spent_
    assert "only if asked on a Monday" in spent.caveats
    assert any("chosen after a look at earlier ones" in caveat for caveat in spent.caveats) == (spent.delta > 0)
    assert "read its caveats" in str(spent)
    further = PrivacyGuarantee.compose([spent, one])
    assert set(spent.caveats) <= set(further.caveats)
    assert further.epsilon >= spent.epsilon and further.epsilon >= 0.75 * (1 - 1e-12)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.floats(0.01, 0.3), st.sampled_from([0.0, 1e-8, 1e-7])), min_size=2, max_size=6))
def test_composition_of_the_spent_budget_states_at_least_the_account(parts):
    budget, other = PrivacyBudget(10.0, 1e-4), PrivacyBudget(100.0, 1e-2)
    for number, (epsilon, delta) in enumerate(parts):
        release = DPBorda(epsilon, delta=delta, noise="gaussian" if delta else "laplace").fit(X).privacy_
        budget.charge(release, str(number))
    spent = budget.spent_
    again = PrivacyGuarantee.compose([spent, pure(0.5)])
    assert again.epsilon >= spent.epsilon and again.delta >= spent.delta
    other.charge(spent, "all of it")
    assert other.spent_.epsilon >= spent.epsilon


def test_a_fit_that_spends_more_than_its_charge_is_charged_with_all_of_it():
    terms = Terms(1.0)
    assert in_excess(terms, pure(0.5), pure(0.5)) is None
    assert in_excess(terms, pure(0.5), pure(0.4)) is None
    assert in_excess(terms, pure(0.5), pure(0.7)).epsilon == 0.7
    assert in_excess(terms, pure(0.5), PrivacyGuarantee.nothing("a leak")).epsilon == math.inf
    crossed = in_excess(terms, replace(pure(0.5), delta=1e-6, losses=None), replace(pure(0.7), delta=1e-9, losses=None))
    assert (crossed.epsilon, crossed.delta) == (0.7, 1e-6)
    for more in ({"epsilon": 0.2}, {"delta": 1e-6}):
        spent = clone(GAUSSIAN).set_params(**more).fit(X).privacy_
        assert in_excess(terms, GAUSSIAN.fit(X).privacy_, spent) == spent  # with the losses of its noise


def test_sums_beyond_the_budget_leave_only_gaussian_releases():
    budget = PrivacyBudget(1.0, 1e-5)
    for _ in range(12):
        budget.charge(DPBorda(0.1, 1e-7, noise="gaussian").fit([[0, 1, 2]] * 9).privacy_, "one of twelve")
    left = budget.remaining
    assert (left.basic_epsilon, left.basic_delta) == (0.0, 0.0)
    assert left.mu > 0
    hardly_private = Losses(mu_squared=1e4)
    with pytest.raises(BudgetExhausted, match="one of this kind epsilon = 0 and delta = 0"):
        budget.charge(replace(pure(hardly_private.epsilon(1.0)), delta=1.0, losses=hardly_private), "all of delta")


def test_the_spent_guarantee_keeps_the_losses_of_gaussian_releases():
    one = GAUSSIAN.fit(X).privacy_
    assert charged(one, one, delta=1e-5).spent_.losses == Losses.together([one.losses, one.losses])
