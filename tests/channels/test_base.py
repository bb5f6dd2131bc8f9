"""Invalid input: every message names the parameter and the remedy, and none quotes a ballot."""

from fractions import Fraction
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from every_estimator import CLASSES, parameters

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPStreamingBorda,
    Kemeny,
    LDPAdaptivePairs,
    LDPBorda,
    LDPPairwise,
    LDPQuickSort,
    SecAggBorda,
    ShufflePairwise,
)
from sklearn_dprank.ballots.profile import Profile, Shape

GOOD = [[0, 1, 2], [1, 0, 2]]
SECRET = 271828  # a ballot value that must not appear in any message


def message(call, *arguments, error=ValueError, **named):
    with pytest.raises(error) as found:
        call(*arguments, **named)
    text = str(found.value)
    assert str(SECRET) not in text
    # Nothing hangs on it that would quote a ballot in a traceback's "during handling of".
    cause = found.value
    while cause is not None:
        assert str(SECRET) not in str(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return text


# Ballots


@pytest.mark.parametrize("estimator", [Borda(), DPBorda(), LDPPairwise(), ShufflePairwise(), Kemeny()], ids=repr)
@pytest.mark.parametrize(
    ("ballots", "expected"),
    [
        ([0, 1, SECRET], "X must have two dimensions, (n_voters, n_items): one row a voter."),
        (SECRET, "X must have two dimensions"),
        ([], "X is an empty list and holds no ballot; to read ballots in parts, use Profile.from_chunks"),
        ([[]], "0 feature(s) (shape=(1, 0)) while a minimum of 2 is required"),
        (np.empty((0, 3)), "0 sample(s) (shape=(0, 3)) while a minimum of 1 is required"),
        ([[SECRET], [1]], "1 feature(s) (shape=(2, 1)) while a minimum of 2 is required"),
        ([["first", str(SECRET)]], "X must hold numbers (NaN for no opinion), got text"),
        (
            pd.DataFrame({"tea": [1, 2], "milk": [f"{SECRET} n/a", "3"]}),
            "got text in column 'milk'. Leave out a column that is not an item. Read orders of names by",
        ),
        (pd.DataFrame({"tea": pd.to_datetime([SECRET]), "milk": [1]}), "got dates in column 'tea'."),
        ([[10**400 + SECRET, 1]], "X must hold numbers that floats can hold, and column 0 holds a larger one"),
        (f"{SECRET}.soc", "X is a str, not ballots; read a PrefLib file with sklearn_dprank.datasets.read_preflib"),
        (Path(f"{SECRET}.soc"), "sklearn_dprank.datasets.read_preflib, and pass on its `profile`."),
        (StringIO(f"{SECRET}"), "X is a StringIO, not ballots; read a PrefLib file with"),
        (([row] for row in [[SECRET, 1]]), "X is a generator, not ballots; count a stream of tables with"),
        ({"tea": [SECRET], "milk": [1]}, "X is a dict, not a table (n_voters, n_items) of ballots; pass pandas"),
        ([{"tea": SECRET, "milk": 1}], "X is a list of dicts, not a table (n_voters, n_items) of ballots; if each"),
        ([[SECRET, 1, 2], [1]], "X has an inhomogeneous shape: each ballot must have an entry for each item"),
        ([[SECRET + 1j, 2]], "Complex data not supported: X must hold real numbers (positions)."),
    ],
)
def test_bad_ballots(estimator, ballots, expected):
    if hasattr(estimator, "random_state"):
        estimator.set_params(random_state=0)
    assert expected in message(estimator.fit, ballots)


# Other items at score than at fit

FRAME = pd.DataFrame(GOOD, columns=["tea", "milk", "wine"])


def test_profiles_of_other_items():
    fitted = Borda().fit(Profile.from_rankings(FRAME))
    assert fitted.feature_names_in_.tolist() == ["tea", "milk", "wine"]
    text = message(fitted.score, Profile.from_rankings([[0, 1, 2, SECRET]]))
    assert text == "X has 4 items, but Borda is expecting 3 items as input."
    for other in (["tea", "milk", "beer"], ["milk", "tea", "wine"]):
        text = message(fitted.score, Profile.from_rankings(GOOD, items=other))
        assert text == "The item names should match those that were passed during fit, in the same order."
    assert fitted.score(Profile.from_rankings(GOOD)) == fitted.score(FRAME)


# Reports


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (1, "items must name at least two items, got 1."),
        ([], "items must name at least two items, got 0."),
        (["tea", "tea"], "items must be distinct, and 'tea' stands twice; rename one, or leave it out."),
        ([7, 8, 7], "items must be distinct, and 7 stands twice; rename one, or leave it out."),
        ("tea", "items must list one name an item, got 'tea'; pass a list of names."),
        ({"tea", "milk"}, "items must list one name an item, got a set; pass a list of names."),
        ([("tea", 1), ("tea", 2)], "items must be all strings or all whole numbers, got tuple; rename the items."),
        ([True, False], "items must be all strings or all whole numbers, got bool; rename the items."),
    ],
)
def test_bad_items(items, expected):
    assert message(LDPPairwise().client, items) == expected
    assert message(LDPPairwise().protocol, items) == expected
    assert message(LDPPairwise().fit_reports, [], items=items) == expected
    assert message(LDPQuickSort().fit_interactive, list, items=items, n_voters=3) == expected


