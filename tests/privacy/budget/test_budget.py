"""An account of one group of voters: charged before a ballot is read, refused where it does not fit."""

import copy
import math
import os
import pickle
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from audited import AUDITED
from sklearn import config_context, model_selection
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sklearn_dprank import Borda, DPBorda, DPKemenySampler, DPPairwise, LDPBorda, LDPPairwise, ShufflePairwise
from sklearn_dprank.aggregators.base import RankAggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.metrics import kendall_tau_scorer
from sklearn_dprank.model_selection import GridSearchCV, PrivateKendallTau, PrivateSelection
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee, guarantee_of
from sklearn_dprank.privacy.budget.charging import InMemory
from sklearn_dprank.privacy.budget.releases import Terms
from sklearn_dprank.privacy.estimator_guarantees import guarantee_before
from sklearn_dprank.privacy.guarantee import TRUST

N_VOTERS = 1237  # a number of voters that turns up by no accident
X = np.random.default_rng(0).permuted(np.tile(np.arange(3), (N_VOTERS, 1)), axis=1)
GAUSSIAN = DPBorda(epsilon=0.1, delta=1e-7, noise="gaussian")
every = pytest.mark.parametrize("estimator", AUDITED, ids=repr)


def pure(epsilon, neighboring="add_remove"):
    return PrivacyGuarantee(epsilon, 0.0, "central", neighboring, "discrete Laplace noise")


def charged(*releases, **terms):
    """A budget of epsilon 1, after these releases."""
    budget = PrivacyBudget(1.0, **terms)
    for release in releases:
        budget.charge(pure(release) if isinstance(release, float) else release, "a release")
    return budget


# What is charged


@every
def test_what_is_charged_is_what_the_fit_promises(estimator):
    fitted = clone(estimator).fit(X)
    foretold = guarantee_before(estimator, X)
    assert foretold == guarantee_of(fitted) == fitted.privacy_
    assert foretold == guarantee_before(estimator, Profile.from_rankings(X)) == guarantee_before(estimator, X.tolist())
    budget = PrivacyBudget(foretold.epsilon, foretold.delta, neighboring=foretold.neighboring)
    budget.charge(foretold, "all at once")
    assert (budget.spent_.epsilon, budget.spent_.delta) <= (foretold.epsilon, foretold.delta)
    with pytest.raises(BudgetExhausted):
        budget.charge(foretold, "once more")


@every
def test_under_add_remove_the_number_of_voters_decides_nothing(estimator):
    foretold = guarantee_before(estimator, X)
    if foretold.neighboring == "add_remove":
        assert foretold == guarantee_before(estimator, Profile(1, 3)) == guarantee_before(estimator, Profile(10**6, 3))


def test_pipelines_of_transformers_that_read_each_ballot_by_itself():
    budget = PrivacyBudget(1.0)
    budget.fit(make_pipeline(RatingsToRankings(), DPBorda(epsilon=0.25)), X.astype(float))
    assert budget.spent_ == budget.releases_[0].guarantee
    assert budget.releases_[0].what == "DPBorda"
    assert budget.remaining.epsilon == 0.75


def test_private_selection_is_charged_its_total():
    search = PrivateSelection([DPBorda(epsilon=0.1), DPPairwise(epsilon=0.1)], score_epsilon=0.1)
    budget = PrivacyBudget(1.0)
    assert budget.fit(search, X) is search
    assert budget.spent_.epsilon == search.privacy_.epsilon == pytest.approx(0.6)


def test_epsilons_of_the_voters_own():
    own = np.array([0.5] * 1000 + [1.5] * 237)
    budget = PrivacyBudget(3.0, neighboring="replace")
    budget.fit(LDPPairwise(epsilon=1.0), X, voter_epsilon=own)
    budget.fit(make_pipeline(RatingsToRankings(), LDPPairwise()), X, ldppairwise__voter_epsilon=own)
    assert budget.spent_.epsilon == 3.0
    with pytest.raises(BudgetExhausted):
        budget.fit(LDPPairwise(epsilon=1.0), Profile.from_rankings(X, voter_epsilon=own))


