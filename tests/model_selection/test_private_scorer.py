"""`PrivateKendallTau`: exact agreement plus discrete Laplace noise at the stated epsilon, and refusals."""

import math
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles import all_ballots, distinct_ballots
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from sklearn_dprank import Borda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.model_selection import PrivateKendallTau, cross_validate
from sklearn_dprank.model_selection.private import NetAgreement
from sklearn_dprank.preprocessing import RatingsToRankings

X = make_mallows(50, 4, 0.8, random_state=0)
FITTED = Borda().fit(X)
SILENT = 1e9  # nats: noise is 0, but for once in e^(10^8) calls


def naive_agreement(order, ballots):
    """Voters who agree minus voters who disagree, pair by pair; comparisons with NaN are false."""
    return sum(
        int(ballot[i] < ballot[j]) - int(ballot[i] > ballot[j])
        for ballot in np.asarray(ballots, dtype=float)
        for i, j in combinations(order, 2)
    )


@pytest.mark.slow
@given(st.lists(st.sampled_from(all_ballots(4).tolist()), min_size=1, max_size=8), st.permutations(range(4)))
def test_net_agreement_is_the_naive_one(ballots, order):
    agreement = NetAgreement(tuple(np.argsort(order)))
    vector = agreement.vector(Profile.from_rankings(ballots), None)
    assert agreement.read(vector, 4) == naive_agreement(order, ballots)


def test_of_strict_ballots_it_is_the_kendall_tau_score():
    expected = 50 * 6 * (1 + 2 * FITTED.score(X))
    assert PrivateKendallTau(SILENT)(FITTED, X) == pytest.approx(expected)
    assert average_kendall_tau(FITTED.ranks_, X) > 0.1  # no corner case


@pytest.mark.slow
@pytest.mark.parametrize(("neighboring", "epsilon"), [("add_remove", 1.5), ("replace", 3.0), ("add_remove", 0.3)])
def test_noise_has_the_exact_law(neighboring, epsilon):
    """Discrete Laplace noise of rate epsilon over the sensitivity, around the exact value."""
    ballots = distinct_ballots(3)[:5]
    fitted = Borda().fit(ballots)
    profile = Profile.from_rankings(ballots)
    size = 4000
    scorer = PrivateKendallTau(epsilon, neighboring, random_state=np.random.default_rng(5))
    noise = [scorer(fitted, profile) - naive_agreement(fitted.consensus_, ballots) for _ in range(size)]
    rate = epsilon / (3 if neighboring == "add_remove" else 6)
    cells = np.arange(-40, 41)
    expected = size * math.tanh(rate / 2) * np.exp(-rate * abs(cells))
    kept = expected >= 10
    observed = np.array([np.count_nonzero(np.equal(noise, cell)) for cell in cells[kept]])
    observed, expected = (
        np.append(observed, size - observed.sum()),
        np.append(expected[kept], size - expected[kept].sum()),
    )
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_random_state():
    scorer = PrivateKendallTau(0.1, random_state=7)
    assert len({scorer(FITTED, X) for _ in range(5)}) == 1
    generator = np.random.default_rng(7)
    assert len({PrivateKendallTau(0.1, random_state=generator)(FITTED, X) for _ in range(10)}) > 1


def test_guarantee_is_of_the_parameters():
    guarantee = PrivateKendallTau(0.25, "replace").guarantee
    assert (guarantee.epsilon, guarantee.delta) == (0.25, 0.0)
    assert (guarantee.trust, guarantee.neighboring) == ("central", "replace")
    assert guarantee.certified
    assert not PrivateKendallTau(random_state=0).guarantee.certified


def test_ballots_profiles_and_names():
    expected = PrivateKendallTau(SILENT)(FITTED, X)
    scorer = PrivateKendallTau(SILENT)
    assert scorer(FITTED, Profile.from_rankings(X)) == expected
    assert scorer(FITTED, Profile.from_rankings(X, keep="counts")) == expected
    assert scorer(FITTED, X.tolist()) == expected
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = Borda().fit(frame)
    assert scorer(named, frame) == expected
    with pytest.raises(ValueError, match="feature names should match"):
        scorer(named, frame[list("badc")])


def test_pipelines_are_scored_on_what_their_aggregator_sees():
    pipeline = make_pipeline("passthrough", RatingsToRankings(), Borda()).fit(-X)
    assert PrivateKendallTau(SILENT)(pipeline, -X) == PrivateKendallTau(SILENT)(FITTED, X)
    assert PrivateKendallTau(SILENT)(pipeline, X) < 0  # read as ratings, the reverse


def test_transformers_that_may_mix_ballots_are_refused():
    """The noise is for one row: a mean of all rows would let one voter move them all."""
    for steps in ((SimpleImputer(),), (RatingsToRankings(), SimpleImputer())):
        pipeline = make_pipeline(*steps, Borda()).fit(X)
        with pytest.raises(ValueError, match=r"no noise for the step 'simpleimputer' \(SimpleImputer\), which may mix"):
            PrivateKendallTau()(pipeline, X)


def test_as_a_scikit_learn_scorer():
    search = GridSearchCV(Borda(), [{}], scoring=PrivateKendallTau(SILENT), cv=KFold(2)).fit(X)
    for k, (train, test) in enumerate(KFold(2).split(X)):
        expected = naive_agreement(Borda().fit(X[train]).consensus_, X[test])
        assert search.cv_results_[f"split{k}_test_score"].tolist() == [expected]
    trials = cross_validate(Borda(), X, n_trials=2, scoring=PrivateKendallTau(SILENT), random_state=0, progress=False)
    assert trials["test_score"].tolist() == [PrivateKendallTau(SILENT)(FITTED, X)] * 2


def test_conventions():
    scorer = PrivateKendallTau(epsilon=0.5, neighboring="replace", random_state=3)
    assert clone(scorer).get_params() == scorer.get_params()
    assert repr(scorer) == "PrivateKendallTau(epsilon=0.5, neighboring='replace', random_state=3)"
    assert scorer.set_params(epsilon=2.0).guarantee.epsilon == 2.0
    before = dict(vars(scorer))
    scorer(FITTED, X)
    assert vars(scorer) == before  # a score keeps no value


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, math.nan, "much"])
def test_bad_epsilon(epsilon):
    message = re.escape(f"epsilon must be a positive, finite number (in nats), got {epsilon!r}.")
    with pytest.raises(ValueError, match=message):
        PrivateKendallTau(epsilon)(FITTED, None)  # before the ballots
    with pytest.raises(ValueError, match=message):
        _ = PrivateKendallTau(epsilon).guarantee


def test_bad_parameters():
    with pytest.raises(ValueError, match="neighboring must be one of"):
        PrivateKendallTau(neighboring="swap")(FITTED, None)
    with pytest.raises(ValueError, match="random_state must be None, an int"):
        PrivateKendallTau(random_state="now")(FITTED, None)


def test_bad_estimators_and_ballots():
    scorer = PrivateKendallTau()
    with pytest.raises(ValueError, match="estimator must be an aggregator, or a Pipeline that ends in one, got Ridge"):
        scorer(Ridge(), X)
    with pytest.raises(ValueError, match="got Ridge"):
        scorer(make_pipeline(RatingsToRankings(), Ridge()).fit(X, X[:, 0]), X)
    with pytest.raises(NotFittedError):
        scorer(Borda(), X)
    with pytest.raises(ValueError, match="expecting 4 "):
        scorer(FITTED, X[:, :3])
    with pytest.raises(ValueError, match="expecting 4 items"):
        scorer(FITTED, Profile.from_rankings(X[:, :3]))
