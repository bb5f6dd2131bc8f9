"""A server releases one sum, over at least `min_reports` voters on whom all servers agree.

Two sums over sets of voters that differ by one voter would give that voter's share away, and the shares of all servers
give the ballot away. The tests check sums by hand, restarts and kills, and messages that must not be added.
"""

import json
import sqlite3
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from process_tools import killed
from share_tools import message_to
from state_tools import at_once

from sklearn_dprank import LDPPairwise, SecAggBorda, SecAggSwissBorda
from sklearn_dprank.collection import AggregationServer, RefusedProtocol, ServerFileError, agreed
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.privacy.errors import BudgetExhausted

ITEMS = ["a", "b", "c", "d"]
CURATOR = SecAggBorda(epsilon=1.0, min_reports=20, max_reports=60)
PROTOCOL = CURATOR.protocol(ITEMS)
MODULUS = 2 ** PROTOCOL["modulus_bits"]


def made(voter, server, number=7):
    """A message with numbers that can be checked by hand; `number` tells reports of one voter apart."""
    shares = [[(number * (k + 1) + voter * j) % MODULUS for j in range(4)] for k in range(2)]
    return message_to(server, PROTOCOL, shares, voter)


def server_with(voters, number=0, path=":memory:"):
    server = AggregationServer(PROTOCOL, number, path)
    assert server.receive(made(voter, number) for voter in voters) == len(voters)
    return server


def names(voters):
    """The numbers of the reports of these voters."""
    return sorted(made(voter, 0)["report"] for voter in voters)


def expected(voters, server):
    """The sum of these voters' shares on one server."""
    return np.sum([made(voter, server)["share"] for voter in voters], axis=0) % MODULUS


# --- the sum


def test_the_sum_is_over_the_voters_whom_all_servers_have():
    """Voters who reach one server only are not in the sum."""
    there = [set(range(30)) - {3, 4}, set(range(33)) - {5}]
    servers = [server_with(sorted(voters), k) for k, voters in enumerate(there)]
    chosen = agreed(server.reports() for server in servers)
    assert chosen == names(sorted(there[0] & there[1]))
    for number, server in enumerate(servers):
        said = server.release(reversed(chosen))
        assert said["sum"] == expected(sorted(there[0] & there[1]), number).tolist()
        assert (said["server"], said["n_reports"], said["protocol"]) == (number, 27, digest(PROTOCOL))
        assert json.loads(json.dumps(said)) == said


def test_below_min_reports_no_sum_is_released():
    server = server_with(range(25))
    with pytest.raises(ValueError, match=r"voters must be 20 to 60 agreed reports .*, got 19. No sum is released"):
        server.release(names(range(19)))
    repeated = names([0]) * 20  # each counts once
    for voters, count in (([], 0), (repeated, 1), (names(range(61)), 61)):
        with pytest.raises(ValueError, match=rf"agreed reports .min_reports, max_reports., got {count}"):
            server_with(range(61)).release(voters)
    assert server.release(names(range(20)))["n_reports"] == 20  # a refusal costs nothing


def test_second_sum_over_other_voters_is_refused():
    """Two sums over sets that differ by one voter would give that voter away."""
    server = server_with(range(25))
    said = server.release(names(range(24)))
    assert server.release(names(range(24))) == said
    for others in (range(25), range(23), range(1, 25)):
        with pytest.raises(BudgetExhausted, match="has released its sum over other voters"):
            server.release(names(others))
    with pytest.raises(BudgetExhausted, match="accepts no more reports"):
        server.receive([made(40, 0)])
    assert server.reports() == []  # shares are dropped once they are summed


def test_many_threads_get_one_sum():
    """Each of eight threads asks for the sum over other voters."""
    server = server_with(range(40))

    def released(k):
        try:
            return json.dumps(server.release(names(range(k, k + 30))))
        except BudgetExhausted:
            return None

    assert Counter(sum is None for sum in at_once(released, 8)) == {False: 1, True: 7}


# --- restarts


@pytest.mark.parametrize("released", [False, True])
def test_server_state_survives_sigkill(released, tmp_path):
    calls = [["receive", [[made(voter, 0) for voter in range(26)]]]]
    calls += [["release", [names(range(25))]]] if released else []
    killed("AggregationServer", {"protocol": PROTOCOL, "number": 0, "path": str(tmp_path / "s.db")}, calls)
    server = AggregationServer(PROTOCOL, 0, tmp_path / "s.db")
    if released:
        with pytest.raises(BudgetExhausted):
            server.release(names(range(26)))
    assert server.release(names(range(25)))["sum"] == expected(range(25), 0).tolist()
    server.close()


