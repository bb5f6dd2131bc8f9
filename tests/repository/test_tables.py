"""The tables of the user guide agree with the package: all estimators, the voters needed, and the scale of epsilon."""

import math
import re
from pathlib import Path

import pytest

import sklearn_dprank
from sklearn_dprank.model_selection import recommend

GUIDE = Path(__file__).parents[2] / "docs" / "user_guide"
CHOOSING, PRIVACY = ((GUIDE / f"{page}.rst").read_text(encoding="utf-8") for page in ("choosing", "privacy"))


def test_every_estimator_is_in_the_table():
    names = re.findall(r"^   `~sklearn_dprank\.(\w+)` \| .+ \| .+$", CHOOSING, flags=re.MULTILINE)
    assert sorted(names) == sorted(sklearn_dprank.__all__)


def test_scale_of_epsilon():
    """The factor is exp(epsilon), and a belief of one half becomes at most exp(epsilon) / (1 + exp(epsilon))."""
    rows = re.findall(r"^   \* - ([\d.]+)\n     - ([\d.]+)\n     - ([\d.]+) %$", PRIVACY, flags=re.MULTILINE)
    assert [epsilon for epsilon, *_ in rows] == ["0.1", "0.5", "1", "5"]
    for epsilon, factor, belief in rows:
        assert float(factor) == pytest.approx(math.exp(float(epsilon)), rel=0.005)
        assert float(belief) == pytest.approx(100 / (1 + math.exp(-float(epsilon))), abs=0.1)


@pytest.mark.slow
def test_voters_needed_are_those_of_the_script(example):
    assert example("how_many_voters").as_table() in CHOOSING


@pytest.mark.slow
def test_voters_needed_follow_recommend(example):
    """At every number the expected error is at most one point. At the number before the extra steps, it is not."""
    script = example("how_many_voters")
    for group, known in script.GROUPS.items():
        for n_items in script.SIZES:
            for epsilon in script.EPSILONS:
                n_voters, estimator = script.voters_needed(group, n_items, epsilon)
                place = script.VOTERS.index(n_voters) - script.MORE_STEPS.get((group, n_items, epsilon), 0)
                here = recommend(n_items, n_voters, epsilon, **known)
                assert here.error <= 0.01 and repr(here.estimator) == repr(estimator)
                assert here.intervals or "with intervals" not in group
                assert place == 0 or recommend(n_items, script.VOTERS[place - 1], epsilon, **known).error > 0.01
