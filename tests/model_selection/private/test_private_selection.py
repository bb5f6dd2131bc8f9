"""`PrivateSelection`: law of the number of draws, total guarantee, independent random streams and refusals."""

import math
import pickle
import re
import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    LDPPairwise,
    ShufflePairwise,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.model_selection import PrivateSelection
from sklearn_dprank.model_selection.private import selection as private_selection
from sklearn_dprank.model_selection.private.candidates import candidates_of
from sklearn_dprank.model_selection.private.draw_count import draw_count, eta_of, gamma_of, happens, mean_draws_of
from sklearn_dprank.model_selection.private.scorer import NetAgreement
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.sampling.streams import SecureBits, SeededBits
from sklearn_dprank.theory import hay

X = make_mallows(200, 4, 0.6, random_state=0)
TWO = [DPBorda(epsilon=0.5), DPKemenySampler(epsilon=0.5)]
FITTED = {
    "best_estimator_",
    "best_params_",
    "best_score_",
    "consensus_",
    "ranks_",
    "privacy_",
    "n_features_in_",
}


class Unreadable:
    """Ballots whose shape is public and that nobody may read."""

    shape = (30, 4)

    def __array__(self, *args, **kwargs):
        raise AssertionError("the ballots were read")


def seeded(seed=0):
    return SeededBits(np.random.SeedSequence(seed))


# --- the number of draws


def pmf_of(eta, gamma):
    """P(K = 1), P(K = 2), ..., by the definition, as far as there is any mass."""
    k = np.arange(1, math.ceil(60 / gamma))
    log_weights = k * math.log1p(-gamma) + np.append(0, np.cumsum(np.log((k[:-1] + eta) / (k[:-1] + 1))))
    return np.exp(log_weights) / np.exp(log_weights).sum()


LAWS = [
    ("geometric", 10),
    ("geometric", 1.5),
    ("logarithmic", 10),
    ("logarithmic", 2),
    (0.5, 6),
    (-0.5, 4),
    (-0.9, 1.5),
]


@pytest.mark.slow
@pytest.mark.parametrize(("distribution", "mean"), LAWS)
def test_number_of_draws_has_its_law(distribution, mean):
    eta = eta_of(distribution)
    gamma = gamma_of(eta, mean)
    size = 4000
    bits = seeded(3)
    counts = np.array([draw_count(eta, gamma, bits) for _ in range(size)])
    pmf = pmf_of(eta, float(gamma))
    k = np.arange(1, len(pmf) + 1)
    assert (k * pmf).sum() == pytest.approx(mean, rel=1e-6)  # gamma is right
    spread = math.sqrt((k**2 * pmf).sum() - mean**2)
    assert abs(counts.mean() - mean) < 4 * spread / math.sqrt(size)
    kept = size * pmf >= 8
    observed = np.bincount(np.minimum(counts, len(pmf)), minlength=len(pmf) + 1)[1:]
    observed = np.append(observed[kept], observed[~kept].sum())
    assert stats.chisquare(observed, size * np.append(pmf[kept], 1 - pmf[kept].sum())).pvalue > 1e-3
    assert counts.min() == 1


@pytest.mark.parametrize("distribution", ["geometric", "logarithmic", 0.5, -0.5])
def test_one_draw_on_average_is_always_one(distribution):
    eta = eta_of(distribution)
    assert gamma_of(eta, 1) == 1
    assert {draw_count(eta, gamma_of(eta, 1), seeded()) for _ in range(50)} == {1}


def test_gamma_of_named_distributions():
    assert gamma_of(1.0, 10) == Fraction(1, 10)
    assert gamma_of(1.0, 2.5) == Fraction(2, 5)
    gamma = float(gamma_of(0.0, 7.0))
    assert (1 / gamma - 1) / math.log(1 / gamma) == pytest.approx(7.0)
    gamma = float(gamma_of(-0.5, 7.0))
    assert -0.5 * (1 - gamma) / (gamma * (1 - gamma**-0.5)) == pytest.approx(7.0)


