"""Guarantees: fields, text, composition and refusals, and complete statements with numbers rounded up."""

import dataclasses
import math
import pickle
import re
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sklearn_dprank import Borda, DPBorda, LDPPairwise, SecAggBorda, ShufflePairwise
from sklearn_dprank.ballots.weights import COMPARISON, OUTCOME, OUTCOMES, PERSON
from sklearn_dprank.privacy import PrivacyGuarantee
from sklearn_dprank.privacy.composition import Losses
from sklearn_dprank.privacy.guarantee import DECLARED_PUBLIC, NEIGHBORING, TRUST


def guarantee(epsilon=1.0, delta=0.0, trust="central", neighboring="add_remove", **more):
    return PrivacyGuarantee(epsilon, delta, trust, neighboring, more.pop("how", "noise"), **more)


def test_defaults_and_immutability():
    one = guarantee()
    assert (one.arithmetic, one.certified, one.caveats, one.unit) == ("exact", True, (), "one ballot")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.epsilon = 0.5
    assert pickle.loads(pickle.dumps(one)) == one
    assert len({one, guarantee()}) == 1


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (guarantee(0.5), "epsilon = 0.5 (central, add_remove)"),
        (guarantee(1 / 3), "epsilon = 0.333333 (central, add_remove)"),
        (guarantee(2, 1e-6, "shuffle", "replace"), "epsilon = 2, delta = 1e-06 (shuffle, replace)"),
        (guarantee(certified=False), "epsilon = 1 (central, add_remove; simulation only: a seed was given)"),
        (guarantee(caveats=("only on Sundays",)), "epsilon = 1 (central, add_remove; read its caveats)"),
        (PrivacyGuarantee.nothing(), "not private"),
    ],
)
def test_text_of_a_guarantee(shown, text):
    assert str(shown) == text


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *((name, 3) for name in ("how", "arithmetic", "unit", "caveats", "whom", "losses", "certified")),
        *(("caveats", (3,)), ("whom", ("curator",)), ("whom", (("central", 3),))),
        *(("epsilon", -1.0), ("epsilon", math.nan), ("delta", -1e-9), ("delta", 1 + 1e-9), ("neighboring", "add")),
    ],
)
def test_fields_of_another_kind_are_refused(field, wrong):
    with pytest.raises(ValueError, match=f"^{field} must be"):
        guarantee(**{field: wrong})


@pytest.mark.parametrize("trust", ["curator", "central + shuffle", "local + central", "shuffle + ", None])
def test_bad_trust_models_are_refused(trust):
    with pytest.raises(ValueError, match=r"trust must be one of \['central', .*\] or 'shuffle \+ central', got"):
        guarantee(trust=trust)


def test_simulated_never_certifies():
    assert guarantee().simulated(True).certified
    assert not guarantee().simulated(False).certified
    assert not guarantee(certified=False).simulated(True).certified
    assert guarantee().simulated(False) == dataclasses.replace(guarantee(), certified=False)


# Composition


def test_epsilons_and_deltas_add_up():
    parts = [guarantee(0.1, 1e-7), guarantee(0.2, 2e-7), guarantee(0.3)]
    total = PrivacyGuarantee.compose(parts)
    assert total.epsilon == pytest.approx(0.6, rel=1e-15)
    assert total.delta == pytest.approx(3e-7, rel=1e-15)
    assert total.how == "3 releases, basic composition"
    assert PrivacyGuarantee.compose(iter(parts)) == total
    assert PrivacyGuarantee.compose([guarantee(delta=0.7)] * 2).delta == 1


