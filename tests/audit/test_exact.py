"""Exact audits: the law of the consensus on neighbouring profiles of three and four items, by enumeration."""

import numpy as np
import pytest
from audit_tools import law, neighbours, profile_of, sampled_orders, worst_delta, worst_loss
from audited import GAUSSIAN, LARGE, PURE, SLOW_GAUSSIAN
from oracles import distinct_ballots
from scipy import stats
from sklearn.base import clone

from sklearn_dprank import DPBorda
from sklearn_dprank.theory.hay import PrintedLaplace

BASES = {"nobody": [], "mixed": [[0, 1, 2], [0, 1, 2], [0, 0, 1], [np.nan, 1, 0]]}
MORE_BASES = {"unanimous": [[0, 1, 2]] * 3, "cycle": [[0, 1, 2], [1, 2, 0], [2, 0, 1]]}
CORNERS = np.array([[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 0, 1], [np.nan, 0, 1]])
RELATIONS = ["add_remove", "replace"]


def under(estimator, neighboring):
    """The estimator for a relation; its epsilon for add_remove, twice that for replace."""
    factor = 2 if neighboring == "replace" else 1
    parameters = estimator.get_params()
    prefix = "channel__" if "channel" in parameters else ""
    changed = {f"{prefix}epsilon": factor * parameters[f"{prefix}epsilon"], f"{prefix}neighboring": neighboring}
    return clone(estimator).set_params(**changed)  # a copy: the channel inside is one object for all tests


def promise(estimator, m=3):
    channel, rule = estimator._compose()
    return channel.plan(rule.asks(m), m).guarantee


def worst(estimator, base, neighboring, ballots=None):
    """(worst loss, what cut-off noise can hide of it, promised epsilon) over a base with each ballot."""
    ballots = distinct_ballots(3) if ballots is None else ballots
    m = ballots.shape[1]
    profiles, pairs = neighbours(base, ballots, neighboring, m)
    laws = [law(estimator, profile) for profile in profiles]
    hidden = max(abs(1 - p.sum()) for p in laws) / min(p.min() for p in laws)
    return worst_loss(laws, pairs), hidden, promise(estimator, m).epsilon


def check_pure(estimator, base, neighboring, ballots=None):
    """Return the worst loss as a share of the promise."""
    loss, hidden, epsilon = worst(estimator, base, neighboring, ballots)
    assert hidden < 1e-6
    assert loss <= epsilon + 1e-9 + hidden
    return loss / epsilon


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(estimator, id=name, marks=pytest.mark.slow if "K-norm" in name or "window" in name else ())
        for name, estimator in PURE.items()
    ],
)
def test_loss_never_exceeds_the_promise(estimator, base, neighboring):
    check_pure(under(estimator, neighboring), base, neighboring)


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("base", MORE_BASES.values(), ids=MORE_BASES)
@pytest.mark.parametrize("estimator", PURE.values(), ids=PURE)
def test_loss_never_exceeds_the_promise_elsewhere(estimator, base, neighboring):
    check_pure(under(estimator, neighboring), base, neighboring)


EVERYWHERE = {
    f"{name}, {where}": (estimator, base)
    for name, estimator in LARGE.items()
    for where, base in {**BASES, **MORE_BASES}.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize(("estimator", "base"), EVERYWHERE.values(), ids=EVERYWHERE)
def test_loss_never_exceeds_the_promise_of_many_answers_on_all_ballots(estimator, base, neighboring):
    check_pure(under(estimator, neighboring), base, neighboring)


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("name", ["Borda", "Kemeny sampler", "prudent order", "top 1", "top 2", "top 2, one by one"])
def test_loss_on_four_items(name, neighboring):
    ballots = distinct_ballots(4)
    some = ballots if neighboring == "add_remove" else ballots[::4]
    check_pure(under(PURE[name], neighboring), [[0, 1, 2, 3]], neighboring, some)


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("name", ["KwikSort", "KwikSort, coin after 2"])
def test_loss_of_sorting_four_items(name, neighboring):
    extreme = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [0, 0, 1, 1], [np.nan, 1, 0, np.nan]])
    check_pure(under(PURE[name], neighboring), [[0, 1, 2, 3]], neighboring, extreme)


