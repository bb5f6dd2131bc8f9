"""User code for ``mypy --strict``: calls that it must accept, and calls that it must refuse.

A line that must be refused has ``type: ignore``, which fails as unused if the line is accepted. Functions whose names
begin with ``accepted`` are also run, so the values have the stated types.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import sklearn_dprank as dp
from sklearn_dprank import Aggregator, DPBorda, DPKwikSort, DPPairwise, Kemeny, LDPAdaptivePairs, LDPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Answers, Central, Channel, Exact, Interactive, Local, Plan, Rounds, Shuffle
from sklearn_dprank.collection import Device, PrivUnitG, RandomizedResponse, RefusedProtocol, ReportCounts
from sklearn_dprank.datasets import (
    fetch_preflib,
    make_comparisons,
    make_mallows,
    make_plackett_luce,
    make_ratings,
    make_uniform_profile,
    read_preflib,
)
from sklearn_dprank.mechanisms import Gaussian, Laplace, Mechanism
from sklearn_dprank.metrics import (
    average_kendall_tau,
    excess_kendall_tau,
    kendall_tau_distance,
    pairwise_error_rate,
    ranking_changed,
)
from sklearn_dprank.model_selection import (
    GridSearchCV,
    PrivateKendallTau,
    PrivateSelection,
    Recommendation,
    cross_validate,
    recommend,
    smallest_within,
    with_seed,
)
from sklearn_dprank.preprocessing import RatingsToRankings, orders_to_positions
from sklearn_dprank.privacy import (
    PrivacyBudget,
    PrivacyGuarantee,
    gaussian_sigma,
    guarantee_of,
    shuffle_amplification,
    shuffle_local_epsilon,
)
from sklearn_dprank.queries import AllMargins, Ask, NetWins, Query, Sensitivity
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, Consensus, KemenyRule, Rule, SortByScore
from sklearn_dprank.sampling.bit_source import BitSource
from sklearn_dprank.theory import song
from sklearn_dprank.uncertainty import PublishedNoise

BALLOTS = [[0, 1, 2], [0, 2, 1], [2, 0, 1]] * 100


def accepted_fit() -> None:
    borda = DPBorda(epsilon=1.0, delta=1e-6, noise="gaussian", neighboring="replace", random_state=0)
    assert_type(borda.fit(BALLOTS), DPBorda)
    assert_type(borda.score(BALLOTS), float)
    assert_type(borda.consensus_, NDArray[Any])
    assert_type(borda.ranks_, Any)  # an array, or a Series if columns of pandas name the items
    assert_type(borda.privacy_, PrivacyGuarantee)
    assert_type(borda.privacy_.epsilon, float)
    assert_type(borda.n_features_in_, int)
    assert_type(borda.scores_, NDArray[Any])
    assert_type(borda.noise_, PublishedNoise)
    assert_type(borda.rank_intervals(level=0.9), NDArray[np.int64])
    assert_type(borda.pair_confidence(), NDArray[np.float64])
    exact = Kemeny(tolerance=0.1, work_limit=None).fit(np.array(BALLOTS))
    assert_type(exact.optimal_gap_, float)
    DPBorda(epsilon=Fraction(1, 3), random_state=np.random.default_rng(0)).fit(Profile.from_rankings(BALLOTS))


def accepted_parts() -> None:
    by_name = DPPairwise(rule="kemeny", random_state=0).fit(BALLOTS)
    by_object = DPPairwise(rule=KemenyRule(tolerance=0.5), random_state=0).fit(BALLOTS)
    assert_type(by_name.optimal_gap_ + by_object.optimal_gap_, float)
    channels: list[Channel | None] = [None, Exact(), Central(epsilon=2.0, noise="laplace")]
    for channel in channels:
        assert_type(Aggregator(channel, rule=SortByScore(scores=[3, 1, 0])).fit(BALLOTS), Aggregator)
    released = Central(epsilon=2.0, delta=1e-6, noise=Gaussian(), release=AllMargins())
    assert_type(Aggregator(released, rule="hierarchical").fit(BALLOTS).privacy_, PrivacyGuarantee)
    assert_type(Aggregator(released, rule="markov_chain").fit(BALLOTS).privacy_, PrivacyGuarantee)


def accepted_field() -> None:
    estimator = LDPPairwise(epsilon=2.0, n_queries=None, randomizer="rr")
    protocol = assert_type(estimator.protocol(["tea", "coffee", "water"]), dict[str, Any])
    device = assert_type(estimator.client(["tea", "coffee", "water"], max_epsilon=2.0), Device)
    other = assert_type(Device.from_json(Device(json.loads(json.dumps(protocol))).to_json()), Device)
    reports = [device.report([0, 1, 2]), other.report([2, 1, 0])]
    fitted = assert_type(estimator.fit_reports(reports, items=["tea", "coffee", "water"]), LDPPairwise)
    assert_type(fitted.reports_accepted_, int)
    assert_type(fitted.reports_refused_, dict[str, int])
    estimator.fit_reports(map(json.dumps, reports), items=["tea", "coffee", "water"])
    counts = assert_type(estimator.count_reports(reports, items=["tea", "coffee", "water"]), ReportCounts)
    total = assert_type(counts + ReportCounts.from_json(counts.to_json()), ReportCounts)
    assert_type(total.reports_refused, dict[str, int])
    estimator.fit_reports(total, items=["tea", "coffee", "water"])
    try:
        Device(protocol, max_epsilon=0.1)
    except RefusedProtocol as refused:
        assert_type(refused.args, tuple[Any, ...])


def accepted_questions() -> None:
    estimator = LDPAdaptivePairs(epsilon=4.0, n_rounds=2)
    devices = [estimator.client(3) for _ in range(4)]

    def ask(question: dict[str, Any]) -> Iterable[dict[str, Any]]:
        return [devices[voter].answer(question, [0, 1, 2]) for voter in question["voters"]]

    assert_type(estimator.fit_interactive(ask, items=3, n_voters=4), LDPAdaptivePairs)


def accepted_ballots() -> None:
    assert_type(dp.datasets.make_mallows(5, 4, phi=0.5, random_state=0), NDArray[np.int64])
    X = assert_type(make_mallows(50, 4, phi=0.5, center=[3, 0, 1, 2], random_state=0), NDArray[np.int64])
    assert_type(make_plackett_luce(50, 4, weights=(1, 4, 2, 2)), NDArray[np.int64])
    assert_type(make_uniform_profile(50, 4, random_state=0), NDArray[np.int64])
    votes, strengths = make_comparisons(50, 4, strengths=[1, 2, 3, 4], random_state=0)
    assert_type(votes, dict[str, NDArray[Any]])
    assert_type(strengths, NDArray[np.float64])
    assert_type(make_ratings(50, 4)[1], NDArray[np.float64])
    profile = assert_type(Profile.from_chunks([X, X], keep="positions"), Profile)
    assert_type(profile + profile, Profile)
    assert_type(profile.pairwise_counts, NDArray[np.int64])
    assert_type(profile.n_voters, int)
    assert_type(orders_to_positions([[1], [0, 1]], 2), NDArray[Any])
    assert_type(orders_to_positions([["tea"], ["milk", "tea"]], items=["milk", "tea"]), Any)
    assert_type(RatingsToRankings(higher_is_better=False).fit(X), RatingsToRankings)
    assert_type(kendall_tau_distance([0, 1, 2], [2, 1, 0]), float)
    assert_type(average_kendall_tau(X[0], profile), float)
    assert_type(excess_kendall_tau(X[0], X, optimum=X[1], normalize=False), float)
    assert_type(pairwise_error_rate((0, 1, 2, 3), X), float)
    assert_type(ranking_changed(X[0], (0, 1, 2, 3)), float)


def accepted_search() -> None:
    grid = {"epsilon": [0.1, 10.0]}
    search = GridSearchCV(DPBorda(), grid, n_trials=2, refit=smallest_within(0.01), random_state=0, progress=False)
    assert_type(search.fit(BALLOTS), GridSearchCV)
    assert_type(search.best_params_, dict[str, Any])
    assert_type(search.best_score_, float)
    assert_type(search.privacy_, PrivacyGuarantee)
    assert_type(cross_validate(DPBorda(), BALLOTS, n_trials=2, scoring=PrivateKendallTau()), dict[str, NDArray[Any]])
    private = PrivateSelection([DPBorda(epsilon=0.5), DPPairwise(epsilon=0.5)], random_state=0)
    assert_type(private.guarantee(n_items=3), PrivacyGuarantee)
    assert_type(private.fit(BALLOTS).ranks_, Any)
    assert_type(recommend(10, 1e4, 1.0, trust="local"), Recommendation)
    assert_type(recommend(10, 1e4, 1.0, k=3, disagreement=0.2).error_range, tuple[float, float])
    recommend(10, 1e4, 1.0, 1e-6, "secure_aggregation")
    assert_type(with_seed(DPBorda(), 7), DPBorda)


def accepted_channels() -> None:
    local = Local(epsilon=2.0, randomizer=song.PrintedGaussian(1e-6))
    interactive = Interactive(epsilon=2.0, schedule=Rounds(), randomizer=RandomizedResponse())
    shuffle = Shuffle(delta=1e-8, pairs="assigned", min_reports=200)
    assert_type(local.plan([Ask(NetWins())], n_items=3).guarantee, PrivacyGuarantee)
    assert_type(shuffle.plan([Ask(NetWins())], n_items=3).protocol, dict[str, Any] | None)
    asks = AdaptiveBradleyTerryRule(n_rounds=2).asks(3)
    assert_type(interactive.plan(asks, n_items=3, n_voters=100), Plan)


def accepted_privacy() -> None:
    one = PrivacyGuarantee(0.5, 0.0, "central", "add_remove", "discrete Laplace noise")
    assert_type(PrivacyGuarantee.compose(guarantee for guarantee in (one, one)), PrivacyGuarantee)
    assert_type(one.parties, tuple[str, ...])
    assert_type(guarantee_of(DPBorda().fit(BALLOTS)), PrivacyGuarantee)
    budget = assert_type(PrivacyBudget(Fraction(7, 2), 1e-6, neighboring="replace", simulation=True), PrivacyBudget)
    assert_type(budget.fit(DPBorda(epsilon=0.1, random_state=0), BALLOTS), DPBorda)
    budget.charge(one, what="elsewhere")
    assert_type(budget.spent_, PrivacyGuarantee)
    assert_type(budget.remaining.epsilon + budget.remaining.gaussian_epsilon(1e-8), float)
    assert_type(budget.releases_[0].what, str)
    assert_type(gaussian_sigma(1.0, 1e-6), float)
    assert_type(shuffle_amplification(1.0, 1000, 1e-6, method="clones"), float)
    assert_type(shuffle_local_epsilon(0.15, 1000, 1e-6), float)


class Copeland(Rule):
    """A rule of the user's own: sort by the number of opponents beaten."""

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(AllMargins())]

    def aggregate(self, answers: Answers) -> Consensus:
        return Consensus(np.argsort(-(answers.answer(AllMargins()) > 0).sum(axis=1)))


