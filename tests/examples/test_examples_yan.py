"""The reproduction of Yan et al. (2020) measures what it states: small settings, known answers, pictures."""

import numpy as np
import pytest
from example_tools import means

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture
def yan(example):
    return example("plot_yan_2020")


@pytest.fixture
def tables(example):
    return example("plot_yan_2020_tables")


@pytest.fixture
def votes(example):
    return example("_shared").mallows(1000, 6, 0.5)


# Figures 3 and 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rr", "laplace"])
def test_one_query_is_best_at_epsilon_1(yan, votes, name, tmp_path, is_picture):
    result = yan.sweep_queries(votes, name, (1.0,), 30)
    rates = means(result[1.0][..., yan.ERROR_RATE])
    assert rates[0] == rates.min() and rates[-1] > rates[0] + 0.1
    assert yan.good_choices([votes], [result]) == {1.0: [True]}
    yan.draw_queries([result], [votes], name, 4, tmp_path)
    assert is_picture(tmp_path / "yan_figure_4.png")


# Figure 5


def test_errors_fall_with_epsilon_and_are_larger_in_the_local_model(yan, votes):
    result = yan.sweep_epsilon(votes, (0.1, 5.0), 6)
    kwiksort, central, rr, laplace = (means(np.moveaxis(result[name], 1, -1)) for name in yan.NAMES)
    for local in (rr, laplace):
        assert (local[1] < local[0]).all()  # both the distance and the error rate
        assert local[0, 0] > central[0, 0] > kwiksort[0, 0] - 1e-12
    assert kwiksort[:, yan.ERROR_RATE].max() == 0


# Figure 6


@pytest.mark.slow
def test_errors_of_few_voters_are_ordered_as_in_the_paper(yan, votes, tmp_path, is_picture):
    """Without privacy, 1000 voters (67 per pair) are enough for the order of exact KwikSort."""
    numbers = yan.voter_numbers(votes)
    assert numbers == [10, 30, 100, 300, 1000]
    by_voters = yan.sweep_voters(votes, numbers, 20)
    for lower, upper in (("KwikSort", yan.TRUTHFUL), (yan.TRUTHFUL, yan.RR), (yan.RR, yan.LAPLACE)):
        assert yan.gap(by_voters, upper, lower).mean() > 0.005, f"{lower} and {upper}"
    assert yan.gap(by_voters, yan.TRUTHFUL, "KwikSort")[-1] < 0.005
    yan.draw_voters([by_voters], [votes], tmp_path)
    assert is_picture(tmp_path / "yan_figure_6.png")


# Tables and theorems


def test_wrong_pairs_are_as_rare_as_the_theorems_state(tables):
    rr, laplace = (tables.wrong_pairs(5000, 10, 0.5, name, 4) for name in tables.RANDOMIZERS)
    assert rr[1] == pytest.approx(0.24, abs=0.005) and rr[2] == pytest.approx(19.23, abs=0.005)
    for found, corrected, printed in (rr, laplace):
        assert found.mean() <= corrected + 1 and corrected < printed / 2
    assert tables.wrong_pairs(100, 10, 0.25, "rr", 3)[0].mean() > 5  # few voters: many wrong pairs
