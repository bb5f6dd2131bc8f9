"""The example of top-k lists: recall and the laws of two mechanisms."""

import math

import numpy as np
import pytest
from audit_tools import log_flipped_law

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.mark.slow
def test_what_is_found(example, tmp_path, is_picture):
    """All of it with much epsilon, about k / m with next to none."""
    top = example("plot_top_k")
    votes = top.mallows(1000, 6, 0.4)
    results = top.compare(votes, (1, 3), (1e-6, 2.0), 60)
    for k, result in zip((1, 3), results, strict=True):
        assert list(result) == ["DPTopK", "DPBorda, K-norm noise", "DPPrudentOrder"]
        for shares in result.values():
            assert shares.shape == (2, 60) and set(np.unique(shares)) <= set(np.arange(k + 1) / k)
            assert shares[1].mean() == 1
            assert shares[0].mean() == pytest.approx(k / 6, abs=4 * math.sqrt(k / 6 / 60 / k))
    assert "DPPrudentOrder" not in top.whole_orders(17)
    top.draw(votes, (1, 3), (1e-6, 2.0), results, 1, tmp_path)
    assert is_picture(tmp_path / "top_k_figure_1.png")


def test_laws_of_two_mechanisms(example):
    top = example("plot_top_k")
    penalties = np.array([0.0, 0.3, 0.3, 2.0, 5.0])
    np.testing.assert_allclose(np.log(top.flipped(penalties)), log_flipped_law(penalties))
    assert top.flipped(np.array([0.0, 1.0])).tolist() == pytest.approx([1 - math.exp(-1) / 2, math.exp(-1) / 2])
    assert top.exponential(np.array([0.0, 1.0])).tolist() == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.e)])
    flips, other = top.expected_errors(top.mallows(500, 4, 0.3), (1e-9, 0.05, 5.0)).values()
    assert (flips <= other).all() and flips[1, 0] < 0.9 * other[1, 0]
    assert flips[0, 0] == pytest.approx(other[0, 0], rel=1e-6) and flips[2, 0] < 1e-6
