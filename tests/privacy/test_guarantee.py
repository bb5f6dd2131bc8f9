"""What a guarantee says, how several add up, and what it refuses to be."""

import dataclasses
import math
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sklearn_dprank.privacy import PrivacyGuarantee
from sklearn_dprank.privacy.composition import Losses
from sklearn_dprank.privacy.guarantee import NEIGHBORING, TRUST


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
        (
            guarantee(certified=False, trust="local", neighboring="replace"),
            "epsilon = 1 (local, replace; simulation only: a seed was given)",
        ),
        (PrivacyGuarantee.nothing(), "not private"),
    ],
)
def test_text(shown, text):
    assert str(shown) == text


def test_nothing_promises_nothing():
    nothing = PrivacyGuarantee.nothing()
    assert (nothing.epsilon, nothing.trust) == (math.inf, "none")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"trust": "curator"},
            "trust must be one of ['central', 'local', 'none', 'secure_aggregation', 'shuffle'] or "
            "'shuffle + central', got 'curator'.",
        ),
        ({"neighboring": "swap"}, "neighboring must be one of ['add_remove', 'replace'], got 'swap'."),
        ({"epsilon": -1}, "epsilon must be a number of at least 0, got -1."),
        ({"epsilon": math.nan}, "epsilon must be a number of at least 0, got nan."),
        ({"delta": 1.5}, "delta must be a number of at least 0 and at most 1, got 1.5."),
        ({"delta": math.nan}, "delta must be a number of at least 0 and at most 1, got nan."),
    ],
)
def test_bad_fields(changes, message):
    with pytest.raises(ValueError) as error:
        guarantee(**changes)
    assert str(error.value) == message


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


def test_the_weakest_of_all():
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


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_everybody_whom_one_release_trusts(size):
    """A sum needs the curator if one part does, and the shuffler if one part does; nobody for local reports."""
    trusted = {
        "local": (),
        "shuffle": ("the shuffler (one public protocol for all voters)", "the voters whose messages are mixed"),
        "secure_aggregation": ("one of the servers", "the voters who add noise"),
        "central": ("the curator",),
        "none": ("everybody",),
    }
    assert list(TRUST) == list(trusted)  # from the least to the most trusting
    for trusts in product(trusted, repeat=size):
        total = PrivacyGuarantee.compose([guarantee(trust=trust, neighboring="replace") for trust in trusts])
        if "none" in trusts:
            assert (total.trust, total.parties) == ("none", ("everybody",))
        else:
            assert set(total.parties) == {party for trust in trusts for party in trusted[trust]}
        for first in range(size):  # in any order, and in parts
            inner = PrivacyGuarantee.compose([guarantee(trust=t, neighboring="replace") for t in trusts[: first + 1]])
            rest = [guarantee(trust=t, neighboring="replace") for t in trusts[first + 1 :]]
            assert PrivacyGuarantee.compose([*rest, inner]).trust == total.trust


@pytest.mark.parametrize(
    ("trusts", "named"),
    [
        (["local", "shuffle"], "shuffle"),
        (["local", "central"], "central"),
        (["central", "shuffle"], "shuffle + central"),
        (["secure_aggregation", "local"], "secure_aggregation"),
        (["central", "secure_aggregation", "shuffle"], "shuffle + secure_aggregation + central"),
        (["shuffle + central", "local"], "shuffle + central"),
        (["shuffle", "none"], "none"),
    ],
)
def test_trust_is_never_understated(trusts, named):
    total = PrivacyGuarantee.compose([guarantee(trust=trust, neighboring="replace") for trust in trusts])
    assert total.trust == named
    assert f"({named}, replace)" in str(total)


@pytest.mark.parametrize("trust", ["central + shuffle", "local + central", "none + central", "", "shuffle + ", None])
def test_only_sums_of_those_who_are_needed(trust):
    with pytest.raises(ValueError, match="trust must be one of"):
        guarantee(trust=trust)


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


def test_units_do_not_mix():
    parts = [guarantee(unit="one ballot"), guarantee(unit="all ballots of one person")]
    with pytest.raises(ValueError) as error:
        PrivacyGuarantee.compose(parts)
    assert str(error.value) == (
        "guarantees for different units do not add up (['all ballots of one person', 'one ballot']); "
        "state all of them for one unit."
    )
    assert PrivacyGuarantee.compose(parts[1:] * 2).unit == "all ballots of one person"
    assert PrivacyGuarantee.compose([PrivacyGuarantee.nothing(), *parts[1:]]).unit == "all ballots of one person"


