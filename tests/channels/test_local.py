"""Devices, curators and estimators of local channels: reports, refusals, randomizers and own epsilons."""

import json
from itertools import combinations, product

import numpy as np
import pytest
from accuracy_tools import mallows_profiles, mean_excess
from local_tools import law_of, reports_of, same_law, worst_ratio
from oracles import flip_epsilon
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from sklearn_dprank import DPBorda, LDPAdaptivePairs, LDPBorda, LDPKwikSort, LDPPairwise, LDPQuickSort, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import Groups, Interactive, Local, Rounds, Shuffle, Slots
from sklearn_dprank.collection import Device, HypercubeSampling, PrivUnitG, RandomizedResponse, RefusedProtocol
from sklearn_dprank.collection.protocol import FLIP_GRID, digest
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.privacy import BudgetExhausted
from sklearn_dprank.privacy.composition import classical_gaussian_sigma
from sklearn_dprank.privacy.shuffle import composed_shuffle_epsilon, shuffle_amplification
from sklearn_dprank.queries import AllMargins, Ask, NetWins, PairMargin, PairTallies
from sklearn_dprank.rules import AdaptiveBradleyTerryRule, KwikSortRule
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import song, yan

pytestmark = [pytest.mark.usefixtures("one_thread")]

M = 4
NAN = np.nan


def plan(n_queries=1, epsilon=1.0):
    return Local(epsilon, RandomizedResponse(n_queries)).plan([Ask(NetWins())], M)


def client(n_queries=1, seed=None):
    return Device(plan(n_queries).protocol, random_state=seed)


# Clients


def test_a_client_holds_one_report():
    for ballot in ([0, 1, 2, 3], [0, 0, 1, NAN]):
        device = client(3)
        first = json.dumps(device.report(ballot))
        for _ in range(5):
            assert json.dumps(device.report(ballot)) == first
        assert json.dumps(device.report(np.array(ballot, dtype=float))) == first
        with pytest.raises(BudgetExhausted) as error:
            device.report([3, 2, 1, 0])
        assert str(error.value).startswith("this device has already reported another ballot.")
        assert json.dumps(device.report(ballot)) == first


# Reports from the field


RR, CORNER, UNIT = LDPPairwise(n_queries=2, rule="borda"), LDPPairwise(randomizer="djw"), LDPBorda()
GOOD = {"protocol": digest(plan(2).protocol), "pairs": [[0, 1], [1, 3]], "answers": [0, 1]}
SIGNS = {"protocol": digest(CORNER.protocol(M)), "signs": "a0"}
VECTOR = {"protocol": digest(UNIT.protocol(M)), "vector": [900, -300, 0]}
# One report for each reason; tests/collection/test_reports.py makes many.
BAD = [
    (RR, GOOD, "{'pairs': 1}", "not JSON"),
    (RR, GOOD, '{"protocol": "' + "0" * (1 << 22) + '"}', "too long"),
    (RR, GOOD, {**GOOD, "protocol": digest(plan(2, epsilon=4.0).protocol)}, "another protocol"),
    (RR, GOOD, {**GOOD, "voter": "secret-7"}, "wrong keys"),
    (RR, GOOD, {**GOOD, "pairs": [[0, 1], [2, 1]]}, "pair out of range"),
    (RR, GOOD, {**GOOD, "pairs": [[0, 1], [0, 1]]}, "pair asked twice"),
    (CORNER, SIGNS, {**SIGNS, "signs": "ff"}, "not the right number of signs"),
    (UNIT, VECTOR, {**VECTOR, "vector": [1]}, "not the right number of coordinates"),
    (UNIT, VECTOR, {**VECTOR, "vector": [1, 2, NAN]}, "coordinate out of range"),
]


@pytest.mark.parametrize(("estimator", "good", "bad", "reason"), BAD, ids=[reason for *_, reason in BAD])
def test_each_bad_report_is_left_out_for_a_reason_that_does_not_quote_it(estimator, good, bad, reason):
    found = estimator.plan_for(Shape(M))[1]
    clean = found.open(iter([good] * 3))(Bits.from_random_state(0)).answer(NetWins())
    mixed = found.open(iter([good, bad, json.dumps(good), json.dumps(good).encode(), bad]))(Bits.from_random_state(0))
    assert np.array_equal(mixed.answer(NetWins()), clean)
    assert mixed.published["reports_refused"] == {reason: 2}
    fitted = clone(estimator).set_params(random_state=0).fit_reports([good, bad], items=M)
    assert fitted.reports_refused_ == {reason: 1}
    assert "secret-7" not in str(fitted.__dict__)


