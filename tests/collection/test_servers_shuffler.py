"""A shuffler releases the messages of each voter once, with at least `min_reports` voters, in random order.

A failure links a message to its voter: by a protocol, a pair or an order that few share, by sending twice, or by the
file of the shuffler.
"""

import json
import math
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from local_tools import apart
from process_tools import killed
from scipy.stats import chisquare
from state_tools import at_once

from sklearn_dprank import LDPPairwise, SecAggBorda, ShufflePairwise
from sklearn_dprank.channels import balanced_design
from sklearn_dprank.collection import Device, RefusedProtocol, ServerFileError, Shuffler
from sklearn_dprank.collection.protocol import digest, is_digits
from sklearn_dprank.sampling.bit_source import Bits

ITEMS = ["a", "b", "c"]
LEAST, K = 6, 2
CURATOR = {
    pairs: ShufflePairwise(local_epsilon=2.0, n_queries=K, min_reports=LEAST, pairs=pairs, random_state=0)
    for pairs in ("hidden", "assigned")
}
PROTOCOL = {pairs: curator.protocol(ITEMS) for pairs, curator in CURATOR.items()}
NAME = {pairs: digest(protocol) for pairs, protocol in PROTOCOL.items()}
EVERY = [[0, 1], [0, 2], [1, 2]]
DESIGN = balanced_design(12, 3, K, Bits.from_random_state(0).assignment)


def submission(voter, pairs="hidden", row=None):
    """A submission whose messages tell whose it is: its pairs follow from the voter, or from a row of the design."""
    asked = EVERY[voter % 3], EVERY[(voter + 1) % 3]
    if pairs == "assigned":
        asked = DESIGN[voter if row is None else row].tolist()
    messages = [
        {"shuffle": k if pairs == "hidden" else 0, "pair": list(pair), "answer": voter % 2}
        for k, pair in enumerate(asked)
    ]
    return {"protocol": NAME[pairs], "report": f"{voter:032x}", "messages": messages}


def with_voters(voters, path=":memory:"):
    shuffler = Shuffler(PROTOCOL["hidden"], path)
    assert shuffler.receive(map(submission, voters)) == len(voters)
    return shuffler


def with_design(voters, **options):
    shuffler = Shuffler(PROTOCOL["assigned"], design=DESIGN, **options)
    assert shuffler.receive((voter, submission(voter, "assigned")) for voter in voters) == len(voters)
    return shuffler


def as_set(messages):
    return Counter(json.dumps(message, sort_keys=True) for message in messages)


def messages_of(voters, pairs="hidden"):
    return as_set(message for voter in voters for message in apart(submission(voter, pairs)))


# --- one protocol


def test_a_voter_with_a_protocol_of_its_own_is_refused():
    """A curator gives each voter a slightly different protocol, and would know each message by its digest."""
    shuffler, own = Shuffler(PROTOCOL["hidden"]), []
    for voter in range(30):
        protocol = {**PROTOCOL["hidden"], "central_delta": f"1.{voter + 1}e-06"}
        own.append(Device(protocol, random_state=voter).report([0, 1, 2]))
    assert len({each["protocol"] for each in own}) == 30
    assert shuffler.receive(own) == 0 and shuffler.refused == {"another protocol": 30}
    with pytest.raises(ValueError, match="waiting voters, got 0"):
        shuffler.release()


@pytest.mark.parametrize(
    "protocol",
    [LDPPairwise().protocol(3), SecAggBorda(min_reports=9).protocol(3), {**PROTOCOL["hidden"], "epsilon": "0.5"}, None],
    ids=["local", "secure aggregation", "states less than it spends", "none"],
)
def test_only_protocols_of_the_shuffle_model_are_taken(protocol):
    with pytest.raises(RefusedProtocol):
        Shuffler(protocol)


# --- what is refused


def spoiled(**changes):
    """The submission of voter 1 with other fields."""
    return {**submission(1), **changes}


def with_message(**changes):
    """The submission of voter 1 with other fields in its first message."""
    first, second = submission(1)["messages"]
    return spoiled(messages=[{**first, **changes}, second])


