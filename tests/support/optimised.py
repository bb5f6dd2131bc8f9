"""Checks under ``python -O``, which removes all assert statements, also those of tests.

``python -O -W error -bb -X dev tests/support/optimised.py`` runs the examples of every docstring, fits every estimator
and tries invalid calls. It prints failures and exits with 1 if there are any.
"""

import doctest
import importlib
import json
import math
import os
import pkgutil
import sys
import tempfile

import numpy as np

import sklearn_dprank
from sklearn_dprank import (
    Aggregator,
    DPBorda,
    LDPPairwise,
    LDPQuickSort,
    SecAggBorda,
    SecAggSwissBorda,
    ShufflePairwise,
)
from sklearn_dprank.channels import Answers, Central
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.cli import main
from sklearn_dprank.collection import AggregationServer, Device
from sklearn_dprank.model_selection import GridSearchCV, PrivateSelection
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee
from sklearn_dprank.queries import Ask, GroupNetWins, Histogram, NetWins, PairMargin, PairTallies
from sklearn_dprank.rules import Consensus, Rule

X = np.tile([[2, 0, 1, 3]], (400, 1))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
REFUSED = (ValueError, TypeError, BudgetExhausted)


def modules():
    """Every module of the package but the one that runs when it is imported."""
    for found in pkgutil.walk_packages(sklearn_dprank.__path__, "sklearn_dprank."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def examples():
    """Run the examples of every docstring; return (failed, run)."""
    results = [doctest.testmod(module, optionflags=FLAGS) for module in modules()]
    return sum(each.failed for each in results), sum(each.attempted for each in results)


def estimators():
    public = [getattr(sklearn_dprank, name) for name in sklearn_dprank.__all__]
    return [cls() for cls in public if isinstance(cls, type) and issubclass(cls, RankAggregator)]


def fits():
    """Yield what is wrong with the fits of all estimators."""
    for estimator in estimators():
        if "epsilon" in estimator.get_params():
            estimator.set_params(epsilon=20.0)
        fitted = estimator.fit(X)
        if fitted.consensus_[0] != 1 or math.isfinite(fitted.privacy_.epsilon) != hasattr(estimator, "epsilon"):
            yield f"{estimator} publishes {fitted.consensus_} under {fitted.privacy_}"


class Sly(Rule):
    """Declares one question, and asks another that one ballot moves further."""

    def asks(self, n_items):
        return [Ask(PairMargin())]

    def aggregate(self, session):
        return Consensus(np.argsort(-session.answer(NetWins())))


def twice(budget, release):
    budget.fit(release, X)
    budget.fit(release, X)


def answered(device, ballots):
    return [device.report(ballot) for ballot in ballots]


def charged(times):
    answers = Answers(3, None, {NetWins(): 1})
    for _ in range(times):
        answers.charge(NetWins())


def server_of(n_voters, release):
    """Return a server with so many reports, after asking it for sums over these numbers of voters."""
    curator = SecAggBorda(epsilon=2.0, min_reports=20)
    server = AggregationServer(curator.protocol(4), 0)
    try:
        server.receive(curator.client(4).report([0, 1, 2, 3])[0] for _ in range(n_voters))
        voters = server.reports()
        return [server.release(voters[:size]) for size in release]
    finally:
        server.close()


def refusals():
    """Yield (name, what must be refused): every guard on which a printed guarantee rests."""
    for estimator in estimators():
        for name, bad in [("epsilon", -1.0), ("delta", 1.0), ("neighboring", "none"), ("random_state", -1)]:
            if name in estimator.get_params():
                wrong = type(estimator)(**{name: bad})
                yield f"{type(estimator).__name__}({name}={bad})", lambda wrong=wrong: wrong.fit(X)
    for noise in ("laplace", "knorm"):
        yield f"{noise} with delta", lambda noise=noise: DPBorda(noise=noise, delta=1e-6).fit(X)
    yield "Gaussian without delta", lambda: DPBorda(noise="gaussian").fit(X)
    yield "K-norm of a histogram", lambda: Central(noise="knorm", release=Histogram()).plan([], 4)
    yield "more charges than declared", lambda: charged(2)
    yield "a charge that was not declared", lambda: Answers(3, None).charge(NetWins())
    yield "a budget spent twice", lambda: twice(PrivacyBudget(1.0), DPBorda(0.75))
    yield "a seed and a budget", lambda: PrivacyBudget(1.0).fit(DPBorda(0.5, random_state=0), X)
    yield "an exact release and a budget", lambda: PrivacyBudget(1.0).fit(sklearn_dprank.Borda(), X)
    yield "other neighbours", lambda: PrivacyBudget(9.0).charge(LDPPairwise().fit(X).privacy_, "x")
    yield "a guarantee below 0", lambda: PrivacyGuarantee(-1.0, 0.0, "central", "replace", "x")
    yield "overlapping groups", lambda: GroupNetWins(((0, 1), (1, 2)))
    yield "rows of four as pairs", lambda: PairTallies(((0, 1, 2, 3),))
    yield "too few voters for a shuffle", lambda: ShufflePairwise(min_reports=401).fit(X)
    yield "a promise without voters", lambda: ShufflePairwise().protocol(4)
    yield "no report", lambda: LDPPairwise().fit_reports([], items=4)
    yield "infinite positions", lambda: DPBorda().fit([[0, math.inf]])
    yield "too many items in a table", lambda: sklearn_dprank.DPKemenySampler().fit(np.zeros((3, 26)))
    yield "unknown noise", lambda: DPBorda(noise="?").fit(X)
    yield "no trial", lambda: GridSearchCV(DPBorda(), {"epsilon": [1.0]}, n_trials=0).fit(X)
    yield "a candidate that is not private", lambda: PrivateSelection(sklearn_dprank.Borda(), score_epsilon=1.0).fit(X)
    protocol = LDPPairwise(epsilon=1.0).protocol(4)
    yield "a second ballot", lambda: answered(Device(protocol), [[0, 1, 2, 3], [3, 2, 1, 0]])
    yield "more than the owner allows", lambda: Device(protocol, max_epsilon=0.5)
    yield "less than is spent", lambda: Device({**protocol, "epsilon": "0.9"})
    yield "a certain answer", lambda: Device({**protocol, "flip": [0, 2**52]})
    question = {"protocol": "0" * 16, "question": 1, "kind": "each", "pairs": [[0, 1]]}
    yield "a foreign question", lambda: LDPQuickSort().client(4).answer(question, [0, 1, 2, 3])
    yield "a sum of too few", lambda: server_of(19, [19])
    yield "two sums", lambda: server_of(22, [21, 22])
    yield "a protocol of few", lambda: SecAggSwissBorda(min_reports=0).protocol(4)
    yield "a query in place of another", lambda: Aggregator(Central(), Sly()).fit(X)


def main_command():
    """Return the exit status of the command on a file, and of one that it must refuse."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "votes.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write("tea,milk\n" + "1,2\n" * 50)
        return main(["rank", path, "--positions", "--epsilon", "50"]), main(["rank", path, "--epsilon", "50"])


def run():
    """Return what went wrong."""
    wrong = [f"{failed} of {run} examples failed" for failed, run in [examples()] if failed or run < 500]
    wrong += fits()
    tried = 0
    for name, attempt in refusals():
        tried += 1
        try:
            attempt()
        except REFUSED:
            continue
        wrong.append(f"not refused: {name}")
    if main_command() != (0, 2):
        wrong.append("the command's exit statuses")
    print(json.dumps({"asserts": __debug__, "refusals": tried, "wrong": wrong}))
    return wrong


if __name__ == "__main__":
    sys.exit(bool(run()))
