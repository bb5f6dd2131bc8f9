"""Invalid input: every message names the parameter and the remedy, and none quotes a ballot."""

from fractions import Fraction
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_dprank import (
    Aggregator,
    Borda,
    DPBorda,
    DPHistogram,
    DPKemenySampler,
    DPKwikSort,
    DPPairwise,
    DPPrudentOrder,
    DPStreamingBorda,
    Kemeny,
    LDPAdaptivePairs,
    LDPBorda,
    LDPGroupKwikSort,
    LDPPairwise,
    LDPQuickSort,
    PositionalRule,
    SecAggBorda,
    ShuffleHierarchical,
    ShufflePairwise,
)
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Central, Exact, Local
from sklearn_dprank.collection import Device
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.rules import KemenyRule, KwikSortRule, SortByScore

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
        ([[SECRET, np.inf]], "contains infinity"),
        ([["first", str(SECRET)]], "X must hold numbers (NaN for no opinion), got text"),
        (np.array([[1, "first", SECRET]], dtype=object), "got text in column 1; turn orders of names into"),
        (pd.DataFrame({"tea": [1, 2], "milk": [f"{SECRET} n/a", "3"]}), "got text in column 'milk'; turn orders"),
        (pd.DataFrame({"tea": [1, 2], 7: [f"{SECRET} n/a", "3"]}).set_axis([3, 7], axis=1), "got text in column 7;"),
        (pd.DataFrame({"tea": pd.Categorical([f"{SECRET}!"], ordered=True), "milk": [1]}), "got text in column 'tea';"),
        (pd.DataFrame({"tea": pd.to_datetime([SECRET]), "milk": [1]}), "got dates in column 'tea';"),
        (np.array([[SECRET, 1]], dtype="M8[D]"), "got dates in column 0;"),
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


# Privacy parameters, from estimators and from channels


@pytest.mark.parametrize("make", [DPBorda, DPKwikSort, DPPairwise], ids=lambda c: c.__name__)
def test_noise_and_delta_that_disagree(make):
    text = message(make(noise="gaussian").fit, GOOD)
    assert text == (
        "noise='gaussian' needs delta > 0, got delta=0; set delta=1e-6, say; where noise can be chosen, 'laplace' "
        "needs none."
    )
    text = message(make(delta=1e-6).fit, GOOD)
    assert text == "noise='laplace' is pure and needs delta=0, got delta=1e-06; set delta=0 or noise='gaussian'."


@pytest.mark.parametrize(
    ("estimator", "n_items", "expected"),
    [
        (DPHistogram(), 11, "all 11! rankings is explicit up to 10 items only"),
        (DPPrudentOrder(), 17, "set window=7"),
        (DPKemenySampler(), 26, "drawing by disagreements goes up to 25 items, got 26: a table of all subsets"),
        (DPKemenySampler(), 45, "Use another estimator, such as DPBorda(noise='knorm') or DPPrudentOrder(window=7)."),
        (ShufflePairwise(delta=0.0), 3, "delta must be positive in the shuffle model, got 0"),
        (ShufflePairwise(min_reports=10), 3, "min_reports=10 is above the 2 voters; no result is released."),
        (DPPairwise(rule="bradley_terry"), 3, "Central cannot answer PairTallies, which the rule asks for"),
        (LDPPairwise(randomizer="djw", rule="bradley_terry"), 3, "HypercubeSampling"),
    ],
    ids=repr,
)
def test_what_public_sizes_and_parts_rule_out(estimator, n_items, expected):
    assert expected in message(estimator.fit, np.tile(np.arange(n_items), (2, 1)))


def test_too_many_queries():
    text = message(LDPPairwise(n_queries=4).fit, GOOD)
    assert text == "n_queries must be an integer from 1 to 3, got 4."
    text = message(Aggregator(rule=KwikSortRule(max_queries=1)).fit, GOOD)
    assert "max_queries=1 can run out (the worst case is 3); set on_exhausted='coin' or 'kemeny'." in text


# Rules and scores


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Kemeny(), 'rule must be a rule, got the estimator Kemeny; use rule="kemeny".'),
        (Kemeny, 'rule must be a rule, got the estimator Kemeny; use rule="kemeny".'),
        (Borda(), 'rule must be a rule, got the estimator Borda; use rule="borda".'),
        (PositionalRule("veto"), "use rule=SortByScore(scores=...)."),
        (DPBorda(), "got the estimator DPBorda; use rule=one of ['borda'"),
    ],
    ids=repr,
)
def test_an_estimator_is_refused_as_rule(rule, expected):
    assert expected in message(DPPairwise(rule=rule).fit, GOOD)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ("best", "scores must be one of ['borda', 'plurality', 'veto'] or a vector, got 'best'."),
        ([2, 1], "scores must hold one number for each of the 3 items, got shape (2,)."),
        ([3, 2, 1, 0], "scores must hold one number for each of the 3 items, got shape (4,)."),
        ([[3, 2, 1]], "scores must hold one number for each of the 3 items, got shape (1, 3)."),
        ([np.nan, 1, 0], "scores must be finite."),
        ([np.inf, 1, 0], "scores must be finite."),
    ],
    ids=repr,
)
def test_bad_scores(scores, expected):
    assert message(PositionalRule(scores).fit, GOOD) == expected
    assert message(Aggregator(Central(), SortByScore(scores)).fit, GOOD) == expected