def test_a_search_on_public_ballots_is_charged_nothing():
    budget = PrivacyBudget(1.0)
    search = GridSearchCV(DPBorda(), {"epsilon": [1.0, 2.0]}, n_trials=2, random_state=0, public_ballots=True)
    budget.fit(search, X)
    assert (budget.spent_.epsilon, budget.remaining.epsilon) == (0, 1)
    assert "declared public" in budget.releases_[0].guarantee.how


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("second", [GAUSSIAN, DPBorda(epsilon=0.125), LDPPairwise(epsilon=0.25)])
def test_a_search_by_private_scores_is_known_beforehand_and_a_simulation(refit, second):
    search = GridSearchCV(
        make_pipeline(DPBorda()),
        {"dpborda": [DPBorda(epsilon=0.25), second]},
        n_trials=2,
        scoring=PrivateKendallTau(0.5),
        refit=refit,
        progress=False,
    )
    foretold = guarantee_before(search, X)
    found = search.fit(X).results_cost_
    assert (foretold.neighboring, foretold.trust, foretold.certified) == (found.neighboring, found.trust, False)
    assert found.epsilon <= foretold.epsilon <= found.epsilon + 0.5 * refit
    assert found.delta <= foretold.delta
    with pytest.raises(ValueError, match="records those of its trials"):
        PrivacyBudget(100.0, 1e-3, neighboring="replace").fit(search, X)
    rehearsal = PrivacyBudget(100.0, 1e-3, neighboring="replace", simulation=True)
    rehearsal.fit(search, X)
    assert not rehearsal.spent_.certified
    with pytest.raises(ValueError, match='use cv="all"'):
        rehearsal.fit(clone(search).set_params(cv=3), X)


# When it is charged


@pytest.fixture
def reading(monkeypatch):
    """What happens when ballots are read: the test may put a function here."""
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
    budget, then = PrivacyBudget(100.0, 1e-6, neighboring="replace"), []

    def read():
        then.extend(budget.releases_)
        raise stopped_by

    reading.append(read)
    with pytest.raises(type(stopped_by)) as error:
        budget.fit(clone(estimator), X)
    assert "still charged" in error.value.__notes__[0]
    assert tuple(then) == budget.releases_
    assert len(then) == 1


