"""The examples of features measure what they state, and their claims hold."""

import math

import numpy as np
import pytest
from audit_tools import log_flipped_law
from scipy.stats import kendalltau

from sklearn_dprank import DPBorda, DPStreamingBorda, LDPBorda, LDPPairwise
from sklearn_dprank.ballots import Profile
from sklearn_dprank.channels.streaming import root_weights
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import average_kendall_tau, kemeny_positions
from sklearn_dprank.privacy import PrivacyGuarantee

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("closed_pictures")


def test_the_simulated_curator_is_the_real_one(example):
    """With no liars, the winner is that of `LDPPairwise`, from the same seed."""
    made = example("plot_liars")
    voters = made.electorate(make_mallows(1000, 20, 0.9, center=range(20), random_state=7))
    honest = Profile.from_rankings(voters.ballots)
    for seed in range(3):
        for way in ("hidden", "assigned"):
            fitted = LDPPairwise(made.EPSILON, pairs=way, random_state=seed).fit(voters.ballots)
            assert made.POLLS[f"LDPPairwise, {way}"](voters, honest, 0, seed) == fitted.consensus_[0]
        fitted = LDPBorda(made.EPSILON, random_state=seed).fit(voters.ballots)
        assert made.POLLS["LDPBorda"](voters, honest, 0, seed) == fitted.consensus_[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_claims", "pictures"),
    [
        ("plot_liars", 1, ["liars"]),
        ("plot_segments", 5, ["segments_pooled", "segments_alone", "segments_pure", "segments_errors"]),
    ],
)
def test_every_claim_holds(verdicts, tmp_path, is_picture, name, n_claims, pictures):
    found = verdicts(name, "--pictures", str(tmp_path))
    assert len(found) == n_claims and set(found.values()) == {"held"}
    assert all(is_picture(tmp_path / f"{picture}.png") for picture in pictures)


def test_shares_have_the_guarantee_of_one_release(example):
    made = example("plot_segments")
    parts = [fit.fit([[0, 1]] * 2).privacy_ for fit in made.shares(0.3, 0)]
    assert len(parts) == len(made.REGIONS) == len({fit.random_state for fit in made.shares(0.3, 1)})
    assert math.fsum(part.epsilon for part in parts) == pytest.approx(0.3)
    assert math.fsum(part.delta for part in parts) == pytest.approx(made.DELTA)


@pytest.fixture(scope="module")
def streaming(example):
    return example("plot_streaming")


@pytest.mark.parametrize("days", [1, 7, 365])
def test_noise_is_that_of_the_package(streaming, days):
    weights = root_weights(days) / 2**16
    assert streaming.correlated(days) == pytest.approx(weights @ weights, rel=1e-3)
    assert streaming.a_fresh_release_a_day(days) == math.sqrt(days)
    assert streaming.binary_tree(1) == 1
    assert streaming.binary_tree(3) == pytest.approx(math.sqrt(2 * 4 / 3))  # two lengths; days 1, 10 and 11


def test_fresh_releases_have_the_budget_of_the_stream(streaming):
    each = streaming.fresh_releases(30).fit([[0, 1, 2]]).privacy_
    together = PrivacyGuarantee.compose([each] * 30, delta=streaming.DELTA)
    stream = DPStreamingBorda(streaming.EPSILON, streaming.DELTA, 30).fit([[0, 1, 2]]).privacy_
    assert together.epsilon == pytest.approx(stream.epsilon, rel=1e-6)
    assert isinstance(streaming.fresh_releases(30), DPBorda)


def test_who_meets_whom(example):
    found = example("plot_swiss").rounds(45, 0.1)
    sizes = [[45], [18, 18, 9], [4, 9, 9, 9, 9, 5]]
    assert [meet.sum() for meet, _ in found] == [sum(k * k for k in groups) for groups in sizes]
    squares = [sum(k * (k * k - 1) for k in groups) / share for groups, share in zip(sizes, (6, 4, 5), strict=True)]
    noise = np.array([deviation for _, deviation in found])
    np.testing.assert_allclose(noise / noise[0], np.sqrt(np.array(squares) / squares[0]))