# Sessions and plans


def test_everything_follows_from_the_tallies():
    profile = Profile.from_rankings(np.tile([0, 1, 2, 3], (50, 1)))
    session = plan(6, epsilon=1e3).open(profile)(Bits.from_random_state(0))
    (tallies,) = session.answer(PairTallies())
    np.testing.assert_array_equal(tallies.wins, np.triu(np.full((M, M), 50), 1))
    margins = session.answer(AllMargins())
    np.testing.assert_allclose(margins, np.triu(np.ones((M, M)), 1) - np.tril(np.ones((M, M)), -1), atol=1e-12)
    np.testing.assert_allclose(session.answer(NetWins()), [3, 1, -1, -3], atol=1e-12)
    assert session.answer(PairMargin(0, 2)) == pytest.approx(1)


def test_a_protocol_that_a_device_would_refuse_is_not_planned():
    class Edited(RandomizedResponse):
        def protocol(self, epsilon, items):
            return {**super().protocol(epsilon, items), "flip": [1, 2**52]}

    with pytest.raises(RefusedProtocol, match="at least what its numbers spend"):
        Local(1.0, Edited()).plan([Ask(NetWins())], 3)


# Randomizers that flip answers, at their true cost


LAPLACE = yan.PrintedLaplace()
GAUSSIAN = song.PrintedGaussian(1e-4)
TALLIES = [Ask(PairTallies())]
BALLOTS = [[0, 1, 2], [2, 1, 0], [np.nan, 0, 1]]


def printed(randomizer, epsilon):
    """The flip of an answer as the papers print its noise."""
    if randomizer is LAPLACE:
        return np.exp(-epsilon / 2) / 2
    return norm.sf(0.5 / classical_gaussian_sigma(epsilon, 1e-4))


def questions(m, schedule, randomizer=None, epsilon=1.0, max_queries=None):
    rule = AdaptiveBradleyTerryRule(2)
    if not isinstance(schedule, Rounds):
        rule = KwikSortRule(max_queries, "kemeny" if isinstance(schedule, Groups) else "coin")
    return Interactive(epsilon, schedule, randomizer).plan(rule.asks(m), m, 400)


# --- printed noises: the printed flip, and what it really spends


