"""Privacy guarantees, budgets and calibration."""

from typing import TYPE_CHECKING

from .._utils.lazy import lazily

if TYPE_CHECKING:
    from .budget import PrivacyBudget as PrivacyBudget
    from .composition import gaussian_sigma as gaussian_sigma
    from .errors import BudgetExhausted as BudgetExhausted
    from .estimator_guarantees import guarantee_of as guarantee_of
    from .guarantee import PrivacyGuarantee as PrivacyGuarantee
    from .shuffle import (
        UnsoundAmplificationWarning as UnsoundAmplificationWarning,
        shuffle_amplification as shuffle_amplification,
        shuffle_local_epsilon as shuffle_local_epsilon,
    )

# Loaded on first use: clients import modules of this package, and must not load SciPy.
if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    __getattr__, __dir__, __all__ = lazily(
        __name__,
        {
            "budget": "PrivacyBudget",
            "composition": "gaussian_sigma",
            "errors": "BudgetExhausted",
            "estimator_guarantees": "guarantee_of",
            "guarantee": "PrivacyGuarantee",
            "shuffle": "UnsoundAmplificationWarning shuffle_amplification shuffle_local_epsilon",
        },
    )
