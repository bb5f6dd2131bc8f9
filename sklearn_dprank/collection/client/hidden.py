"""What many devices say together of pairs that they draw, one a message: the sum of their draws, in less time.

No device needs it, and no report comes of it: `pairs.draw` and `shuffled.draw` are what reports. It is for simulations.
"""

import numpy as np

from ...sampling.multinomial import multinomial
from .answers import true_answers
from .protocol import FLIP_GRID, n_pairs

_BLOCK = 1 << 18  # messages looked at at a time


def counted_wins(protocol, ballots, bits):
    """Draw how many messages put i before j, in one step for all that are not truthful.

    Parameters
    ----------
    protocol : dict
        Of "rr" and its kin with one pair a voter, or of "rr-shuffled" with K hidden pairs.
    ballots : Positions
        Of the voters.
    bits : Bits
        Their randomness: `noise` tells who is truthful and draws what the others say, `assignment` the pairs of the
        truthful, and `coins` answer where these have no opinion.

    Returns
    -------
    ndarray of int64, shape (n_items, n_items)
        As `counted_wins` of `randomizers.response` makes of what devices draw one by one, and of the same law.

    Notes
    -----
    An answer that is flipped with probability f = numerator / 2^52 is the truth with probability 1 - 2 f, and a fair
    coin otherwise. A coin about a uniform pair is uniform on the 2 C(n_items, 2) things that can be said, whatever the
    ballot. So each message is truthful with probability 1 - 2 f, tanh(epsilon / 2) for randomised response; only the
    ballots of the truthful are looked at, and the others are one multinomial. This is exact where the device is: that
    probability has the device's 52 bits, pairs are uniform, and the multinomial is drawn in integers. It holds as
    messages are independent: K distinct pairs of one voter are not, and have no such shortcut.
    """
    cells, truthful = 2 * n_pairs(protocol), FLIP_GRID - 2 * protocol["flip"][0]
    n_voters, coins = ballots.table.shape[1], 0
    said = np.zeros(cells, dtype=np.int64)
    for _ in range(protocol["n_queries"]):
        for start in range(0, n_voters, _BLOCK):
            speaks = bits.noise.trials(truthful, min(_BLOCK, n_voters - start))
            voters = start + np.flatnonzero(speaks)
            said += np.bincount(_truths(voters, ballots, bits), minlength=cells)
            coins += len(speaks) - len(voters)
    said += multinomial(coins, cells, bits.noise)
    wins = np.zeros((len(ballots.table),) * 2, dtype=np.int64)
    upper = np.triu_indices(len(wins), 1)
    wins[upper], wins.T[upper] = said[1::2], said[::2]
    return wins


def _truths(voters, ballots, bits):
    """Return what each voter truly says of a uniform pair: twice its number, plus 1 where the first goes first."""
    first, second = np.triu_indices(len(ballots.table), 1)
    pair = bits.assignment.many_integers(len(first), len(voters)).astype(np.int64)
    return 2 * pair + true_answers(first.take(pair), second.take(pair), voters, ballots, bits.coins)
