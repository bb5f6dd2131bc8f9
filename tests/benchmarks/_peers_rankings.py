"""
Comparisons of ranking tasks
============================

Counting, aggregating, measuring, drawing and reading rankings, compared with svvamp, pref_voting, corankco,
prefsampling, choix and preflibtools.
"""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from _peers import Duel, close, converted, equal, expected, same_law

from sklearn_dprank import Borda, BradleyTerry, Kemeny
from sklearn_dprank.ballots import Profile
from sklearn_dprank.datasets import make_mallows, make_plackett_luce, read_preflib
from sklearn_dprank.metrics import average_kendall_tau, kendall_tau_distance
from sklearn_dprank.queries import Tallies
from sklearn_dprank.rules.bradley_terry import bradley_terry_strengths

PHI = 0.75  # for Mallows votes that agree; 1 is uniform, where every search is hard
RIDGE = 1e-6  # choix has no ridge

# %%
# Our side of the duels, from ballots as NumPy arrays of positions, which are checked and read each time.


def _votes(n, m, phi=PHI):
    return make_mallows(n, m, phi, random_state=1)


def _pairs(ballots):
    return lambda: Profile.from_rankings(ballots).pairwise_counts


def _borda(ballots):
    return lambda: Borda().fit(ballots).ranks_


def _kemeny(ballots, **options):
    return lambda: Kemeny(**options).fit(ballots).ranks_


def _uniform(n, m):
    return lambda: make_mallows(n, m, 1.0, random_state=0)


def _distance(a, b):
    return lambda: kendall_tau_distance(a, b, normalize=False)


def _two_orders(m):
    """Return two orders as lists and as positions."""
    rng = np.random.default_rng(0)
    orders = rng.permutation(m), rng.permutation(m)
    return [order.tolist() for order in orders], [np.argsort(order) for order in orders]


def _ranks(scores):
    """Return positions by decreasing scores."""
    return np.argsort(np.argsort(np.negative(scores)))


def _optimal(ours, theirs, ballots):
    """Require two orders of the same cost."""
    return equal(*(_cost(positions, ballots) for positions in (ours, theirs))).replace("equal", "same cost")


def _compared(ours, theirs, ballots):
    """Return the costs of two orders, in words."""
    ours, theirs = (_cost(positions, ballots) for positions in (ours, theirs))
    return f"cost {ours:,} here, {theirs:,} there"


def _cost(positions, ballots):
    return round(average_kendall_tau(positions, ballots, normalize=False) * len(ballots))


# %%
# svvamp reads NumPy arrays of Borda scores, and computes only the requested results.


def _svvamp(ballots):
    from svvamp import Profile as Theirs

    scores = ballots.shape[1] - 1 - ballots
    return lambda: Theirs(preferences_borda_rk=scores)


def svvamp_pairs(n, m):
    ballots = _votes(n, m)
    read = _svvamp(ballots)
    return Duel(_pairs(ballots), lambda: read().matrix_duels_rk, equal)


def svvamp_borda(n, m):
    from svvamp import RuleBorda

    ballots = _votes(n, m)
    read = _svvamp(ballots)
    agree = converted(equal, np.argsort)
    return Duel(_borda(ballots), lambda: RuleBorda()(read()).candidates_by_scores_best_to_worst_, agree)


def svvamp_kemeny(n, m, phi):
    from svvamp import RuleKemeny

    ballots = _votes(n, m, phi)
    read = _svvamp(ballots)
    agree = converted(partial(_optimal, ballots=ballots), np.argsort)
    return Duel(_kemeny(ballots), lambda: RuleKemeny()(read()).candidates_by_scores_best_to_worst_, agree)


def svvamp_uniform(n, m):
    from svvamp import GeneratorProfileIc

    agree = partial(same_law, check=partial(expected, mean=(m - 1) / 2))
    return Duel(_uniform(n, m), lambda: GeneratorProfileIc(n_v=n, n_c=m)().preferences_rk, agree)


# %%
# pref_voting counts pairs in the constructor of its profile. The later tasks use a profile that is already made.


def pref_voting_pairs(n, m):
    from pref_voting.profiles import Profile as Theirs

    ballots = _votes(n, m)
    orders = ballots.argsort(axis=1)
    agree = converted(equal, lambda profile: profile.margin_matrix)
    return Duel(lambda: Profile.from_rankings(ballots).margins, lambda: Theirs(orders), agree)


