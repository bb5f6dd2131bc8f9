"""Displays: computed in ``from_*``, drawn in ``plot``. Needs matplotlib (the extra ``plot``)."""

import numpy as np
from sklearn.base import clone

from ..metrics import average_kendall_tau, kemeny_positions
from ..model_selection import cross_validate
from ..profile import Profile

_MARKERS = "os^Dvp*XP<>h"
_LINES = ["-", "--", "-.", ":"]
# Okabe and Ito's palette: told apart by the colour-blind, and in grey together with the markers.
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


class PrivacyUtilityDisplay:
    """Error against epsilon, one line a mechanism.

    Build it with `from_estimators`.

    Parameters
    ----------
    epsilons : array-like of shape (n_epsilons,)
        Privacy losses.
    errors : dict of {str: ndarray of shape (n_epsilons, n_trials)}
        Average Kendall tau distance of every trial, by mechanism.
    floor : float
        Distance of the Kemeny optimum: no ranking does better.
    ceiling : float, default=0.5
        Expected distance of a random ranking.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.plotting import PrivacyUtilityDisplay
    >>> display = PrivacyUtilityDisplay.from_estimators(
    ...     {"P-BORDA": DPBorda()}, [[0, 1, 2]] * 50, epsilons=[0.1, 1.0], n_trials=2, random_state=0
    ... )
    >>> display.errors["P-BORDA"].shape
    (2, 2)
    """

    def __init__(self, epsilons, errors, floor, ceiling=0.5):
        self.epsilons = np.asarray(epsilons, dtype=float)
        self.errors = errors
        self.floor = floor
        self.ceiling = ceiling

    @classmethod
    def from_estimators(cls, estimators, X, *, epsilons, n_trials=10, random_state=None, n_jobs=None):
        """Fit every estimator at every epsilon, `n_trials` times.

        Parameters
        ----------
        estimators : dict of {str: aggregator}
            Mechanisms by name; each has an ``epsilon`` parameter.
        X : array-like of shape (n_voters, n_items) or Profile
            The ballots.
        epsilons : array-like of shape (n_epsilons,)
            Privacy losses to try.
        n_trials, random_state, n_jobs
            As in `sklearn_dprank.model_selection.cross_validate`.

        Returns
        -------
        PrivacyUtilityDisplay
            Not drawn yet.
        """
        profile = X if isinstance(X, Profile) else Profile.from_rankings(X)
        settings = {"n_trials": n_trials, "random_state": random_state, "n_jobs": n_jobs}
        errors = {}
        for name, estimator in estimators.items():
            candidates = [clone(estimator).set_params(epsilon=epsilon) for epsilon in epsilons]
            trials = [cross_validate(candidate, profile, **settings) for candidate in candidates]
            errors[name] = np.array([-trial["test_score"] for trial in trials])
        floor = average_kendall_tau(kemeny_positions(profile), profile)
        pairs = profile.pairwise_counts.sum() / 2  # a random order overrules half of all opinions
        ceiling = float(pairs / (profile.n_voters * profile.n_items * (profile.n_items - 1) / 2))
        return cls(epsilons, errors, floor, ceiling)

    def plot(self, ax=None):
        """Draw the means, with bands from the smallest to the largest trial.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        PrivacyUtilityDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError('plotting needs matplotlib: pip install "sklearn-dprank[plot]"') from None
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
        for k, (name, errors) in enumerate(self.errors.items()):
            colour = _COLOURS[k % len(_COLOURS)]
            ax.fill_between(self.epsilons, errors.min(axis=1), errors.max(axis=1), color=colour, alpha=0.15, lw=0)
            ax.plot(
                self.epsilons,
                errors.mean(axis=1),
                color=colour,
                marker=_MARKERS[k % len(_MARKERS)],
                linestyle=_LINES[k % len(_LINES)],
                label=name,
            )
        ax.axhline(self.floor, color="0.2", lw=1, label="Kemeny optimum (not private)")
        ax.axhline(self.ceiling, color="0.6", lw=1, ls=(0, (1, 2)), label="random ranking")
        ax.set_xscale("log")
        ax.set_xlabel("epsilon of one release")
        ax.set_ylabel("average Kendall tau distance (not private)")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
