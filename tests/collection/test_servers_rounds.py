"""A server in rounds releases one sum a round, and never returns to an earlier or to a second question.

A curator who asks twice, or asks some voters another question than the rest, would learn more than one sum a round.
"""

import pytest
from share_tools import message_to

from sklearn_dprank import SecAggBorda, SecAggSwissBorda
from sklearn_dprank.collection import AggregationServer, RefusedProtocol
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.privacy.errors import BudgetExhausted

ONCE = SecAggBorda(epsilon=1.0, min_reports=20, max_reports=60).protocol(["a", "b", "c", "d"])
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


def named(voters, number):
    return sorted(message["report"] for message in answers(voters, asked(number)))


def in_round(number, voters=(), path=":memory:"):
    """The first server in a round, with the answers of some voters."""
    server = AggregationServer(ROUNDS, 0, path)
    server.ask(asked(number))
    assert server.receive(answers(voters, asked(number))) == len(voters)
    return server


def test_one_sum_a_round():
    server = in_round(1, range(25))
    first = server.release(named(range(25), 1))
    assert first["sum"][:3] == [300, 0, 175] and first["question"] == digest(asked(1))
    server.ask(asked(2))
    assert server.reports() == []
    server.receive(answers(range(5, 40), asked(2)))
    second = server.release(named(range(5, 40), 2))
    assert second["sum"][0] == sum(range(5, 40)) and second["question"] == digest(asked(2))
    assert server.release(named(range(5, 40), 2)) == second
    for voters in (range(6, 40), range(25)):
        with pytest.raises(BudgetExhausted, match="has released its sum over other voters"):
            server.release(named(voters, 2))


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


def test_reports_of_an_earlier_round_are_refused():
    """Its shares are erased and late reports are refused, so their sum is never released."""
    server = in_round(1, range(25))
    server.ask(asked(2))
    assert server.receive(answers(range(25), asked(1))) == 0
    assert server.refused == {"another question": 25}
    with pytest.raises(ValueError, match="25 of the voters agreed on are not here"):
        server.release(named(range(25), 1))


def test_answers_to_another_question_are_not_added():
    """Otherwise a curator who asks some voters another question would get a sum of both."""
    server = in_round(2, range(25))
    assert server.receive(answers(range(30, 50), asked(2, backwards=True))) == 0
    assert server.refused == {"another question": 20}
    assert server.receive([{**message_to(0, ONCE, [[1, 2, 3, 4]] * 2, 3), "protocol": digest(ROUNDS)}]) == 0
    assert server.refused == {"another question": 20, "wrong keys": 1}


@pytest.mark.parametrize("run", ["receive", "release"])
def test_messages_before_a_question_are_refused(run):
    server = AggregationServer(ROUNDS, 0)
    given = answers(range(25), asked(1)) if run == "receive" else named(range(25), 1)
    with pytest.raises(ValueError, match="has not been asked anything yet"):
        getattr(server, run)(given)


@pytest.mark.parametrize(
    "question",
    [
        None,
        {},
        {**asked(1), "protocol": digest(ONCE)},
        {**asked(1), "question": 5},
        {**asked(1), "groups": GROUPS[2]},
        {**asked(2), "groups": GROUPS[3]},
        {**asked(2), "groups": [[*range(8)], [*range(8)], [*range(16, 20)]]},
        {**asked(2), "voters": [1, 2]},
    ],
)
def test_servers_check_questions_as_devices_do(question):
    server = AggregationServer(ROUNDS, 0)
    with pytest.raises(ValueError, match="question does not follow the protocol"):
        server.ask(question)
    with pytest.raises(ValueError, match="has not been asked anything yet"):
        server.receive(answers(range(25), asked(1)))


def test_protocol_without_questions_refuses_ask():
    with pytest.raises(ValueError, match="this protocol asks no questions: voters report once"):
        AggregationServer(ONCE, 0).ask(asked(1))
    with pytest.raises(RefusedProtocol):
        AggregationServer({**ROUNDS, "min_reports": 19}, 0)
