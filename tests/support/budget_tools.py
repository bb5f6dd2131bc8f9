"""Guarantees and budgets with charges, for tests of privacy budgets."""

from sklearn_dprank.privacy import PrivacyBudget, PrivacyGuarantee


def pure(epsilon, neighboring="add_remove"):
    """The guarantee of a pure release by the curator."""
    return PrivacyGuarantee(epsilon, 0.0, "central", neighboring, "discrete Laplace noise")


def charged(*releases, **terms):
    """A budget of epsilon 1 after these releases: guarantees, or the epsilons of pure ones."""
    budget = PrivacyBudget(1.0, **terms)
    for release in releases:
        budget.charge(pure(release) if isinstance(release, float) else release, "a release")
    return budget
