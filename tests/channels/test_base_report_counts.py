"""Reports in parts: counts that add up, through JSON and on dask, give the fit on all reports to the last bit."""

import copy
import json
import pickle
import random
from functools import lru_cache, reduce
from operator import add

import joblib
import numpy as np
import pytest
from extensions.one_item import OneItem, OneItemClient
from fuzzing import as_text, changed, heard, mangled
from hypothesis import given, settings, strategies as st
from local_tools import apart
from sklearn.base import clone

from sklearn_dprank import Aggregator, LDPBorda, LDPKwikSort, LDPPairwise, ShuffleHierarchical, ShufflePairwise
from sklearn_dprank.channels import Local
from sklearn_dprank.collection import Device, HypercubeSampling, ReportCounts
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.theory import song, yan

ITEMS = ["tea", "coffee", "water", "mate"]
DEVICES = 24
ESTIMATORS = {
    "rr": LDPPairwise(epsilon=4.0),
    "rr, 3 queries": LDPPairwise(epsilon=4.0, n_queries=3, rule="hierarchical"),
    "rr, chosen queries": LDPPairwise(epsilon=8.0, n_queries=None, rule="kemeny"),
    "laplace": LDPPairwise(epsilon=4.0, randomizer=yan.PrintedLaplace(n_queries=2)),
    "gaussian": LDPPairwise(randomizer=song.PrintedGaussian(1e-4)),
    "djw": LDPPairwise(epsilon=4.0, randomizer="djw"),
    "half tie": Aggregator(Local(epsilon=4.0, randomizer=HypercubeSampling("half_tie")), "kemeny"),
    "kwiksort": LDPKwikSort(epsilon=4.0, n_queries=2),
    "borda": LDPBorda(epsilon=4.0),
    "one item": Aggregator(Local(epsilon=4.0, randomizer=OneItem()), "borda"),
    "registered": LDPPairwise(epsilon=4.0, n_queries=2, pairs="assigned", n_voters=99, assignment_seed="0" * 32),
    "messages": ShufflePairwise(min_reports=DEVICES),
    "messages, 2 queries": ShufflePairwise(min_reports=DEVICES, n_queries=2, rule="kwiksort"),
    "messages, assigned": ShufflePairwise(min_reports=DEVICES, pairs="assigned"),
    "messages, hierarchical": ShuffleHierarchical(min_reports=DEVICES, n_queries=2),
    "submissions": ShufflePairwise(min_reports=DEVICES, n_queries=2),
    "submissions, assigned": ShuffleHierarchical(min_reports=DEVICES, n_queries=2),
}
ESTIMATORS = {name: estimator.set_params(random_state=7) for name, estimator in ESTIMATORS.items()}
NAMES = list(ESTIMATORS)
SUBMITTED = [name for name in NAMES if name.startswith("submissions")]
NUMBERED = [*SUBMITTED, "registered"]  # of reports with one number, the first one counts


@lru_cache
def sent(name):
    """Messages of devices, in a random order, with repeated, damaged and foreign ones among them."""
    estimator, rng = ESTIMATORS[name], random.Random(name)
    protocol = estimator.protocol(ITEMS)
    pairs = [[i, j] for j in range(4) for i in range(j)]
    out = []
    for voter in range(DEVICES + 6):
        options = {"randomizer": OneItemClient()} if name == "one item" else {}
        device, ballot = Device(protocol, random_state=voter, **options), rng.sample(range(4), 4)
        k = protocol.get("n_queries", 1)
        assigned = [(pairs * 2)[(k * voter + each) % 6] for each in range(k)]
        if name == "registered":
            report = device.report(ballot, voter=voter)
        else:
            report = device.report(ballot, assigned) if protocol.get("pairs") == "assigned" else device.report(ballot)
        out += apart(report) if name.startswith("messages") else [report]
    out += rng.choices(out, k=6)
    rng.shuffle(out)
    bad = ["{", 7, [], {}, {**out[0], "more": 1}, {**out[1], "protocol": "0" * 16}, {"protocol": digest(protocol)}]
    for one in bad:
        out.insert(rng.randrange(len(out) + 1), one)
    return [one if rng.random() < 0.3 or isinstance(one, str) else json.dumps(one) for one in out]


