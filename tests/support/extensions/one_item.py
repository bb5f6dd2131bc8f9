"""A randomizer in one module: each voter reports whether one random item beats most others, flipped at random."""

import numpy as np

from sklearn_dprank.collection import (
    FLIP_GRID,
    Randomizer,
    RefusedReport,
    ReportRandomizer,
    flip_within,
    flips_cost,
    net_wins,
    refuse_unless,
)
from sklearn_dprank.queries import NetWins


class OneItemClient(ReportRandomizer):
    """The bit leans towards 1 as far as the item wins more than it loses, and is then flipped."""

    fields = ("flip",)

    def check(self, protocol):
        flip = protocol["flip"]
        refuse_unless(type(flip) is int and 1 <= flip <= FLIP_GRID // 2, "flip", "an integer from 1 to 2^51")

    def spent(self, protocol):
        return flips_cost(protocol["flip"])

    def block(self, protocol):
        return 1 << 16

    def draw(self, protocol, ballots, bits):
        wins = net_wins(ballots.table, ballots.sentinel)
        n_voters, m = wins.shape
        item = bits.assignment.integers(m, n_voters)  # before the ballot is looked at
        lean = wins[np.arange(n_voters), item]
        leaning = bits.coins.integers(2 * (m - 1), n_voters) < m - 1 + lean
        return item, leaning ^ (bits.noise.integers(FLIP_GRID, n_voters) < protocol["flip"])

    def message(self, drawn):
        item, answer = drawn
        return {"item": int(item[0]), "answer": int(answer[0])}


class OneItem(Randomizer):
    """Curator implementation."""

    name = "one-item"
    client = OneItemClient()
    releases = NetWins()

    def protocol(self, epsilon, items):
        return self.make_protocol(items, epsilon, flip=flip_within(repr(float(epsilon))))

    @staticmethod
    def read(report, protocol):
        if set(report) != {"protocol", "item", "answer"}:
            raise RefusedReport("wrong keys")
        item, answer = report["item"], report["answer"]
        if type(item) is not int or not 0 <= item < len(protocol["items"]):
            raise RefusedReport("item out of range")
        if type(answer) is not int or answer not in (0, 1):
            raise RefusedReport("answer out of range")
        return np.array([item]), np.array([answer == 1])

    @staticmethod
    def counts(drawn, protocol):
        item, answer = drawn
        return np.bincount(item, np.where(answer, 1, -1), len(protocol["items"])).astype(np.int64)

    @staticmethod
    def estimate(counts, n_reports, protocol):
        m, f = len(protocol["items"]), protocol["flip"] / FLIP_GRID
        return m * (m - 1) / (1 - 2 * f) * counts / n_reports

    @staticmethod
    def variance(protocol):
        m, f = len(protocol["items"]), protocol["flip"] / FLIP_GRID
        return m * ((m - 1) / (1 - 2 * f)) ** 2
