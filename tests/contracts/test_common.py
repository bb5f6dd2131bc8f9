"""The contract that every public estimator keeps; new ones are found by themselves."""

import inspect
import math
import pickle
import pickletools
import re
from contextlib import nullcontext
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest
from docstring_tools import entries
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr
from sklearn_checks import own_checks

import sklearn_dprank
from sklearn_dprank import metrics
from sklearn_dprank.aggregators.base import RankAggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Local, SecureAggregation, Streaming
from sklearn_dprank.model_selection.sweep.candidates_on_splits import refits
from sklearn_dprank.orders.permutations import permutation_index
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyGuarantee
from sklearn_dprank.queries import AllMargins
from sklearn_dprank.rules import KemenyRule, SwissRule
from sklearn_dprank.sampling.streams import seed_sequence
from sklearn_dprank.uncertainty import AnswersLaw, LaplaceLaw, NormalLaw, PublishedNoise, SkellamLaw

PUBLIC = [getattr(sklearn_dprank, name) for name in sklearn_dprank.__all__]
CLASSES = [c for c in PUBLIC if isinstance(c, type) and issubclass(c, RankAggregator)]
# Beside the defaults, parameters that lead elsewhere.
VARIANTS = {
    "Aggregator": [
        {"channel": Central(noise="gaussian", delta=1e-6), "rule": "hierarchical"},
        {"channel": Central(release=AllMargins()), "rule": "kemeny"},
        {"channel": Local(), "rule": "borda"},
        {"channel": SecureAggregation(release=AllMargins()), "rule": "kemeny"},
        {"channel": Streaming(), "rule": "kemeny"},
    ],
    "PositionalRule": [{"scores": "plurality"}],
    "Kemeny": [{"tolerance": 0.1, "work_limit": 10}],
    "DPBorda": [{"noise": "gaussian", "delta": 1e-6}, {"noise": "knorm"}, {"neighboring": "replace"}],
    "DPHistogram": [
        {"noise": "gaussian", "delta": 1e-6},
        {"rule": "kemeny"},
        {"noise": "gaussian", "delta": 1e-6, "calibration": "published"},
    ],
    "DPKwikSort": [
        {"on_exhausted": "coin"},
        {"on_exhausted": "kemeny", "max_queries": 1},
        {"strategy": "binary_insertion", "noise": "gaussian", "delta": 1e-6},
    ],
    "DPPairwise": [
        {"rule": "borda"},
        {"rule": "markov_chain"},
        {"rule": KemenyRule(tolerance=0.5), "noise": "gaussian", "delta": 1e-6},
    ],
    "DPKemenySampler": [{"sampler": "table"}],
    "DPPrudentOrder": [{"window": 2}],
    "DPTopK": [{"k": 3}, {"k": 3, "batch": 2}],
    "DPStreamingBorda": [{"neighboring": "replace", "horizon": 2}],
    "DPSwissBorda": [{"neighboring": "replace"}],
    "LDPPairwise": [{"rule": "hierarchical"}, {"rule": "kwiksort"}, {"randomizer": "djw"}],
}
ESTIMATORS = [c(**p) for c in CLASSES for p in [{}, *VARIANTS.get(c.__name__, [])]]
# Facts that rules and channels may declare: functions of what was released, or of public numbers.
FACTS = {
    "optimal_gap_",
    "reports_accepted_",
    "reports_refused_",
    "local_epsilon_",
    "margins_",
    "histogram_",
    "scores_",
    "noise_",
    "periods_",
}
# What `partial_fit` goes on from, and no fit leaves.
SECRETS = {"stream_"}
FITTED = {"consensus_", "ranks_", "privacy_", "n_features_in_", "feature_names_in_"}
HIDDEN = {"_item_names"}  # public all the same

