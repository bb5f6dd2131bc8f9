"""Real data and means, for the tests of the examples that reproduce papers."""

import os

import numpy as np
import pytest

DATA = os.environ.get("SKLEARN_DPRANK_DATA")
stand_ins_and_real = pytest.mark.parametrize(
    "folder",
    [
        pytest.param(None, id="stand-ins"),
        pytest.param(DATA, id="real", marks=pytest.mark.skipif(not DATA, reason="SKLEARN_DPRANK_DATA is not set")),
    ],
)


def means(scores):
    """Means over the trials, which are the last axis."""
    return np.asarray(scores).mean(axis=-1)