@pytest.mark.parametrize(
    ("estimator", "error", "says"),
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
def test_what_does_not_fit_is_refused_before_a_ballot_is_read(reading, estimator, error, says):
    reading.append(lambda: pytest.fail("a ballot was read"))
    budget = charged(0.25)
    with pytest.raises(error, match=says):
        budget.fit(estimator, X)
    assert len(budget.releases_) == 1
    assert budget.spent_.epsilon == 0.25


class OwnFit(DPBorda):
    def fit(self, X, y=None):
        super().fit(X)
        return super().fit(X)


class OwnRule(DPBorda):
    pass


def test_a_fit_of_ones_own_cannot_be_foretold():
    with pytest.raises(ValueError, match="charge\\(\\) an upper bound"):
        PrivacyBudget(10.0).fit(OwnFit(), X)
    budget = PrivacyBudget(1.0)
    budget.fit(OwnRule(epsilon=0.5), X)
    assert budget.remaining.epsilon == 0.5


class Mixin:
    """A mixin with a fit of its own: its class is no subclass of the one that foretells."""

    def fit(self, X, y=None):
        super().fit(X)
        return super().fit(X)


class Mixed(Mixin, DPBorda):
    pass


class Behind(DPBorda, Mixin):
    pass


def test_a_mixin_in_front_cannot_be_foretold():
    for estimator in (Mixed(epsilon=0.1), make_pipeline(RatingsToRankings(), Mixed(epsilon=0.1))):
        budget = PrivacyBudget(10.0)
        with pytest.raises(ValueError, match="Mixed has a fit of its own"):
            budget.fit(estimator, X)
        assert budget.releases_ == ()
    budget = PrivacyBudget(1.0)
    budget.fit(Behind(epsilon=0.5), X)  # its fit is that of DPBorda
    assert budget.spent_.epsilon == 0.5


def test_a_fit_of_one_object_cannot_be_foretold():
    estimator = DPBorda(epsilon=0.1)
    estimator.fit = lambda X, y=None: DPBorda(epsilon=8.0).fit(X)
    pipeline = make_pipeline(DPBorda(epsilon=0.1))
    pipeline.fit = estimator.fit
    for replaced in (estimator, make_pipeline(estimator), pipeline):
        with pytest.raises(ValueError, match=r"fit of its own|has no privacy guarantee"):
            PrivacyBudget(10.0).fit(replaced, X)


CARRYING = ["read_ballots", "_check_items", "_set_items", "_planned", "_release"]


@pytest.mark.parametrize("name", [*CARRYING, "publish"])
def test_a_method_on_the_way_to_the_release_cannot_be_foretold(name):
    def own(self, *args, **kwargs):
        pytest.fail("a ballot was read")

    in_front = type("InFront", (), {name: own})
    derived = type("Derived", (DPBorda,), {name: own})
    of_object = DPBorda(epsilon=0.1)
    setattr(of_object, name, own)
    for estimator in (derived(epsilon=0.1), type("Mixed", (in_front, DPBorda), {})(epsilon=0.1), of_object):
        for fitted in (estimator, make_pipeline(RatingsToRankings(), estimator)):
            budget = PrivacyBudget(10.0)
            with pytest.raises(ValueError, match=f"has a {name} of its own, so its guarantee is not known"):
                budget.fit(fitted, X)
            assert budget.releases_ == ()
    budget.fit(type("Behind", (DPBorda, in_front), {})(epsilon=0.5), X)
    assert budget.spent_.epsilon == 0.5


class Understating(DPBorda):
    """Its plan costs what is asked before the fit, and eight in it."""

    spends = 8.0

    def guarantee_before(self, X, voter_epsilon):
        return super().guarantee_before(X, voter_epsilon)

    def read_ballots(self, X, reset=False, least_voters=1):
        self.epsilon = self.spends
        return super().read_ballots(X, reset, least_voters)


class Leaking(Understating):
    def guarantee_after(self, declared):
        return PrivacyGuarantee.nothing("a leak")


@pytest.fixture(params=["memory", "file"])
def account(request, tmp_path):
    """Make a budget in memory, or in a file."""
    if request.param == "memory":
        return PrivacyBudget
    return lambda *terms, **more: PrivacyBudget.open(tmp_path / "account", *terms, **more)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_what_a_fit_reveals_beyond_its_charge_is_charged(account, neighboring):
    budget, times = account(3.0, neighboring=neighboring), 1 + (neighboring == "replace")
    budget.charge(pure(0.5, neighboring), "before")
    with pytest.raises(RuntimeError, match=r"charged epsilon = 0\.1 .* revealed more: epsilon = 8 ") as error:
        budget.fit(Understating(epsilon=0.1), X)
    assert not isinstance(error.value, BudgetExhausted)
    assert [release.guarantee.epsilon for release in budget.releases_] == [0.5, 8.0 * times]
    assert budget.spent_.epsilon == 0.5 + 8.0 * times
    assert budget.remaining.epsilon == 0
    with pytest.raises(BudgetExhausted, match=f"of epsilon = 3, {0.5 + 8.0 * times:g} is spent"):
        budget.charge(pure(1e-3, neighboring), "more")


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_after_a_leak_nothing_is_left(account, delta):
    budget = account(3.0, delta)
    with pytest.raises(RuntimeError, match="revealed more: not private"):
        budget.fit(Leaking(epsilon=0.1), X)
    assert budget.spent_.epsilon == math.inf
    assert (budget.remaining.epsilon, budget.remaining.mu) == (0, 0)
    with pytest.raises(BudgetExhausted, match="Nothing is left"):
        budget.charge(pure(1e-3), "more")


class Otherwise(DPBorda):
    """Its fit states the same epsilon, and changes another part of the promise."""

    changed = {}

    def guarantee_before(self, X, voter_epsilon):
        return super().guarantee_before(X, voter_epsilon)

    def guarantee_after(self, declared):
        return replace(self.privacy_, **self.changed)


class Seeding(Otherwise):
    def guarantee_before(self, X, voter_epsilon):
        return super().guarantee_before(X, voter_epsilon)

    def _release(self, voters, names, rule, plan):
        self.random_state = 0
        return super()._release(voters, names, rule, plan)


class OfHouseholds(Otherwise):
    changed = {"unit": "one item of a ballot"}


class Trusting(Otherwise):
    changed = {"trust": "none"}


@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
@pytest.mark.parametrize("kind", [Seeding, OfHouseholds, Trusting])
def test_a_promise_that_became_empty_leaves_nothing(account, kind, neighboring):
    budget = account(3.0, neighboring=neighboring)
    with pytest.raises(RuntimeError, match="revealed more"):
        budget.fit(kind(epsilon=0.1), X)
    (release,) = budget.releases_
    assert (release.guarantee.epsilon, release.guarantee.unit) == (math.inf, "one ballot")
    assert release.guarantee.neighboring == neighboring
    assert (budget.spent_.epsilon, budget.remaining.epsilon) == (math.inf, 0)
    with pytest.raises(BudgetExhausted, match="Nothing is left"):
        budget.charge(pure(1e-3, neighboring), "more")


def test_whom_the_fit_trusts_is_in_the_account():
    class Mixing(Otherwise):
        changed = {"trust": "shuffle"}

    budget = PrivacyBudget(3.0)
    with pytest.raises(RuntimeError, match=r"revealed more: epsilon = 0\.1 \(shuffle"):
        budget.fit(Mixing(epsilon=0.1), X)
    assert (budget.spent_.epsilon, budget.spent_.parties) == (0.1, TRUST["shuffle"].parties)


@pytest.mark.parametrize("trust", ["local", "central"])
def test_a_fit_that_trusts_no_more_is_no_error(trust):
    class Less(Otherwise):
        changed = {"trust": trust, "epsilon": 0.05}

    budget = PrivacyBudget(3.0)
    budget.fit(Less(epsilon=0.1), X)
    assert str(budget.spent_) == "epsilon = 0.1 (central, add_remove)"


def test_a_seed_in_a_rehearsal_is_charged_as_though_there_were_none():
    budget = PrivacyBudget(3.0, simulation=True)
    with pytest.raises(RuntimeError, match="simulation only"):
        budget.fit(Seeding(epsilon=0.1), X)
    assert (budget.spent_.epsilon, budget.spent_.certified) == (0.1, False)


class Wider(DPBorda):
    def guarantee_before(self, X, voter_epsilon):
        return super().guarantee_before(X, voter_epsilon)

    def read_ballots(self, X, reset=False, least_voters=1):
        self.delta *= 10
        return super().read_ballots(X, reset, least_voters)


def test_noise_that_became_smaller_is_charged():
    """The epsilon that is stated stays the same: mu and delta are larger."""
    budget = PrivacyBudget(3.0, 1e-4)
    with pytest.raises(RuntimeError, match="delta = 1e-06"):
        budget.fit(Wider(epsilon=0.5, delta=1e-7, noise="gaussian"), X)
    assert budget.spent_ == DPBorda(epsilon=0.5, delta=1e-6, noise="gaussian").fit(X).privacy_


def test_a_fit_that_reveals_less_is_no_error():
    class Cautious(Understating):
        spends = 0.05

    budget = PrivacyBudget(1.0)
    budget.fit(Cautious(epsilon=0.1), X)
    assert budget.spent_.epsilon == 0.1


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


def test_only_what_reaches_the_last_step_is_its_epsilon():
    own, budget = np.full(N_VOTERS, 2.0), PrivacyBudget(10.0, neighboring="replace")
    nested = make_pipeline(make_pipeline(LDPPairwise(epsilon=0.1)))
    budget.fit(nested, X, pipeline__ldppairwise__voter_epsilon=own)
    assert budget.spent_.epsilon == 2.0


# Identifiers of releases


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


def test_a_release_id_of_a_failed_fit_is_used_up(account):
    budget = account(1.0)
    with pytest.raises(ValueError, match="infinity"):
        budget.fit(DPBorda(epsilon=0.25), [[0, 1, math.inf]], release_id="May")
    with pytest.raises(BudgetExhausted, match="was charged"):
        budget.fit(DPBorda(epsilon=0.25), X, release_id="May")
    assert budget.spent_.epsilon == 0.25


def test_a_release_id_that_was_refused_is_free(account):
    budget = account(1.0)
    with pytest.raises(BudgetExhausted):
        budget.fit(DPBorda(epsilon=2.0), X, release_id="May")
    budget.fit(DPBorda(epsilon=1.0), X, release_id="May")
    assert budget.spent_.epsilon == 1.0


@pytest.mark.parametrize("release_id", ["", 5, b"May", ["May"]])
def test_bad_release_ids(release_id):
    budget = PrivacyBudget(1.0)
    with pytest.raises(ValueError, match="release_id must be None or a str"):
        budget.fit(DPBorda(epsilon=0.5), X, release_id=release_id)
    assert budget.releases_ == ()


def test_threads_cannot_charge_the_same_release_id():
    budget = PrivacyBudget(1.0)

    def spend(_):
        try:
            budget.charge(pure(1 / 64), "one of many", release_id="the same")
        except BudgetExhausted:
            return 0
        return 1

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(spend, range(50))) == 1


