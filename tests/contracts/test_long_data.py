"""The guide's table of estimators for long data agrees with what `fit` does."""

import csv
import re
from pathlib import Path

import pytest
from every_estimator import CLASSES, ESTIMATORS
from sklearn.base import clone

from sklearn_dprank import DPPositionalRule, SegmentedAggregator
from sklearn_dprank.ballots import Profile
from sklearn_dprank.ballots.weights import OUTCOMES
from sklearn_dprank.model_selection import PrivateKendallTau

with open(Path(__file__).parents[2] / "docs" / "user_guide" / "long.csv", encoding="utf-8") as file:
    TABLE = {re.search(r"\.(\w+)`", row[0])[1]: row[1:] for row in list(csv.reader(file))[1:]}
ITEMS = list("abc")
FORMS = {
    "ratings": Profile.from_long(person=[1, 1, 2, 2], item=list("abca"), rating=[1, 2, 3, 1], items=ITEMS),
    "comparisons": Profile.from_comparisons(None, list("abc"), list("bca"), person=[1, 1, 2], items=ITEMS),
    "lists": Profile.from_orders([["a", "b"], ["c", "a", "b"]], items=ITEMS, max_listed=2),
}
PRIVATE = Profile.from_orders([["secret a", "secret b"], ["secret c"]], items="private", max_listed=2)
LARGE = Profile.from_long(person=[0, 0], item=[5, 7], rating=[1, 2], items=range(6000))


def test_every_estimator_is_in_the_table():
    assert set(TABLE) == {each.__name__ for each in CLASSES}


def expect(stated, call):
    """Assert that a call works, or raises the error that the table states."""
    if stated.startswith("works"):
        return call()
    with pytest.raises(ValueError, match=re.escape(stated.removeprefix("error: "))):
        call()


@pytest.mark.filterwarnings("ignore:6,000 items are more")
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_estimators_do_what_the_table_states(kind):
    others, large = TABLE[kind.__name__]
    others, *exceptions = others.split("; ")
    stated = dict(one.split(": ", 1) for one in exceptions)
    for form, profile in FORMS.items():
        small = stated.get(form, others)
        shown = {"pairs": "shown"} if "pairs='shown'" in small else {}
        made = kind(**shown, **({"min_reports": 1} if "min_reports" in small else {}))
        fitted = expect(small, lambda profile=profile, made=made: made.fit(profile))
        if fitted is not None and fitted.privacy_.epsilon < float("inf"):
            assert fitted.privacy_.unit == (OUTCOMES if shown else profile.bound.unit)
        expect(small, lambda profile=profile, made=made: made.guarantee_before(profile))
    expect(large, lambda: kind().plan_for(LARGE))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_private_items_are_refused_by_all_estimators_but_one(estimator):
    """The error names that one and shows no item."""
    if isinstance(estimator, DPPositionalRule):
        assert clone(estimator).set_params(scores=None).fit(PRIVATE).privacy_.unit == PRIVATE.bound.unit
        return
    fitted = clone(estimator).fit([[0, 1, 2, 3, 4]] * 900)
    for call in (clone(estimator).fit, fitted.guarantee_before, fitted.score):
        with pytest.raises(ValueError, match="DPPositionalRule") as error:
            call(PRIVATE)
        assert "secret" not in str(error.value)


def test_lists_have_segments_and_rows_of_persons_have_none():
    aggregator = SegmentedAggregator(["x", "y"])
    lists = Profile.from_orders([["a", "b"], ["c", "a"], []], items=ITEMS)
    assert aggregator.fit(lists, segments=["x", "y", "x"]).ranks_.shape == (2, 3)
    for form in ("ratings", "comparisons"):
        with pytest.raises(ValueError, match=r"Profile\.from_orders"):
            aggregator.fit(FORMS[form], segments=["x", "y"])


@pytest.mark.parametrize("form", FORMS)
def test_private_scores_state_the_unit_of_long_data(form):
    assert PrivateKendallTau(epsilon=1.0).guarantee_for(FORMS[form]).unit == FORMS[form].bound.unit
