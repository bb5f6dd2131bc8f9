"""Client side of sums in rounds: each question once, in order, at most at the stated cost."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sklearn_dprank import SecAggSwissBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import SecureAggregation
from sklearn_dprank.collection import Device, RefusedProtocol
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.privacy.skellam import SkellamRelease, skellam_epsilon
from sklearn_dprank.queries import Ask, GroupNetWins, NetWins, PairMargin, ScaledMargins

SWISS = SecAggSwissBorda(epsilon=1.0, min_reports=300).protocol(20)
SIZES = [[20], [8, 8, 4], [4, 8, 8], [8, 8, 4]]
BALLOT = list(range(20))
SEVERAL = [Ask(PairMargin(), times=3, share=Fraction(1, 2)), Ask(NetWins(), share=Fraction(1, 2))]
PAIRS = SecureAggregation(epsilon=1.0, min_reports=300).plan(SEVERAL, 4).protocol


def asked(number, order=BALLOT, protocol=SWISS):
    ends = np.cumsum(SIZES[number - 1])
    groups = [list(order[end - size : end]) for size, end in zip(SIZES[number - 1], ends, strict=True)]
    about = {"margins": {"groups": groups}} if number == 4 else {"groups": groups}
    return {"protocol": digest(protocol), "question": number, **about}


def total(messages, modulus_bits):
    summed = np.sum([message["share"] for message in messages], axis=0) % 2**modulus_bits
    return np.where(summed >= 2 ** (modulus_bits - 1), summed - 2**modulus_bits, summed)


# --- what is said


@pytest.mark.parametrize("n_servers", [2, 3])
def test_answers_add_up_to_net_wins_within_groups(n_servers):
    """Little noise, from a protocol for many voters: what is left is the ballot's."""
    protocol = SecAggSwissBorda(n_servers=n_servers, min_reports=10**7).protocol(20)
    ballot = [item // 2 if item % 5 else None for item in range(20)]
    device = Device(protocol)
    for number in (1, 2, 3, 4):
        question = asked(number, BALLOT[::-1], protocol)
        messages = device.answer(question, ballot)
        assert [message["server"] for message in messages] == list(range(n_servers))
        assert {message["question"] for message in messages} == {digest(question)}
        groups = tuple(map(tuple, question["groups"] if number < 4 else question["margins"]["groups"]))
        query = GroupNetWins(groups) if number < 4 else ScaledMargins(groups=groups)
        exact = query.vector(Profile.from_rankings([[np.nan if p is None else p for p in ballot]]), None)
        answer = query.read(total(messages, protocol["rounds"][number - 1]["modulus_bits"]), 20)
        off = (answer - exact) / (1 if number < 4 else query.scale(20))
        assert np.abs(off).max() <= 2 and np.count_nonzero(np.rint(off)) < 8


def test_messages_do_not_identify_the_voter():
    device = Device(SWISS)
    said = [device.answer(asked(number), BALLOT) for number in (1, 2)]
    for messages in said:
        for message in messages:
            assert set(message) == {"protocol", "question", "report", "commitments", "server", "salt", "share"}
            assert message["protocol"] == digest(SWISS) and len(message["share"]) == 20
    first, second = ({message["report"] for message in messages} for messages in said)
    assert len(first) == len(second) == 1 and first != second  # no number goes through the rounds


# --- each question once, in order


def test_second_question_with_the_same_number_is_refused():
    device = Device(SWISS)
    device.answer(asked(2), BALLOT)
    with pytest.raises(BudgetExhausted, match="answered another question of this number"):
        device.answer(asked(2, BALLOT[::-1]), BALLOT)
    device.answer(asked(3), BALLOT)
    with pytest.raises(BudgetExhausted, match="answered another question of this number"):
        device.answer(asked(2, BALLOT[::-1]), BALLOT)


def test_earlier_questions_are_refused():
    """A voter may miss a round, and is asked no earlier one afterwards."""
    device = Device(SWISS)
    device.answer(asked(1), BALLOT)
    device.answer(asked(3), BALLOT)
    with pytest.raises(BudgetExhausted, match="answered a later question"):
        device.answer(asked(2), BALLOT)
    assert len(device._sent) == 2
    device.answer(asked(4), BALLOT)


def test_questions_have_the_numbers_of_their_kind():
    device = Device(PAIRS)
    ask = {"protocol": digest(PAIRS)}
    for number, more in [(1, {"pair": [0, 1]}), (3, {"pair": [2, 0]}), (4, {})]:
        assert len(device.answer({**ask, "question": number, **more}, [0, 1, 2, 3])[0]["share"]) == (
            4 if not more else 1
        )
    for number, more in [(5, {}), (4, {"pair": [0, 1]}), (2, {}), (0, {"pair": [0, 1]}), (True, {"pair": [0, 1]})]:
        with pytest.raises(ValueError, match="question does not follow the protocol"):
            Device(PAIRS).answer({**ask, "question": number, **more}, [0, 1, 2, 3])


# --- nothing but what was promised

GOOD = asked(2)
WRONG = {
    "protocol": ["0" * 16, None],
    "question": [5, 0, 2.0, 1, 3],
    "voters": [[0, 1]],
    "pair": [[0, 1]],
    "groups": [None, asked(3)["groups"], [*GOOD["groups"][:2], BALLOT[:4]]],  # test_shares.py has more
}


@pytest.mark.parametrize(
    "question",
    [
        *(None, [], "question", {}, {key: value for key, value in GOOD.items() if key != "groups"}),
        *({**GOOD, name: value} for name, values in WRONG.items() for value in values),
    ],
    ids=lambda question: repr(question)[-40:],
)
def test_invalid_questions_are_refused(question):
    device = Device(SWISS)
    with pytest.raises(ValueError, match="question does not follow the protocol"):
        device.answer(question, BALLOT)
    assert not device._sent


# --- what all rounds cost


def released(protocol, n_voters):
    """The releases of all rounds, written once more: net wins within groups of these sizes, then scaled margins."""
    out = []
    for kind, sizes in zip(protocol["rounds"][:3], SIZES[:3], strict=True):
        l1, l2_squared = 2 * sum(k * k // 2 for k in sizes), 4 * sum(k * (k * k - 1) for k in sizes) // 3
        variance = 2 * kind["rate"][0] / kind["rate"][1] * n_voters
        out.append(SkellamRelease(variance, l1, l2_squared))
    last, squared = protocol["rounds"][3], 4096 * 20 * 399 // 3
    variance = 2 * last["rate"][0] / last["rate"][1] * n_voters
    return [*out, SkellamRelease(variance, 2 * math.isqrt(squared * 190), 4 * squared)]


def test_all_rounds_together_keep_what_is_stated():
    assert [kind["statistic"]["sizes"] for kind in SWISS["rounds"][:3]] == SIZES[:3]
    assert SWISS["rounds"][3]["statistic"] == "scaled_margins"
    assert 0.999 < skellam_epsilon(1e-6, released(SWISS, 300)) <= 1
    alone = skellam_epsilon(1e-6, released(SWISS, 1))
    assert alone <= Device(SWISS).epsilon <= float(SWISS["local_epsilon"])
    assert Decimal(alone) > sum(Decimal(skellam_epsilon(1e-6, [one])) for one in released(SWISS, 1)) / 4
    assert alone > max(skellam_epsilon(1e-6, [one]) for one in released(SWISS, 1))
    with pytest.raises(RefusedProtocol, match="above max_epsilon"):
        Device(SWISS, max_epsilon=0.9 * alone)
    assert Device(SWISS, max_epsilon=1.01 * alone).epsilon == Device(SWISS).epsilon


def changed(number, **changes):
    kinds = [dict(kind) for kind in SWISS["rounds"]]
    kinds[number - 1].update(changes)
    return {**SWISS, "rounds": kinds}


FIRST = SWISS["rounds"][0]


@pytest.mark.parametrize(
    "protocol",
    [
        *({**SWISS, name: 299} for name in ("min_reports", "max_reports")),
        *({**SWISS, name: value} for name, value in (("epsilon", "0.99"), ("local_epsilon", "20"), ("delta", "9e-7"))),
        {**SWISS, "servers": 1},
        *({**SWISS, "rounds": rounds} for rounds in ([], None, FIRST, [*SWISS["rounds"], SWISS["rounds"][1]])),
        {**SWISS, "rounds": [*SWISS["rounds"], None]},
        {key: value for key, value in SWISS.items() if key != "rounds"},
        *(changed(1, times=times) for times in (2, 0, True, 2**21)),
        *(changed(1, rate=[rate, 2**20]) for rate in (FIRST["rate"][0] * 98 // 100, 0)),
        *(changed(1, modulus_bits=bits) for bits in (FIRST["modulus_bits"] - 1, 54)),
        *(changed(1, statistic="net_losses"), changed(1, note=""), changed(2, statistic="net_wins")),
        *(changed(2, statistic={"name": "group_net_wins", "sizes": sizes}) for sizes in ([20], [12, 8], [8, 8])),
    ],
    ids=lambda protocol: repr(protocol)[-30:],
)
def test_protocols_that_devices_refuse(protocol):
    with pytest.raises(RefusedProtocol):
        Device(protocol)


@pytest.mark.parametrize(("times", "field"), [(16_383, "epsilon"), (16_384, "times"), (2**20, "times")])
def test_a_device_stores_at_most_16_384_answers(times, field):
    few = {**SWISS, "rounds": [{**FIRST, "times": times}, {**FIRST, "times": 1}]}
    with pytest.raises(RefusedProtocol, match=f"protocol: {field} must be"):
        Device(few)


def test_cheaper_protocols_are_accepted():
    assert Device(changed(2, statistic={"name": "group_net_wins", "sizes": [4] * 5}))
    assert Device(changed(2, statistic="margins"))  # of all pairs, they move less than net wins of eight items
    assert Device({**SWISS, "rounds": SWISS["rounds"][:3]})