def test_what_cannot_be_called_is_not_charged():
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
    ("guarantee", "what", "says"),
    [(0.5, "x", "must be a PrivacyGuarantee"), (pure(0.5), "", "few words"), (pure(0.5), None, "few words")],
)
def test_bad_charges(guarantee, what, says):
    with pytest.raises(ValueError, match=says):
        PrivacyBudget(1.0).charge(guarantee, what)


def test_one_unit_a_budget():
    household = PrivacyGuarantee(0.1, 0.0, "central", "add_remove", "noise", unit="one household")
    with pytest.raises(ValueError, match="'one household'"):
        charged(0.1).charge(household, "of households")


@pytest.mark.parametrize(
    "terms",
    [
        {"epsilon": 0},
        {"epsilon": math.inf},
        {"epsilon": "1"},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": -1e-6},
        {"epsilon": 1.0, "neighboring": "add"},
        {"epsilon": 1.0, "delta": 1e-6, "basic_delta": 2e-6},
        {"epsilon": 1.0, "simulation": 1},
    ],
)
def test_bad_terms(terms):
    with pytest.raises(ValueError, match=f"{list(terms)[-1]} must be"):
        PrivacyBudget(**terms)


# How much


@pytest.mark.slow
def test_a_hundred_gaussian_releases_fit():
    budget = PrivacyBudget(0.92, 1e-6)
    daily = DPBorda(epsilon=0.1, delta=1e-8, noise="gaussian")
    for _ in range(100):
        assert budget.remaining.gaussian_epsilon(1e-8) >= 0.1
        budget.fit(daily, X)
    spent = budget.spent_
    assert (round(spent.epsilon, 3), spent.delta) == (0.919, 9e-7)
    assert "chosen after a look" in spent.caveats[-1]
    assert spent.losses.mu_squared == pytest.approx(100 * daily.privacy_.losses.mu_squared)
    with pytest.raises(BudgetExhausted, match=r"a Gaussian one with delta = 1e-08 epsilon = 0\.0\d+\. Ask"):
        budget.fit(daily, X)
    assert budget.spent_ == spent
    assert len(budget.releases_) == 100