N_VOTERS, N_ITEMS = 1237, 5  # a number of voters that turns up by no accident
X = np.random.default_rng(0).permuted(np.tile(np.arange(N_ITEMS), (N_VOTERS, 1)), axis=1)
NAMES = ["tea", "milk", "water", "wine", "juice"]
# What is published with noise, and what it must not be.
NOISY = {
    "estimator['margins_']": [Profile.from_rankings(X).margins],
    "estimator['histogram_']": [np.bincount(permutation_index(X.T), minlength=120)],
    "estimator['scores_']": [
        Profile.from_rankings(X).net_wins,
        sklearn_dprank.Aggregator(rule=SwissRule()).fit(X).scores_,
    ],
}
# What the noise is known by besides plain numbers: how many were asked about each pair, drawn apart from ballots.
ASKED = "estimator['noise_'].law.asked"

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)


def seeded(estimator, seed=0):
    """A clone with a seed, where it takes one."""
    out = clone(estimator)
    return out.set_params(random_state=seed) if "random_state" in out.get_params() else out


def n_named(estimator, n_items=N_ITEMS):
    """How many items the consensus names."""
    return getattr(estimator, "k", n_items)


def places(estimator, n_items=N_ITEMS):
    """The positions in order: all others are tied behind those that the consensus names."""
    k = n_named(estimator, n_items)
    return [*range(k), *[k] * (n_items - k)]


def is_private(estimator):
    return any(name.split("__")[-1] == "epsilon" for name in estimator.get_params())


PRIVATE = [e for e in ESTIMATORS if is_private(e)]
RANDOM = [e for e in ESTIMATORS if "random_state" in e.get_params()]


def test_the_walk_finds_estimators():
    assert {"Borda", "Kemeny", "DPBorda", "LDPPairwise"} <= {c.__name__ for c in CLASSES}
    assert set(VARIANTS) <= {c.__name__ for c in CLASSES}
    for estimator in ESTIMATORS:
        assert np.isfinite(seeded(estimator).fit(X).privacy_.epsilon) == is_private(estimator)


def checks_of_estimators():
    """scikit-learn's checks of every estimator; those that give 10! cells of a histogram 10 items are slow."""
    for estimator in ESTIMATORS:
        if n_named(estimator, 1) > 1:
            continue  # some of their tables have two columns
        for name, made, check in own_checks(estimator):
            ten_items = isinstance(made, sklearn_dprank.DPHistogram) and name in TEN_ITEMS
            marks = [pytest.mark.slow] if ten_items else []
            yield pytest.param(made, check, marks=marks, id=f"{type(made).__name__}-{name}")


TEN_ITEMS = {"check_dtype_object", "check_fit2d_1sample"}


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")  # their tables are small
@pytest.mark.parametrize(("estimator", "check"), list(checks_of_estimators()))
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)


# What fit leaves


@every
def test_contract_of_fit(estimator):
    before = repr(estimator.get_params())
    fitted = seeded(estimator)
    assert fitted.fit(X) is fitted
    assert repr(estimator.get_params()) == before
    assert len(fitted.consensus_) == n_named(estimator) and set(fitted.consensus_.tolist()) <= set(range(N_ITEMS))
    np.testing.assert_array_equal(fitted.ranks_[fitted.consensus_], np.arange(n_named(estimator)))
    assert sorted(fitted.ranks_) == places(estimator)
    assert fitted.ranks_.dtype == np.int64
    assert fitted.n_features_in_ == N_ITEMS
    assert not hasattr(fitted, "feature_names_in_")
    assert isinstance(fitted.privacy_, PrivacyGuarantee)
    assert fitted.privacy_.unit == "one ballot"


@every
def test_score_is_minus_the_average_distance(estimator):
    fitted = seeded(estimator).fit(X)
    assert fitted.score(X) == -metrics.average_kendall_tau(fitted.ranks_, X)
    assert fitted.score(fitted.ranks_[None]) == 0
    tied = math.comb(N_ITEMS - n_named(estimator), 2) / math.comb(N_ITEMS, 2)  # on both sides
    assert fitted.score(-fitted.ranks_[None]) == pytest.approx(tied - 1, abs=1e-15)
    assert fitted.score(Profile.from_rankings(X)) == fitted.score(X)


