"""What private selection costs, and why: the best of a random number of draws, for one price.

One draw Q is a uniformly random candidate, its release and the private score of that release: if candidates
cost at most epsilon_c each and the score epsilon_s, Q is pure epsilon-DP with epsilon = epsilon_c + epsilon_s.
K draws are made, the best by score is the output and everything else is forgotten. K has the truncated negative
binomial distribution, P(K = k) proportional to (1 - gamma)^k times the product of (l + eta) / (l + 1) over
0 < l < k, k >= 1 and eta > -1 (eta = 1 is geometric, eta = 0 logarithmic), whose generating function f has

    f'(x) proportional to (gamma + (1 - gamma) (1 - x))^-(1 + eta).

*The output is (2 + eta) epsilon-DP, for every gamma in (0, 1].* Let y be a draw, Q(<y) and Q(>y) the
probabilities of lower and higher scores, and suppose first that no other draw has y's score. The best of k draws
is y with probability (Q(<y) + Q(y))^k - Q(<y)^k, so

    P(y) = f(Q(<y) + Q(y)) - f(Q(<y)) = Q(y) * integral of f'(Q(<y) + t Q(y)) over 0 <= t <= 1,

where f' is taken at 1 - x = Q(>y) + (1 - t) Q(y). Between neighbouring profiles Q(y) and Q(>y) each change by
a factor of at most e^epsilon, and so does gamma + (1 - gamma) (Q(>y) + (1 - t) Q(y)), gamma being a constant.
Hence f' changes by at most e^((1 + eta) epsilon), and with the Q(y) in front, P(y) by at most
e^((2 + eta) epsilon). Where several draws share y's score, the best score is that score s with probability
f(Q(<=s)) - f(Q(<s)), which is Q(s) times such an integral; the first of the draws that have it is one draw
from Q given s, equal to y with probability Q(y) / Q(s): the product is Q(y) times an integral as before.

The proof needs pure candidates: with delta > 0, an event of probability delta in one draw is one of
probability about E[K] delta among all, and the statements differ.
"""

from fractions import Fraction

from ...privacy.guarantee import PrivacyGuarantee
from ...privacy.rounding import rounded_up

_RUNNING_TIME = "running time reveals the number of draws, and is outside the guarantee"


def guarantee_of_the_best(guarantees, score_epsilon, eta):
    """Return the guarantee of the best draw.

    Parameters
    ----------
    guarantees : list of PrivacyGuarantee
        Pure ones, one for each candidate.
    score_epsilon : float
        Privacy loss of the score of one draw, in nats.
    eta : float
        Of the distribution of the number of draws, above -1.

    Raises
    ------
    ValueError
        If the candidates have different neighbouring relations.
    """
    relations = sorted({g.neighboring for g in guarantees})
    if len(relations) > 1:
        raise ValueError(
            f"candidates must share one neighbouring relation, got {relations}; set the same `neighboring` for all "
            '(local candidates are always "replace").'
        )
    dearest = max(g.epsilon for g in guarantees)
    exact = (2 + Fraction(eta)) * (Fraction(float(dearest)) + Fraction(score_epsilon))
    return PrivacyGuarantee(
        epsilon=rounded_up(exact),
        delta=0.0,
        trust="central",
        neighboring=relations[0],
        how=f"best of a random number of draws (truncated negative binomial, eta = {eta:g}): (2 + {eta:g}) x "
        f"({dearest:g} + {score_epsilon:g}) by Papernot and Steinke (2022), Theorem 2",
        arithmetic="; ".join(sorted({g.arithmetic for g in guarantees} - {"exact"})) or "exact",
        caveats=(_RUNNING_TIME, *dict.fromkeys(c for g in guarantees for c in g.caveats)),
    )
