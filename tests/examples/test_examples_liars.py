"""The example of liars: the attack, and how many voters it takes with hidden and with assigned pairs."""

import numpy as np
import pytest
from example_tools import DATA

from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_mallows

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture(scope="module")
def made(example):
    return example("plot_liars")


@pytest.fixture(scope="module")
def voters(made):
    return made.electorate(make_mallows(1000, 20, 0.9, center=range(20), random_state=7))


def test_the_wanted_item_is_in_the_middle(voters):
    assert voters.wanted == voters.order[10] and sorted(voters.order) == [*range(20)]
    assert np.argmax(voters.net_wins) == voters.order[0]


def test_answers_of_liars_favour_the_wanted_item(made, voters):
    rng = np.random.default_rng(0)
    winner, loser = made.answers_hidden(voters, 500, rng)
    assert set(winner.tolist()) == {voters.wanted}
    assert set(loser.tolist()) <= set(voters.order[:10].tolist())
    winner, loser = made.answers_assigned(voters, 20_000, rng)
    asked = (winner == voters.wanted) | (loser == voters.wanted)
    assert asked.mean() == pytest.approx(2 / 20, rel=0.1)  # no liar chooses its pair
    assert (winner[asked] == voters.wanted).all()
    place = np.argsort(voters.order)
    assert (place[winner[~asked]] > place[loser[~asked]]).all()


def test_wanted_item_wins_only_with_liars(made, voters):
    for poll in made.POLLS.values():
        assert made.share_won(poll, voters, 0.0, 2) == 0
        assert made.share_won(poll, voters, 0.99, 2) == 1


def test_assigned_pairs_withstand_four_times_as_many(made, voters):
    """A share that wins most polls with hidden pairs wins few with assigned ones, even if it is four times as large."""
    hidden, own = made.POLLS["LDPPairwise, hidden"], made.POLLS["LDPPairwise, assigned"]
    assert made.share_won(hidden, voters, 0.03, 9) >= 0.5
    assert made.share_won(own, voters, 4 * 0.03, 9) < 0.5


def test_the_simulated_curator_is_the_real_one(made, voters):
    """With no liars, the winner is that of `LDPPairwise`, from the same seed."""
    from sklearn_dprank import LDPBorda, LDPPairwise

    honest = Profile.from_rankings(voters.ballots)
    for seed in range(3):
        for way in ("hidden", "assigned"):
            fitted = LDPPairwise(made.EPSILON, pairs=way, random_state=seed).fit(voters.ballots)
            assert made.POLLS[f"LDPPairwise, {way}"](voters, honest, 0, seed) == fitted.consensus_[0]
        fitted = LDPBorda(made.EPSILON, random_state=seed).fit(voters.ballots)
        assert made.POLLS["LDPBorda"](voters, honest, 0, seed) == fitted.consensus_[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "votes",
    [
        pytest.param("SUSHI", marks=pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")),
        "Mallows",
        pytest.param("JESTER", marks=pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")),
    ],
)
def test_four_times_as_many_must_lie(made, example, monkeypatch, votes):
    """At epsilon 1, with the best lies known for each: to win half of the polls with the middle item."""
    if votes == "Mallows":
        ballots = make_mallows(5000, 20, 0.9, random_state=11)
    else:
        monkeypatch.setenv("SKLEARN_DPRANK_DATA", DATA)
        ballots = example("_shared").real(votes).ballots[:, :40]
    voters = made.electorate(ballots)
    hidden, own = (made.share_to_win(made.POLLS[f"LDPPairwise, {way}"], voters, 60) for way in ("hidden", "assigned"))
    print(f"{votes}: {hidden:.2%} with hidden pairs, {own:.2%} with assigned pairs")
    assert 0.005 < hidden < 0.05
    assert own >= 4 * hidden


@pytest.mark.slow
def test_whole_example(verdicts, tmp_path, is_picture):
    found = verdicts("plot_liars", "--pictures", str(tmp_path))
    assert len(found) == 1 and set(found.values()) == {"held"}
    assert is_picture(tmp_path / "liars.png")
