"""Each check lets good values pass and has one message."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sklearn_dprank import Borda, DPBorda, LDPBorda, LDPPairwise
from sklearn_dprank._utils.checks import MOST_MEASURED, check_delta, check_epsilon, check_neighboring, safe_repr
from sklearn_dprank.ballots.profile import Shape


@pytest.mark.parametrize("epsilon", [1, 1e-9, 700.0, Fraction(1, 3), np.float32(2), np.int64(3)], ids=repr)
def test_good_epsilon(epsilon):
    check_epsilon(epsilon)


@pytest.mark.parametrize(
    "epsilon",
    [0, -0.0, -1, math.inf, -math.inf, math.nan, "1", None, [1.0], 1j, Decimal(1), np.float64("nan")],
    ids=repr,
)
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError) as error:
        check_epsilon(epsilon)
    assert str(error.value) == f"epsilon must be a positive, finite number (in nats), got {safe_repr(epsilon)}."
    with pytest.raises(ValueError, match=r"^local_epsilon must be a positive"):
        check_epsilon(epsilon, "local_epsilon")


@pytest.mark.parametrize("delta", [0, 0.0, 1e-200, 0.5, Fraction(1, 3), np.float32(0.25)], ids=repr)
def test_good_delta(delta):
    check_delta(delta)


@pytest.mark.parametrize("delta", [-1e-300, 1, 1.0, 2, math.inf, math.nan, "0", None, [0.1]], ids=repr)
def test_bad_delta(delta):
    with pytest.raises(ValueError) as error:
        check_delta(delta)
    assert str(error.value) == f"delta must be a number in [0, 1), got {safe_repr(delta)}."
    with pytest.raises(ValueError, match=r"^delta0 must be a number"):
        check_delta(delta, "delta0")


@pytest.mark.parametrize("epsilon", [5e-324, 9.99e-10, Fraction(1, 2**31), np.float32(1e-10)], ids=repr)
def test_epsilon_too_small(epsilon):
    with pytest.raises(ValueError) as error:
        check_epsilon(epsilon, "score_epsilon")
    assert str(error.value) == f"score_epsilon is too small for the arithmetic, got {epsilon!r}; use at least 1e-09."


def test_epsilon_too_large_for_a_double():
    with pytest.raises(ValueError, match="epsilon must be a positive, finite number"):
        check_epsilon(10**400)


@pytest.mark.parametrize("delta", [5e-324, 1e-201, Fraction(1, 10**300)], ids=repr)
def test_delta_too_small(delta):
    with pytest.raises(ValueError) as error:
        check_delta(delta)
    assert (
        str(error.value) == f"delta is too small for the arithmetic, got {safe_repr(delta)}; use at least 1e-200, or 0."
    )


def test_neighboring():
    for relation in ("add_remove", "replace"):
        check_neighboring(relation)
    for relation in ("swap", None, "", 1):
        with pytest.raises(ValueError) as error:
            check_neighboring(relation)
        assert str(error.value) == f"neighboring must be one of ['add_remove', 'replace'], got {relation!r}."


def test_more_items_than_were_measured():
    DPBorda().plan_for(Shape(MOST_MEASURED, 10))
    for estimator in (Borda(), DPBorda(), LDPPairwise()):
        with pytest.warns(UserWarning, match=r"^1,001 items are more than the 1,000 up to which"):
            estimator.plan_for(Shape(MOST_MEASURED + 1, 10))
    with pytest.warns(UserWarning) as said:
        LDPBorda(random_state=0).fit([range(1001)])
    assert [each.filename for each in said] == [__file__]
