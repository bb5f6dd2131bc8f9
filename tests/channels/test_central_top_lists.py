"""Fits on top lists: what is published of private items, its law, refusals, and quality on large catalogues."""

import pickle
from statistics import NormalDist
from time import perf_counter

import numpy as np
import pytest
from list_tools import STEPS
from scipy import stats

from sklearn_dprank import Aggregator, DPBorda, DPPositionalRule, PositionalRule
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.profile import Shape
from sklearn_dprank.ballots.weights import BALLOT, WEIGHT_GRID, WeightBound
from sklearn_dprank.channels import Central
from sklearn_dprank.mechanisms import GaussianThreshold
from sklearn_dprank.model_selection import cross_validate
from sklearn_dprank.privacy.composition import gaussian_sigma
from sklearn_dprank.queries import Ask, TopListScores
from sklearn_dprank.rules import Consensus, TopListRule
from sklearn_dprank.sampling.bit_source import Bits, SeededBits

N_SECRET = 1237  # a number of items that turns up by no accident
LISTS = [["tea", "milk"]] * 200 + [["milk", "tea"]] * 100 + [["wine"]] * 90 + [[f"secret {i}"] for i in range(N_SECRET)]
UNIT = WEIGHT_GRID * STEPS


def private(lists=LISTS, k=3, **more):
    return Profile.from_orders(lists, items="private", max_listed=k, **more)


def noise_of(estimator, k):
    """The calibrated noise for private items."""
    bound = WeightBound(BALLOT, WEIGHT_GRID, k, "private")
    (price,) = estimator.plan_for(Shape(0, bound=bound))[1].prices.values()
    return price.mechanism


