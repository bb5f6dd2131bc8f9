"""What is promised and what is drawn: guarantees, budgets, bits, noise, calibration."""

from .amplification import UnsoundAmplificationWarning, shuffle_amplification, shuffle_local_epsilon
from .calibration import gaussian_sigma
from .guarantee import PrivacyGuarantee
from .ledger import BudgetExhausted, Ledger

__all__ = [
    "BudgetExhausted",
    "Ledger",
    "PrivacyGuarantee",
    "UnsoundAmplificationWarning",
    "gaussian_sigma",
    "shuffle_amplification",
    "shuffle_local_epsilon",
]