@every
def test_unanimous_voters_get_their_way(estimator):
    """Smaller is better, for every estimator: plenty of voters outshout any noise."""
    order = np.array([3, 0, 4, 1, 2])
    X = np.tile(np.argsort(order), (30_000, 1))
    fitted = seeded(estimator, 1)
    for name in [p for p in fitted.get_params() if p.split("__")[-1] == "epsilon"]:
        fitted.set_params(**{name: 4.0})
    consensus = fitted.fit(X).consensus_.tolist()
    if "max_queries=1" in repr(estimator) and "coin" in repr(estimator):
        return
    if getattr(estimator, "scores", None) == "plurality":
        assert consensus[0] == 3
    else:
        assert consensus == order[: n_named(estimator)].tolist()


@every
def test_names_of_a_frame(estimator):
    frame = pd.DataFrame(X, columns=NAMES)
    plain, named = seeded(estimator).fit(X), seeded(estimator).fit(frame)
    assert named.consensus_.tolist() == [NAMES[i] for i in plain.consensus_]
    np.testing.assert_array_equal(named.ranks_, plain.ranks_)
    assert named.feature_names_in_.tolist() == NAMES
    assert named.score(frame) == plain.score(X)
    assert not hasattr(named.fit(X), "feature_names_in_")


@every
def test_whole_numbers_are_names_too(estimator):
    ids = [50, 10, 40, 20, 30]
    frame = pd.DataFrame(X, columns=ids)
    plain, numbered = seeded(estimator).fit(X), seeded(estimator).fit(frame)
    assert numbered.consensus_.tolist() == [ids[i] for i in plain.consensus_]
    assert not hasattr(numbered, "feature_names_in_")
    assert numbered.score(frame) == plain.score(X)
    pipeline = make_pipeline(RatingsToRankings(), seeded(estimator)).fit(-frame)
    assert pipeline[-1].consensus_.tolist() == numbered.consensus_.tolist()
    assert clone(numbered).fit(X).consensus_.dtype == np.int64


@every
@pytest.mark.parametrize("container", ["pandas", "default"])
def test_pipeline_from_ratings(estimator, container):
    ratings = pd.DataFrame(X.max() - X, columns=NAMES)
    pipeline = make_pipeline(RatingsToRankings().set_output(transform=container), seeded(estimator)).fit(ratings)
    straight = seeded(estimator).fit(pd.DataFrame(X, columns=NAMES))
    np.testing.assert_array_equal(pipeline[-1].ranks_, straight.ranks_)
    assert pipeline.score(ratings) == straight.score(pd.DataFrame(X, columns=NAMES))
    assert pipeline[-1].consensus_.tolist() == straight.consensus_.tolist()


@every
def test_profile_in_place_of_ballots(estimator):
    profile = Profile.from_rankings(pd.DataFrame(X, columns=NAMES))
    from_profile, from_ballots = seeded(estimator).fit(profile), seeded(estimator).fit(pd.DataFrame(X, columns=NAMES))
    assert from_profile.consensus_.tolist() == from_ballots.consensus_.tolist()
    assert from_profile.privacy_ == from_ballots.privacy_


@every
def test_ties_gaps_lists_and_dtypes(estimator):
    rng = np.random.default_rng(1)
    ballots = rng.integers(0, 3, (300, 4)).astype(float)
    ballots[rng.random(ballots.shape) < 0.3] = np.nan
    assert sorted(seeded(estimator).fit(ballots).ranks_) == places(estimator, 4)
    fitted = seeded(estimator).fit(X)
    for nothing in (np.zeros((300, 4)), np.full((300, 4), np.nan)):
        # A private fit neither refuses nor warns by what ballots say.
        private = str(fitted.privacy_) != "not private"
        with nullcontext() if private else pytest.warns(UserWarning, match="no ballot of X prefers any item"):
            assert sorted(seeded(estimator).fit(nothing).ranks_) == places(estimator, 4)
    expected = fitted.ranks_
    for same in (X.tolist(), X.astype(np.float32), X.astype(np.uint8), 10.0 * X - 3):
        np.testing.assert_array_equal(seeded(estimator).fit(same).ranks_, expected)
    masked = np.ma.masked_array(np.nan_to_num(ballots, nan=7).astype(int), mask=np.isnan(ballots))
    np.testing.assert_array_equal(seeded(estimator).fit(masked).ranks_, seeded(estimator).fit(ballots).ranks_)


