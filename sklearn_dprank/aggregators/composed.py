"""Aggregator: any channel with any rule, for what has no name of its own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import RANDOM_STATE, check_made, shown
from .._utils.types import RandomState, RuleName
from ..channels import Channel, Exact
from ..channels.streaming import Stream
from ..rules import RULE, Rule, SortByScore, resolve_rule
from ..uncertainty import PublishedNoise
from .base import RankAggregator


def _check_channel(channel, name):
    """Raise unless `channel` is None or an object that plans."""
    check_made(channel, name, "channel")
    if channel is not None and not callable(getattr(channel, "plan", None)):
        raise ValueError(f"{name} must be None or an object of sklearn_dprank.channels, got {shown(channel)}.")


class Aggregator(RankAggregator):
    """Compose any channel with any rule.

    Parameters
    ----------
    channel : channel or None, default=None
        The trust model: an object of `sklearn_dprank.channels`; None is exact answers, not private.
    rule : None, str or Rule, default=None
        The rule, by name or as an object of `sklearn_dprank.rules`; None is Borda.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source; anything else is for simulation only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        The guarantee of this fit, for the ballots that `fit` was given. It does not cover earlier steps of a pipeline
        or a search that chose the parameters: `~sklearn_dprank.privacy.guarantee_of` does.
    optimal_gap_ : float
        With the Kemeny rule: certified bound on how much better another order could fit the noisy
        margins, relative to the overruled ones; computed from the release alone.
    reports_accepted_ : int
        How many reports, or answers, or shuffled messages, were counted.
    reports_refused_ : dict of {str: int}
        How many reports were left out, by reason; empty after `fit`.
    local_epsilon_ : float
        Local epsilon of one voter's messages together.
    margins_ : ndarray, shape (n_items, n_items)
        How many more voters prefer the row's item to the column's than the other way round, as the release has it:
        a noisy number of voters from a curator or from servers, an estimated share of those asked elsewhere.
    scores_ : ndarray, shape (n_items,)
        Each item's margins over all others together, as the release has them: their sum from a curator or from servers,
        their mean over the voters elsewhere. With the Swiss rule: the strength of each item, larger is better.
    histogram_ : ndarray of int64, shape (n_items!,)
        Noisy number of voters with each ranking, in the order of ``itertools.permutations(range(n_items))`` read as
        positions. Not there beyond 10 items, where no histogram is drawn.
    noise_ : PublishedNoise
        The law of the noise on what is published: public numbers. `rank_intervals` and `pair_confidence` read it.
    periods_ : int
        How many periods have been published.
    stream_ : Stream
        What `partial_fit` goes on from: every period's exact sums, and no ballot. It is a **secret**, to be kept as the
        ballots are. `fit` leaves none.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    The channel's: see it.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.channels import Central
    >>> Aggregator(Central(epsilon=2.0), rule="hierarchical", random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    optimal_gap_: float
    margins_: NDArray[Any]
    scores_: NDArray[Any]
    histogram_: NDArray[np.int64]
    noise_: PublishedNoise
    reports_accepted_: int
    reports_refused_: dict[str, int]
    local_epsilon_: float
    periods_: int
    stream_: Stream

    parameter_checks: dict = {"channel": _check_channel, **RULE, **RANDOM_STATE}

    def __init__(
        self, channel: Channel | None = None, rule: RuleName | Rule | None = None, random_state: RandomState = None
    ) -> None:
        self.channel = channel
        self.rule = rule
        self.random_state = random_state

    def _compose(self):
        return Exact() if self.channel is None else self.channel, resolve_rule(self.rule, SortByScore())
