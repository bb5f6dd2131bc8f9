"""Every public estimator, with variants that lead to other code, for the tests of their common contract."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import sklearn_dprank
from sklearn_dprank.channels import Central, Local, SecureAggregation, Streaming
from sklearn_dprank.channels.base import RankAggregator
from sklearn_dprank.queries import AllMargins
from sklearn_dprank.rules import KemenyRule
from sklearn_dprank.theory import shang

PUBLIC = [getattr(sklearn_dprank, name) for name in sklearn_dprank.__all__]
CLASSES = [c for c in PUBLIC if isinstance(c, type) and issubclass(c, RankAggregator)]
# Beside the defaults, parameters that lead elsewhere.
VARIANTS = {
    "Aggregator": [
        {"channel": Central(noise="gaussian", delta=1e-6), "rule": "hierarchical"},
        {"channel": Central(release=AllMargins()), "rule": "kemeny"},
        {"channel": Local(), "rule": "borda"},
        {"channel": SecureAggregation(release=AllMargins()), "rule": "kemeny"},
        {"channel": Streaming(), "rule": "kemeny"},
    ],
    "PositionalRule": [{"scores": "plurality"}],
    "Kemeny": [{"tolerance": 0.1, "work_limit": 10}],
    "DPBorda": [
        {"noise": "gaussian", "delta": 1e-6},
        {"noise": "gaussian", "delta": 1e-6, "population": True},
        {"noise": "knorm"},
        {"neighboring": "replace"},
    ],
    "DPBradleyTerry": [{"delta": 0.0}, {"n_rounds": 1, "neighboring": "replace"}, {"n_rounds": 2}],
    "DPHistogram": [
        {"noise": "gaussian", "delta": 1e-6},
        {"rule": "kemeny"},
        {"noise": shang.PrintedGaussian(), "delta": 1e-6},
    ],
    "DPKwikSort": [
        {"on_exhausted": "coin"},
        {"on_exhausted": "kemeny", "max_queries": 1},
        {"strategy": "binary_insertion", "noise": "gaussian", "delta": 1e-6},
    ],
    "DPPairwise": [
        {"rule": "borda"},
        {"rule": "markov_chain"},
        {"rule": KemenyRule(tolerance=0.5), "noise": "gaussian", "delta": 1e-6},
    ],
    "DPPositionalRule": [{"neighboring": "replace"}],
    "DPPrudentOrder": [{"window": 2}, {"delta": 1e-6}],
    "DPTopK": [{"k": 3}, {"k": 3, "batch": 2}],
    "DPStreamingBorda": [{"neighboring": "replace", "horizon": 2}],
    "DPSwissBorda": [{"neighboring": "replace"}],
    "LDPPairwise": [{"rule": "hierarchical"}, {"rule": "kwiksort"}, {"randomizer": "djw"}],
}
ESTIMATORS = [c(**p) for c in CLASSES for p in [{}, *VARIANTS.get(c.__name__, [])]]

# Facts that rules and channels may declare: functions of what was released, or of public numbers.
FACTS = {
    "optimal_gap_",
    "shrinkage_",
    "reports_accepted_",
    "reports_refused_",
    "local_epsilon_",
    "margins_",
    "histogram_",
    "scores_",
    "strengths_",
    "strength_std_",
    "exposures_",
    "noise_",
    "max_weight_",
    "max_listed_",
    "periods_",
    "segments_",
    "net_wins_",
    "score_std_",
    "own_weights_",
    "sizes_",
}
# What `partial_fit` goes on from, and no fit leaves.
SECRETS = {"stream_"}
FITTED = {"consensus_", "ranks_", "privacy_", "n_features_in_", "feature_names_in_"}
HIDDEN = {"_item_names"}  # public all the same

N_VOTERS, N_ITEMS = 1237, 5  # a number of voters that turns up by no accident
X = np.random.default_rng(0).permuted(np.tile(np.arange(N_ITEMS), (N_VOTERS, 1)), axis=1)
NAMES = ["tea", "milk", "water", "wine", "juice"]

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)


def parameters(cls):
    """Names of the parameters of a class."""
    return list(inspect.signature(cls).parameters)


def refusal(call, *arguments):
    """The message of the ValueError that a call raises, or None."""
    try:
        call(*arguments)
    except ValueError as error:
        return str(error)
    return None


def seeded(estimator, seed=0):
    """A clone with a seed, where it takes one."""
    out = clone(estimator)
    return out.set_params(random_state=seed) if "random_state" in out.get_params() else out


def n_named(estimator, n_items=N_ITEMS):
    """How many items the consensus names."""
    return getattr(estimator, "k", n_items)


def places(estimator, n_items=N_ITEMS):
    """The positions in order: all others are tied behind those that the consensus names."""
    k = n_named(estimator, n_items)
    return [*range(k), *[k] * (n_items - k)]


def is_private(estimator):
    return any(name.split("__")[-1] == "epsilon" for name in estimator.get_params())


PRIVATE = [e for e in ESTIMATORS if is_private(e)]
RANDOM = [e for e in ESTIMATORS if "random_state" in e.get_params()]
