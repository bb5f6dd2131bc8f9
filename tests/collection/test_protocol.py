"""What a device makes of a protocol: cases that once worked for a curator, the common form, the name, the cost."""

import json
import math
from decimal import Decimal, localcontext

import pytest
from device_tools import FIRST, every_kind

from sklearn_dprank import ShuffleHierarchical, ShufflePairwise
from sklearn_dprank.collection import (
    AggregationServer,
    Allowance,
    Device,
    HypercubeSampling,
    RandomizedResponse,
    RefusedProtocol,
)
from sklearn_dprank.collection.protocol import are_items, canonical, is_amount, log_ratio

GRID = 2**52
ASKED = {
    "version": 3,
    "randomizer": "rr-interactive",
    "items": ["a", "b", "c"],
    "epsilon": "1.0",
    "answers": 3,
    "flips": {"each": 1879936662629663, "last": None},
    "flip_grid": GRID,
}


def refuses(protocol, field, **owner):
    with pytest.raises(RefusedProtocol, match=rf"protocol: {field} must be"):
        Device(protocol, **owner)
    return True


# --- what a curator could once have


@pytest.mark.parametrize("flip", [0, -5, 2**51 + 1, GRID, 10**400, 1.0, True, None, "1"])
def test_flips_outside_the_allowed_range_are_refused(flip):
    rr = RandomizedResponse(3).protocol(1.0, 3)
    assert refuses({**rr, "flip": [flip, GRID]}, "flip")
    assert refuses({**ASKED, "flips": {"each": flip, "last": None}}, "flips")
    if flip is not None:  # nothing kept back
        assert refuses({**ASKED, "epsilon": "99", "flips": {"each": 2**50, "last": flip}}, "flips")
    shuffled = ShufflePairwise(min_reports=1000).protocol(3)
    assert refuses({**shuffled, "flip": [flip, GRID]}, "flip")


def test_other_grid_sizes_are_refused():
    rr = RandomizedResponse().protocol(1.0, 3)
    assert refuses({**rr, "flip": [rr["flip"][0], 2**53]}, "flip")
    assert refuses({**ASKED, "flip_grid": 2**53}, "flip_grid")


@pytest.mark.parametrize("variant", ["best_cap", "half_tie"])
def test_levels_that_exceed_epsilon_are_refused(variant):
    cube = HypercubeSampling(variant).protocol(1.0, 3)
    high, low = cube["levels"]
    for levels in ([low, high], [high], [high, 0], [high, -low], [10**400, 10**399], [2 * high, 2 * low], [1.0, 0.5]):
        assert refuses({**cube, "levels": levels}, "levels")
    assert refuses({**cube, "levels": [high, low - 1]}, "epsilon")
    assert refuses({**cube, "levels": [high, 1]}, "epsilon")
    assert Device({**cube, "levels": [high, high]}).epsilon == 0  # says nothing, which is allowed


def test_more_answers_than_stated_are_refused():
    assert refuses({**ASKED, "answers": 99}, "epsilon")
    assert refuses({**ASKED, "answers": 16_384}, "epsilon")
    assert refuses({**ASKED, "answers": 16_385}, "answers")
    assert refuses({**ASKED, "answers": 0}, "answers")
    assert refuses({**ASKED, "answers": 3.0}, "answers")
    assert refuses({**ASKED, "flips": {"each": 1879936662629663, "last": 2**50}}, "epsilon")  # one more, kept back


@pytest.mark.parametrize("estimator", [ShufflePairwise, ShuffleHierarchical])
def test_local_epsilon_of_shuffled_reports_is_enforced(estimator):
    """A central epsilon of .1 among a thousand million voters is a local one of more than 12."""
    protocol = estimator(epsilon=0.1, min_reports=10**9).protocol(5)
    assert protocol["central_epsilon"] == "0.1"
    assert Decimal(protocol["epsilon"]) > (12 if estimator is ShufflePairwise else 10)
    assert Device(protocol).epsilon <= float(protocol["epsilon"])
    with pytest.raises(RefusedProtocol, match="above max_epsilon=4"):
        Device(protocol, max_epsilon=4)
    assert refuses({**protocol, "epsilon": protocol["central_epsilon"]}, "epsilon")
    assert refuses({name: value for name, value in protocol.items() if name != "central_epsilon"}, "its set of fields")
    for name in ("central_epsilon", "central_delta"):
        assert refuses({**protocol, name: "0.0"}, name) and refuses({**protocol, name: 0.1}, name)


# --- the common form


@pytest.mark.parametrize("it", [None, 5, "{}", [], b"{}", [{}], json.dumps(ASKED)], ids=repr)
def test_non_objects_are_refused(it):
    assert refuses(it, "it")


@pytest.mark.parametrize("name", [None, "", "exact", "RR", 5, ["rr"], {"rr": 1}], ids=repr)
def test_unknown_randomizers_are_refused(name):
    assert refuses({**ASKED, "randomizer": name}, "randomizer")
    assert refuses({}, "randomizer")