# Parameters and copies


@every
def test_clone_and_pickle(estimator):
    assert repr(clone(estimator)) == repr(estimator)
    fitted = seeded(estimator).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.consensus_, fitted.consensus_)
    assert again.privacy_ == fitted.privacy_
    assert again.score(X) == fitted.score(X)
    assert not hasattr(clone(fitted), "consensus_")


def test_nested_parameters():
    aggregator = sklearn_dprank.Aggregator(Central(), KemenyRule())
    aggregator.set_params(channel__epsilon=2.5, rule__tolerance=0.25)
    copy = clone(aggregator)
    assert copy.channel is not aggregator.channel
    assert (copy.channel.epsilon, copy.rule.tolerance) == (2.5, 0.25)
    pairwise = clone(sklearn_dprank.DPPairwise(rule=KemenyRule())).set_params(rule__work_limit=7)
    assert pairwise.get_params()["rule__work_limit"] == 7


@every
def test_representations(estimator):
    assert type(estimator).__name__ in repr(estimator)
    fitted = seeded(estimator).fit(X)
    for state in (estimator, fitted):
        html = estimator_html_repr(state)
        assert type(estimator).__name__ in html
        assert str(N_VOTERS) not in html or fitted.privacy_.neighboring == "replace"  # there n is public


DEFAULTS = {"epsilon": 1.0, "neighboring": "add_remove", "calibration": "exact", "random_state": None, "rule": None}


@every_class
def test_default_parameters(cls):
    found = cls().get_params(deep=False)
    needs_delta = cls.__name__.startswith(("Shuffle", "DPSwiss", "DPStreaming", "SecAgg"))
    expected = {**DEFAULTS, "delta": 1e-6 if needs_delta else 0.0}
    for name, value in expected.items():
        if name in found and not (name == "delta" and "LDP" in cls.__name__):
            assert found[name] == value, name
    if cls.__name__.startswith(("DP", "LDP", "Shuffle", "SecAgg")):
        assert {"epsilon", "random_state"} <= set(found)
    if cls.__name__.startswith("DP"):
        assert "neighboring" in found
    assert set(cls.parameter_checks) == set(found)


# One fit, one place


@every_class
def test_fit_is_written_once(cls):
    for parent in cls.__mro__:
        if parent not in (RankAggregator, *RankAggregator.__mro__):
            for method in (
                "fit",
                "partial_fit",
                "fit_reports",
                "fit_interactive",
                "score",
                "_release",
                "plan_for",
                "publish",
                "__getattr__",
            ):
                assert method not in vars(parent), f"{parent.__name__} overrides {method}"
    own = {name for name, value in vars(cls).items() if inspect.isfunction(value)}
    assert own <= {"__init__", "_compose"}


@pytest.mark.parametrize("estimator", [e for e in RANDOM if e.follows_plan()], ids=repr)
def test_a_sweep_repeats_fit(estimator):
    profile = Profile.from_rankings(X)
    rule, plan = estimator.plan_for(profile)
    repeated = refits(clone(estimator), profile, rule, plan, [3, 4])
    for seed, fitted in zip([3, 4], repeated, strict=True):
        alone = clone(estimator).set_params(random_state=seed).fit(profile)
        assert fitted.random_state == seed and fitted.privacy_ == alone.privacy_
        np.testing.assert_array_equal(fitted.consensus_, alone.consensus_)
        for name in ("ranks_", "scores_", "margins_", "histogram_"):
            np.testing.assert_array_equal(getattr(fitted, name, None), getattr(alone, name, None))


def documented(docstring, section):
    """The names that a section of a numpydoc docstring documents, in order."""
    return list(entries(docstring, section))


