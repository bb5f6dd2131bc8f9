"""Privacy budget for several releases about the same voters."""

from __future__ import annotations

import inspect
import os
from typing import Any, Self, TypeVar

from ..._utils.checks import refuse_unknown
from ..._utils.fitted import hand_over, own_copy
from ..._utils.types import Amount, Neighboring
from ..estimator_guarantees import guarantee_before, guarantee_of, is_forecast_proved, last_step, last_step_params
from ..guarantee import PrivacyGuarantee
from .adaptive import Remaining
from .charging import InMemory, charged, in_excess, in_terms, open_charge, spent_by
from .releases import Release, Terms

_Estimator = TypeVar("_Estimator")
#: Parameters of `fit` that `guarantee_before` accepts: it reads their public properties only.
_PUBLIC = ("voter_epsilon", "segments")
_STAYS = "This failed fit is still charged, because the failure may depend on the ballots."


class PrivacyBudget:
    """Privacy budget for more than one release about the same voters.

    Each release is charged before its ballots are read. A release that does not fit is refused. If a fit reveals more
    than was charged, the charge is raised, even beyond the budget.

    Parameters
    ----------
    epsilon : float
        Limit on the total privacy loss per ballot, in nats.
    delta : float, default=0.0
        Limit on the total delta.
    neighboring : {"add_remove", "replace"}, default="add_remove"
        Neighbouring relation. Under "replace", an "add_remove" release is charged as `PrivacyGuarantee.under_replace`
        states. Under "add_remove", a "replace" release is refused.
    basic_delta : float or None, default=None
        Part of delta for basic composition, where epsilons and deltas add up. Releases that are neither Gaussian nor
        pure, such as shuffle releases, need it. The rest is for Gaussian and pure releases, which compose more tightly.
        None decides at the first release: half of delta if it is pure, a tenth if it is Gaussian, and all of delta
        otherwise. It is 0 if the first release is Gaussian and needs all of delta.
    simulation : bool, default=False
        Whether to charge releases with a seed as if they had none. By default they are refused.

    Attributes
    ----------
    releases_ : tuple of Release
        One ``(when, what, guarantee, release_id)`` per charge: time (UTC, whole seconds), kind of estimator, guarantee,
        and the caller's identifier or None. It contains no ballots and no seed. The guarantee of a shuffle or secure
        aggregation release states `min_reports`, by default the number of voters; both are public in these models.
    spent_ : PrivacyGuarantee
        Joint guarantee of all charged releases.
    remaining : Remaining
        Limits for one more release: ``epsilon`` if it is pure, ``gaussian_epsilon(delta)`` if it is Gaussian, and
        ``basic_epsilon`` and ``basic_delta`` if it is neither.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    guarantee_of : Guarantee of a fitted estimator, pipeline or search.
    PrivacyGuarantee.compose : Joint guarantee of releases whose epsilons and deltas were fixed in advance.

    Notes
    -----
    .. rubric:: Privacy

    All releases charged to one budget are jointly (epsilon, delta)-private. You may choose a release and its epsilon
    after looking at earlier results. The releases fit if one of two conditions holds:

    - Their epsilons add up to at most epsilon, and their deltas to at most `basic_delta`.
    - All are Gaussian or pure, and together reveal no more than one Gaussian release of epsilon and the rest of delta.

    Sums may exceed a limit by one part in 10^12, because the double 0.1 is slightly above 0.1: ten of them exceed 1.

    `spent_` reports the smaller epsilon of the two conditions. If delta is not 0 and choices depended on earlier
    results, only the guarantee of the whole budget is proved. A caveat of `spent_` explains this. For pure releases
    with epsilons fixed in advance, `PrivacyGuarantee.compose` can state less, but only if it gets a `delta`.

    A failed or interrupted fit is still charged, because the failure may depend on the ballots. The budget counts only
    what is charged to it. It does not count another budget, a direct ``fit``, or an exact ``score`` of private ballots.
    For a voter with k ballots, epsilon is k times as large, and a positive delta more than k times as large.

    A budget in memory ends with its process. It cannot be copied, pickled or used in a forked process, because two
    copies would spend it twice. Processes can share a budget in a file (`open`).

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
        """Return the budget in a file; create the file if it does not exist and `epsilon` is given.

        Every charge is on the disk before a ballot is read for it. Processes that share the file charge one after the
        other. Keep only one copy of the file, on a local disk. A second copy, or an old copy that is put back, spends
        the same budget twice.

        Parameters
        ----------
        path : str or path-like
            Path of the file, an SQLite database. It contains ``releases_``. The umask of the process determines who may
            read it.
        epsilon, delta, neighboring, basic_delta, simulation : optional
            Terms of a new budget, as for the class. For an existing file, terms that are given must equal those in the
            file.

        Returns
        -------
        PrivacyBudget
            The budget.

        Raises
        ------
        FileNotFoundError
            If the file does not exist and `epsilon` is not given.
        ValueError
            If a parameter is out of range or differs from the file. Also if the file is damaged, of another kind or of
            a later version.
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
                    "voters were told cannot be changed."
                )
        return budget

    def fit(
        self, estimator: _Estimator, X: Any, y: None = None, *, release_id: str | None = None, **fit_params: Any
    ) -> _Estimator:
        """Charge the guarantee of a fit, then fit.

        The estimator is copied first. Another thread that changes or fits it changes neither the charge nor this fit.
        After the fit, its guarantee is compared with the charge: epsilon, delta, certificate, unit, neighbouring
        relation and trusted parties. If the fit revealed more, the charge is raised to that, even beyond the budget,
        and an error is raised. A subclass of an aggregator or a search must not override the methods that `fit` calls
        between ballots and release, such as ``read_ballots``, or ``guarantee_after``. If it states its guarantee by a
        ``guarantee_before`` of its own, nothing proves that before the fit. Then all that is left is charged first, and
        the charge is settled after the fit. If the process ends before that, nothing is left.

        Parameters
        ----------
        estimator : estimator
            An aggregator, or a Pipeline of transformers that read each ballot independently and an aggregator. Also
            `~sklearn_dprank.model_selection.PrivateSelection`, or a search whose ballots are declared public. Such a
            search costs no budget.
        X : array-like of shape (n_voters, n_items) or Profile
            Ballots. The charge depends only on their public properties.
        y : None
            Ignored.
        release_id : str or None, default=None
            Identifier of this release. A later call with the same identifier is refused, even if the first fit failed.
            This also holds in other processes that share the file. A task that runs again therefore neither pays nor
            publishes twice.
        **fit_params : dict
            Parameters for the estimator's ``fit``. With metadata routing, use the names that the steps request.

        Returns
        -------
        estimator : estimator
            The same object, fitted.

        Raises
        ------
        BudgetExhausted
            If the release does not fit, or `release_id` is already charged. Then no budget is charged and no ballot is
            read.
        ValueError
            If the estimator has no privacy guarantee, or its guarantee cannot be known in advance. Also if it has a
            seed, unless the budget is a simulation. Errors of the estimator's own ``fit`` are raised unchanged, with a
            note that the release is still charged.
        RuntimeError
            If the fit revealed more than was charged before it. All that it revealed is charged. Also if the account
            could not be settled after the fit. In both cases, the estimator is not fitted.
        """
        own = own_copy(estimator)  # what is priced is what is fitted, whatever other threads do to the object
        given = last_step_params(own, fit_params)
        forecast = guarantee_before(own, X, **{name: given[name] for name in _PUBLIC if name in given})
        inspect.signature(own.fit).bind(X, y, **fit_params)
        known = inspect.signature(last_step(own).fit).parameters
        refuse_unknown(last_step(own), [name for name in given if name not in known])
        what = type(last_step(own)).__name__
        is_open = not is_forecast_proved(own)
        number = self._charge(forecast, what, release_id, is_open)
        try:
            own.fit(X, y, **fit_params)
            spent = guarantee_of(own)
        except BaseException as error:
            error.add_note(_STAYS)
            raise
        more = in_excess(self._kept.terms, forecast, spent)
        if more is not None or is_open:
            self._settle(number, more or in_terms(self._kept.terms, forecast), f"{what} revealed {spent}", is_open)
        if more is not None:
            raise RuntimeError(
                f"{what} was charged {forecast} before its fit, and its fit revealed more: {spent}. All of that is "
                "charged now, and the estimator is not fitted. Use an estimator that states its guarantee beforehand, "
                "in plan_for."
            )
        hand_over(own, estimator)
        return estimator

    def _settle(self, number, guarantee, revealed, is_open):
        """Replace the charge of a fit by what it revealed; explain a failure."""
        try:
            self._kept.amend(number, guarantee)
        except BaseException as error:
            stays = "an open charge, which leaves nothing" if is_open else "the smaller charge from before the fit"
            raise RuntimeError(
                f"{revealed}, and this could not be written ({error.__cause__ or error}). The account keeps "
                f"{stays}. The estimator is not fitted. Restore the account before the next release."
            ) from error

    def charge(self, guarantee: PrivacyGuarantee, what: str, *, release_id: str | None = None) -> None:
        """Charge a release that is made elsewhere. Call this before the release.

        Charge the reports of voters' clients once, before you request them. Aggregating them later (``fit_reports``)
        reveals no more. Charge a stream once, before its first period. The plan of an aggregator (``plan_for``)
        contains its guarantee.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            Guarantee of the release.
        what : str
            Short description of the release, for ``releases_``.
        release_id : str or None, default=None
            Identifier of the release, which can be charged only once; see `fit`.

        Raises
        ------
        BudgetExhausted
            If the release does not fit, or `release_id` is already charged. Then no budget is charged.
        ValueError
            If the guarantee is not private, or its neighbouring relation or unit does not fit the budget. Also if it
            has a seed, unless the budget is a simulation.

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

    def _charge(self, guarantee, what, release_id, is_open=False):
        """Charge a release, or all that is left for an open charge; return its number."""

        def decide(before):
            release = charged(self._kept.terms, before, guarantee, what, release_id)
            return release._replace(guarantee=open_charge(release.guarantee)) if is_open else release

        number: int = self._kept.add(decide)
        return number

    @property
    def releases_(self) -> tuple[Release, ...]:
        """All charged releases, oldest first."""
        return tuple(self._kept.releases())

    @property
    def spent_(self) -> PrivacyGuarantee:
        """Joint guarantee of all charged releases."""
        return spent_by(self._kept.terms, self._kept.releases())

    @property
    def remaining(self) -> Remaining:
        """Limits for one more release."""
        return self._kept.account().left()

    def __repr__(self) -> str:
        terms = ", ".join(f"{name}={value!r}" for name, value in self._kept.terms._asdict().items())
        return f"PrivacyBudget({terms})"