def test_a_composition_has_the_weakest_properties():
    parts = [
        guarantee(trust="local", neighboring="replace", caveats=("a",)),
        guarantee(trust="central", neighboring="replace", arithmetic="double precision", caveats=("b", "a")),
        guarantee(trust="shuffle", neighboring="replace", certified=False, arithmetic="double precision"),
    ]
    total = PrivacyGuarantee.compose(parts)
    assert total.trust == "shuffle + central"
    assert total.arithmetic == "double precision"
    assert not total.certified
    assert total.caveats == ("a", "b")
    assert PrivacyGuarantee.compose(parts[:1]).arithmetic == "exact"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_composition_trusts_the_parties_of_all_its_releases(size):
    trusted = {
        "local": (),
        "shuffle": ("the shuffler (one public protocol for all voters)", "the voters whose messages are mixed"),
        "secure_aggregation": ("one of the servers", "the voters who add noise"),
        "central": ("the curator",),
        "none": ("everybody",),
    }
    assert list(TRUST) == list(trusted)  # from the least to the most trusting
    for trusts in product(trusted, repeat=size):
        parts = [guarantee(trust=trust, neighboring="replace") for trust in trusts]
        total = PrivacyGuarantee.compose(parts)
        named = [trust for trust in trusted if trust in trusts and trust != "local"] or ["local"]
        assert total.trust == ("none" if "none" in trusts else " + ".join(named))
        assert total.parties == tuple(
            party for trust in (["none"] if "none" in trusts else named) for party in trusted[trust]
        )
        for first in range(size):  # in any order, and in parts
            inner = PrivacyGuarantee.compose(parts[: first + 1])
            assert PrivacyGuarantee.compose([*parts[first + 1 :], inner]).trust == total.trust


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 0.1)), min_size=1, max_size=12))
def test_sums_are_never_below_the_exact_ones(parts):
    total = PrivacyGuarantee.compose([guarantee(epsilon, delta) for epsilon, delta in parts])
    for stated, terms in ((total.epsilon, [e for e, _ in parts]), (total.delta, [d for _, d in parts])):
        exact = sum(map(Fraction, terms), Fraction(0))
        assert stated >= exact or stated == 1.0
        assert math.nextafter(stated, 0) < exact or stated == 0.0


@given(st.floats(0, 40), st.floats(1e-300, 0.5))
def test_two_steps_are_never_below_their_sum(epsilon, delta):
    both = guarantee(epsilon, delta).under_replace()
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(delta) * (1 + Decimal(epsilon).exp())
        assert min(exact, Decimal(1)) <= Decimal(both.delta) <= exact * (1 + Decimal(2) ** -49)
    assert both.epsilon == 2 * epsilon


def test_fractions_are_rounded_up():
    third = guarantee(Fraction(1, 3), Fraction(1, 3) / 10**6)
    assert isinstance(third.epsilon, float) and third.epsilon > Fraction(1, 3) > math.nextafter(third.epsilon, 0)
    assert third.delta >= Fraction(1, 3 * 10**6) > math.nextafter(third.delta, 0)
    assert str(third) == "epsilon = 0.333333, delta = 3.33333e-07 (central, add_remove)"
    assert type(guarantee(np.float32(0.1)).epsilon) is float


def test_different_units_do_not_add_up():
    parts = [guarantee(unit="one ballot"), guarantee(unit=PERSON)]
    with pytest.raises(ValueError, match=r"different units do not add up \(\['all ballots of one person'"):
        PrivacyGuarantee.compose(parts)
    assert PrivacyGuarantee.compose(parts[1:] * 2).unit == PERSON
    assert PrivacyGuarantee.compose([PrivacyGuarantee.nothing(), *parts[1:]]).unit == PERSON


def test_different_neighbouring_relations_do_not_add_up():
    with pytest.raises(ValueError, match=r"do not add up \(\['add_remove', 'replace'\]\); compose \[g.under_replace"):
        PrivacyGuarantee.compose([guarantee(neighboring=relation) for relation in NEIGHBORING])
    total = PrivacyGuarantee.compose([PrivacyGuarantee.nothing(), guarantee(neighboring="replace")])
    assert (total.epsilon, total.trust, total.neighboring) == (math.inf, "none", "replace")
    nothing = PrivacyGuarantee.nothing()
    assert PrivacyGuarantee.compose([nothing, dataclasses.replace(nothing, neighboring="replace")]).epsilon == math.inf


@pytest.mark.parametrize(
    ("guarantees", "message"),
    [([], "must hold at least one"), ([guarantee(), "fit"], r"must be PrivacyGuarantee objects, .* got 'fit'")],
)
def test_a_composition_needs_guarantees(guarantees, message):
    with pytest.raises(ValueError, match=f"^guarantees {message}"):
        PrivacyGuarantee.compose(guarantees)


