"""`recommend`: which estimator with which parameters, from public inputs only."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from ..._types import Neighboring
from ...checks import check_choice, check_delta, check_epsilon, check_neighboring, check_whole
from ...profile import Shape
from ..parameters import in_words
from .rules import Alternative, central_choice, local_choice, shuffle_choice

_LARGEST_EPSILON = 500.0  # of the local and the shuffle model, in double precision
_MOST_ITEMS = 65_534  # as of ballots
_MOST_VOTERS = 1e15  # beyond, doubles do not tell numbers of voters apart


@dataclass(frozen=True)
class Recommendation:
    """What `recommend` advises.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with all parameters set; `clone` it, or fit it.
    error : float
        Excess normalised average Kendall tau over the Kemeny optimum that it has on the reference electorate, on
        average over its noise: between 0.0001, below which errors are not told apart, and 0.15, a random order's.
    reason : str
        The public inputs that decided, and the runner-up.
    alternatives : tuple of Alternative
        What else was considered, the least error first. One that is better on the reference electorate may
        be listed where it fails on voters who agree less.
    reference : str
        The electorate whose error is given.
    """

    estimator: Any
    error: float
    reason: str
    alternatives: tuple[Alternative, ...]
    reference: str = "Mallows votes that contradict their centre on 35 % of the pairs on average"


def recommend(
    n_items: int,
    n_voters: float,
    epsilon: float,
    delta: float = 0.0,
    trust: Literal["central", "local", "shuffle"] = "central",
    neighboring: Neighboring | None = None,
) -> Recommendation:
    """Advise which estimator to use with which parameters, and say what error to expect.

    Parameters
    ----------
    n_items : int
        Number of items m, at least 2.
    n_voters : float
        Number of voters n: an order of magnitude (1e4) will do for "central" and "local". It must be a public
        estimate; under "add_remove" the true number is private and must not be read off the ballots. For "shuffle" it
        becomes `min_reports`, rounded down: give the number of honest voters that you are sure of.
    epsilon : float
        Privacy loss, in nats.
    delta : float, default=0.0
        Failure probability. 0 asks for pure privacy, and mechanisms that have it are considered either way;
        "shuffle" needs a positive one.
    trust : {"central", "local", "shuffle"}, default="central"
        Who may see ballots: the curator; nobody; nobody, but a shuffler mixes the reports.
    neighboring : {"add_remove", "replace"} or None, default=None
        Which profiles count as neighbours. None is "add_remove" for "central"; "local" and "shuffle" are always
        "replace".

    Returns
    -------
    Recommendation
        The estimator, its error, the reason, and the alternatives.

    Raises
    ------
    ValueError
        If an argument is out of bounds, or the trust model cannot have this `delta` or `neighboring`.

    Notes
    -----
    No ballot is read, so the advice costs no privacy. The rules, with n epsilon halved under "replace":

    * central: `DPBorda` with K-norm noise, or Gaussian noise where delta allows it and its error is 5 % less; from n
      epsilon = 10 ln m! on `DPPrudentOrder` (3 to 16 items), from 2 m^2 on ``DPPrudentOrder(window=7)`` (more).
    * local: `LDPPairwise`, one pair a voter, below epsilon = 1.25; `LDPBorda` from there on.
    * shuffle: `ShufflePairwise` with the number K of messages a voter that makes K tanh^2(local epsilon / 2) largest,
      the local epsilon being that of one message; `LDPBorda`, which needs no shuffler, where even that is noisier.

    Errors depend on n and epsilon through the ratio of the noise to n only; in units of m the error of Borda is
    nearly the same function of that ratio from 4 items to 100.

    The error is that of 30 or more Mallows voters who contradict their centre on 35 % of the pairs (SUSHI's do on
    34 %, JESTER's on about 40 %). Where it is small, voters who agree more have less of it, and those who agree less
    have more. Near 10 ln m! no rule of public inputs suits both: at 4 items and n epsilon = 7 ln m!, K-norm Borda
    and `DPPrudentOrder` have errors of .013 and .022 on one of Mao et al.'s sets of 795 rankings, and of .006 and
    .001 on another. The rule keeps to Borda there, which fails more gently: between 4 and 16 ln m! it may lose .01 to
    the other choice. On many items of close agreement (45, Mallows phi = .75) orders near an anchor would pay from m^2
    / 4 on and single pairs at epsilon = 1.5, by .001 to .004; on 40 of JESTER's jokes they lose .009 and .005 there.

    Not considered: `LDPAdaptivePairs`, which must ask voters in rounds; it is better than `LDPPairwise` on few items
    or close agreement (two thirds of its error on Mao et al.'s 4 items at epsilon = 2), and worse on JESTER. The
    published mechanisms were nowhere better than those considered.

    References
    ----------
    Joseph and Yu (2023) for K-norm noise; Asi, Feldman and Talwar (2022) for `LDPBorda`; Balle et al. (2019) for
    the shuffle bound.

    Examples
    --------
    >>> from sklearn_dprank.model_selection import recommend
    >>> advice = recommend(n_items=10, n_voters=1e4, epsilon=0.005)
    >>> advice.estimator
    DPBorda(epsilon=0.005, noise='knorm')
    >>> round(advice.error, 3)
    0.014
    >>> recommend(n_items=10, n_voters=1e4, epsilon=0.5).estimator
    DPPrudentOrder(epsilon=0.5)
    """
    _check(n_items, n_voters, epsilon, delta)
    check_choice(trust, "trust", ("central", "local", "shuffle"))
    relation = _relation(trust, neighboring)
    m, n = int(n_items), float(n_voters)
    if trust != "central" and epsilon > _LARGEST_EPSILON:
        raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON:g} for trust={trust!r}, got {epsilon!r}.")
    epsilon, delta = float(epsilon), float(delta)  # single precision would be that of the estimator, too
    if trust == "central":
        choice = central_choice(m, n, epsilon, delta, relation)
    elif trust == "local":
        choice = local_choice(m, n, epsilon)
    else:
        choice = shuffle_choice(m, n, epsilon, delta)
    return _advice(choice, m, max(1, math.floor(n)))


def _advice(choice, n_items, n_voters):
    """Return the recommendation of what was chosen, or else the best that can be fitted; the others by their error."""
    chosen, considered, why = choice
    others = sorted((each for each in considered if each is not chosen), key=lambda each: each.error)
    refused = ""
    while refusal := _refusal(chosen.estimator, n_items, n_voters):
        refused = refused or refusal
        if not others:
            raise ValueError(f"nothing can be recommended, because no estimator takes such parameters: {refused}")
        chosen, *others = others
        why = f"what is better by the rules cannot be fitted: {refused}"
    return Recommendation(chosen.estimator, chosen.error, _reason(chosen, others, why), tuple(others))


def _refusal(estimator, n_items, n_voters):
    """Return why an estimator could not be fitted, or "" if it could."""
    try:
        estimator.plan_for(Shape(n_items, n_voters))
    except (ValueError, ArithmeticError) as error:
        return f"{in_words(estimator)}: {error}"
    return ""


def _reason(chosen, others, why):
    runner_up = (
        ""
        if not others
        else (
            f" Runner-up: {in_words(others[0].estimator)}, whose expected error is {others[0].error:.2g} against "
            f"{chosen.error:.2g}."
        )
    )
    return f"{in_words(chosen.estimator)}, because {why}.{runner_up}"


def _check(n_items, n_voters, epsilon, delta):
    check_whole(n_items, "n_items", 2, _MOST_ITEMS)
    number = isinstance(n_voters, Real) and not isinstance(n_voters, bool)
    if not number or not 0 < n_voters < math.inf:
        raise ValueError(f"n_voters must be a positive, finite number; a public estimate will do; got {n_voters!r}.")
    if n_voters > _MOST_VOTERS:
        raise ValueError(f"n_voters must be at most {_MOST_VOTERS:g}, got more; a public estimate will do.")
    check_epsilon(epsilon)
    check_delta(delta)


def _relation(trust, neighboring):
    """Return the neighbouring relation; only the central model has a choice."""
    if neighboring is None:
        return "add_remove" if trust == "central" else "replace"
    check_neighboring(neighboring)
    if trust != "central" and neighboring != "replace":
        raise ValueError(
            f"neighboring must be 'replace' or None for trust={trust!r}, where the number of voters is public, "
            f"got {neighboring!r}."
        )
    return neighboring
