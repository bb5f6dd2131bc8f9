"""State machine of two servers and a curator, compared with a reference model of plain dictionaries."""

import sqlite3
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from share_tools import message_to
from state_tools import Crash, dying, walk, watched_connections

from sklearn_dprank import SecAggBorda, SecAggSwissBorda
from sklearn_dprank.channels.secure_aggregation import combined
from sklearn_dprank.collection import AggregationServer, ServerFileError, agreed, shares as rounds
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.reports import Inbox
from sklearn_dprank.privacy.errors import BudgetExhausted

LEAST, MOST, M = 3, 6, 3
CURATOR = SecAggBorda(epsilon=1.0, min_reports=LEAST, max_reports=MOST)
ONCE = CURATOR.protocol(M)
ROUNDS = SecAggSwissBorda(epsilon=1.0, min_reports=LEAST, max_reports=MOST).protocol(M)
PROTOCOLS = {"once": ONCE, "rounds": ROUNDS}
MODULUS = {"once": rounds.sum_about(ONCE).modulus, "rounds": rounds.sum_about(ROUNDS).modulus}
ORDERS = [[[0, 1, 2]], [[2, 0, 1]]]
SPOILED = {
    "not JSON": lambda said: "{",
    "another protocol": lambda said: {**said, "protocol": "0" * 16},
    "wrong keys": lambda said: {**said, "name": "Ada"},
    "no report number": lambda said: {**said, "report": 7},
    "number out of range": lambda said: {**said, "share": [-1] * M},
    "share of another report": lambda said: {**said, "share": [said["share"][0] ^ 1, *said["share"][1:]]},
    "commitments of another report": lambda said: {**said, "report": "0" * 64},
    "not the right number of numbers": lambda said: {**said, "share": said["share"][1:]},
}
servers = st.integers(0, 1)
voters = st.integers(0, 7)
crowds = st.lists(voters, min_size=LEAST - 1, max_size=MOST + 1)
whats = st.sampled_from(["turn", "receive", "release", "release"])
statements = st.integers(1, 9)
spoils = st.sampled_from([None, None, None, *SPOILED])
questions = st.tuples(st.integers(1, 3), st.integers(0, 1))  # the number, and which of two questions of this number


def question_of(number, which):
    return {"protocol": digest(ROUNDS), "question": number, "groups": ORDERS[which]}


def vector_of(voter, asked):
    """What a voter adds, without noise: net wins of a ballot that depends on who it is and on what is asked."""
    return np.roll([2, 0, -2], voter + sum(asked))


def share_of(voter, asked, server, modulus):
    first = (np.arange(1, M + 1) * 7919 * (voter + 1) * (sum(asked) + 1)) % modulus
    return first if server == 0 else (vector_of(voter, asked) - first) % modulus


class Plain:
    """Reference state of one server: its question, the voters whose shares it has, and the voters of its sum."""

    def __init__(self):
        self.asked, self.here, self.said = None, set(), None


