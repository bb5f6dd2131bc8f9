"""Every public estimator passes scikit-learn's checks, copies, prints, repeats, and fits silent or missing voters."""

import math
import pickle
import warnings
from contextlib import nullcontext
from dataclasses import asdict, is_dataclass

import numpy as np
import pandas as pd
import pytest
from every_estimator import (
    CLASSES,
    ESTIMATORS,
    N_ITEMS,
    N_VOTERS,
    NAMES,
    PRIVATE,
    RANDOM,
    VARIANTS,
    X,
    every,
    every_class,
    is_private,
    n_named,
    places,
    seeded,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr, get_tags
from sklearn_checks import own_checks

import sklearn_dprank
from sklearn_dprank import DPBorda, metrics
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central
from sklearn_dprank.metrics import average_kendall_tau
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import PrivacyGuarantee
from sklearn_dprank.rules import KemenyRule
from sklearn_dprank.sampling.bit_source import seed_sequence


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
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


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
def test_clone_and_pickle(estimator):
    assert repr(clone(estimator)) == repr(estimator)
    fitted = seeded(estimator).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.consensus_, fitted.consensus_)
    assert again.privacy_ == fitted.privacy_
    assert again.score(X) == fitted.score(X)
    assert not hasattr(clone(fitted), "consensus_")


def test_parameters_of_channels_and_rules_can_be_set_and_are_cloned():
    aggregator = sklearn_dprank.Aggregator(Central(), KemenyRule())
    aggregator.set_params(channel__epsilon=2.5, rule__tolerance=0.25)
    copy = clone(aggregator)
    assert copy.channel is not aggregator.channel
    assert (copy.channel.epsilon, copy.rule.tolerance) == (2.5, 0.25)
    pairwise = clone(sklearn_dprank.DPPairwise(rule=KemenyRule())).set_params(rule__work_limit=7)
    assert pairwise.get_params()["rule__work_limit"] == 7


@every
def test_representations_name_the_class_and_hide_the_number_of_voters(estimator):
    """Under "replace", the number of voters is public."""
    assert type(estimator).__name__ in repr(estimator)
    fitted = seeded(estimator).fit(X)
    for state in (estimator, fitted):
        html = estimator_html_repr(state)
        assert type(estimator).__name__ in html
        assert str(N_VOTERS) not in html or fitted.privacy_.neighboring == "replace"


@pytest.mark.parametrize(
    "estimator",
    [*(cls() for cls in CLASSES), RatingsToRankings(), GridSearchCV(DPBorda(), {}), PrivateSelection(DPBorda(), {})],
    ids=lambda estimator: type(estimator).__name__,
)
def test_tags_state_what_estimators_accept(estimator):
    """Tables with gaps, without a target; the same seed gives the same result."""
    tags = get_tags(estimator)
    accepted = {name for name, value in asdict(tags.input_tags).items() if value}
    assert accepted == {"two_d_array", "allow_nan"}
    assert not tags.target_tags.required and tags.requires_fit
    assert not (tags.no_validation or tags.non_deterministic or tags.array_api_support)
    assert tags.estimator_type is None  # neither a classifier nor a regressor
    assert (tags.transformer_tags is not None) == hasattr(estimator, "transform")


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


@every
def test_unfitted(estimator):
    with pytest.raises(NotFittedError, match=f"This {type(estimator).__name__} instance is not fitted yet"):
        clone(estimator).score(X)


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
    """Eight tied items: ten times the same best one would be a once-in-10^8 event."""
    flat = np.zeros((100, 8))
    system = [clone(estimator).fit(flat) for _ in range(10)]
    assert len({tuple(fitted.ranks_) for fitted in system}) > 1
    assert all(fitted.privacy_.certified for fitted in system)
    assert not seeded(estimator).fit(flat).privacy_.certified
    assert len({tuple(seeded(estimator, seed).fit(flat).ranks_) for seed in range(4)}) > 1


# No voters, and voters without opinions: a refusal would reveal them


SILENT = [np.nan] * 4
VOTES = np.array([[0, 1, 2, 3]] * 30 + [[3, 1, 1, 0]] * 10, dtype=float)
NOBODY = Profile.from_rankings(np.empty((0, 4)))


def made(cls):
    few = {"min_reports": 1} if "min_reports" in cls().get_params() else {}
    return cls(**few, **({"random_state": 0} if "random_state" in cls().get_params() else {}))