@every_class
def test_docstring_of_the_class(cls):
    doc = inspect.cleandoc(cls.__doc__)
    assert documented(doc, "Parameters") == list(inspect.signature(cls).parameters)
    fitted = {name for name in vars(seeded(cls()).fit(pd.DataFrame(X, columns=NAMES))) if name.endswith("_")}
    assert set(documented(doc, "Attributes")) >= fitted
    assert set(documented(doc, "Attributes")) <= FITTED | FACTS | SECRETS
    assert ">>> " in doc
    for section, text in re.findall(r"^(\w.*)\n(-{3,})$", doc, flags=re.M):
        assert len(section) == len(text), section
    for name, default in [(n, p.default) for n, p in inspect.signature(cls).parameters.items()]:
        line = next(line for line in doc.splitlines() if re.match(rf"{name} : ", line))
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        stated = line.rpartition("default=")[2]
        assert stated == shown or float(stated) == default, line


def is_a(value, hint):
    """Tell whether a value is of an annotated type; of arrays the kind of entries too."""
    origin, args = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # numpy's alias has a name of its own where Python has such aliases
        return is_a(value, origin.__value__[args])
    if origin is np.ndarray:
        (kind,) = get_args(args[1])
        return isinstance(value, np.ndarray) and (kind is Any or value.dtype == kind)
    if origin is dict:
        return isinstance(value, dict) and all(is_a(k, args[0]) and is_a(v, args[1]) for k, v in value.items())
    return type(value) is hint


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_fitted_attributes_are_declared_with_their_types(estimator):
    hints = get_type_hints(type(estimator))
    assert not [name for name in hints if name.endswith("_") and hasattr(estimator, name)]  # declared, not given
    fitted = {name: value for name, value in vars(seeded(estimator).fit(X)).items() if name.endswith("_")}
    assert fitted.keys() <= hints.keys()
    for name, value in fitted.items():
        assert is_a(value, hints[name]), f"{name} = {value!r} is no {hints[name]}"


