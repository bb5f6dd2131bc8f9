"""Error of a request that the remaining budget does not cover."""


class BudgetExhausted(RuntimeError):
    """Error of a request that the remaining budget does not cover.

    An adaptive rule catches it and uses its fallback.
    """
