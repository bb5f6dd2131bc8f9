"""What is promised and what is drawn: guarantees, budgets, bits, noise, calibration."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .budget.budget import PrivacyBudget
    from .calibration import gaussian_sigma
    from .estimator_guarantees import guarantee_of
    from .guarantee import PrivacyGuarantee
    from .ledger import BudgetExhausted, Ledger
    from .shuffle.amplification import UnsoundAmplificationWarning, shuffle_amplification, shuffle_local_epsilon

__all__ = [
    "BudgetExhausted",
    "Ledger",
    "PrivacyBudget",
    "PrivacyGuarantee",
    "UnsoundAmplificationWarning",
    "gaussian_sigma",
    "guarantee_of",
    "shuffle_amplification",
    "shuffle_local_epsilon",
]

# Loaded when first used: a voter's device imports `bits` and `ledger`, and has no need of SciPy.
if not TYPE_CHECKING:  # a checker would take every name for one of the package's
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "BudgetExhausted": "ledger",
            "Ledger": "ledger",
            "PrivacyBudget": "budget.budget",
            "PrivacyGuarantee": "guarantee",
            "UnsoundAmplificationWarning": "shuffle.amplification",
            "gaussian_sigma": "calibration",
            "guarantee_of": "estimator_guarantees",
            "shuffle_amplification": "shuffle.amplification",
            "shuffle_local_epsilon": "shuffle.amplification",
        },
    )