def test_a_joint_delta_covers_what_the_releases_leave_outside():
    parts = [guarantee(0.1, 1e-8)] * 20  # as doubles, their deltas add up to more than the double 2e-7
    total = PrivacyGuarantee.compose(parts, delta=2e-7)
    assert 20 * Fraction(1e-8) <= Fraction(total.delta) < 2e-7 * (1 + 1e-12)
    assert total == PrivacyGuarantee.compose(parts, delta=total.delta)
    for delta in (1e-7, 2e-7 * (1 - 1e-9)):
        with pytest.raises(ValueError, match=r"^delta=.* is too small .*, 2e-07; raise it"):
            PrivacyGuarantee.compose(parts, delta=delta)


def test_replacing_is_removing_and_adding():
    one = guarantee(0.5, 1e-6)
    both = one.under_replace()
    assert (both.epsilon, both.neighboring) == (1.0, "replace")
    assert both.losses == Losses(approximate=((1.0, both.delta),))
    assert both.delta == pytest.approx(1e-6 * (1 + math.exp(0.5)))
    assert both.under_replace() is both
    assert guarantee(800, 1e-6).under_replace().delta == 1.0
    assert PrivacyGuarantee.nothing().under_replace().epsilon == math.inf


@pytest.mark.parametrize(
    "losses",
    [
        *(Losses(wrong) for wrong in (-1.0, math.nan, "1")),
        *(Losses(pure=wrong) for wrong in ((1.0, -9.0), (math.nan, 5.0), (None,), 5.0)),
        Losses(approximate=((-3.0, 1e-6), (5.0, 1e-6))),
        *(Losses(approximate=(wrong,)) for wrong in ((math.nan, 1e-6), (1.0, -1e-6), (1.0, math.nan), (1.0, 1.5))),
        *(Losses(approximate=wrong) for wrong in ((1.0, 1e-6), ((1.0,),))),
    ],
    ids=repr,
)
def test_negative_and_malformed_losses_are_refused(losses):
    """A negative loss would cancel other losses."""
    with pytest.raises(ValueError, match="losses"):
        guarantee(1.0, 1e-6, losses=losses)


def test_infinite_losses_give_an_infinite_epsilon():
    boundless = Losses(math.inf, (math.inf,), ((math.inf, 1.0),))
    assert guarantee(math.inf, 0.0, "none", "replace", losses=boundless).epsilon == math.inf


@pytest.mark.parametrize("losses", [None, Losses()])
def test_a_release_with_delta_and_epsilon_0_uses_up_delta(losses):
    """Otherwise the whole delta is left for the others: three releases of epsilon 1 would state .59."""
    failing = guarantee(0.0, 0.5, losses=losses)
    assert PrivacyGuarantee.compose([failing, *[guarantee()] * 3], delta=0.5).epsilon == 3.0


def test_losses_that_agree_with_epsilon_are_kept():
    losses = Losses(mu_squared=0.25)
    stated = guarantee(epsilon=losses.epsilon(1e-6), delta=1e-6, losses=losses)
    assert stated.losses == losses
    assert guarantee(epsilon=2 * losses.epsilon(1e-6), delta=1e-6, losses=losses).losses != losses


# Statements


VOTES = [[0, 1, 2]] * 100


def answers(guarantee):
    """The lines of a statement by their first words."""
    return dict(line.split(": ", 1) for line in guarantee.statement(width=None).splitlines())


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
    assert topics["Trust"].endswith(trusted) and "a voter cast the first of two" in topics["Epsilon = 1"]
    assert "the number of voters" not in topics["Not covered"]  # public under "replace"
    assert (caveat is None and "Caveat" not in topics) or topics["Caveat"].startswith(caveat)
    assert topics["In plain words"].endswith(" Read the caveats below, too.") == (caveat is not None)


@pytest.mark.parametrize(
    ("how", "explained"),
    [
        ("noise on the net wins of each item, once", ["net wins"]),
        ("noise on the margins of all pairs, once", ["margin"]),
        ("noise on the margins of pairs or net wins within groups, once", ["net wins", "margin"]),
        ("noise on the number of voters, once", []),
    ],
)
def test_a_statement_explains_the_terms_of_its_release(how, explained):
    released = answers(guarantee(how=how))["Released"]
    assert re.findall(r"The ([a-z ]+?) of (?:an item|two items) (?:is|count) ", released) == explained
    assert released.startswith(f"{how}.") and released.endswith(".")


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
    nothing = PrivacyGuarantee.nothing("exact sums")
    assert (nothing.epsilon, nothing.delta, nothing.trust, nothing.how) == (math.inf, 0.0, "none", "exact sums")
    assert nothing.neighboring == "add_remove"
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
    declared = PrivacyGuarantee(0.0, 0.0, "central", "add_remove", "x", caveats=(DECLARED_PUBLIC,))
    assert answers(declared)["In plain words"].startswith("this result does not protect the voters.")
    assert "which protects almost nothing" in answers(LDPPairwise(epsilon=20.0).fit(VOTES).privacy_)["Epsilon = 20"]


