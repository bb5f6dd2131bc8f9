"""Faults in the behaviour of the package; a fast test must catch each one.

A fault replaces a public function, or one that the contracts in ``docs/extending`` name. It never quotes source text,
so code can move and be rewritten. ``planted.py`` plants them.
"""

import functools
import inspect
from collections import Counter
from copy import copy
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if


class Fault(NamedTuple):
    """One wrong behaviour.

    Attributes
    ----------
    name : str
        What is wrong, in a few words.
    where : str
        Dotted name within the package.
    wrong : callable of (true) -> object
        Returns what takes the place of the true function, method, property or constant.
    tests : tuple of str
        Names of fast test functions, one of them must fail; with ``file.py::`` where several have that name.
    """

    name: str
    where: str
    wrong: Any
    tests: tuple[str, ...]

    def caught_by(self, *tests):
        """Add the fault to the list, with the tests of which one must fail."""
        FAULTS.append(self._replace(tests=tests))


FAULTS: list[Fault] = []


def fault(name, where, wrong):
    """Return a fault, which its method `caught_by` adds to the list."""
    return Fault(name, where, wrong, ())


def calls(function):
    """Return a fault that calls ``function(true, ...)`` in place of ``true(...)``."""

    def wrong(true):
        @functools.wraps(true)
        def replaced(*args, **kwargs):
            return function(true, *args, **kwargs)

        return replaced

    return wrong


def available(function):
    """Return a fault of a method that only some estimators have."""
    return lambda descriptor: available_if(descriptor.check)(calls(function)(descriptor.fn))


def given(**changes):
    """Return a fault that changes arguments by their names: to a value, or by a function of the true value."""

    def changed(true, *args, **kwargs):
        bound = inspect.signature(true).bind(*args, **kwargs)
        bound.apply_defaults()
        for name, change in changes.items():
            bound.arguments[name] = change(bound.arguments[name]) if callable(change) else change
        return true(*bound.args, **bound.kwargs)

    return calls(changed)


def result(change):
    """Return a fault that changes the result."""
    return calls(lambda true, *args, **kwargs: change(true(*args, **kwargs)))


def always(value):
    """Return a fault with one result."""
    return calls(lambda true, *args, **kwargs: value)


def constant(value):
    """Return a fault that replaces a constant."""
    return lambda true: value


