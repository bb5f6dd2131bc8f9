"""Estimators name the method that collects from devices, if the called one does not fit their channel."""

import pytest

from sklearn_dprank import DPBorda, DPStreamingBorda, LDPAdaptivePairs, LDPPairwise, SecAggBorda
from sklearn_dprank.collection import Device

ITEMS = ["tea", "milk", "water"]


@pytest.mark.parametrize(
    ("estimator", "method", "why"),
    [
        (
            SecAggBorda(),
            "fit_reports",
            "servers add up what devices send: fit_sums(sums, items=...).",
        ),
        (LDPAdaptivePairs(), "fit_reports", "devices are asked in rounds: fit_interactive(ask, items=..., n_voters"),
        (LDPPairwise(), "fit_interactive", "with Local, each device reports once: fit_reports(reports, items=...)."),
        (LDPPairwise(), "partial_fit", "each device reports once"),
        (DPBorda(), "protocol", "with Central, a curator holds all ballots: fit(X)."),
        (DPStreamingBorda(), "fit_sums", "with Streaming, ballots come period by period: partial_fit(X)."),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_a_missing_method_names_the_one_that_exists(estimator, method, why):
    assert not hasattr(estimator, method)
    with pytest.raises(AttributeError, match=f"has no attribute '{method}'") as error:
        getattr(estimator, method)
    assert why in str(error.value.__cause__)


def test_an_order_only_has_no_intervals():
    fitted = DPBorda(noise="knorm").fit([[0, 1, 2]] * 9)
    with pytest.raises(AttributeError) as error:
        fitted.rank_intervals()
    assert str(error.value.__cause__).startswith("this fit published only an order")


@pytest.mark.parametrize(
    ("epsilons", "got"),
    [(2.0, "2.0"), ([], "a list"), ("12", "'12'"), (True, "True"), (LDPPairwise(), "LDPPairwise()")],
)
def test_a_grid_that_is_none(epsilons, got):
    with pytest.raises(ValueError) as error:
        LDPPairwise().fit_reports([], items=ITEMS, epsilons=epsilons)
    assert str(error.value) == f"epsilons must list at least one epsilon, such as epsilons=[1.0, 2.0], got {got}."


def test_a_grid_in_any_iterable():
    estimator = LDPPairwise()
    reports = [Device(estimator.protocol(ITEMS, epsilon=epsilon)).report([0, 1, 2]) for epsilon in (1.0, 4.0)]
    fitted = estimator.fit_reports(reports, items=ITEMS, epsilons=(epsilon for epsilon in (1.0, 4.0)))
    assert (fitted.reports_accepted_, fitted.privacy_.epsilon) == (2, 4.0)
