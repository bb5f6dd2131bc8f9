"""Values that are too deep, too long or not finite are refused in every field of a message."""

import math

import pytest
from device_tools import FIRST, every_kind

from sklearn_dprank.collection import AggregationServer, Allowance, Device, RefusedProtocol


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
def test_protocols(kind, value):
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
def test_ballots_and_assignments(value):
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
