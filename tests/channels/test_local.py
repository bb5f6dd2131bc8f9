"""Devices repeat their one report, and curators validate every report."""

import json

import numpy as np
import pytest

from sklearn_dprank import LDPPairwise
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.channels import Local
from sklearn_dprank.collection import Device, RandomizedResponse, RefusedProtocol
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.privacy import BudgetExhausted
from sklearn_dprank.queries import AllMargins, Ask, NetWins, PairMargin, PairTallies, PositionalScores
from sklearn_dprank.sampling.bit_source import Bits

M = 4
NAN = np.nan


def plan(n_queries=1, epsilon=1.0):
    return Local(epsilon, RandomizedResponse(n_queries)).plan([Ask(NetWins())], M)


def client(n_queries=1, seed=None):
    return Device(plan(n_queries).protocol, random_state=seed)


# Clients


def test_a_client_holds_one_report():
    for ballot in ([0, 1, 2, 3], [0, 0, 1, NAN]):
        device = client(3)
        first = json.dumps(device.report(ballot))
        for _ in range(5):
            assert json.dumps(device.report(ballot)) == first
        assert json.dumps(device.report(np.array(ballot, dtype=float))) == first
        with pytest.raises(BudgetExhausted) as error:
            device.report([3, 2, 1, 0])
        assert str(error.value).startswith("this device has already reported another ballot.")
        assert json.dumps(device.report(ballot)) == first


def test_a_refused_ballot_does_not_use_up_the_client():
    device = client()
    for bad in ([0, 1, 2], [0, 1, 2, np.inf], ["a", "b", "c", "d"]):
        with pytest.raises(ValueError):
            device.report(bad)
    assert set(device.report([0, 1, 2, 3])) == {"protocol", "pairs", "answers"}


@pytest.mark.parametrize("n_queries", [1, 2, 6])
def test_shape_of_a_report_does_not_depend_on_the_ballot(n_queries):
    shapes = set()
    for ballot in ([0, 1, 2, 3], [0, 0, 0, 0], [NAN] * 4, [NAN, 0, NAN, 1], [1e300, -1e300, 0, 5]):
        for seed in range(5):
            report = client(n_queries, seed).report(ballot)
            assert {type(x) for pair in report["pairs"] for x in pair} | set(map(type, report["answers"])) == {int}
            shapes.add((tuple(report), len(report["pairs"]), len(report["answers"]), len(json.dumps(report))))
    assert len(shapes) == 1


def test_pairs_do_not_depend_on_the_ballot():
    """The pairs are drawn before the ballot is looked at: with one seed, all ballots are asked the same."""
    for seed in range(20):
        asked = [client(2, seed).report(b)["pairs"] for b in ([0, 1, 2, 3], [3, 2, 1, 0], [NAN] * 4, [0, 0, 1, 1])]
        assert asked[1:] == asked[:-1]


# Protocol


def test_protocol_is_deterministic_json():
    for n_queries in (1, 3):
        texts = {json.dumps(plan(n_queries).protocol) for _ in range(3)}
        assert len(texts) == 1
        protocol = json.loads(texts.pop())
        assert protocol == plan(n_queries).protocol
        assert (protocol["version"], len(protocol["items"]), protocol["n_queries"]) == (3, M, n_queries)
        again = Device(protocol, random_state=3)
        assert again.report([0, 1, 2, 3]) == client(n_queries, 3).report([0, 1, 2, 3])
    named = LDPPairwise().protocol(["a", "b", "c", "d"])
    assert named == {**LDPPairwise().protocol(M), "items": ["a", "b", "c", "d"]}


# Reports from the field


NAME = digest(plan(2).protocol)
GOOD = {"protocol": NAME, "pairs": [[0, 1], [1, 3]], "answers": [0, 1]}
BAD = {
    "not a JSON object": [[GOOD], 3, None, "[]", "17", b"null"],
    "not JSON": ["", "{", b"\xff\xfe", "{'pairs': 1}", "[" * 100_000],
    "another protocol": [
        {**GOOD, "protocol": digest(plan(2, epsilon=4.0).protocol)},
        {**GOOD, "protocol": 7},
        {**GOOD, "protocol": [NAME]},
        {k: v for k, v in GOOD.items() if k != "protocol"},
        {},
    ],
    "too long": ['{"protocol": "' + "0" * (1 << 22) + '"}'],
    "wrong keys": [{**GOOD, "voter": "secret-name"}, {k: v for k, v in GOOD.items() if k != "pairs"}],
    "wrong number of answers": [
        {**GOOD, "answers": [1]},
        {**GOOD, "pairs": [[0, 1]], "answers": [1]},
        {**GOOD, "answers": 5},
        {**GOOD, "pairs": "secret"},
    ],
    "answer out of range": [{**GOOD, "answers": [0, a]} for a in (2, -1, 0.5, True, "1", None, 10**400, float("nan"))],
    "pair out of range": [
        {**GOOD, "pairs": [[0, 1], p]}
        for p in ([1, 4], [-1, 2], [2, 1], [1, 1], [0, 1, 2], [1], "01", None, [0, 1.0], [False, True], [0, 10**400])
    ],
    "pair asked twice": [{**GOOD, "pairs": [[0, 1], [0, 1]]}],
}
CASES = [(reason, report) for reason, reports in BAD.items() for report in reports]