class Servers(RuleBasedStateMachine):
    """Each of two servers has a file and one or two handles on it, in processes that may die."""

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._watched = watched_connections()
        self._watched.start()
        self.handles, self.plain = {0: [], 1: []}, [Plain(), Plain()]
        self.refused, self.heard = {}, []  # by handle; every (server, question, voters, message)

    def teardown(self):
        self._watched.stop()
        for handle in self.handles[0] + self.handles[1]:
            handle.close()
        self._folder.cleanup()

    @initialize(kind=st.sampled_from(sorted(PROTOCOLS)), dies=st.integers(1, 8), after=st.booleans())
    def begin(self, kind, dies, after):
        """The process that makes the first file dies on the way, and the next one goes on."""
        self.kind, self.protocol = kind, PROTOCOLS[kind]
        self.modulus, self.at_hand = MODULUS[kind], ("once", (1, 0))
        with pytest.raises(Crash), dying(dies, after):
            AggregationServer(self.protocol, 0, self.path(0)).close()
            raise Crash
        for server in (0, 1):
            self.open_another(server)
            if kind == "once":
                self.plain[server].asked = (0, 0)

    def path(self, server):
        return Path(self._folder.name) / f"{server}.db"

    def open_another(self, server):
        handle = AggregationServer(self.protocol, server, self.path(server))
        self.handles[server].insert(0, handle)
        self.refused[handle] = Counter()
        for old in self.handles[server][2:]:
            self.drop(server, old)
        return handle

    def drop(self, server, handle):
        handle.close()
        self.handles[server].remove(handle)

    def message(self, voter, asked, server):
        shares = [share_of(voter, asked, k, self.modulus).tolist() for k in range(2)]
        question = question_of(*asked) if self.kind == "rounds" else None
        return message_to(server, self.protocol, shares, voter, question)

    def report_of(self, voter, asked):
        return self.message(voter, asked, 0)["report"]

    def asked_by(self, asked):
        return asked if self.kind == "rounds" else (0, 0)

    # --- what is done to a server, and what should become of it: each returns (run, change), or raises what it should

    def turning(self, server, asked):
        plain = self.plain[server]
        if self.kind == "once":
            return ValueError, None
        if plain.asked is not None and asked != plain.asked and asked[0] <= plain.asked[0]:
            return BudgetExhausted, None

        def change():
            if asked != plain.asked:
                plain.asked, plain.here, plain.said = asked, set(), None

        return None, change

    def receiving(self, server, block):
        plain = self.plain[server]
        if not block:
            return None, lambda: None
        if plain.asked is None:
            return ValueError, None
        if plain.said is not None:
            return BudgetExhausted, None
        here = {voter for voter, asked, to, spoiled in block if (asked, to, spoiled) == (plain.asked, server, None)}
        return None, lambda: plain.here.update(here)

    def releasing(self, server, chosen):
        plain = self.plain[server]
        if plain.said is not None:
            return (None, lambda: None) if chosen == plain.said else (BudgetExhausted, None)
        if plain.asked is None or not LEAST <= len(chosen) <= MOST or not chosen <= plain.here:
            return ValueError, None

        def change():
            plain.said, plain.here = chosen, set()

        return None, change

    def do(self, server, expected, run):
        """Run something on one of a server's handles: it raises what it should, or changes what it should."""
        error, change = expected
        if error is not None:
            with pytest.raises(error):
                run(self.handles[server][-1])
            return None
        found = run(self.handles[server][-1])
        change()
        return found

    # --- steps

    @rule(server=servers, asked=questions)
    def turn(self, server, asked):
        self.do(server, self.turning(server, asked), lambda handle: handle.ask(question_of(*asked)))

    @rule(asked=questions)
    def turn_both(self, asked):
        for server in (0, 1):
            self.turn(server, asked)

    @rule(
        server=servers,
        block=st.lists(st.tuples(voters, questions, servers, spoils), max_size=3),
        own=st.lists(voters, max_size=6),
    )
    def deliver(self, server, block, own):
        """Messages in any order, some twice, some late, for another server or spoiled; and some as they should be."""
        plain, handle = self.plain[server], self.handles[server][-1]
        block = [(voter, self.asked_by(asked), to, spoiled) for voter, asked, to, spoiled in block]
        block += [(voter, plain.asked or (1, 0), server, None) for voter in own]
        sent = [(self.message(voter, asked, to), spoiled) for voter, asked, to, spoiled in block]
        sent = [SPOILED[spoiled](message) if spoiled else message for message, spoiled in sent]
        before = set(plain.here)
        new = self.do(server, self.receiving(server, block), lambda handle: handle.receive(sent))
        if new is not None:
            assert new == len(plain.here) - len(before)
            self.refused[handle].update(filter(None, (self.reason(server, *one) for one in block)))

    def reason(self, server, voter, asked, to, spoiled):
        """Why a message is left out; the first reason counts."""
        if spoiled in ("not JSON", "another protocol", "wrong keys"):
            return spoiled
        if asked != self.plain[server].asked:
            return "another question"
        return "another server" if to != server else spoiled

    @rule(crowd=st.lists(voters, min_size=LEAST, max_size=MOST + 1), then=st.sampled_from(["agree", "lie", "wait"]))
    def deliver_to_both(self, crowd, then):
        other = next(voter for voter in range(8) if voter not in crowd)
        for server in (0, 1):
            self.deliver(server, [], [*crowd, other])
        if then == "agree":
            self.agree_and_release()
        if then == "lie":
            self.release_different_crowds(set(crowd), other)

    @rule(server=servers, crowd=crowds)
    def release(self, server, crowd):
        asked = self.plain[server].asked or (1, 0)
        names = [self.report_of(voter, asked) for voter in crowd]
        said = self.do(server, self.releasing(server, frozenset(crowd)), lambda handle: handle.release(names))
        self.hear(server, said)

    def agree_and_release(self):
        there = [plain.here for plain in self.plain]
        chosen = there[0] & there[1] if self.plain[0].asked == self.plain[1].asked else set()
        names = agreed(self.handles[server][-1].reports() for server in (0, 1))
        assert names == sorted(self.report_of(voter, self.plain[0].asked) for voter in chosen)
        for server in (0, 1):
            self.hear(
                server, self.do(server, self.releasing(server, frozenset(chosen)), lambda handle: handle.release(names))
            )
        self.curator_adds_up()

    def release_different_crowds(self, crowd, other):
        """A coordinator who lies: as many voters here as there, and not the same."""
        crowds = [crowd, {*sorted(crowd)[1:], other}]
        for server in (0, 1):
            self.release(server, sorted(crowds[server]))
        self.curator_adds_up()

    def hear(self, server, said):
        """A sum is that of the shares, and the only one in answer to its question."""
        if said is None:
            return
        plain = self.plain[server]
        shares = [share_of(voter, plain.asked, server, self.modulus) for voter in plain.said]
        assert said["sum"] == (np.sum(shares, axis=0) % self.modulus).tolist()
        assert said["n_reports"] == len(plain.said) >= LEAST and said["server"] == server
        assert all(other == said for k, asked, _, other in self.heard if (k, asked) == (server, plain.asked))
        self.heard.append((server, plain.asked, plain.said, said))

    @precondition(lambda self: self.heard)
    @rule(picks=st.lists(st.integers(0, 99), min_size=1, max_size=3), number=st.integers(0, 3))
    def curator_gets_anything(self, picks, number):
        """Late, repeated and mixed sums are combined only if they are of the same voters."""
        self.add_up([self.heard[pick % len(self.heard)] for pick in picks])

    @precondition(lambda self: len(self.heard) > 1)
    @rule()
    def curator_adds_up(self):
        """The last sum of each server."""
        last = {server: one for one in self.heard for server in [one[0]]}
        self.add_up(list(last.values()))

    def add_up(self, messages):
        if not messages:
            return
        asked = messages[0][1]
        name, of = None, rounds.sum_about(ONCE)
        if self.kind == "rounds":
            name, of = digest(question_of(*asked)), rounds.sum_about(ROUNDS, asked[0])
        taken = [(server, crowd) for server, about, crowd, _ in messages if about == asked]
        good = sorted(server for server, _ in taken) == [0, 1] and len({crowd for _, crowd in taken}) == 1
        said = [message for *_, message in messages]
        if not good:
            with pytest.raises(ValueError):
                combined(self.protocol, of, said, Inbox(), name)
            return
        expected = np.sum([vector_of(voter, asked) for voter in taken[0][1]], axis=0)
        total, n_reports = combined(self.protocol, of, said, Inbox(), name)
        assert total.tolist() == expected.tolist() and n_reports == len(taken[0][1])
        if self.kind == "once":
            fitted = CURATOR.fit_sums(said, items=M)
            assert fitted.scores_.tolist() == expected.tolist() and fitted.reports_accepted_ == n_reports

    @rule(server=servers, beside=st.booleans())
    def restart(self, server, beside):
        """A new process goes on; the one before may still be there."""
        before = list(self.handles[server])
        self.open_another(server)
        if not beside:
            for handle in before:
                if handle in self.handles[server]:
                    self.drop(server, handle)

    @rule(server=servers)
    def open_the_wrong_file(self, server):
        other = {**self.protocol, "max_reports": MOST - 1}
        for protocol, number in ((self.protocol, 1 - server), (other, server)):
            with pytest.raises(ValueError, match="is the file of another server"):
                AggregationServer(protocol, number, self.path(server))

    @rule(server=servers, what=whats, crowd=crowds, asked=questions, statement=statements, after=st.booleans())
    def die(self, server, what, crowd, asked, statement, after):
        """A crash at any statement: the step is done if and only if its COMMIT was run."""
        handle = self.handles[server][-1]
        self.cut_short(server, what, crowd, asked, statement, after, Crash)
        self.drop(server, handle)
        if not self.handles[server]:
            self.open_another(server)

    @rule(server=servers, what=whats, crowd=crowds, asked=questions, statement=statements, after=st.booleans())
    def fail(self, server, what, crowd, asked, statement, after):
        """A failure at any statement, after which the same handle continues."""
        self.cut_short(server, what, crowd, asked, statement, after, sqlite3.OperationalError)
        handle = self.handles[server][-1]
        self.refused[handle] = Counter(handle.refused)

    def cut_short(self, server, what, crowd, asked, statement, after, error):
        plain, handle = self.plain[server], self.handles[server][-1]
        if what == "release" and len(plain.here) >= LEAST:
            crowd = sorted(plain.here)[:MOST]
        now = plain.asked or (1, 0)
        if what == "turn":
            expected, run = self.turning(server, asked), lambda: handle.ask(question_of(*asked))
        elif what == "receive":
            block = [(voter, now, server, None) for voter in crowd]
            expected = self.receiving(server, block)
            messages = [self.message(voter, now, server) for voter in crowd]
            run = lambda: handle.receive(messages)  # noqa: E731
        else:
            expected = self.releasing(server, frozenset(crowd))
            run = lambda: handle.release([self.report_of(voter, now) for voter in crowd])  # noqa: E731
        seen = ServerFileError if issubclass(error, sqlite3.Error) else error
        with suppress(seen, expected[0] or seen), dying(statement, after, error) as committed:
            run()
        if committed() and expected[1] is not None:
            expected[1]()

    @invariant()
    def knows_what_the_dictionaries_know(self):
        for server, plain in enumerate(self.plain):
            for handle in self.handles[server]:
                assert handle.reports() == sorted(self.report_of(voter, plain.asked) for voter in plain.here)
                assert handle.refused == dict(self.refused[handle])


@pytest.mark.parametrize("walks", [(40, 25), pytest.param((600, 50, True), marks=pytest.mark.slow)])
def test_servers_match_a_reference_model(walks):
    walk(Servers, *walks)