FIRST, SECOND = submission(1)["messages"]
BAD = {
    "not JSON": ["{", b"\xff\xfe", "[" * 400],
    "too long": [json.dumps(submission(1)) + " " * 600, b"0" * (Shuffler(PROTOCOL["hidden"])._longest + 1)],
    "not a JSON object": [
        *(None, json.dumps(json.dumps(submission(1))), [submission(1)], (0, submission(1))),
        spoiled(messages=[FIRST, 7]),
    ],
    "another protocol": [spoiled(protocol=NAME["assigned"]), spoiled(protocol=None)],
    "wrong keys": [
        *(apart(submission(1))[0], spoiled(voter="secret-7")),
        *(with_message(time="secret-7"), with_message(protocol=NAME["hidden"])),
    ],
    "no report number": [spoiled(report=wrong) for wrong in (7, "0" * 31, "A" * 32)],
    "wrong number of messages": [
        spoiled(messages=wrong) for wrong in ([], [FIRST], [FIRST, SECOND] * 510, {"0": FIRST, "1": SECOND})
    ],
    "shuffle out of range": [
        spoiled(messages=[FIRST, FIRST]),
        *(with_message(shuffle=wrong) for wrong in (1, 2, False, -1)),
    ],
    "pair out of range": [with_message(pair=wrong) for wrong in ([1, 0], [0, 3], [0, 10**40])],
    "answer out of range": [with_message(answer=wrong) for wrong in (2, True, None)],
}
EACH = [(bad, reason) for reason, submissions in BAD.items() for bad in submissions]


@pytest.mark.parametrize(("bad", "reason"), EACH, ids=[f"{k}: {reason}" for k, (_, reason) in enumerate(EACH)])
def test_each_bad_submission_is_refused_for_a_reason(bad, reason):
    shuffler = Shuffler(PROTOCOL["hidden"])
    assert shuffler.receive([submission(0), bad, json.dumps(submission(2)), json.dumps(submission(3)).encode()]) == 3
    assert shuffler.refused == {reason: 1} and shuffler.waiting == 3


def test_a_single_submission_is_an_error():
    for one in (submission(1), json.dumps(submission(1)), b"{}", None, 7):
        with pytest.raises(ValueError, match="submissions must be an iterable of submissions"):
            Shuffler(PROTOCOL["hidden"]).receive(one)


# --- each voter once


def test_a_submission_that_comes_again_counts_once():
    shuffler = with_voters(range(4))
    assert shuffler.receive([submission(3), submission(4), submission(4), json.dumps(submission(0))]) == 1
    assert shuffler.refused == {"received before": 3} and shuffler.waiting == 5
    same_number = {**submission(7), "report": submission(5)["report"]}
    assert shuffler.receive([submission(5), same_number]) == 1, "what came first stays"
    assert as_set(shuffler.release()) == messages_of(range(6))


def test_each_voter_is_released_once():
    shuffler = with_voters(range(8))
    with pytest.raises(ValueError, match="no batch has been released yet"):
        shuffler.batch(0)
    assert as_set(shuffler.release()) == messages_of(range(8))
    assert shuffler.waiting == 0 and shuffler.batches == 1
    assert shuffler.receive(map(submission, range(13))) == 5
    with pytest.raises(ValueError, match=r"at least min_reports=6 waiting voters, got 5. No message is released"):
        shuffler.release()
    assert shuffler.waiting == 5 and shuffler.batches == 1
    shuffler.receive([submission(13)])
    second = shuffler.release()
    assert as_set(second) == messages_of(range(8, 14))
    assert as_set(shuffler.batch(0)) == messages_of(range(8)) and shuffler.batch(1) == second
    for number in (-1, 2, True, 0.0, "0"):
        with pytest.raises(ValueError, match="number must be an integer from 0 to 1"):
            shuffler.batch(number)
    fitted = CURATOR["hidden"].fit_reports([*shuffler.batch(0), *second], items=ITEMS)
    assert fitted.reports_accepted_ == 14


def test_many_threads_release_each_voter_once():
    """Eight threads send 40 voters each, who overlap, and try to release them."""
    shuffler, batches = Shuffler(PROTOCOL["hidden"]), []

    def send_and_release(k):
        shuffler.receive(submission(voter) for voter in range(10 * k, 10 * k + 40))
        with suppress(ValueError):  # too few voters wait
            batches.append(shuffler.release())

    at_once(send_and_release, 8)
    released = sum(map(as_set, batches), Counter())
    assert len(batches) == shuffler.batches
    assert released.total() + K * shuffler.waiting == 110 * K
    assert released <= messages_of(range(110))