# Other items at score than at fit

FRAME = pd.DataFrame(GOOD, columns=["tea", "milk", "wine"])


def test_other_columns_at_score():
    fitted = Borda().fit(FRAME)
    text = message(fitted.score, FRAME.rename(columns={"wine": "beer"}))
    assert "The feature names should match those that were passed during fit." in text
    assert "beer" in text
    assert "must be in the same order" in message(fitted.score, FRAME[["milk", "tea", "wine"]])
    text = message(Borda().fit(GOOD).score, [[0, 1, 2, SECRET]])
    assert "X has 4 features, but Borda is expecting 3 features as input" in text


def test_profiles_of_other_items():
    fitted = Borda().fit(Profile.from_rankings(FRAME))
    assert fitted.feature_names_in_.tolist() == ["tea", "milk", "wine"]
    text = message(fitted.score, Profile.from_rankings([[0, 1, 2, SECRET]]))
    assert text == "X has 4 items, but Borda is expecting 3 items as input."
    for other in (["tea", "milk", "beer"], ["milk", "tea", "wine"]):
        text = message(fitted.score, Profile.from_rankings(GOOD, items=other))
        assert text == "The item names should match those that were passed during fit, in the same order."
    assert fitted.score(Profile.from_rankings(GOOD)) == fitted.score(FRAME)


def test_numbered_items_are_names():
    """Ids that are whole numbers come back as ids, not as indices."""
    ids = [30, 10, 20]
    frame = pd.DataFrame(GOOD, columns=ids)
    for ballots in (frame, Profile.from_rankings(frame), Profile.from_rankings(GOOD, items=np.array(ids))):
        fitted = Kemeny().fit(ballots)
        assert fitted.consensus_.tolist() == [[30, 10, 20], [10, 30, 20]][fitted.ranks_[0]]
        assert fitted.consensus_.dtype == object  # as an index it is an error, not another item
        assert not hasattr(fitted, "feature_names_in_")
        assert fitted.score(frame) == fitted.score(GOOD) == fitted.score(Profile.from_rankings(frame))
        for other in (
            frame[[10, 30, 20]],
            Profile.from_rankings(frame[[10, 30, 20]]),
            frame.set_axis([1, 2, 3], axis=1),
        ):
            text = message(fitted.score, other)
            assert text == "The item names should match those that were passed during fit, in the same order."
    assert Kemeny().fit(pd.DataFrame(GOOD)).consensus_.dtype == np.int64  # just numbered
    shuffled = pd.DataFrame(GOOD)[[2, 0, 1]]
    assert Borda().fit(shuffled).consensus_[-1] == 2
    assert "item names should match" in message(Borda().fit(GOOD).score, shuffled)
    assert not hasattr(Borda().fit(FRAME).fit(frame), "feature_names_in_")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["tea", "tea", "milk"], "distinct, and 'tea' stands twice; rename one, or leave it out."),
        ([1, 2, 1], "distinct, and 1 stands twice; rename one, or leave it out."),
        (["tea", 1, 2], "all strings or all whole numbers, got int and str; rename the items."),
        ([1.0, 2.0, 3.0], "all strings or all whole numbers, got float; rename the items."),
        ([("a", 1), ("a", 2), ("b", 1)], "all strings or all whole numbers, got tuple; rename the items."),
    ],
)
def test_columns_that_name_no_items(columns, expected):
    frame = pd.DataFrame(GOOD, columns=columns)
    for read in (Borda().fit, Profile.from_rankings, RatingsToRankings().fit):
        assert message(read, frame) == f"the columns of X must be {expected}"


def test_missing_values_of_pandas_are_missing_opinions():
    plain = Borda().fit([[0, 1, np.nan], [np.nan, 1, 0]])
    objects = [[0, 1, pd.NA], [None, 1, 0]]
    cells = {"a": [0, pd.NA], "b": [1, 1], "c": [pd.NA, 0]}
    for ballots in (objects, np.array(objects, dtype=object), pd.DataFrame(cells), pd.DataFrame(cells, dtype="Int64")):
        fitted = Borda().fit(ballots)
        assert fitted.ranks_.tolist() == plain.ranks_.tolist()
        assert fitted.score(ballots) == plain.score([[0, 1, np.nan], [np.nan, 1, 0]])
    assert Borda().fit(pd.DataFrame(cells)).feature_names_in_.tolist() == ["a", "b", "c"]


def test_score_before_fit():
    assert "This DPBorda instance is not fitted yet" in message(DPBorda().score, GOOD, error=NotFittedError)


# Ballots that a query needs and a profile has dropped


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
def test_counts_are_not_ballots():
    counts = Profile.from_rankings(GOOD, keep="counts")
    assert Borda().fit(counts).consensus_.tolist() == Borda().fit(GOOD).consensus_.tolist()
    for estimator in (LDPPairwise(), LDPQuickSort(), ShufflePairwise(), DPHistogram()):
        text = message(estimator.fit, counts)
        assert "needs the ballots; build the Profile with keep='positions'." in text