def split(messages, seed, n_parts):
    """Cut messages into parts, in order, some of them empty."""
    cuts = sorted(random.Random(seed).choices(range(len(messages) + 1), k=n_parts - 1))
    return [messages[a:b] for a, b in zip([0, *cuts], [*cuts, len(messages)], strict=True)]


def counted(name, part):
    return ESTIMATORS[name].count_reports(part, items=ITEMS)


def fitted(name, reports):
    """Everything that a fit sets."""
    estimator = clone(ESTIMATORS[name]).fit_reports(reports, items=ITEMS)
    return joblib.hash({key: value for key, value in vars(estimator).items() if key.endswith("_")}), estimator


def same_counts(one, other):
    assert (one.reports_accepted, one.reports_refused) == (other.reports_accepted, other.reports_refused)
    assert list(one.tallies) == list(other.tallies)
    for name, (counts, n_reports) in one.tallies.items():
        assert n_reports == other.tallies[name].n_reports
        assert n_reports == 0 or (counts.dtype, counts.tolist()) == (np.int64, other.tallies[name].counts.tolist())
    assert one.submissions == other.submissions


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_on_parts_is_the_fit_on_all(name):
    messages = sent(name)
    whole, estimator = fitted(name, messages)
    total = counted(name, messages)
    of_voter = getattr(estimator, "n_queries", 1) if hasattr(estimator, "min_reports") else 1  # messages of one voter
    assert 0 < estimator.reports_accepted_ <= total.reports_accepted / of_voter < estimator.reports_accepted_ + 2
    assert total.reports_refused == estimator.reports_refused_ and sum(total.reports_refused.values()) >= 7
    assert ("received before" in total.reports_refused) == (name in SUBMITTED)
    assert ("voter answered before" in total.reports_refused) == (name == "registered")
    parts = [counted(name, part) for part in split(messages, 0, 5)]
    if name not in NUMBERED:
        parts = [ReportCounts.from_json(part.to_json()) for part in parts]
    same_counts(reduce(add, parts), total)
    assert fitted(name, reduce(add, parts))[0] == fitted(name, total)[0] == whole


@pytest.mark.slow
@settings(max_examples=150)
@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.integers(1, 30), st.data())
def test_any_parts_in_any_tree(name, seed, n_parts, data):
    """Damaged messages come in every part; sums are taken in any grouping that keeps the order."""
    rng = random.Random(seed)
    messages = [
        as_text(changed(json.loads(one) if isinstance(one, str) and one != "{" else one, rng), rng)
        if rng.random() < 0.2
        else one
        for one in sent(name)
    ]
    parts = [counted(name, part) for part in split(messages, seed, n_parts)]
    while len(parts) > 1:
        at = data.draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    same_counts(parts[0], counted(name, messages))
    same_counts(pickle.loads(pickle.dumps(parts[0])), parts[0])


def test_the_first_report_of_a_registered_voter_counts():
    """In any order of the parts, and under any of the voters' epsilons."""
    estimator, epsilons = ESTIMATORS["registered"], [1.0, 4.0]
    low, high = (Device(estimator.protocol(ITEMS, epsilon=epsilon), random_state=1) for epsilon in epsilons)
    reports = [device.report(ballot, voter=3) for device, ballot in ((low, [0, 1, 2, 3]), (high, [3, 2, 1, 0]))]
    for pair in (reports, reports[::-1]):
        parts = [estimator.count_reports([report], items=ITEMS, epsilons=epsilons) for report in pair]
        total = parts[0] + parts[1]
        assert (total.reports_accepted, total.reports_refused) == (1, {"voter answered before": 1})
        same_counts(estimator.count_reports(pair, items=ITEMS, epsilons=epsilons), total)
        both = clone(estimator).fit_reports(total, items=ITEMS, epsilons=epsilons)
        own = [epsilons[reports.index(pair[0])]]
        alone = clone(estimator).fit_reports(pair[:1], items=ITEMS, epsilons=own)
        np.testing.assert_array_equal(both.margins_, alone.margins_)
        assert both.margins_.any()
        with pytest.raises(ValueError, match="send them between machines by pickle"):
            total.to_json()


