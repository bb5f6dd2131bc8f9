"""Estimator for any combination of a channel and a rule."""

from __future__ import annotations

from .._utils.checks import check_made, safe_repr
from .._utils.estimators import parametrized
from .._utils.types import RandomState, RuleName
from ..rules import RULE, Rule, SortByScore, resolve_rule
from .base import RankAggregator
from .exact import Exact
from .interactive import Groups, Rounds, Slots
from .plan import Channel


def _check_channel(channel, name):
    """Raise ValueError unless `channel` is None or an object with a ``plan`` method."""
    check_made(channel, name, "channel")
    if isinstance(channel, (Groups, Rounds, Slots)):
        kind = type(channel).__name__
        raise ValueError(f"{name} must be a channel, and {kind} is a schedule; pass Interactive(schedule={kind}()).")
    if channel is not None and not callable(getattr(channel, "plan", None)):
        raise ValueError(f"{name} must be None or an object of sklearn_dprank.channels, got {safe_repr(channel)}.")


@parametrized
class Aggregator(RankAggregator):
    """Combination of any channel with any rule; use it if no other estimator has the combination that you need.

    Parameters
    ----------
    channel : channel or None, default=None
        Trust model, an object of `sklearn_dprank.channels`. None gives exact answers, which are not private.
    rule : None, str or Rule, default=None
        Rule by name, or an object of `sklearn_dprank.rules`. None is Borda.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray or Series of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    optimal_gap_ : float
        With the Kemeny rule: certified upper bound on (cost - optimum) / optimum. The cost of an order is the sum of
        the noisy margins that it overrules. Computed from the release only.
    shrinkage_ : float
        With the Kemeny rule: factor of the part of the margins that no scores explain, see
        `~sklearn_dprank.rules.KemenyRule`. Only if the noise has a known standard deviation.
    reports_accepted_ : int
        Number of reports, answers or shuffled messages that were counted. In secure aggregation, number of voters in
        the smallest sum.
    reports_refused_ : dict of {str: int}
        Number of refused messages, by reason. Empty after `fit`.
    local_epsilon_ : float
        Local epsilon of all messages of one voter, without trust in other parties. In secure aggregation, it holds at
        the delta of the channel.
    margins_ : ndarray, shape (n_items, n_items)
        Noisy margins: number of voters who prefer the row's item to the column's, minus the number who prefer the
        column's. In the local and shuffle models, estimated shares of voters instead of numbers.
    scores_ : ndarray, shape (n_items,)
        Noisy net wins, summed over all voters. In the local model, their estimated mean over the voters. Missing with
        K-norm noise, which releases the order only. With the Swiss rule: strength of each item, larger is better.
    histogram_ : ndarray of int64, shape (n_items!,)
        Noisy number of voters with each ranking, in the order of ``itertools.permutations(range(n_items))`` read as
        positions. Missing for more than 10 items, where the histogram is not drawn.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    periods_ : int
        Number of published periods.
    stream_ : Stream
        State for the next `partial_fit`: the exact sums of every period, but no ballots. It is a **secret**: protect it
        like the ballots. `fit` does not set it.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons, weights or ``max_listed``.
    max_listed_ : int
        Bound on the number of items that a ballot lists. Only set if X is a `Profile` with ``max_listed``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit, trust and guarantee are those of the channel; see its documentation.
    See :ref:`what may be published <may-be-published>`.

    Examples
    --------
    >>> from sklearn_dprank import Aggregator
    >>> from sklearn_dprank.channels import Central
    >>> Aggregator(Central(epsilon=2.0), rule="hierarchical", random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    channel: Channel | None = None
    rule: RuleName | Rule | None = None
    random_state: RandomState = None

    parameter_checks = {"channel": _check_channel, **RULE}

    def _compose(self):
        return Exact() if self.channel is None else self.channel, resolve_rule(self.rule, SortByScore())
