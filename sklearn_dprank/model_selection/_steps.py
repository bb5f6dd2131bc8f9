"""What a pipeline is made of, as far as privacy is concerned."""

from sklearn.pipeline import Pipeline

from ..preprocessing import RatingsToRankings


def last_step(estimator):
    """Return the estimator that a pipeline, or a pipeline in it, ends in; any other estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def mixing_step(estimator):
    """Return the first transformer that may mix ballots with each other, or None.

    The guarantee of an aggregator holds for the ballots that reach it. It holds for those that entered the pipeline if
    every transformer reads each ballot by itself, and only `RatingsToRankings` is known to.
    """
    while isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            if step not in (None, "passthrough") and type(step) is not RatingsToRankings:
                return step
        estimator = estimator.steps[-1][1]
    return None