def test_a_sum_does_not_replace_the_reports_of_registered_voters():
    """A sum of reports does not tell whether each voter is in it once, and whether the pairs are the voters' own."""
    registered = counted("registered", sent("registered"))
    (name,) = registered.tallies
    table = [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]  # one report on two pairs
    tally = {"n_reports": 1, "shape": [4, 4], "counts": np.ravel(table).tolist()}
    text = json.dumps({"report_counts": 1, "protocols": {name: tally}, "refused": {}})
    for forged in (ReportCounts.from_json(text), registered + ReportCounts.from_json(text)):
        with pytest.raises(ValueError, match=r"counts that 1 reports of the protocol .* cannot have"):
            fitted("registered", forged)


@pytest.mark.parametrize("name", SUBMITTED)
def test_the_first_of_two_submissions_with_one_number_counts(name):
    """Also if the submissions differ, and in any order of the parts."""
    first, second = (json.loads(one) if isinstance(one, str) else one for one in submissions_of(name)[:2])
    forged = {**copy.deepcopy(second), "report": first["report"]}
    one, other = counted(name, [first]), counted(name, [forged, second])
    assert one.reports_accepted == 2 and other.reports_accepted == 4
    for parts in ((one, other), (other, one)):
        total = parts[0] + parts[1]
        assert (total.reports_accepted, total.reports_refused) == (4, {"received before": 1})
    same_counts(one + other, counted(name, [first, forged, second]))
    same_counts(other + one, counted(name, [forged, second, first]))
    assert one.reports_refused == other.reports_refused == {}  # parts are not changed by their sum


def submissions_of(name):
    return [one for one in sent(name) if "messages" in str(one)]


def test_min_reports_is_checked_on_the_sum():
    messages = [one for one in sent("messages") if "answer" in str(one) and "more" not in str(one)]
    parts = [counted("messages", messages[start : start + 5]) for start in range(0, len(messages), 5)]
    for few in (parts[0], reduce(add, parts[:4])):
        with pytest.raises(ValueError, match=rf"only \d+ messages in a shuffle, where {DEVICES} are needed to hide"):
            fitted("messages", few)
    assert fitted("messages", reduce(add, parts))[1].reports_accepted_ >= DEVICES


def test_personal_epsilons():
    estimator, grid = LDPPairwise(random_state=0), [1.0, 4.0, 2.0]
    reports = []
    for voter in range(30):
        device = estimator.client(ITEMS, voter, epsilon=grid[voter % 2])  # none has epsilon 2
        reports.append(device.report([0, 1, 2, 3]))
    parts = [estimator.count_reports(part, items=ITEMS, epsilons=grid) for part in (reports[:7], [], reports[7:])]
    total = reduce(add, [ReportCounts.from_json(part.to_json()) for part in parts])
    assert [tally.n_reports for tally in total.tallies.values()].count(15) == 2 and len(total.tallies) == 3
    whole, merged = (clone(estimator).fit_reports(each, items=ITEMS, epsilons=grid) for each in (reports, total))
    assert merged.margins_.tobytes() == whole.margins_.tobytes() and merged.reports_accepted_ == 30
    with pytest.raises(ValueError, match=r"reports holds counts of the protocols .* but this estimator has"):
        clone(estimator).fit_reports(total, items=ITEMS)


