"""What the reproductions of papers share: votes, scores, claims, tables and pictures.

A failure means that an example measures something else than it states, or draws it wrongly.
"""

import numpy as np
import pytest

from sklearn_dprank.ballots.profile import Profile

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture
def shared(example):
    return example("_shared")


# Votes


@pytest.mark.parametrize(
    ("name", "distance"), [("TurkDots", 0.4075), ("TurkPuzzle", 0.3892), ("SUSHI", 0.3420), ("JESTER", 0.3806)]
)
def test_replacements_are_spread_like_the_real_votes(shared, name, distance):
    """The distance is that of Borda's order from the real votes."""
    profile = Profile.from_rankings(shared.real(name).ballots)
    borda = np.argsort(np.argsort(-profile.net_wins))
    assert shared.average_kendall_tau(borda, profile) == pytest.approx(distance, abs=0.015)


# Printed results


# Pictures