@pytest.mark.slow
@given(st.floats(-0.99, 1), st.floats(0, math.log(1e5)))
def test_gamma_is_found_from_any_mean(eta, log_inverse_gamma):
    mean = mean_draws_of(eta, log_inverse_gamma)
    assert mean >= 1 - 1e-9
    found = gamma_of(eta, max(1.0, mean))
    assert 0 < found <= 1
    assert mean_draws_of(eta, -math.log(found)) == pytest.approx(mean, rel=1e-6)


class Words:
    """A bit source that deals given words."""

    def __init__(self, *words):
        self.words = list(words)

    def integer(self, bound):
        assert bound == 2**64
        return self.words.pop(0)


def test_coins_are_exact():
    """A uniform number below p, compared digit by digit: 1/3 is 0x5555... and 1/2 ends after one word."""
    third = 2**64 // 3
    assert happens(Fraction(1, 3), Words(third - 1))
    assert not happens(Fraction(1, 3), Words(third + 1))
    assert happens(Fraction(1, 3), Words(third, third, third - 1))
    assert not happens(Fraction(1, 3), Words(third, third, third + 1))
    assert happens(Fraction(1, 2), Words(2**63 - 1))
    assert not happens(Fraction(1, 2), Words(2**63))
    assert happens(Fraction(1), Words(2**64 - 1))
    assert not happens(Fraction(0), Words())
    fine = Fraction(1, 2**100)
    assert happens(fine, Words(0, 2**28 - 1))
    assert not happens(fine, Words(0, 2**28))


def test_secure_bits_serve():
    assert draw_count(0.0, gamma_of(0.0, 5), SecureBits()) >= 1


# --- the guarantee


@pytest.mark.parametrize(
    ("distribution", "factor"),
    [("geometric", 3), ("logarithmic", 2), (0.25, 2.25), (-0.5, 1.5), (1, 3), (np.float64(0), 2)],
)
def test_total_guarantee(distribution, factor):
    candidates = [DPBorda(epsilon=0.5), DPPairwise(epsilon=0.25)]
    search = PrivateSelection(candidates, score_epsilon=0.75, distribution=distribution)
    guarantee = search.guarantee(n_items=4)
    assert guarantee.epsilon == factor * 1.25  # the largest candidate counts
    assert guarantee.delta == 0
    assert (guarantee.trust, guarantee.neighboring, guarantee.arithmetic) == ("central", "add_remove", "exact")
    assert guarantee.certified
    assert "Theorem 2" in guarantee.how
    assert any("running time" in caveat for caveat in guarantee.caveats)


def test_total_is_never_rounded_below():
    for epsilon in np.arange(1, 40) / 37:  # about half of the totals round down to the nearest
        search = PrivateSelection(DPBorda(epsilon=epsilon), score_epsilon=0.2, distribution=0.3)
        exact = (2 + Fraction(0.3)) * (Fraction(epsilon) + Fraction(0.2))
        assert 0 <= Fraction(search.guarantee(4).epsilon) - exact < Fraction(1, 2**50)


def test_fit_states_what_was_promised():
    search = PrivateSelection(TWO, {"epsilon": [0.25, 0.5]}, score_epsilon=0.5, random_state=0)
    promised = search.guarantee(4)
    fitted = search.fit(X)
    assert fitted.privacy_ == promised
    assert promised.epsilon == 3.0
    assert fitted.best_estimator_.privacy_ == promised  # not what one fit costs
    assert not promised.certified
    certified = clone(search).set_params(random_state=None).fit(X)
    assert certified.privacy_.certified
    assert certified.best_estimator_.privacy_.certified


def test_a_published_calibration_counts_what_it_really_costs():
    """Under replace, the scale that Hay et al. print gives 2 floor(9 / 2) / 6 times epsilon."""
    candidate = DPBorda(epsilon=0.75, noise=hay.PrintedLaplace(), neighboring="replace")
    assert PrivateSelection(candidate, score_epsilon=1.0).guarantee(3).epsilon == pytest.approx(3 * (1.0 + 1.0))