@pytest.mark.slow
@pytest.mark.parametrize("randomizer", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize(("schedule", "answers"), [(Slots(2), 2), (Rounds(), 1)], ids=str)
def test_questions_with_published_noise_state_the_epsilon_of_a_transcript(randomizer, schedule, answers):
    plan = questions(3, schedule, randomizer, epsilon=1.5)
    flip = plan.protocol["flips"]["each"]
    assert plan.protocol["answers"] == answers
    assert flip / FLIP_GRID == pytest.approx(printed(randomizer, 1.5 / answers), rel=1e-12)
    stated = plan.guarantee.epsilon
    assert stated == pytest.approx(answers * flip_epsilon(flip / FLIP_GRID), rel=1e-9)
    assert stated == float(plan.protocol["epsilon"]) < 1.5

    def transcript(ballot, asked):
        device = Device(plan.protocol)
        each = [
            {"protocol": digest(plan.protocol), "question": number, "kind": "each", "pairs": [list(pair)]}
            for number, pair in enumerate(asked, start=1)
        ]
        return [device.answer(question, ballot)["answer"] for question in each]

    spent = [
        worst_ratio([law_of(lambda b=ballot, a=asked: transcript(b, a), flip) for ballot in BALLOTS])
        for asked in product(combinations(range(3), 2), repeat=answers)
    ]
    assert max(spent) <= stated + 1e-12
    assert max(spent) == pytest.approx(stated, rel=1e-9)


def test_the_reserve_has_published_noise_of_its_own():
    plan = questions(6, Groups(), LAPLACE, epsilon=8.0, max_queries=3)
    flips = {kind: flip / FLIP_GRID for kind, flip in plan.protocol["flips"].items()}
    assert plan.protocol["answers"] == 3
    assert flips["each"] == pytest.approx(printed(LAPLACE, 4.0 / 3), rel=1e-12)
    assert flips["last"] == pytest.approx(printed(LAPLACE, 4.0), rel=1e-12)
    assert plan.guarantee.epsilon == pytest.approx(3 * flip_epsilon(flips["each"]) + flip_epsilon(flips["last"]))
    assert plan.guarantee.epsilon < 8.0 and "thresholded Laplace noise" in plan.guarantee.how


@pytest.mark.parametrize("randomizer", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("pairs", ["hidden", "assigned"])
@pytest.mark.parametrize("n_queries", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_shuffled_published_noise_is_priced_by_its_flips(randomizer, pairs, n_queries):
    plan = Shuffle(local_epsilon=2.0, n_queries=n_queries, pairs=pairs, randomizer=randomizer).plan(TALLIES, 4, 1200)
    flip = plan.protocol["flip"][0]
    assert flip / FLIP_GRID == pytest.approx(printed(randomizer, 2.0 / n_queries), rel=1e-12)
    each = flip_epsilon(flip / FLIP_GRID)
    crowd = 1200 if pairs == "hidden" else 1200 * n_queries // 6
    assert plan.guarantee.epsilon == pytest.approx(composed_shuffle_epsilon(each, crowd, 1e-6, n_queries), rel=1e-6)
    assert (
        plan.guarantee.epsilon
        < Shuffle(local_epsilon=2.0, n_queries=n_queries, pairs=pairs).plan(TALLIES, 4, 1200).guarantee.epsilon
    )
    assert float(plan.protocol["epsilon"]) == pytest.approx(n_queries * each, rel=1e-9)
    assert f"local epsilon = {n_queries * each:.6g}" in plan.guarantee.caveats[0]
    design = None if pairs == "hidden" else [[0, 1], [2, 3]][:n_queries]
    ballots = [[0, 1, 2, 3], [3, 2, 1, 0]]
    laws = [law_of(lambda b=b: Device(plan.protocol).report(b, design), flip) for b in ballots]
    assert worst_ratio(laws) == pytest.approx(n_queries * each, rel=1e-9)


def test_a_target_is_kept_and_the_local_epsilon_is_stated_without_other_voters():
    found = Shuffle(epsilon=0.3, randomizer=LAPLACE).plan(TALLIES, 4, 1200).guarantee
    each = found.caveats[0].rpartition("= ")[2]
    assert found.epsilon == pytest.approx(shuffle_amplification(float(each), 1200, 1e-6), rel=1e-4)
    assert found.epsilon < 0.3
    alone = Shuffle(epsilon=1.0, pairs="assigned", n_queries=2, randomizer=GAUSSIAN).plan(TALLIES, 10, 40).guarantee
    assert alone.epsilon == pytest.approx(2 * flip_epsilon(printed(GAUSSIAN, 0.5)), rel=1e-9) and alone.delta == 0.0


# --- what does not fit


@pytest.mark.parametrize("randomizer", [PrivUnitG(), HypercubeSampling()], ids=str)
def test_a_randomizer_without_answers_is_one_error_that_names_both_sides(randomizer):
    name = type(randomizer).__name__
    for channel, asks in (
        (Interactive(randomizer=randomizer), KwikSortRule(on_exhausted="coin").asks(3)),
        (Shuffle(randomizer=randomizer), TALLIES),
    ):
        asking = type(channel).__name__
        with pytest.raises(ValueError, match=f"^{asking} cannot use {name}: .*answers about single pairs"):
            channel.plan(asks, 3, 100)


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        (Interactive(randomizer=RandomizedResponse(2)), r"cannot use RandomizedResponse\(n_queries=2\): .*schedule"),
        (Interactive(randomizer=RandomizedResponse(None)), r"RandomizedResponse\(n_queries=None\)"),
        (Shuffle(randomizer=yan.PrintedLaplace(3)), r"cannot use PrintedLaplace\(n_queries=3\): .*of the channel"),
        (Interactive(randomizer=RandomizedResponse), "got the class RandomizedResponse"),
        (Shuffle(randomizer=PrivUnitG), "got the class PrivUnitG"),
    ],
)
def test_randomizers_that_do_not_fit_the_channel_are_refused(channel, message):
    asks = KwikSortRule(on_exhausted="coin").asks(3) if isinstance(channel, Interactive) else TALLIES
    with pytest.raises(ValueError, match=message):
        channel.plan(asks, 3, 100)


# Voters with their own, public epsilons


GRID = np.array([0.2, 4.0])


@pytest.fixture(scope="module")
def ballots():
    X = make_mallows(3000, 6, 0.7, random_state=0)
    return X, GRID[np.arange(len(X)) % 2]


def test_answers_of_each_epsilon_are_counted_apart(ballots):
    X, own = ballots
    plan = Local().plan([Ask(PairTallies())], 6, len(X), GRID)
    profile = Profile.from_rankings(X, voter_epsilon=own)
    tallies = plan.open(profile)(Bits.from_random_state(0)).answer(PairTallies())
    assert [tally.wins.sum() for tally in tallies] == [1500, 1500]
    np.testing.assert_allclose([tally.flip for tally in tallies], 1 / (1 + np.exp(GRID)), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("randomizer", [HypercubeSampling(), PrivUnitG(), RandomizedResponse()])
def test_estimates_are_unbiased_and_weigh_by_variance(ballots, randomizer):
    X, own = ballots
    profile = Profile.from_rankings(X, voter_epsilon=own)
    truth = profile.net_wins / profile.n_voters

    def errors(profile, grid):
        plan = Local(epsilon=4.0, randomizer=randomizer).plan([Ask(NetWins())], 6, None, grid)
        draws = [plan.open(profile)(Bits.from_random_state(seed)).answer(NetWins()) for seed in range(40)]
        return np.array(draws) - truth

    both = errors(profile, GRID)
    half = Profile.from_rankings(X[own == 4.0])
    careless = errors(half, None)
    spread = both.std(axis=0, ddof=1) / np.sqrt(len(both))
    # The confident half differs a little from all voters; its own mean is the bias that is allowed.
    assert np.all(np.abs(both.mean(axis=0)) < 4 * spread + np.abs(half.net_wins / half.n_voters - truth))
    # Adding reports at a small epsilon must not hurt: badly weighted they would dominate the error.
    assert np.sqrt((both**2).mean()) < 1.15 * np.sqrt((careless**2).mean())


def test_the_guarantee_states_the_largest_epsilon(ballots):
    X, own = ballots
    privacy = LDPPairwise(epsilon=1.0).fit(X, voter_epsilon=own).privacy_
    assert (privacy.epsilon, privacy.trust, privacy.certified) == (4.0, "local", True)
    assert "each voter has its own epsilon, which is public" in privacy.caveats[0]


@pytest.mark.parametrize("estimator", [DPBorda(), ShufflePairwise(), LDPAdaptivePairs()])
def test_refused_outside_the_local_model(ballots, estimator):
    X, own = ballots
    with pytest.raises(ValueError, match="voter_epsilon is for local mechanisms with one report per voter"):
        estimator.fit(X, voter_epsilon=own)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (np.ones(3), "one positive, finite number for each voter."),
        (np.zeros(3000), "one positive, finite number"),
        (np.full(3000, np.inf), "one positive, finite number"),
        (["a"] * 3000, "must hold numbers"),
        (np.linspace(1, 2, 3000), "1 to 100 distinct values, got 3000"),
    ],
)
def test_bad_epsilons(ballots, own, message):
    with pytest.raises(ValueError, match=message):
        LDPPairwise().fit(ballots[0], voter_epsilon=own)


