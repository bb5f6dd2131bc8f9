"""What is promised and what is drawn: guarantees, budgets, bits, noise, calibration."""

from .calibration import gaussian_sigma
from .guarantee import PrivacyGuarantee
from .ledger import BudgetExhausted, Ledger

__all__ = ["BudgetExhausted", "Ledger", "PrivacyGuarantee", "gaussian_sigma"]
