"""Local estimators from devices to consensus: one law with the simulation, refusals, streams, accuracy."""

import itertools
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from accuracy_tools import mallows_profiles, mean_excess
from local_tools import reports_of, same_law
from sklearn.base import clone

from sklearn_dprank import LDPBorda, LDPKwikSort, LDPPairwise, LDPQuickSort
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.queries import NetWins, PairTallies
from sklearn_dprank.sampling.bit_source import Bits
from sklearn_dprank.theory import song, yan

NAN = np.nan
ESTIMATORS = [
    LDPPairwise(rule="borda"),
    LDPPairwise(n_queries=2, rule="hierarchical"),
    LDPPairwise(randomizer=yan.PrintedLaplace(), rule="kemeny"),
    LDPPairwise(randomizer=song.PrintedGaussian(1e-4), n_queries=3, rule="borda"),
    LDPPairwise(randomizer="djw"),
    LDPKwikSort(n_queries=2),
    LDPBorda(),
]


pytestmark = pytest.mark.usefixtures("one_thread")


def with_epsilon(estimator, epsilon, **parameters):
    return clone(estimator).set_params(epsilon=epsilon, **parameters)


# --- simulation and field


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_what_fit_and_field_count_has_one_law(estimator):
    rng, size = np.random.default_rng(3), 1500
    X = rng.permuted(np.tile(np.arange(4.0), (size, 1)), axis=1)
    X[: size // 2] = [2, 0, 1, 3]
    X[::4, 1] = NAN
    X[1::4, 3] = X[1::4, 0]
    estimator = with_epsilon(estimator, 2.0)
    plan = estimator.plan_for(Shape(4))[1]
    lines = reports_of(estimator, X, seed=1)
    opened = [plan.open(voters)(Bits.from_random_state(2)) for voters in (Profile.from_rankings(X), iter(lines))]
    for session in opened:
        published = {name: session.published[name] for name in ("reports_accepted", "reports_refused")}
        assert published == {"reports_accepted": size, "reports_refused": {}}
        assert set(session.published) - set(published) in ({"margins", "noise"}, {"scores", "noise"}, {"scores"})
    randomizer = estimator._compose()[0].randomizer
    if randomizer.releases == PairTallies():
        tallies = [session.answer(PairTallies())[0] for session in opened]
        assert tallies[0].flip == tallies[1].flip
        assert tallies[0].wins.sum() == tallies[1].wins.sum() == size * plan.protocol["n_queries"]
        assert same_law(*[np.repeat(np.arange(16), tally.wins.ravel()).tolist() for tally in tallies]) > 1e-3
    else:
        gap = opened[0].answer(randomizer.releases) - opened[1].answer(randomizer.releases)
        assert np.abs(gap / np.sqrt(2 * randomizer.variance(plan.protocol) / size)).max() < 4


# --- devices


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_keys_and_lengths_do_not_depend_on_the_ballot(estimator):
    def shape(report):
        return {key: (type(value), len(value) if hasattr(value, "__len__") else 0) for key, value in report.items()}

    ballots = [[0, 1, 2, 3], [3, 1, 1, 0], [0, 0, 0, 0], [NAN, NAN, 0, NAN], [NAN] * 4]
    shapes = [shape(estimator.client(4, seed).report(ballot)) for ballot in ballots for seed in range(5)]
    assert all(found == shapes[0] for found in shapes)


# --- refusals

CORNER, UNIT = LDPPairwise(randomizer="djw"), LDPBorda()
SIGNS = {"protocol": digest(CORNER.protocol(3)), "signs": "a0"}
VECTOR = {"protocol": digest(UNIT.protocol(3)), "vector": [900, -300]}
ANY = [("{", "not JSON"), (None, "not a JSON object"), ({"protocol": []}, "another protocol")]
BAD = [
    (CORNER, SIGNS, bad, reason)
    for bad, reason in [
        *ANY,
        ({**SIGNS, "signs": "ff"}, "not the right number of signs"),
        ({**SIGNS, "signs": 10}, "not the right number of signs"),
    ]
]
BAD += [
    (UNIT, VECTOR, bad, reason)
    for bad, reason in [
        *ANY,
        ({**VECTOR, "sum": "secret-7"}, "wrong keys"),
        ({**VECTOR, "vector": [1]}, "not the right number of coordinates"),
        ({**VECTOR, "vector": {"0": 1}}, "not the right number of coordinates"),
        *(({**VECTOR, "vector": [1, x]}, "coordinate out of range") for x in (1.0, NAN, -np.inf, 10**400, None)),
        (json.dumps({**VECTOR, "vector": [1, 77]}).replace("77", "1e999"), "coordinate out of range"),
    ]
]


@pytest.mark.parametrize(
    ("estimator", "good", "bad", "reason"), BAD, ids=[f"{k}: {case[-1]}" for k, case in enumerate(BAD)]
)
def test_each_bad_report_is_left_out_for_a_reason_that_does_not_quote_it(estimator, good, bad, reason):
    plan = estimator.plan_for(Shape(3))[1]
    query = NetWins()
    clean = plan.open(iter([good] * 3))(Bits.from_random_state(0)).answer(query)
    mixed = plan.open(iter([good, bad, json.dumps(good), json.dumps(good).encode(), bad]))(Bits.from_random_state(0))
    assert np.array_equal(mixed.answer(query), clean)
    assert mixed.published["reports_refused"] == {reason: 2}
    fitted = clone(estimator).set_params(random_state=0).fit_reports([good, bad], items=3)
    assert fitted.reports_refused_ == {reason: 1}
    assert "secret-7" not in str(fitted.__dict__)


def test_a_report_longer_than_the_public_norm_counts_no_more_than_one_at_it():
    plan = LDPBorda(2.0).plan_for(Shape(4))[1]
    name = digest(plan.protocol)
    largest = plan.protocol["norm"] * plan.protocol["points_per_unit"]

    def estimated(*vectors):
        reports = [{"protocol": name, "vector": list(vector)} for vector in vectors]
        session = plan.open(iter(reports))(Bits.from_random_state(0))
        assert session.published["reports_refused"] == {}
        return session.answer(NetWins())

    unit = np.linalg.norm(estimated((700, 0, 0))) / np.linalg.norm([700, 0, 0, -700])
    long = estimated((largest, largest, largest))
    assert np.linalg.norm(long) == pytest.approx(unit * (largest + 1), rel=1e-3)
    assert long.sum() == pytest.approx(0, abs=1e-2)


def test_no_report_at_all():
    for nothing in ([], iter([]), ["{}", "[", {"protocol": "0" * 16}]):
        with pytest.raises(ValueError, match="no report was accepted"):
            LDPKwikSort(n_queries=1, random_state=0).fit_reports(nothing, items=4)
    for no_reports in ("reports.jsonl", b"{}", {"pairs": []}, Path("reports.jsonl"), 7):
        with pytest.raises(ValueError, match="reports must be an iterable of reports, got"):
            LDPKwikSort(n_queries=1, random_state=0).fit_reports(no_reports, items=4)


# --- streams


def lines_of(estimator, n_items, distinct=300):
    rng = np.random.default_rng(0)
    return reports_of(estimator, rng.permuted(np.tile(np.arange(n_items), (distinct, 1)), axis=1), seed=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "n_items", "size"),
    [
        (LDPPairwise(rule="borda"), 30, 20_000),
        (LDPBorda(), 12, 10_000),
        (LDPPairwise(randomizer="djw"), 8, 10_000),
        pytest.param(LDPPairwise(rule="borda"), 30, 100_000, marks=pytest.mark.slow),
        pytest.param(LDPBorda(), 12, 100_000, marks=pytest.mark.slow),
    ],
)
def test_a_stream_of_reports_takes_memory_for_the_items_only(estimator, n_items, size):
    lines = lines_of(estimator, n_items)
    estimator.fit_reports(lines, items=n_items)  # imports and caches
    tracemalloc.start()
    try:
        estimator.fit_reports(itertools.islice(itertools.cycle(lines), size), items=n_items)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 400_000  # the lines themselves would take 100 bytes each, the objects more


# --- accuracy, in percent of excess normalised Kendall tau


SMALL = [
    (LDPPairwise(0.5), 5.8),
    (LDPPairwise(1.0), 2.0),
    (LDPPairwise(2.0), 0.72),
    (LDPKwikSort(1.0, n_queries=1), 6.5),
    (LDPKwikSort(2.0, n_queries=1), 3.4),
    (LDPQuickSort(1.0), 4.8),
    (LDPPairwise(1.0, randomizer="djw", rule="kemeny"), 4.4),
    (LDPBorda(1.0), 2.5),
    (LDPBorda(4.0), 0.13),
]


@pytest.mark.parametrize(("estimator", "figure"), SMALL, ids=str)
def test_accuracy_for_ten_items(estimator, figure):
    profiles = mallows_profiles(24, n_voters=1000, n_items=10)
    assert 0.5 * figure < mean_excess(estimator, profiles, repeats=4) < 1.6 * figure