@every_class
@pytest.mark.parametrize("votes", [[SILENT], [*VOTES[:20], SILENT, *VOTES[20:]]], ids=["alone", "among others"])
def test_every_estimator_accepts_a_ballot_without_opinions(cls, votes):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no ballot of X prefers any item to another")
        warnings.filterwarnings("ignore", ".*little better than coin flips")
        fitted = made(cls).fit(votes)
    assert sorted(fitted.ranks_.tolist()) == [0, 1, 2, 3] or len(fitted.consensus_) < 4


@every_class
def test_a_private_fit_accepts_no_voters_where_their_number_is_private(cls):
    """The guarantee under "add_remove" compares one voter with no voter."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "no ballot of X prefers any item to another")
            warnings.filterwarnings("ignore", ".*little better than coin flips")
            fitted = made(cls).fit(NOBODY)
    except ValueError as error:
        assert cls.__name__.startswith(("LDP", "Sec", "Shuffle"))  # where their number is public
        assert str(error) in (
            "X holds no ballot, and this trust model needs at least one report; add a ballot.",
            "X holds no ballot, and the local model needs at least one report; add a ballot.",
        )
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*little better than coin flips")
        alone = made(cls).fit(Profile.from_rankings([[0, 1, 2, 3]]))
    assert fitted.privacy_ == alone.privacy_ and fitted.n_features_in_ == 4


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"neighboring": "replace"}, {"noise": "gaussian", "delta": 1e-6}])
def test_without_voters_noise_and_coins_decide(options):
    first = [sklearn_dprank.DPBorda(**options, random_state=seed).fit(NOBODY).consensus_[0] for seed in range(400)]
    assert np.bincount(first, minlength=4).min() > 60  # 100 each on average


TABLES = {
    "array": np.empty((0, 4)),
    "integers": np.empty((0, 4), dtype=int),
    "data frame": pd.DataFrame(columns=list("abcd")),
    "text columns": pd.DataFrame(columns=list("abcd"), dtype=str),
    "profile": NOBODY,
}


@pytest.mark.parametrize("name", [name for name in TABLES if name != "profile"])
@pytest.mark.parametrize("keep", ["positions", "counts"])
def test_a_profile_of_no_rows(name, keep):
    table = TABLES[name]
    names = list("abcd") if isinstance(table, pd.DataFrame) else None
    for profile in (Profile.from_rankings(table, keep=keep), Profile.from_chunks([table, table], keep=keep)):
        assert profile.n_voters == 0 and profile.n_items == 4 and not profile.pairwise_counts.any()
        assert profile.net_wins.tolist() == [0] * 4 and not len(profile.placements)
        assert names is None or profile.item_names.tolist() == names
        assert (profile.positions is None) == (keep == "counts")
    votes = pd.DataFrame(VOTES, columns=names) if names else VOTES
    whole = Profile.from_rankings(votes, keep=keep)
    total = Profile.from_rankings(table, keep=keep) + whole
    assert total.n_voters == 40 and np.array_equal(total.pairwise_counts, whole.pairwise_counts)


@pytest.mark.parametrize("shape", [(0, 0), (0, 1)])
def test_no_rows_still_need_items(shape):
    with pytest.raises(ValueError, match="a minimum of 2 is required"):
        Profile.from_rankings(np.empty(shape))


def test_an_average_over_no_voters_does_not_exist():
    for profile in (NOBODY, NOBODY.counted(), np.empty((0, 4))):
        with pytest.raises(ValueError, match=r"^X holds no ballot, so no average exists; pass at least one ballot\.$"):
            average_kendall_tau([0, 1, 2, 3], profile)
    with pytest.raises(ValueError, match="X holds no ballot"):
        sklearn_dprank.DPBorda().fit(VOTES).score(NOBODY)


@every_class
def test_constructor_leaves_neither_fields_nor_defaults_on_the_class(cls):
    """dask and pandas take dataclasses apart; a subclass that forgets a parameter must not use a default."""
    assert not is_dataclass(cls)
    assert not {name for name in cls().get_params(deep=False) if hasattr(cls, name)}


def test_dask_tells_fits_with_equal_parameters_apart():
    dask = pytest.importorskip("dask")
    ballots = np.array([[0, 1, 2]] * 300)
    fits = [sklearn_dprank.DPBorda(5.0, random_state=0).fit(X) for X in (ballots, 2 - ballots)]
    first = dask.delayed(lambda fitted: fitted.consensus_[0].item(), pure=True)
    assert dask.compute(*map(first, fits), scheduler="sync") == (0, 2)
