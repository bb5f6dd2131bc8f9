"""The statement of a guarantee is complete, and its numbers are rounded up."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from sklearn_dprank import Borda, DPBorda, LDPPairwise, SecAggBorda, ShufflePairwise
from sklearn_dprank.ballots.weights import PERSON
from sklearn_dprank.privacy import PrivacyGuarantee

VOTES = [[0, 1, 2]] * 100
QUESTIONS = "In plain words", "Released", "Unit", "Hidden", "Trust", "Epsilon", "Delta", "Composition", "Arithmetic"


def answers(guarantee):
    """The lines of a statement by their first words."""
    return dict(line.split(": ", 1) for line in guarantee.statement(width=None).splitlines())


def test_topics_are_in_order():
    topics = answers(DPBorda(epsilon=0.5).fit(VOTES).privacy_)
    assert [question.split(" = ")[0] for question in topics] == [*QUESTIONS, "Not covered"]
    assert topics["Epsilon = 0.5"].startswith("no single ballot changes the probability of any outcome by more than a")
    assert "a factor of 1.65" in topics["Epsilon = 0.5"] and "62.3 %" in topics["Epsilon = 0.5"]  # e^.5 / (1 + e^.5)
    assert "whether somebody voted" in topics["Hidden"] and "the number of voters" in topics["Not covered"]
    assert topics["Unit"] == "one ballot. For a person with k of them, epsilon is k times as large."
    assert topics["Delta = 0"] == "the bound on probabilities always holds."
    topics = answers(SecAggBorda().fit(VOTES).privacy_)
    assert topics["Epsilon = 1"].startswith("apart from delta, no single ballot")
    assert topics["Unit"].endswith("epsilon is k times as large, and delta grows too.")


def test_a_seed_comes_first():
    first = DPBorda(random_state=0).fit(VOTES).privacy_.statement(width=None).splitlines()[0]
    assert first == (
        "In plain words: this is a simulation only. Anybody who knows the seed can remove the noise, so no voter has "
        "this guarantee."
    )


@pytest.mark.parametrize(
    ("estimator", "trusted", "caveat"),
    [
        (LDPPairwise(), "Trusted parties: none.", None),
        (
            ShufflePairwise(min_reports=90),
            "Trusted parties: the shuffler (one public protocol for all voters), 90 of the voters in each batch.",
            "without the shuffler, local epsilon = ",
        ),
        (SecAggBorda(), "Trusted parties: one of the 2 servers, 100 of the voters.", "if all servers collude"),
    ],
    ids=["local", "shuffle", "secure aggregation"],
)
def test_trust_and_caveats(estimator, trusted, caveat):
    topics = answers(estimator.fit(VOTES).privacy_)
    assert topics["Trust"].endswith(trusted) and "a voter cast the one or the other" in topics["Epsilon = 1"]
    assert "the number of voters" not in topics["Not covered"]  # public under "replace"
    assert (caveat is None and "Caveat" not in topics) or topics["Caveat"].startswith(caveat)
    assert topics["In plain words"].endswith(" Read the caveats, too.") == (caveat is not None)


@pytest.mark.parametrize(
    "guarantee",
    [
        DPBorda(epsilon=0.5).fit(VOTES).privacy_,
        ShufflePairwise(min_reports=90, random_state=0).fit(VOTES).privacy_,
        Borda().fit(VOTES).privacy_,
        PrivacyGuarantee(1.0, 0.0, "central", "replace", "<b> & </ul>\nline", "<i>", caveats=("a < b: c & d",)),
    ],
    ids=str,
)
def test_notebooks_show_one_line_that_opens_to_the_statement(guarantee):
    page = ElementTree.fromstring(guarantee._repr_html_())
    assert page.tag == "details" and page.find("summary").text == str(guarantee)
    assert ["".join(entry.itertext()) for entry in page.iter("li")] == guarantee.statement(width=None).splitlines()


def test_a_statement_without_privacy():
    topics = answers(Borda().fit(VOTES).privacy_)
    assert topics == {
        "In plain words": "this result does not protect the voters. It may show how somebody voted.",
        "Not private": "exact statistics.",
    }
    for guarantee in (
        LDPPairwise(epsilon=20.0).fit(VOTES).privacy_,
        PrivacyGuarantee(1e4, 0.0, "central", "add_remove", "x"),
        PrivacyGuarantee(0.1, 1.0, "central", "add_remove", "x"),
    ):
        topics = answers(guarantee)["In plain words"]
        assert topics == "this guarantee protects almost nothing. The result may show how somebody voted."
    assert "which protects almost nothing" in answers(LDPPairwise(epsilon=20.0).fit(VOTES).privacy_)["Epsilon = 20"]


@pytest.mark.parametrize(
    ("unit", "neighboring", "about"),
    [
        ("one ballot", "add_remove", "all other ballots, and gives a 50 % chance that yours was cast."),
        ("one ballot", "replace", "all other ballots, and that yours is one of two, with a 50 % chance each."),
        (PERSON, "add_remove", "the ballots of all other people, and gives a 50 % chance that you voted."),
        (PERSON, "replace", "ballots of all other people, and that you voted in one of two ways, with a 50 % chance"),
    ],
)
def test_lay_readers_learn_the_unit_and_the_neighbours(unit, neighboring, about):
    topics = answers(PrivacyGuarantee(1.0, 0.0, "central", neighboring, "x", unit=unit))["In plain words"]
    assert about in topics and topics.endswith("their best guess is right at most 73.2 % of the time.")  # e / (1 + e)


@given(st.floats(0, 11), st.floats(0, 0.9))
def test_no_guess_is_right_more_often_than_stated(epsilon, delta):
    """The worst release reveals the neighbour with probability delta, and is randomized response otherwise."""
    best = delta + (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    topics = answers(PrivacyGuarantee(epsilon, delta, "central", "replace", "x"))["In plain words"]
    stated = float(re.search(r"([0-9.]+) % of the time", topics)[1])
    assert 100 * best - 1e-9 <= stated < min(100 * best + 0.1 + 1e-9, 100)


@pytest.mark.parametrize("width", [40, 88, 100])
def test_lines_of_a_statement_are_wrapped(width):
    guarantee = ShufflePairwise(min_reports=90).fit(VOTES).privacy_
    wrapped, topics = guarantee.statement(width).splitlines(), guarantee.statement(None).splitlines()
    assert max(map(len, wrapped)) <= width and len(wrapped) > len(topics)
    whole = "\n".join(wrapped).replace("\n  ", " ").splitlines()
    assert whole == topics and all(line.startswith(topic.split()[0]) for line, topic in zip(whole, topics, strict=True))
    assert DPBorda().fit(VOTES).privacy_.statement() == DPBorda().fit(VOTES).privacy_.statement(width=88)


@pytest.mark.parametrize("width", [39, 0, 88.0, "88", True])
def test_widths_are_checked(width):
    with pytest.raises(ValueError, match="width must be None or an integer of at least 40"):
        DPBorda().fit(VOTES).privacy_.statement(width)


@given(st.floats(1e-6, 13.8))
def test_odds_are_rounded_up(epsilon):
    ratio = math.exp(epsilon)
    text = PrivacyGuarantee(epsilon, 0.0, "central", "add_remove", "x").statement(width=None)
    factor = float(re.search(r"a factor of ([\d.,]*\d)\.", text)[1].replace(",", ""))
    assert ratio <= factor <= ratio * 1.011
    percent = float(re.search(r"gives at most ([\d.]+) % after", text)[1])
    assert 100 * ratio / (1 + ratio) <= percent < 100


def test_a_composition_names_all_parties():
    both = PrivacyGuarantee.compose(
        [PrivacyGuarantee(0.5, 1e-6, trust, "replace", "x") for trust in ("shuffle", "central")]
    )
    shuffler = "the shuffler (one public protocol for all voters), the voters whose messages are mixed"
    assert answers(both)["Trust"].endswith(f"Trusted parties: {shuffler}, the curator.")
    assert (
        answers(both)["Delta = 2e-06"] == "the probability of a set of outcomes may exceed this bound by at most 2e-06."
    )
