"""One fact, one wording: what several estimators share, their docstrings state in the same words."""

import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from pathlib import Path

import pytest
from docstring_tools import entries

import sklearn_dprank
from sklearn_dprank.channels import central, composed, local, secure_aggregation, segmented, shuffle, streaming
from sklearn_dprank.channels import central as central_borda
from sklearn_dprank.channels import central as central_orders
from sklearn_dprank.channels import central as prudent
from sklearn_dprank.channels import central as swiss
from sklearn_dprank.channels import exact as classic
from sklearn_dprank.channels import interactive as local_interactive
from sklearn_dprank.channels import local as local_borda
from sklearn_dprank.channels.base import RankAggregator

ESTIMATORS = [getattr(sklearn_dprank, name) for name in sklearn_dprank.__all__]
# What each class does with it is the class's own.
OWN = {"n_queries", "noise", "optimal_gap_", "randomizer", "rule", "scores_"}
# Facts of a trust model, for example whose epsilon it is.
BY_TRUST = {"epsilon", "delta", "local_epsilon_", "margins_", "reports_accepted_"}
TRUST = {
    central.__name__: "central",
    central_borda.__name__: "central",
    central_orders.__name__: "central",
    prudent.__name__: "central",
    swiss.__name__: "central",
    local.__name__: "local",
    local_borda.__name__: "local",
    local_interactive.__name__: "local",
    shuffle.__name__: "shuffle",
    secure_aggregation.__name__: "secure_aggregation",
    segmented.__name__: "central",
    streaming.__name__: "stream",
    composed.__name__: "any",
}
# Another fact of the same name, and why.
APART = {
    **{(cls, "privacy_"): "it promises nothing" for cls in ESTIMATORS if cls.__module__ == classic.__name__},
    (sklearn_dprank.DPTopK, "consensus_"): "it has the best few only",
    (sklearn_dprank.DPTopK, "ranks_"): "all others are tied",
    (sklearn_dprank.DPHistogram, "noise_"): "rank_intervals does not use it",
    (sklearn_dprank.KwikSort, "random_state"): "nothing is private, so that a seed gives nothing away",
    (sklearn_dprank.LDPPairwise, "pairs"): "no shuffler hides them",
    (sklearn_dprank.DPSwissBorda, "delta"): "all of its noise is Gaussian",
    (sklearn_dprank.DPPrudentOrder, "delta"): "it decides how the order is drawn",
    (sklearn_dprank.DPSwissBorda, "scores_"): "they are decoded strengths",
    (sklearn_dprank.Aggregator, "scores_"): "they are those of any rule",
    **{
        (sklearn_dprank.SegmentedAggregator, name): "of every segment"
        for name in ("epsilon", "neighboring", "delta", "consensus_", "ranks_", "privacy_", "scores_", "noise_")
    },
}


def wordings():
    """Return {(name, trust model or ""): {estimator: words}} of what is one fact in several estimators."""
    found = defaultdict(dict)
    for cls in ESTIMATORS:
        for section in ("Parameters", "Attributes"):
            for name, words in entries(cls.__doc__, section).items():
                if name not in OWN and (cls, name) not in APART:
                    found[name, TRUST[cls.__module__] if name in BY_TRUST else ""][cls.__name__] = words
    return {fact: said for fact, said in found.items() if len(said) > 1}


def test_the_facts_that_readers_meet_everywhere_are_compared():
    names = {name for name, _ in wordings()}
    assert names >= {"privacy_", "random_state", "consensus_", "ranks_", "n_features_in_", "feature_names_in_"}
    assert names >= {"neighboring", "epsilon", "delta", "reports_accepted_", "reports_refused_", "min_reports"}
    assert len(wordings()["consensus_", ""]) == len(ESTIMATORS) - 2  # but for `DPTopK` and `SegmentedAggregator`


@pytest.mark.parametrize("fact", wordings(), ids=lambda fact: " ".join(fact).strip())
def test_one_wording(fact):
    said = wordings()[fact]
    first = next(iter(said))
    for cls, words in said.items():
        assert words == said[first], f"{cls} and {first} word it differently"


@pytest.mark.parametrize("cls", sorted({cls for cls, _ in APART}, key=lambda cls: cls.__name__))
def test_what_is_apart_is_another_fact(cls):
    for name in [name for apart, name in APART if apart is cls]:
        words = [said for section in ("Parameters", "Attributes") for said in [entries(cls.__doc__, section).get(name)]]
        assert any(words)
        common = {said for (other, _), all_said in wordings().items() if other == name for said in all_said.values()}
        assert common.isdisjoint(words), f"{cls.__name__}: {name} needs no exception"


def test_what_may_be_published_has_its_home():
    guide = Path(__file__).parents[2] / "docs" / "user_guide" / "publishing.rst"
    assert ".. _may-be-published:" in guide.read_text(encoding="utf-8")


def test_privacy_of_a_part_refers_to_the_whole():
    """scikit-learn tells no estimator that it is a step of a pipeline, or that a search chose its parameters."""
    seen = 0
    for name in sklearn_dprank.__all__:
        text = inspect.getdoc(getattr(sklearn_dprank, name)) or ""  # without indents, which Python 3.13 strips
        if "\nprivacy_ : PrivacyGuarantee" in text:
            stated = " ".join(text.split("privacy_ : PrivacyGuarantee")[1].split()[:40])
            seen += 1
            assert stated.startswith("Not private.") or "privacy.guarantee_of`" in stated, name
    assert seen > 20


def test_the_base_class_describes_what_all_estimators_share():
    full = entries(RankAggregator.__doc__, "Attributes")
    assert full.keys() == {"consensus_", "ranks_", "privacy_", "n_features_in_", "feature_names_in_"}
    assert "earlier steps of a pipeline" in full["privacy_"]
    assert "privacy.guarantee_of` does" in full["privacy_"]


def public_callables():
    """Every public class and function of the modules that state what is public, with its public methods."""
    modules = [
        importlib.import_module(info.name) for info in pkgutil.walk_packages(sklearn_dprank.__path__, "sklearn_dprank.")
    ]
    for module in modules:
        for name in getattr(module, "__all__", ()):
            part = getattr(module, name)
            if inspect.isclass(part) and part.__module__.startswith("sklearn_dprank"):
                yield f"{module.__name__}.{name}", part
                yield from (
                    (f"{module.__name__}.{name}.{method}", function)
                    for method, function in vars(part).items()
                    if inspect.isfunction(function) and not method.startswith("_")
                )
            elif inspect.isfunction(part):
                yield f"{module.__name__}.{name}", part


def test_signatures_show_short_type_names():
    """As `help()` and notebooks print them: names of types and aliases, and not what these stand for."""
    shown = {}
    for name, part in public_callables():
        try:
            shown[name] = str(inspect.signature(part))
        except ValueError:  # exceptions without a constructor of their own
            continue
    assert len(shown) > 300
    unfolded = {name: text for name, text in shown.items() if re.search(r"numpy\.|typing\.|fractions\.", text)}
    assert not unfolded