def reachable(value, seen):
    """Every object that is reachable from a value by attributes, slots and containers."""
    if id(value) in seen or isinstance(value, type):
        return
    seen[id(value)] = value
    yield value
    held = list(getattr(value, "__dict__", {}).values())
    held += [getattr(value, name, None) for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    if isinstance(value, dict):
        held += [*value, *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        held += value
    elif isinstance(value, np.ndarray):
        held += [value.base] + (value.ravel().tolist() if value.dtype == object else [])
    for each in held:
        yield from reachable(each, seen)


def check_no_secret(value):
    """Assert that no object within refers to an item that is not published, or to the size of the catalogue."""
    sizes = {N_SECRET, N_SECRET + 3}
    for each in reachable(value, {}):
        assert not isinstance(each, Profile)
        assert not (isinstance(each, str) and "secret" in each)
        assert not (isinstance(each, (int, np.integer)) and int(each) in sizes)
        assert not (hasattr(each, "__len__") and len(each) in sizes)


def test_nothing_else_of_a_private_catalogue_leaves_a_fit():
    fitted = DPPositionalRule().fit(private())
    assert fitted.consensus_.tolist() == ["tea", "milk", "wine"] == fitted.feature_names_in_.tolist()
    assert fitted.ranks_.tolist() == [0, 1, 2] and fitted.n_features_in_ == 3 and fitted.scores_.shape == (3,)
    check_no_secret(fitted)
    assert b"secret" not in pickle.dumps(fitted)
    refitted = fitted.fit(private([["tea"]] * 100))
    assert refitted.consensus_.tolist() == ["tea"] and not hasattr(refitted, "noise_")
    plan = fitted.plan_for(private())[1]
    assert plan.n_items is None
    check_no_secret(plan)


@pytest.mark.parametrize(
    "leak", [private(), np.zeros(N_SECRET + 3), {"x": ["secret 5"]}, np.array(["secret 5"], object)]
)
def test_planted_leaks_are_found(leak):
    fitted = DPPositionalRule().fit(private())
    fitted.scores_ = leak
    with pytest.raises(AssertionError):
        check_no_secret(fitted)


def test_errors_show_no_private_item():
    fitted = DPPositionalRule().fit(private())
    for call in (fitted.score, DPBorda().fit, PositionalRule().fit, Aggregator(Central(), TopListRule()).fit):
        with pytest.raises(ValueError, match="items='private' is for one fit of DPPositionalRule") as error:
            call(private())
        assert "secret" not in str(error.value) and str(N_SECRET) not in str(error.value)
    with pytest.raises(ValueError, match="items='private'"):
        cross_validate(DPPositionalRule(), private())
    with pytest.raises(ValueError, match="DPPositionalRule"):
        private() + private()
    with pytest.raises(ValueError, match="needs delta > 0"):
        DPPositionalRule(delta=0.0).fit(private())
    with pytest.raises(ValueError, match="use DPPositionalRule"):
        Central().plan(TopListRule().asks(3), 3, bound=private().bound)
    with pytest.raises(ValueError, match="the rule of DPPositionalRule"):
        Central(1.0, 1e-6, "gaussian").plan(DPBorda()._compose()[1].asks(3), 3, bound=private().bound)


def test_private_items_need_a_bound():
    with pytest.raises(ValueError, match=r"items='private' needs max_listed.*set max_listed=10"):
        Profile.from_orders(LISTS, items="private")
    with pytest.raises(ValueError, match="max_listed must be an integer from 2 to 1000, got 1001"):
        private(k=1001)
    with pytest.raises(ValueError, match="list all items that may be compared"):
        Profile.from_comparisons(None, ["a"], ["b"], person=None, items="private")


def test_scores_need_one_number_for_each_position_that_counts():
    with pytest.raises(ValueError, match=r"each of the 3 positions that count .* got 2"):
        DPPositionalRule([2, 1]).fit(private())


@pytest.mark.parametrize("lists", [[], [[]], [[None]], [["a"]]])
def test_nothing_is_published_of_few_lists(lists):
    fitted = DPPositionalRule().fit(private(lists))
    assert fitted.consensus_.shape == fitted.scores_.shape == fitted.ranks_.shape == (0,)
    assert fitted.n_features_in_ == 0 and not hasattr(fitted, "feature_names_in_")


def test_the_guarantee_states_both_parts_of_delta():
    fitted = DPPositionalRule(epsilon=0.5, delta=1e-5).fit(private(person=[None, *range(len(LISTS) - 1)]))
    stated = fitted.privacy_
    assert (stated.epsilon, stated.delta, stated.unit) == (0.5, 1e-5, "all ballots of one person")
    assert stated.losses.approximate == ((0.5, 1e-5),)  # no Gaussian loss, which would leave the threshold out
    assert DPPositionalRule(epsilon=0.5, delta=1e-5).guarantee_before(private([[1], [2, 3]])).losses == stated.losses


@pytest.mark.parametrize(
    ("scores", "k"),
    [*((None, k) for k in (2, 10)), ((1, 0), 2), ((1, 0, 0), 3), ((1, *[0] * 99), 100), ((7, 2.5, 0.5, 0), 4)],
    ids=str,
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_no_item_of_one_person_is_published_more_often_than_half_of_delta(scores, k, epsilon):
    """Tied items share the scores of all positions of their list, so each gets noise, also where a score is 0."""
    estimator = DPPositionalRule(scores, epsilon=epsilon, delta=1e-6)
    for n_items in range(1, k + 1) if k < 10 else (1, k):
        for ratings in ([5] * n_items, range(n_items)):
            alone = {"person": [0] * n_items, "item": [f"i{j}" for j in range(n_items)], "rating": list(ratings)}
            profile = Profile.from_long(**alone, items="private", max_listed=k)
            (price,) = estimator.plan_for(profile)[1].prices.values()
            noise, part = price.mechanism, price.query.vector(profile, SeededBits(np.random.SeedSequence(0)))
            passes = stats.norm.sf((noise.threshold - part[part > 0]) / noise.sigma)
            assert -np.expm1(np.log1p(-passes).sum()) <= 5e-7


def test_thresholds_of_ten_positions():
    norm = np.sqrt(sum(1 / np.log2(j + 1) ** 2 for j in range(1, 11)))
    found = [noise_of(DPPositionalRule(epsilon=epsilon), 10).threshold / UNIT * norm for epsilon in (0.3, 1.0, 3.0)]
    assert found == pytest.approx([114, 37.2, 13.9], rel=0.005)


@pytest.mark.slow
def test_law_of_the_published_names_and_scores():
    """Names are published independently, each with the probability that its noisy total exceeds the threshold."""
    estimator = DPPositionalRule(epsilon=2.0, delta=0.2)
    noise = noise_of(estimator, 2)
    level, sigma, n = noise.threshold / UNIT, noise.sigma / UNIT, 4000
    lists = [["a"]] * 2 + [["b"]] * 3 + [["c"]]
    profile, chances = private(lists, 2), [1 - NormalDist(total, sigma).cdf(level) for total in (2, 3, 1)]
    found, scores = np.zeros(8), []
    rule, plan = estimator.plan_for(profile)
    release = plan.open(profile)
    for seed in range(n):
        items, published = rule.aggregate(release(Bits.from_random_state(seed)))
        values = published["scores"]
        assert (np.diff(values) <= 0).all() and (values > level).all()
        found[(2**items).sum()] += 1
        scores += values[items == 1].tolist()
    expected = [np.prod([p if code >> i & 1 else 1 - p for i, p in enumerate(chances)]) for code in range(8)]
    assert stats.chisquare(found, n * np.array(expected)).pvalue > 1e-4
    assert stats.kstest(scores, stats.truncnorm((level - 3) / sigma, np.inf, 3, sigma).cdf).pvalue > 1e-4


def test_a_public_catalogue_is_ranked_whole_with_intervals():
    items = ["wine", "milk", "unlisted", "tea"]
    fitted = DPPositionalRule(epsilon=2.0).fit(Profile.from_orders(LISTS[:390], items=items, max_listed=3))
    assert fitted.consensus_.tolist() == ["tea", "milk", "wine", "unlisted"]
    assert fitted.rank_intervals().shape == (4, 2)
    assert fitted.noise_.law.std == pytest.approx(UNIT * gaussian_sigma(2.0, 1e-6))
    np.testing.assert_allclose(fitted.scores_, [90, 191.4, 0, 222.6], atol=15)


def test_whole_number_ids_may_be_private():
    fitted = DPPositionalRule().fit(private([[7, 5]] * 200 + [[10**15]]))
    assert fitted.consensus_.tolist() == [7, 5] and not hasattr(fitted, "feature_names_in_")


def test_a_table_of_choices_is_read_like_lists():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame([[*one, *[None] * (3 - len(one))] for one in LISTS])
    bits = SeededBits(np.random.SeedSequence(0))
    vectors = [TopListScores().vector(profile, bits) for profile in (private(table), private())]
    np.testing.assert_array_equal(*vectors)
    assert private(table).item_names.tolist() == private().item_names.tolist()


def top_lists(n, m, k, seed):
    """Lists of 1 to k items: Plackett-Luce with weights that fall with the power 1.1."""
    rng = np.random.default_rng(seed)
    weights = 1 / (np.arange(m) + 10) ** 1.1
    drawn = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random((n, 6 * k)))
    return [list(dict.fromkeys(row))[:j] for row, j in zip(drawn.tolist(), rng.integers(1, k + 1, n), strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "at_20", "at_100", "most"), [(0.3, 0.9, 0.6, 90), (1.0, 0.95, 0.95, 250), (3.0, 0.95, 0.97, 600)]
)
def test_precision_on_100_000_items(epsilon, at_20, at_100, most):
    """20,000 persons with lists of up to 10 items, and about 24,000 items that somebody lists."""
    lists = top_lists(20_000, 100_000, 10, seed=0)
    public, secret = Profile.from_orders(lists, items=range(100_000), max_listed=10), private(lists, 10)
    best = np.argsort(-TopListScores().vector(public, None), kind="stable")
    fitted = DPPositionalRule(epsilon=epsilon, random_state=0).fit(secret)
    for size, least in ((20, at_20), (100, at_100)):
        assert len({*best[:size].tolist()} & {*fitted.consensus_[:size].tolist()}) >= least * size
    assert 0.5 * most < len(fitted.consensus_) < most


@pytest.mark.slow
def test_a_million_items_take_seconds():
    rng = np.random.default_rng(0)
    person, place = np.repeat(np.arange(100_000), 10), np.tile(np.arange(10), 100_000)
    item = rng.integers(0, 10**6, 10**6)
    start = perf_counter()
    for items in ("private", range(10**6)):
        profile = Profile.from_long(person=person, item=item, position=place, items=items, max_listed=10)
        DPPositionalRule().fit(profile)
    assert perf_counter() - start < 20


@pytest.mark.parametrize(
    "asks",
    [
        [Ask(TopListScores(), 5)],
        [Ask(TopListScores(), 1, 0.5)],
        [Ask(TopListScores(s), 1, 0.5) for s in (None, (2, 1))],
    ],
    ids=["times", "share", "two"],
)
def test_one_threshold_release_takes_the_whole_budget(asks):
    """Each release has a threshold of its own, and the failures of several would add up."""
    with pytest.raises(ValueError, match="one question and one answer; use DPPositionalRule"):
        Central(1.0, 1e-6, "gaussian").plan(asks, 2, bound=private([[1], [2, 1]]).bound)


def test_thresholds_are_for_private_items_alone():
    """The contributions of one person may be larger than a threshold that somebody chose."""
    public = Profile.from_orders([[1, 2]], items=[1, 2, 3], max_listed=2)
    with pytest.raises(ValueError, match="noise must not be a GaussianThreshold"):
        Aggregator(Central(1.0, 1e-6, GaussianThreshold(1)), TopListRule()).fit(public)


class PublishesAll(TopListRule):
    """A rule that publishes items below the threshold, too."""

    def aggregate(self, answers):
        return Consensus(np.arange(answers.n_items), {"size": answers.n_items})


class OwnRule(DPPositionalRule):
    def _compose(self):
        return super()._compose()[0], PublishesAll()


def test_own_rules_see_no_private_item():
    with pytest.raises(ValueError, match="items='private' is for the rule of DPPositionalRule, got PublishesAll"):
        OwnRule().fit(private())


def test_type_of_the_release_depends_on_no_ballot():
    """Totals of huge weights are Python integers inside, and ids may be any whole numbers."""
    for n_ballots in (90, 110):
        ballots, huge = [[0, 1]] * n_ballots, [1e6] * n_ballots
        lists = Profile.from_rankings(ballots, sample_weight=huge, max_weight=1e6, max_listed=2)
        fitted = DPPositionalRule().fit(lists)
        assert fitted.scores_.dtype == float
        fitted.rank_intervals()
    for first in (5, np.int64(5)):
        assert type(DPPositionalRule().fit(private([[first]] + [[5]] * 400)).consensus_[0]) is int


def test_a_plan_of_a_public_catalogue_does_not_state_the_size_of_a_private_one():
    public = Profile.from_orders([[1, 2]], items=[1, 2, 3], max_listed=2)
    _, plan = DPPositionalRule().plan_for(public)
    with pytest.raises(ValueError, match="the plan is for ballots with the bound") as refusal:
        plan.open(private([list(range(79))]))
    assert "79" not in str(refusal.value)
