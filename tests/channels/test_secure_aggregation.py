"""Secure aggregation: what is promised, what the curator takes, and that `fit` has the law of devices and servers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from extensions.footrule import Footrule
from scipy import stats
from share_tools import collected

from sklearn_dprank import Aggregator, SecAggBorda
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.ballots.weights import WEIGHT_GRID
from sklearn_dprank.channels import SecureAggregation
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.privacy import PrivacyGuarantee, gaussian_sigma
from sklearn_dprank.privacy.skellam import SkellamRelease, skellam_epsilon
from sklearn_dprank.queries import AllMargins, Ask, NetWins, NumberOfVoters, PairMargin, PairTallies, PositionalScores
from sklearn_dprank.rules import BradleyTerryRule, Choose, Consensus, InstantRunoffRule, SwissRule
from sklearn_dprank.sampling.bit_source import Bits

NAN = np.nan
BALLOTS = [[0, 1, 2], [0, 1, 2], [2, 0, 1], [1, 0, 1], [NAN, 0, 1], [NAN] * 3]


# --- what is promised


def test_the_guarantee():
    fitted = SecAggBorda(epsilon=0.7, delta=1e-5, n_servers=3, min_reports=80).fit([[0, 1, 2]] * 100)
    promise = fitted.privacy_
    assert (promise.epsilon, promise.delta, promise.trust) == (0.7, 1e-5, "secure_aggregation")
    assert (promise.neighboring, promise.arithmetic, promise.certified) == ("replace", "exact", True)
    assert promise.parties == ("one of the 3 servers", "80 of the voters")
    assert promise.how == "Skellam noise, of which each of 80 voters adds a part, on the net wins of each item, once"
    assert promise.caveats == ("if all servers collude, ballots are as good as open to them",)
    assert (fitted.reports_accepted_, fitted.reports_refused_) == (100, {})
    assert fitted.local_epsilon_ > 5 * promise.epsilon


def test_parties_of_several_releases():
    """Everybody whom one of them trusts, by name; general words where a release has no more."""
    one, two = (SecAggBorda(n_servers=k).fit([[0, 1, 2]] * 50 * k).privacy_ for k in (2, 3))
    plain = PrivacyGuarantee(1.0, 0.0, "central", "replace", "noise")
    total = PrivacyGuarantee.compose([one, plain, two])
    named = "one of the 2 servers", "100 of the voters", "one of the 3 servers", "150 of the voters", "the curator"
    assert (total.trust, total.parties) == ("secure_aggregation + central", named)
    general = PrivacyGuarantee(1.0, 1e-6, "secure_aggregation", "replace", "noise")
    assert set(general.parties) < set(PrivacyGuarantee.compose([one, general]).parties)
    assert PrivacyGuarantee.compose([total, one]).parties == total.parties
    assert PrivacyGuarantee.compose([one, one]).epsilon <= 2


@pytest.mark.parametrize("m", [3, 10, 45])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_noise_of_the_least_voters_keeps_the_budget(m, epsilon):
    """And is about as little as does: some 10 % wider than a trusted curator's Gaussian."""
    plan = SecureAggregation(epsilon, min_reports=500).plan([Ask(NetWins())], m, 2000)
    (price,) = plan.prices.values()
    variance = 2 * price.mechanism.rate * 500
    release = SkellamRelease(variance, 2 * (m * m // 2), Fraction(4 * m * (m * m - 1), 3))
    assert 0.999 * epsilon < skellam_epsilon(1e-6, [release]) <= epsilon
    sigma = gaussian_sigma(epsilon, 1e-6, math.sqrt(4 * m * (m * m - 1) / 3))
    assert 1 < math.sqrt(variance) / sigma < 1.11


def test_shares_of_the_budget():
    """Divergences of all answers add up to the whole; a question asked often gets more noise."""
    asks = [Ask(NetWins(), share=Fraction(1, 4)), Ask(PairMargin(), times=3, share=Fraction(3, 4))]
    plan = SecureAggregation(1.0).plan(asks, 5, 1000)
    releases = [
        SkellamRelease(2000 * price.mechanism.rate, price.sensitivity.l1, price.sensitivity.l2_squared, price.times)
        for price in plan.prices.values()
    ]
    assert 0.999 < skellam_epsilon(1e-6, releases) <= 1
    assert plan.guarantee.how.endswith("on the net wins of each item, once; then on the margin of a pair, 3 times")
    first, second = releases
    assert float(first.variance / first.l2_squared) == pytest.approx(
        float(second.variance / second.l2_squared), rel=1e-3
    )


def test_what_no_ballot_moves_is_exact():
    plan = SecureAggregation(1.0).plan(SwissRule().asks(20), 20, 700)
    session = plan.open(Profile.from_rankings(make_mallows(700, 20, 0.8, random_state=0)))(Bits.from_random_state(0))
    assert session.answer(NumberOfVoters()) == 700
    assert "number of voters" not in plan.guarantee.how
    assert "within its group, 3 times; then on the margins of pairs or net wins within groups" in plan.guarantee.how
    alone = SecureAggregation(1.0).plan([Ask(NumberOfVoters())], 3, 5)
    assert alone.open(Profile.from_rankings(BALLOTS))(Bits.from_random_state(0)).answer(NumberOfVoters()) == 6


@pytest.mark.slow
def test_more_voters_only_add_noise():
    profile = Profile.from_rankings([[0, 0, 0]] * 800)
    spread = []
    for least in (800, 200):
        plan = SecureAggregation(1.0, min_reports=least).plan([Ask(NetWins())], 3, 800)
        poll = plan.open(profile)
        answers = [poll(Bits.from_random_state(seed)).answer(NetWins()) for seed in range(400)]
        assert abs(np.std(answers) / math.sqrt(1600 * plan.prices[NetWins()].mechanism.rate) - 1) < 0.1
        spread.append(np.std(answers))
    assert 1.8 < spread[1] / spread[0] < 2.2


def test_fewer_voters_than_planned():
    plan = SecureAggregation(1.0).plan([Ask(NetWins())], 3, 7)
    with pytest.raises(ValueError, match="the plan is for 7 voters or more, got 6"):
        plan.open(Profile.from_rankings(BALLOTS))


# --- fit, and the field


@pytest.mark.slow
@pytest.mark.parametrize("release", [None, pytest.param(AllMargins(), marks=pytest.mark.slow)], ids=str)
def test_fit_simulates_what_devices_and_servers_send(release):
    """One law: of each number of the sum, and against Skellam's own probabilities."""
    estimator = Aggregator(SecureAggregation(3.0, 1e-2, n_servers=3, min_reports=6, release=release), "borda")
    query = NetWins() if release is None else release
    _, plan = estimator.plan_for(Shape(3, 6))
    profile = Profile.from_rankings(BALLOTS)
    exact = query.vector(profile, None)
    poll = plan.open(profile)
    rate = float(plan.prices[query].mechanism.rate * 6)
    sums = [plan.open(collected(estimator.protocol(3), BALLOTS, seed)) for seed in range(40)]
    received = [opened(Bits.from_random_state(0)).answer(query) for opened in sums]
    simulated = [poll(Bits.from_random_state(seed)).answer(query) for seed in range(300)]
    cells = np.arange(*stats.skellam.ppf([0.05, 0.95], rate, rate), 2)
    shares = np.diff([0, *stats.skellam.cdf(cells, rate, rate), 1])
    for answers in (simulated, received):
        noise = np.array([read(answer, query) for answer in answers]) - exact
        assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 0.5
        found = np.diff([0, *(np.count_nonzero(noise <= k) for k in cells), noise.size])
        assert stats.chisquare(found, shares * noise.size).pvalue > 1e-3


def read(answer, query):
    return answer if query == NetWins() else np.array(answer)[np.triu_indices(3, 1)]


SUMS = collected(SecAggBorda(min_reports=5).protocol(3), BALLOTS, 7)


def fit_sums(sums, items=3, **parameters):
    return SecAggBorda(**{"min_reports": 5, **parameters}).fit_sums(sums, items=items)


@pytest.mark.parametrize(
    ("sums", "message"),
    [
        ([], "no report was accepted"),
        (SUMS[:1], r"sums must hold one of each of the 2 servers, got those of \[0\]"),
        (SUMS[:1] * 2, r"sums must hold one of each of the 2 servers, got those of \[0, 0\]"),
        ([*SUMS, SUMS[0]], r"got those of \[0, 0, 1\]"),
        ([SUMS[0], {**SUMS[1], "voters": "0" * 64}], "sums are of different voters"),
        ([SUMS[0], {**SUMS[1], "n_reports": 7}], "sums are of different voters"),
        (SUMS[0], "sums must be an iterable of reports, got dict; pass a list of them, one of each server"),
    ],
)
def test_sums_that_do_not_add_up(sums, message):
    with pytest.raises(ValueError, match=message):
        fit_sums(sums)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"protocol": "0" * 16}, "another protocol"),
        ({"name": "x"}, "wrong keys"),
        ({"server": 2}, "server out of range"),
        ({"server": True}, "server out of range"),
        ({"voters": 7}, "no name of the voters"),
        ({"n_reports": 4}, "too few or too many voters"),
        ({"n_reports": 501}, "too few or too many voters"),
        ({"n_reports": 6.0}, "too few or too many voters"),
        ({"sum": SUMS[0]["sum"][:2]}, "not the right numbers"),
        ({"sum": [2**40, 0, 0]}, "not the right numbers"),
        ({"sum": [-1, 0, 0]}, "not the right numbers"),
        ({"sum": "abc"}, "not the right numbers"),
    ],
)
def test_each_bad_sum_is_left_out_for_a_reason_that_does_not_quote_it(change, reason):
    bad = {**SUMS[0], **change}
    assert fit_sums([bad, *SUMS]).reports_refused_ == {reason: 1}
    with pytest.raises(ValueError, match=f"refused: 1 '{reason}'"):
        fit_sums([bad])


