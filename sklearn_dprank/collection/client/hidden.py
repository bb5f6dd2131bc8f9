"""Fast simulation of the counts from many devices that draw their own pairs.

It is for simulations only. Devices draw their reports with `PairsRandomizer.draw` and
`ShuffledRandomizer.draw`.
"""

import numpy as np

from ...sampling.multinomial import multinomial
from .answers import true_answers
from .protocol import FLIP_GRID, n_pairs

_BLOCK = 1 << 18  # messages simulated at a time


def counted_wins(protocol, ballots, bits):
    """Draw how many messages put i before j, int64, shape (n_items, n_items), with one draw for all random answers.

    The protocol has one pair per voter ("rr", "laplace", "gaussian") or K hidden pairs ("rr-shuffled"). The counts have
    the distribution of the counts of individual reports.

    An answer is flipped with probability f = numerator / 2^52. This is equivalent to a true answer with probability
    1 - 2 f, and a fair coin otherwise. For randomised response, 1 - 2 f is tanh(epsilon / 2). A coin about a uniform
    pair is uniform over the 2 C(n_items, 2) possible answers, for any ballot. So only true answers depend on ballots,
    and all other answers are one multinomial draw.

    The simulation is exact. The probability has the 52 bits of the device, pairs are uniform, and the multinomial
    counts are drawn in integers. Messages must be independent. The K distinct pairs of a voter under "rr" are
    dependent, so this method does not apply to them.
    """
    cells, unflipped = 2 * n_pairs(protocol), FLIP_GRID - 2 * protocol["flip"][0]
    n_voters, coins = ballots.table.shape[1], 0
    answers = np.zeros(cells, dtype=np.int64)
    first, second = np.nonzero(~np.tri(len(ballots.table), dtype=bool))  # faster than np.triu_indices
    for _ in range(protocol["n_queries"]):
        for start in range(0, n_voters, _BLOCK):
            kept = bits.noise.trials(unflipped, min(_BLOCK, n_voters - start))
            voters = start + np.flatnonzero(kept)
            answers += np.bincount(_truths(voters, first, second, ballots, bits), minlength=cells)
            coins += len(kept) - len(voters)
    answers += multinomial(coins, cells, bits.noise)
    wins = np.zeros((len(ballots.table),) * 2, dtype=np.int64)
    wins[first, second], wins[second, first] = answers[1::2], answers[::2]
    return wins


def _truths(voters, first, second, ballots, bits):
    """Return each voter's true answer about a uniform pair: twice its number, plus 1 if its first item precedes."""
    pair = bits.assignment.many_integers(len(first), len(voters)).astype(np.int64)
    return 2 * pair + true_answers(first.take(pair), second.take(pair), voters, ballots, bits.coins)