def test_laws_of_two_mechanisms(example):
    top = example("plot_top_k")
    penalties = np.array([0.0, 0.3, 0.3, 2.0, 5.0])
    np.testing.assert_allclose(np.log(top.flipped(penalties)), log_flipped_law(penalties))
    assert top.flipped(np.array([0.0, 1.0])).tolist() == pytest.approx([1 - math.exp(-1) / 2, math.exp(-1) / 2])
    assert top.exponential(np.array([0.0, 1.0])).tolist() == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.e)])
    flips, other = top.expected_errors(top.mallows(500, 4, 0.3), (1e-9, 0.05, 5.0)).values()
    assert (flips <= other).all() and flips[1, 0] < 0.9 * other[1, 0]
    assert flips[0, 0] == pytest.approx(other[0, 0], rel=1e-6) and flips[2, 0] < 1e-6


@pytest.mark.slow
def test_the_sweep_prints_what_its_search_found(example, capsys):
    made = example("plot_sweep")
    search, optimum = made.search, average_kendall_tau(kemeny_positions(made.votes), made.votes)
    means = search.cv_results_["mean_test_score"]
    assert means[-1] == pytest.approx(-optimum)  # Kemeny
    epsilons = np.array([params.get("aggregator__epsilon", np.inf) for params in search.cv_results_["params"]])
    assert search.best_params_["aggregator__epsilon"] == epsilons[means >= means.max() - 0.005].min() < 1
    assert search.privacy_.epsilon == 0
    assert len(made.display.errors) == 5
    assert np.isclose(made.display.floor, optimum)
    printed = capsys.readouterr().out
    assert str(search.best_estimator_[-1].consensus_) in printed
    assert "DPBorda(noise='knorm')" in printed


@pytest.mark.slow
def test_the_leaderboard_finds_the_order_that_net_wins_miss(example):
    made = example("plot_leaderboard")
    best, worst = made.leaderboard.rank_intervals().T
    assert ((best <= np.arange(20)) & (np.arange(20) <= worst)).all()  # model A is the best
    ((rounds, net_wins),) = ([line.get_ydata() for line in ax.lines] for ax in made.figure.axes)
    assert (rounds[2:] > 0.97).all() and (net_wins < 0.75).all()


@pytest.mark.slow
def test_the_picture_of_popularity_has_the_stated_taus(example):
    truth, counts, found = example("measure_popularity").rankings()
    taus = [kendalltau(truth, ranks).statistic for ranks in found.values()]
    assert taus == pytest.approx([0.95, 0.52, 0.85], abs=0.006)
    pivot = list(found.values())[1]
    assert kendalltau(pivot, -counts).statistic > 0.9  # it is an order by the number of ratings


@pytest.mark.slow
def test_the_displays_show_the_votes(example):
    """The exact counts, two orders, and intervals that contain the true ranks."""
    made = example("plot_displays")
    net_wins = made.profile.net_wins
    best, worst = made.more.rank_intervals().T
    true = np.array([(net_wins > each).sum() for each in net_wins])
    assert ((best <= true) & (true <= worst)).all()
    displays = [made.margins, made.swapped, made.consensus, made.certain, made.utility, made.distances, made.queries]
    assert all(display.figure_.axes for display in displays)
    assert made.optimum.consensus_.tolist() != made.private.consensus_.tolist()
    assert min(each.mean() for errors in made.utility.errors.values() for each in errors) >= made.utility.floor


@pytest.mark.slow
def test_less_trust_needs_more_epsilon(example, monkeypatch, capsys, tmp_path, is_picture):
    monkeypatch.setattr("sys.argv", ["plot_mechanisms.py", str(tmp_path / "mechanisms.png")])
    made = example("plot_mechanisms").display
    excess = [100 * (errors.mean(axis=1) - made.floor) for errors in made.errors.values()]
    assert all(errors[0] > 10 and errors[-1] < 0.1 * errors[0] for errors in excess)
    curator, _, servers, shuffler, nobody = (np.interp(2, errors[::-1], made.epsilons[::-1]) for errors in excess)
    assert curator < servers < shuffler < nobody
    assert capsys.readouterr().out.startswith("epsilon     0.01 ")
    assert is_picture(tmp_path / "mechanisms.png")