def test_metadata_is_sliced_with_the_ballots(ballots):
    X, own = ballots
    # Each fold fits on its own voters only; a wrong slice would be an error of shape.
    scores = cross_val_score(LDPPairwise(random_state=0), X, cv=3, params={"voter_epsilon": own})
    assert np.all(scores > -0.5)


def test_a_plan_is_for_the_epsilons_it_was_made_for():
    estimator, ballots = LDPPairwise(epsilon=5.0), [[0, 1, 2]] * 4
    careful = Profile.from_rankings(ballots, voter_epsilon=[0.1] * 4)
    for shape in (Shape(3, 4), Shape(3, 4, [0.2, 0.3])):
        rule, plan = estimator.plan_for(shape)
        with pytest.raises(ValueError, match="voters with other epsilons of their own"):
            next(refits(estimator, careful, rule, plan, [None]))
    rule, plan = estimator.plan_for(careful)
    assert next(refits(estimator, careful, rule, plan, [None])).privacy_.epsilon == 0.1
    with pytest.raises(ValueError, match="voters with other epsilons of their own"):
        plan.open(Profile.from_rankings(ballots))


def test_epsilons_of_their_own_are_numbers():
    estimator = LDPPairwise()
    for epsilon in ([2.0, 0.5], 1 + 5j, True, "1.0", -1):
        with pytest.raises(ValueError, match="epsilon must be a positive, finite number"):
            estimator.protocol(4, epsilon=epsilon)
        with pytest.raises(ValueError, match="epsilons must be a positive, finite number"):
            estimator.fit_reports([], items=4, epsilons=[epsilon])
    reports = [estimator.client(3, epsilon=epsilon).report([0, 1, 2]) for epsilon in (1.0, 2.0)]
    assert estimator.fit_reports(reports, items=3, epsilons={2.0, 1.0}).reports_accepted_ == 2