@pytest.mark.parametrize(
    ("unit", "neighboring", "about"),
    [
        ("one ballot", "add_remove", "all other ballots. To them, it is equally likely that your ballot was cast or"),
        ("one ballot", "replace", "all other ballots. To them, your ballot is one of two that are equally likely."),
        (COMPARISON, "add_remove", "comparisons. To them, it is equally likely that your comparison was made or not."),
        (COMPARISON, "replace", "comparisons. To them, your comparison is one of two that are equally likely."),
        (PERSON, "add_remove", "the ballots of all other people. To them, it is equally likely that you voted or not."),
        (PERSON, "replace", "other people. To them, you voted in one of two ways that are equally likely."),
        (OUTCOME, "replace", "all other outcomes. To them, your outcome is one of two that are equally likely."),
        (OUTCOMES, "replace", "To them, your outcomes are one of two possibilities that are equally likely."),
    ],
)
def test_lay_readers_learn_the_unit_and_the_neighbours(unit, neighboring, about):
    topics = answers(PrivacyGuarantee(1.0, 0.0, "central", neighboring, "x", unit=unit))["In plain words"]
    assert about in topics and topics.endswith(" they guess right at most 73.2 % of the time.")  # e / (1 + e)
    whole = answers(PrivacyGuarantee(1.0, 0.0, "central", neighboring, "x", unit=unit))
    assert ("epsilon is k times as large" in whole["Unit"]) == (unit not in (PERSON, OUTCOMES))
    assert ("person" in whole["Hidden"]) == (unit in (PERSON, OUTCOMES))


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


@pytest.mark.parametrize(
    ("epsilon", "delta", "guess", "factor", "after"),
    [
        (0.0, 0.0, "50.0 %", "1.00", "50.0 %"),
        (0.5, 0.0, "62.3 %", "1.65", "62.3 %"),
        (1.0, 0.25, "79.9 %", "2.72", "73.2 %"),
        (3.0, 0.0, "95.3 %", "20.1", "95.3 %"),
        (9.0, 0.0, "99.99 %", "8,104", "99.99 %"),
        (13.8, 0.0, "99.9999 %", "984,610", "99.9999 %"),
    ],
)
def test_words_state_odds_with_three_digits_rounded_up(epsilon, delta, guess, factor, after):
    text = PrivacyGuarantee(epsilon, delta, "central", "add_remove", "x").statement(width=None)
    assert f"they guess right at most {guess} of the time" in text
    assert f"by more than a factor of {factor}. " in text and f"was cast becomes at most {after}." in text
    assert ("apart from delta" in text) == (delta > 0)


@pytest.mark.parametrize(("epsilon", "meant"), [(13.8, True), (13.82, False), (40.0, False)])
def test_a_factor_above_a_million_is_called_almost_no_protection(epsilon, meant):
    text = PrivacyGuarantee(epsilon, 0.0, "central", "add_remove", "x").statement(width=None)
    assert ("protects almost nothing. The result may show" not in text) == meant
    assert ("a factor of more than 1,000,000, which protects almost nothing" not in text) == meant


@given(st.floats(1e-6, 13.8))
def test_odds_are_rounded_up(epsilon):
    ratio = math.exp(epsilon)
    text = PrivacyGuarantee(epsilon, 0.0, "central", "add_remove", "x").statement(width=None)
    factor = float(re.search(r"a factor of ([\d.,]*\d)\.", text)[1].replace(",", ""))
    assert ratio <= factor <= ratio * 1.011
    percent = float(re.search(r"becomes at most ([\d.]+) %", text)[1])
    assert 100 * ratio / (1 + ratio) <= percent < 100