@pytest.mark.parametrize(
    ("name", "neighboring", "share"),
    [
        ("Borda", "add_remove", 0.9),
        ("Borda, K-norm", "add_remove", 1 - 1e-9),
        ("Borda, K-norm", "replace", 1 - 1e-9),
        ("KwikSort, coin after 2", "add_remove", 0.999),
        ("prudent order", "add_remove", 0.85),
        ("top 1", "add_remove", 0.85),
        ("top 2", "replace", 0.85),
    ],
)
def test_the_audit_is_tight(name, neighboring, share):
    """The promise is used up, so the audit would see a little less noise."""
    assert check_pure(under(PURE[name], neighboring), MORE_BASES["unanimous"], neighboring, CORNERS) > share


@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize("noise", ["laplace", PrintedLaplace()], ids=str)
def test_the_stated_epsilon_is_the_true_one(noise, neighboring):
    """Against ever more unanimous voters, the loss of Borda approaches exactly what `privacy_` states."""
    estimator = DPBorda(epsilon=1.0, neighboring=neighboring, noise=noise)
    stated = promise(estimator).epsilon
    l1 = {"add_remove": 4, "replace": 8}[neighboring]
    assert stated == pytest.approx(1.0 if noise == "laplace" else l1 / 6)  # Hay et al. print m (m - 1) / 2 Borda
    n = 150
    crowd = [[0, 1, 2]] * n
    opposed = profile_of([*crowd, [2, 1, 0]], 3)
    neighbour = profile_of(crowd if neighboring == "add_remove" else [*crowd, [0, 1, 2]], 3)
    # The reversed order is as unlikely as e^-100; noise is cut far below that.
    loss = worst_loss([law(estimator, p, depth=400) for p in (opposed, neighbour)], [(0, 1)])
    assert 0.97 * stated < loss <= stated + 1e-9


def gaussian_delta_of(estimator, n_agreeing, neighboring):
    profiles, pairs = neighbours([[0, 1, 2]] * n_agreeing, CORNERS, neighboring, 3)
    return worst_delta([law(estimator, p) for p in profiles], pairs, promise(estimator).epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", RELATIONS)
@pytest.mark.parametrize(("estimator", "n_agreeing"), GAUSSIAN.values(), ids=GAUSSIAN)
def test_gaussian_noise_keeps_its_delta(estimator, n_agreeing, neighboring):
    made = under(estimator, neighboring)
    for n in (0, n_agreeing):
        assert gaussian_delta_of(made, n, neighboring) <= promise(made).delta


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "n_agreeing"), SLOW_GAUSSIAN.values(), ids=SLOW_GAUSSIAN)
def test_gaussian_noise_keeps_its_delta_after_many_answers(estimator, n_agreeing):
    assert gaussian_delta_of(estimator, n_agreeing, "add_remove") <= 1e-2


def test_the_gaussian_audit_is_tight():
    assert gaussian_delta_of(DPBorda(noise="gaussian", delta=1e-2), 4, "add_remove") > 0.95e-2


@pytest.mark.parametrize(
    "estimator",
    [
        PURE["Borda"],
        PURE["Borda, K-norm"],
        DPBorda(noise="gaussian", delta=1e-2),
        PURE["KwikSort"],
        PURE["KwikSort, binary insertion"],
        PURE["KwikSort, coin after 1"],
        LARGE["KwikSort, Kemeny after 1"],
        LARGE["pairwise Kemeny"],
        LARGE["pairwise hierarchical"],
        pytest.param(LARGE["histogram Borda"], marks=pytest.mark.slow),
        pytest.param(PURE["Kemeny sampler"], marks=pytest.mark.slow),
        pytest.param(PURE["prudent order"], marks=pytest.mark.slow),
        pytest.param(PURE["prudent order, window 2"], marks=pytest.mark.slow),
        pytest.param(PURE["top 2"], marks=pytest.mark.slow),
        pytest.param(PURE["top 2, one by one"], marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_the_audited_law_is_the_one_that_is_sampled(estimator):
    profile = profile_of([[0, 1, 2], [1, 0, 2], [0, 0, np.nan]], 3)
    expected = law(estimator, profile)
    size = 1500
    observed = np.bincount(sampled_orders(estimator, profile, size, seed=11), minlength=6)
    kept = expected * size >= 5
    observed = np.append(observed[kept], observed[~kept].sum())
    expected = size * np.append(expected[kept], 1 - expected[kept].sum())
    expected, observed = expected[expected > 1e-6], observed[expected > 1e-6]
    assert stats.chisquare(observed, expected).pvalue > 1e-3
