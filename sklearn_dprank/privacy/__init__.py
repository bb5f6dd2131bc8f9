"""Privacy guarantees, budgets and calibration."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .budget import PrivacyBudget
    from .composition import gaussian_sigma
    from .errors import BudgetExhausted
    from .estimator_guarantees import guarantee_of
    from .guarantee import PrivacyGuarantee
    from .shuffle import UnsoundAmplificationWarning, shuffle_amplification, shuffle_local_epsilon

__all__ = [
    "BudgetExhausted",
    "PrivacyBudget",
    "PrivacyGuarantee",
    "UnsoundAmplificationWarning",
    "gaussian_sigma",
    "guarantee_of",
    "shuffle_amplification",
    "shuffle_local_epsilon",
]

# Loaded on first use: clients import modules of this package, and must not load SciPy.
if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "BudgetExhausted": "errors",
            "PrivacyBudget": "budget",
            "PrivacyGuarantee": "guarantee",
            "UnsoundAmplificationWarning": "shuffle",
            "gaussian_sigma": "composition",
            "guarantee_of": "estimator_guarantees",
            "shuffle_amplification": "shuffle",
            "shuffle_local_epsilon": "shuffle",
        },
    )