@dataclass(frozen=True)
class FirstPlaces(Query):
    """A query of the user's own: how many voters put each item first."""

    needs = "placements"

    def vector(self, profile: Profile, coins: BitSource) -> NDArray[np.int64]:
        item, first, _, voters = profile.placements.T
        return np.bincount(item, voters * (first == 0), profile.n_items).astype(np.int64)

    def sensitivity(self, n_items: int, neighboring: str, max_listed: int | None = None) -> Sensitivity:
        moved = n_items if neighboring == "add_remove" else 2 * n_items
        return Sensitivity(moved, Fraction(moved))


class Plurality(Rule):
    """A rule of the user's own that asks it."""

    def asks(self, n_items: int) -> list[Ask]:
        return [Ask(FirstPlaces())]

    def aggregate(self, answers: Answers) -> Consensus:
        return Consensus(np.argsort(-answers.answer(FirstPlaces())))


def accepted_extension() -> None:
    mechanisms: list[Mechanism] = [Laplace(), Gaussian()]
    assert_type([mechanism.refusal(FirstPlaces(), 3) for mechanism in mechanisms], list[str])
    counted = Aggregator(Central(epsilon=2.0), Plurality(), random_state=0).fit(BALLOTS)
    assert_type(counted.ranks_, Any)
    assert_type(DPPairwise(rule=Copeland(), random_state=0).fit(BALLOTS).privacy_, PrivacyGuarantee)
    assert_type(NetWins().sensitivity(4, "replace"), Sensitivity)