# Reports


def test_methods_that_do_not_apply_are_hidden():
    for estimator in (Borda(), DPBorda(), Aggregator(Central()), Aggregator(rule=Kemeny())):
        assert not any(hasattr(estimator, name) for name in ("client", "protocol", "fit_reports", "fit_interactive"))
    for estimator in (LDPPairwise(), ShufflePairwise(), Aggregator(Local())):
        assert hasattr(estimator, "client")
        assert hasattr(estimator, "fit_reports")
        assert not hasattr(estimator, "fit_interactive")
    assert hasattr(LDPQuickSort(), "fit_interactive")
    assert not hasattr(LDPQuickSort(), "fit_reports")
    assert not hasattr(LDPPairwise(rule="no rule"), "client")


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (1, "items must name at least two items, got 1."),
        ([], "items must name at least two items, got 0."),
        (["tea", "tea"], "items must be distinct, and 'tea' stands twice; rename one, or leave it out."),
        ([7, 8, 7], "items must be distinct, and 7 stands twice; rename one, or leave it out."),
        ("tea", "items must list one name an item, got 'tea'; pass a list of names."),
        (2.0, "items must list one name an item, got 2.0; pass a list of names."),
        ({"tea", "milk"}, "items must list one name an item, got a set; pass a list of names."),
        ([("tea", 1), ("tea", 2)], "items must be all strings or all whole numbers, got tuple; rename the items."),
        (["tea", 2], "items must be all strings or all whole numbers, got int and str; rename the items."),
        ([1.0, 2.0], "items must be all strings or all whole numbers, got float; rename the items."),
        ([True, False], "items must be all strings or all whole numbers, got bool; rename the items."),
    ],
)
def test_bad_items(items, expected):
    assert message(LDPPairwise().client, items) == expected
    assert message(LDPPairwise().protocol, items) == expected
    assert message(LDPPairwise().fit_reports, [], items=items) == expected
    assert message(LDPQuickSort().fit_interactive, list, items=items, n_voters=3) == expected


def test_client_checks_parameters_first():
    assert "epsilon" in message(LDPPairwise(epsilon=-1).client, 3)
    assert "n_queries must be an integer from 1 to 3" in message(LDPPairwise(n_queries=9).protocol, 3)


def test_bad_ballot_of_a_client():
    client = LDPPairwise().client(3, random_state=0)
    expected = "ballot must have one position (a finite number, or NaN) for each of the 3 items."
    for bad in ([0, SECRET], [0, np.inf, SECRET], ["a", "b", str(SECRET)], [[0, 1, SECRET]], None):
        assert message(client.report, bad) == expected


BALLOTS = [[0, 1, 2]] * 5


@pytest.mark.parametrize("channel", [Central, Exact, Local])
def test_a_class_in_place_of_a_channel(channel):
    with pytest.raises(ValueError) as error:
        Aggregator(channel).fit(BALLOTS)
    name = channel.__name__
    assert str(error.value) == f"channel must be a channel object, got the class {name}; use channel={name}()."


def test_a_class_in_place_of_a_rule():
    with pytest.raises(ValueError, match=r"got the class KemenyRule; use rule=KemenyRule\(\)\.$"):
        Aggregator(rule=KemenyRule).fit(BALLOTS)


@pytest.mark.filterwarnings("ignore:.*little better than coin flips:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [DPBorda, DPHistogram, DPKwikSort, DPPairwise, DPKemenySampler, DPPrudentOrder, LDPPairwise, LDPBorda, LDPQuickSort]
    + [LDPGroupKwikSort, LDPAdaptivePairs, ShufflePairwise, ShuffleHierarchical],
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


def test_knorm_fits_have_no_intervals():
    fitted = DPBorda(noise="knorm").fit([[0, 1, 2]] * 9)
    with pytest.raises(AttributeError) as error:
        fitted.rank_intervals()
    assert str(error.value.__cause__).startswith("this fit published only an order")


@pytest.mark.parametrize(
    ("epsilons", "got"),
    [(2.0, "2.0"), ([], "a list"), ("12", "'12'"), (True, "True"), (LDPPairwise(), "LDPPairwise()")],
)
def test_invalid_grids_of_epsilons_are_refused(epsilons, got):
    with pytest.raises(ValueError) as error:
        LDPPairwise().fit_reports([], items=ITEMS, epsilons=epsilons)
    assert str(error.value) == f"epsilons must list at least one epsilon, such as epsilons=[1.0, 2.0], got {got}."


def test_a_grid_of_epsilons_may_be_any_iterable():
    estimator = LDPPairwise()
    reports = [Device(estimator.protocol(ITEMS, epsilon=epsilon)).report([0, 1, 2]) for epsilon in (1.0, 4.0)]
    fitted = estimator.fit_reports(reports, items=ITEMS, epsilons=(epsilon for epsilon in (1.0, 4.0)))
    assert (fitted.reports_accepted_, fitted.privacy_.epsilon) == (2, 4.0)
