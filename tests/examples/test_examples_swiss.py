"""The example of Swiss rounds: meetings, errors, and shares of the voters."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


def test_who_meets_whom(example):
    found = example("plot_swiss").rounds(45, 0.1)
    sizes = [[45], [18, 18, 9], [4, 9, 9, 9, 9, 5]]
    assert [meet.sum() for meet, _ in found] == [sum(k * k for k in groups) for groups in sizes]
    squares = [sum(k * (k * k - 1) for k in groups) / share for groups, share in zip(sizes, (6, 4, 5), strict=True)]
    noise = np.array([deviation for _, deviation in found])
    np.testing.assert_allclose(noise / noise[0], np.sqrt(np.array(squares) / squares[0]))


@pytest.mark.slow
def test_errors_and_shares(example, tmp_path, is_picture):
    swiss = example("plot_swiss")
    votes = swiss.mallows(2000, 30, 0.4)
    result = swiss.compare(votes, 4, epsilons=(0.01, 2.0))
    assert all(errors.shape == (2, 4) and (errors >= 0).all() for errors in result.values())
    for errors in result.values():
        assert errors[0].mean() > 1 and errors[1].mean() < 0.1
    said, counted = swiss.shares(votes, 2.0)
    assert said.shape == counted.shape == (435,)
    assert (said >= 0.5).all() and np.abs(said - counted).mean() < 0.05
    swiss.draw_shares(said, counted, tmp_path)
    swiss.draw_rounds(swiss.rounds(20, 1.0), tmp_path / "new")
    assert is_picture(tmp_path / "swiss_figure_3.png") and is_picture(tmp_path / "new" / "swiss_figure_1.png")