def test_local_candidates():
    local = LDPPairwise(epsilon=1.0)
    search = PrivateSelection([local, DPBorda(epsilon=1.0, neighboring="replace")], random_state=0)
    assert search.guarantee(4, n_voters=200).neighboring == "replace"
    assert search.fit(X).privacy_.epsilon == 6.0
    assert search.privacy_.trust == "central"  # the score needs a curator


def test_arithmetic_is_that_of_the_candidates():
    guarantee = PrivateSelection([DPBorda(noise="knorm"), DPBorda()]).guarantee(4)
    assert guarantee.arithmetic == DPBorda(noise="knorm").fit(X).privacy_.arithmetic != "exact"


# --- fit


def test_the_selected_draw_is_what_it_says():
    search = PrivateSelection(DPBorda(), {"epsilon": [0.5, 1.0], "noise": ["laplace", "knorm"]}, random_state=1).fit(X)
    assert search.best_params_ in list(ParameterGrid(search.param_grid))
    assert search.best_params_.items() <= search.best_estimator_.get_params().items()
    np.testing.assert_array_equal(search.ranks_, search.best_estimator_.ranks_)
    np.testing.assert_array_equal(search.consensus_, search.best_estimator_.consensus_)
    assert type(search.best_score_) is int
    assert search.n_features_in_ == 4
    assert search.score(X) == -average_kendall_tau(search.ranks_, X)
    # With a seed, the selected fit can be replayed: it is the draw itself.
    replayed = clone(search.best_estimator_).fit(X)
    np.testing.assert_array_equal(replayed.ranks_, search.ranks_)


def test_the_best_draw_wins(monkeypatch):
    """With a loud score, the first of the best of all draws is kept, whatever comes before and after."""
    scores = [3, 9, 1, 9, 2]
    seen = []

    class Scorer:
        def __init__(self, epsilon, neighboring, seed):
            assert (epsilon, neighboring) == (1.0, "add_remove")

        def __call__(self, fitted, ballots):
            seen.append(fitted)
            return scores[len(seen) - 1]

    monkeypatch.setattr(private_selection, "PrivateKendallTau", Scorer)
    monkeypatch.setattr(private_selection, "draw_count", lambda *args: 5)
    search = PrivateSelection(TWO, random_state=0).fit(X)
    assert search.best_estimator_ is seen[1]
    assert search.best_score_ == 9


@pytest.mark.slow
def test_a_good_candidate_is_found():
    """Between hardly any noise and almost nothing but noise, the score tells."""
    candidates = [DPBorda(epsilon=1e-3), DPBorda(epsilon=20.0)]
    chosen = [
        PrivateSelection(candidates, mean_draws=20, score_epsilon=20.0, random_state=seed)
        .fit(X)
        .best_params_["estimator"]
        for seed in range(20)
    ]
    assert sum(estimator is candidates[1] for estimator in chosen) >= 15


@pytest.mark.slow
def test_candidates_are_drawn_uniformly():
    candidates = [DPBorda(epsilon=1.0), DPKwikSort(epsilon=1.0), DPPairwise(epsilon=1.0)]
    profile = Profile.from_rankings(X)
    names = [
        type(PrivateSelection(candidates, mean_draws=1, random_state=seed).fit(profile).best_estimator_).__name__
        for seed in range(300)
    ]
    assert stats.chisquare(np.unique(names, return_counts=True)[1]).pvalue > 1e-3


@pytest.mark.slow
def test_random_state():
    def outcome(random_state):
        fitted = PrivateSelection(TWO, random_state=random_state).fit(X)
        return fitted.best_score_, fitted.ranks_.tolist(), type(fitted.best_estimator_).__name__

    assert outcome(3) == outcome(3) == outcome(np.int64(3))
    assert outcome(np.random.default_rng(1)) == outcome(np.random.default_rng(1))
    assert len({str(outcome(seed)) for seed in range(5)}) > 1
    assert len({str(outcome(None)) for _ in range(5)}) > 1


