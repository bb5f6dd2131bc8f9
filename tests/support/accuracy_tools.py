"""The mean error of an estimator on Mallows profiles, for tests that compare it with a recorded error."""

from sklearn.base import clone

from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.metrics import excess_kendall_tau, kemeny_positions


def mallows_profiles(n_profiles, n_voters, n_items):
    """Profiles around random centres with dispersion .75. A fixed centre would flatter ties broken by index."""
    seeds = range(n_profiles)
    return [Profile.from_rankings(make_mallows(n_voters, n_items, 0.75, random_state=seed)) for seed in seeds]


def mean_excess(estimator, profiles, repeats=1):
    """Mean excess Kendall tau error over profiles, in percent of the item pairs. Each fit has a seed of its own."""
    solved = [(profile, kemeny_positions(profile)) for profile in profiles]
    errors = []
    for seed, (profile, optimum) in enumerate(solved * repeats):
        fitted = clone(estimator).set_params(random_state=seed).fit(profile)
        errors.append(excess_kendall_tau(fitted.ranks_, profile, optimum=optimum))
    return 100 * sum(errors) / len(errors)
