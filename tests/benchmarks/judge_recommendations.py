"""
Validating recommend on real votes
==================================

``recommend`` in ``sklearn_dprank.model_selection`` uses error curves of simulated votes. This script validates its
recommendations on real votes that the curves were not made from. It reads the folder SKLEARN_DPRANK_DATA (PrefLib's
files, and JESTER's ratings as a table). It prints how often the recommended estimator has hardly more error than the
best candidate, and how often its error is in the stated range. Both are counted without an estimate of how much voters
disagree, and with an estimate that is rounded to the nearest 0.05. All data sets take a few minutes of processor
time. On a busy machine, that took over 15 minutes. A progress bar appears if tqdm is installed
(``pip install "sklearn-dprank[progress]"``). From a shell::

    SKLEARN_DPRANK_DATA=folder python tests/benchmarks/judge_recommendations.py            # all data sets
    SKLEARN_DPRANK_DATA=folder python tests/benchmarks/judge_recommendations.py --jobs 4   # on four cores
    SKLEARN_DPRANK_DATA=folder python tests/benchmarks/judge_recommendations.py SUSHI "JESTER 15"
    python tests/benchmarks/judge_recommendations.py --held-out    # simulated electorates: a quarter of an hour

With ``--held-out``, curves are simulated without one kind of electorates at a time, and judged on it.
"""

import argparse
import math
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import simulate_recommendations as script
from _electorates import CAMPS, KINDS, LEVELS, Electorate, electorates, fits
from joblib import Parallel, delayed

from sklearn_dprank._utils.lazy import progress_bar
from sklearn_dprank.datasets import read_preflib
from sklearn_dprank.model_selection import advice as rules, recommend
from sklearn_dprank.model_selection.advice import RESOLUTION, RESOLUTION_OF_BEST, Curves
from sklearn_dprank.preprocessing import RatingsToRankings

# Files, or the number of JESTER's first items. A ballot that lists only some candidates puts them first, except in the
# data set "with gaps", where it has no opinion on the others.
FILES = {
    **{f"dots {i}": f"00024-0000000{i}.soc" for i in (1, 2, 3, 4)},
    **{f"puzzles {i}": f"00025-0000000{i}.soc" for i in (1, 2, 3, 4)},
    "Vermont": "00031-00000002.toc",
    "Dublin": "00001-00000002.soi",
    "Dublin with gaps": "00001-00000002.soi",
    "SUSHI": "sushi.soc",
    **{f"JESTER {m}": m for m in (7, 12, 15, 25, 40, 70, 100)},
}
#: A recommendation is right if its error is at most this much above that of the best candidate, in relative or absolute
#: terms.
TOLERANCE, TOLERANCE_OF_BEST = (0.25, 0.001), (0.25, 0.02)


class Verdict(NamedTuple):
    """One recommendation for one data set: its measured error, that of the best candidate, and the stated errors."""

    estimator: str
    found: float
    best: str
    least: float
    error: float
    error_range: tuple[float, float]
    noise: float

    def right(self, tolerance=TOLERANCE):
        relative, absolute = tolerance
        return self.found <= max(self.least * (1 + relative), self.least + absolute) + 2 * self.noise

    def in_range(self):
        low, high = self.error_range
        return low - 2 * self.noise <= self.found <= high + 2 * self.noise

    def far_off(self, slack=0.0005):
        """Return whether the error is outside twice the range, without regard to the noise of the fits."""
        low, high = self.error_range
        return self.found < low / 2 - slack or self.found > 2 * high + slack


def folder():
    return Path(os.environ.get("SKLEARN_DPRANK_DATA") or os.devnull)


def electorate(name):
    """Return the data set with this name, or None if the file is missing."""
    source = FILES[name]
    path = folder() / (source if isinstance(source, str) else "jester100.csv.gz")
    if not path.is_file():
        return None
    if isinstance(source, str):
        gaps = name.endswith("with gaps")
        return Electorate(read_preflib(path, unranked="no_opinion" if gaps else "last").profile, gaps)
    ratings = np.loadtxt(path, delimiter=",", skiprows=1)[:, :source]
    return Electorate(RatingsToRankings().fit_transform(ratings))


def disagreement(votes):
    """Return the share of the pairs on which voters contradict the Kemeny optimum; ties count half."""
    return (1 - votes.excess(-votes.best[None])[0]) / 2


def guess_of(votes):
    """Return a rough estimate of the disagreement, rounded to the nearest 0.05 and between 0.05 and 0.45."""
    return min(max(round(20 * disagreement(votes)) / 20, 0.05), 0.45)


