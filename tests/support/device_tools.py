"""Devices of every kind, and what they are asked, for tests of clients."""

import pytest
import wire_vectors

from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.randomizers import CLIENT_RANDOMIZERS
from sklearn_dprank.privacy import BudgetExhausted

_VECTORS = wire_vectors.load()
#: The first test vector of each randomizer.
FIRST = {vector["protocol"]["randomizer"]: vector for vector in reversed(_VECTORS["reports"] + _VECTORS["answers"])}
BALLOT = list(range(5))
#: A protocol of three answers to questions about five items.
ASKED = {**FIRST["rr-interactive"]["protocol"], "answers": 3, "epsilon": "4"}

every_kind = pytest.mark.parametrize("kind", sorted(CLIENT_RANDOMIZERS))


def protocol_of(kind):
    """A protocol about five items."""
    return ASKED if kind == "rr-interactive" else {**FIRST[kind]["protocol"], "items": BALLOT}


def question(number, kind="each", pairs=((0, 1), (1, 2)), protocol=ASKED):
    return {"protocol": digest(protocol), "question": number, "kind": kind, "pairs": [list(pair) for pair in pairs]}


def about_groups(protocol, groups=([0, 1, 2], [3, 4])):
    return {"protocol": digest(protocol), "question": 1, "groups": list(groups)}


def say(device, ballot=BALLOT):
    """Return the first messages of a device of any kind."""
    kind = device.protocol["randomizer"]
    if kind == "rr-interactive":
        return device.answer(question(1), ballot)
    if kind == "skellam-rounds":
        return device.answer(about_groups(device.protocol), ballot)
    if device.protocol.get("pairs") == "assigned":
        return device.report(ballot, pairs=[[0, 1], [1, 4]])
    if kind == "rr-shown":  # items that are neighbours in the list were compared
        return device.report([[i, i + 1, int(ballot[i] < ballot[i + 1])] for i in range(len(ballot) - 1)])
    if kind == "rr-assigned":
        return device.report(ballot, voter=3)
    return device.report(ballot)


def refused(run, match):
    """Check that ``run()`` asks for more than the budget pays for."""
    with pytest.raises(BudgetExhausted, match=match):
        run()
    return True
