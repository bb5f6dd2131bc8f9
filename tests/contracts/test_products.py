"""Every channel with every rule: it fits, or one clear error comes before any ballot is touched."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sklearn_dprank import Aggregator, DPBorda, DPKwikSort, LDPPairwise, channels, metrics, queries, rules
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import (
    Central,
    Exact,
    Groups,
    Interactive,
    Local,
    NonPrivateSurvey,
    Rounds,
    SecureAggregation,
    Shuffle,
    Streaming,
)
from sklearn_dprank.collection.client import Device
from sklearn_dprank.collection.curator import HypercubeSampling, PrivUnitG, RandomizedResponse
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import AllMargins, Histogram, KemenyUtility, MaxViolatedMargin, NetWins, PairMargin
from sklearn_dprank.rules import (
    AdaptiveBradleyTerryRule,
    BradleyTerryRule,
    Choose,
    ChooseNearAnchor,
    ChooseTop,
    HierarchicalRule,
    InstantRunoffRule,
    KemenyRule,
    KwikSortRule,
    MarkovChainRule,
    SortByScore,
    SwissRule,
)
from sklearn_dprank.sampling.streams import Bits
from sklearn_dprank.theory import hay, shang

CHANNELS = {
    "exact": Exact(),
    "truthful": NonPrivateSurvey(2),
    "laplace": Central(),
    "gaussian": Central(delta=1e-6, noise="gaussian"),
    "knorm": Central(noise="knorm"),
    "exponential": Central(noise="exponential"),
    "permute-and-flip": Central(noise="permute_and_flip"),
    "as printed": Central(noise=hay.PrintedLaplace()),
    "as printed, gaussian": Central(delta=1e-6, noise=shang.PrintedGaussian()),
    "margins released": Central(release=AllMargins()),
    "net wins released": Central(noise="knorm", release=NetWins()),
    "histogram released": Central(release=Histogram()),
    "one pair": Local(),
    "three pairs": Local(2.0, RandomizedResponse(3)),
    "margin vector": Local(randomizer=HypercubeSampling()),
    "score vector": Local(randomizer=PrivUnitG()),
    "slots": Interactive(),
    "groups": Interactive(schedule=Groups()),
    "rounds": Interactive(schedule=Rounds()),
    "shuffle": Shuffle(),
    "secure aggregation": SecureAggregation(),
    "secure aggregation, margins": SecureAggregation(n_servers=3, release=AllMargins()),
    "stream": Streaming(horizon=3),
}
RULES = {
    "borda": SortByScore(),
    "plurality": SortByScore("plurality"),
    "instant runoff": InstantRunoffRule(),
    "kwiksort": KwikSortRule(),
    "p-sort": KwikSortRule(3, "coin"),
    "dp-kwiksort": KwikSortRule(3, "kemeny"),
    "binary insertion": KwikSortRule(strategy="binary_insertion"),
    "kemeny": KemenyRule(),
    "hierarchical": HierarchicalRule(),
    "markov chain": MarkovChainRule(),
    "bradley-terry": BradleyTerryRule(),
    "adaptive": AdaptiveBradleyTerryRule(),
    "choose kemeny": Choose(KemenyUtility()),
    "choose prudent": Choose(MaxViolatedMargin()),
    "choose near anchor": ChooseNearAnchor(2),
    "choose top": ChooseTop(2),
    "choose top one by one": ChooseTop(3, batch=1),
    "swiss": SwissRule(),
}
# Which rules each channel serves; everything else is refused.
PAIRWISE = {"borda", "kwiksort", "p-sort", "dp-kwiksort", "binary insertion", "kemeny", "hierarchical", "markov chain"}
NOISY = PAIRWISE | {"plurality", "instant runoff", "bradley-terry", "adaptive", "swiss"}
TOP = {"choose top": 2, "choose top one by one": 3}
DRAWN = {"choose kemeny", "choose prudent", *TOP}
FITS = {
    "exact": NOISY,
    "truthful": PAIRWISE | {"bradley-terry"},
    "laplace": NOISY | DRAWN | {"choose near anchor"},
    "gaussian": NOISY,
    "knorm": {"borda", "choose near anchor"} | DRAWN,
    "exponential": DRAWN,
    "permute-and-flip": {"choose prudent", *TOP},
    "as printed": {"borda", "instant runoff", "kwiksort", "p-sort", "binary insertion", "choose near anchor"} | DRAWN,
    "as printed, gaussian": {"instant runoff"},
    "margins released": PAIRWISE,
    "net wins released": {"borda"},
    "histogram released": PAIRWISE | {"plurality", "instant runoff"},
    "one pair": PAIRWISE | {"bradley-terry"},
    "three pairs": PAIRWISE | {"bradley-terry"},
    "margin vector": PAIRWISE,
    "score vector": {"borda"},
    "slots": {"kwiksort", "p-sort", "binary insertion"},
    "groups": {"kwiksort", "p-sort", "dp-kwiksort", "binary insertion"},
    "rounds": {"bradley-terry", "adaptive"},
    "shuffle": PAIRWISE | {"bradley-terry"},
    "secure aggregation": NOISY,
    "secure aggregation, margins": PAIRWISE,
    "stream": {"borda", "plurality", "kemeny", "hierarchical", "markov chain"},
}
M = 5
X = make_mallows(400, M, 0.5, random_state=0)
PAIRS = [(channel, rule) for channel in CHANNELS for rule in RULES]

every_pair = pytest.mark.parametrize(("channel", "rule"), PAIRS, ids=lambda name: name)


class PoisonedProfile(Profile):
    """A profile whose public facts may be read, and whose ballots may not."""

    PUBLIC = {"n_voters", "n_items", "item_names", "voter_epsilon", "with_voter_epsilon", "bound"}

    def __getattribute__(self, name):
        if name.startswith("__") or name in PoisonedProfile.PUBLIC:
            return object.__getattribute__(self, name)
        raise PermissionError(f"{name} was read")


def poisoned(m=M):
    profile = Profile.from_rankings(np.tile(np.arange(m), (400, 1)))
    profile.__class__ = PoisonedProfile
    return profile


def composed(channel, rule, seed=0):
    return Aggregator(CHANNELS[channel], RULES[rule], random_state=seed)


def test_every_channel_and_rule_is_here():
    public = {kind for kind in vars(channels).values() if isinstance(kind, type) and hasattr(kind, "plan")}
    assert {type(channel) for channel in CHANNELS.values()} == public - {channels.Channel}
    public = {kind for kind in vars(rules).values() if isinstance(kind, type) and issubclass(kind, rules.Rule)}
    assert {type(rule) for rule in RULES.values()} == public - {rules.Rule}
    assert set(FITS) == set(CHANNELS)


@every_pair
def test_fits_or_says_why_not(channel, rule):
    estimator = composed(channel, rule)
    if rule in FITS[channel]:
        estimator.fit(X)
        k = TOP.get(rule, M)
        assert sorted(estimator.ranks_) == [*range(k), *[k] * (M - k)]
        np.testing.assert_array_equal(estimator.ranks_[estimator.consensus_], np.arange(k))
        assert not estimator.privacy_.certified  # it has a seed
        return
    with pytest.raises(ValueError) as error:
        estimator.fit(X)
    text = str(error.value)
    assert text.startswith(f"{type(CHANNELS[channel]).__name__} cannot answer ")
    assert "which the rule asks for; " in text
    asked = {str(ask.query) for ask in RULES[rule].asks(M)}
    assert any(f"cannot answer {query}, which" in text for query in asked)
    assert len(text.partition("asks for; ")[2]) > 15  # and what to do about it


@every_pair
def test_refusals_come_before_any_ballot_is_touched(channel, rule):
    """On a profile that cannot be read, refusals are the same, and fits fail at the first look."""
    if rule in FITS[channel]:
        with pytest.raises(PermissionError, match="was read"):
            composed(channel, rule).fit(poisoned())
    else:
        with pytest.raises(ValueError) as on_poison:
            composed(channel, rule).fit(poisoned())
        with pytest.raises(ValueError) as on_ballots:
            composed(channel, rule).fit(X)
        assert str(on_poison.value) == str(on_ballots.value)


@pytest.mark.parametrize(
    ("estimator", "m"),
    [
        (DPBorda(epsilon=-1), M),
        (DPBorda(noise="gaussian"), M),
        (DPBorda(delta=0.5), M),
        (DPKwikSort(max_queries=0), M),
        (LDPPairwise(n_queries=11), M),
        (LDPPairwise(rule="condorcet"), M),
        (Aggregator(Central(), SortByScore([1, 2])), M),
        (Aggregator(Central(release=Histogram()), KemenyRule()), 11),
        (Aggregator(Central(), Choose(MaxViolatedMargin())), 40),
        (Aggregator(Shuffle(min_reports=1000)), M),
        (Aggregator(Shuffle(delta=0.0)), M),
        (Aggregator(SecureAggregation(delta=0.0)), M),
        (Aggregator(SecureAggregation(n_servers=1)), M),
        (Aggregator(SecureAggregation(min_reports=1000)), M),
        (Aggregator(SecureAggregation(max_reports=100)), M),
        (Aggregator(SecureAggregation(epsilon=1e-8)), M),
        (Aggregator(Streaming(delta=0.0)), M),
        (Aggregator(Streaming(horizon=0)), M),
    ],
    ids=repr,
)
def test_bad_parameters_come_before_any_ballot_is_touched(estimator, m):
    with pytest.raises(ValueError):
        estimator.fit(poisoned(m))


@every_pair
def test_plans_need_no_ballots_and_repeat(channel, rule):
    if rule in FITS[channel]:
        asks = RULES[rule].asks(M)
        first, second = (CHANNELS[channel].plan(asks, M, 400) for _ in range(2))
        assert first.guarantee == second.guarantee
        assert json.dumps(first.protocol) == json.dumps(second.protocol)
        assert first.guarantee.epsilon == composed(channel, rule).fit(X).privacy_.epsilon


@pytest.mark.parametrize("channel", ["laplace", "gaussian", "margins released", "histogram released", "exact"])
def test_much_budget_finds_what_exact_answers_find(channel):
    """Rules are the same on every channel: with epsilon 10^4 noise rounds to 0."""
    rng = np.random.default_rng(1)
    ballots = rng.permuted(np.tile(np.arange(M), (301, 1)), axis=1)  # an odd number: no margin is 0
    made = Aggregator(CHANNELS[channel])
    if channel != "exact":
        made.set_params(channel__epsilon=1e4)
    for rule in ("kemeny", "hierarchical", "binary insertion"):
        exact = Aggregator(Exact(), RULES[rule], random_state=0).fit(ballots)
        private = made.set_params(rule=RULES[rule], random_state=0).fit(ballots)
        if rule == "binary insertion":  # pivots differ where ties are coins: compare the error instead
            assert metrics.pairwise_error_rate(private.ranks_, ballots) < 0.4
        else:
            assert private.score(ballots) == exact.score(ballots)


# Three compositions, end to end


def test_central_borda_from_end_to_end():
    asks = SortByScore().asks(M)
    plan = Central(epsilon=0.5).plan(asks, M)
    (price,) = plan.prices.values()
    assert (price.times, price.epsilon, price.mechanism.rate) == (1, Fraction(1, 2), Fraction(1, 24))
    session = plan.open(Profile.from_rankings(X))(Bits.from_random_state(0))
    order = SortByScore().aggregate(session).order
    assert session._ledger.spent == Fraction(1, 2)
    fitted = DPBorda(epsilon=0.5, random_state=0).fit(X)
    assert fitted.consensus_.tolist() == order.tolist()
    assert str(fitted.privacy_) == "epsilon = 0.5 (central, add_remove; simulation only: a seed was given)"
    assert fitted.privacy_.how == "discrete Laplace noise on 1 x NetWins"
    released = DPBorda(epsilon=0.5).fit(X)
    assert str(released.privacy_) == "epsilon = 0.5 (central, add_remove)"
    # With this many voters noise does not matter: Borda's own order.
    crowd = np.tile(X, (100, 1))
    assert DPBorda().fit(crowd).consensus_.tolist() == Aggregator(random_state=0).fit(crowd).consensus_.tolist()


@pytest.mark.parametrize(("max_queries", "runs_out"), [(3, True), (10, False)])
def test_kwiksort_with_a_reserved_half_from_end_to_end(max_queries, runs_out):
    rule = KwikSortRule(max_queries, "kemeny")
    plan = Central(epsilon=1.0).plan(rule.asks(M), M)
    prices = plan.prices
    if runs_out:
        assert prices[PairMargin].epsilon == Fraction(1, 2 * max_queries)
        assert prices[AllMargins()].epsilon == Fraction(1, 2)
        assert prices[AllMargins()].mechanism.rate == Fraction(1, 20)
        assert plan.guarantee.how == (
            "discrete Laplace noise on 3 x PairMargin, then discrete Laplace noise on 1 x AllMargins"
        )
    else:  # every pair is paid for: nothing is kept back
        assert {kind: price.epsilon for kind, price in prices.items()} == {PairMargin: Fraction(1, 10)}
    assert sum(price.times * price.epsilon for price in prices.values()) == 1
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1.0, 0.0)
    spent = set()
    for seed in range(10):
        session = plan.open(Profile.from_rankings(X))(Bits.from_random_state(seed))
        consensus = rule.aggregate(session)
        assert sorted(consensus.order) == list(range(M))
        assert ("optimal_gap" in consensus.published) == runs_out  # five items need more than three comparisons
        spent.add(session._ledger.spent)
        same = DPKwikSort(max_queries=max_queries, random_state=seed).fit(X)
        assert same.consensus_.tolist() == consensus.order.tolist()
        assert same.privacy_.epsilon == 1.0  # the ceiling, whatever was used
    if runs_out:
        assert spent == {Fraction(1)}
    else:
        assert max(spent) <= 1
        assert min(spent) < 1


def reports(estimator, ballots, seed, items=None):
    """One JSON report of each voter, from devices that know the public protocol only."""
    seeds = np.random.default_rng(seed).integers(2**32, size=len(ballots))
    protocol = estimator.protocol(M if items is None else items)
    return [json.dumps(Device(protocol, random_state=int(s)).report(b)) for s, b in zip(seeds, ballots, strict=True)]


@pytest.mark.slow
def test_one_pair_from_end_to_end():
    """The same reports, decoded twice: by sorting net wins, and by Bradley-Terry."""
    ballots = make_mallows(3000, M, 0.4, center=[2, 0, 1, 4, 3], random_state=1)
    names = ["tea", "milk", "water", "wine", "juice"]
    collected = reports(LDPPairwise(epsilon=2.0), ballots, 0, names)
    assert len({len(r) for r in collected}) == 1
    for rule in ("borda", "bradley_terry"):
        fitted = LDPPairwise(epsilon=2.0, rule=rule).fit_reports(collected, items=names)
        assert fitted.consensus_.tolist() == ["milk", "water", "tea", "juice", "wine"]
        assert fitted.reports_refused_ == {}
        assert (fitted.privacy_.epsilon, fitted.privacy_.trust) == (2.0, "local")
        assert fitted.privacy_.certified
        assert fitted.n_features_in_ == M
        assert fitted.score(pd.DataFrame(ballots, columns=names)) > -0.3


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [1, 2])
def test_fit_simulates_what_clients_send(n_queries):
    """`fit(X)` and clients with `fit_reports` have one law: tallies of all cells, and consensus orders."""
    ballots = np.array([[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [4, 0, 0, 1, np.nan], [np.nan] * 5, [1, 0, 2, 4, 3]])
    estimator = LDPPairwise(n_queries=n_queries, rule="borda")
    rule, plan = estimator.plan_for(Shape(M))
    profile = Profile.from_rankings(ballots)
    counts = np.zeros((2, M, M))
    first = {"simulated": [], "received": []}
    for seed in range(1200):
        bits = Bits.from_random_state(seed)
        simulated = plan.open(profile)(bits)
        received = plan.open(iter(reports(estimator, ballots, 10_000 + seed)))(bits)
        for k, (name, session) in enumerate((("simulated", simulated), ("received", received))):
            counts[k] += session.answer(queries.PairTallies())[0].wins
            first[name].append(int(rule.aggregate(session).order[0]))
    cells = counts[:, ~np.eye(M, dtype=bool)]
    assert cells.sum() == 2 * 1200 * 5 * n_queries
    assert stats.chi2_contingency(cells).pvalue > 1e-3
    table = [np.bincount(firsts, minlength=M) for firsts in first.values()]
    assert stats.chi2_contingency(table).pvalue > 1e-3


# Labels


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channel", "rule"),
    [
        (c, r)
        for c in ("laplace", "margins released", "one pair")
        for r in ("borda", "kwiksort", "kemeny", "hierarchical", "markov chain")
    ]
    + [("knorm", "borda"), ("gaussian", "p-sort"), ("gaussian", "dp-kwiksort"), ("laplace", "choose prudent")]
    + [("histogram released", "borda"), ("one pair", "bradley-terry"), ("laplace", "choose kemeny")],
)
def test_relabelling_columns_does_not_change_the_errors(channel, rule):
    """Private ties are coins: the true order 0, 1, 2, ... has no better chance than any other."""
    m, size = 4, 150 if rule == "bradley-terry" else 800
    errors = []
    relabelled = np.array([3, 1, 0, 2])
    for k, labels in enumerate((np.arange(m), relabelled)):
        # Few voters, some of them undecided: many ties.
        ballots = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 1, np.nan], [1, 0, 0, 0]])[:, labels]
        truth = np.arange(m)[labels]
        profile = Profile.from_rankings(ballots)
        made, asked = CHANNELS[channel], RULES[rule]
        plan = made.plan(asked.asks(m), m, 4)
        found = []
        for seed in range(size):
            order = asked.aggregate(plan.open(profile)(Bits.from_random_state(k * size + seed))).order
            found.append(tuple(truth[order]))
        errors.append(found)
    seen = sorted(set(errors[0]) | set(errors[1]))
    table = np.array([[found.count(order) for order in seen] for found in errors])
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert stats.chi2_contingency(table).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no ballot of X prefers")
def test_an_index_tie_break_would_show():
    """The test above can fail: exact rules, which break ties by index, do depend on the labels."""
    flat = np.zeros((3, 4))
    assert Aggregator().fit(flat).consensus_.tolist() == [0, 1, 2, 3]
    seen = {tuple(DPBorda(epsilon=1e6, random_state=seed).fit(flat).consensus_) for seed in range(300)}
    assert len(seen) == 24