@pytest.mark.parametrize(
    "other",
    [
        (LDPPairwise(epsilon=2.0), ITEMS),
        (LDPPairwise(epsilon=4.0, n_queries=2), ITEMS),
        (LDPPairwise(epsilon=4.0), ITEMS[::-1]),
        (LDPPairwise(epsilon=4.0), 4),
        (LDPBorda(epsilon=4.0), ITEMS),
    ],
)
def test_counts_belong_to_one_protocol(other):
    estimator, items = other
    counts, others = counted("rr", sent("rr")), estimator.count_reports([], items=items)
    assert counts.reports_accepted and not others.reports_accepted
    with pytest.raises(ValueError, match="use the parameters, items and epsilons of count_reports"):
        estimator.fit_reports(counts, items=items)
    with pytest.raises(ValueError, match="do not add up; count all parts with the same estimator"):
        counts + others
    with pytest.raises(TypeError):
        counts + 1


# The text


def test_the_text_holds_counts_only():
    counts = counted("rr", sent("rr"))
    state = json.loads(counts.to_json())
    assert set(state) == {"report_counts", "protocols", "refused"} and state["report_counts"] == 1
    ((name, tally),) = state["protocols"].items()
    assert name == digest(ESTIMATORS["rr"].protocol(ITEMS))
    assert tally["shape"] == [4, 4] and len(tally["counts"]) == 16
    assert sum(tally["counts"]) == tally["n_reports"] == counts.reports_accepted
    assert counts.to_json() == ReportCounts.from_json(counts.to_json()).to_json()
    assert not any(word in counts.to_json() for word in ("sklearn", "Randomiz", "Reader", *ITEMS))
    assert repr(counts).startswith(f"ReportCounts(reports_accepted={counts.reports_accepted}, reports_refused={{")


@pytest.mark.parametrize("name", SUBMITTED)
def test_submissions_do_not_leave_in_a_text(name):
    with pytest.raises(ValueError, match="keep submissions of voters, which must not leave the shuffler") as caught:
        counted(name, sent(name)).to_json()
    heard(caught.value, json.dumps(submissions_of(name)[0]).encode())


def stored(**changes):
    state = json.loads(counted("rr", sent("rr")).to_json())
    (name,) = state["protocols"]
    for key, value in changes.items():
        if key in state:
            state[key] = value
        else:
            state["protocols"][name][key] = value
    return json.dumps(state)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "7", "null", '{"report_counts": 1}', "[" * 100_000, "1" * 5000),
        *(stored(report_counts=value) for value in (True, 0, "1", None)),
        *(stored(refused=value) for value in ([], None, {"x": 0}, {"x": -1}, {"x": True}, {"x": 1.0}, {"x" * 101: 1})),
        *(stored(protocols=value) for value in ({}, [], {"x": {}}, {"0" * 16: 7}, {"0" * 16: {}})),
        *(stored(n_reports=value) for value in (0, -1, True, 1.5, "9", 2**53)),
        *(stored(shape=value) for value in ([16.0], [4], [5, 4], [-4, -4], "4", [True] * 100 + [16], [True, 16])),
        *(stored(counts=value) for value in ([0] * 15 + [x] for x in (True, 0.0, "0", None, [0], 2**53, 10**30))),
        stored(more=1),
    ],
)
def test_a_text_of_another_form_is_refused(text):
    with pytest.raises(ValueError, match=r"text must be what ReportCounts\.to_json returned") as caught:
        ReportCounts.from_json(text)
    heard(caught.value, b"")
    for wrong in (None, 7, b"\xff"):
        with pytest.raises(ValueError, match="text must be what"):
            ReportCounts.from_json(wrong)


BROKEN = {
    "rr": [{"n_reports": 1}, {"shape": [16]}, {"diagonal": 1}, {"negative": 1}, {"one pair": 1}],
    "djw": [{"n_reports": 1}, {"shape": [6, 1]}, {"negative": 1}],
    "borda": [{"shape": [2, 2]}, {"huge": 1}],
    "messages": [{"n_reports": 1}, {"shape": [1, 17]}, {"negative": 1}, {"other shuffle": 1}, {"diagonal": 1}],
}


