"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import estimator_checks_generator


def own_checks(estimator):
    """Yield (name, estimator, check) of each but that of Array API, which is skipped unless a variable is set."""
    # Not by parametrize_with_checks: pytest 9 deprecates the generator that scikit-learn 1.6 passes there.
    for made, check in estimator_checks_generator(estimator):
        name = getattr(check, "func", check).__name__
        if name != "check_array_api_input":
            yield name, made, check