# --- restarts


def test_each_voter_is_released_once_after_a_restart(tmp_path):
    path = tmp_path / "shuffler.db"
    with_voters(range(4), path).close()
    again = Shuffler(PROTOCOL["hidden"], path)
    assert again.receive(map(submission, range(2, 7))) == 3 and again.refused == {"received before": 2}
    first = again.release()
    again.close()
    last = Shuffler(PROTOCOL["hidden"], path)
    assert last.batch(0) == first and as_set(first) == messages_of(range(7))
    assert last.receive(map(submission, range(9))) == 2 and last.refused == {"received before": 7}
    last.close()


@pytest.mark.slow
@pytest.mark.parametrize("release", [False, True])
def test_shuffler_state_survives_sigkill(release, tmp_path):
    path = tmp_path / "shuffler.db"
    sent = [submission(voter) for voter in range(8)]
    calls = [["receive", [sent]], *([["release", []]] if release else [])]
    killed("Shuffler", {"protocol": PROTOCOL["hidden"], "path": str(path)}, calls)
    shuffler = Shuffler(PROTOCOL["hidden"], path)
    assert shuffler.receive(sent) == 0 and shuffler.refused == {"received before": 8}
    assert (shuffler.batches, shuffler.waiting) == ((1, 0) if release else (0, 8))
    assert as_set(shuffler.batch(0) if release else shuffler.release()) == messages_of(range(8))
    shuffler.close()


def test_the_file_of_another_protocol_or_design_is_refused(tmp_path):
    with_voters(range(3), tmp_path / "hidden.db").close()
    other = {**PROTOCOL["hidden"], "min_reports": LEAST + 1}
    with_design(range(3), path=tmp_path / "assigned.db").close()
    for make in (
        lambda: Shuffler(other, tmp_path / "hidden.db"),
        lambda: Shuffler(PROTOCOL["assigned"], tmp_path / "hidden.db", design=DESIGN),
        lambda: Shuffler(PROTOCOL["assigned"], tmp_path / "assigned.db", design=DESIGN[::-1]),
    ):
        with pytest.raises(ValueError, match="is the file of another server or shuffler, or of another protocol"):
            make()


@pytest.mark.parametrize(
    "damage", ["UPDATE rows SET value = x'00' WHERE key >= x'77'", "DELETE FROM rows WHERE key < x'77'"]
)
def test_damaged_shuffler_file_is_refused(damage, tmp_path):
    """A message that was changed, or a number that was lost: its voter could submit again."""
    path = tmp_path / "shuffler.db"
    shuffler = with_voters(range(8), path)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(damage).rowcount in (8, 16)
    with pytest.raises(ServerFileError, match=r"damaged|lost rows"):
        shuffler.release()
    assert shuffler.batches == 0
    shuffler.close()
    with pytest.raises(ServerFileError):
        Shuffler(PROTOCOL["hidden"], path)


# --- what the batch and the file tell


def test_batch_is_independent_of_voters_and_their_order():
    released = with_voters(range(9)).release()
    assert all(list(one) == ["protocol", "shuffle", "pair", "answer"] for one in released)
    shuffler = with_voters(range(8))
    formatted_otherwise = json.dumps(dict(reversed(submission(8).items())), indent=1)
    shuffler.receive([formatted_otherwise])
    texts = {json.dumps(one) for one in shuffler.release()}
    assert texts == {json.dumps(one) for one in released}


def test_the_order_of_a_batch_is_random():
    """All 24 orders of four messages are equally likely."""
    protocol = ShufflePairwise(local_epsilon=1.0, min_reports=4).protocol(5)
    every = [[i, j] for j in range(5) for i in range(j)]
    sent = [
        {
            "protocol": digest(protocol),
            "report": f"{voter:032x}",
            "messages": [{"shuffle": 0, "pair": every[voter], "answer": 0}],
        }
        for voter in range(4)
    ]
    orders = Counter()
    for _ in range(480):
        shuffler = Shuffler(protocol)
        shuffler.receive(sent)
        orders[tuple(every.index(one["pair"]) for one in shuffler.release())] += 1
        shuffler.close()
    assert len(orders) == 24 and chisquare(list(orders.values())).pvalue > 1e-4


