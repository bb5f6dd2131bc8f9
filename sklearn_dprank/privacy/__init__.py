"""What is promised and what is drawn: guarantees, budgets, bits, noise, calibration."""

from .amplification import UnsoundAmplificationWarning, shuffle_amplification, shuffle_local_epsilon
from .calibration import gaussian_sigma
from .guarantee import PrivacyGuarantee
from .ledger import BudgetExhausted, Ledger
from .owed import guarantee_of

__all__ = [
    "BudgetExhausted",
    "Ledger",
    "PrivacyGuarantee",
    "UnsoundAmplificationWarning",
    "gaussian_sigma",
    "guarantee_of",
    "shuffle_amplification",
    "shuffle_local_epsilon",
]
