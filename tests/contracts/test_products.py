"""Each channel answers the rules of its row in `ANSWERED`, and refuses all other rules before it reads a ballot."""

import json
from typing import get_args

import numpy as np
import pytest
from local_tools import same_law

from sklearn_dprank import Aggregator, DPBorda, DPKwikSort, LDPPairwise, channels, metrics, rules
from sklearn_dprank._utils.types import RuleName
from sklearn_dprank.ballots.profile import Profile
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
    Slots,
    Streaming,
)
from sklearn_dprank.collection import HypercubeSampling, PrivUnitG, RandomizedResponse
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import AllMargins, Histogram, KemenyUtility, MaxViolatedMargin, NetWins
from sklearn_dprank.rules import (
    AdaptiveBradleyTerryRule,
    BradleyTerryRule,
    Choose,
    ChooseNearAnchor,
    ChooseOneByOne,
    ChooseTop,
    HierarchicalRule,
    InstantRunoffRule,
    KemenyRule,
    KwikSortRule,
    MarkovChainRule,
    NewtonBradleyTerryRule,
    SortByScore,
    SwissRule,
    TopListRule,
)
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import hay, shang

CHANNELS = {
    "exact": Exact(),
    "non-private survey": NonPrivateSurvey(2),
    "laplace": Central(),
    "gaussian": Central(delta=1e-6, noise="gaussian"),
    "knorm": Central(noise="knorm"),
    "exponential": Central(noise="exponential"),
    "exponential, delta": Central(delta=1e-6, noise="exponential"),
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
    "choose one by one": ChooseOneByOne(),
    "swiss": SwissRule(),
    "top lists": TopListRule(),
    "newton": NewtonBradleyTerryRule(),
    "newton, one round": NewtonBradleyTerryRule(norm="l1"),
}
# The rules that each channel answers. It must refuse all others.
PAIRWISE = {"borda", "kwiksort", "p-sort", "dp-kwiksort", "binary insertion", "kemeny", "hierarchical", "markov chain"}
NOISY = PAIRWISE | {"plurality", "instant runoff", "bradley-terry", "adaptive", "swiss", "top lists"}
BY_PERSON = {"newton", "newton, one round"}
TOP = {"choose top": 2, "choose top one by one": 3}  # the number of items that the consensus names
DRAWN = {"choose kemeny", "choose prudent", "choose one by one", *TOP}
ANSWERED = {
    "exact": NOISY | BY_PERSON,
    "non-private survey": PAIRWISE | {"bradley-terry"},
    "laplace": NOISY | BY_PERSON | DRAWN | {"choose near anchor"},
    "gaussian": NOISY | BY_PERSON,
    "knorm": {"borda", "choose near anchor"} | DRAWN,
    "exponential": DRAWN,
    "exponential, delta": DRAWN,
    "permute-and-flip": {"choose prudent", "choose one by one", *TOP},
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
    "secure aggregation": NOISY | BY_PERSON,
    "secure aggregation, margins": PAIRWISE,
    "stream": {"borda", "plurality", "kemeny", "hierarchical", "markov chain", "top lists"},
}
M, N_VOTERS = 5, 400
X = make_mallows(N_VOTERS, M, 0.5, random_state=0)

every_channel = pytest.mark.parametrize("channel", CHANNELS)


class UnreadableProfile(Profile):
    """Profile with public facts only: reading anything else raises an error."""

    PUBLIC = {"n_voters", "n_items", "item_names", "voter_epsilon", "with_voter_epsilon", "bound"}

    def __getattribute__(self, name):
        if name.startswith("__") or name in UnreadableProfile.PUBLIC:
            return object.__getattribute__(self, name)
        raise PermissionError(f"{name} was read")


def unreadable(n_items=M):
    profile = Profile.from_rankings(np.tile(np.arange(n_items), (N_VOTERS, 1)))
    profile.__class__ = UnreadableProfile
    return profile


def composed(channel, rule):
    return Aggregator(CHANNELS[channel], RULES[rule], random_state=0)


def refusal(channel, rule, ballots):
    with pytest.raises(ValueError) as error:
        composed(channel, rule).fit(ballots)
    return str(error.value)


