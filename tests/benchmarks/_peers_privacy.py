"""
Comparisons of noise and accounting
===================================

Noise sampling is compared with OpenDP, and composition of guarantees with dp-accounting. Neither package ranks items.
"""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
from _peers import Duel, close, expected

from sklearn_dprank.privacy import PrivacyGuarantee, gaussian_sigma
from sklearn_dprank.privacy.composition import Losses, gaussian_epsilon
from sklearn_dprank.sampling.bit_source import SecureBits
from sklearn_dprank.sampling.discrete_laplace import discrete_laplace
from sklearn_dprank.sampling.rounded_gaussian import rounded_gaussian

SCALE = 10
DELTA = 1e-6
GRID = 1e-4  # by default, dp-accounting rounds losses up to multiples of this

# %%
# OpenDP: both sides use the operating system's random bits. Its measurement is made beforehand.


def _noise(ours, theirs, size, variance):
    """Return a duel of noise that checks mean and variance of at least two thousand draws of each side."""

    def agree(*_):
        for call in (ours, theirs):
            drawn = np.concatenate([np.atleast_1d(call()) for _ in range(-(-2000 // size))])
            expected(drawn, 0)
            expected(np.square(drawn), variance)
        return "same variance"

    return Duel(ours, theirs, agree)


def _opendp():
    import opendp.prelude

    opendp.prelude.enable_features("contrib")
    return opendp.prelude


def opendp_laplace(size):
    dp = _opendp()
    if size == 1:
        space, zeros = (dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")), 0
    else:
        space, zeros = (dp.vector_domain(dp.atom_domain(T="i64"), size=size), dp.l1_distance(T="i64")), [0] * size
    theirs, bits, gone = dp.m.make_laplace(*space, scale=float(SCALE)), SecureBits(), math.exp(-1 / SCALE)
    variance = 2 * gone / (1 - gone) ** 2
    return _noise(partial(discrete_laplace, Fraction(1, SCALE), size, bits), lambda: theirs(zeros), size, variance)


def opendp_gaussian(size):
    """Compare rounded normals with OpenDP's discrete Gaussian; the variances differ by a twelfth."""
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T="i64"), size=size)
    theirs, zeros = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(SCALE)), [0] * size
    ours = partial(rounded_gaussian, np.zeros(size, dtype=np.int64), float(SCALE), SecureBits())
    return _noise(ours, lambda: theirs(zeros), size, SCALE**2 + 1 / 24)


# %%
# dp-accounting: the cost of a Gaussian release, and the joint cost of several releases. The tenth digit of delta
# differs from call to call, so that no result comes from a cache.


def _deltas():
    return (DELTA * (1 + 1e-9 * turn) for turn in itertools.count()).__next__


def accounting_gaussian_epsilon():
    from dp_accounting.gaussian_mechanism import get_epsilon_gaussian

    delta = _deltas()
    return Duel(lambda: gaussian_epsilon(delta(), 3.0), lambda: get_epsilon_gaussian(3.0, delta()), close)


def accounting_gaussian_sigma():
    from dp_accounting.gaussian_mechanism import get_sigma_gaussian

    delta = _deltas()
    return Duel(lambda: gaussian_sigma(1.0, delta()), lambda: get_sigma_gaussian(1.0, delta()), close)


def _composition(guarantees, losses, least=-1e-6):
    """Return a duel of composed guarantees; `losses` returns dp-accounting's distribution of all their losses.

    Its epsilon may be above ours by the cost of its grid, and below ours by at most -`least`.
    """
    delta, most = _deltas(), GRID * len(guarantees)

    def agree(ours, theirs):
        if not least <= theirs - ours <= most:
            raise ValueError(f"epsilon is {ours} here and {theirs} there")
        return f"ε {ours:.4f} here, {theirs:.4f} there"

    return Duel(
        lambda: PrivacyGuarantee.compose(guarantees, delta=delta()).epsilon,
        lambda: losses().get_epsilon_for_delta(delta()),
        agree,
    )


def _pure(epsilon):
    return PrivacyGuarantee(epsilon, 0.0, "central", "add_remove", "a pure release")


def _coin(epsilon):
    from dp_accounting.pld import common
    from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters

    return from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, 0.0))


def accounting_pure(count, epsilon=0.1):
    _coin(epsilon)
    return _composition([_pure(epsilon)] * count, lambda: _coin(epsilon).self_compose(count))


def accounting_unequal(count):
    epsilons = np.linspace(0.01, 0.3, count).tolist()
    _coin(epsilons[0])

    def losses():
        total = _coin(epsilons[0])
        for epsilon in epsilons[1:]:
            total = total.compose(_coin(epsilon))
        return total

    return _composition([_pure(epsilon) for epsilon in epsilons], losses)


def accounting_mixed(pure, normal, epsilon=0.1):
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    sigma = gaussian_sigma(1.0, DELTA / 10)
    words = "central", "add_remove", "a Gaussian release"
    one = PrivacyGuarantee(1.0, DELTA / 10, *words, losses=Losses(sigma**-2))

    def losses():
        return _coin(epsilon).self_compose(pure).compose(from_gaussian_mechanism(sigma / math.sqrt(normal)))

    return _composition([_pure(epsilon)] * pure + [one] * normal, losses)


def accounting_laplace(count, epsilon=0.1):
    """Compare with dp-accounting's loss of Laplace noise; here, a release is only known to be pure."""
    from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism

    losses = partial(from_laplace_mechanism, 1 / epsilon)
    return _composition([_pure(epsilon)] * count, lambda: losses().self_compose(count), least=-count * epsilon)