def choices(hint):
    """The texts that an annotation allows."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {text for one in get_args(hint) for text in choices(one)}


@every_class
def test_annotated_choices_are_those_that_fit_accepts(cls):
    hints = get_type_hints(cls.__init__)
    for name, check in cls.parameter_checks.items():
        if accepted := getattr(check, "keywords", {}).get("choices"):  # as `one_of` makes them
            assert choices(hints[name]) == set(accepted), name


@pytest.mark.parametrize("cls", sorted({type(e) for e in PRIVATE}, key=lambda c: c.__name__), ids=lambda c: c.__name__)
def test_private_estimators_have_a_privacy_section(cls):
    doc = inspect.cleandoc(cls.__doc__)
    found = re.search(r"^\.\. rubric:: Privacy\n\n(.*?)(?=\n\n\.\. rubric|\n\n\w+\n---|\Z)", doc, flags=re.M | re.S)
    assert found
    text = found[1]
    if cls.__name__ != "Aggregator":  # its channel says it
        for word in ("Unit:", "Trust:"):
            assert word in text, word
    assert text.endswith("See :ref:`what may be published <may-be-published>`.")


@pytest.mark.parametrize(
    "method",
    [m for name, m in inspect.getmembers(RankAggregator) if not name.startswith("_") and inspect.isfunction(m)],
)
def test_docstrings_of_methods(method):
    if method.__module__.startswith("sklearn_dprank"):
        parameters = [p for p in inspect.signature(method).parameters if p != "self"]
        assert documented(method.__doc__, "Parameters") == parameters


# Randomness


@pytest.mark.parametrize("estimator", RANDOM, ids=repr)
def test_seeds_reproduce(estimator):
    one, two = seeded(estimator, 5).fit(X), seeded(estimator, 5).fit(X)
    np.testing.assert_array_equal(one.consensus_, two.consensus_)
    again = one.fit(X)  # an int does not advance
    np.testing.assert_array_equal(again.consensus_, two.consensus_)


@pytest.mark.parametrize("estimator", RANDOM, ids=repr)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState], ids=["Generator", "RandomState"])
def test_generators_are_advanced_by_one_draw(estimator, make):
    used, twin = make(7), make(7)
    first = clone(estimator).set_params(random_state=used).fit(X)
    seed_sequence(twin)  # 128 bits, once
    assert used.random() == twin.random()
    again = clone(estimator).set_params(random_state=make(7)).fit(X)
    np.testing.assert_array_equal(first.consensus_, again.consensus_)


@pytest.mark.parametrize("estimator", PRIVATE, ids=repr)
def test_the_system_s_entropy_differs_and_is_certified(estimator):
    """Eight tied items: four equal orders among 8! would be a once-in-10^13 event."""
    flat = np.zeros((100, 8))
    system = [clone(estimator).fit(flat) for _ in range(4)]
    assert len({tuple(fitted.ranks_) for fitted in system}) > 1
    assert all(fitted.privacy_.certified for fitted in system)
    assert not seeded(estimator).fit(flat).privacy_.certified
    assert len({tuple(seeded(estimator, seed).fit(flat).ranks_) for seed in range(4)}) > 1


# What survives a private fit


def parts(value, path="estimator"):
    """Every object reachable from a value, with how it is reached."""
    yield path, value
    if isinstance(value, dict):
        children = [(f"[{key!r}]", item) for pair in value.items() for key, item in ((pair[0], pair[0]), pair)]
    elif isinstance(value, (list, tuple, set, frozenset)):
        children = [(f"[{i}]", item) for i, item in enumerate(value)]
    elif isinstance(value, np.ndarray) and value.dtype == object:
        children = [(f"[{i}]", item) for i, item in enumerate(value.ravel())]
    else:
        children = [(f".{key}", item) for key, item in getattr(value, "__dict__", {}).items()]
    for step, child in children:
        yield from parts(child, path + step)


KNOWN = (PublishedNoise, LaplaceLaw, NormalLaw, SkellamLaw, AnswersLaw, Fraction)
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
        else:
            assert isinstance(value, (*PLAIN, *KNOWN, dict, tuple, PrivacyGuarantee)), path
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
    inner = ("profile", "rankings", "bits", "random._", "plan", "ledger", "mechanisms")
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
        {"reports_refused_": {f"one of {N_VOTERS}": 1}},
        {"reports_refused_": {"reports": [X]}},
        {"reports_refused_": {"reports": (Profile.from_rankings(X),)}},
        {"optimal_gap_": np.random.default_rng(0)},
        {"optimal_gap_": Profile.from_rankings(X).net_wins},
        {"ranks_": Profile.from_rankings(X).net_wins},
        {"margins_": Profile.from_rankings(X).margins},
        {"margins_": Profile.from_rankings(X).margins / N_VOTERS},
        {"margins_": Profile.from_rankings(X).positions.table},
        {"histogram_": np.bincount(permutation_index(X.T), minlength=120)},
        {"scores_": Profile.from_rankings(X).net_wins},
        {"scores_": Profile.from_rankings(X).net_wins / N_VOTERS},
        {"noise_": PublishedNoise("scores", NormalLaw(1.0, most=float(N_VOTERS)))},
        {"noise_": PublishedNoise("margins", AnswersLaw(0.5, Profile.from_rankings(X).pairwise_counts))},
        {"noise_": PublishedNoise("margins", Profile.from_rankings(X))},
        {"scores_": sklearn_dprank.Aggregator(rule=SwissRule()).fit(X).scores_},
        {"ranks_": np.arange(2 * N_ITEMS)[:N_ITEMS]},
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


@pytest.mark.parametrize("estimator", PRIVATE, ids=repr)
def test_the_promise_does_not_depend_on_the_ballots(estimator):
    """`privacy_` is fixed by parameters, m and a public n: other ballots, the same promise."""
    promises = {seeded(estimator).fit(ballots).privacy_ for ballots in (X, X[:, ::-1], np.zeros(X.shape))}
    assert len(promises) == 1
    if promises.pop().neighboring == "add_remove":
        assert seeded(estimator).fit(X[:100]).privacy_ == seeded(estimator).fit(X).privacy_


@every
def test_unfitted(estimator):
    with pytest.raises(NotFittedError, match=f"This {type(estimator).__name__} instance is not fitted yet"):
        clone(estimator).score(X)


def test_estimators_are_scikit_learn_s():
    assert all(issubclass(c, BaseEstimator) for c in CLASSES)
