"""Client side of sums in rounds: each question once, in order, at most at the stated cost."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sklearn_dprank import SecAggSwissBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import SecureAggregation
from sklearn_dprank.collection import Device, RefusedProtocol, shares as rounds
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


@pytest.mark.slow
def test_the_noise_of_each_round():
    """That of its own rate, of 400 devices."""
    number = 2
    of = rounds.sum_about(SWISS, number)
    noise = []
    for voter in range(100):
        messages = Device(SWISS, random_state=voter).answer(asked(number), [0] * 20)
        noise.append(total(messages, SWISS["rounds"][number - 1]["modulus_bits"]))
    spread = np.std(noise) / math.sqrt(2 * of.rate)
    assert abs(spread - 1) < 0.08 and abs(np.mean(noise)) < 0.1 * math.sqrt(2 * of.rate)
    assert np.abs(np.corrcoef(np.transpose(noise)) - np.eye(20)).max() < 0.5


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


FIRST_TWO = GOOD["groups"][:2]
WRONG = {
    "protocol": ["0" * 16, None],
    "question": [5, 0, 2.0, 1, 3],
    "voters": [[0, 1]],
    "pair": [[0, 1]],
    "groups": [
        *(None, [BALLOT], asked(3)["groups"], GOOD["groups"][::-1], [*GOOD["groups"], []]),
        *(
            [*FIRST_TWO, last]
            for last in (BALLOT[:4], [16, 17, 18, 20], [16, 17, 18], [16, 17, 18, "19"], [16, 17, 18, 19.0])
        ),
    ],
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


def sensitivities(statistic):
    """L1 and squared L2 of replacing one ballot of 20 items."""
    if statistic == "scaled_margins":  # 64 times the net wins of all items, or at most 190 numbers of the same length
        l2_squared = 4 * 64**2 * 20 * (20**2 - 1) / 3
        return math.sqrt(190 * l2_squared), l2_squared
    sizes = statistic["sizes"]
    return sum(2 * (k * k // 2) for k in sizes), sum(4 * k * (k * k - 1) / 3 for k in sizes)


def divergence(alpha, kinds, n_voters):
    """The bound of Agarwal, Kairouz and Liu for one order, of net wins within groups, summed over all questions."""
    total = 0.0
    for kind in kinds:
        l1, l2_squared = sensitivities(kind["statistic"])
        v = 2 * kind["rate"][0] / kind["rate"][1] * n_voters
        lattice = min(((2 * alpha - 1) * l2_squared + 6 * l1) / (4 * v * v), 3 * l1 / (2 * v))
        total += kind["times"] * (alpha * l2_squared / (2 * v) + lattice)
    return total


def least_epsilon(protocol, n_voters):
    """By the conversion of Canonne, Kamath and Steinke, over many orders."""
    orders = sorted({2, *np.rint(np.geomspace(2, 1e6, 400)).astype(int).tolist()})
    delta = float(protocol["delta"])
    return min(
        divergence(a, protocol["rounds"], n_voters)
        + (math.log(1 / delta) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
        for a in orders
    )


def spoiled(rng):
    """The protocol, with up to three changes that may make it dearer, or cheaper, or no protocol at all."""
    protocol = json.loads(json.dumps(SWISS))
    rounds = protocol["rounds"]
    for _ in range(rng.integers(1, 4)):
        kind, what = rounds[rng.integers(len(rounds))], rng.integers(8)
        if what == 0:
            kind["rate"] = [int(kind["rate"][0] * rng.uniform(0.7, 1.5)), 2**20]
        elif what == 1:
            kind["times"] = int(rng.integers(1, 4))
        elif what == 2 and kind["statistic"] != "scaled_margins":
            kind["statistic"]["sizes"] = (rng.multinomial(16, [1 / 4] * 4) + 1).tolist()
        elif what == 3:
            protocol["min_reports"] = int(rng.integers(200, 500))
        elif what == 4:
            protocol.update(epsilon=f"{rng.uniform(0.7, 2):.6f}", local_epsilon="200")
        elif what == 5:
            protocol["delta"] = f"{rng.uniform(0.5, 3) * 1e-6:.9f}"
        elif what == 6:
            rounds.append(json.loads(json.dumps(rounds[0])))
        elif len(rounds) > 1:
            rounds.pop()
    return protocol


@pytest.mark.parametrize(("times", "field"), [(16_383, "epsilon"), (16_384, "times"), (2**20, "times")])
def test_a_device_stores_at_most_16_384_answers(times, field):
    few = {**SWISS, "rounds": [{**FIRST, "times": times}, {**FIRST, "times": 1}]}
    with pytest.raises(RefusedProtocol, match=f"protocol: {field} must be"):
        Device(few)


@pytest.mark.slow
def test_random_round_protocols_spend_at_most_the_stated_epsilon():
    """Changed at random, a protocol is refused, or costs what it states at most: worked out once more."""
    rng, taken = np.random.default_rng(0), 0
    for _ in range(150):
        protocol = spoiled(rng)
        try:
            device = Device(protocol)
        except RefusedProtocol:
            continue
        taken += 1
        assert least_epsilon(protocol, protocol["min_reports"]) <= float(protocol["epsilon"]) * (1 + 1e-3)
        assert least_epsilon(protocol, 1) <= device.epsilon * (1 + 1e-3)
    assert 20 < taken < 130


def test_cheaper_protocols_are_accepted():
    assert Device(changed(2, statistic={"name": "group_net_wins", "sizes": [4] * 5}))
    assert Device(changed(2, statistic="margins"))  # of all pairs, they move less than net wins of eight items
    assert Device({**SWISS, "rounds": SWISS["rounds"][:3]})