def test_locked_file_rolls_back_and_the_server_continues(tmp_path, monkeypatch):
    """Another process holds a read lock, so each write fails and is rolled back."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **{"timeout": 0.01, **more}))
    path = tmp_path / "server.db"
    server = server_with(range(25), path=path)
    reader = connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM rows").fetchone()
    for run in (lambda: server.receive([made(30, 0)]), lambda: server.release(names(range(25)))):
        with pytest.raises(ServerFileError, match="is locked by another process; nothing was changed"):
            run()
        assert server.reports() == names(range(25))
    reader.close()
    assert server.receive([made(30, 0)]) == 1
    said = server.release(names(range(25)))
    assert said["sum"] == expected(range(25), 0).tolist()
    server.close()


def test_a_release_erases_the_shares(tmp_path):
    path = tmp_path / "server.db"
    server = server_with(range(30), path=path)
    secret = np.array(made(29, 0)["share"], dtype="<i8").tobytes()[:24]
    assert secret in path.read_bytes()
    server.release(names(range(30)))
    server.close()
    assert secret not in path.read_bytes()


# --- messages


GOOD = made(1, 0)


COMMITMENTS = GOOD["commitments"]
# Values of other types; wire_vectors.json and the state machine of servers have the other reasons.
BAD = {
    "not JSON": ["[" * 1200, b"\xff"],
    "not a JSON object": ["[]", None],
    "another protocol": [{"protocol": None}],
    "another server": [{"server": False}],
    "no report number": [{"report": "G" * 64}, {"report": 7}],
    "no salt": [{"salt": 0}],
    "not one commitment for each server": [
        {"commitments": wrong} for wrong in ([*COMMITMENTS, "0" * 64], COMMITMENTS[0], [None, COMMITMENTS[1]])
    ],
    "not the right number of numbers": [{"share": "abcd"}],
    "number out of range": [{"share": [wrong, 0, 0, 0]} for wrong in (MODULUS, 1.0, True)],
}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (GOOD | wrong if isinstance(wrong, dict) else wrong, reason)
        for reason, messages in BAD.items()
        for wrong in messages
    ],
)
def test_each_bad_message_to_a_server_is_refused_for_a_reason(message, reason):
    server = AggregationServer(PROTOCOL, 0)
    assert server.receive([message, made(2, 0), json.dumps(GOOD).encode()]) == 2
    assert server.refused == {reason: 1}
    assert server.reports() == names([1, 2])


def test_a_report_that_was_seen_cannot_be_registered_elsewhere():
    """The number of a report is a hash of its shares, so other shares cannot have the same number."""
    seen = made(3, 0)
    own = made(3, 1, number=9)
    taken = {**own, "report": seen["report"]}
    copied = {**own, "report": seen["report"], "commitments": seen["commitments"]}
    relabelled = {**seen, "server": 1}
    server = AggregationServer(PROTOCOL, 1)
    assert server.receive([taken, copied, relabelled]) == 0
    assert server.refused == {"commitments of another report": 1, "share of another report": 2}
    assert server.receive([made(3, 1)]) == 1 and server.receive([copied]) == 0  # nor afterwards
    assert server.reports() == names([3])


def test_invalid_server_number_or_protocol_raises():
    for number in (-1, 2, True, 0.0, "0"):
        with pytest.raises(ValueError, match="number must be an integer from 0 to 1"):
            AggregationServer(PROTOCOL, number)
    for protocol in (PROTOCOL, ROUNDS):
        with pytest.raises(RefusedProtocol):
            AggregationServer({**protocol, "min_reports": 19}, 0)
    with pytest.raises(RefusedProtocol, match="randomizer must be skellam-shares or skellam-rounds"):
        AggregationServer(LDPPairwise().protocol(3), 0)


@pytest.mark.parametrize("path", ["no/folder/server.db", ".", "junk", 5, None, ["x"]])
def test_path_of_another_file_raises(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "junk").write_bytes(b"junk" * 1000)
    with pytest.raises(ServerFileError, match=r"is damaged, or not a server's file|cannot be opened and written"):
        AggregationServer(PROTOCOL, 0, path)
    assert (tmp_path / "junk").read_bytes() == b"junk" * 1000


@pytest.mark.parametrize(
    "voters", [None, 5, "a" * 64, [None], [["x"]], ["0" * 64, 1], [{}], ["0" * 63], [b"0" * 64] * 20]
)
def test_voters_are_numbers_of_reports(voters):
    with pytest.raises(ValueError, match="voters must be the numbers of reports that all servers have"):
        AggregationServer(PROTOCOL, 0).release(voters)


def test_agreed():
    assert agreed([]) == []
    assert agreed([["b", "a"]]) == ["a", "b"]
    assert agreed(iter([iter("abc"), iter("bcd"), iter("cde")])) == ["c"]


# --- what it takes


@pytest.mark.slow
def test_memory_is_bounded(tmp_path):
    """3,000 reports of 45 numbers are a megabyte of shares. One block at a time is in memory."""
    protocol = SecAggBorda(min_reports=3000).protocol(45)
    server = AggregationServer(protocol, 0, tmp_path / "server.db")
    messages = [json.dumps(message_to(0, protocol, [[5] * 45] * 2, voter)) for voter in range(3000)]
    tracemalloc.start()  # after the messages were made: the server is measured
    server.receive(messages)
    said = server.release(server.reports())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    server.close()
    assert said["sum"] == [15_000] * 45
    assert peak < 2.5e6  # 600 bytes a report would be more than its number


@pytest.mark.parametrize("one", ['{"server": 0}', b"{}", {"server": 0}, 5])
def test_one_message_in_place_of_several_is_refused(one):
    server = AggregationServer(PROTOCOL, 0)
    with pytest.raises(ValueError, match=r"messages must be an iterable of messages, got .*; put a single one"):
        server.receive(one)
    assert server.refused == {}


# --- rounds: one sum each, and never back to an earlier or to a second question


ROUNDS = SecAggSwissBorda(epsilon=1.0, min_reports=20, max_reports=60).protocol(20)
GROUPS = {1: [[*range(20)]], 2: [[*range(8)], [*range(8, 16)], [*range(16, 20)]]}
GROUPS |= {3: [[*range(4)], [*range(4, 12)], [*range(12, 20)]], 4: GROUPS[2]}


def asked(number, backwards=False):
    """The question of a round, or another one of the same number."""
    groups = [[19 - item for item in group] for group in GROUPS[number]] if backwards else GROUPS[number]
    about = {"margins": {"groups": groups}} if number == 4 else {"groups": groups}
    return {"protocol": digest(ROUNDS), "question": number, **about}


def answers(voters, question):
    """Messages to the first server. The sum of their first numbers is that of the voters."""
    return [message_to(0, ROUNDS, [[voter, k, 7] + [0] * 17 for k in range(2)], voter, question) for voter in voters]


def in_round(number, voters=(), path=":memory:"):
    """The first server in a round, with the answers of some voters."""
    server = AggregationServer(ROUNDS, 0, path)
    server.ask(asked(number))
    assert server.receive(answers(voters, asked(number))) == len(voters)
    return server


def test_server_refuses_earlier_rounds():
    server = in_round(2, range(25))
    server.ask(asked(2))  # nothing new
    assert len(server.reports()) == 25
    for question in (asked(1), asked(2, backwards=True)):
        with pytest.raises(BudgetExhausted, match="has turned to question 2, and to no earlier or second one"):
            server.ask(question)
    assert len(server.reports()) == 25  # a refusal changes nothing
    server.ask(asked(4))
    for question in (asked(1), asked(2), asked(3), asked(4, backwards=True)):
        with pytest.raises(BudgetExhausted, match="has turned to question 4"):
            server.ask(question)
    with pytest.raises(ValueError, match=r"agreed reports .min_reports, max_reports., got 0"):
        server.release([])


@pytest.mark.parametrize(
    "question",
    [None, {**asked(1), "protocol": "0" * 16}, {**asked(2), "groups": GROUPS[3]}, {**asked(2), "voters": [1, 2]}],
)
def test_servers_check_questions_as_devices_do(question):
    server = AggregationServer(ROUNDS, 0)
    with pytest.raises(ValueError, match="question does not follow the protocol"):
        server.ask(question)
    with pytest.raises(ValueError, match="has not been asked anything yet"):
        server.receive(answers(range(25), asked(1)))


def test_protocol_without_questions_refuses_ask():
    with pytest.raises(ValueError, match="this protocol asks no questions: voters report once"):
        AggregationServer(PROTOCOL, 0).ask(asked(1))