@pytest.mark.parametrize(("name", "change"), [(name, change) for name in BROKEN for change in BROKEN[name]])
def test_counts_that_no_reports_have_are_refused(name, change):
    state = json.loads(counted(name, sent(name)).to_json())
    (tally,) = state["protocols"].values()
    counts, start = tally["counts"], 1 if name == "messages" else 0
    largest = max(range(start, len(counts)), key=lambda at: counts[at])
    match next(iter(change)):
        case "diagonal":
            counts[start], counts[largest] = counts[largest], 0
        case "negative":
            counts[largest], counts[start + 1] = -1, counts[start + 1] + counts[largest] + 1
        case "one pair":
            tally["counts"] = [0, 3 * tally["n_reports"], -2 * tally["n_reports"], *[0] * 13]
        case "huge":
            counts[0] = 2**50
        case "other shuffle":
            counts[0] -= 1
        case _:
            tally.update(change)
    with pytest.raises(ValueError, match=r"reports holds counts that \d+ reports of the protocol '\w+' cannot have"):
        fitted(name, ReportCounts.from_json(json.dumps(state)))


@pytest.mark.slow
@settings(max_examples=400)
@given(st.sampled_from([name for name in NAMES if name not in NUMBERED]), st.integers(0, 2**32))
def test_damaged_texts_are_refused_or_are_counts(name, seed):
    rng, text = random.Random(seed), counted(name, sent(name)).to_json()
    content = mangled(text.encode(), rng) if rng.random() < 0.5 else as_text(changed(json.loads(text), rng), rng)
    try:
        counts = ReportCounts.from_json(content)
    except ValueError as error:
        heard(error, b"")
        return
    try:
        fitted(name, counts + counted(name, sent(name)))
    except ValueError as error:
        assert "counts" in str(error) or "needed to hide" in str(error), error


# On dask, in this thread


@pytest.fixture
def dask():
    dask = pytest.importorskip("dask", reason="needs the extra distributed")
    with dask.config.set(scheduler="synchronous"):
        yield dask


@pytest.mark.parametrize("name", ["rr", "borda", "messages, 2 queries", "submissions"])
def test_delayed_parts(dask, name):
    messages = sent(name)
    whole, _ = fitted(name, messages)
    parts = [dask.delayed(part) for part in split(messages, 1, 11)]
    assert fitted(name, parts)[0] == whole
    same_counts(counted(name, parts), counted(name, messages))
    assert fitted(name, tuple(parts))[0] == fitted(name, dask.delayed(messages))[0] == whole
    counts = [dask.delayed(counted)(name, part) for part in parts]
    assert fitted(name, [*counts[:4], *parts[4:]])[0] == whole  # a part may be counted already


def test_only_counts_leave_a_worker(dask):
    from dask.callbacks import Callback

    made, n_parts = [], 20
    parts = [dask.delayed(part) for part in split(sent("rr"), 1, n_parts)]
    with Callback(posttask=lambda key, value, *_: made.append(value)):
        fitted("rr", parts)
    counts = [value for value in made if isinstance(value, ReportCounts)]
    assert len(counts) == n_parts + 3 + 1  # the parts, and a tree with eight branches at every node
    assert max(len(each.to_json()) for each in counts) < 300
    assert not any(each.submissions for each in counts)


def test_other_objects_are_refused_as_parts(dask):
    array = pytest.importorskip("dask.array", reason="needs the extra distributed")
    with pytest.raises(ValueError, match="must be a dask bag or a list of delayed parts, got a dask Array"):
        counted("rr", array.from_array(np.eye(4), chunks=2))
    with pytest.raises(ValueError, match="reports must be an iterable of reports, got str"):
        counted("rr", [dask.delayed("report")])
    with pytest.raises(ValueError, match="use the parameters, items and epsilons of count_reports"):
        counted("rr", [dask.delayed(sent("rr")), dask.delayed(counted("djw", []))])
