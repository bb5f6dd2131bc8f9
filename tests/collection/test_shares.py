"""Client side of secure aggregation: shares add up, and all shares but one are uniform."""

import hashlib
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from oracles import all_ballots
from scipy import stats

from sklearn_dprank import SecAggBorda
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.ballots.reading import compact_positions
from sklearn_dprank.channels import SecureAggregation
from sklearn_dprank.collection import Device, RefusedProtocol, shares
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.shares import SharesRandomizer, summand
from sklearn_dprank.queries import AllMargins, Ask, NetWins, PositionalScores
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


def test_devices_state_what_is_left_where_all_servers_collude():
    device = Device(BORDA)
    assert device.epsilon > 20 * float(BORDA["epsilon"])
    assert Decimal(device.epsilon) <= Decimal(BORDA["local_epsilon"])
    with pytest.raises(RefusedProtocol, match=r"above max_epsilon=2\.0"):
        Device(BORDA, max_epsilon=2.0)


RATE = BORDA["rate"][0]
WRONG = {
    "statistic": ["pair_margin", {"name": "group_net_wins", "sizes": [4]}],  # test_shares_statistics.py has more
    "servers": [1, 21, True],
    "rate": [[RATE * 9999 // 10_000, 2**20], [0, 2**20], [RATE, 2**21], [RATE, 2**19], RATE],
    "min_reports": [199, 0],
    "max_reports": [199, 2**41],
    "modulus_bits": [BORDA["modulus_bits"] - 1, 54],
    "delta": ["0.9999999e-6", 1e-6, "1.0"],
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


def test_too_many_numbers():
    with pytest.raises(RefusedProtocol, match="so few that 200,000 numbers are sent"):
        Device({**protocol_of("margins"), "items": list(range(700))})


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
