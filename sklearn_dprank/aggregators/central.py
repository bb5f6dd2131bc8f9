"""Aggregators for a trusted curator."""

from ..base import CALIBRATION, COUNT, DELTA, EPSILON, NEIGHBORING, RANDOM_STATE, RULE, RankAggregator, StrOptions
from ..channels import Central
from ..queries import AllMargins
from ..rules import KemenyRule, KwikSortRule, SortByScore, resolve_rule

_PURE_OR_GAUSSIAN = [StrOptions({"laplace", "gaussian"})]


class DPBorda(RankAggregator):
    """P-BORDA: Borda on net wins with noise.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        Failure probability; positive for ``noise="gaussian"`` and only for it.
    noise : {"laplace", "gaussian", "knorm"}, default="laplace"
        Discrete Laplace; rounded Gaussian; or K-norm noise shaped like the permutohedron, which needs
        less than half of Laplace's epsilon at equal error.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    calibration : {"exact", "published"}, default="exact"
        "published" takes Hay et al.'s Laplace scale; ``privacy_`` still states what it really gives.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source. Anything else is for simulation only: who
        knows the seed can subtract the noise.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        What the release promises.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Privacy
    -------
    Unit: one ballot. Trust: the curator who runs `fit`. One ballot moves the net wins by at most
    floor(m^2 / 2) in l1 and sqrt(m (m^2 - 1) / 3) in l2 under "add_remove", twice that under "replace".
    May be published: ``consensus_``, ``ranks_``, ``privacy_``. Not: the score, the number of voters
    (under "add_remove"), the seed, timings, a traceback; a second fit is a second release and adds up.

    Notes
    -----
    Hay et al. add Lap(m (m - 1) / (2 epsilon)) to uncentred Borda counts. Net wins need no count of
    voters and floor(m^2 / 2) / (m (m - 1)) of that noise under "add_remove"; under "replace" the
    printed scale gives 2 floor(m^2 / 2) / (m (m - 1)) times epsilon, which is more than epsilon.

    References
    ----------
    Hay, Elagina and Miklau (2017), Section 3.1 (P-BORDA); Joseph and Yu (2023) for K-norm sampling;
    Balle and Wang (2018) for the Gaussian's scale.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> borda = DPBorda(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 100)
    >>> borda.consensus_
    array([0, 1, 2])
    >>> print(borda.privacy_)
    epsilon = 1 (central, add_remove; simulation only: a seed was given)
    """

    _parameter_constraints: dict = {
        **EPSILON,
        **DELTA,
        "noise": [StrOptions({"laplace", "gaussian", "knorm"})],
        **NEIGHBORING,
        **CALIBRATION,
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon=1.0,
        delta=0.0,
        noise="laplace",
        neighboring="add_remove",
        calibration="exact",
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.neighboring = neighboring
        self.calibration = calibration
        self.random_state = random_state

    def _compose(self):
        channel = Central(
            self.epsilon, self.delta, self.noise, neighboring=self.neighboring, calibration=self.calibration
        )
        return channel, SortByScore()


class DPKwikSort(RankAggregator):
    """P-SORT (``on_exhausted="coin"``), DPKwikSort (``on_exhausted="kemeny"``): sorting by noisy comparisons.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        Failure probability; positive for ``noise="gaussian"`` and only for it.
    noise : {"laplace", "gaussian"}, default="laplace"
        Noise on each margin. q Gaussian answers need only sqrt(q) times the noise of one.
    max_queries : int or None, default=None
        Comparisons that are paid for. None: Hay et al.'s floor((m - 1) log2 m) for "coin", Alabi et al.'s
        bound that one run in m^4 exceeds for "kemeny", the exact worst case for binary insertion.
    on_exhausted : {"coin", "kemeny"}, default="kemeny"
        What answers when they are used up: fair coins, or the Kemeny order of all margins published
        from the other half of the budget (no half is kept back where the answers cannot run out).
    strategy : {"quicksort", "binary_insertion"}, default="quicksort"
        Which pairs are compared. Binary insertion never runs out of answers.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    calibration : {"exact", "published"}, default="exact"
        "published" takes Lap(1 / epsilon') on a margin under either relation, as Hay et al. print;
        ``privacy_`` still states what it really gives.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source; anything else is for simulation only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        What the release promises: the ceiling, whatever number of answers was used.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Privacy
    -------
    Unit: one ballot. Trust: the curator. One ballot moves one margin by at most 1 under "add_remove", 2
    under "replace"; adaptive answers compose. May be published: ``consensus_``, ``ranks_``,
    ``privacy_``. Not: the score, the number of voters (under "add_remove"), the seed, timings, a
    traceback; a second fit is a second release and adds up.

    Notes
    -----
    P-SORT's number of answers is exceeded with probability .11 at m = 10 and .20 at m = 40, so its error
    has a floor that no number of voters removes. Its printed Lap(1 / epsilon') holds under "add_remove" only.

    References
    ----------
    Hay et al. (2017), Section 3.2 (P-SORT); Alabi et al. (2022), Algorithm 1 (DPKwikSort).

    Examples
    --------
    >>> from sklearn_dprank import DPKwikSort
    >>> DPKwikSort(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    _parameter_constraints: dict = {
        **EPSILON,
        **DELTA,
        "noise": _PURE_OR_GAUSSIAN,
        "max_queries": [None, *COUNT],
        "on_exhausted": [StrOptions({"coin", "kemeny"})],
        "strategy": [StrOptions({"quicksort", "binary_insertion"})],
        **NEIGHBORING,
        **CALIBRATION,
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon=1.0,
        delta=0.0,
        noise="laplace",
        max_queries=None,
        on_exhausted="kemeny",
        strategy="quicksort",
        neighboring="add_remove",
        calibration="exact",
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.max_queries = max_queries
        self.on_exhausted = on_exhausted
        self.strategy = strategy
        self.neighboring = neighboring
        self.calibration = calibration
        self.random_state = random_state

    def _compose(self):
        channel = Central(
            self.epsilon, self.delta, self.noise, neighboring=self.neighboring, calibration=self.calibration
        )
        return channel, KwikSortRule(self.max_queries, self.on_exhausted, self.strategy)


class DPPairwise(RankAggregator):
    """Reduction I (Alabi et al.): publish all margins with noise, then apply any rule to them.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        Failure probability; positive for ``noise="gaussian"`` and only for it.
    noise : {"laplace", "gaussian"}, default="laplace"
        Noise on every margin.
    rule : None, str or Rule, default=None
        What turns margins into a ranking: "borda", "kemeny", "kwiksort", "hierarchical" or a rule
        object; None is Kemeny.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source; anything else is for simulation only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        The items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The same as positions, 0 is best.
    privacy_ : PrivacyGuarantee
        What the release promises.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Privacy
    -------
    Unit: one ballot. Trust: the curator. One ballot moves each of the C(m, 2) margins by at most 1 under
    "add_remove", 2 under "replace"; the rule is post-processing. May be published: ``consensus_``,
    ``ranks_``, ``privacy_``. Not: the score, the number of voters (under "add_remove"), the seed,
    timings, a traceback; a second fit is a second release and adds up.

    References
    ----------
    Alabi et al. (2022), Section 3.

    Examples
    --------
    >>> from sklearn_dprank import DPPairwise
    >>> DPPairwise(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    _parameter_constraints: dict = {
        **EPSILON,
        **DELTA,
        "noise": _PURE_OR_GAUSSIAN,
        **RULE,
        **NEIGHBORING,
        **RANDOM_STATE,
    }

    def __init__(self, epsilon=1.0, delta=0.0, noise="laplace", rule=None, neighboring="add_remove", random_state=None):
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.rule = rule
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        channel = Central(self.epsilon, self.delta, self.noise, AllMargins(), self.neighboring)
        return channel, resolve_rule(self.rule, KemenyRule())
