"""Fixtures for budgets: the path of a file, and budgets in memory or in a file."""

import pytest

from sklearn_dprank.privacy import PrivacyBudget


@pytest.fixture
def path(tmp_path):
    """The path of a file, with characters that mean something in an SQLite URI."""
    return tmp_path / "voters of %20 May #5.budget"


@pytest.fixture(params=["memory", "file"])
def account(request, tmp_path):
    """Make a budget in memory, or in a file."""
    if request.param == "memory":
        return PrivacyBudget
    return lambda *terms, **more: PrivacyBudget.open(tmp_path / "account", *terms, **more)