@pytest.mark.parametrize(("reason", "report"), CASES, ids=lambda x: str(x)[:40])
def test_bad_reports_are_left_out_by_reason(reason, report):
    """Reasons are fixed words that do not quote the report."""
    estimator = LDPPairwise(n_queries=2, rule="borda", random_state=0)
    good = [GOOD, json.dumps(GOOD), json.dumps(GOOD).encode()]
    fitted = estimator.fit_reports([*good, report, report], items=M)
    assert fitted.reports_refused_ == {reason: 2}
    clean = LDPPairwise(n_queries=2, rule="borda", random_state=0).fit_reports(good, items=M)
    assert clean.reports_refused_ == {}
    np.testing.assert_array_equal(fitted.ranks_, clean.ranks_)
    if not isinstance(report, (str, bytes)):
        try:
            as_text = json.dumps(report)
        except (TypeError, ValueError):
            return
        assert estimator.fit_reports([*good, as_text], items=M).reports_refused_ == {reason: 1}


def test_a_bad_report_counts_not_even_in_part():
    half_bad = {**GOOD, "pairs": [[0, 1], [0, 9]]}
    session = plan(2).open(iter([half_bad, GOOD] * 50))(Bits.from_random_state(0))
    (tallies,) = session.answer(PairTallies())
    assert tallies.wins.sum() == 100
    assert session.published["reports_accepted"] == 50
    assert session.published["reports_refused"] == {"pair out of range": 50}


def test_reports_are_read_as_a_stream():
    given = []

    def reports():
        for seed in range(30):
            given.append(seed)
            yield LDPPairwise(n_queries=2).client(["a", "b", "c", "d"], seed).report([0, 1, 2, 3])

    fitted = LDPPairwise(n_queries=2, random_state=0).fit_reports(reports(), items=["a", "b", "c", "d"])
    assert len(given) == 30
    assert sorted(fitted.consensus_.tolist()) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match=r"no report was accepted \(none arrived\)"):
        LDPPairwise(random_state=0).fit_reports([], items=M)


# Sessions and plans


def test_everything_follows_from_the_tallies():
    profile = Profile.from_rankings(np.tile([0, 1, 2, 3], (50, 1)))
    session = plan(6, epsilon=1e3).open(profile)(Bits.from_random_state(0))
    (tallies,) = session.answer(PairTallies())
    np.testing.assert_array_equal(tallies.wins, np.triu(np.full((M, M), 50), 1))
    margins = session.answer(AllMargins())
    np.testing.assert_allclose(margins, np.triu(np.ones((M, M)), 1) - np.tril(np.ones((M, M)), -1), atol=1e-12)
    np.testing.assert_allclose(session.answer(NetWins()), [3, 1, -1, -3], atol=1e-12)
    assert session.answer(PairMargin(0, 2)) == pytest.approx(1)


def test_a_class_is_refused_as_randomizer():
    with pytest.raises(ValueError, match=r"randomizer must be a randomizer object, got the class RandomizedResponse;"):
        Local(randomizer=RandomizedResponse).plan([Ask(NetWins())], M)


def test_guarantee_and_refusal():
    guarantee = plan(3, epsilon=2.5).guarantee
    assert (guarantee.epsilon, guarantee.delta) == (2.5, 0.0)
    assert (guarantee.trust, guarantee.neighboring, guarantee.arithmetic) == ("local", "replace", "exact")
    with pytest.raises(ValueError) as error:
        Local().plan([Ask(PositionalScores((1.0, 0.0, 0.0, 0.0)))], M)
    assert str(error.value) == (
        "Local cannot answer PositionalScores of length 4, which the rule asks for; "
        "reports by RandomizedResponse give PairTallies."
    )


def test_the_same_ballot_in_other_numbers_is_the_same_ballot():
    client = LDPPairwise().client(3)
    first = client.report([0, 1, 2])
    assert client.report([10, 20, 30]) == first
    for other in ([0, 1, np.nan], [0, 1, 1], [0, 2, 1]):
        with pytest.raises(BudgetExhausted):
            client.report(other)


def test_a_protocol_that_a_device_would_refuse_is_not_planned():
    class Edited(RandomizedResponse):
        def protocol(self, epsilon, items):
            return {**super().protocol(epsilon, items), "flip": [1, 2**52]}

    with pytest.raises(RefusedProtocol, match="at least what its numbers spend"):
        Local(1.0, Edited()).plan([Ask(NetWins())], 3)
