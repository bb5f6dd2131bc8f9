"""Estimators for a trusted curator that draw prudent orders."""

from __future__ import annotations

from functools import partial
from numbers import Real

from .._utils.checks import safe_repr
from .._utils.types import Amount, Neighboring, RandomState
from ..channels import Central
from ..queries import MaxViolatedMargin
from ..rules import Choose, ChooseNearAnchor, ChooseOneByOne, ChooseTop
from .base import RankAggregator


class DPPrudentOrder(RankAggregator):
    """Private ranking for a trusted curator, without the bias of Borda; use it if you have many voters.

    Minimax-margin mechanism (new in this package): draws a ranking that overrules no large majority. Up to 16 items,
    use ``delta=0``, which draws a whole order. For more items, set ``delta=1e-6``, say, which chooses the items one
    after another.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. 0 draws a whole order, for up to 16 items or with a window. If it is positive, the
        order is peeled, for any number of items: the best of the remaining items is chosen m - 1 times.
    window : int or None, default=None
        None draws among all orders. An integer from 2 to 12 is the two-stage form, for any number of items and
        ``delta=0``. Half of epsilon finds an anchor order by Borda with K-norm noise. The other half draws among the
        orders that keep all pairs at least `window` apart in the anchor. 7 is a good choice. 9 corrects worse anchors,
        in about eight times the time.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted, "replace" only how.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (n_items,)
        Items, best first: names if X had names, else column indices.
    ranks_ : ndarray of int, shape (n_items,)
        Position of each item, 0 is best.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. Let u be the largest margin that an order overrules. One ballot changes every
    margin, and therefore u, by at most 1 under "add_remove", and by at most 2 under "replace". This holds for any
    number of items. Permute-and-flip returns the order with the largest -epsilon u / 2 + Exp(1)
    (-epsilon u / 4 + Exp(1) under "replace"). The two-stage form spends half of epsilon in each stage. Its second stage
    draws with probability proportional to exp(-epsilon u / 4) (exp(-epsilon u / 8) under "replace"). The time depends a
    little on the number of distinct margins.

    With a delta, each place is filled by the exponential mechanism. Let u be the largest margin by which another
    remaining item beats an item. The item is chosen with probability proportional to exp(-w u / 2) (exp(-w u / 4)
    under "replace"). One choice has bounded range w: the logs of its probability ratios lie in an interval of length w.
    The largest w is used for which all m - 1 choices together, each of which depends on the earlier ones, are
    (epsilon, delta)-private. The composition is tight: it uses the worst choices of range w. At delta = 1e-6 and many
    items, w is 8 % larger than by zero-concentrated differential privacy. It is never below epsilon / (m - 1).
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    With a delta and many voters, it usually has the smallest error of all estimators of a trusted curator above 16
    items. If voters agree well, ``window=7`` can be better up to about 30 items. Let voters contradict the consensus on
    22 or 37 % of the pairs of 20 items, 12 % of 45 or 15 % of 100. Its error is then below that of Gaussian `DPBorda`
    from about n epsilon = 120, 350, 150 and 350 on. It is below that of `DPSwissBorda` from about 130, 430, 210 and 850
    on. For 2,341 ratings of 40 jokes (JESTER, 40 %), both are better up to epsilon = .5, and it is better from 1 on.
    Far below these numbers, it is much worse. Up to 16 items, ``delta=0`` needs less epsilon.

    Permute-and-flip has the epsilon of the exponential mechanism and a smaller error. The error is half as large if the
    result is nearly certain. Near an anchor, orders have weights of their own, so the exponential mechanism is used
    there.

    Compared with `DPBorda`, it has no Borda bias, and its error is smaller if margins are large against 1 / epsilon.
    Let voters contradict the consensus on 35 % of the pairs. Up to 5 items, its error is then smaller from about
    n epsilon = 6.5 ln m! on (31 at 5). For more items, it is smaller from 4.5 ln m! on (68 at 10, 138 at 16). At 15 %,
    half of that is enough. At 40 %, twice as much is necessary. Below n epsilon = ln m!, it fails: it draws almost at
    random, and `DPBorda` with K-norm noise is much better. The two-stage form is worthwhile above 16 items, from about
    n epsilon = m^2 on. It fails below a tenth of that.

    Under "replace", all of these numbers double. The number of voters is public there, and `fit` warns if it is too
    small. Under "add_remove", it is private. The mechanism never reads it and does not warn, so choose by a public
    estimate. On cyclic majorities, the mechanism minimises the worst overruled majority, not the number of
    disagreements.

    References
    ----------
    Arrow and Raynaud (1986) for prudent orders; McKenna and Sheldon (2020) for permute-and-flip; McSherry and Talwar
    (2007) for the exponential mechanism; Joseph and Yu (2023) for the noise of the anchor; Dong, Durfee and Rogers
    (2020) for the composition of exponential mechanisms.

    Examples
    --------
    >>> from sklearn_dprank import DPPrudentOrder
    >>> DPPrudentOrder(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        window: int | None = None,
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.window = window
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        peeled = isinstance(self.delta, Real) and self.delta > 0
        if self.window is not None and peeled:
            raise ValueError(
                f"a window needs delta=0, got window={safe_repr(self.window)} and delta={safe_repr(self.delta)}; set "
                "delta=0, or window=None, which takes any number of items with a delta."
            )
        channel = partial(Central, self.epsilon, self.delta, neighboring=self.neighboring)
        if self.window is not None:
            return channel(noise="knorm"), ChooseNearAnchor(self.window)
        if peeled:
            return channel(noise="exponential"), ChooseOneByOne()
        return channel(noise="permute_and_flip"), Choose(MaxViolatedMargin())


class DPTopK(RankAggregator):
    """Private top-k ranking for a trusted curator; use it if you need only the best items.

    Prudent top-k (new in this package): draws only the best k items in order, such that they overrule no large
    majority.

    Parameters
    ----------
    k : int, default=1
        Number of items to release; less than the number of items.
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    batch : int or None, default=None
        Maximum number of items that are chosen together. None is the largest possible number: any number of up to 16
        items, 4 of 31, 3 of 100, 2 of 1,000. Batches are chosen one after another among the remaining items, and share
        epsilon by their sizes.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. "add_remove" hides whether somebody voted, "replace" only how.
    random_state : None, int, Generator or RandomState, default=None
        None uses the operating system's secure source. Any other value is for simulations only.

    Attributes
    ----------
    consensus_ : ndarray of shape (k,)
        The best k items, best first: names if X had names, else column indices.
    ranks_ : ndarray of int, shape (n_items,)
        Positions of all items: 0 to k - 1 for the best k. All others are tied at k.
    privacy_ : PrivacyGuarantee
        Guarantee of this fit. For a pipeline or a search, use `~sklearn_dprank.privacy.guarantee_of`.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. Items s_1, ..., s_k overrule the margins of all x over s_a that are not among
    the first a. Let u be the largest of these margins. One ballot changes every margin, and therefore u, by at most 1
    under "add_remove", and by at most 2 under "replace". This holds for any k and any number of items. Permute-and-flip
    returns the choice with the largest -epsilon u / 2 + Exp(1) (-epsilon u / 4 + Exp(1) under "replace"). A batch of b
    items spends b / k of epsilon, and the items placed before it are public. The time depends a little on the number of
    distinct margins.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    It is the analogue for margins of the joint exponential mechanism for counts (Gillenwater et al.). Finding the best
    items needs much less epsilon than ordering all items: between a third and a fortieth at 45 items.

    It is worthwhile from about n epsilon = 1 to 3 ln(m! / (m - k)!) on. If voters agree little, it is worthwhile from 6
    ln(m! / (m - k)!) on. Under "replace", these numbers double. Below them, `DPBorda` with K-norm noise finds more of
    the best k, because scores average over all pairs. Below a quarter of them, this estimator is little better than
    chance. Under "replace", the number of voters is public, and `fit` then warns. The gain is smallest if k is half of
    the number of items, or if the best items are close to each other. For the first five of ten sushis, it needs as
    much epsilon as K-norm noise.

    All other items are tied. In `score` and the metrics, a pair that the consensus ties counts one half for each voter
    who does not tie it. So a smaller k does not improve the score by itself, and k can be chosen by cross-validation.

    References
    ----------
    McKenna and Sheldon (2020) for permute-and-flip; Gillenwater et al. (2022), "A joint exponential mechanism for
    differentially private top-k"; Fagin, Kumar and Sivakumar (2003), "Comparing top k lists", for the score.

    Examples
    --------
    >>> from sklearn_dprank import DPTopK
    >>> top = DPTopK(2, epsilon=1.0, random_state=0).fit([[0, 1, 2, 3]] * 100)
    >>> top.consensus_, top.ranks_
    (array([0, 1]), array([0, 1, 2, 2]))
    """

    def __init__(
        self,
        k: int = 1,
        *,
        epsilon: Amount = 1.0,
        batch: int | None = None,
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.k = k
        self.epsilon = epsilon
        self.batch = batch
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        drawn = Central(self.epsilon, noise="permute_and_flip", neighboring=self.neighboring)
        return drawn, ChooseTop(self.k, self.batch)