def test_every_stream_is_its_own(monkeypatch):
    """Seeds of fits and scores never repeat; without a seed there is none."""
    used = []
    honest = private_selection.with_seed
    monkeypatch.setattr(private_selection, "with_seed", lambda e, seed: used.append(seed) or honest(e, seed))
    scorer = private_selection.PrivateKendallTau
    monkeypatch.setattr(private_selection, "PrivateKendallTau", lambda e, n, s: used.append(s) or scorer(e, n, s))
    monkeypatch.setattr(private_selection, "draw_count", lambda *args: 50)
    PrivateSelection(TWO, random_state=0).fit(X)
    assert len(set(used)) == len(used) == 100
    used.clear()
    PrivateSelection([DPBorda(random_state=5)]).fit(X)
    assert set(used) == {None}


def test_seeds_of_candidates_are_replaced():
    """A candidate with a seed would draw the same release again and again."""
    fitted = PrivateSelection(DPBorda(random_state=5), {"random_state": [6, 7]}).fit(X)
    assert fitted.best_estimator_.random_state is None
    assert fitted.privacy_.certified


def test_pairs_are_counted_once(monkeypatch):
    from sklearn_dprank.ballots import profile as module

    calls = []
    count = module.count_pairs
    monkeypatch.setattr(module, "count_pairs", lambda *args, **kwargs: calls.append(1) or count(*args, **kwargs))
    PrivateSelection(TWO, mean_draws=20, random_state=0).fit(X)
    assert len(calls) == 1


def test_memory_does_not_grow_with_the_number_of_draws(monkeypatch):
    alive, most = weakref.WeakSet(), []
    honest = private_selection.with_seed

    def watched(estimator, seed):
        alive.add(estimator)
        most.append(len(alive))
        return honest(estimator, seed)

    monkeypatch.setattr(private_selection, "with_seed", watched)
    monkeypatch.setattr(private_selection, "draw_count", lambda *args: 60)
    PrivateSelection(TWO, random_state=0).fit(X)
    assert len(most) == 60
    assert max(most) <= 3


def test_nothing_else_survives():
    search = PrivateSelection(TWO, random_state=0)
    before = repr(search.get_params())
    search.fit(X).score(X)
    assert set(vars(search)) - set(search.get_params(deep=False)) == FITTED
    assert repr(search.get_params()) == before
    assert not any(hasattr(estimator, "ranks_") for estimator in TWO)
    stored = pickle.dumps(search)
    profile = Profile.from_rankings(X)
    for secret in (profile.pairwise_counts, profile.margins, profile.net_wins, profile.positions.table, X):
        assert np.ascontiguousarray(secret).tobytes() not in stored
    assert NetAgreement(tuple(search.ranks_)).vector(profile, None) != [search.best_score_]
    np.testing.assert_array_equal(pickle.loads(stored).ranks_, search.ranks_)


@pytest.mark.slow
def test_names_profiles_and_fitting_again():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    search = PrivateSelection(TWO, random_state=0)
    expected = clone(search).fit(X)
    named = clone(search).fit(frame)
    assert named.feature_names_in_.tolist() == list("abcd")
    assert named.consensus_.tolist() == [list("abcd")[i] for i in expected.consensus_]
    assert named.score(frame) == expected.score(X)
    numbered = clone(search).fit(pd.DataFrame(X))  # no names, as everywhere in scikit-learn
    assert not hasattr(numbered, "feature_names_in_")
    ids = pd.DataFrame(X, columns=[40, 10, 30, 20])
    assert clone(search).fit(ids).consensus_.tolist() == [[40, 10, 30, 20][i] for i in expected.consensus_]
    assert named.fit(X) is named
    assert not hasattr(named, "feature_names_in_")
    for keep in ("positions", "counts"):
        profile = Profile.from_rankings(frame, keep=keep)
        assert clone(search).fit(profile).consensus_.tolist() == clone(search).fit(frame).consensus_.tolist()
        assert profile.item_names.tolist() == list("abcd")


