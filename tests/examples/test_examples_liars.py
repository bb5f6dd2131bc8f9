"""The example of liars: the attack, and how many voters it takes with hidden and with assigned pairs."""

import numpy as np
import pytest

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
def test_whole_example(verdicts, tmp_path, is_picture):
    found = verdicts("plot_liars", "--pictures", str(tmp_path))
    assert len(found) == 1 and set(found.values()) == {"held"}
    assert is_picture(tmp_path / "liars.png")