@pytest.mark.parametrize("parameters", [{"epsilon": 0.9}, {"min_reports": 6}, {"n_servers": 3}, {"max_reports": 499}])
def test_sums_of_another_protocol(parameters):
    with pytest.raises(ValueError, match="2 'another protocol'"):
        fit_sums(SUMS, **parameters)
    with pytest.raises(ValueError, match="2 'another protocol'"):
        fit_sums(SUMS, items=4)


class Few(BradleyTerryRule):
    """Asks about two pairs only, which a curator prices as such, and devices as all."""

    def asks(self, n_items):
        return [Ask(PairTallies(((0, 1), (2, 3))))]

    def aggregate(self, session):
        return Consensus(np.argsort(-session.answer(self.asks(4)[0].query)[0].wins.sum(axis=1)))


@pytest.mark.parametrize(
    ("estimator", "m", "reason"),
    [
        (SecAggBorda(epsilon=1e-6, delta=1e-150, min_reports=1), 3, "NetWins with so much noise leave the range"),
        (Aggregator(SecureAggregation(min_reports=10**9), "plurality"), 3, "so much noise leave the range of 53 bits"),
        (
            Aggregator(SecureAggregation(min_reports=10), InstantRunoffRule()),
            9,
            "362,880 numbers, and devices send 200,",
        ),
        (Aggregator(SecureAggregation(min_reports=10, release=AllMargins())), 700, "244,650 numbers"),
        (Aggregator(SecureAggregation(min_reports=10), Few()), 4, "epsilon must be what min_reports give, as devices"),
        (Aggregator(SecureAggregation(min_reports=10), Choose(Footrule())), 3, "devices have no form for Footrule"),
    ],
    ids=str,
)
def test_what_devices_cannot_send(estimator, m, reason):
    """One clear error, before a device is asked."""

    def asked(question):
        raise AssertionError("voters were asked")

    for run in (
        lambda: estimator.protocol(m),
        lambda: estimator.client(m),
        lambda: estimator.fit_sums([], items=m),
        lambda: estimator.fit_interactive(asked, items=m, n_voters=10**9),
    ):
        with pytest.raises(ValueError, match=f"voters' devices cannot send what this rule asks for.*{reason}"):
            run()
    assert not hasattr(estimator, "fit_reports")


