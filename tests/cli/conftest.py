"""Running the command in this process."""

import pytest

from sklearn_dprank.cli import main


@pytest.fixture
def finished(capsys):
    """Return the status, the output and the lines on standard error of a command."""

    def call(*arguments, command="rank"):
        try:
            status = main([command, *arguments])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call