def test_every_channel_and_rule_is_here():
    """A new channel or rule needs an entry above."""
    public = {kind for kind in vars(channels).values() if isinstance(kind, type) and hasattr(kind, "plan")}
    assert {type(channel) for channel in CHANNELS.values()} == public - {channels.Channel}
    public = {kind for kind in vars(rules).values() if isinstance(kind, type) and issubclass(kind, rules.Rule)}
    assert {type(rule) for rule in RULES.values()} == public - {rules.Rule}
    assert set(ANSWERED) == set(CHANNELS)
    assert set().union(*ANSWERED.values()) == set(RULES)


@every_channel
def test_a_channel_fits_the_rules_of_its_row(channel, subtests):
    for rule in sorted(ANSWERED[channel]):
        with subtests.test(rule=rule):
            fitted = composed(channel, rule).fit(X)
            k = TOP.get(rule, M)
            assert sorted(fitted.ranks_) == [*range(k), *[k] * (M - k)]
            np.testing.assert_array_equal(fitted.ranks_[fitted.consensus_], np.arange(k))
            assert not fitted.privacy_.certified  # because it has a seed


@every_channel
def test_a_channel_refuses_all_other_rules_before_it_reads_a_ballot(channel, subtests):
    """The error names the channel, a query of the rule, and a remedy."""
    for rule in sorted(RULES.keys() - ANSWERED[channel]):
        with subtests.test(rule=rule):
            text = refusal(channel, rule, unreadable())
            assert text == refusal(channel, rule, X)
            problem, _, remedy = text.partition(", which the rule asks for; ")
            queries = {str(ask.query) for ask in RULES[rule].asks(M)}
            assert problem in {f"{type(CHANNELS[channel]).__name__} cannot answer {query}" for query in queries}
            assert len(remedy) > 15


NAMES = {  # of rules, as values of a parameter
    **{name: name for name in ("borda", "plurality", "kemeny", "kwiksort", "hierarchical")},
    **{"instant_runoff": "instant runoff", "bradley_terry": "bradley-terry", "markov_chain": "markov chain"},
    "veto": "plurality",
}


@every_channel
def test_a_refusal_names_the_rules_that_fit(channel):
    assert set(NAMES) == set(get_args(RuleName))
    fitting = [repr(name) for name in get_args(RuleName) if NAMES[name] in ANSWERED[channel]]
    listed = f" Values of `rule` that fit: {', '.join(fitting)}." if fitting else ""
    for rule in RULES.keys() - ANSWERED[channel]:
        problem = refusal(channel, rule, X).partition(" Values of ")
        with pytest.raises(ValueError) as alone:
            CHANNELS[channel].plan(RULES[rule].asks(M), M, N_VOTERS)
        assert problem[0] == str(alone.value) and "".join(problem[1:]) == listed


@pytest.mark.parametrize("schedule", [Groups, Rounds, Slots])
def test_a_schedule_in_place_of_a_channel_names_the_channel(schedule):
    kind = schedule.__name__
    with pytest.raises(ValueError, match=rf"{kind} is a schedule; pass Interactive\(schedule={kind}\(\)\)\.$"):
        Aggregator(schedule()).fit(X)
    with pytest.raises(ValueError, match=r"channel must be None or an object of sklearn_dprank\.channels, got 'local'"):
        Aggregator("local").fit(X)


@pytest.mark.filterwarnings("error")
def test_the_search_for_rules_does_not_warn():
    """A quicksort of three voters causes a warning, so a search that tries it could warn."""
    with pytest.raises(ValueError, match=r"Values of `rule` that fit: 'kwiksort'\.$"):
        Aggregator(Interactive(), "borda").fit(X[:3])


@every_channel
def test_a_plan_needs_no_ballots_and_repeats(channel, subtests):
    for rule in sorted(ANSWERED[channel]):
        with subtests.test(rule=rule):
            asks = RULES[rule].asks(M)
            first, second = (CHANNELS[channel].plan(asks, M, N_VOTERS) for _ in range(2))
            assert first.guarantee == second.guarantee
            assert json.dumps(first.protocol) == json.dumps(second.protocol)
            assert first.guarantee.epsilon == composed(channel, rule).fit(X).privacy_.epsilon


@every_channel
def test_an_unreadable_profile_stops_every_fit(channel, subtests):
    """Without this, a refusal of an unreadable profile would not be a proof."""
    for rule in sorted(ANSWERED[channel]):
        with subtests.test(rule=rule), pytest.raises(PermissionError, match="was read"):
            composed(channel, rule).fit(unreadable())


