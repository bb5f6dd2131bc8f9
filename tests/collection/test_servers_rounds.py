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