def test_a_release_erases_the_order_of_arrival(tmp_path):
    """After a release, the file holds report numbers and the mixed batch only."""
    path = tmp_path / "shuffler.db"
    shuffler = with_voters(range(200), path)
    waiting = [key for key, _ in rows(shuffler) if key[:1] == b"w"]
    assert len(waiting) == 200 * K and all(key in path.read_bytes() for key in waiting)
    shuffler.release()
    shuffler.close()
    left = path.read_bytes()
    assert not any(key in left for key in waiting)


def rows(shuffler):
    with shuffler._file.transaction(write=False):
        return list(shuffler._file.rows())


def test_waiting_messages_do_not_show_the_order_of_arrival():
    """Even voters, who answer 0, arrive before odd ones, who answer 1; in the file the answers alternate at random."""
    shuffler = with_voters([*range(0, 200, 2), *range(1, 200, 2)])
    answers = [value[-8] for key, value in rows(shuffler) if key[:1] == b"w"]
    assert sorted(answers) == [0] * 200 + [1] * 200
    assert abs(sum(one != other for one, other in pairwise(answers)) - 199.5) < 60  # six standard deviations


def test_two_devices_send_different_numbers():
    numbers = {Device(PROTOCOL["hidden"]).report([0, 1, 2])["report"] for _ in range(5)}
    assert len(numbers) == 5 and all(is_digits(number, 32) for number in numbers)


def test_the_file_does_not_join_numbers_and_messages(tmp_path):
    shuffler = with_design(range(12), path=tmp_path / "shuffler.db")
    for _ in range(2):
        kinds = Counter(key[:1] for key, _ in rows(shuffler))
        for key, value in rows(shuffler):
            assert (key[:1] in b"nv") == (value == b"")
        assert kinds[b"n"] == kinds[b"v"] == 12
        if not shuffler.batches:
            shuffler.release()
    assert kinds == {b"n": 12, b"v": 12, b"x": 24}
    shuffler.close()


# --- assigned pairs


def test_a_voter_answers_the_pairs_of_its_row_once():
    shuffler = with_design(range(10))
    other = next(v for v in range(12) if DESIGN[v].tolist() != DESIGN[10].tolist())
    twice = submission(10, "assigned")["messages"][:1] * K
    for sent, reason in [
        ((10, submission(10, "assigned", row=other)), "not the voter's pairs"),
        (submission(10, "assigned"), "no voter"),
        ((12, submission(10, "assigned")), "no voter"),
        ((-1, submission(11, "assigned")), "no voter"),
        ((True, submission(1, "assigned")), "no voter"),
        (("10", submission(10, "assigned")), "no voter"),
        ((10, submission(10, "assigned"), 0), "no voter"),
        ((10, json.dumps(json.dumps(submission(10, "assigned")))), "not a JSON object"),
        ((10, {**submission(10, "assigned"), "messages": twice}), "pair asked twice"),
        ((10, {**submission(10), "protocol": NAME["assigned"]}), "shuffle out of range"),
        ((3, {**submission(3, "assigned"), "report": "f" * 32}), "received before"),  # a voter twice
    ]:
        before = shuffler.refused.get(reason, 0)
        assert shuffler.receive([sent]) == 0 and shuffler.refused[reason] == before + 1
    assert shuffler.waiting == 10
    assert shuffler.receive([(np.int64(10), submission(10, "assigned"))]) == 1
    backwards = submission(11, "assigned")
    backwards["messages"].reverse()
    assert shuffler.receive([(11, backwards)]) == 1
    assert as_set(shuffler.release()) == messages_of(range(12), "assigned")


def test_a_submission_sent_by_two_voters_counts_once():
    """A copy that comes as another voter's, who is asked about the same pairs, does not count."""
    asked = [set(map(tuple, row)) for row in DESIGN.tolist()]
    voter, other = next((a, b) for b, a in combinations(range(12), 2) if asked[a] == asked[b])
    shuffler = with_design([voter])
    assert shuffler.receive([(other, submission(voter, "assigned"))]) == 0
    assert shuffler.refused == {"received before": 1}


