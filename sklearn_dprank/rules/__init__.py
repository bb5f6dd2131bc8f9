"""Rules, which turn the answers of a release into a consensus and never read ballots."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .._utils.checks import Check, check_made, safe_repr
from .._utils.types import RuleName
from .base import Consensus, Rule, SortByScore, TopListRule
from .bradley_terry import AdaptiveBradleyTerryRule, BradleyTerryRule, MarkovChainRule
from .choose import Choose, ChooseNearAnchor, ChooseOneByOne, ChooseTop
from .comparisons import NewtonBradleyTerryRule
from .pairwise import HierarchicalRule, InstantRunoffRule, KemenyRule, KwikSortRule
from .swiss import SwissRule

__all__ = [
    "RULE",
    "AdaptiveBradleyTerryRule",
    "BradleyTerryRule",
    "Choose",
    "ChooseNearAnchor",
    "ChooseOneByOne",
    "ChooseTop",
    "Consensus",
    "HierarchicalRule",
    "InstantRunoffRule",
    "KemenyRule",
    "KwikSortRule",
    "MarkovChainRule",
    "NewtonBradleyTerryRule",
    "Rule",
    "SortByScore",
    "SwissRule",
    "TopListRule",
    "resolve_rule",
]

_NAMED: dict[str, Callable[[], Rule]] = {
    "borda": SortByScore,
    "plurality": partial(SortByScore, "plurality"),
    "veto": partial(SortByScore, "veto"),
    "instant_runoff": InstantRunoffRule,
    "kemeny": KemenyRule,
    "kwiksort": KwikSortRule,
    "hierarchical": HierarchicalRule,
    "bradley_terry": BradleyTerryRule,
    "markov_chain": MarkovChainRule,
}
_ESTIMATORS = {
    "Borda": '"borda"',
    "PositionalRule": "SortByScore(scores=...)",
    "Kemeny": '"kemeny"',
    "KwikSort": '"kwiksort"',
    "HierarchicalAggregation": '"hierarchical"',
    "BradleyTerry": '"bradley_terry"',
}


def resolve_rule(rule: RuleName | Rule | None, default: Rule) -> Rule:
    """Return the rule that a `rule` parameter stands for.

    Parameters
    ----------
    rule : None, str or Rule
        None stands for `default`, a name for a rule with its default parameters.
    default : Rule
        Rule that None stands for.

    Returns
    -------
    Rule
        The rule.

    Raises
    ------
    ValueError
        If the name is unknown, or `rule` is not a rule. For an estimator, the message contains the name to use.
    """
    if rule is None:
        return default
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str) and rule in _NAMED:
        return _NAMED[rule]()
    if isinstance(rule, type) and issubclass(rule, Rule):
        check_made(rule, "rule", "Rule")
    if hasattr(rule, "fit") or isinstance(rule, type):
        name = rule.__name__ if isinstance(rule, type) else type(rule).__name__
        instead = _ESTIMATORS.get(name, f"one of {sorted(_NAMED)}")
        raise ValueError(f"rule must be a rule, got the estimator {name}; use rule={instead}.")
    raise ValueError(f"rule must be None, one of {sorted(_NAMED)} or a Rule object, got {safe_repr(rule)}.")


def _check_rule(rule, name):
    resolve_rule(rule, SortByScore())


#: Check of the `rule` parameter of estimators.
RULE: dict[str, Check] = {"rule": _check_rule}
