"""Client side of secure aggregation: shares add up, and all shares but one are uniform.

Statistics of one ballot: devices and curators agree, and sensitivities are true. Sums in rounds: a device answers each
question once, in order, at most at the stated cost.
"""

import hashlib
import json
import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from oracles import all_ballots
from query_examples import examples
from scipy import stats

from sklearn_dprank import SecAggBorda, SecAggSwissBorda, queries
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import compact_positions
from sklearn_dprank.channels import SecureAggregation
from sklearn_dprank.collection import Device, RefusedProtocol, shares
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.shares import SharesRandomizer, summand
from sklearn_dprank.privacy.errors import BudgetExhausted
from sklearn_dprank.privacy.skellam import SkellamRelease, skellam_epsilon
from sklearn_dprank.queries import (
    AllMargins,
    Ask,
    GroupNetWins,
    Histogram,
    NetWins,
    PairMargin,
    PairTallies,
    PositionalScores,
    Query,
    ScaledMargins,
)
from sklearn_dprank.queries.statistics import STATISTICS
from sklearn_dprank.sampling.bit_source import Bits

QUERIES = {
    "net_wins": NetWins(),
    "margins": AllMargins(),
    "plurality": PositionalScores((1.0, 0.0, 0.0, 0.0)),
    "thirds": PositionalScores((1 / 3, 1 / 4, 1 / 5, 1 / 6)),
}
BORDA = SecAggBorda(epsilon=1.0, min_reports=200).protocol(4)


def protocol_of(statistic, n_items=4, n_servers=2, **crowd):
    channel = SecureAggregation(1.0, 1e-6, n_servers, **{"min_reports": 200, **crowd})
    return channel.plan([Ask(QUERIES[statistic])], n_items).protocol