def refused_parameters() -> None:
    DPBorda(noise="typo")  # type: ignore[arg-type]
    DPBorda(epsilon="1.0")  # type: ignore[arg-type]
    DPBorda(neighboring="remove")  # type: ignore[arg-type]
    DPBorda(epsilons=1.0)  # type: ignore[call-arg]
    DPPairwise(noise="knorm")  # type: ignore[arg-type]
    DPPairwise(rule="copeland")  # type: ignore[arg-type]
    DPPairwise(rule=Kemeny())  # type: ignore[arg-type]
    DPPairwise(rule=KemenyRule)  # type: ignore[arg-type]
    Interactive(schedule="rounds")  # type: ignore[arg-type]
    Interactive(randomizer=PrivUnitG())  # type: ignore[arg-type]
    Shuffle(pairs="secret")  # type: ignore[arg-type]
    Local(randomizer="rr")  # type: ignore[arg-type]
    song.PrintedGaussian(delta="small")  # type: ignore[arg-type]
    GridSearchCV("DPBorda", {})  # type: ignore[arg-type]
    GridSearchCV(DPBorda(), grid={})  # type: ignore[call-arg]
    PrivateSelection(DPBorda(), distribution="normal")  # type: ignore[arg-type]
    recommend(10, 1000, 1.0, trust="curator")  # type: ignore[arg-type]
    Central(release=AllMargins)  # type: ignore[arg-type]
    DPKwikSort(on_exhausted="give up")  # type: ignore[arg-type]
    DPKwikSort(max_queries=3.5)  # type: ignore[arg-type]
    Aggregator(channel=Central)  # type: ignore[arg-type]
    dp.Borda(1)  # type: ignore[call-arg]
    dp.PositionalRule("approval")  # type: ignore[arg-type]
    dp.DPTypo()  # type: ignore[attr-defined]


def refused_calls(borda: DPBorda, local: LDPPairwise, profile: Profile) -> None:
    borda.fit()  # type: ignore[call-arg]
    borda.fit(BALLOTS, voter_epsilons=[1.0])  # type: ignore[arg-type]
    print(borda.typo_)  # type: ignore[attr-defined]
    borda.score(None)  # type: ignore[arg-type]
    borda.report([0, 1, 2])  # type: ignore[attr-defined]
    wrong: str = borda.consensus_  # type: ignore[assignment]
    local.fit_reports(7, items=3)  # type: ignore[arg-type]
    local.client(3).report(None)  # type: ignore[arg-type]
    Profile.from_rankings(BALLOTS, keep="everything")  # type: ignore[arg-type]
    read_preflib(Path("votes.toi"), unranked="first")  # type: ignore[arg-type]
    fetch_preflib("00024-00000001.soc", data_home=3)  # type: ignore[arg-type]
    kendall_tau_distance([0, 1, 2])  # type: ignore[call-arg]
    shuffle_amplification(1.0, 1000, 1e-6, method="hope")  # type: ignore[arg-type]
    PrivacyGuarantee.compose(1.0)  # type: ignore[arg-type]
    print(profile + 1, wrong)  # type: ignore[operator]