def pref_voting_borda(n, m):
    from pref_voting.profiles import Profile as Theirs

    ballots = _votes(n, m)
    theirs = Theirs(ballots.argsort(axis=1))
    agree = converted(equal, lambda scores: _ranks([scores[item] for item in range(m)]))
    return Duel(_borda(ballots), theirs.borda_scores, agree)


def pref_voting_kemeny(n, m, phi):
    from pref_voting.other_methods import kemeny_young_rankings
    from pref_voting.profiles import Profile as Theirs

    ballots = _votes(n, m, phi)
    theirs = Theirs(ballots.argsort(axis=1))
    agree = converted(partial(_optimal, ballots=ballots), lambda found: np.argsort(found[0][0]))
    return Duel(_kemeny(ballots), lambda: kemeny_young_rankings(theirs), agree)


def pref_voting_distance(m):
    from pref_voting.other_methods import kendalltau_dist

    orders, positions = _two_orders(m)
    return Duel(_distance(*positions), lambda: kendalltau_dist(*orders), equal)


# %%
# corankco aggregates rankings with ties, too; its `Dataset` is already made. In its scheme here, a tie costs as much as
# a disagreement. The consensus of strict votes therefore has no ties, and costs can be compared. Its fastest exact
# method is chosen by name, because the default needs CPLEX.


def _corankco(ballots):
    from corankco.dataset import Dataset
    from corankco.scoringscheme import ScoringScheme

    orders = [[{item} for item in order] for order in ballots.argsort(axis=1).tolist()]
    return Dataset.from_raw_list(orders), ScoringScheme.get_unifying_scoring_scheme()


def _strict(consensus):
    """Return the positions of a consensus without ties."""
    ranking = consensus.consensus_rankings[0]
    order = [element.value for bucket in ranking for element in bucket]
    if len(order) != len(ranking):
        raise ValueError("the consensus has ties")
    return np.argsort(order)


def corankco_pairs(n, m):
    from corankco.algorithms.pairwisebasedalgorithm import PairwiseBasedAlgorithm
    from corankco.scoringscheme import ScoringScheme

    ballots = _votes(n, m)
    positions, scheme = np.ascontiguousarray(ballots.T), ScoringScheme.get_unifying_scoring_scheme()
    # Placing i after j costs 1 per voter who puts i first.
    agree = converted(equal, lambda costs: costs[:, :, 1] * (1 - np.eye(m)))
    return Duel(_pairs(ballots), lambda: PairwiseBasedAlgorithm.pairwise_cost_matrix(positions, scheme), agree)


def corankco_borda(n, m):
    from corankco.algorithms.borda.borda import BordaCount

    ballots = _votes(n, m)
    votes = _corankco(ballots)
    agree = converted(equal, _strict)
    return Duel(_borda(ballots), lambda: BordaCount().compute_consensus_rankings(*votes), agree)


def corankco_kemeny(n, m, phi):
    from corankco.algorithms.exact.exactalgorithmpulp import ExactAlgorithmPulp

    ballots = _votes(n, m, phi)
    votes = _corankco(ballots)
    agree = converted(partial(_optimal, ballots=ballots), _strict)
    return Duel(_kemeny(ballots), lambda: ExactAlgorithmPulp().compute_consensus_rankings(*votes), agree)


def corankco_search(n, m, work):
    from corankco.algorithms.bioconsert.bioconsert import BioConsert

    ballots = _votes(n, m, 1.0)
    votes = _corankco(ballots)
    agree = converted(partial(_compared, ballots=ballots), _strict)
    return Duel(_kemeny(ballots, work_limit=work), lambda: BioConsert().compute_consensus_rankings(*votes), agree)


def corankco_cost(n, m):
    from corankco.kemeny_score_computation import KemenyComputingFactory

    ballots = _votes(n, m)
    votes, scheme = _corankco(ballots)
    score, first = KemenyComputingFactory(scheme).get_kemeny_score, votes.rankings[0]
    agree = converted(partial(close, tolerance=1e-9), lambda cost: cost / n)
    return Duel(lambda: average_kendall_tau(ballots[0], ballots, normalize=False), lambda: score(first, votes), agree)


# %%
# prefsampling and choix return lists of orders; the conversion to positions is not timed.


