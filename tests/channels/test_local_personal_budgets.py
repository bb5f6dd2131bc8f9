"""Voters with their own, public epsilons."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from sklearn_dprank import DPBorda, LDPAdaptivePairs, LDPPairwise, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import Local
from sklearn_dprank.collection import HypercubeSampling, PrivUnitG, RandomizedResponse
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.queries import Ask, NetWins, PairTallies
from sklearn_dprank.sampling.bit_source import Bits

GRID = np.array([0.2, 4.0])


@pytest.fixture(scope="module")
def ballots():
    X = make_mallows(3000, 6, 0.7, random_state=0)
    return X, GRID[np.arange(len(X)) % 2]


def test_answers_of_each_epsilon_are_counted_apart(ballots):
    X, own = ballots
    plan = Local().plan([Ask(PairTallies())], 6, len(X), GRID)
    profile = Profile.from_rankings(X, voter_epsilon=own)
    tallies = plan.open(profile)(Bits.from_random_state(0)).answer(PairTallies())
    assert [tally.wins.sum() for tally in tallies] == [1500, 1500]
    np.testing.assert_allclose([tally.flip for tally in tallies], 1 / (1 + np.exp(GRID)), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("randomizer", [HypercubeSampling(), PrivUnitG(), RandomizedResponse()])
def test_estimates_are_unbiased_and_weigh_by_variance(ballots, randomizer):
    X, own = ballots
    profile = Profile.from_rankings(X, voter_epsilon=own)
    truth = profile.net_wins / profile.n_voters

    def errors(profile, grid):
        plan = Local(epsilon=4.0, randomizer=randomizer).plan([Ask(NetWins())], 6, None, grid)
        draws = [plan.open(profile)(Bits.from_random_state(seed)).answer(NetWins()) for seed in range(40)]
        return np.array(draws) - truth

    both = errors(profile, GRID)
    half = Profile.from_rankings(X[own == 4.0])
    careless = errors(half, None)
    spread = both.std(axis=0, ddof=1) / np.sqrt(len(both))
    # The confident half differs a little from all voters; its own mean is the bias that is allowed.
    assert np.all(np.abs(both.mean(axis=0)) < 4 * spread + np.abs(half.net_wins / half.n_voters - truth))
    # Adding reports at a small epsilon must not hurt: badly weighted they would dominate the error.
    assert np.sqrt((both**2).mean()) < 1.15 * np.sqrt((careless**2).mean())


def test_the_guarantee_states_the_largest_epsilon(ballots):
    X, own = ballots
    privacy = LDPPairwise(epsilon=1.0).fit(X, voter_epsilon=own).privacy_
    assert (privacy.epsilon, privacy.trust, privacy.certified) == (4.0, "local", True)
    assert "each voter has its own epsilon, which is public" in privacy.caveats[0]


def test_profile_carries_them_and_adds_up(ballots):
    X, own = ballots
    profile = Profile.from_rankings(X[:10], voter_epsilon=own[:10])
    np.testing.assert_array_equal((profile + profile).voter_epsilon, np.tile(own[:10], 2))
    with pytest.raises(ValueError, match="with and without voter_epsilon"):
        profile + Profile.from_rankings(X[:10])
    by_profile = LDPPairwise(random_state=0).fit(Profile.from_rankings(X, voter_epsilon=own))
    by_argument = LDPPairwise(random_state=0).fit(X, voter_epsilon=own)
    np.testing.assert_array_equal(by_profile.ranks_, by_argument.ranks_)


@pytest.mark.parametrize("estimator", [DPBorda(), ShufflePairwise(), LDPAdaptivePairs()])
def test_refused_outside_the_local_model(ballots, estimator):
    X, own = ballots
    with pytest.raises(ValueError, match="voter_epsilon is for local mechanisms with one report per voter"):
        estimator.fit(X, voter_epsilon=own)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (np.ones(3), "one positive, finite number for each voter."),
        (np.zeros(3000), "one positive, finite number"),
        (np.full(3000, np.inf), "one positive, finite number"),
        (["a"] * 3000, "must hold numbers"),
        (np.linspace(1, 2, 3000), "1 to 100 distinct values, got 3000"),
    ],
)
def test_bad_epsilons(ballots, own, message):
    with pytest.raises(ValueError, match=message):
        LDPPairwise().fit(ballots[0], voter_epsilon=own)


def test_metadata_is_sliced_with_the_ballots(ballots):
    X, own = ballots
    # Each fold fits on its own voters only; a wrong slice would be an error of shape.
    scores = cross_val_score(LDPPairwise(random_state=0), X, cv=3, params={"voter_epsilon": own})
    assert np.all(scores > -0.5)


def test_a_plan_is_for_the_epsilons_it_was_made_for():
    estimator, ballots = LDPPairwise(epsilon=5.0), [[0, 1, 2]] * 4
    careful = Profile.from_rankings(ballots, voter_epsilon=[0.1] * 4)
    for shape in (Shape(3, 4), Shape(3, 4, [0.2, 0.3])):
        rule, plan = estimator.plan_for(shape)
        with pytest.raises(ValueError, match="voters with other epsilons of their own"):
            next(refits(estimator, careful, rule, plan, [None]))
    rule, plan = estimator.plan_for(careful)
    assert next(refits(estimator, careful, rule, plan, [None])).privacy_.epsilon == 0.1
    with pytest.raises(ValueError, match="voters with other epsilons of their own"):
        plan.open(Profile.from_rankings(ballots))


def test_epsilons_of_their_own_are_numbers():
    estimator = LDPPairwise()
    for epsilon in ([2.0, 0.5], 1 + 5j, True, "1.0", -1):
        with pytest.raises(ValueError, match="epsilon must be a positive, finite number"):
            estimator.protocol(4, epsilon=epsilon)
        with pytest.raises(ValueError, match="epsilons must be a positive, finite number"):
            estimator.fit_reports([], items=4, epsilons=[epsilon])
    reports = [estimator.client(3, epsilon=epsilon).report([0, 1, 2]) for epsilon in (1.0, 2.0)]
    assert estimator.fit_reports(reports, items=3, epsilons={2.0, 1.0}).reports_accepted_ == 2