# --- ballots of bounded length

LISTS = [[0, 1, NAN, NAN], [1, 0, NAN, NAN], [0, 1, 2, 3]] * 40


def test_short_ballots_need_less_noise():
    short, plain = (SecureAggregation(1.0, max_listed=k).plan([Ask(NetWins())], 20, 500) for k in (3, None))
    rates = [plan.prices[NetWins()].mechanism.rate for plan in (short, plain)]
    assert float(rates[0] / rates[1]) == pytest.approx(3 * 8 / (20 * 399), rel=0.02)
    assert short.protocol["max_listed"] == 3 and "max_listed" not in plain.protocol
    assert (
        short.guarantee.how
        == f"{plain.guarantee.how}, calibrated to ballots of at most 3 items (longer ones count less)"
    )
    assert short.protocol["modulus_bits"] < plain.protocol["modulus_bits"]
    assert SecureAggregation(1.0, max_listed=20).plan([Ask(NetWins())], 20, 500).protocol == plain.protocol


@pytest.mark.parametrize("query", [NetWins(), AllMargins(), PositionalScores((3.0, 2.0, 1.0, 0.0))], ids=str)
def test_fit_and_devices_count_long_ballots_alike(query):
    """On average, as much as a profile with the bound does."""
    profile = Profile.from_rankings(LISTS, max_listed=2)
    expected = query.vector(profile, None) / WEIGHT_GRID
    channel = SecureAggregation(1000.0, 0.5, min_reports=120, max_listed=2)
    plan = channel.plan([Ask(query)], 4)
    opened, received = plan.open(Profile.from_rankings(LISTS)), plan.open(collected(plan.protocol, LISTS, 1))
    answers = [query.read(expected, 4)] + [opened(Bits.from_random_state(seed)).answer(query) for seed in range(60)]
    expected, *simulated = (np.ravel(answer) for answer in answers)
    spread = np.std(simulated, axis=0) + 1e-9
    assert (np.abs(np.mean(simulated, axis=0) - expected) <= 5 * spread / 60**0.5 + 1e-6 * np.abs(expected)).all()
    sent = np.ravel(received(Bits.from_random_state(0)).answer(query))
    assert (np.abs(sent - expected) <= 6 * spread + 1e-6 * np.abs(expected)).all()


def test_the_bound_is_a_parameter_of_estimators():
    estimator = SecAggBorda(epsilon=2.0, min_reports=120, max_listed=2, random_state=0)
    protocol = estimator.protocol(4)
    assert protocol["max_listed"] == 2
    sums = collected(protocol, LISTS, 3)
    assert estimator.fit_sums(sums, items=4).reports_accepted_ == 120
    with pytest.raises(ValueError, match="another protocol"):
        SecAggBorda(epsilon=2.0, min_reports=120).fit_sums(sums, items=4)
    assert estimator.fit(LISTS).ranks_.shape == (4,)
    with pytest.raises(ValueError, match="max_listed must be None or an integer of at least 2, got 1"):
        SecAggBorda(max_listed=1).fit(LISTS)
    with pytest.raises(ValueError, match="build the Profile with keep='positions'"):
        estimator.fit(Profile.from_rankings(LISTS, keep="counts"))


def test_statistics_that_devices_cannot_cut_are_refused():
    with pytest.raises(ValueError, match="cannot cut ballots; leave out max_listed"):
        Aggregator(SecureAggregation(max_listed=2), Choose(Footrule())).fit([[0, 1, 2]] * 50)
