"""Cheu, Smith and Ullman (2021): the weight of voters who lie to a local randomizer.

An honest report is mostly noise, and the estimate scales it up. A report without noise is scaled up too. So one lying
voter counts as several honest ones, and the more so the smaller epsilon is. A device cannot prove that it added noise.
"""

from __future__ import annotations

import math
from typing import Any

from .._utils.checks import safe_repr
from ..collection import HypercubeSampling, PrivUnitG
from ..collection.protocol import FLIP_GRID
from ..collection.randomizers import checked

__all__ = ["liar_weight"]


def liar_weight(protocol: dict[str, Any]) -> float:
    """Return the weight of one lying voter, in honest voters.

    It is the largest effect of one accepted report on the estimated net wins of an item, divided by the mean effect of
    an honest voter who ranks this item first. A trusted curator has no protocol, and a lying voter is one ballot there:
    the weight is 1.

    Parameters
    ----------
    protocol : dict
        Public protocol of the devices (``estimator.protocol(items)``).

    Returns
    -------
    float
        The weight. With assigned pairs, it is the mean over the assignment. Infinity for secure aggregation, where one
        device can change the sum by any amount.

    Raises
    ------
    RefusedProtocol
        If a device would refuse the protocol.
    ValueError
        If the weight depends on the questions of the curator.

    Notes
    -----
    Let f be the flip probability of an answer, K the number of answers and m the number of items. For one answer with
    epsilon, 1 - 2 f = tanh(epsilon / 2).

    - Assigned pairs: 1 / (1 - 2 f).
    - Pairs that devices draw: m min(K, m - 1) / (2 K (1 - 2 f)). A liar chooses pairs with the item, and an honest
      voter has such a pair with probability 2 / m. With hidden pairs in K shuffles, m / (2 (1 - 2 f)), because pairs
      may be equal.
      The same holds for shown pairs, if all are shown equally often and nobody checks who was shown which.
    - Hypercube sampling: 1 / (1 - 2 E k / C(m, 2)), where k signs differ.
    - PrivUnitG: sqrt((m + 1) / 3) norm / lean. An honest report has mean component lean along its direction, and a lie
      has length norm. The first factor is due to directions that are not those of ballots.

    The paper shows that lies weigh more than honest reports in every local protocol, and most if epsilon is small.

    References
    ----------
    Cheu, Smith and Ullman (2021), "Manipulation attacks in local differential privacy". The formulas for rankings are
    new in this package.

    Examples
    --------
    >>> from sklearn_dprank import LDPPairwise
    >>> round(liar_weight(LDPPairwise(epsilon=1.0).protocol(10)), 2)
    10.82
    >>> assigned = LDPPairwise(epsilon=1.0, pairs="assigned", n_voters=500, assignment_seed="5eed" * 8)
    >>> round(liar_weight(assigned.protocol(10)), 2)
    2.16
    """
    checked(protocol)
    kind, m = protocol["randomizer"], len(protocol["items"])
    if kind.startswith("skellam-"):
        return math.inf
    if kind == "hypercube":
        return math.sqrt(HypercubeSampling.variance(protocol))  # the scale 1 / (1 - 2 E k / C(m, 2))
    if kind == "privunit":
        coordinate = protocol["norm"] * math.sqrt((m - 1) / m)  # a lie; an honest first place has m - 1
        return float(PrivUnitG.estimate(coordinate * protocol["points_per_unit"], 1, protocol)) / (
            m - 1
        )  # an honest first place
    if kind not in ("rr", "laplace", "gaussian", "rr-assigned", "rr-shown", "rr-shuffled"):
        raise ValueError(f"protocol must be of devices that report once, got randomizer={safe_repr(kind)}.")
    gain = 1 - 2 * protocol["flip"][0] / FLIP_GRID
    if kind == "rr-assigned" or protocol.get("pairs") == "assigned":
        return 1 / gain
    k = protocol["n_queries"] if kind != "rr-shuffled" else 1  # each shuffle estimates alone
    return m * min(k, m - 1) / (2 * k * gain)