def test_ten_tenths_fit_into_one():
    budget = charged(*[0.1] * 9)
    assert budget.remaining.epsilon == 0.1
    budget.charge(pure(0.1), "the tenth")
    assert budget.spent_.epsilon == 1.0000000000000002  # never rounded down
    assert budget.spent_.caveats == ()
    with pytest.raises(BudgetExhausted, match=r"epsilon = 0\. Nothing is left; ballots of these voters allow no more"):
        budget.charge(pure(1e-9), "another")


def test_a_replaced_ballot_is_one_less_and_one_more():
    budget = charged(0.25, pure(0.25, "replace"), neighboring="replace")
    assert budget.spent_.epsilon == 0.75
    assert budget.spent_.neighboring == "replace"
    normal = GAUSSIAN.fit(X).privacy_
    both = charged(normal, delta=1e-5, neighboring="replace").releases_[0].guarantee
    assert both == normal.under_replace()
    assert both.losses.mu_squared == 4 * normal.losses.mu_squared


def test_everybody_is_named_whom_one_of_them_trusts():
    shuffled = PrivacyGuarantee(0.5, 1e-7, "shuffle", "replace", "randomized response", caveats=("read me",))
    local = PrivacyGuarantee(0.1, 0.0, "local", "replace", "randomized response")
    budget = charged(shuffled, delta=1e-6, neighboring="replace")
    assert budget.spent_.parties == TRUST["shuffle"].parties
    with pytest.raises(BudgetExhausted, match=r"one of this kind epsilon = 0\.5 and delta = 9e-07"):
        budget.charge(replace(shuffled, delta=1e-6), "reports")
    budget.charge(local, "a survey")
    assert budget.spent_.trust == "shuffle"
    budget.charge(pure(0.1), "a fit")
    assert budget.spent_.parties == (*TRUST["shuffle"].parties, "the curator")
    assert "read me" in budget.spent_.caveats
    assert (budget.spent_.epsilon, budget.spent_.delta) == (pytest.approx(0.8), 1e-7)


