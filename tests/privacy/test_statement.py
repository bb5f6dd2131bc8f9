"""What a guarantee says in plain words: true numbers, rounded away from the promise, and everything that it has."""

import math
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_dprank import Borda, DPBorda, LDPPairwise, SecAggBorda, ShufflePairwise
from sklearn_dprank.privacy import PrivacyGuarantee
from sklearn_dprank.privacy.guarantee import _percent, _up

VOTES = [[0, 1, 2]] * 100
QUESTIONS = ["Released", "Unit", "Hidden", "Trust", "Epsilon", "Delta", "Composition", "Arithmetic", "Not covered"]


def answers(guarantee):
    """The lines of a statement by their first words."""
    return dict(line.split(": ", 1) for line in guarantee.statement().splitlines())


def test_every_question_in_order():
    said = answers(DPBorda(epsilon=0.5).fit(VOTES).privacy_)
    assert [question.split(" = ")[0] for question in said] == QUESTIONS
    assert said["Epsilon = 0.5"].startswith("no single ballot changes the probability of any outcome by more than a")
    assert "a factor of 1.65" in said["Epsilon = 0.5"] and "62.3 %" in said["Epsilon = 0.5"]  # e^.5 / (1 + e^.5)
    assert "whether somebody voted" in said["Hidden"] and "the number of voters" in said["Not covered"]
    assert said["Delta = 0"] == "the bound on probabilities always holds."


def test_a_seed_comes_first():
    first = DPBorda(random_state=0).fit(VOTES).privacy_.statement().splitlines()[0]
    assert first.startswith("A simulation only: anybody who knows the seed") and "No voter has this guarantee" in first


@pytest.mark.parametrize(
    ("estimator", "trusted", "caveat"),
    [
        (LDPPairwise(), "Trusted parties: none.", None),
        (
            ShufflePairwise(min_reports=90),
            "Trusted parties: the shuffler (one public protocol for all voters), 90 of the voters.",
            "without the shuffler, local epsilon = ",
        ),
        (SecAggBorda(), "Trusted parties: one of the 2 servers, 100 of the voters.", "if all servers collude"),
    ],
    ids=["local", "shuffle", "secure aggregation"],
)
def test_trust_and_caveats(estimator, trusted, caveat):
    said = answers(estimator.fit(VOTES).privacy_)
    assert said["Trust"].endswith(trusted) and "a voter cast the one or the other" in said["Epsilon = 1"]
    assert "the number of voters" not in said["Not covered"]  # public under "replace"
    assert (caveat is None and "Caveat" not in said) or said["Caveat"].startswith(caveat)


class Reader(HTMLParser):
    """Collect the texts of the summary and of the entries of a list."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = [], {"summary": [], "li": []}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        while self.tags and self.tags.pop() != tag:
            pytest.fail(f"{tag} closes another tag")

    def handle_data(self, data):
        for tag in self.texts.keys() & set(self.tags):
            self.texts[tag][-1] += data


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
    reader = Reader(guarantee._repr_html_())
    assert reader.tags == [] and reader.texts["summary"] == [str(guarantee)]
    assert reader.texts["li"] == guarantee.statement().splitlines()


def test_no_promise():
    assert Borda().fit(VOTES).privacy_.statement() == "Not private: exact statistics."
    assert "protects almost nothing" in LDPPairwise(epsilon=20.0).fit(VOTES).privacy_.statement()


@given(st.floats(1e-6, 13.8))
def test_rounded_away_from_the_promise(epsilon):
    ratio = math.exp(epsilon)
    assert ratio <= float(_up(ratio).replace(",", "")) <= ratio * 1.011
    share = ratio / (1 + ratio)
    assert 100 * share <= float(_percent(share).rstrip(" %")) < 100


def test_every_party_of_a_sum():
    both = PrivacyGuarantee.compose(
        [PrivacyGuarantee(0.5, 1e-6, trust, "replace", "x") for trust in ("shuffle", "central")]
    )
    shuffler = "the shuffler (one public protocol for all voters), the voters whose messages are mixed"
    assert answers(both)["Trust"].endswith(f"Trusted parties: {shuffler}, the curator.")
    assert (
        answers(both)["Delta = 2e-06"] == "the probability of a set of outcomes may exceed this bound by at most 2e-06."
    )
