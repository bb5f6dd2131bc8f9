"""Every public estimator has the common defaults, clones, pickles and prints."""

import pickle

import numpy as np
from every_estimator import N_VOTERS, X, every, every_class, seeded
from sklearn.base import clone
from sklearn.utils import estimator_html_repr

import sklearn_dprank
from sklearn_dprank.channels import Central
from sklearn_dprank.rules import KemenyRule


@every
def test_clone_and_pickle(estimator):
    assert repr(clone(estimator)) == repr(estimator)
    fitted = seeded(estimator).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.consensus_, fitted.consensus_)
    assert again.privacy_ == fitted.privacy_
    assert again.score(X) == fitted.score(X)
    assert not hasattr(clone(fitted), "consensus_")


def test_nested_parameters():
    aggregator = sklearn_dprank.Aggregator(Central(), KemenyRule())
    aggregator.set_params(channel__epsilon=2.5, rule__tolerance=0.25)
    copy = clone(aggregator)
    assert copy.channel is not aggregator.channel
    assert (copy.channel.epsilon, copy.rule.tolerance) == (2.5, 0.25)
    pairwise = clone(sklearn_dprank.DPPairwise(rule=KemenyRule())).set_params(rule__work_limit=7)
    assert pairwise.get_params()["rule__work_limit"] == 7


@every
def test_representations(estimator):
    assert type(estimator).__name__ in repr(estimator)
    fitted = seeded(estimator).fit(X)
    for state in (estimator, fitted):
        html = estimator_html_repr(state)
        assert type(estimator).__name__ in html
        assert str(N_VOTERS) not in html or fitted.privacy_.neighboring == "replace"  # there n is public


DEFAULTS = {"epsilon": 1.0, "neighboring": "add_remove", "random_state": None, "rule": None}


@every_class
def test_default_parameters(cls):
    found = cls().get_params(deep=False)
    needs_delta = cls.__name__.startswith(("Shuffle", "DPSwiss", "DPStreaming", "SecAgg"))
    expected = {**DEFAULTS, "delta": 1e-6 if needs_delta else 0.0}
    for name, value in expected.items():
        if name in found and not (name == "delta" and "LDP" in cls.__name__):
            assert found[name] == value, name
    if cls.__name__.startswith(("DP", "LDP", "Shuffle", "SecAgg")):
        assert {"epsilon", "random_state"} <= set(found)
    if cls.__name__.startswith("DP"):
        assert "neighboring" in found