def test_relations_do_not_mix_but_nothing_fits_all():
    with pytest.raises(ValueError) as error:
        PrivacyGuarantee.compose([guarantee(neighboring=relation) for relation in NEIGHBORING])
    assert str(error.value) == (
        "guarantees under different neighbouring relations do not add up (['add_remove', 'replace']); "
        "compose [g.under_replace() for g in guarantees], or fit all estimators with one `neighboring`."
    )
    total = PrivacyGuarantee.compose([PrivacyGuarantee.nothing(), guarantee(neighboring="replace")])
    assert (total.epsilon, total.trust, total.neighboring) == (math.inf, "none", "replace")
    with pytest.raises(ValueError, match=r"^guarantees must hold at least one guarantee"):
        PrivacyGuarantee.compose([])
    with pytest.raises(
        ValueError, match=r"PrivacyGuarantee objects, \[fit.privacy_ for fit in fits\] for example, got 'fit'"
    ):
        PrivacyGuarantee.compose([guarantee(), "fit"])


def test_replacing_is_removing_and_adding():
    """Exactly what two steps of the definition give, and no more than a mechanism may lose."""
    one = guarantee(0.5, 1e-6, "central", "add_remove")
    both = one.under_replace()
    assert (both.epsilon, both.neighboring) == (1.0, "replace")
    assert both.delta == pytest.approx(1e-6 * (1 + math.exp(0.5)))
    assert both.under_replace() is both
    assert guarantee(800, 1e-6, "central", "add_remove").under_replace().delta == 1.0
    assert PrivacyGuarantee.nothing().under_replace().epsilon == math.inf


@pytest.mark.parametrize(
    "losses",
    [
        Losses(-1.0),
        Losses(math.nan),
        Losses("1"),
        Losses(pure=(1.0, -9.0)),
        Losses(pure=(math.nan, 5.0)),
        Losses(pure=(None,)),
        Losses(pure=5.0),
        Losses(approximate=((-3.0, 1e-6), (5.0, 1e-6))),
        Losses(approximate=((math.nan, 1e-6),)),
        Losses(approximate=((1.0, -1e-6),)),
        Losses(approximate=((1.0, math.nan),)),
        Losses(approximate=((1.0, 1.5),)),
        Losses(approximate=(1.0, 1e-6)),
        Losses(approximate=((1.0,),)),
    ],
    ids=repr,
)
def test_losses_below_nothing(losses):
    """A loss of -9 beside others would pay back what they spent."""
    with pytest.raises(ValueError, match="losses"):
        PrivacyGuarantee(1.0, 1e-6, "central", "add_remove", "noise", losses=losses)
    with pytest.raises(ValueError, match="losses"):
        dataclasses.replace(guarantee(1.0, 1e-6), losses=losses)


@pytest.mark.parametrize(("epsilon", "delta"), [(-1.0, 0.0), (math.nan, 0.0), (1.0, -1e-9), (1.0, math.nan), (1, 1.1)])
def test_numbers_below_nothing(epsilon, delta):
    with pytest.raises(ValueError, match="must be a number"):
        guarantee(epsilon, delta)


def test_losses_without_a_bound_are_no_promise():
    boundless = Losses(math.inf, (math.inf,), ((math.inf, 1.0),))
    assert PrivacyGuarantee(math.inf, 0.0, "none", "replace", "a leak", losses=boundless).epsilon == math.inf


def test_caveats_show():
    caveat = dataclasses.replace(guarantee(1, 0, "central", "add_remove"), caveats=("only on Sundays",))
    assert str(caveat) == "epsilon = 1 (central, add_remove; read its caveats)"


def test_a_delta_without_an_epsilon_is_not_composed_as_no_release():
    """Otherwise the whole delta is left for the others: three releases of epsilon 1 would state .59."""
    nothing = PrivacyGuarantee(0.0, 0.0, "central", "add_remove", "nothing")
    one = PrivacyGuarantee(1.0, 0.0, "central", "add_remove", "noise")
    for failing in (dataclasses.replace(nothing, delta=0.5), dataclasses.replace(nothing, delta=0.5, losses=Losses())):
        assert PrivacyGuarantee.compose([failing, one, one, one], delta=0.5).epsilon == 3.0