def test_what_remains_can_be_spent():
    for before in ([], [0.3], [GAUSSIAN.fit(X).privacy_]):
        left = charged(*before, delta=1e-6).remaining
        charged(*before, delta=1e-6).fit(DPKemenySampler(epsilon=left.epsilon), X)
        for delta in (1e-7, 1e-9):
            most = left.gaussian_epsilon(delta)
            charged(*before, delta=1e-6).fit(DPBorda(epsilon=most, delta=delta, noise="gaussian"), X)
            with pytest.raises(BudgetExhausted):
                charged(*before, delta=1e-6).fit(DPBorda(epsilon=most * 1.001, delta=delta, noise="gaussian"), X)
    assert charged(0.5).remaining == (0.5, 0.0, 0.5, 0.0)
    assert charged(0.5).remaining.gaussian_epsilon(1e-6) == 0


def test_a_rehearsal_counts_seeds_as_though_there_were_none():
    budget = PrivacyBudget(1.0, simulation=True)
    budget.fit(DPBorda(epsilon=0.5, random_state=0), X)
    assert budget.spent_.epsilon == 0.5
    assert not budget.spent_.certified
    with pytest.raises(BudgetExhausted):
        budget.fit(DPBorda(epsilon=0.6, random_state=0), X)


# What it keeps


def test_what_is_written_down():
    budget = PrivacyBudget(1.0, 1e-6)
    before = datetime.now(UTC) - timedelta(seconds=1)
    budget.fit(GAUSSIAN, X)
    (release,) = budget.releases_
    assert before <= release.when <= datetime.now(UTC)
    assert release.when.microsecond == 0
    assert (release.what, release.guarantee) == ("DPBorda", GAUSSIAN.privacy_)
    assert str(N_VOTERS) not in repr(budget.releases_) + repr(budget.spent_) + repr(budget)
    assert repr(budget) == (
        "PrivacyBudget(epsilon=1.0, delta=1e-06, neighboring='add_remove', basic_delta=None, simulation=False)"
    )
    assert PrivacyBudget(1.0).spent_.epsilon == 0
    assert PrivacyBudget(1.0).releases_ == ()


@pytest.mark.slow
def test_threads_cannot_spend_the_same_budget():
    budget = PrivacyBudget(1.0)

    def spend(_):
        try:
            budget.charge(pure(1 / 64), "one of many")
        except BudgetExhausted:
            return 0
        return 1

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(spend, range(200))) == 64
    assert budget.spent_.epsilon == 1


def test_one_thread_decides_at_a_time():
    kept = InMemory(Terms(1.0))

    def decide(before):
        time.sleep(0.01)  # long enough for another to see the same, if it could
        return len(before)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: kept.add(decide), range(8)))
    assert kept.releases() == list(range(8))


def test_a_copy_would_forget(monkeypatch):
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


@pytest.mark.parametrize("estimator", [DPBorda(), LDPPairwise(), ShufflePairwise(delta=1e-4)])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace"])
def test_a_search_on_public_ballots_costs_nothing(estimator, neighboring):
    budget = PrivacyBudget(1.0, 1e-4, neighboring=neighboring)
    search = GridSearchCV(estimator, {"epsilon": [1.0, 2.0]}, public_ballots=True, random_state=0)
    assert guarantee_of(budget.fit(search, [[0, 1, 2]] * 50)).epsilon == 0
    assert budget.spent_.epsilon == 0
