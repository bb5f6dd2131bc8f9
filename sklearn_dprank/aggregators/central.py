"""Estimators for a trusted curator that publish noisy statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.types import Amount, LaplaceOrGaussian, Neighboring, RandomState, RuleName
from ..channels import Central
from ..mechanisms import Mechanism
from ..queries import AllMargins, Histogram
from ..rules import RULE, KemenyRule, Rule, SortByScore, resolve_rule
from ..uncertainty import PublishedNoise
from .base import RankAggregator


class _PublishedOnce(RankAggregator):
    """Base class of estimators that publish one noisy statistic and apply any rule to it."""

    optimal_gap_: float

    parameter_checks: dict = {**RULE}

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: LaplaceOrGaussian | Mechanism = "laplace",
        rule: RuleName | Rule | None = None,
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.rule = rule
        self.neighboring = neighboring
        self.random_state = random_state


class DPPairwise(_PublishedOnce):
    """Private pairwise margins for a trusted curator; use it to publish margins, or to choose the rule yourself.

    Reduction I of Alabi et al. (2022): publishes all margins with noise, then applies any rule to them.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. Must be positive for ``noise="gaussian"``, else 0.
    noise : {"laplace", "gaussian"} or Mechanism, default="laplace"
        Noise of every margin.
    rule : None, str or Rule, default=None
        Rule that turns margins into a ranking: "borda", "kemeny", "kwiksort", "hierarchical", "markov_chain" or a rule
        object. None is Kemeny.
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
    optimal_gap_ : float
        With the Kemeny rule: certified upper bound on (cost - optimum) / optimum. The cost of an order is the sum of
        the noisy margins that it overrules. Computed from the release only.
    margins_ : ndarray, shape (n_items, n_items)
        Noisy margins: number of voters who prefer the row's item to the column's, minus the number who prefer the
        column's.
    noise_ : PublishedNoise
        Distribution of the published noise (public numbers). `rank_intervals` and `pair_confidence` use it.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot changes each of the C(m, 2) margins by at most 1 under
    "add_remove", and by at most 2 under "replace". The rule is post-processing.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    Alabi et al. clip noisy shares of voters to [0, 1] (footnote 2). This class does not clip, because "add_remove"
    keeps the number of voters n private, and no guarantee needs clipping (see `~sklearn_dprank.theory.alabi`). If n is
    public, you can clip ``margins_`` as post-processing. This helps Borda a little if Laplace noise exceeds n, and
    hardly helps Kemeny.

    By default, the search for a Kemeny order stops once ``optimal_gap_`` is small compared with the noise
    (`~sklearn_dprank.rules.KemenyRule`). An exact search takes longer and has about the same error.

    References
    ----------
    Alabi et al. (2022), Reduction I: Theorem 1, Corollaries 3 and 4.

    Examples
    --------
    >>> from sklearn_dprank import DPPairwise
    >>> DPPairwise(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    """

    margins_: NDArray[Any]
    noise_: PublishedNoise

    def _compose(self):
        channel = Central(self.epsilon, self.delta, self.noise, AllMargins(), self.neighboring)
        return channel, resolve_rule(self.rule, KemenyRule())


class DPHistogram(_PublishedOnce):
    """Private histogram of rankings for a trusted curator; use it for instant runoff, or to reproduce the papers.

    P-BORDA-HIST of Hay et al. (2017), which is also the mechanism of Shang et al. (2014). It adds noise to the count of
    every possible ranking, then applies any rule. For other purposes, prefer `DPBorda`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        The delta of the guarantee. Must be positive for ``noise="gaussian"``, else 0.
    noise : {"laplace", "gaussian"} or Mechanism, default="laplace"
        Noise of each of the m! counts. `~sklearn_dprank.theory.shang.PrintedGaussian` and
        `~sklearn_dprank.theory.hay.PrintedLaplace` have the scales of those papers; ``privacy_`` still states the
        true epsilon.
    rule : None, str or Rule, default=None
        Rule that turns the noisy counts into a ranking: "borda", "plurality", "veto", "instant_runoff", "kemeny",
        "kwiksort", "hierarchical", "markov_chain" or a rule object. None is Borda.
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
    optimal_gap_ : float
        With the Kemeny rule: certified upper bound on (cost - optimum) / optimum. The cost of an order is the sum of
        the noisy margins that it overrules. Computed from the release only.
    histogram_ : ndarray of int64, shape (n_items!,)
        Noisy number of voters with each ranking, in the order of ``itertools.permutations(range(n_items))`` read as
        positions. Missing for more than 10 items, where the histogram is not drawn.
    noise_ : PublishedNoise
        Distribution of the noise in ``histogram_`` (public numbers). Missing for more than 10 items.
    max_weight_ : float
        Bound on the weight of a person, in votes. Only set if X is a `Profile` with persons or weights.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Item names, if X had names that are strings.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot changes one count by 1 under "add_remove", and two counts by 1 each
    under "replace". Tied and partial ballots are first completed, each by its own coins, which keeps these
    sensitivities. Every pair without an opinion is then ordered by a fair coin. If the rule asks for positional scores,
    unseen items go last instead.
    The running time may show whether ballots are complete, so keep it secret.
    See :ref:`what may be published <may-be-published>`.

    .. rubric:: Remarks

    All m! counts receive noise, even counts of 0. Up to 10 items, the histogram is explicit. For more items, only
    Gaussian noise with the Borda or a positional rule is possible. It is drawn as the equivalent m-dimensional
    Gaussian. Its variance grows like m!. A warning states that it hides any signal beyond 12 items. Beyond 150 items,
    it exceeds all doubles, and the fit fails.

    Both papers print the sensitivity 1, which is that of "add_remove". The Gaussian of Theorem 1, with sigma =
    sqrt(2 ln(2 / delta)) / epsilon, is larger than necessary there. At epsilon = .1 and delta = 5e-5, it gives epsilon
    = .054 ("replace": .079). The analytic Gaussian, which is the default, has 57 % of that sigma. Our copies of the
    paper lack the constant 2. The other candidate, 4 / 5, gives 4 % less noise.

    References
    ----------
    Shang, Wang, Cuff and Kulkarni (2014), Theorem 1; Hay et al. (2017), Section 6.2; Balle and Wang (2018).

    Examples
    --------
    >>> from sklearn_dprank import DPHistogram
    >>> DPHistogram(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    >>> from sklearn_dprank.theory.shang import PrintedGaussian
    >>> printed = DPHistogram(0.1, 5e-5, PrintedGaussian(), random_state=0)
    >>> print(printed.fit([[0, 1, 2]] * 100).privacy_)
    epsilon = 0.0535176, delta = 5e-05 (central, add_remove; simulation only: a seed was given)
    """

    histogram_: NDArray[np.int64]
    noise_: PublishedNoise

    def _compose(self):
        channel = Central(self.epsilon, self.delta, self.noise, Histogram(), self.neighboring)
        return channel, resolve_rule(self.rule, SortByScore())