def _mean_distance(m, phi):
    """Return the mean Kendall tau distance of Mallows rankings from their centre."""
    return m * phi / (1 - phi) - sum(j * phi**j / (1 - phi**j) for j in range(1, m + 1))


def prefsampling_mallows(n, m):
    from prefsampling.ordinal import mallows

    def check(rankings):  # a ranking and its inverse are as far from the identity
        rankings = np.asarray(rankings)
        distances = sum((rankings[:, i, np.newaxis] > rankings[:, i + 1 :]).sum(axis=1) for i in range(m))
        expected(distances, _mean_distance(m, PHI))

    agree = partial(same_law, check=check)
    ours = partial(make_mallows, n, m, PHI, center=range(m), random_state=0)
    return Duel(ours, lambda: mallows(n, m, PHI, seed=0), agree)


def prefsampling_uniform(n, m):
    from prefsampling.ordinal import impartial

    agree = partial(same_law, check=partial(expected, mean=(m - 1) / 2))
    return Duel(_uniform(n, m), lambda: impartial(n, m, seed=0), agree)


def _plackett_luce(n, m, theirs):
    """Return a duel of rankings whose items have weights 1, 2, ..., m."""
    weights = np.arange(1.0, m + 1)

    def check(positions):
        i, j = np.triu_indices(m, 1)
        expected(positions[:, i] < positions[:, j], weights[i] / (weights[i] + weights[j]))

    agree = converted(partial(same_law, check=check), lambda orders: np.argsort(np.array(orders), axis=1))
    return Duel(lambda: make_plackett_luce(n, m, weights, random_state=0), lambda: theirs(weights), agree)


def prefsampling_plackett_luce(n, m):
    from prefsampling.ordinal import plackett_luce

    return _plackett_luce(n, m, lambda weights: plackett_luce(n, m, weights, seed=0))


def prefsampling_distance(m):
    from prefsampling.combinatorics import kendall_tau_distance as theirs

    orders, positions = _two_orders(m)
    return Duel(_distance(*positions), lambda: theirs(*orders), equal)


def choix_plackett_luce(n, m):
    from choix import generate_rankings

    return _plackett_luce(n, m, lambda weights: generate_rankings(np.log(weights), n, size=m))


def choix_distance(m):
    from choix.utils import kendalltau_dist

    _, positions = _two_orders(m)
    return Duel(_distance(*positions), lambda: kendalltau_dist(*positions), equal)


def choix_strengths(n, m):
    """Compare Bradley-Terry fits of counted pairs; our fit returns an order, and strengths are compared separately."""
    from choix import ilsr_pairwise_dense

    profile = Profile.from_rankings(make_plackett_luce(n, m, np.exp(np.linspace(0, 3, m)), random_state=1))
    counts = profile.pairwise_counts.astype(float)

    def agree(ours, strengths):
        equal(ours, _ranks(strengths))
        return close(bradley_terry_strengths((Tallies(0.0, profile.pairwise_counts),), RIDGE), strengths)

    return Duel(lambda: BradleyTerry(RIDGE).fit(profile).ranks_, lambda: ilsr_pairwise_dense(counts), agree)


# %%
# preflibtools reads orders as tuples. Here, positions and a profile are made, too.


def preflibtools_read(n, m, n_listed):
    """Compare readers on n distinct orders of the first items out of m."""
    from preflibtools.instances import OrdinalInstance

    def positions(instance):
        table = np.full((n, m), n_listed)
        for row, order in zip(table, instance.orders, strict=True):
            row[np.ravel(order) - 1] = range(n_listed)
        return table

    orders = _votes(n, m, 1.0).argsort(axis=1)[:, :n_listed] + 1
    header = [
        "# DATA TYPE: soi",
        f"# NUMBER ALTERNATIVES: {m}",
        f"# NUMBER VOTERS: {n}",
        f"# NUMBER UNIQUE ORDERS: {n}",
    ]
    header += [f"# ALTERNATIVE NAME {item}: item {item}" for item in range(1, m + 1)]
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "votes.soi")
    path.write_text("\n".join([*header, *(f"1: {','.join(map(str, order))}" for order in orders)]), encoding="utf-8")

    def read(folder=folder):  # which exists as long as this function
        return read_preflib(path).data

    return Duel(read, lambda: OrdinalInstance(str(path)), converted(equal, positions))
