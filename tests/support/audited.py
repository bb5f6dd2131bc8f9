"""Cases of the exact audits: every private estimator, with every noise and randomizer that it accepts.

The audits take their cases from here, and `audit/test_every_estimator.py` demands a case for everything public.
"""

import sklearn_dprank as dp
from sklearn_dprank.channels import Central, SecureAggregation, Streaming
from sklearn_dprank.queries import AllMargins, MaxViolatedMargin
from sklearn_dprank.rules import Choose, ChooseTop
from sklearn_dprank.theory import hay, shang, song, yan

# Trusted curator, pure: the law of the consensus on neighbouring profiles of three items, under both relations. The
# epsilon is that for add_remove and keeps the enumeration small; replace has twice it.
PURE = {
    "Borda": dp.DPBorda(epsilon=1.0),
    "Borda, K-norm": dp.DPBorda(epsilon=1.0, noise="knorm"),
    "Borda, as printed": dp.DPBorda(epsilon=1.0, noise=hay.PrintedLaplace()),
    "KwikSort": dp.DPKwikSort(epsilon=1.0),
    "KwikSort, binary insertion": dp.DPKwikSort(epsilon=1.0, strategy="binary_insertion"),
    "KwikSort, coin after 1": dp.DPKwikSort(epsilon=1.0, max_queries=1, on_exhausted="coin"),
    "KwikSort, coin after 2": dp.DPKwikSort(epsilon=1.0, max_queries=2, on_exhausted="coin"),
    "KwikSort, as printed": dp.DPKwikSort(epsilon=1.0, noise=hay.PrintedLaplace()),
    "Kemeny sampler": dp.DPKemenySampler(epsilon=1.0),
    "Kemeny sampler, epsilon 2": dp.DPKemenySampler(epsilon=2.0),
    "prudent order": dp.DPPrudentOrder(epsilon=1.0),
    "prudent order, exponential": dp.Aggregator(Central(epsilon=1.0, noise="exponential"), Choose(MaxViolatedMargin())),
    "top 1": dp.DPTopK(1, epsilon=1.0),
    "top 2": dp.DPTopK(2, epsilon=1.0),
    "top 2, one by one": dp.DPTopK(2, epsilon=1.0, batch=1),
    "top 2, exponential": dp.Aggregator(Central(epsilon=1.0, noise="exponential"), ChooseTop(2)),
    "prudent order, window 2": dp.DPPrudentOrder(epsilon=1.0, window=2),
    "prudent order, window 3": dp.DPPrudentOrder(epsilon=1.0, window=3),
}
# The same, with larger enumerations: fewer voters and ballots, but for the slow tests.
LARGE = {
    "KwikSort, Kemeny after 1": dp.DPKwikSort(epsilon=6.0, max_queries=1),
    "KwikSort, Kemeny after 2": dp.DPKwikSort(epsilon=6.0, max_queries=2),
    "pairwise Kemeny": dp.DPPairwise(epsilon=3.0),
    "pairwise Borda": dp.DPPairwise(epsilon=3.0, rule="borda"),
    "pairwise hierarchical": dp.DPPairwise(epsilon=3.0, rule="hierarchical"),
    "pairwise Markov chain": dp.DPPairwise(epsilon=3.0, rule="markov_chain"),
    "pairwise KwikSort": dp.DPPairwise(epsilon=3.0, rule="kwiksort"),
    "histogram Borda": dp.DPHistogram(epsilon=3.0),
    "histogram Kemeny": dp.DPHistogram(epsilon=3.0, rule="kemeny"),
    "histogram Borda, as printed": dp.DPHistogram(epsilon=2.0, noise=hay.PrintedLaplace()),
    "Borda from margins": dp.Aggregator(Central(epsilon=3.0, release=AllMargins()), rule="borda"),
}
# Trusted curator, Gaussian: (estimator, number of agreeing voters).
GAUSSIAN = {
    "Borda": (dp.DPBorda(noise="gaussian", delta=1e-2), 4),
    "KwikSort": (dp.DPKwikSort(noise="gaussian", delta=1e-2), 2),
    "pairwise Kemeny": (dp.DPPairwise(noise="gaussian", delta=1e-2), 2),
}
SLOW_GAUSSIAN = {
    "KwikSort, Kemeny after 1": (dp.DPKwikSort(noise="gaussian", delta=1e-2, max_queries=1), 2),
    "histogram Borda": (dp.DPHistogram(noise="gaussian", delta=1e-2), 4),
    "histogram Borda, as printed": (dp.DPHistogram(3.0, 1e-2, shang.PrintedGaussian()), 4),
}
# Trusted curator, Gaussian, question by question: what all answers together reveal, for any questions.
ROUNDS = {
    "Swiss": dp.DPSwissBorda(delta=1e-3),
    "Swiss, replace": dp.DPSwissBorda(delta=1e-3, neighboring="replace"),
    "leaderboard": dp.DPBradleyTerry(delta=1e-3),
    "Borda of a sample": dp.DPBorda(delta=1e-3, noise="gaussian", population=True),
}
# Trusted curator, public segments: what the orders of all segments reveal, also about a voter who moves.
SEGMENTS = {
    "pooled": dp.SegmentedAggregator(["a", "b"], delta=1e-2),
    "by themselves": dp.SegmentedAggregator(["a", "b"], delta=1e-2, pooling=False),
    "K-norm": dp.SegmentedAggregator(["a", "b"], delta=0.0, pooling=False),
}
# Trusted curator, lists of private items: the law of the published names and scores.
LISTS = {"lists": dp.DPPositionalRule(delta=0.1)}
# Trusted curator, choices with a delta: the law of the whole order.
PEELED = {
    "epsilon 1": dp.DPPrudentOrder(epsilon=1.0, delta=1e-2),
    "small epsilon": dp.DPPrudentOrder(epsilon=0.3, delta=1e-2),
    "large delta": dp.DPPrudentOrder(epsilon=0.5, delta=0.05),
}
CENTRAL = [*PURE.values(), *PEELED.values(), *LARGE.values(), *ROUNDS.values(), *SEGMENTS.values()]
CENTRAL += LISTS.values()
CENTRAL += [estimator for estimator, _ in [*GAUSSIAN.values(), *SLOW_GAUSSIAN.values()]]

