"""The reproduction of Alabi et al. (2022), central and local, measures what it states: known answers and pictures."""

import numpy as np
import pytest
from example_tools import stand_ins_and_real

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("closed_pictures")


@pytest.fixture
def central(example):
    return example("plot_alabi_2022_central")


# The central model


def test_two_camps_have_one_margin_and_the_order_of_the_larger_camp(central):
    profile, order = central.two_camps(1000, 6, 0.02)
    assert np.unique(np.abs(profile.margins[~np.eye(6, dtype=bool)])).tolist() == [20]
    assert central.kemeny_positions(profile).tolist() == order.tolist()


@pytest.mark.slow
@stand_ins_and_real
def test_verdicts_of_alabi(verdicts, folder, monkeypatch):
    """The settings of the example itself."""
    if folder:
        monkeypatch.setenv("SKLEARN_DPRANK_DATA", folder)
    title = "SUSHI" if folder else "Mallows in place of SUSHI"
    assert verdicts("plot_alabi_2022_central") == {
        f"on {title} the error falls faster than 1/n": "held",
        "the error of each corollary is below what is proved": "held",
        "the error on the hardest votes falls as 1/n": "held",
        "it grows no faster with m than printed, to .3 in the exponent": "held",
        "the error of Corollary 6 grows slower with m than that of Corollary 3": "held",
        "the error of Hay et al. (2017) grows slower with m than that of Corollary 3": "held",
        "the error of Corollary 7 grows slower with m than that of Corollary 4": "failed",
        "Corollary 6 is nearer to the votes than Corollary 3, m = 10 and 12": "failed",
        "Corollary 7 is nearer to the votes than Corollary 4, m = 10 and 12": "failed",
        "Gaussian noise is nearer to hard votes, m^3 against m^4 and m^2.5 against m^3": "held",
        "no pure mechanism needs fewer voters than Theorem 13 says": "held",
    }