@pytest.mark.parametrize(
    ("estimator", "n_items", "message"),
    [
        (DPBorda(epsilon=-1), M, "epsilon must be a positive"),
        (DPKwikSort(max_queries=0), M, "max_queries must be None or a positive integer"),
        (LDPPairwise(n_queries=11), M, "n_queries must be an integer from 1 to 10"),
        (LDPPairwise(rule="condorcet"), M, "rule must be None, one of"),
        (Aggregator(Central(), SortByScore([1, 2])), M, "scores must hold one number for each of the 5 items"),
        (Aggregator(Central(release=Histogram()), KemenyRule()), 11, "a histogram .* is explicit up to 10 items only"),
        (Aggregator(Central(), Choose(MaxViolatedMargin())), 40, "the prudent order of 40 items needs a window"),
        (Aggregator(Shuffle(min_reports=1000)), M, "min_reports=1000 is above the 400 voters"),
        (Aggregator(Shuffle(delta=0.0)), M, "delta must be positive in the shuffle model"),
        (Aggregator(SecureAggregation(delta=0.0)), M, "delta must be positive for Skellam noise"),
        (Aggregator(SecureAggregation(n_servers=1)), M, "n_servers must be an integer from 2 to 20"),
        (Aggregator(SecureAggregation(min_reports=1000)), M, "min_reports=1000 is above the 400 voters"),
        (Aggregator(SecureAggregation(max_reports=100)), M, "max_reports=100 is below the number of voters"),
        (Aggregator(SecureAggregation(epsilon=1e-8)), M, "epsilon must be a number of at least 1e-06"),
        (Aggregator(Streaming(delta=0.0)), M, "delta must be positive for a stream"),
        (Aggregator(Streaming(horizon=0)), M, "horizon must be an integer from 1 to 100000"),
    ],
)
def test_a_wrong_parameter_is_refused_before_a_ballot_is_read(estimator, n_items, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        estimator.fit(unreadable(n_items))


@pytest.mark.parametrize("channel", ["laplace", "gaussian", "margins released", "histogram released"])
def test_with_much_budget_a_rule_finds_what_it_finds_in_exact_answers(channel):
    """With epsilon 10^4, noise rounds to 0. No margin of 301 voters is 0, so that no tie is broken by chance."""
    ballots = np.random.default_rng(1).permuted(np.tile(np.arange(M), (301, 1)), axis=1)
    private = Aggregator(CHANNELS[channel], random_state=0).set_params(channel__epsilon=1e4)
    for rule in ("kemeny", "hierarchical"):
        exact = Aggregator(Exact(), RULES[rule]).fit(ballots)
        assert private.set_params(rule=RULES[rule]).fit(ballots).score(ballots) == exact.score(ballots), rule
    # The order depends on random pivots, so that only its error is comparable.
    private.set_params(rule=RULES["binary insertion"]).fit(ballots)
    assert metrics.pairwise_error_rate(private.ranks_, ballots) < 0.4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channel", "rule"),
    [
        (channel, rule)
        for channel in ("laplace", "margins released", "one pair")
        for rule in ("borda", "kwiksort", "kemeny", "hierarchical", "markov chain")
    ]
    + [("knorm", "borda"), ("gaussian", "p-sort"), ("gaussian", "dp-kwiksort"), ("laplace", "choose prudent")]
    + [("histogram released", "borda"), ("one pair", "bradley-terry"), ("laplace", "choose kemeny")],
)
def test_no_item_has_an_advantage_from_its_column(channel, rule):
    """Random ties: with permuted columns, the permuted orders have the same distribution."""
    # Few voters, some of them undecided: many ties.
    ballots = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 1, np.nan], [1, 0, 0, 0]])
    plan = CHANNELS[channel].plan(RULES[rule].asks(4), 4, 4)
    size = 150 if rule == "bradley-terry" else 800

    def orders(columns, seeds):
        profile = Profile.from_rankings(ballots[:, columns])
        for seed in seeds:
            order = RULES[rule].aggregate(plan.open(profile)(Bits.from_random_state(seed))).order
            yield tuple(columns[order])

    plain = list(orders(np.arange(4), range(size)))
    permuted = list(orders(np.array([3, 1, 0, 2]), range(size, 2 * size)))
    assert same_law(plain, permuted) > 1e-3
