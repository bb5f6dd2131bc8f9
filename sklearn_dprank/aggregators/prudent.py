"""Aggregators for a trusted curator that overrule no large majority."""

from .._utils.checks import EPSILON, NEIGHBORING, RANDOM_STATE, taken_by
from .._utils.types import Amount, Neighboring, RandomState
from ..channels import Central
from ..queries import MaxViolatedMargin
from ..rules import Choose, ChooseNearAnchor, ChooseTop
from .base import RankAggregator


class DPPrudentOrder(RankAggregator):
    """Minimax-margin mechanism: draw a ranking that overrules no large majority.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    window : int or None, default=None
        None draws among all orders, up to 16 items. An integer from 2 to 12 (7 is good; 9 mends worse anchors in
        about eight times the time) is the two-stage form for any number of items: half of epsilon finds an
        anchor by Borda with K-norm noise, the other half draws among the orders that keep pairs at least
        `window` apart in the anchor.
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
        The guarantee of this fit, for the ballots that `fit` was given. It does not cover earlier steps of a pipeline
        or a search that chose the parameters: `~sklearn_dprank.privacy.guarantee_of` does.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot moves every margin, and so the largest overruled one u, by
    at most 1 under "add_remove", 2 under "replace", whatever the number of items. Drawn is the order with the largest
    -epsilon u / 2 + Exp(1) (u / 4 under "replace"): permute-and-flip. The two-stage form spends half of epsilon in each
    stage, and its second draws with probability proportional to exp(-epsilon u / 4) (u / 8). The time depends a little
    on how many distinct margins there are.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    New here. Permute-and-flip has the exponential mechanism's epsilon and errs less, half as often where it is nearly
    certain; near an anchor, where orders have weights of their own, the exponential mechanism is kept. It wins where
    margins are large against 1 / epsilon, and it has no Borda bias: where voters contradict the consensus on 35 % of
    the pairs, from about n epsilon = 6.5 ln m! on up to 5 items (31 at 5), 4.5 ln m! on more (68 at 10, 138 at 16). At
    15 % half of that is enough, at 40 % it takes twice as much. Below n epsilon = ln m! it fails: the largest margin of
    a random order then costs nothing, and `DPBorda` with K-norm noise is much better. The two-stage form pays from
    about n epsilon = m^2, above 16 items, and fails below a tenth of that. Under "replace" all of this takes twice as
    many voters; their number is public there, and `fit` warns where they are too few. Under "add_remove" it is private,
    nothing warns, and the mechanism never reads it: the choice is yours, from a public estimate. On cyclic majorities
    it minimises the worst overruled majority, not the number of disagreements.

    References
    ----------
    Arrow and Raynaud (1986) for prudent orders; McKenna and Sheldon (2020) for permute-and-flip; McSherry and Talwar
    (2007) for the exponential mechanism; Joseph and Yu (2023) for the anchor's noise.

    Examples
    --------
    >>> from sklearn_dprank import DPPrudentOrder
    >>> DPPrudentOrder(epsilon=1.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    parameter_checks: dict = {
        **EPSILON,
        **taken_by(ChooseNearAnchor, "window"),
        **NEIGHBORING,
        **RANDOM_STATE,
    }

    def __init__(
        self,
        epsilon: Amount = 1.0,
        window: int | None = None,
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.window = window
        self.neighboring = neighboring
        self.random_state = random_state

    def _compose(self):
        if self.window is None:
            drawn = Central(self.epsilon, noise="permute_and_flip", neighboring=self.neighboring)
            return drawn, Choose(MaxViolatedMargin())
        return Central(self.epsilon, noise="knorm", neighboring=self.neighboring), ChooseNearAnchor(self.window)


class DPTopK(RankAggregator):
    """Prudent top-k: draw only the best k items in order, so that they overrule no large majority.

    Parameters
    ----------
    k : int, default=1
        How many items; fewer than there are.
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    batch : int or None, default=None
        How many of the k are chosen at once, at most. None is as many as can be: any number of up to 16 items, 4 of 31,
        3 of 100, 2 of 1,000. Several batches, each among the items that are left, share epsilon by their sizes.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    random_state : None, int, Generator or RandomState, default=None
        None draws from the operating system's secure source; anything else is for simulation only.

    Attributes
    ----------
    consensus_ : ndarray of shape (k,)
        The best k items, best first: names where X had them, column indices otherwise.
    ranks_ : ndarray of int, shape (n_items,)
        The positions of all items: 0 to k - 1, and k for all others, which are tied.
    privacy_ : PrivacyGuarantee
        The guarantee of this fit, for the ballots that `fit` was given. It does not cover earlier steps of a pipeline
        or a search that chose the parameters: `~sklearn_dprank.privacy.guarantee_of` does.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. Items s_1, ..., s_k overrule the margins of all x over s_a that are not among
    the first a. One ballot moves every margin, and so the largest overruled one u, by at most 1 under "add_remove", 2
    under "replace", whatever k and the number of items. Drawn is the choice with the largest -epsilon u / 2 + Exp(1)
    (u / 4 under "replace"): permute-and-flip. A batch of b items spends b / k of epsilon, and the items placed before
    it are public. The time depends a little on how many distinct margins there are.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    New here; the margins' analogue of Gillenwater et al.'s joint exponential mechanism for counts. To say which items
    are the best takes much less than to put all of them in order: at 45 items between a third and a fortieth of
    epsilon. It pays from about n epsilon = 1 to 3 ln(m! / (m - k)!) on, and 6 where voters agree little (twice that
    under "replace"). Below, `DPBorda` with K-norm noise finds more of the best k, because scores of all items average
    over all pairs, and below a quarter of that this one is little better than chance; under "replace", where the number
    of voters is public, `fit` warns there. Its gain is least where k is half of the items or the places that are wanted
    are close: for the first five of ten sushis it needs as much epsilon as K-norm noise does.

    The others are tied. `score` and the metrics count a pair that the consensus ties one half for each voter who does
    not tie it, so that k can be chosen by cross-validation: to say less is not to agree more.

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

    parameter_checks: dict = {
        **taken_by(ChooseTop, "k"),
        **EPSILON,
        **taken_by(ChooseTop, "batch"),
        **NEIGHBORING,
        **RANDOM_STATE,
    }

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