@pytest.mark.parametrize(
    ("items", "are"),
    [
        *((["a", "b"], True), (["1", 1], True), ([-(2**53) + 1, 2**53 - 1], True), (list(range(65534)), True)),
        (["", "\x00", "é", "🙂", "a" * 1000], True),
        *((list(range(65535)), False), (["a"], False), ([], False), ("ab", False), (("a", "b"), False)),
        *(({"a": 1, "b": 2}, False), (["a", "b", "a"], False), ([1, 2, 1], False), ([True, False], False)),
        *(([1.0, 2.0], False), (["a", None], False), (["a", ["b"]], False), ([2**53, 1], False)),
        *(([10**400, 1], False), (["a", "\ud83d"], False), (["a", "\udc00b"], False), (["a", "b" * 1001], False)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_items(items, are):
    assert are_items(items) is are
    protocol = {**RandomizedResponse().protocol(1.0, 3), "items": items}
    if are:
        assert Device(protocol).protocol["items"] == items
    else:
        assert refuses(protocol, "items")


@pytest.mark.parametrize("text", ["1", "0.5", "12.80", "1e3", "1e-05", "1.5e+10", "0.0001", "9" * 20, "1." + "3" * 40])
def test_valid_amounts_are_accepted(text):
    assert is_amount(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "0.0", "0e5", "-1", "+1", " 1", "1 ", "1\n", "01", "00.1", ".5", "5.", "1e", "1e1000", "1E5", "0x1"),
        *("1_0", "nan", "inf", "Infinity", "\u0661", "１", "1,5", "9" * 21, "0." + "3" * 41),
        *(1, 1.0, True, None, ["1"], b"1"),
    ],
    ids=repr,
)
def test_invalid_amounts_are_refused(text):
    assert not is_amount(text)
    assert refuses({**ASKED, "epsilon": text}, "epsilon")


def test_refusal_does_not_quote_the_protocol():
    with pytest.raises(RefusedProtocol) as error:
        Device({**ASKED, "items": ["secret", "secret"], "epsilon": "secret"})
    assert "secret" not in str(error.value)


# --- the name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, -2], "a": None}, b'{"a":null,"b":[1,-2]}'),
        (
            {"items": ['\u20ac$\x0f\nA\'B"\\\\"/']},
            b'{"items":["\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"]}',
        ),  # RFC 8785, 3.2.2
        ({"a": "\b\t\f\r\x7f\u2028<>"}, b'{"a":"\\b\\t\\f\\r\x7f\xe2\x80\xa8<>"}'),
        ({"a": {"z": 1, "B": 2}, "A": []}, b'{"A":[],"a":{"B":2,"z":1}}'),
    ],
)
def test_canonical(value, text):
    assert canonical(value) == text


# --- the cost


@pytest.mark.parametrize(("high", "low", "times"), [(3, 1, 2), (GRID, GRID - 1, 1), (GRID, 1, 10**6), (5, 5, 3)])
def test_log_ratio_is_just_above(high, low, times):
    with localcontext() as context:
        context.prec = 120
        exact = times * (Decimal(high) / Decimal(low)).ln()
        assert exact <= log_ratio(high, low, times)
        assert abs(log_ratio(high, low, times) - exact) <= abs(exact) * Decimal("1e-49")


def test_device_epsilon_is_rounded_up():
    for epsilon in (0.1, 1.0, 2.0, 7.3):
        protocol = RandomizedResponse(3).protocol(epsilon, 4)
        flip = protocol["flip"][0]
        with localcontext() as context:
            context.prec = 60
            exact = 3 * (Decimal(GRID - flip) / Decimal(flip)).ln()
        found = Device(protocol).epsilon
        assert exact <= Decimal(found)
        assert Decimal(math.nextafter(found, 0)) < exact


# --- values that are too deep, too long or not finite, in every field


def deep(wrap):
    """A value 3,000 deep."""
    value = 1
    for _ in range(3000):
        value = wrap(value)
    return value


HOSTILE = {
    "lists": deep(lambda value: [value]),
    "objects": deep(lambda value: {"": value}),
    "many digits": 10**5000,
    "minus many digits": -(10**5000),
    "nan": math.nan,
    "infinity": -math.inf,
    "half a character": "\ud800",
    "a long text": "9" * 100_000,
}
every_value = pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)


def changed(whole, value):
    """Copies of some JSON with this value at one of its places, as what is there or as one thing more."""
    yield value
    if isinstance(whole, dict):
        for name in whole:
            for inner in changed(whole[name], value):
                yield {**whole, name: inner}
        yield {**whole, "more": value}
    elif isinstance(whole, list):
        for index in range(min(len(whole), 4)):
            for inner in changed(whole[index], value):
                yield [*whole[:index], inner, *whole[index + 1 :]]
        yield [*whole, value]


@every_value
@every_kind
def test_hostile_values_in_protocols_are_refused(kind, value):
    protocol = FIRST[kind]["protocol"]
    Device(protocol)
    for hostile in changed(protocol, value):
        for owner in ({}, {"max_epsilon": 1.0, "allowance": Allowance(epsilon=1.0)}):
            with pytest.raises(RefusedProtocol) as error:
                Device(hostile, **owner)
            assert len(str(error.value)) < 400
        with pytest.raises(RefusedProtocol):
            AggregationServer(hostile, 0)


@every_value
def test_hostile_values_in_ballots_and_assignments_are_refused(value):
    device = Device(FIRST["rr"]["protocol"])
    for ballot in changed([0, 1, 2, 3, 4], value):
        if (
            isinstance(ballot, list)
            and len(ballot) == 5
            and any(isinstance(x, float) and math.isnan(x) for x in ballot)
        ):
            continue  # no opinion
        with pytest.raises(ValueError, match="ballot must have one position"):
            device.report(ballot)
    assigned = {**FIRST["rr-shuffled"]["protocol"], "pairs": "assigned"}
    for pairs in changed([[0, 1], [1, 2]], value):
        with pytest.raises(ValueError, match="pairs must hold"):
            Device(assigned).report([0, 1, 2, 3, 4], pairs)
