"""Clients for tests: exact distributions of their reports, and remote clients that exchange JSON."""

import json
from collections import Counter
from itertools import combinations
from unittest.mock import patch

import numpy as np
from audit_tools import ScriptedCoins, outcomes
from scipy.stats import chi2_contingency

from sklearn_dprank.channels import balanced_design
from sklearn_dprank.collection import Device, hypercube
from sklearn_dprank.collection.base import joined, simulated
from sklearn_dprank.collection.protocol import FLIP_GRID, digest
from sklearn_dprank.collection.randomizers import client_randomizer
from sklearn_dprank.sampling.bit_source import Bits

# --- exact laws


class _Branching(ScriptedCoins):
    """Every draw is a branch: words by their order, flips on either side of what they are compared with."""

    def __init__(self, branch, flip):
        super().__init__(branch)
        self._flip = flip

    def integers(self, bound, size):
        if np.ndim(bound) or bound <= 64:
            return super().integers(bound, size)
        if bound == hypercube.LEAD:
            return np.zeros(size, dtype=np.int64)  # `WeightedLaw.pick` is branched instead
        assert bound == FLIP_GRID
        sides = np.array([self._flip, FLIP_GRID - self._flip]) / FLIP_GRID
        return np.array([(self._flip - 1, self._flip)[self._branch(sides)] for _ in range(size)], dtype=np.int64)

    def trials(self, numerator, size):
        sides = np.array([FLIP_GRID - numerator, numerator]) / FLIP_GRID
        return np.array([self._branch(sides) for _ in range(size)], dtype=bool)

    def words(self, size):
        return self.permutation(size).astype(np.uint64) << np.uint64(48)


class _Still:
    """Coins that must not matter."""

    def coins(self, size):
        return np.zeros(size, dtype=bool)

    def permutations(self, rows, n):
        return np.tile(np.arange(n), (rows, 1))


def law_of(run, flip=None, coins=True):
    """Return the law of the results of ``run()``, as {JSON text: probability}.

    Parameters
    ----------
    run : callable
        Must draw all its randomness from `Bits.from_random_state`.
    flip : int or None
        Numerator of the flip probability of an answer, over 2^52.
    coins : bool
        False where coins cannot matter (strict rankings): they are all 0 then.
    """
    current = {}

    def picked(law, leads, bits):
        weights = np.diff([0, *law._steps, law._total])
        return np.array([current["branch"]((weights / law._total).astype(float)) for _ in leads], dtype=np.int64)

    def opened(random_state=None):
        bits = _Branching(current["branch"], flip)
        return Bits(bits, bits if coins else _Still(), bits, True)

    def one(branch):
        current["branch"] = branch
        return json.dumps(run(), sort_keys=True)

    def chosen(sizes, n, bits):
        rows = np.zeros((len(sizes), n), dtype=bool)
        for row, size in zip(rows, sizes, strict=True):
            subsets = list(combinations(range(n), size))
            row[list(subsets[bits.integer(len(subsets))])] = True
        return rows

    law = Counter()
    with (
        patch.object(Bits, "from_random_state", staticmethod(opened)),
        patch.object(hypercube.WeightedLaw, "pick", picked),
        patch.object(hypercube, "_subsets", chosen),
    ):
        for probability, result in outcomes(one):
            law[result] += probability
    return dict(law)


def worst_ratio(laws):
    """The largest log ratio of any two of these laws, over all outputs; infinite where one alone is possible."""
    table = np.array([[law.get(output, 0.0) for law in laws] for output in set().union(*laws)])
    return float(np.log(table.max(axis=1) / table.min(axis=1)).max()) if table.all() else np.inf


def report_of(protocol, positions, bits):
    """What a device reports of one ballot with these bits."""
    client = client_randomizer(protocol)
    return {"protocol": digest(protocol), **client.message(client.draw(protocol, positions, bits))}


# --- what a curator makes of them


def simulated_answer(randomizer, protocol, ballots, bits):
    """The estimate from what the devices of these ballots draw side by side."""
    blocks = list(simulated(randomizer.client, protocol, ballots, bits))
    counts = sum(randomizer.counts(drawn, protocol) for drawn, _ in blocks)
    return randomizer.estimate(counts, sum(n for _, n in blocks), protocol)


def parts(drawn):
    """The arrays of what a device draws."""
    return drawn if isinstance(drawn, tuple) else (drawn,)


def answer_from(randomizer, protocol, reports):
    """The estimate from reports that came one by one."""
    draws = [randomizer.read(report, protocol) for report in reports]
    return randomizer.estimate(randomizer.counts(joined(draws), protocol), len(draws), protocol)


# --- a field of devices


class Field:
    """Voters' devices elsewhere: questions go out and answers come back as text."""

    def __init__(self, protocol, ballots, seed):
        protocol = json.loads(json.dumps(protocol))
        seeds = np.random.default_rng(seed).integers(2**32, size=len(ballots))
        self.devices = [Device(protocol, random_state=int(s)) for s in seeds]
        self.ballots = ballots
        self.asked = []

    def __call__(self, question):
        question = json.loads(json.dumps(question))
        self.asked.append(question)
        for voter in reversed(question["voters"]):  # in any order
            yield json.dumps(self.devices[voter].answer(question, self.ballots[voter]))


def reports_of(estimator, ballots, seed, items=None):
    """One report of each voter, as JSON lines, from devices that know the protocol only."""
    protocol = estimator.protocol(len(ballots[0]) if items is None else items)
    seeds = np.random.default_rng(seed).integers(2**32, size=len(ballots))
    return [
        json.dumps(Device(protocol, random_state=int(s)).report(ballot))
        for s, ballot in zip(seeds, ballots, strict=True)
    ]


def apart(submission):
    """The messages of a submission, as a shuffler releases them."""
    return [{"protocol": submission["protocol"], **message} for message in submission["messages"]]


def messages_of(protocol, ballots, seed):
    """All messages of these voters as JSON lines, in a random order; assigned pairs are those of a balanced design."""
    rng, n = np.random.default_rng(seed), len(ballots)
    assignment = Bits.from_random_state(seed).assignment
    design = balanced_design(n, len(protocol["items"]), protocol["n_queries"], assignment).tolist()
    lines = []
    for s, ballot, pairs in zip(rng.integers(2**32, size=n), ballots, design, strict=True):
        device = Device(protocol, random_state=int(s))
        lines += map(json.dumps, apart(device.report(ballot, pairs if protocol["pairs"] == "assigned" else None)))
    rng.shuffle(lines)
    return lines


def same_law(first, second):
    """p-value of two samples (of anything hashable) having one law, by chi-square; rare values are pooled."""
    counts = np.array([[Counter(s)[value] for value in set(first) | set(second)] for s in (first, second)])
    rare = counts.sum(axis=0) < 16
    table = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return chi2_contingency(table, correction=False).pvalue if table.shape[1] > 1 else 1.0
