"""Aggregators for a trusted curator that publish noisy statistics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.checks import CALIBRATION, DELTA, EPSILON, NEIGHBORING, RANDOM_STATE, one_of
from .._utils.types import Amount, Calibration, LaplaceOrGaussian, Neighboring, RandomState, RuleName
from ..channels import Central
from ..queries import AllMargins, Histogram
from ..rules import RULE, KemenyRule, Rule, SortByScore, resolve_rule
from ..uncertainty import PublishedNoise
from .base import RankAggregator

_PUBLISHED: dict = {**EPSILON, **DELTA, "noise": one_of("laplace", "gaussian"), **RULE, **NEIGHBORING}


class _PublishedOnce(RankAggregator):
    """Base of those that publish one thing with noise and apply any rule to it."""

    optimal_gap_: float

    parameter_checks: dict = {**_PUBLISHED, **RANDOM_STATE}

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: LaplaceOrGaussian = "laplace",
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
        What turns margins into a ranking: "borda", "kemeny", "kwiksort", "hierarchical",
        "markov_chain" or a rule object; None is Kemeny.
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
    optimal_gap_ : float
        With the Kemeny rule: certified bound on how much better another order could fit the noisy
        margins, relative to the overruled ones; computed from the release alone.
    margins_ : ndarray, shape (n_items, n_items)
        How many more voters prefer the row's item to the column's than the other way round, as the release has it:
        a noisy number of voters from a curator or from servers, an estimated share of those asked elsewhere.
    noise_ : PublishedNoise
        The law of the noise on what is published: public numbers. `rank_intervals` and `pair_confidence` read it.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot moves each of the C(m, 2) margins by at most 1 under
    "add_remove", 2 under "replace"; the rule is post-processing.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    Alabi et al. clip noisy shares of voters to [0, 1] (footnote 2). Nothing is clipped here: "add_remove" keeps n, and
    no guarantee needs it (`~sklearn_dprank.theory.alabi` says why). Where n is public, clipping ``margins_`` is
    post-processing; it helps Borda a little where Laplace noise exceeds n, and Kemeny hardly.

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
    """P-BORDA-HIST (Hay et al.), Shang et al.: noise on the count of every possible ranking, then any rule.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of the release, in nats.
    delta : float, default=0.0
        Failure probability; positive for ``noise="gaussian"`` and only for it.
    noise : {"laplace", "gaussian"}, default="laplace"
        Noise on each of the m! counts.
    rule : None, str or Rule, default=None
        What turns the noisy counts into a ranking: "borda", "plurality", "veto", "instant_runoff", "kemeny",
        "kwiksort", "hierarchical", "markov_chain" or a rule object; None is Borda.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours.
    calibration : {"exact", "published"}, default="exact"
        "published" takes the papers' noise, whatever the relation: Hay et al.'s Lap(1 / epsilon), or the Gaussian of
        Shang et al.'s Theorem 1; ``privacy_`` still states what it really gives.
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
    histogram_ : ndarray of int64, shape (n_items!,)
        Noisy number of voters with each ranking, in the order of ``itertools.permutations(range(n_items))`` read as
        positions. Not there beyond 10 items, where no histogram is drawn.
    noise_ : PublishedNoise
        The law of the noise on what is published: public numbers. `rank_intervals` and `pair_confidence` read it.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of str, shape (n_items,)
        Names of the items, where X had them.

    Notes
    -----
    .. rubric:: Privacy

    Unit: one ballot. Trust: the curator. One ballot moves one cell by 1 under "add_remove", two under
    "replace". Tied and partial ballots are completed first, each by its own coins, which keeps that: every
    pair without an opinion is fair; where the rule asks for positional scores, unseen items go last. Complete
    ballots cost the same work.
    What may be published, and what not: :ref:`the list <may-be-published>`.

    .. rubric:: Remarks

    All m! cells get noise, voted for or not, explicitly up to 10 items. Beyond, Gaussian noise with the Borda or a
    positional rule is drawn as the m-dimensional Gaussian that it amounts to; its variance grows like m!, so that it
    drowns any signal beyond 12 items, where a warning says so; beyond 150 it is more than a double can hold. Prefer
    `DPBorda`.

    The sensitivity of 1 that both papers print is that of "add_remove". The Gaussian of Theorem 1, with sigma =
    sqrt(2 ln(2 / delta)) / epsilon, is more than is needed there: at epsilon = .1 and delta = 5e-5 it gives
    epsilon = .054 ("replace": .079), and the analytic Gaussian, which is the default, has 57% of that sigma. Copies of
    the paper lose the constant 2; the other candidate, 4 / 5, gives 4% less.

    References
    ----------
    Shang, Wang, Cuff and Kulkarni (2014), Theorem 1; Hay et al. (2017), Section 6.2; Balle and Wang (2018).

    Examples
    --------
    >>> from sklearn_dprank import DPHistogram
    >>> DPHistogram(epsilon=2.0, random_state=0).fit([[0, 1, 2]] * 100).consensus_
    array([0, 1, 2])
    >>> printed = DPHistogram(0.1, 5e-5, "gaussian", calibration="published", random_state=0)
    >>> print(printed.fit([[0, 1, 2]] * 100).privacy_)
    epsilon = 0.0535176, delta = 5e-05 (central, add_remove; simulation only: a seed was given)
    """

    histogram_: NDArray[np.int64]
    noise_: PublishedNoise

    parameter_checks: dict = {**_PUBLISHED, **CALIBRATION, **RANDOM_STATE}

    def __init__(
        self,
        epsilon: Amount = 1.0,
        delta: Amount = 0.0,
        noise: LaplaceOrGaussian = "laplace",
        rule: RuleName | Rule | None = None,
        neighboring: Neighboring = "add_remove",
        calibration: Calibration = "exact",
        random_state: RandomState = None,
    ) -> None:
        super().__init__(epsilon, delta, noise, rule, neighboring, random_state)
        self.calibration = calibration

    def _compose(self):
        channel = Central(
            self.epsilon, self.delta, self.noise, Histogram(), self.neighboring, calibration=self.calibration
        )
        return channel, resolve_rule(self.rule, SortByScore())
