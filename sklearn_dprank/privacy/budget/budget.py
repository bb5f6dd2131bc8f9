"""`PrivacyBudget`: the account of one group of voters."""

import inspect
import os
from typing import Any, Self, TypeVar

from ..._utils.types import Amount, Neighboring
from ..estimator_guarantees import guarantee_of, last_step, last_step_params, owed_before
from ..guarantee import PrivacyGuarantee
from .charging import InMemory, Remaining, charged, in_excess, remaining_of, spent_by
from .releases import Release, Terms

_Estimator = TypeVar("_Estimator")
_STAYS = "This failed fit is still charged, because the failure may depend on the ballots."


class PrivacyBudget:
    """Privacy budget of one group of voters over several releases.

    Every release is charged before a ballot is read for it. A release that does not fit is refused. If a fit reveals
    more than was charged, the charge is raised, also beyond the budget.

    Parameters
    ----------
    epsilon : float
        The most that all releases together may reveal about one ballot, in nats.
    delta : float, default=0.0
        Probability mass outside that promise, for all together.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Which profiles count as neighbours. Under "replace" a guarantee under "add_remove" is charged as
        `PrivacyGuarantee.under_replace` states it. Under "add_remove" one under "replace" is refused.
    basic_delta : float or None, default=None
        How much of delta is kept for releases whose epsilons and deltas add up, as all do of which nothing else is
        known (the shuffle model's, say); the rest is for Gaussian and pure ones, which cost less together than that.
        None: all of it if of the first release nothing else is known; half if that is pure; and a tenth if it is
        Gaussian, or nothing where it needs all itself.
    simulation : bool, default=False
        Whether releases with a seed are charged, as though they had none, instead of refused: a rehearsal.

    Attributes
    ----------
    releases_ : tuple of Release
        ``(when, what, guarantee, release_id)`` of every charge: when (UTC, whole seconds), what sort of estimator, how
        much, and the caller's identifier or None. Nothing of the ballots, no number of voters, no seed.
    spent_ : PrivacyGuarantee
        What all of them promise together.
    remaining : Remaining
        How much one more release may reveal: ``epsilon`` if it is pure, ``gaussian_epsilon(delta)`` if it is Gaussian,
        ``basic_epsilon`` and ``basic_delta`` if nothing else is known of it.

    Raises
    ------
    ValueError
        If a parameter is out of bounds.

    See Also
    --------
    guarantee_of : What something fitted owes.
    PrivacyGuarantee.compose : What releases promise whose prices were fixed beforehand.

    Notes
    -----
    .. rubric:: Privacy

    All releases that are charged to one budget are (epsilon, delta)-private together, also if each was chosen, or its
    price was, after a look at those before. They fit as long as their epsilons and deltas add up to at most epsilon
    and `basic_delta`, or all are Gaussian or pure and reveal no more than one Gaussian release of epsilon and of the
    rest of delta. (Sums may exceed that by one part in 10^12: ten times .1, as floats, is more than 1.) `spent_` says
    the smaller of the two, with a caveat: where prices were so chosen and delta is not 0, what is proved is the promise
    of the whole budget. For pure releases `PrivacyGuarantee.compose` states less, for prices that are fixed beforehand.

    A fit that fails stays charged, for whether it fails may depend on the ballots. So does one that is interrupted.
    The budget knows only what is charged to it: another budget, a ``fit`` of its own, an exact ``score`` of private
    ballots are not in it. A voter who stands in k rows is owed k times what is stated.

    A budget in memory is forgotten with its process, and cannot be copied, pickled or used in a forked process, because
    two copies would spend it twice. One in a file (`open`) can be shared by processes.

    References
    ----------
    Rogers, Roth, Ullman and Vadhan (2016), "Privacy odometers and filters: pay-as-you-go composition"; Smith and
    Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy".

    Examples
    --------
    >>> from sklearn_dprank import DPBorda
    >>> from sklearn_dprank.privacy import PrivacyBudget
    >>> votes = [[0, 1, 2]] * 100
    >>> budget = PrivacyBudget(epsilon=1.0)
    >>> budget.fit(DPBorda(epsilon=0.5), votes).consensus_
    array([0, 1, 2])
    >>> print(budget.spent_)
    epsilon = 0.5 (central, add_remove)
    >>> budget.fit(DPBorda(epsilon=0.75), votes)
    Traceback (most recent call last):
    ...
    sklearn_dprank.privacy.ledger.BudgetExhausted: DPBorda asks for epsilon = 0.75 (central, add_remove), which does not
    fit: of epsilon = 1, 0.5 is spent. One more pure release may have epsilon = 0.5. Ask for less; ballots of these
    voters allow no more.
    >>> budget.remaining.epsilon
    0.5

    A hundred Gaussian releases:

    >>> budget = PrivacyBudget(epsilon=0.92, delta=1e-6)
    >>> daily = DPBorda(epsilon=0.1, delta=1e-8, noise="gaussian")
    >>> for _ in range(100):
    ...     _ = budget.fit(daily, votes)
    >>> round(budget.spent_.epsilon, 3), len(budget.releases_)
    (0.919, 100)
    """

    def __init__(
        self,
        epsilon: Amount,
        delta: Amount = 0.0,
        *,
        neighboring: Neighboring = "add_remove",
        basic_delta: Amount | None = None,
        simulation: bool = False,
    ) -> None:
        self._kept: Any = InMemory(Terms(epsilon, delta, neighboring, basic_delta, simulation).checked())

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        *,
        neighboring: Neighboring | None = None,
        basic_delta: Amount | None = None,
        simulation: bool | None = None,
    ) -> Self:
        """Return the budget that is kept in a file, of a new file if there is none and `epsilon` is given.

        Every charge is on the disk before a ballot is read for it. Processes that share the file charge one after the
        other. A copy of the file, or an old one put back, spends the same budget twice: keep one, on a local disk.

        Parameters
        ----------
        path : str or path-like
            Of the file, an SQLite database. Who may read it is left to the process's umask; it holds what is in
            ``releases_``.
        epsilon, delta, neighboring, basic_delta, simulation : optional
            Of a new budget, as for the class. A file that exists has its own, and these must be the same if they
            are given.

        Returns
        -------
        PrivacyBudget

        Raises
        ------
        FileNotFoundError
            If there is no such file, and no `epsilon` is given.
        ValueError
            If a parameter is out of bounds or differs from the file's, or the file is damaged, of another kind or of a
            later version.
        OSError
            If the file cannot be opened and written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from sklearn_dprank import DPBorda
        >>> from sklearn_dprank.privacy import PrivacyBudget
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "members.budget"
        ...     _ = PrivacyBudget.open(path, epsilon=1.0).fit(DPBorda(epsilon=0.25), [[0, 1, 2]] * 100)
        ...     PrivacyBudget.open(path).remaining.epsilon
        0.75
        """
        from .file import KeptInFile

        asked: dict[str, Any] = {
            "delta": delta,
            "neighboring": neighboring,
            "basic_delta": basic_delta,
            "simulation": simulation,
        }
        asked = {name: value for name, value in asked.items() if value is not None}
        new = None if epsilon is None else Terms(epsilon, **asked).checked()
        budget = cls.__new__(cls)
        budget._kept = KeptInFile(path, new)
        for name in asked if new is None else ["epsilon", *asked]:
            wanted, there = asked[name] if new is None else getattr(new, name), getattr(budget._kept.terms, name)
            if wanted != there:
                raise ValueError(
                    f"the budget in {path} was opened with {name}={there!r}, got {wanted!r}; leave {name} out. What "
                    "voters were promised cannot be changed."
                )
        return budget

    def fit(
        self, estimator: _Estimator, X: Any, y: None = None, *, release_id: str | None = None, **fit_params: Any
    ) -> _Estimator:
        """Charge what a fit will owe, then fit.

        After the fit its guarantee is compared with the charge: epsilon, delta, certificate, unit and who is trusted.
        If the fit revealed more, the charge is raised to that, also beyond the budget, and an error is raised. A
        subclass must not override what `fit` calls between the ballots and the release (``read_ballots``, say).

        Parameters
        ----------
        estimator : estimator
            An aggregator, a Pipeline of transformers that read each ballot by itself and an aggregator,
            `~sklearn_dprank.model_selection.PrivateSelection`, or a search whose ballots are declared public (which is
            charged nothing).
        X : array-like of shape (n_voters, n_items) or Profile
            The ballots. What is charged depends on what is public of them only.
        y : None
            Ignored.
        release_id : str or None, default=None
            Identifier of this release. A later call with the same identifier is refused, also in another process that
            shares the file, and also if the fit of the first call failed. So a task that runs again neither pays nor
            publishes twice.
        **fit_params : dict
            For the estimator's ``fit``; with metadata routing, under the names that the steps request.

        Returns
        -------
        estimator : estimator
            The same, fitted.

        Raises
        ------
        BudgetExhausted
            If it does not fit, or `release_id` is already charged; nothing is charged, and no ballot was read.
        ValueError
            If it promises nothing, has a seed, or what it will owe cannot be known beforehand; or its own. An error of
            its own fit leaves it charged, and says so.
        RuntimeError
            If the fit revealed more than was charged beforehand. All that it revealed is charged.
        """
        owed = owed_before(estimator, X, last_step_params(estimator, fit_params).get("voter_epsilon"))
        inspect.signature(estimator.fit).bind(X, y, **fit_params)  # type: ignore[attr-defined]
        what = type(last_step(estimator)).__name__
        number = self._charge(owed, what, release_id)
        try:
            fitted: _Estimator = estimator.fit(X, y, **fit_params)  # type: ignore[attr-defined]
            spent = guarantee_of(fitted)
        except BaseException as error:
            error.add_note(_STAYS)
            raise
        more = in_excess(self._kept.terms, owed, spent)
        if more is not None:
            self._kept.amend(number, more)
            raise RuntimeError(
                f"{what} was charged {owed} before its fit, and its fit revealed more: {spent}. All of that is charged "
                "now. Use an estimator that states its guarantee beforehand, in plan_for."
            )
        return fitted

    def charge(self, guarantee: PrivacyGuarantee, what: str, *, release_id: str | None = None) -> None:
        """Charge a release that is made elsewhere; before it is made.

        What voters' devices reveal is charged once, when they are asked: what a curator makes of their reports
        afterwards (``fit_reports``) reveals no more. A stream is charged once, before its first period. What an
        aggregator will promise is in its plan.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            What it promises.
        what : str
            What it is, for ``releases_``.
        release_id : str or None, default=None
            Identifier of the release, which is charged once; see `fit`.

        Raises
        ------
        BudgetExhausted
            If it does not fit, or `release_id` is already charged; nothing is charged.
        ValueError
            If it promises nothing, a seed was given, or it is about other neighbours.

        Examples
        --------
        >>> from sklearn_dprank import LDPPairwise
        >>> from sklearn_dprank.privacy import PrivacyBudget
        >>> from sklearn_dprank.ballots.profile import Shape
        >>> budget = PrivacyBudget(epsilon=2.0, neighboring="replace")
        >>> _, plan = LDPPairwise(epsilon=1.0).plan_for(Shape(n_items=4))
        >>> budget.charge(plan.guarantee, "survey of May")
        >>> budget.releases_[0].what, budget.remaining.epsilon
        ('survey of May', 1.0)
        """
        if not isinstance(guarantee, PrivacyGuarantee):
            raise ValueError(f"guarantee must be a PrivacyGuarantee, got {type(guarantee).__name__}.")
        if not isinstance(what, str) or not what:
            raise ValueError(f"what must be a few words, got {type(what).__name__}.")
        self._charge(guarantee, what, release_id)

    def _charge(self, guarantee, what, release_id):
        """Return the number of the release that was charged."""
        number: int = self._kept.add(lambda before: charged(self._kept.terms, before, guarantee, what, release_id))
        return number

    @property
    def releases_(self) -> tuple[Release, ...]:
        """Every charge, the oldest first."""
        return tuple(self._kept.releases())

    @property
    def spent_(self) -> PrivacyGuarantee:
        """What all releases promise together."""
        return spent_by(self._kept.terms, self._kept.releases())

    @property
    def remaining(self) -> Remaining:
        """How much one more release may reveal."""
        return remaining_of(self._kept.terms, self._kept.releases())

    def __repr__(self) -> str:
        terms = ", ".join(f"{name}={value!r}" for name, value in self._kept.terms._asdict().items())
        return f"PrivacyBudget({terms})"
