"""One published answer, and everything that follows from it for free."""

from collections.abc import Iterable
from typing import Any

from .base import Query


class Publication:
    """One published answer, and what follows from it: free, and derived once.

    Parameters
    ----------
    query : Query
        What was answered.
    answer : object
        Its answer.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dprank.queries import AllMargins, NetWins, Publication
    >>> Publication(AllMargins(), np.array([[0, 3], [-3, 0]])).derive(NetWins())
    array([ 3, -3])
    """

    def __init__(self, query: Query, answer: Any) -> None:
        self._query = query
        self._answers = {query: answer}

    def derive(self, query: Query) -> Any:
        """Return the answer to `query`.

        Raises
        ------
        LookupError
            If it does not follow from the publication.
        """
        if query not in self._answers:
            step = next((step for step in query.steps if step.follows_from(self._query)), None)
            if step is None:
                raise LookupError(f"{query} does not follow from {self._query}.")
            self._answers[query] = query.step(step, self.derive(step))
        return self._answers[query]

    def named(self, queries: Iterable[Query]) -> dict[str, Any]:
        """Return the answers to those of some queries that follow, by the name under which they are published."""
        return {str(q.published_as): self.derive(q) for q in queries if q.published_as and q.follows_from(self._query)}
