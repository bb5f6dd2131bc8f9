"""Fixtures for budgets: one in memory or in a file."""

import pytest

from sklearn_dprank.privacy import PrivacyBudget


@pytest.fixture(params=["memory", "file"])
def account(request, tmp_path):
    """Make a budget in memory, or in a file."""
    if request.param == "memory":
        return PrivacyBudget
    return lambda *terms, **more: PrivacyBudget.open(tmp_path / "account", *terms, **more)