def shares_of(votes):
    """Return rough estimates of the smallest and the largest share of opinions, rounded to the nearest 0.05."""
    return tuple(max(round(20 * share) / 20, 0.05) for share in votes.opinion_share)


def judged(votes, epsilon, delta=0.0, trust="central", n_trials=30, *, k=None, guess=None, known=None, others=()):
    """Return the verdict on one recommendation, also compared with `others`; `known` caches the positions of fits."""
    rough = {"disagreement": guess, "opinion_share": shares_of(votes)}
    advice = recommend(votes.n_items, votes.n_voters, epsilon, delta, trust, k=k, **rough)
    known, errors = {} if known is None else known, []
    estimators = [advice.estimator, *(each.estimator for each in advice.alternatives), *others]
    for each in estimators:
        if repr(each) not in known:
            known[repr(each)] = fits(each, votes, n_trials, seed=1)
        ranks = known[repr(each)]
        errors.append(votes.excess(ranks) if k is None else votes.missed(ranks, k))
    resolution = RESOLUTION if k is None else RESOLUTION_OF_BEST  # smaller errors are not distinguished
    means = [max(float(each.mean()), resolution) for each in errors]
    best = int(np.argmin(means))
    names = [repr(each) for each in estimators]
    noise = math.hypot(*(errors[each].std(ddof=1) / math.sqrt(n_trials) for each in (0, best)), resolution / 2)
    return Verdict(names[0], means[0], names[best], means[best], advice.error, advice.error_range, noise)


