"""What a search tries: the rows of its grid, and an estimator for each."""

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from ._subjects import is_seed


def grid_of(param_grid):
    """Return the rows of a grid.

    Raises
    ------
    ValueError
        If there is none.
    """
    rows = list(ParameterGrid(param_grid))
    if not rows:
        raise ValueError(f"param_grid is empty; give at least one candidate to choose, got {param_grid!r}.")
    return rows


def refuse_seeds(rows):
    """Refuse a grid that ranges over seeds."""
    for name in {name for row in rows for name in row if is_seed(name)}:
        raise ValueError(
            f"param_grid must not range over {name!r}: every trial has a seed of its own; set n_trials, and the "
            "search's random_state."
        )


def check_one_estimator(estimator):
    """Refuse what is no estimator, such as a list of them."""
    if not hasattr(estimator, "set_params"):
        raise ValueError(
            f"estimator must be one estimator, got {type(estimator).__name__}; to compare several, let a grid range "
            'over the steps of a Pipeline: GridSearchCV(Pipeline([("aggregator", DPBorda())]), {"aggregator": [...]}).'
        )


def configured(estimator, row):
    """Return a clone of an estimator, with the parameters of a row of the grid."""
    return clone(estimator).set_params(**clone(row, safe=False))