@pytest.mark.parametrize("statistic", QUERIES)
@pytest.mark.parametrize("n_servers", [2, 3, 5])
def test_shares_add_up_to_the_statistic_and_noise(statistic, n_servers):
    ballots = all_ballots(4)
    protocol = {**protocol_of(statistic, n_servers=n_servers), "rate": [1, 2**20]}  # hardly any noise
    bits = Bits.from_random_state(0)
    _, drawn = SharesRandomizer().draw(protocol, compact_positions(ballots), bits)
    modulus = 2 ** protocol["modulus_bits"]
    assert drawn.shape == (150, n_servers, 6 if statistic == "margins" else 4)
    assert drawn.min() >= 0 and drawn.max() < modulus
    total = drawn.sum(axis=1) % modulus
    total = np.where(total >= modulus // 2, total - modulus, total)
    exact = [QUERIES[statistic].vector(Profile.from_rankings([ballot]), None) for ballot in ballots]
    off = total - exact
    assert np.count_nonzero(off) < 0.02 * off.size and np.abs(off).max() <= 1


@pytest.mark.parametrize("statistic", ["net_wins", "margins"])
def test_the_noise_of_one_voter(statistic):
    protocol = protocol_of(statistic, 3, min_reports=400)
    ballots = compact_positions(np.tile([0.0, 1.0, 2.0], (800, 1)))
    _, drawn = SharesRandomizer().draw(protocol, ballots, Bits.from_random_state(2))
    modulus, rate = 2 ** protocol["modulus_bits"], protocol["rate"][0] / protocol["rate"][1]
    total = drawn.sum(axis=1) % modulus
    noise = np.where(total >= modulus // 2, total - modulus, total)
    noise = (noise - QUERIES[statistic].vector(Profile.from_rankings([[0, 1, 2]]), None)).ravel()
    cells = np.arange(*stats.skellam.ppf([0.02, 0.98], rate, rate))
    expected = np.diff([0, *stats.skellam.cdf(cells, rate, rate), 1]) * len(noise)
    found = np.diff([0, *(np.count_nonzero(noise <= k) for k in cells), len(noise)])
    assert stats.chisquare(found, expected).pvalue > 1e-3


@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("ballot", [[0.0, 1.0], [1.0, 0.0]])
def test_all_shares_but_one_are_uniform_and_independent(missing, ballot):
    """Any two of three servers see two independent uniform numbers, for every ballot."""
    protocol = protocol_of("net_wins", 2, 3, min_reports=10**9)
    ballots = compact_positions(np.tile(ballot, (1600, 1)))
    _, drawn = SharesRandomizer().draw(protocol, ballots, Bits.from_random_state(missing))
    seen = np.delete(drawn[:, :, 0], missing, axis=1) * 4 // 2 ** protocol["modulus_bits"]
    counts = np.bincount(seen @ [4, 1], minlength=16)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("statistic", ["net_wins", "margins"])
@pytest.mark.parametrize("most", [1, 1000, 10**6])
@pytest.mark.parametrize("rate", [1e-3, 7.0, 1e6])
def test_the_modulus_holds_every_sum_but_for_a_stated_chance(statistic, most, rate):
    bits = shares.modulus_bits(summand(statistic, 10), most, rate)
    largest, d = (9, 10) if statistic == "net_wins" else (1, 45)
    room = 2 ** (bits - 1) - 1 - most * largest  # noise up to here wraps nothing
    beyond = 2 * stats.skellam.sf(room, rate * most, rate * most) if rate * most < 1e6 else 0
    beyond = beyond or 2 * stats.norm.sf(0.98 * room / math.sqrt(2 * rate * most))
    assert room > 0 and d * beyond < 2**-40
    assert 2 ** (bits - 2) < most * largest + 12 * math.sqrt(2 * rate * most) + 40  # and no larger than need be


@pytest.mark.parametrize(("most", "bits"), [(489, 10), (490, 11)])
def test_the_modulus_tells_apart_the_largest_sums_of_both_signs(most, bits):
    """A rate of 0 leaves room for noise up to 22; sums from -511 to 511 need 1,023 numbers, to 512 they need 1,025."""
    assert math.ceil(2 / 3 * math.log(2 * 45 * 2**40)) == 22
    assert shares.modulus_bits(summand("margins", 10), most, 0.0) == bits


def test_devices_state_what_is_left_where_all_servers_collude():
    device = Device(BORDA)
    assert device.epsilon > 20 * float(BORDA["epsilon"])
    assert Decimal(device.epsilon) <= Decimal(BORDA["local_epsilon"])
    with pytest.raises(RefusedProtocol, match=r"above max_epsilon=2\.0"):
        Device(BORDA, max_epsilon=2.0)


RATE = BORDA["rate"][0]
WRONG = {
    "statistic": ["pair_margin", {"name": "group_net_wins", "sizes": [4]}],  # more below
    "servers": [1, 21, True],
    "rate": [[RATE * 9999 // 10_000, 2**20], [0, 2**20], [RATE, 2**21], [RATE, 2**19], RATE],
    "min_reports": [199, 0],
    "max_reports": [199, 2**41],
    "modulus_bits": [BORDA["modulus_bits"] - 1, 54],
    "delta": ["0.9999999e-6", 1e-6, "1.0", "1e-400"],
    "local_epsilon": ["20"],
    "epsilon": ["0.999999"],
}


@pytest.mark.parametrize(("field", "changed"), [(field, value) for field, values in WRONG.items() for value in values])
def test_invalid_protocols_are_refused(field, changed):
    with pytest.raises(RefusedProtocol, match="this device does not follow the protocol"):
        Device({**BORDA, field: changed})


@pytest.mark.parametrize("field", ["min_reports", "modulus_bits"])
def test_more_voters_and_a_larger_modulus_are_accepted(field):
    assert Device({**BORDA, field: BORDA[field] + 1}).protocol[field] == BORDA[field] + 1


def test_the_modulus_leaves_room_for_the_noise():
    loud = {**BORDA, "rate": [10**12, 1]}
    enough = shares.modulus_bits(summand("net_wins", 4), BORDA["max_reports"], 1e12)
    assert Device({**loud, "modulus_bits": enough})
    with pytest.raises(RefusedProtocol, match="protocol: modulus_bits must be"):
        Device({**loud, "modulus_bits": enough - 1})


def test_numbers_of_voters_are_at_most_2_to_the_40():
    assert Device({**BORDA, "modulus_bits": 53, "min_reports": 2**40, "max_reports": 2**40})
    for least, field in ((200, "max_reports"), (2**40 + 1, "min_reports")):
        with pytest.raises(RefusedProtocol, match=f"protocol: {field} must be"):
            Device({**BORDA, "modulus_bits": 53, "min_reports": least, "max_reports": 2**40 + 1})


def test_too_many_numbers():
    assert summand("histogram", 8).numbers == math.factorial(8)
    for statistic, n_items in (("margins", 700), ("histogram", 11)):
        with pytest.raises(RefusedProtocol, match="so few that 200,000 numbers are sent"):
            Device({**BORDA, "statistic": statistic, "items": list(range(n_items))})


def test_the_epsilon_of_the_sum_is_that_of_so_many_voters():
    (one,) = shares.sums(BORDA)
    assert 0.999 < float(SharesRandomizer().spent(BORDA, 200)) <= 1
    assert SharesRandomizer().spent(BORDA, 100) > Decimal("1.3")
    variance = 2 * Fraction(*BORDA["rate"]) * 200
    assert one.summand.sensitivity("replace")[:2] == (16, 80)
    # sigma of a Gaussian for (1, 1e-6) and that movement is 38
    assert 1.02 < math.sqrt(variance) / (4.2247 * math.sqrt(80)) < 1.1


def test_the_number_of_a_report_commits_to_all_shares():
    """Written once more: SHA-256 of the sorted JSON without spaces."""

    def sha256(value):
        return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    for protocol in (BORDA, protocol_of("margins", 4, 3)):
        said = Device(protocol).report([0, 1, 2, 3])
        head = {"protocol": digest(protocol)}
        opened = [{**head, **{name: one[name] for name in ("server", "salt", "share")}} for one in said]
        assert all(one["commitments"] == [sha256(each) for each in opened] for one in said)
        assert {one["report"] for one in said} == {sha256(said[0]["commitments"])}


# --- statistics

EVERY = [getattr(queries, name) for name in queries.__all__]
EVERY = [kind for kind in EVERY if isinstance(kind, type) and issubclass(kind, Query)]
SENT = [kind for kind in EVERY if kind.device_statistic or kind.summed_as is not Query.summed_as]
CASES = [(kind, m, k) for kind in SENT for m in (3, 4) for k in range(len(examples(kind, m)))]


def test_every_summable_query_has_a_device_statistic():
    """The other queries draw orders, count voters or persons, limit persons, or need a histogram too large to list."""
    others = {kind.__name__ for kind in EVERY if kind not in SENT and kind.answered_with == "vector" and kind != Query}
    limited = {"BradleyTerryResiduals", "NetWinsAndExposures", "TopListScores"}
    assert others == {"NumberOfVoters", "PersonsByWeight", "ScoresByHistogram", *limited}
    names = {name_of(query.summed_as(3)) for kind in SENT for query in examples(kind, 3)}
    assert names == set(STATISTICS)


def name_of(statistic):
    return statistic if isinstance(statistic, str) else statistic["name"]


def added(query, ballots):
    """What devices add for each of these ballots, of three items or four."""
    m = ballots.shape[1]
    what, about = summand(query.summed_as(m), m), query.summed_about(m)
    assert what.accepts(about)
    return what, what.of(compact_positions(ballots), about, Bits.from_random_state(0).coins)


@pytest.mark.parametrize(("kind", "m", "k"), CASES)
def test_devices_add_what_curators_count(kind, m, k):
    query = examples(kind, m)[k]
    ballots = all_ballots(m)
    if isinstance(query, Histogram):
        ballots = ballots[[len(set(ballot)) == m and not np.isnan(ballot).any() for ballot in ballots]]
    _, said = added(query, ballots)
    for row, ballot in zip(said, ballots, strict=True):
        exact = query.vector(Profile.from_rankings([ballot]), Bits.from_random_state(0).coins)
        np.testing.assert_array_equal(row[: len(exact)], exact)
        assert len(row) == len(exact) or (kind is ScaledMargins and not row[len(exact) :].any())


@pytest.mark.parametrize(("kind", "m", "k"), CASES)
def test_device_sensitivity_bounds_every_pair_of_ballots(kind, m, k):
    """Brute force over all weak and partial ballots. The stated bound is attained."""
    query = examples(kind, m)[k]
    what, said = added(query, all_ballots(m))
    said = np.unique(said, axis=0)
    assert said.shape[1] == what.numbers and np.abs(said).max() <= what.largest
    moved = np.array([first - second for first, second in combinations(said, 2)] or [0 * said[0]])
    l1, l2_squared = np.abs(moved).sum(axis=1).max(), np.square(moved).sum(axis=1).max()
    assert l1 <= what.sensitivity("replace").l1 and l2_squared <= what.sensitivity("replace").l2_squared
    stated = query.sensitivity(m, "replace")
    if kind is PairTallies:  # devices answer at the price of all pairs, whichever are asked about
        stated = PairTallies().sensitivity(m, "replace")
    assert (what.sensitivity("replace").l1, what.sensitivity("replace").l2_squared) == (stated.l1, stated.l2_squared)


@pytest.mark.parametrize("sizes", [[8], [4, 4], [3, 5], [1, 7], [2, 2, 2, 2], [1] * 8])
def test_sensitivity_of_group_net_wins(sizes):
    what = summand({"name": "group_net_wins", "sizes": sizes}, 8)
    assert what.sensitivity("replace").l1 == 2 * sum(k * k // 2 for k in sizes)
    assert what.sensitivity("replace").l2_squared == Fraction(4 * sum(k**3 - k for k in sizes), 3)
    items = np.random.default_rng(0).permutation(8).tolist()
    groups = [items[end - size : end] for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    assert what.accepts(groups)
    assert GroupNetWins(tuple(map(tuple, groups))).summed_about(8) == groups
    assert GroupNetWins(tuple(map(tuple, groups))).summed_as(8) == {"name": "group_net_wins", "sizes": sizes}


def test_items_of_no_group_are_groups_of_their_own():
    query = GroupNetWins(((3, 1), ()))
    assert query.summed_about(4) == [[3, 1], [0], [2]]
    assert query.summed_as(4)["sizes"] == [2, 1, 1]


GROUPS = summand({"name": "group_net_wins", "sizes": [2, 1]}, 3)
ASKED = {
    "pair_margin": (summand("pair_margin", 3), [[0, 1], [2, 0]]),
    "pair_counts": (summand("pair_counts", 3), [[], [[0, 1]], [[0, 1], [0, 2], [1, 2]]]),
    "group_net_wins": (GROUPS, [[[0, 1], [2]], [[2, 0], [1]]]),
    "scaled_margins": (
        summand("scaled_margins", 3),
        [{"pairs": [[0, 1]]}, {"pairs": [[2, 0], [1, 2], [0, 1]]}, {"groups": [[0, 1, 2]]}, {"groups": [[2, 0], [1]]}],
    ),
    "net_wins": (summand("net_wins", 3), [None]),
}
REFUSED = {
    "pair_margin": [None, [0], [0, 0], [0, 3], [-1, 0], [0, 1.0], [True, 2], (0, 1), "01", [0, 1, 2], [[0, 1]]],
    "pair_counts": [None, [0, 1], [[1, 0]], [[0, 3]], [[0, 1], [0, 1]], [[0, 1]] * 4, ([0, 1],), {}, [(0, 1)]],
    "group_net_wins": [
        *(None, [], [[0, 1, 2]], [[0], [1, 2]], [[0, 1], [1]], [[0, 1], [3]], [[0, 1], [-1]], [[0, True], [2]]),
        *([[0, 1.0], [2]], [[0, 1], [2], []], [[0, 1], 2], [(0, 1), [2]], "012", {"0": [0, 1]}),
    ],
    "scaled_margins": [
        None,
        [[0, 1]],
        {},
        {"pairs": []},
        *({"pairs": pairs} for pairs in ([[0, 1]] * 2, [[0, 1], [1, 0]], [[0, 1]] * 4)),
        {"pairs": [[0, 1]], "groups": [[0, 1, 2]]},
        {"margins": [[0, 1]]},
        *(
            {"pairs": [pair]}
            for pair in (0, [0], [1, 1], [0, 3], [-1, 0], [0, 1.0], [True, 2], (0, 1), "01", [0, 1, 2])
        ),
        *(
            {"groups": groups}
            for groups in (None, [], [[0, 1]], [[0, 1], [1, 2]], [[0, 1, 2], []], [[0, 1], 2], [[0, 1, 3]])
        ),
        {"groups": ([0, 1, 2],)},
    ],
    "net_wins": [[], [[0, 1, 2]], 0, False],
}


@pytest.mark.parametrize("name", ASKED)
def test_questions_have_the_form_of_their_statistic(name):
    what, good = ASKED[name]
    assert all(what.accepts(about) for about in good)
    assert not any(what.accepts(about) for about in REFUSED[name])


@pytest.mark.parametrize(
    "statistic",
    [
        *(None, 7, "ballot", ["net_wins"], {}, {"name": None}, {"name": "net_wins"}, {"name": ["net_wins"]}),
        *({"name": "net_wins", "sizes": [4]}, "group_net_wins", "positional_scores"),
        {"name": "group_net_wins", "sizes": [4], "scores": [1] * 4},
        *({"name": "group_net_wins", "sizes": sizes} for sizes in (None, [], [3], [5], [4, 0], [2.0, 2], [5, -1], 4)),
        *(
            {"name": "positional_scores", "scores": scores}
            for scores in (None, [], [1] * 3, [1] * 5, [1.0] * 4, [True] * 4, [2**53, 0, 0, 0], "1000")
        ),
    ],
)
def test_invalid_statistic_is_refused(statistic):
    with pytest.raises(RefusedProtocol, match=r"statistic|sizes|scores"):
        summand(statistic, 4)


@pytest.mark.parametrize(("statistic", "first"), [("histogram", 2), ("histogram_unseen_last", 0)])
def test_ballots_are_completed_by_coins(statistic, first):
    """Item 2 is unseen: before all others by a coin, or never."""
    ballots = compact_positions(np.tile([0.0, 0.0, np.nan], (4000, 1)))
    cells = summand(statistic, 3).of(ballots, None, Bits.from_random_state(1).coins)
    assert (cells.sum(axis=1) == 1).all()
    found = cells.sum(axis=0)
    places = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])  # by cell
    expected = {2: [1, 0, 1, 1, 0, 1], 0: [1, 0, 1, 0, 0, 0]}[first]
    assert found[np.array(expected) == 0].sum() == 0
    assert stats.chisquare(found[np.array(expected) == 1]).pvalue > 1e-3
    assert len(places) == len(found)


def test_large_scores_stay_exact():
    top = 2**52 - 1
    what = summand({"name": "positional_scores", "scores": [top, -top, 0]}, 3)
    said = what.of(compact_positions(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]])), None, None)
    assert said.tolist() == [[0, 0, 0], [top, -top, 0]]
    assert what.sensitivity("replace").l1 == 4 * top + 3


# --- rounds

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
WRONG_QUESTIONS = {
    "protocol": ["0" * 16, None],
    "question": [5, 0, 2.0, 1, 3],
    "voters": [[0, 1]],
    "pair": [[0, 1]],
    "groups": [None, asked(3)["groups"], [*GOOD["groups"][:2], BALLOT[:4]]],  # more above
}


@pytest.mark.parametrize(
    "question",
    [
        *(None, [], "question", {}, {key: value for key, value in GOOD.items() if key != "groups"}),
        *({**GOOD, name: value} for name, values in WRONG_QUESTIONS.items() for value in values),
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
    assert all(Device({**SWISS, "rounds": SWISS["rounds"][:size]}) for size in (1, 3))
