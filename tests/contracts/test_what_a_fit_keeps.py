"""A private fit keeps the consensus, its guarantee and public facts only, in attributes and in pickles."""

import pickle
import pickletools
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from every_estimator import FACTS, FITTED, HIDDEN, N_ITEMS, N_VOTERS, NAMES, PRIVATE, X, n_named, places, seeded
from sklearn.base import clone

import sklearn_dprank
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Local, Streaming
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.orders.permutations import permutation_index
from sklearn_dprank.privacy import PrivacyGuarantee
from sklearn_dprank.queries.statistics import net_wins
from sklearn_dprank.rules import Consensus, NewtonBradleyTerryRule, SortByScore, SwissRule
from sklearn_dprank.uncertainty import (
    AnswersLaw,
    LaplaceLaw,
    NormalLaw,
    PublishedNoise,
    ShareNoise,
    SkellamLaw,
    StrengthNoise,
)

WINS = net_wins(X.T, 99)
# What is published with noise, and what it must not be.
NOISY = {
    "estimator['margins_']": [Profile.from_rankings(X).margins],
    "estimator['histogram_']": [np.bincount(permutation_index(X.T), minlength=120)],
    "estimator['scores_']": [
        Profile.from_rankings(X).net_wins,
        sklearn_dprank.Aggregator(rule=SwissRule()).fit(X).scores_,
    ],
}
for rule in (NewtonBradleyTerryRule(), NewtonBradleyTerryRule(1)):
    without_noise = sklearn_dprank.Aggregator(rule=rule).fit(X)
    for name in {"strengths_", "exposures_", "net_wins_"} & vars(without_noise).keys():
        NOISY.setdefault(f"estimator['{name}']", []).append(vars(without_noise)[name])
    for name in ("exposures", "shares", "deviations"):
        NOISY.setdefault(f"estimator['noise_'].{name}", []).append(without_noise.exposures_)
NOISY["estimator['noise_'].covariance"] = [WINS.T @ WINS, np.cov(WINS.T) * N_VOTERS]
# The number of voters asked about each pair, drawn independently of the ballots.
ASKED = "estimator['noise_'].law.asked"


def parts(value, path="estimator"):
    """Every object reachable from a value, with how it is reached."""
    yield path, value
    if isinstance(value, dict):
        children = [(f"[{key!r}]", item) for pair in value.items() for key, item in ((pair[0], pair[0]), pair)]
    elif isinstance(value, (list, tuple, set, frozenset)):
        children = [(f"[{i}]", item) for i, item in enumerate(value)]
    elif isinstance(value, pd.Series):
        children = [("", value.to_numpy(copy=True)), (".index", list(value.index))]
        children += [(".name", value.name), (".index.name", value.index.name), (".attrs", value.attrs)]
    elif isinstance(value, np.ndarray) and value.dtype == object:
        children = [(f"[{i}]", item) for i, item in enumerate(value.ravel())]
    else:
        children = [(f".{key}", item) for key, item in getattr(value, "__dict__", {}).items()]
    for step, child in children:
        yield from parts(child, path + step)


KNOWN = (PublishedNoise, StrengthNoise, ShareNoise, LaplaceLaw, NormalLaw, SkellamLaw, AnswersLaw, Fraction)
PLAIN = (str, bytes, bool, int, float, np.integer, np.floating, type(None))


def check_what_is_left(fitted):
    """The allow-list: public parameters, names, the consensus, the promise and what the release derives."""
    left = {name: value for name, value in vars(fitted).items() if name not in fitted.get_params(deep=False)}
    assert set(left) <= FITTED | FACTS | HIDDEN
    n_is_public = fitted.privacy_.neighboring == "replace"
    for path, value in parts(left):
        if isinstance(value, np.ndarray):
            assert value.base is None, path
            if path in NOISY:
                for exact in NOISY[path]:
                    assert value.shape == exact.shape, path
                    assert not np.allclose(value, exact) and not np.allclose(value, exact / N_VOTERS), path
                continue
            if path == ASKED:
                np.testing.assert_array_equal(value, value.T)
                assert n_is_public and value.sum() % (2 * N_VOTERS) == 0, path
                continue
            named = n_named(fitted) if "consensus_" in path else N_ITEMS
            assert value.shape == (named,), path
            whole = places(fitted) if "ranks_" in path else range(N_ITEMS)
            assert value.dtype == object or sorted(value.tolist()) == list(whole) or set(value) < set(whole), path
        elif isinstance(value, pd.Series):
            base = value.to_numpy().base
            assert path == "estimator['ranks_']" and (base is None or base.size == N_ITEMS), path
        else:
            assert isinstance(value, (*PLAIN, *KNOWN, dict, list, tuple, PrivacyGuarantee)), path
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and not n_is_public:
            assert value != N_VOTERS, path
        if isinstance(value, str) and not n_is_public:
            assert str(N_VOTERS) not in value, path


def check_pickle(fitted):
    """No counts or ballots among the bytes, no class of the inner workings, no number of voters."""
    stored = pickle.dumps(fitted, protocol=4)
    profile = Profile.from_rankings(X)
    counts = profile.pairwise_counts
    for secret in (counts, counts[:1], profile.margins, profile.net_wins, profile.positions.table, X):
        for dtype in (np.int64, np.int32, np.uint8, np.float64, np.float32):
            assert np.ascontiguousarray(secret.astype(dtype)).tobytes() not in stored
    strings, numbers = set(), set()
    for code, argument, _ in pickletools.genops(stored):
        if isinstance(argument, str):
            strings.add(argument)
        elif code.name.startswith(("BININT", "BINFLOAT", "LONG")):
            numbers.add(argument)
    inner = ("profile", "rankings", "bits", "random._", "plan", "errors", "mechanisms")
    assert not [s for s in strings if s.startswith(("sklearn_dprank", "numpy")) and any(part in s for part in inner)]
    assert fitted.privacy_.neighboring == "replace" or N_VOTERS not in numbers


