"""The reproduction of Song et al. (2022) measures what it states: small settings, known answers, pictures."""

import math

import numpy as np
import pytest
from example_tools import stand_ins_and_real

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture
def song(example):
    return example("plot_song_2022")


def test_the_theorem_allows_a_local_epsilon_that_is_too_large(song):
    """With 15 items, a voter of 100 hides among no others, and the two epsilons are equal."""
    local, message = song.claimed_local_epsilon(1.0, 4)
    assert local == pytest.approx(1 + math.log(16)) and "false" in message
    assert song.claimed_local_epsilon(1.0, 15)[0] == 1.0


# Accounting of Theorems 1 and 2


@pytest.mark.slow
def test_the_true_central_epsilon_is_above_small_claims(song, tmp_path, is_picture):
    """With 4 items. With 15 items, shuffling has no effect."""
    claimed, _, spent, true, stated = song.accounting(4).T
    assert true == pytest.approx([0.414, 0.438, 0.492, 0.633, 0.864], abs=6e-4)
    assert (true > claimed).tolist() == [True, True, False, False, False]
    assert (true < spent).all()
    assert (true <= stated + 1e-9).all() and stated == pytest.approx(true, rel=0.03)
    many = [0.018, 0.046, 0.092, 0.184, 0.368]
    assert song.accounting(15)[:, 2:] == pytest.approx(np.outer(many, [1, 1, 1]), abs=6e-4)
    song.draw_accounting(tmp_path)
    assert is_picture(tmp_path / "song_accounting.png")


# Figures


@pytest.mark.slow
@stand_ins_and_real
def test_verdicts_of_song(verdicts, folder, monkeypatch):
    """The settings of the example itself."""
    if folder:
        monkeypatch.setenv("SKLEARN_DPRANK_DATA", folder)
    found = verdicts("plot_song_2022")
    nearer = "DDP-Helnaksort is nearer to the votes than either other at K = 1, m, max"
    expected = {
        "with n = 100, m = 4, K = 1, the claimed central epsilon is kept": "in part",
        f"{nearer} (published noise)": "not enough power",
        f"{nearer} (exact noise)": "in part",
        "K = 1 is best, up to two standard errors (published noise)": "held",
        "K = 1 is best, up to two standard errors (true noise)": "in part",
        "shuffling helps at equal epsilon (published accounting)": "in part",
        "shuffling helps at equal epsilon (true accounting)": "not enough power",
    }
    assert {claim: found[claim] for claim in expected} == expected