# Nobody trusted, one report a voter: the law of a device's report on every ballot of three items.
REPORTS = {
    "rr": dp.LDPPairwise(epsilon=1.5),
    "rr, two pairs": dp.LDPPairwise(epsilon=1.5, n_queries=2),
    "rr, an assigned pair": dp.LDPPairwise(epsilon=1.5, pairs="assigned", n_voters=2000, assignment_seed="5eed" * 8),
    "laplace, as printed": dp.LDPPairwise(epsilon=1.5, randomizer=yan.PrintedLaplace()),
    "gaussian, as printed": dp.LDPPairwise(epsilon=1.5, randomizer=song.PrintedGaussian(1e-4)),
    "djw": dp.LDPPairwise(epsilon=1.5, randomizer="djw"),
    "KwikSort, rr": dp.LDPKwikSort(epsilon=1.5),
    "KwikSort, as printed": dp.LDPKwikSort(epsilon=1.5, randomizer=yan.PrintedLaplace()),
}
# The same where the report is a point of a fine grid: its density along the ballot's direction.
DENSITIES = {"PrivUnit": dp.LDPBorda(epsilon=1.5)}
# No trust, answers to questions: the law of one voter's transcript, for any questions.
TRANSCRIPTS = {
    "quicksort": dp.LDPQuickSort(1.0, n_queries=2),
    "groups": dp.LDPGroupKwikSort(1.5),
    "adaptive pairs": dp.LDPAdaptivePairs(0.7),
}
# A trusted shuffler: the law of all messages of few voters, and of one voter's alone.
SHUFFLES = {
    "hidden": dp.ShufflePairwise(local_epsilon=1.5, delta=0.05, min_reports=4),
    "assigned": dp.ShufflePairwise(local_epsilon=1.5, delta=0.05, min_reports=9, pairs="assigned"),
    "hierarchical": dp.ShuffleHierarchical(local_epsilon=1.5, delta=0.05, min_reports=9),
    "hierarchical, as printed": dp.ShuffleHierarchical(
        local_epsilon=5.0, delta=0.05, min_reports=9, randomizer=song.PrintedGaussian(0.05)
    ),
}
# The same for comparisons whose pairs are public: no trust, and a trusted shuffler.
SHOWN = (
    dp.LDPPairwise(epsilon=1.5, pairs="shown"),
    dp.ShufflePairwise(local_epsilon=1.5, delta=0.1, min_reports=3, pairs="shown"),
)
# Trusted curator, continual release: the joint law of all totals that a stream publishes.
STREAMS = {
    "two periods": dp.DPStreamingBorda(horizon=2),
    "three periods": dp.DPStreamingBorda(epsilon=0.3, delta=1e-3, horizon=3),
    "three periods, replace": dp.DPStreamingBorda(horizon=3, neighboring="replace"),
    "margins": dp.Aggregator(Streaming(horizon=3), rule="kemeny"),
}
# Nobody sees a ballot: the law of the sum, and of what all servers but one see.
SUMS = {
    "Borda": dp.SecAggBorda(epsilon=2.0, delta=1e-2, min_reports=5),
    "Borda, three servers": dp.SecAggBorda(epsilon=1.5, delta=1e-2, n_servers=3, min_reports=4),
    "Swiss": dp.SecAggSwissBorda(epsilon=2.0, delta=1e-3, min_reports=5),
    "margins": dp.Aggregator(SecureAggregation(2.0, 1e-2, min_reports=5, release=AllMargins()), rule="kemeny"),
    "question by question": dp.Aggregator(SecureAggregation(2.0, 1e-3, min_reports=5), rule="kwiksort"),
}
AUDITED = [
    *CENTRAL,
    *REPORTS.values(),
    *DENSITIES.values(),
    *TRANSCRIPTS.values(),
    *SHUFFLES.values(),
    *SHOWN,
    *STREAMS.values(),
    *SUMS.values(),
]