# Estimators


ESTIMATORS = [
    LDPPairwise(rule="borda"),
    LDPPairwise(n_queries=2, rule="hierarchical"),
    LDPPairwise(randomizer=yan.PrintedLaplace(), rule="kemeny"),
    LDPPairwise(randomizer=song.PrintedGaussian(1e-4), n_queries=3, rule="borda"),
    LDPPairwise(randomizer="djw"),
    LDPKwikSort(n_queries=2),
    LDPBorda(),
]


def with_epsilon(estimator, epsilon, **parameters):
    return clone(estimator).set_params(epsilon=epsilon, **parameters)


# --- simulation and field


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_what_fit_and_field_count_has_one_law(estimator):
    rng, size = np.random.default_rng(3), 1500
    X = rng.permuted(np.tile(np.arange(4.0), (size, 1)), axis=1)
    X[: size // 2] = [2, 0, 1, 3]
    X[::4, 1] = NAN
    X[1::4, 3] = X[1::4, 0]
    estimator = with_epsilon(estimator, 2.0)
    plan = estimator.plan_for(Shape(4))[1]
    lines = reports_of(estimator, X, seed=1)
    opened = [plan.open(voters)(Bits.from_random_state(2)) for voters in (Profile.from_rankings(X), iter(lines))]
    for session in opened:
        published = {name: session.published[name] for name in ("reports_accepted", "reports_refused")}
        assert published == {"reports_accepted": size, "reports_refused": {}}
        assert set(session.published) - set(published) in ({"margins", "noise"}, {"scores", "noise"}, {"scores"})
    randomizer = estimator._compose()[0].randomizer
    if randomizer.releases == PairTallies():
        tallies = [session.answer(PairTallies())[0] for session in opened]
        assert tallies[0].flip == tallies[1].flip
        assert tallies[0].wins.sum() == tallies[1].wins.sum() == size * plan.protocol["n_queries"]
        assert same_law(*[np.repeat(np.arange(16), tally.wins.ravel()).tolist() for tally in tallies]) > 1e-3
    else:
        gap = opened[0].answer(randomizer.releases) - opened[1].answer(randomizer.releases)
        assert np.abs(gap / np.sqrt(2 * randomizer.variance(plan.protocol) / size)).max() < 4


# --- accuracy, in percent of excess normalised Kendall tau


SMALL = [
    (LDPPairwise(0.5), 5.8),
    (LDPPairwise(1.0), 2.0),
    (LDPPairwise(2.0), 0.72),
    (LDPKwikSort(1.0, n_queries=1), 6.5),
    (LDPKwikSort(2.0, n_queries=1), 3.4),
    (LDPQuickSort(1.0), 4.8),
    (LDPPairwise(1.0, randomizer="djw", rule="kemeny"), 4.4),
    (LDPBorda(1.0), 2.5),
    (LDPBorda(4.0), 0.13),
]


@pytest.mark.parametrize(("estimator", "figure"), SMALL, ids=str)
def test_accuracy_for_ten_items(estimator, figure):
    profiles = mallows_profiles(24, n_voters=1000, n_items=10)
    assert 0.5 * figure < mean_excess(estimator, profiles, repeats=4) < 1.6 * figure