def test_too_few_messages_about_a_pair():
    """Enough voters, but only three of the four that the design promises for one pair."""
    about = [v for v in range(12) if (0, 1) in set(map(tuple, DESIGN[v].tolist()))]
    here = [v for v in range(12) if v not in about] + about[:3]
    shuffler = with_design(here)
    assert len(here) >= LEAST
    with pytest.raises(ValueError, match="at least 4 waiting messages about each pair, got 3"):
        shuffler.release()
    shuffler.receive([(about[3], submission(about[3], "assigned"))])
    messages = shuffler.release()
    assert CURATOR["assigned"].fit_reports(messages, items=ITEMS).reports_accepted_ == len(here) + 1


def test_messages_about_a_shown_pair_are_released_with_enough_others():
    """The others wait, and each voter is released once."""
    curator = ShufflePairwise(local_epsilon=2.0, min_reports=3, pairs="shown")
    protocol = curator.protocol(ITEMS)
    shuffler = Shuffler(protocol)
    about_two = [[[0, 1, 1]]] * 3 + [[[0, 2, 0]]] * 2
    shuffler.receive(Device(protocol).report(own) for own in about_two[1:])
    with pytest.raises(ValueError, match="a pair with at least min_reports=3 waiting messages"):
        shuffler.release()
    shuffler.receive([Device(protocol).report(about_two[0])])
    first = shuffler.release()
    assert [message["pair"] for message in first] == [[0, 1]] * 3
    assert (shuffler.waiting, shuffler.batches) == (2, 1)
    shuffler.receive([Device(protocol).report([[2, 0, 1]]), Device(protocol).report([[1, 2, 1]])])
    second = shuffler.release()
    assert [message["pair"] for message in second] == [[0, 2]] * 3
    assert (shuffler.waiting, shuffler.batch(0)) == (1, first)
    assert curator.fit_reports([*first, *second], items=ITEMS).reports_accepted_ == 6


@pytest.mark.parametrize(
    ("design", "match"),
    [
        (None, "design must be an integer array of shape .n_voters, 2, 2.*assigns pairs"),
        (DESIGN[:5], "at least min_reports=6 rows, got 5"),
        (DESIGN[:, :1], "got int64 of shape"),
        (DESIGN[0], "got int64 of shape"),
        (DESIGN.astype(float), "got float64 of shape"),
        (DESIGN[..., ::-1], "of items, i < j"),
        (DESIGN + 1, "of items, i < j"),
        (DESIGN - 1, "of items, i < j"),
        (np.repeat(DESIGN[:, :1], 2, axis=1), "distinct pairs"),
        (np.repeat(DESIGN[:1], 12, axis=0), "balanced"),  # a curator who asks one voter alone about a pair
        ([*[[[0, 1], [0, 2]]] * 11, [[0, 1], [1, 2]]], "balanced"),
    ],
)
def test_a_wrong_or_unbalanced_design_is_refused(design, match):
    with pytest.raises(ValueError, match=match):
        Shuffler(PROTOCOL["assigned"], design=design)


def test_design_for_hidden_pairs_is_refused():
    with pytest.raises(ValueError, match="design must be None"):
        Shuffler(PROTOCOL["hidden"], design=DESIGN)


@pytest.mark.slow
@given(n=st.integers(1, 40), m=st.integers(2, 6), data=st.data())
def test_every_balanced_design_is_accepted(n, m, data):
    k = data.draw(st.integers(1, math.comb(m, 2)))
    design = balanced_design(n, m, k, Bits.from_random_state(data.draw(st.integers(0, 99))).assignment)
    protocol = ShufflePairwise(local_epsilon=1.0, n_queries=k, pairs="assigned", min_reports=n).protocol(m)
    shuffler = Shuffler(protocol, design=design.tolist())
    devices = [Device(protocol, random_state=v).report(list(range(m)), design[v]) for v in range(n)]
    assert shuffler.receive(enumerate(devices)) == n
    assert as_set(shuffler.release()) == as_set(one for said in devices for one in apart(said))
    shuffler.close()