def test_pipelines():
    pipeline = make_pipeline(RatingsToRankings(), DPBorda(epsilon=1.0))
    grid = {"dpborda": [DPBorda(epsilon=1.0), DPKwikSort(epsilon=1.0)], "ratingstorankings": [RatingsToRankings()]}
    search = PrivateSelection(pipeline, grid, random_state=0).fit(-X)
    assert isinstance(search.best_estimator_, Pipeline)
    assert search.best_estimator_[-1].privacy_ == search.privacy_
    assert search.privacy_.epsilon == 6.0
    assert search.n_features_in_ == 4
    assert search.score(-X) == -average_kendall_tau(search.ranks_, X) > -0.5
    outside = make_pipeline(RatingsToRankings(), PrivateSelection(TWO, random_state=0)).fit(-X)
    assert outside.score(-X) > -0.5
    both = PrivateSelection([pipeline, DPBorda(epsilon=1.0)], random_state=0).fit(X)
    assert both.privacy_.epsilon == 6.0


def test_grids_over_channels_and_lists_of_grids():
    grid = [{"channel": [Central(epsilon=0.5), Central(epsilon=1.0)]}, {"rule": ["hierarchical"]}]
    search = PrivateSelection(Aggregator(Central(epsilon=1.0)), grid, random_state=0)
    assert len(candidates_of(search.estimator, grid)) == 3
    assert search.fit(X).privacy_.epsilon == 6.0
    product = candidates_of([DPBorda(), DPPairwise()], {"epsilon": [0.5, 1.0]})
    assert [(type(c.estimator).__name__, c.estimator.epsilon) for c in product] == [
        ("DPBorda", 0.5),
        ("DPBorda", 1.0),
        ("DPPairwise", 0.5),
        ("DPPairwise", 1.0),
    ]
    assert [set(c.params) for c in product] == [{"estimator", "epsilon"}] * 4


def test_conventions():
    search = PrivateSelection(DPBorda(), {"epsilon": [1.0]}, mean_draws=3, random_state=1)
    assert repr(clone(search)) == repr(search)
    assert "mean_draws=3" in repr(search)
    assert search.get_params()["estimator__epsilon"] == 1.0
    assert search.set_params(estimator__noise="knorm").estimator.noise == "knorm"
    with pytest.raises(NotFittedError):
        search.score(X)
    assert repr(clone(PrivateSelection(TWO))) == repr(PrivateSelection(TWO))


# --- refusals, before any ballot is read


def check_refused(message, *args, n_items=4, **kwargs):
    search = PrivateSelection(*args, **kwargs)
    with pytest.raises(ValueError, match=message) as by_guarantee:
        search.guarantee(n_items, 30)
    ballots = Unreadable()
    ballots.shape = (30, n_items)
    with pytest.raises(ValueError, match=message) as by_fit:
        search.fit(ballots)
    assert str(by_guarantee.value) == str(by_fit.value)
    assert not hasattr(search, "privacy_")


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "1"])
def test_bad_score_epsilon(epsilon):
    check_refused(
        re.escape(f"score_epsilon must be a positive, finite number (in nats), got {epsilon!r}."),
        TWO,
        score_epsilon=epsilon,
    )


@pytest.mark.parametrize("mean", [0, 0.99, -3, math.inf, math.nan, "ten", True, None])
def test_bad_mean_draws(mean):
    check_refused(
        rf"mean_draws must be a finite number of at least 1, got {re.escape(repr(mean))}\.", TWO, mean_draws=mean
    )


@pytest.mark.parametrize(("distribution", "most"), [("geometric", 10**5), ("logarithmic", 8685), (-0.5, 158)])
def test_too_many_draws(distribution, most):
    gamma_of(eta_of(distribution), most)
    check_refused(
        f"mean_draws must be at most {most} with this distribution", TWO, distribution=distribution, mean_draws=most + 1
    )


@pytest.mark.parametrize("distribution", ["poisson", -1, -1.5, 1.1, math.nan, True, None, ["geometric"]])
def test_bad_distribution(distribution):
    check_refused('distribution must be "geometric", "logarithmic" or a number eta', TWO, distribution=distribution)