BALLOTS = [[0, 1, 2]] * 5


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [cls for cls in CLASSES if "epsilon" in parameters(cls) and not cls.__name__.startswith("SecAgg")],
)
def test_epsilon_and_delta_of_every_kind(estimator):
    """Fractions and single precision are numbers too, and never understated; what is too small is named."""
    for epsilon in (Fraction(1, 3), np.float32(0.3), 1):
        stated = estimator(epsilon=epsilon, random_state=0).fit(BALLOTS).privacy_.epsilon
        assert type(stated) is float and stated == pytest.approx(float(epsilon), rel=1e-12)
    with pytest.raises(ValueError, match=r"^epsilon is too small for the arithmetic, got 5e-324; use at least 1e-09"):
        estimator(epsilon=5e-324).fit(BALLOTS)
    if "noise" in estimator().get_params():
        for delta in (Fraction(1, 10**6), np.float32(1e-6)):
            promise = estimator(delta=delta, noise="gaussian", random_state=0).fit(BALLOTS).privacy_
            assert type(promise.delta) is float and promise.delta >= delta
        with pytest.raises(
            ValueError, match=r"^delta is too small for the arithmetic, got 1e-201; use at least 1e-200, or 0"
        ):
            estimator(delta=1e-201, noise="gaussian").fit(BALLOTS)


ITEMS = ["tea", "milk", "water"]


@pytest.mark.parametrize(
    ("estimator", "method", "why"),
    [
        (SecAggBorda(), "fit_reports", "servers add up what devices send: fit_sums(sums, items=...)."),
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
    assert not hasattr(Aggregator("local"), method)  # nor has one with a wrong channel


@pytest.mark.parametrize(
    ("epsilons", "got"),
    [(2.0, "2.0"), ([], "a list"), ("12", "'12'"), (True, "True"), (LDPPairwise(), "LDPPairwise()")],
)
def test_invalid_grids_of_epsilons_are_refused(epsilons, got):
    with pytest.raises(ValueError) as error:
        LDPPairwise().fit_reports([], items=ITEMS, epsilons=epsilons)
    assert str(error.value) == f"epsilons must list at least one epsilon, such as epsilons=[1.0, 2.0], got {got}."


# Numbers of items


def test_a_plan_warns_of_more_items_than_were_measured():
    DPBorda().plan_for(Shape(1000, 10))
    for estimator in (Borda(), DPBorda(), LDPPairwise()):
        with pytest.warns(UserWarning, match=r"^1,001 items are more than the 1,000 up to which"):
            estimator.plan_for(Shape(1001, 10))


def test_the_warning_names_the_line_of_the_user():
    with pytest.warns(UserWarning) as caught:
        LDPBorda(random_state=0).fit([range(1001)])
    assert [warning.filename for warning in caught] == [__file__]
