"""Aggregators that trust nobody."""

from ..base import COUNT, EPSILON, RANDOM_STATE, RULE, RankAggregator, StrOptions
from ..channels import Local
from ..randomizers import RandomizedResponse
from ..rules import BradleyTerryRule, resolve_rule


class LDPPairwise(RankAggregator):
    """Each voter answers a few random pairs by randomised response; any rule decodes.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one voter's whole report, in nats.
    n_queries : int, default=1
        Pairs that each voter answers, at epsilon / n_queries an answer.
    randomizer : {"rr"}, default="rr"
        What the voter's device does: randomised response.
    rule : None, str or Rule, default=None
        What turns answers into a ranking; None is Bradley-Terry.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source; anything else is for simulation only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        What each report promises.
    reports_refused_ : dict of {str: int}
        How many reports were left out, by reason; empty after `fit`.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Privacy
    -------
    Unit: one ballot. Trust: nobody but the voter's own device. The number of voters is public. `fit`
    simulates the devices on ballots that the curator already has; in the field, ``client(items)`` runs on
    the device and ``fit_reports`` at the curator. Everything computed from reports may be published. The
    score is computed from ballots and may not.

    References
    ----------
    Yan, Li and Li (2020); Bradley-Terry decoding of the same reports is not in the paper.

    Examples
    --------
    >>> from sklearn_dprank import LDPPairwise
    >>> LDPPairwise(epsilon=4.0, random_state=0).fit([[0, 1, 2]] * 300).consensus_
    array([0, 1, 2])
    """

    _parameter_constraints: dict = {
        **EPSILON,
        "n_queries": COUNT,
        "randomizer": [StrOptions({"rr"})],
        **RULE,
        **RANDOM_STATE,
    }

    def __init__(self, epsilon=1.0, n_queries=1, randomizer="rr", rule=None, random_state=None):
        self.epsilon = epsilon
        self.n_queries = n_queries
        self.randomizer = randomizer
        self.rule = rule
        self.random_state = random_state

    def _compose(self):
        return Local(self.epsilon, RandomizedResponse(self.n_queries)), resolve_rule(self.rule, BradleyTerryRule())