def settings(votes):
    """Yield the settings (epsilon, delta, trust, k), which depend on n and m."""
    m, n = votes.n_items, votes.n_voters
    for signal in (0.5, 1, 2, 4, 8, 16, 32):
        for delta in (0.0, 1e-6):
            yield signal * math.lgamma(m + 1) / n, delta, "central", None
    for k in sorted({1, min(3, m - 1), m // 2}):
        for signal in (1, 4, 16):
            yield signal * math.log(math.perm(m, k)) / n, 0.0, "central", k
    yield from ((epsilon, 0.0, "local", None) for epsilon in (0.5, 1.0, 2.0, 4.0))
    yield from ((epsilon, 1e-6, "shuffle", None) for epsilon in (0.1, 0.3, 1.0))
    yield from ((epsilon, 1e-6, "secure_aggregation", None) for epsilon in (0.03, 0.1, 0.3, 1.0))


def judge(names=tuple(FILES), n_trials=30, chosen=lambda *setting: True, *, n_jobs=1, progress=False):
    """Return {(name, epsilon, delta, trust, k): (verdict without an estimate, verdict with one)}."""
    found = {name: votes for name in names if (votes := electorate(name)) is not None}
    picks = [(name, setting) for name, votes in found.items() for setting in settings(votes) if chosen(*setting)]
    tasks = (delayed(judged_twice)(found[name], setting, n_trials) for name, setting in picks)
    with progress_bar(len(picks), progress, unit="pick") as advance:
        verdicts = []
        for each in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
            verdicts.append(each)
            advance(1)
    return {(name, *setting): each for (name, setting), each in zip(picks, verdicts, strict=True)}


def judged_twice(votes, setting, n_trials):
    """Return the verdicts on one setting without an estimate of the disagreement, and with one."""
    *public, k = setting
    known = {}
    return tuple(judged(votes, *public, n_trials, k=k, guess=guess, known=known) for guess in (None, guess_of(votes)))


def report(found, title):
    """Print the share of right recommendations, the share of errors in the stated range, and the width of ranges."""
    for place, guess in enumerate(("no guess", "a rough guess")):
        verdicts = [(key, both[place]) for key, both in found.items()]
        right = [each.right(TOLERANCE if key[4] is None else TOLERANCE_OF_BEST) for key, each in verdicts]
        within = [each.in_range() for _, each in verdicts]
        wide = np.median([each.error_range[1] / each.error_range[0] for _, each in verdicts])
        print(
            f"{title:28} {guess:14} {len(right):4} picks, right {100 * np.mean(right):3.0f} %, "
            f"error in range {100 * np.mean(within):3.0f} %, largest over least {wide:.3g}"
        )


# %%
# Electorates of kinds that the curves were not made from.


def spatial(n_voters, n_items, disagreement, rng):
    """Return votes by distance in the plane, with noise; the nearer the items, the larger is the disagreement."""
    voters = rng.standard_normal((n_voters, 1, 2))
    items = rng.standard_normal((n_items, 2)) + rng.standard_normal(2) * (0.5 - disagreement) * 6
    distances = ((voters - items) ** 2).sum(axis=2) + 0.5 * rng.gumbel(size=(n_voters, n_items))
    return distances.argsort(axis=1).argsort(axis=1)


def camps_where(**wanted):
    return tuple(kind for kind in CAMPS if wanted.items() <= kind.keywords.items())


HELD_OUT = {
    **{name: (kind,) for name, kind in zip(("Mallows", "Plackett-Luce", "a minority"), KINDS, strict=True)},
    "spatial": (spatial,),
    **{f"{n_camps} camps": camps_where(n_camps=n_camps) for n_camps in (3, 4, 5)},
    "random centres": camps_where(cyclic=False),
    "rotated centres": camps_where(cyclic=True),
    "unequal camps": camps_where(equal=False),
}
SIZES = (5, 10, 16)


@cache
def curves_of(kinds):
    """Return the curves of the central model, simulated on electorates of these kinds."""
    found = script.all_curves(("knorm", "gaussian", "prudent", "peeled", "swiss", "margins"), SIZES, 3, kinds)
    return {family: rules.read(each) for family, each in found.items()}


@cache
def simulated_camps():
    return {n_items: script.of_camps(n_items) for n_items in SIZES}


def curves_without(kinds):
    """Return the curves of the central model, simulated without electorates of these kinds."""
    others = tuple(kind for kind in KINDS if kind not in kinds)
    families = rules.curves().families if others == KINDS else curves_of(others)
    found = script.camp_curves(simulated_camps(), [kind for kind in CAMPS if kind not in kinds])
    camps = {family: rules.read(each) for family, each in found.items()}
    return Curves(list(LEVELS), families, list(script.CAMP_LEVELS), camps)


def judge_held_out(name, n_trials=10):
    """Return the verdicts on 420 to 504 recommendations for electorates of a kind, without its curves."""
    kinds, verdicts = HELD_OUT[name], []
    camps = set(kinds) <= set(CAMPS)
    made = curves_without(kinds)
    with patch.object(rules, "curves", lambda: made):
        for n_items in SIZES:
            for level in (0.31, 0.36, 0.44) if camps else (0.12, 0.2, 0.28, 0.35, 0.42):
                for votes in electorates(n_items, level, 1 if camps else 2, seed=100, kinds=kinds):
                    known = {}
                    for signal in (0.5, 1, 2, 4, 8, 32, 128):
                        epsilon = signal * math.lgamma(n_items + 1) / votes.n_voters
                        for delta in (0.0, 1e-6):
                            rough = {"guess": guess_of(votes), "known": known}
                            verdicts.append(judged(votes, epsilon, delta, n_trials=n_trials, **rough))
    return verdicts


def report_held_out(name):
    """Print how many errors are far outside the range, and the median regret against the best candidate."""
    verdicts = judge_held_out(name)
    regret = np.median([each.found - each.least for each in verdicts])
    wide = np.median([each.error_range[1] / each.error_range[0] for each in verdicts])
    print(
        f"{name:16} {len(verdicts)} recommendations, outside twice the range "
        f"{100 * np.mean([each.far_off() for each in verdicts]):.1f} %, in range "
        f"{100 * np.mean([each.in_range() for each in verdicts]):.0f} %, largest over least {wide:.3g}, "
        f"median regret {100 * regret:.2f} points",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="data sets; all by default", metavar="name")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--held-out", action="store_true", help="judge on kinds of simulated electorates instead")
    options = parser.parse_args()
    if options.held_out:
        for name in HELD_OUT:
            report_held_out(name)
        return
    if unknown := [name for name in options.names if name not in FILES]:
        parser.error(f"data sets must be among {list(FILES)}, got {unknown}")
    if not folder().is_dir():
        print("SKLEARN_DPRANK_DATA names no folder of votes: nothing to judge by.")
        return
    found = judge(options.names or tuple(FILES), n_jobs=options.jobs, progress=True)
    for title, kind in {
        "central": lambda key: key[3] == "central" and key[4] is None,
        "central, the best k": lambda key: key[4] is not None,
        **{trust: lambda key, trust=trust: key[3] == trust for trust in ("local", "shuffle", "secure_aggregation")},
    }.items():
        if some := {key: both for key, both in found.items() if kind(key)}:
            report(some, title)


if __name__ == "__main__":
    main()