def test_empty_choices():
    check_refused("estimator is empty; give at least one candidate", [])
    check_refused(re.escape("param_grid is empty; give at least one candidate to choose, got []"), DPBorda(), [])
    check_refused("need (to be )?a (non-empty )?sequence", DPBorda(), {"epsilon": []})


def test_candidates_that_are_not_pure():
    gaussian = {"noise": ["laplace", "gaussian"], "delta": [1e-6]}
    check_refused(
        r"DPBorda\(delta=1e-06\) is impossible: noise='laplace' is pure and needs delta=0", DPBorda(), gaussian
    )
    message = r"DPBorda\(delta=1e-06, noise='gaussian'\) has delta=1e-06; selection is stated for pure candidates only"
    check_refused(message, [DPBorda(), DPBorda(delta=1e-6, noise="gaussian")])
    check_refused("has delta=", ShufflePairwise())


def test_candidates_that_are_not_private():
    check_refused(r"the candidate Borda\(\) is not private", [DPBorda(), Borda()])
    check_refused("is not private", make_pipeline(RatingsToRankings(), Borda()))
    check_refused("is not private", Aggregator())


def test_mixed_relations():
    message = re.escape("must share one neighbouring relation, got ['add_remove', 'replace']")
    check_refused(message, DPBorda(), {"neighboring": ["add_remove", "replace"]})
    check_refused(message, [DPBorda(), LDPPairwise()])


def test_candidates_that_are_no_aggregators():
    for estimator in (Ridge(), make_pipeline(RatingsToRankings(), Ridge()), None, DPBorda, [DPBorda(), "Borda"]):
        check_refused("estimator must be an aggregator, a Pipeline that ends in one, or a list of these", estimator)
    check_refused("must be an aggregator", make_pipeline(RatingsToRankings(), DPBorda()), {"dpborda": [Ridge()]})


@pytest.mark.parametrize("step", [StandardScaler(), FunctionTransformer()], ids=lambda s: type(s).__name__)
def test_steps_that_may_mix_ballots(step):
    check_refused(f"has a step {type(step).__name__}, which may mix ballots", make_pipeline(step, DPBorda()))


def test_impossible_candidates():
    check_refused(r"DPBorda\(epsilon=-1\) is impossible: epsilon must be a positive", DPBorda(), {"epsilon": [1.0, -1]})
    check_refused("Invalid parameter 'epsilom'", DPBorda(), {"epsilom": [1.0]})
    check_refused("is impossible: Central cannot answer", Aggregator(Central(noise="exponential")))
    check_refused("is impossible: .* at most 16 items", DPPrudentOrder(), n_items=30)


def test_bad_random_state():
    with pytest.raises(ValueError, match="random_state must be None, an int"):
        PrivateSelection(TWO, random_state="now").fit(Unreadable())


def test_bad_ballots():
    search = PrivateSelection(TWO)
    for ballots in ([0, 1, 2], [[0], [0]], np.zeros((2, 3, 4))):
        with pytest.raises(ValueError, match="X must have shape"):
            search.fit(ballots)
    with pytest.raises(ValueError, match="X must hold numbers"):
        search.fit([["a", "b"], ["b", "a"]])
    own = Profile.from_rankings(X, voter_epsilon=np.ones(len(X)))
    with pytest.raises(ValueError, match="voters with an epsilon of their own are not supported"):
        PrivateSelection(LDPPairwise()).fit(own)


def test_no_message_prints_ballots_in_the_wrong_place():
    ballots = [[3, 1, 2], [1, 2, 3]]
    wrong = [
        PrivateSelection(DPBorda(), distribution=ballots),
        PrivateSelection(ballots),
        PrivateSelection(DPBorda(), ballots),
    ]
    for search in wrong:
        with pytest.raises(ValueError, match="must be") as error:
            search.guarantee(3)
        assert "3, 1, 2" not in str(error.value)