nothing = always(None)
half = result(lambda value: value / 2)
double = result(lambda value: value * 2)
half_l1 = result(lambda one: one._replace(l1=one.l1 // 2))
half_l2 = result(lambda one: one._replace(l2_squared=one.l2_squared / 4))
half_gauge = result(lambda one: one._replace(gauge=one.gauge / 2))
only_added = given(neighboring="add_remove")
one_answer = given(times=1)
twice_the_budget = given(epsilon=lambda epsilon: 2 * epsilon)


def whole_share(true):
    """Give every ask of a rule the whole budget."""
    return lambda self, n_items: [ask._replace(share=Fraction(1)) for ask in true(self, n_items)]


# Sensitivities.

VECTOR = "test_no_ballot_moves_the_vector_further"
COST = "test_no_ballot_costs_more_than_the_loss_stated"
PERSON = "test_no_person_moves_the_vector_further"
COMPARED = "test_sensitivity_holds_for_all_persons_of_few_comparisons"

fault("net wins: half of the L1 sensitivity", "queries.NetWins.sensitivity", half_l1).caught_by(VECTOR)
fault("net wins: half of the L2 sensitivity", "queries.NetWins.sensitivity", half_l2).caught_by(VECTOR)
fault("net wins: half of the gauge", "queries.NetWins.sensitivity", half_gauge).caught_by(VECTOR)
fault("net wins: a replaced ballot moves them as an added one", "queries.NetWins.sensitivity", only_added).caught_by(
    VECTOR
)
fault("net wins: counted twice", "queries.NetWins.vector", double).caught_by(VECTOR)
fault("all margins: half of the L1 sensitivity", "queries.AllMargins.sensitivity", half_l1).caught_by(VECTOR)
fault(
    "all margins: a replaced ballot moves them as an added one", "queries.AllMargins.sensitivity", only_added
).caught_by(VECTOR)
fault("one margin: a replaced ballot moves it as an added one", "queries.PairMargin.sensitivity", only_added).caught_by(
    VECTOR
)
fault("tallies: a replaced ballot moves them as an added one", "queries.PairTallies.sensitivity", only_added).caught_by(
    VECTOR
)
fault("net wins of groups: half of the L1 sensitivity", "queries.GroupNetWins.sensitivity", half_l1).caught_by(VECTOR)
fault("net wins of groups: half of the L2 sensitivity", "queries.GroupNetWins.sensitivity", half_l2).caught_by(VECTOR)
fault("net wins of groups: replaced as added", "queries.GroupNetWins.sensitivity", only_added).caught_by(VECTOR)
fault("scaled margins: half of the L2 sensitivity", "queries.ScaledMargins.sensitivity", half_l2).caught_by(VECTOR)
fault("scaled margins: replaced as added", "queries.ScaledMargins.sensitivity", only_added).caught_by(VECTOR)
for name in ("NetWinsAndExposures", "BradleyTerryResiduals"):
    where = f"queries.{name}.person_sensitivity"
    fault(f"{name}: half of the L2 sensitivity", where, half_l2).caught_by(VECTOR)
    fault(f"{name}: replaced as added", where, only_added).caught_by(VECTOR)
    fault(f"{name}: the bound on a person is ignored", where, given(bound=None)).caught_by(COMPARED)
fault(
    "net wins and exposures: half of the L1 sensitivity", "queries.NetWinsAndExposures.person_sensitivity", half_l1
).caught_by(VECTOR)
fault(
    "persons: contributions are not limited", "queries.comparisons.clipped", calls(lambda true, values, *_: values)
).caught_by(COMPARED)
fault("persons: limited in the other norm", "queries.comparisons.clipped", given(norm="l2")).caught_by(COMPARED)
fault("histogram: a replaced ballot moves it as an added one", "queries.Histogram.sensitivity", only_added).caught_by(
    VECTOR
)
fault("positional scores: half of the L1 sensitivity", "queries.PositionalScores.sensitivity", half_l1).caught_by(
    VECTOR
)
fault("positional scores: half of the L2 sensitivity", "queries.PositionalScores.sensitivity", half_l2).caught_by(
    VECTOR
)
fault("positional scores: replaced as added", "queries.PositionalScores.sensitivity", only_added).caught_by(VECTOR)
fault("scores by histogram: half of the L2 sensitivity", "queries.ScoresByHistogram.sensitivity", half_l2).caught_by(
    "test_noise_sorts_like_noise_on_every_cell"
)
fault("Kemeny cost: half of the sensitivity", "queries.KemenyUtility.sensitivity", half_l1).caught_by(COST)
fault("Kemeny cost: replaced as added", "queries.KemenyUtility.sensitivity", only_added).caught_by(COST)
fault("prudent order: half of the sensitivity", "queries.MaxViolatedMargin.sensitivity", half_l1).caught_by(COST)
fault("prudent order: replaced as added", "queries.MaxViolatedMargin.sensitivity", only_added).caught_by(COST)
fault("top k: half of the sensitivity", "queries.MaxViolatedPrefixMargin.sensitivity", half_l1).caught_by(COST)
fault("top k: replaced as added", "queries.MaxViolatedPrefixMargin.sensitivity", only_added).caught_by(COST)
fault("products of net wins: half in L2", "queries.scores.NetWinProducts.sensitivity", half_l2).caught_by(VECTOR)
fault("products of net wins: replaced as added", "queries.scores.NetWinProducts.sensitivity", only_added).caught_by(
    VECTOR
)
fault(
    "number of voters: public where voters come and go",
    "queries.NumberOfVoters.sensitivity",
    result(lambda one: one._replace(l1=0, l2_squared=Fraction(0))),
).caught_by(VECTOR)
fault(
    "persons by weight: a person changes class at the price of one count",
    "queries.PersonsByWeight.sensitivity",
    only_added,
).caught_by("test_a_person_is_in_at_most_one_class")
fault("segments: net wins replaced as added", "channels.segmented.SegmentNetWins.sensitivity", only_added).caught_by(
    VECTOR
)
fault(
    "segments: sizes are free under replace",
    "channels.segmented.SegmentSizes.sensitivity",
    calls(lambda true, self, n, neighboring: true(self, n, neighboring)._replace(l1=int(neighboring != "replace"))),
).caught_by(VECTOR)
fault("private score: half of the sensitivity", "model_selection.private.NetAgreement.sensitivity", half_l1).caught_by(
    VECTOR
)
fault("private score: replaced as added", "model_selection.private.NetAgreement.sensitivity", only_added).caught_by(
    VECTOR
)
fault(
    "weights: noise is that of one ballot of weight 1", "queries.base.weighted_sensitivity", given(bound=None)
).caught_by(PERSON)
fault(
    "weights: the L2 norm of a heavy person grows by the square root",
    "queries.base.weighted_sensitivity",
    calls(
        lambda true, query, n_items, neighboring, bound=None, norm="l1": (
            one := true(query, n_items, neighboring, bound, norm)
        )._replace(l2_squared=one.l2_squared / (1 if bound is None else bound.most))
    ),
).caught_by(PERSON)
fault(
    "weights: a replaced person moves no total",
    "queries.base.weighted_sensitivity",
    calls(
        lambda true, query, n_items, neighboring, bound=None, norm="l1": true(
            query, n_items, neighboring if bound is None else "add_remove", bound, norm
        )
    ),
).caught_by(PERSON, "test_total_weight_is_private_under_both_relations")

SHORT = "test_sensitivity_under_a_bound_is_attained"
fault(
    "lengths: long ballots count in full", "ballots.weights.shortened", calls(lambda _, each, *others: each)
).caught_by(SHORT)
fault(
    "lengths: half of the ballot in groups",
    "queries.statistics.wins_moved",
    given(n_listed=lambda n_listed: n_listed - n_listed // 2),
).caught_by(SHORT)
fault(
    "lengths: positional scores are not cut", "queries.statistics.cut_scores", calls(lambda _, scores, n_listed: scores)
).caught_by("test_positional_scores_count_the_first_items")
fault("lengths: one answer changes about many pairs", "queries.PairMargin.most_changed", always(1)).caught_by(
    "test_pairs_are_paid_only_if_one_ballot_changes_them"
)

fault(
    "lengths: devices do not cut long ballots",
    "queries.statistics.random_items",
    calls(lambda _, ballots, *more: ballots),
).caught_by("test_no_ballot_moves_what_devices_count_further")
fault("lengths: a device follows any bound", "collection.protocol.check_max_listed", nothing).caught_by(
    "test_a_bound_on_the_length_is_part_of_the_protocol"
)

LONG = "test_no_person_moves_a_statistic_beyond_its_sensitivity"
fault("comparisons: half of the sensitivity", "queries.base.weighted_sensitivity", half_l2).caught_by(LONG)
fault(
    "comparisons: a replaced person moves as an added one", "queries.base.weighted_sensitivity", only_added
).caught_by(LONG)
fault(
    "comparisons: persons are bounded in the other norm",
    "ballots.profile.Profile.clipped",
    calls(lambda true, self, norm: true(self, "l2" if norm == "l1" else "l1")),
).caught_by(LONG)
fault("comparisons: weights are rounded up", "ballots.rows.isqrt", result(lambda root: root + 1)).caught_by(
    LONG, "test_counts_of_comparisons_equal_sums_of_clipped_persons"
)
fault("lists: long lists count in full", "ballots.weights.shortened", calls(lambda _, each, *others: each)).caught_by(
    LONG
)
fault("top lists: half of the L2 sensitivity", "queries.TopListScores.sensitivity", half_l2).caught_by(
    "test_sensitivity_over_every_pair_of_ballots"
)
fault("top lists: half of the threshold", "mechanisms.additive.least_threshold", half).caught_by(
    "test_no_item_of_one_person_is_published_more_often_than_half_of_delta"
)

# Calibration of noise.

fault("Laplace noise: many answers at the price of one", "mechanisms.Laplace.calibrated", one_answer).caught_by(
    "test_laplace_scale_covers_every_neighbour"
)
fault("Laplace noise: twice the budget", "mechanisms.Laplace.calibrated", twice_the_budget).caught_by(
    "test_laplace_scale_covers_every_neighbour"
)
fault("Gaussian noise: many answers at the price of one", "mechanisms.Gaussian.calibrated", one_answer).caught_by(
    "test_gaussian_scale_covers_every_neighbour"
)
fault("Gaussian noise: twice the budget", "mechanisms.Gaussian.calibrated", twice_the_budget).caught_by(
    "test_gaussian_scale_covers_every_neighbour"
)
fault(
    "Gaussian noise: losses of half the noise",
    "mechanisms.additive.GaussianNoise.losses",
    given(self=lambda self: replace(self, sigma=2 * self.sigma)),
).caught_by("test_released_counts_keep_what_is_stated")
fault("K-norm noise: many answers at the price of one", "mechanisms.KNorm.calibrated", one_answer).caught_by(
    "test_knorm_scale_covers_every_neighbour"
)
fault(
    "K-norm noise: numbers are published",
    "mechanisms.additive.KNormNoise.added",
    calls(lambda true, self, vector, bits: vector + true(self, vector, bits)),
).caught_by("test_knorm_releases_an_order_only")
fault(
    "Laplace noise: only the first block of a long answer has noise",
    "mechanisms.additive.LaplaceNoise.added",
    calls(lambda true, self, v, bits: np.append(true(self, v[:4], bits), v[4:])),
).caught_by("test_answers_longer_than_a_block_have_the_stated_noise")
fault(
    "exponential mechanism: many orders at the price of one", "mechanisms.Exponential.calibrated", one_answer
).caught_by("test_draws_share_the_budget")
fault("exponential mechanism: twice the rate", "mechanisms.Exponential.calibrated", twice_the_budget).caught_by(
    "test_rates_of_both_relations"
)
fault(
    "exponential mechanism: rounding is not paid for",
    "mechanisms.Exponential.calibrated",
    result(lambda noise: replace(noise, rate=noise.rate * 1.0005)),
).caught_by("test_rate_pays_for_rounding")
fault(
    "permute-and-flip: many orders at the price of one", "mechanisms.PermuteAndFlip.calibrated", one_answer
).caught_by("test_draws_share_the_budget")
fault("permute-and-flip: twice the rate", "mechanisms.PermuteAndFlip.calibrated", twice_the_budget).caught_by(
    "test_rates_of_both_relations"
)
fault("peeled choices: twice the range", "privacy.composition.choice_range", double).caught_by(
    "test_peeled_audit.py::test_delta_never_exceeds_the_promise"
)
fault(
    "peeled choices: one of them is free", "privacy.composition.choice_range", given(n_choices=lambda n: max(1, n - 1))
).caught_by("test_peeled_audit.py::test_delta_never_exceeds_the_promise")
fault("Gaussian noise: half of sigma", "privacy.composition.gaussian_sigma", half).caught_by(
    "test_known_analytic_sigmas"
)
fault("Gaussian noise: half of delta", "privacy.composition.gaussian_deltas", half).caught_by(
    "test_pure_releases_against_every_outcome"
)
fault("Skellam noise: half of the divergence", "privacy.skellam.skellam_renyi", half).caught_by(
    "test_the_bound_holds_and_is_near"
)
fault(
    "Skellam noise: only the last release counts",
    "privacy.skellam.skellam_epsilon",
    given(releases=lambda releases: list(releases)[-1:]),
).caught_by("test_two_releases_by_convolution")
fault(
    "Skellam noise: delta is ten times as large in the conversion",
    "privacy.skellam.skellam_epsilon",
    given(delta=lambda delta: min(0.9, 10 * delta)),
).caught_by("test_the_conversion_is_that_of_canonne_kamath_and_steinke")
fault(
    "stream: a ballot counts in one period only",
    "channels.streaming.CorrelatedNoise.calibrated",
    given(sensitivity=lambda sensitivity: sensitivity._replace(l2_squared=sensitivity.l2_squared / 3)),
).caught_by("test_all_totals_together_keep_the_promise_and_use_it_up")
fault(
    "answers of devices: each spends twice its epsilon",
    "collection.protocol.flip_within",
    given(epsilon=lambda epsilon: 2 * epsilon),
).caught_by("test_worst_ratio_is_exactly_the_stated_epsilon")
fault("answers of devices: each spends the whole epsilon", "collection.protocol.flip_within", given(times=1)).caught_by(
    "test_the_two_prices", "test_worst_ratio_is_exactly_the_stated_epsilon"
)
fault(
    "printed flips are rounded down",
    "collection.protocol.flip_above",
    result(lambda flip: [flip[0] - 1, flip[1]] if isinstance(flip, list) else flip - 1),
).caught_by("test_printed_flips_are_rounded_up")
fault(
    "hypercube and PrivUnit: levels of twice epsilon",
    "collection.protocol.levels_within",
    given(epsilon=lambda epsilon: str(2 * float(epsilon))),
).caught_by("test_exactly_private_and_unbiased_over_all_ballots", "test_density_ratio_and_moments")
fault(
    "shuffle: a voter hides behind its own message", "privacy.shuffle.blanket_curve", given(n_messages=lambda n: n + 1)
).caught_by("test_blanket_is_the_bound_of_balle_et_al")
fault("shuffle: one clone too many", "privacy.shuffle.clones_curve", given(n_messages=lambda n: n + 1)).caught_by(
    "test_curves_are_their_defining_mixture"
)
fault(
    "shuffle: several shuffles at the price of one", "privacy.shuffle.composed_shuffle_epsilon", given(n_shuffles=1)
).caught_by("test_composition_splits_delta_and_adds_epsilon")
fault(
    "shuffle: the local epsilon at the whole delta",
    "privacy.shuffle.composed_local_epsilon",
    calls(lambda true, e, n, delta, n_shuffles: true(e, n, delta * n_shuffles, n_shuffles=n_shuffles)),
).caught_by("test_composition_splits_delta_and_adds_epsilon")
fault(
    "shuffle: groups of the size of all voters",
    "privacy.shuffle.balanced_group_size",
    calls(lambda true, n_voters, n_items, n_queries=1: n_voters * n_queries),
).caught_by("test_balanced_group_size")

# Random draws.

twice_the_rate = given(rate=lambda rate: 2 * rate)
fault("draws: Laplace noise of twice the rate", "sampling.discrete_laplace.discrete_laplace", twice_the_rate).caught_by(
    "test_discrete_laplace_has_its_exact_law"
)
fault(
    "draws: zero comes twice as often in Laplace noise",
    "sampling.discrete_laplace.discrete_laplace",
    calls(lambda true, rate, size, bits: true(rate, size, bits) * np.sign(np.abs(true(rate, size, bits)) + 0)),
).caught_by("test_discrete_laplace_has_its_exact_law")
fault(
    "draws: many Laplace numbers of twice the rate", "sampling.discrete_laplace.many_laplace", twice_the_rate
).caught_by("test_discrete_laplace_many.py::test_the_law")
fault(
    "draws: Gaussian noise of half the sigma",
    "sampling.rounded_gaussian.rounded_gaussian",
    given(sigma=lambda sigma: sigma / 2),
).caught_by("test_law_of_the_noise")
fault(
    "draws: Skellam noise of half the variance", "sampling.poisson.skellam_noise", given(rate=lambda rate: rate / 2)
).caught_by("test_the_law_of_the_noise_and_of_sums_of_it")
fault(
    "draws: words are dealt twice",
    "sampling.bit_source.BitSource.words",
    calls(lambda true, self, size: np.resize(true(self, (size + 1) // 2), size)),
).caught_by("test_no_word_is_dealt_twice")
fault(
    "draws: a stated seed is certified",
    "sampling.bit_source.Bits.from_random_state",
    result(lambda bits: bits._replace(certified=True)),
).caught_by("test_seeds_reproduce_their_streams_and_streams_differ")
fault(
    "draws: noise and coins are one stream",
    "sampling.bit_source.Bits.from_random_state",
    result(lambda bits: bits._replace(coins=copy(bits.noise))),
).caught_by("test_seeds_reproduce_their_streams_and_streams_differ")

# Charging, and the number of answers.

fault("answers: nothing is charged", "channels.plan.Answers.charge", nothing).caught_by(
    "test_an_adaptive_session_pays_each_question_once"
)


def one_more(true):
    """Allow one answer more of each kind."""

    def charge(self, query):
        if query.kind in self.left and query.kind not in vars(self).setdefault("had", set()):
            self.had.add(query.kind)
            self.left[query.kind] += 1
        true(self, query)

    return charge


fault("answers: one more than was planned", "channels.plan.Answers.charge", one_more).caught_by(
    "test_an_adaptive_session_pays_each_question_once"
)
fault(
    "answers: any query of a kind at the declared price",
    "channels.central.CuratorAnswers.charge",
    calls(lambda true, self, query: super(type(self), self).charge(query)),
).caught_by("test_unpriced_queries_are_not_answered")


def never_remembered(true):
    """Ask every query again."""

    def answer(self, query):
        if self._source is None:
            self.charge(query)
            return self.ask(query)
        return true(self, query)

    return answer


fault("answers: a repeated query is asked again", "channels.plan.Answers.answer", never_remembered).caught_by(
    "test_an_adaptive_session_pays_each_question_once"
)
fault(
    "plans: a plan for fewer items serves",
    "channels.plan.Plan.open",
    given(self=lambda self: replace(self, n_items=None)),
).caught_by("test_a_plan_is_for_as_many_items_as_it_was_made_for")
fault(
    "plans: a plan for single ballots serves persons",
    "channels.plan.Plan.open",
    calls(lambda true, self, voters: true(replace(self, bound=getattr(voters, "bound", None)), voters)),
).caught_by("test_a_plan_is_for_one_bound_only")
fault(
    "shares: what no ballot moves leaves the whole budget to each other ask",
    "channels.central.rescale_shares",
    result(lambda asks: [ask._replace(share=Fraction(1)) for ask in asks]),
).caught_by("test_shares_that_leave_some_of_the_budget_are_not_stretched_beyond_it")
fault("shares: a fallback at full epsilon", "rules.KwikSortRule.asks", whole_share).caught_by(
    "test_kwiksort_declares_its_queries"
)
fault("shares: an anchor at full epsilon", "rules.ChooseNearAnchor.asks", whole_share).caught_by(
    "test_each_stage_keeps_to_its_half"
)
fault("shares: every batch of the top k at full epsilon", "rules.ChooseTop.asks", whole_share).caught_by(
    "test_every_place_has_the_same_share"
)
fault(
    "shares: the total of segments is not paid for",
    "channels.segmented.SegmentRule.asks",
    calls(lambda true, self, n: [ask._replace(share=Fraction(1, 1000)) for ask in true(self, n)]),
).caught_by("test_pooling_pays_for_segments_total_and_sizes")
fault("budget: a charge is not recorded", "privacy.PrivacyBudget.charge", nothing).caught_by(
    "test_a_reopened_file_has_every_charge"
)
fault("budget: everything fits", "privacy.budget.Account.holds", always(True)).caught_by(
    "test_a_refused_fit_reads_no_ballot"
)
fault(
    "budget: replacing a ballot costs as much as adding one",
    "privacy.budget.in_terms",
    calls(lambda true, terms, guarantee: replace(guarantee, neighboring=terms.neighboring)),
).caught_by("test_replacing_a_ballot_costs_twice_adding_one")
fault("budget: what a fit reveals beyond its charge is free", "privacy.budget.in_excess", nothing).caught_by(
    "test_the_excess_of_a_fit_over_its_charge_is_charged"
)
fault(
    "budget: a leak is charged as what was foretold",
    "privacy.budget.in_excess",
    calls(lambda true, terms, charged, spent: charged),
).caught_by("test_a_leak_uses_up_the_budget")


def read_first(true):
    """Fit before the charge."""

    def fit(self, estimator, X, y=None, **params):
        copy(estimator).fit(X, y)
        return true(self, estimator, X, y, **params)

    return fit


fault("budget: ballots are read before the charge", "privacy.PrivacyBudget.fit", read_first).caught_by(
    "test_a_fit_is_charged_before_it_reads_and_stays_charged", "test_a_refused_fit_reads_no_ballot"
)
fault("budget: a pure release is a Gaussian one of half its mu", "privacy.budget.mu_of_pure", half).caught_by(
    "test_a_pure_release_reveals_no_more_than_its_gaussian"
)
fault(
    "selection: one of its epsilons is missing",
    "model_selection.private.guarantee_of_the_best",
    result(lambda one: replace(one, epsilon=one.epsilon / 1.5, losses=None)),
).caught_by("test_total_guarantee")
fault(
    "selection: scores are free", "model_selection.private.guarantee_of_the_best", given(score_epsilon=1e-9)
).caught_by("test_total_guarantee")
fault("selection: always ten draws", "model_selection.private.draw_count", always(10)).caught_by(
    "test_the_audited_law_is_the_one_that_is_fitted"
)
fault(
    "search: private scores of one fit at the price of all",
    "model_selection.search.costs_of",
    given(scored=lambda scored: list(scored)[:1]),
).caught_by("test_private_scoring")
fault("stream: one period more than planned", "channels.streaming.Stream.check_room", nothing).caught_by(
    "test_one_period_more_is_refused_before_its_ballots_are_read"
)
fault("exact answers: nothing is refused below min_reports", "channels.plan.least_voters", always(1)).caught_by(
    "test_shuffle.py::test_a_plan_below_min_reports_releases_no_result",
    "test_a_plan_refuses_fewer_voters_than_it_was_made_for",
)

# Devices and allowances.


def forgetful(true):
    """Forget earlier messages before each one."""

    def report(self, *args, **kwargs):
        fresh = type(self)(self.protocol, max_delta=0.5)
        return true(fresh, *args, **kwargs)

    return report


fault("device: every report is a fresh draw", "collection.Device.report", forgetful).caught_by(
    "test_a_client_holds_one_report", "test_device_matches_a_reference_model"
)
fault("device: answers are forgotten", "collection.Device.answer", forgetful).caught_by(
    "test_device_matches_a_reference_model", "test_a_new_question_about_another_ballot"
)
fault(
    "device: a copy can report once more",
    "collection.Device.__deepcopy__",
    calls(lambda true, self, memo: type(self)(self.protocol, max_delta=0.5)),
).caught_by("test_pickled_device_repeats_its_report_only", "test_copying_a_device_returns_the_device")
fault(
    "device: a stored device has forgotten its report",
    "collection.Device.to_json",
    given(self=lambda self: type(self)(self.protocol, max_delta=0.5)),
).caught_by("test_device_matches_a_reference_model")
fault(
    "device: what a protocol spends is not compared with what it states",
    "collection.randomizers.checked",
    calls(lambda true, protocol, own=None: dict(protocol)),
).caught_by("test_levels_that_exceed_epsilon_are_refused", "test_stated_epsilon_below_the_true_one_is_refused")
fault(
    "device: the owner's limit on epsilon counts for nothing",
    "collection.Device.__init__",
    calls(lambda true, self, protocol, *, max_epsilon=None, **more: true(self, protocol, **more)),
).caught_by("test_max_epsilon")
fault("device: any delta is accepted", "collection.Device.__init__", given(max_delta=0.99)).caught_by(
    "test_delta_above_max_delta_is_refused", "test_refused_protocol_is_not_charged"
)
fault("device: the allowance is not charged", "collection.Allowance.charge", nothing).caught_by(
    "test_charges_of_several_polls_add_up"
)
fault(
    "device: an allowance is charged again for an opened device",
    "collection.Allowance.charge",
    calls(lambda true, self, device, *rest, **more: true(self, f"{device}{len(self.to_json())}", *rest, **more)),
).caught_by("test_device_matches_a_reference_model", "test_allowance_text_round_trips")
fault(
    "device: an allowance ignores delta", "collection.Allowance.charge", given(delta=lambda delta: delta * 0)
).caught_by("test_deltas_of_several_polls_add_up")
fault(
    "device: a copy of an allowance pays once more",
    "collection.Allowance.__deepcopy__",
    calls(lambda true, self, memo: type(self).from_json(self.to_json())),
).caught_by("test_copies_share_the_budget")
fault(
    "device: a restored allowance has spent nothing",
    "collection.Allowance.to_json",
    given(self=lambda self: type(self)(self.epsilon, self.delta)),
).caught_by("test_allowance_text_round_trips")
fault(
    "device: summed noise has no delta", "collection.shares.SummedRandomizer.delta", result(lambda delta: delta * 0)
).caught_by("test_delta_above_max_delta_is_refused")
fault(
    "device: any question of a round is answered again",
    "collection.shares.RoundsRandomizer.answer",
    given(answered=()),
).caught_by("test_second_question_with_the_same_number_is_refused", "test_earlier_questions_are_refused")
fault(
    "device: assigned pairs are not verified", "collection.pairs.AssignedRandomizer.assigned", given(pairs=None)
).caught_by("test_a_device_answers_about_its_own_pairs_only")


def without_ties(compared):
    """Return comparisons without ties, unless all are ties."""
    rows = ~compared.tied | compared.tied.all()
    return compared._replace(**{name: getattr(compared, name)[rows] for name in ("person", "winner", "loser", "tied")})


fault(
    "device: ties are not drawn among shown pairs",
    "collection.pairs.drawn_comparisons",
    calls(lambda true, compared, bits: true(without_ties(compared), bits)),
).caught_by("test_drawn_pair_does_not_depend_on_the_outcomes")
fault(
    "local: shown pairs have the guarantee of secret ones",
    "channels.local.outcomes_of",
    calls(lambda true, guarantee, bound: guarantee),
).caught_by("test_guarantee_states_that_only_outcomes_are_protected")
fault(
    "device: names of built-in randomizers stand for anybody's code",
    "collection.randomizers.client_randomizer",
    calls(lambda true, protocol, own=None: own or true(protocol, own)),
).caught_by("test_own_code_does_not_run_under_a_built_in_name")
fault("device: answers are not flipped", "collection.base.flipped_answers", given(flip=0)).caught_by(
    "test_no_report_tells_two_ballots_further_apart_than_stated"
)
fault(
    "device: silence tells",
    "collection.base.true_answers",
    calls(lambda true, *args: true(*args[:-1], SimpleNamespace(coins=lambda size: np.zeros(size, dtype=bool)))),
).caught_by("test_without_an_opinion_an_answer_is_a_fair_coin")
fault(
    "device: the digest of a protocol leaves out the items",
    "collection.protocol.digest",
    calls(lambda true, protocol: true({**protocol, "items": 0}) if "items" in protocol else true(protocol)),
).caught_by("test_another_epsilon_or_other_items_are_another_protocol")
fault(
    "device: costs are rounded down",
    "collection.protocol.log_ratio",
    result(lambda cost: cost * (1 - type(cost)("1e-40"))),
).caught_by("test_log_ratio_is_just_above")
fault(
    "device: a secret number is always the same",
    "collection.base.random_number",
    result(lambda number: "0" * len(number) if isinstance(number, str) else 0),
).caught_by("test_two_devices_send_different_numbers")

# Secret shares.

SHARES = "test_all_shares_but_one_are_uniform_and_independent"
fault("shares: voters add no noise", "sampling.poisson.skellam_noise", result(lambda noise: noise * 0)).caught_by(
    "test_the_noise_of_one_voter"
)
fault(
    "shares: all servers get the same share",
    "collection.shares.split",
    result(lambda drawn: (drawn[0], np.repeat(drawn[1][:, :1], drawn[1].shape[1], axis=1))),
).caught_by(SHARES, "test_all_servers_but_one_see_the_same_for_any_ballot")
fault(
    "shares: one salt for all servers",
    "collection.shares.split",
    result(lambda drawn: (np.repeat(drawn[0][:, :1], drawn[0].shape[1], axis=1), drawn[1])),
).caught_by("test_messages_to_all_servers_but_one_have_one_law_for_any_ballot")
fault(
    "shares: commitments without a salt",
    "collection.shares.commitment",
    given(message=lambda message: {key: value for key, value in message.items() if key != "salt"}),
).caught_by("test_the_number_of_a_report_commits_to_all_shares")
fault(
    "shares: the modulus has two bits too few", "collection.shares.modulus_bits", result(lambda bits: bits - 2)
).caught_by("test_the_modulus_holds_every_sum_but_for_a_stated_chance")
fault(
    "shares: epsilon is that of twice the voters",
    "collection.shares.SummedRandomizer.spent",
    given(n_voters=lambda n_voters: 2 * n_voters),
).caught_by("test_the_epsilon_of_the_sum_is_that_of_so_many_voters")

# Servers, files and crashes.

RECEIVER = "test_servers_match_a_reference_model"
fault("server: shares stay in the file after a release", "collection.servers.CheckedFile.clear", nothing).caught_by(
    "test_a_release_erases_the_shares", "test_each_voter_is_released_once"
)
fault(
    "server: another number of a file's rows is not noticed",
    "collection.servers.CheckedFile.rows",
    calls(lambda true, self: iter(list(true(self))[1:])),
).caught_by("test_below_min_reports_no_sum_is_released", RECEIVER)
fault(
    "server: a round begins again", "collection.AggregationServer.ask", calls(lambda true, self, question: None)
).caught_by("test_server_refuses_earlier_rounds")
fault(
    "server: reports of few voters are released",
    "collection.AggregationServer.release",
    calls(lambda true, self, voters: true(self, self.reports())),
).caught_by("test_below_min_reports_no_sum_is_released", "test_second_sum_over_other_voters_is_refused")
fault(
    "server: the reports of all servers are released, not those that agree",
    "collection.servers.agreed",
    calls(lambda true, reports: sorted(set().union(*map(set, reports)))),
).caught_by("test_agreed")
fault(
    "shuffler: it does not mix", "collection.Shuffler.release", calls(lambda true, self: sorted(true(self), key=str))
).caught_by("test_the_order_of_a_batch_is_random")
fault(
    "shuffler: a batch is released again",
    "collection.Shuffler.release",
    calls(lambda true, self: true(self) if not self.batches else self.batch(1)),
).caught_by("test_each_voter_is_released_once")


def unchecked_design(true):
    """Accept designs whose pairs are not balanced."""

    def checked_design(design, protocol):
        try:
            return true(design, protocol)
        except ValueError:
            return np.asarray(design)

    return checked_design


fault(
    "shuffler: a design that singles out a voter is accepted", "collection.servers.checked_design", unchecked_design
).caught_by("test_a_wrong_or_unbalanced_design_is_refused[design9-balanced]")
fault(
    "curator: sums of different voters are added",
    "channels.secure_aggregation.combined",
    given(messages=lambda messages: [{**m, "voters": 0} for m in messages]),
).caught_by("test_secure_aggregation.py::test_sums_that_do_not_add_up")
fault(
    "curator: a submission counts each time it comes",
    "collection.reports.new_numbers",
    given(received=lambda received: set()),
).caught_by("test_submissions_are_refused_by_reason", "test_one_answer_that_is_returned_many_times_counts_once")
fault(
    "curator: a registered voter counts each time",
    "collection.reports.new_voters",
    given(received=lambda received: set()),
).caught_by("test_a_voter_counts_once_under_all_epsilons", "test_one_answer_that_is_returned_many_times_counts_once")
fault(
    "curator: true and false are numbers",
    "collection.reports.whole_numbers",
    given(numbers=lambda numbers: [int(n) if isinstance(n, bool) else n for n in numbers]),
).caught_by("test_whole_numbers_are_read_as_they_are_checked")
fault("curator: a consensus of no reports", "collection.reports.Inbox.require", nothing).caught_by(
    "test_a_fit_without_honest_reports_fails"
)
fault(
    "curator: counts of two protocols are added",
    "collection.ReportCounts.__add__",
    calls(
        lambda true, self, other: true(
            self, type(self)(dict(zip(self.tallies, other.tallies.values(), strict=False)), Counter())
        )
    ),
).caught_by("test_counts_belong_to_one_protocol")
fault(
    "curator: submissions leave in a text",
    "collection.ReportCounts.to_json",
    given(self=lambda self: type(self)(self.tallies, self.reports_refused)),
).caught_by("test_submissions_do_not_leave_in_a_text")
fault(
    "budget file: six digits are kept",
    "privacy.budget.guarantee_as_text",
    given(guarantee=lambda one: replace(one, epsilon=float(f"{one.epsilon:.3g}"), losses=None)),
).caught_by("test_a_reopened_file_has_every_charge")
fault(
    "budget file: a pickled budget takes any file",
    "privacy.budget.Releases.__reduce__",
    calls(lambda true, self: (type(self), (self.path, None))),
).caught_by("test_another_file_with_the_same_terms_is_refused")
fault("budget file: a charge is not written", "privacy.budget.Releases.add", always(1)).caught_by(
    "test_a_reopened_file_has_every_charge"
)
fault(
    "budget file: a new file replaces the one of a faster process",
    "privacy.new_file.make_whole",
    calls(lambda true, path, fill: (getattr(path, "unlink", lambda: None)(), true(path, fill))),
).caught_by("test_a_file_that_another_made_first_is_shared")
fault(
    "budget in memory: a copy has a budget of its own",
    "privacy.budget.Releases.__reduce__",
    calls(lambda true, self: (type(self), (None, self.terms))),
).caught_by("test_a_budget_in_memory_has_one_account")

# Reading, persons and weights.


def counted_by(estimator, profile):
    """Keep the number of voters in an estimator, and return the profile."""
    estimator.n_seen = profile.n_voters
    return profile


fault("reading: names of columns are lost", "ballots.reading.column_names", nothing).caught_by(
    "test_columns_keep_their_names"
)
fault(
    "reading: items that were not ranked come first",
    "ballots.reading.completed",
    calls(lambda true, table, sentinel, coins, **more: true(np.where(table == sentinel, 0, table), sentinel, coins)),
).caught_by("test_the_law_of_every_ballot")
fault(
    "reading: two names that look alike are two items", "ballots.reading.normal", calls(lambda true, text: text)
).caught_by("test_names_that_look_alike_are_refused")
fault(
    "reading: the columns of a frame are converted together",
    "ballots.reading.as_array",
    calls(lambda true, X: X.to_numpy() if hasattr(X, "iloc") else true(X)),
).caught_by("test_each_ballot_of_a_frame_of_mixed_dtypes_is_read_by_itself")
fault("a fit keeps what a user's rule stores", "channels.base.deepcopy", calls(lambda true, rule: rule)).caught_by(
    "test_answers_that_a_rule_stores_do_not_stay_in_the_estimator"
)
fault("reading: masked cells are read", "ballots.reading.unmasked", calls(lambda true, X: np.ma.getdata(X))).caught_by(
    "test_masked_orders_list_what_is_not_masked"
)
fault(
    "reading: the lowest rating is the best",
    "preprocessing.RatingsToRankings.transform",
    given(X=lambda X: -np.asarray(X, dtype=float)),
).caught_by("test_unsigned_and_boolean_ratings")
fault(
    "reading: items that were not ranked stay without an opinion",
    "preprocessing.unranked_last",
    calls(lambda true, X: X),
).caught_by("test_unranked_last_keeps_names_and_compares_doubles")
fault(
    "persons: ids that differ in case are one person",
    "ballots.weights.person_numbers",
    given(groups=lambda groups: [one.lower() if isinstance(one, str) else one for one in list(groups)]),
).caught_by("test_equal_ids_are_one_person")
fault(
    "counts: folds have the voters in the order of rows",
    "ballots.profile.Profile.has_persons",
    calls(lambda true, self: self.rows is not None),
).caught_by("test_voters_of_one_row_are_split_at_random")
fault(
    "a fit publishes the number of voters that it hides",
    "channels.base.RankAggregator.read_ballots",
    calls(lambda true, self, X, reset=False, least_voters=1: counted_by(self, true(self, X, reset, least_voters))),
).caught_by("test_equal_answers_of_neighbours_give_equal_fits")
fault("persons: the bound is not applied", "ballots.weights.clipped", given(most=lambda most: 16 * most)).caught_by(
    "test_no_person_has_more_than_the_bound", "test_a_person_counts_once_by_the_mean_of_up_to_sixteen_ballots"
)
fault(
    "persons: the heaviest person sets the scale of all",
    "ballots.weights.clipped",
    calls(lambda true, weight, persons, most: true(weight, np.zeros_like(persons), most * len(set(persons.tolist())))),
).caught_by("test_weights_depend_on_one_person")
fault(
    "persons: twice the chosen weight is kept", "ballots.weights.reduced", given(most=lambda most: 2 * most)
).caught_by("test_no_person_has_more_than_the_chosen_bound", "test_all_answers_together_use_up_the_budget")
fault(
    "persons: a ballot may be taken many times", "ballots.Profile.take", given(rows=lambda rows: np.unique(rows))
).caught_by("test_some_of_the_ballots_keep_their_weights")
fault(
    "persons: profiles of different bounds add up",
    "ballots.Profile.__add__",
    calls(lambda true, self, other: true(self, self if other.bound != self.bound else other)),
).caught_by("test_profiles_of_different_bounds_do_not_add_up")
fault(
    "persons: rows of segments are clipped one segment at a time",
    "channels.segmented.SegmentedProfile.bounded",
    calls(lambda true, self, bound: self),
).caught_by("test_persons_are_clipped_over_all_segments_together")
fault(
    "segments: a label that is not listed counts in the first segment",
    "channels.segmented.segment_numbers",
    result(lambda numbers: np.maximum(numbers, 0)),
).caught_by("test_other_labels_count_nowhere")
fault("counts: net wins of ballots with ties", "ballots.counting.net_wins", result(lambda wins: wins + 1)).caught_by(
    "test_few_ballots_that_are_not_strict"
)
fault(
    "counts: pairs of ballots with ties",
    "ballots.counting.count_pairs",
    given(positions=lambda positions: positions._replace(table=positions.table.argsort(axis=0).argsort(axis=0))),
).caught_by("test_few_ballots_that_are_not_strict")
fault(
    "counts: the time of a fit tells whether ballots are strict",
    "channels.central.CuratorAnswers.ask",
    calls(lambda true, self, query: (self._profile.strict, true(self, query))[1]),
).caught_by("test_a_fit_never_looks_whether_ballots_are_strict")

# Guarantees and composition.

fault(
    "composition: the largest epsilon",
    "privacy.PrivacyGuarantee.compose",
    calls(
        lambda true, cls, guarantees, **more: replace(
            true(cls, all_of := list(guarantees), **more), epsilon=max(g.epsilon for g in all_of), losses=None
        )
    ),
).caught_by("test_epsilons_and_deltas_add_up")
fault(
    "composition: conditions of the parts are lost",
    "privacy.PrivacyGuarantee.compose",
    result(lambda one: replace(one, caveats=())),
).caught_by("test_the_spent_guarantee_keeps_the_caveats_of_its_releases")
fault(
    "guarantee: a simulation keeps its certificate",
    "privacy.PrivacyGuarantee.simulated",
    calls(lambda true, self, certified: self),
).caught_by("test_simulated_never_certifies", "test_a_fit_with_a_seed_is_never_certified")
fault(
    "guarantee: replacing costs what adding costs",
    "privacy.PrivacyGuarantee.under_replace",
    calls(lambda true, self: replace(self, neighboring="replace")),
).caught_by("test_replacing_is_removing_and_adding")
fault(
    "guarantee: two steps of Gaussian noise count as two releases",
    "privacy.composition.Losses.twice",
    result(lambda losses: losses._replace(mu_squared=losses.mu_squared / 2)),
).caught_by("test_under_replace_doubles_mu")
fault(
    "guarantee: the delta of two steps lacks e^epsilon",
    "privacy.composition.delta_of_two",
    calls(lambda true, epsilon, delta: 2 * delta),
).caught_by("test_replacing_is_removing_and_adding")
fault(
    "guarantee: stated numbers are rounded to nearest", "privacy.rounding.rounded_up", calls(lambda true, x: float(x))
).caught_by("test_fractions_are_rounded_up", "test_sums_are_never_below_the_exact_ones")
fault(
    "guarantee: sums are rounded to nearest",
    "privacy.rounding.sum_up",
    calls(lambda true, numbers: float(sum(numbers))),
).caught_by("test_sums_are_never_below_the_exact_ones")
fault(
    "guarantee: fractions are rounded up where they must be rounded down",
    "privacy.rounding.round_down",
    calls(lambda true, x, limit=2**31: true(x, limit) + Fraction(1, limit)),
).caught_by("test_round_down_is_below_and_close")
fault(
    "guarantee: a simulation is stated as a guarantee",
    "privacy.PrivacyGuarantee.statement",
    given(self=lambda self: replace(self, certified=True)),
).caught_by("test_a_seed_comes_first")
fault(
    "guarantee: what others state is believed",
    "privacy.estimator_guarantees.guarantee_after",
    calls(lambda true, fitted, declared: getattr(fitted, "privacy_", None) or true(fitted, declared)),
).caught_by("test_other_classes_have_no_guarantee")
fault("guarantee: every transformer keeps it", "privacy.estimator_guarantees.mixing_step", nothing).caught_by(
    "test_a_step_that_mixes_ballots_is_named"
)
fault(
    "guarantee: a subclass with methods of its own is trusted", "privacy.estimator_guarantees.own_methods", always([])
).caught_by("test_an_own_method_is_refused", "test_candidates_must_not_override_a_step_of_the_fit")
fault(
    "guarantee: a private fit inside a worker does not warn", "privacy.estimator_guarantees.warn_in_worker", nothing
).caught_by("test_a_private_fit_inside_a_worker_warns")
fault(
    "guarantee: the largest personal epsilon is not stated",
    "collection.protocol.stated_epsilon",
    calls(lambda true, protocol, client: true(protocol, client) / 2),
).caught_by("test_the_guarantee_states_the_largest_epsilon", "test_no_epsilon_is_stated_below_what_is_spent")

# Published facts.

fault("published: the tail of Laplace noise", "uncertainty.laws.LaplaceLaw.tail", half).caught_by(
    "test_moments_and_tails_of_laplace_noise"
)
fault(
    "published: confidence in scores as if the noise were half",
    "uncertainty.laws.NormalLaw.chance_before",
    given(self=lambda self: replace(self, std=self.std / 4) if hasattr(self, "std") else self),
).caught_by("test_normal_scores_are_averaged_over_their_spread")
fault("published: p-values of answers are halved", "uncertainty.laws.AnswersLaw.p_values", half).caught_by(
    "test_p_values_of_answers_are_never_too_small"
)
fault("published: the tail of Skellam noise", "uncertainty.laws.SkellamLaw.tail", half).caught_by(
    "test_tails_of_skellam_noise"
)
fault(
    "published: intervals are too narrow by one rank",
    "uncertainty.laws.PublishedNoise.rank_intervals",
    result(lambda ranks: ranks - 1),
).caught_by("test_the_borda_consensus_is_within_its_intervals")
fault(
    "published: persons of a population differ by less than they may",
    "queries.comparisons.NetWinsAndExposures.most_varied",
    half,
).caught_by("test_a_population_of_comparisons_varies_at_most_as_stated")
fault(
    "published: intervals of a population are those of the voters",
    "uncertainty.strengths.ShareNoise.intervals",
    calls(lambda true, self, net_wins, level, of="voters": true(self, net_wins, level)),
).caught_by("test_intervals_of_a_population_hold_jointly_where_persons_differ_most")
fault(
    "published: limits of a population assume half of the voters' spread",
    "uncertainty.laws._Additive.sampled_quantile",
    calls(lambda true, self, n_items, level, deviation: true(self, n_items, level, deviation / 2)),
).caught_by("test_limit_of_differences_with_noise_of_integers")
fault(
    "published: simultaneous intervals of segments have the level of one",
    "channels.segmented.SegmentedAggregator.rank_intervals",
    available(lambda true, self, level=0.95, simultaneous=False, **of: true(self, level, **of)),
).caught_by("test_intervals_are_those_of_the_segment_s_own_net_wins")
fault(
    "published: segments forget that the shared mean is an estimate",
    "channels.segmented.pooled",
    result(lambda all_of: all_of._replace(std=all_of.std / 2)),
).caught_by("test_pooled_estimates_equal_dense_matrices")
fault(
    "published: PrivUnit forgets that reports are shortened", "collection.privunit.PrivUnitG.estimate", half
).caught_by("test_unbiased_with_the_stated_variance")
fault(
    "published: the noise of a stream without its weights",
    "channels.streaming.CorrelatedNoise.law",
    result(lambda law: replace(law, std=1.0)),
).caught_by("test_the_noise_that_is_stated_is_that_of_every_total")
fault(
    "published: an order may list an item twice",
    "orders.permutations.check_order",
    calls(lambda true, order, *rest: np.asarray(order)),
).caught_by("test_order_of_a_rule_must_hold_distinct_items")
fault(
    "published: ties are broken by column",
    "channels.plan.Answers.tie_break",
    calls(lambda true, self: np.arange(self.n_items)),
).caught_by("test_ties_are_broken_by_coins")
fault(
    "published: threads publish one period several times",
    "_utils.estimators.swap_fitted",
    calls(lambda true, draft, estimator, **expected: true(draft, estimator)),
).caught_by("test_a_period_that_another_call_overtakes_comes_after_it")
fault("published: a failed fit leaves results of the one before", "_utils.estimators.clear_fitted", nothing).caught_by(
    "test_searches_and_plain_fits"
)
fault(
    "published: distances count pairs that are tied",
    "metrics.kendall_tau_distance",
    result(lambda distance: distance + 1),
).caught_by("test_distances_compare_ballots_as_doubles")
fault(
    "published: a download with another checksum is kept",
    "datasets._preflib.fetch_preflib",
    calls(lambda true, *args, checksum=None, **more: true(*args, **more)),
).caught_by("test_file_with_another_checksum_is_not_kept")
fault("published: the command ignores options of a file without a file", "cli.layout.given", always([])).caught_by(
    "test_options_of_a_file_need_a_file"
)
