"""What every randomizer is, and how a curator refuses a report."""

from sklearn.base import BaseEstimator

from ..queries import Query


class RefusedReport(ValueError):
    """A report that does not follow the protocol; `reason` echoes nothing of it."""

    def __init__(self, reason):
        super().__init__(f"report refused: {reason}")
        self.reason = reason


class Randomizer(BaseEstimator):
    """What a voter's device does to one ballot, and how a curator reads the reports.

    A subclass says what its reports determine (``releases``, a Query) and what rounding costs
    (``arithmetic``), and defines ``protocol(epsilon, n_items)``, ``report(protocol, ballot, bits)``,
    ``counter(protocol)`` and ``variance(protocol)``. All but the first read the public protocol only.
    """

    releases: Query
    arithmetic = "exact"

    def spent(self, epsilon, n_items):
        """Return the true, pure epsilon of one whole report.

        Parameters
        ----------
        epsilon : float
            What was asked for.
        n_items : int
            Number of items.

        Returns
        -------
        float
            `epsilon`, unless a published calibration spends another.
        """
        return float(epsilon)


def fields(report, protocol, *names):
    """Return the values of `names` in a report that has these and its version, and nothing else.

    Raises
    ------
    RefusedReport
        Otherwise.
    """
    if not isinstance(report, dict):
        raise RefusedReport("not a JSON object")
    if any(report.get(name) != protocol[name] for name in ("version", "randomizer")):
        raise RefusedReport("wrong version")
    if set(report) != {"version", "randomizer", *names}:
        raise RefusedReport("wrong keys")
    return [report[name] for name in names]


def stamped(protocol, **values):
    """Return a report with these values under the version that `fields` asks for."""
    return {"version": protocol["version"], "randomizer": protocol["randomizer"], **values}