@pytest.mark.parametrize("estimator", PRIVATE, ids=repr)
@pytest.mark.parametrize("names", [None, NAMES, [50, 10, 40, 20, 30]], ids=["plain", "named", "numbered"])
def test_only_what_may_be_published_survives_a_fit(estimator, names):
    ballots = X if names is None else pd.DataFrame(X, columns=names)
    fitted = clone(estimator).fit(ballots)
    fitted.score(ballots)
    check_what_is_left(fitted)
    check_pickle(fitted)
    assert repr(fitted.get_params()) == repr(estimator.get_params())


@pytest.mark.parametrize(
    "leak",
    [
        {"profile_": 0},
        {"reports_refused_": {"not JSON": N_VOTERS}},
        {"reports_refused_": {"reports": (Profile.from_rankings(X),)}},
        {"optimal_gap_": np.random.default_rng(0)},
        {"ranks_": Profile.from_rankings(X).net_wins},
        {"ranks_": pd.Series(Profile.from_rankings(X).net_wins, index=NAMES)},
        {"ranks_": pd.Series(np.arange(N_ITEMS), index=[N_VOTERS, *range(1, N_ITEMS)])},
        {"scores_": pd.Series(np.arange(N_ITEMS))},
        {"margins_": Profile.from_rankings(X).margins},
        {"margins_": Profile.from_rankings(X).margins / N_VOTERS},
        {"histogram_": np.bincount(permutation_index(X.T), minlength=120)},
        {"scores_": Profile.from_rankings(X).net_wins},
        {"scores_": Profile.from_rankings(X).net_wins / N_VOTERS},
        {"noise_": PublishedNoise("scores", NormalLaw(1.0, most=float(N_VOTERS)))},
        {"noise_": PublishedNoise("margins", AnswersLaw(0.5, Profile.from_rankings(X).pairwise_counts))},
        {"noise_": PublishedNoise("margins", Profile.from_rankings(X))},
        {"scores_": sklearn_dprank.Aggregator(rule=SwissRule()).fit(X).scores_},
        {"consensus_": np.array([[0]] * N_ITEMS, dtype=object)},
    ],
    ids=lambda leak: next(iter(leak)),
)
def test_planted_leaks_are_found(leak):
    fitted = sklearn_dprank.DPBorda().fit(X)
    vars(fitted).update(leak)
    with pytest.raises(AssertionError):
        check_what_is_left(fitted)


@pytest.mark.parametrize(
    "leak", [Profile.from_rankings(X), X, np.random.default_rng(0), N_VOTERS], ids=lambda x: type(x).__name__
)
def test_planted_leaks_are_found_in_a_pickle(leak):
    fitted = sklearn_dprank.DPBorda().fit(X)
    check_pickle(fitted)
    fitted._leak = [{"deep": leak}]
    with pytest.raises(AssertionError):
        check_pickle(fitted)


class KeepingRule(SortByScore):
    """Rule of a user that stores what it receives."""

    def __init__(self):
        super().__init__()
        self.log = []

    def aggregate(self, answers):
        self.last = answers
        self.log.append(answers)
        return super().aggregate(answers)


@pytest.mark.parametrize("channel", [Central(1.0), Local(1.0), Streaming(1.0)], ids=repr)
def test_answers_that_a_rule_stores_do_not_stay_in_the_estimator(channel):
    estimator = sklearn_dprank.Aggregator(channel, rule=KeepingRule())
    fitted = estimator.partial_fit(X) if isinstance(channel, Streaming) else estimator.fit(X)
    assert not fitted.rule.log and not hasattr(fitted.rule, "last")


@pytest.mark.parametrize("estimator", PRIVATE, ids=repr)
def test_the_promise_does_not_depend_on_the_ballots(estimator):
    """`privacy_` is fixed by parameters, m and a public n: other ballots, the same promise."""
    promises = {seeded(estimator).fit(ballots).privacy_ for ballots in (X, X[:, ::-1], np.zeros(X.shape))}
    assert len(promises) == 1
    if promises.pop().neighboring == "add_remove":
        assert seeded(estimator).fit(X[:100]).privacy_ == seeded(estimator).fit(X).privacy_


class Alternating(SortByScore):
    """Rule with a state: every second order is reversed."""

    turns = 0

    def aggregate(self, answers):
        self.turns += 1
        return Consensus(super().aggregate(answers).order[:: -1 if self.turns % 2 == 0 else 1])


def test_a_sweep_uses_a_new_copy_of_the_rule_in_each_trial():
    found = cross_validate(sklearn_dprank.Aggregator(Central(100.0), rule=Alternating()), X, n_trials=6, random_state=0)
    assert len(set(found["test_score"])) == 1


def test_a_rule_that_cannot_be_copied_is_refused():
    rule = SortByScore()
    rule.lock = threading.Lock()
    with pytest.raises(TypeError, match="SortByScore cannot be copied"):
        sklearn_dprank.Aggregator(rule=rule).fit(X)
