"""``dprank recommend``: recommend an estimator from public numbers only."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..model_selection import recommend
from .layout import Several
from .printing import A_POINT, as_table, own_words
from .ranking import options_of


def add_arguments(added: argparse.ArgumentParser) -> None:
    """Add the options of ``recommend``."""
    add = added.add_argument
    add("--items", type=int, required=True, help="number of items")
    add("--voters", type=float, required=True, help="public estimate of the number of voters")
    add("--epsilon", action=Several, one=float, required=True, help="privacy losses, with blanks or commas between")
    about = "needed for shuffle and secure_aggregation, such as 1e-6; default: 0, with --comparisons 1e-6, as in rank"
    add("--delta", type=float, help=about)
    about = "what is trusted: a curator (central, the default), servers, a shuffler, or only the voter's device"
    add("--trust", choices=["central", "secure_aggregation", "shuffle", "local"], default="central", help=about)
    add("--neighboring", choices=["add_remove", "replace"], help="hide whether somebody voted, or only how")
    add("--top", type=int, metavar="K", help="recommend for a ranking of the best K items only")
    add("--intervals", action="store_true", help="recommend only estimators that publish rank intervals")
    about = "public share of the ballots that prefer one item of a pair, or the least and largest share; default: 1"
    add("--opinion-share", action=Several, one=float, default=[1.0], help=about)
    about = "public bound on the number of items that a ballot lists, for --max-listed of rank"
    add("--max-listed", type=int, metavar="K", help=about)
    about = "mean number of comparisons of a person: recommend for --comparisons of rank, with --voters persons"
    add("--comparisons", type=float, metavar="K", help=about)
    about = "largest number of comparisons of an item, divided by the smallest; default: unknown"
    add("--exposure-ratio", type=float, metavar="R", help=about)
    add("--matched", type=float, metavar="SHARE", help="share of opponents who are matched by strength")
    add("--disagreement", type=float, help="public guess: the share of pairs on which voters contradict")


_A_POINT = "A point is one pair of items in a hundred in the wrong order. Kendall's tau is 1 - points / 50."
_PROFILE = 'Profile.from_comparisons(votes, "first", "second", outcome="winner", person="person", items=items)'
_LOG = ["--comparisons", "FIRST", "SECOND", "OUTCOME", "--person", "PERSON", "--items", "@FILE"]


def pasted(estimator: Any, options: argparse.Namespace) -> list[str] | None:
    """Return the options for which ``rank`` fits this estimator on such ballots, None if it cannot."""
    found = options_of(estimator)
    if found is not None and options.max_listed is not None:
        found += ["--max-listed", str(options.max_listed)]
    if found is not None and options.comparisons is not None:
        named = [] if "--estimator" in found else ["--estimator", type(estimator).__name__]
        found = [*_LOG, *found, *named]
    return found


def run(options: argparse.Namespace) -> str:
    """Return the recommendation for one epsilon, or a table for several."""
    shares = options.opinion_share
    if options.delta is None:
        options.delta = 0.0 if options.comparisons is None else 1e-6
    given = {
        name: getattr(options, name)
        for name in (
            "delta",
            "trust",
            "neighboring",
            "disagreement",
            "intervals",
            "max_listed",
            "exposure_ratio",
            "matched",
        )
    }
    given["comparisons_per_person"] = options.comparisons
    given |= {"k": options.top, "opinion_share": shares[0] if len(shares) == 1 else tuple(shares)}
    renamed = {"n_items": "items", "n_voters": "voters", "k": "top", "opinion_share": "opinion-share"}
    renamed |= {"max_listed": "max-listed", "exposure_ratio": "exposure-ratio", "comparisons_per_person": "comparisons"}
    with own_words(*given, "epsilon", **renamed):
        advised = {epsilon: recommend(options.items, options.voters, epsilon, **given) for epsilon in options.epsilon}
    if options.format == "json":
        made = []
        for advice in advised.values():
            best, *others = (
                {"estimator": repr(each.estimator), "error": each.error, "error_range": list(each.error_range)}
                for each in (advice, *advice.alternatives)
            )
            own = {
                "rank_options": pasted(advice.estimator, options),
                "intervals": advice.intervals,
                "reason": advice.reason,
            }
            made.append({**best, **own, "alternatives": others})
        return json.dumps(made[0] if len(options.epsilon) == 1 else made)
    missed = "% of the best missed" if options.top else "points of excess error"
    about = [] if options.top else [A_POINT]
    if options.comparisons is not None:
        missed, about = "points of error", [_A_POINT]
    if len(advised) > 1:
        rows = [["epsilon", "recommended", "intervals", missed, "from", "to"]]
        for epsilon, advice in advised.items():
            errors = [f"{100 * error:.2g}" for error in (advice.error, *advice.error_range)]
            rows.append([f"{epsilon:g}", repr(advice.estimator), "yes" if advice.intervals else "no", *errors])
        return "\n".join([as_table(rows), *about])
    (advice,) = advised.values()
    error, (least, largest) = 100 * advice.error, (100 * each for each in advice.error_range)
    expected = f"{error:.2g} {missed} to expect, {least:.2g} to {largest:.2g} depending on the voters."
    to_paste = pasted(advice.estimator, options)
    run_it = [] if to_paste is None else [f"Options for dprank rank: {' '.join(to_paste)}"]
    if options.comparisons is not None:
        run_it.insert(0, f"Fit: {advice.estimator!r}.fit({_PROFILE})")
    return "\n".join([repr(advice.estimator), expected, *about, advice.reason, *run_it])
