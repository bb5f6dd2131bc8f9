"""What a guarantee says, how several add up, and what it refuses to be."""

import dataclasses
import math
import pickle

import pytest

from sklearn_dprank.privacy import PrivacyGuarantee
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
        ({"trust": "curator"}, "trust must be one of ['central', 'local', 'none', 'shuffle'], got 'curator'."),
        ({"neighboring": "swap"}, "neighboring must be one of ['add_remove', 'replace'], got 'swap'."),
        ({"epsilon": -1}, "epsilon must be >= 0 and delta in [0, 1], got -1 and 0.0."),
        ({"epsilon": math.nan}, "epsilon must be >= 0 and delta in [0, 1], got nan and 0.0."),
        ({"delta": 1.5}, "epsilon must be >= 0 and delta in [0, 1], got 1.0 and 1.5."),
        ({"delta": math.nan}, "epsilon must be >= 0 and delta in [0, 1], got 1.0 and nan."),
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
    assert total.epsilon == math.fsum([0.1, 0.2, 0.3])
    assert total.delta == pytest.approx(3e-7)
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
    assert total.trust == "central"
    assert total.arithmetic == "double precision"
    assert not total.certified
    assert total.caveats == ("a", "b")
    assert PrivacyGuarantee.compose(parts[:1]).arithmetic == "exact"


@pytest.mark.parametrize(("first", "second"), [(a, b) for i, a in enumerate(TRUST) for b in list(TRUST)[i:]])
def test_trust_is_ordered(first, second):
    parts = [guarantee(trust=second), guarantee(trust=first)]
    assert PrivacyGuarantee.compose(parts).trust == first


def test_relations_do_not_mix_but_nothing_fits_all():
    with pytest.raises(ValueError) as error:
        PrivacyGuarantee.compose([guarantee(neighboring=relation) for relation in NEIGHBORING])
    assert str(error.value) == (
        "guarantees under different neighbouring relations do not add up (['add_remove', 'replace']); "
        "fit all estimators with one `neighboring`."
    )
    total = PrivacyGuarantee.compose([PrivacyGuarantee.nothing(), guarantee(neighboring="replace")])
    assert (total.epsilon, total.trust, total.neighboring) == (math.inf, "none", "replace")
    with pytest.raises(ValueError, match=r"^guarantees must hold at least one guarantee"):
        PrivacyGuarantee.compose([])


def test_replacing_is_removing_and_adding():
    """Exactly what two steps of the definition give, and no more than a mechanism may lose."""
    one = guarantee(0.5, 1e-6, "central", "add_remove")
    both = one.under_replace()
    assert (both.epsilon, both.neighboring) == (1.0, "replace")
    assert both.delta == pytest.approx(1e-6 * (1 + math.exp(0.5)))
    assert both.under_replace() is both
    assert guarantee(800, 1e-6, "central", "add_remove").under_replace().delta == 1.0
    assert PrivacyGuarantee.nothing().under_replace().epsilon == math.inf


def test_caveats_show():
    caveat = dataclasses.replace(guarantee(1, 0, "central", "add_remove"), caveats=("only on Sundays",))
    assert str(caveat) == "epsilon = 1 (central, add_remove; read its caveats)"
