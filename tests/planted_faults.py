"""Faults that would break a promise, each with the tests that must fail: see `audit/planted.py`."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One replacement in one file of the package.

    Attributes
    ----------
    name : str
        What is wrong, in a few words.
    file : str
        Path from the root of the repository.
    old, new : str
        The text that occurs exactly once there, and what takes its place.
    tests : tuple of str
        Node ids of fast tests of which one must fail.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def faults(file, *tests):
    """Return what makes faults of one file, which the same tests must catch unless others are named."""

    def make(name, old, new, *others):
        return Fault(name, f"sklearn_dprank/{file}", old, new, others or tests)

    return make


VECTORS = "tests/queries/test_sensitivities.py::test_no_ballot_moves_the_vector_further"
ORDERS = "tests/queries/test_sensitivities.py::test_no_ballot_costs_more_than_the_loss_stated"

base = faults("queries/base.py", VECTORS)
pairs = faults("queries/pairs.py", VECTORS)
scores = faults("queries/scores.py", VECTORS)
utilities = faults("queries/utilities.py", ORDERS)
top = faults("queries/top.py", ORDERS)
groups = faults("queries/groups.py", VECTORS)
QUERIES = [
    base("a replaced ballot counts once", "return RELATIONS[neighboring]", "return 1"),
    groups("half the l1 of groups", "sum(k**2 // 2 for k in sizes)", "sum(k**2 // 4 for k in sizes)"),
    groups("half the l2 of groups", "for k in sizes), 3)", "for k in sizes), 12)"),
    groups("groups in l2 under replace", "change**2 * l2_squared", "change * l2_squared"),
    groups(
        "an item may meet two groups",
        "if len(set(items)) < len(items):",
        "if False:",
        "tests/queries/test_groups.py::test_groups_that_overlap_cannot_be_made",
    ),
    faults("queries/voters.py", VECTORS)(
        "the number of voters is public where voters come and go",
        'moved = int(neighboring == "add_remove")',
        "moved = 0",
    ),
    scores("half the l1 of net wins", "change * (n_items**2 // 2)", "change * (n_items**2 // 4)"),
    scores("half the l2 of net wins", "n_items * (n_items**2 - 1), 3)", "n_items * (n_items**2 - 1), 12)"),
    scores("net wins in l2 under replace", "change**2 * l2_squared, gauge", "change * l2_squared, gauge"),
    scores("the gauge of net wins under replace", "gauge=change)", "gauge=1)"),
    scores("half the gauge of net wins", "gauge=change)", "gauge=change / 2)"),
    pairs("all margins in l1 under replace", "Sensitivity(change * n_pairs(n_items),", "Sensitivity(n_pairs(n_items),"),
    pairs(
        "all margins in l2 under replace",
        "Fraction(change**2 * n_pairs(n_items))",
        "Fraction(change * n_pairs(n_items))",
    ),
    pairs(
        "half of all margins", "Sensitivity(change * n_pairs(n_items),", "Sensitivity(change * n_pairs(n_items) // 2,"
    ),
    pairs(
        "one margin in l1 under replace",
        "Sensitivity(change, Fraction(change**2))",
        "Sensitivity(1, Fraction(change**2))",
    ),
    pairs(
        "one margin in l2 under replace",
        "Sensitivity(change, Fraction(change**2))",
        "Sensitivity(change, Fraction(change))",
    ),
    pairs("tallies in l1 under replace", "Sensitivity(pairs * moves(neighboring),", "Sensitivity(pairs,"),
    pairs("tallies in l2 under replace", "Fraction(pairs * moves(neighboring))", "Fraction(pairs)"),
    pairs("tallies of one pair for those of several", "else len(self.pairs)", "else 1"),
    scores("net wins counted twice", "return profile.net_wins", "return 2 * profile.net_wins"),
    faults("queries/histogram.py", VECTORS)(
        "the histogram under replace", "Sensitivity(change, Fraction(change))", "Sensitivity(1, Fraction(1))"
    ),
    faults("queries/histogram.py", VECTORS)(
        "a ballot in two cells",
        "return np.bincount(index, minlength=factorial(profile.n_items))",
        "return np.bincount(np.append(index, index[:1]), minlength=factorial(profile.n_items))",
        "tests/queries/test_sensitivities.py::test_a_ballot_adds_the_same_integers_whatever_the_others_say",
    ),
    scores("positional scores under replace", 'if neighboring == "replace":', 'if neighboring == "swap":'),
    scores(
        "half the l1 of positional scores",
        "Sensitivity(sum(map(abs, change)) + n_items",
        "Sensitivity(sum(map(abs, change)) // 2",
    ),
    scores("half the l2 of positional scores", "l2_squared = squares + 2", "l2_squared = squares // 2 + 2"),
    scores(
        "half the noise of all cells",
        "l2_squared * self._spread(n_items)\n",
        "l2_squared * self._spread(n_items) / 2\n",
        "tests/queries/test_scores_by_histogram.py::test_noise_sorts_like_noise_on_every_cell",
    ),
    utilities(
        "the Kemeny cost under replace", "loss = moves(neighboring) * n_pairs(n_items)", "loss = n_pairs(n_items)"
    ),
    utilities(
        "half the Kemeny cost",
        "loss = moves(neighboring) * n_pairs(n_items)",
        "loss = moves(neighboring) * n_pairs(n_items) // 2",
    ),
    utilities("a prudent order without its factor two", "loss = 2 * moves(neighboring)", "loss = moves(neighboring)"),
    utilities("a prudent order under replace", "loss = 2 * moves(neighboring)", "loss = 2"),
    top("the best few without their factor two", "loss = 2 * moves(neighboring)", "loss = moves(neighboring)"),
    top("the best few under replace", "loss = 2 * moves(neighboring)", "loss = 2"),
    top(
        "batches of two sizes at the price of one",
        "return MaxViolatedPrefixMargin, self.k",
        "return MaxViolatedPrefixMargin",
        "tests/queries/test_top_query.py::test_batches_of_one_size_are_one_kind",
    ),
]

additive = faults("mechanisms/additive.py")
exponential = faults("mechanisms/exponential.py")
flipping = faults("mechanisms/permute_and_flip.py")
memetic = faults("orders/memetic.py", "tests/orders/test_memetic.py::test_orders_go_down_side_by_side_as_they_do_alone")
inversions = faults("orders/inversions.py", "tests/orders/test_inversions.py::test_many_items_against_all_pairs")
strengths = faults(
    "rules/bradley_terry_loss.py", "tests/rules/test_bradley_terry.py::test_the_loss_and_its_derivatives"
)
ordering = faults(
    "orders/linear_ordering.py", "tests/orders/test_kemeny.py::test_good_orders_are_found_where_nothing_is_proved"
)
MECHANISMS = [
    additive(
        "many Laplace answers for the price of one",
        "Fraction(epsilon) / times / sensitivity.l1",
        "Fraction(epsilon) / sensitivity.l1",
        "tests/mechanisms/test_additive.py::test_laplace_scale_covers_every_neighbour",
    ),
    additive(
        "many Gaussian answers for the price of one",
        "float(epsilon), delta, _root(sensitivity.l2_squared * times)",
        "float(epsilon), delta, _root(sensitivity.l2_squared)",
        "tests/mechanisms/test_additive.py::test_gaussian_scale_covers_every_neighbour",
    ),
    additive(
        "published Laplace noise states what was asked for",
        "Fraction(epsilon) * Fraction(sensitivity.l1, l1)",
        "Fraction(epsilon)",
        "tests/channels/test_central.py::test_published_scale_states_its_true_guarantee",
    ),
    additive(
        "Gaussian noise is stated at twice its size",
        "sensitivity.l2_squared * times / Fraction(self.sigma) ** 2",
        "sensitivity.l2_squared * times / Fraction(2 * self.sigma) ** 2",
        "tests/audit/test_released_histogram.py::test_released_counts_keep_what_is_stated",
    ),
    additive(
        "many K-norm answers for the price of one",
        "float(times * sensitivity.gauge / Fraction(epsilon))",
        "float(sensitivity.gauge / Fraction(epsilon))",
        "tests/mechanisms/test_additive.py::test_several_knorm_answers_share_epsilon",
    ),
    additive(
        "K-norm noise of centred scores on net wins",
        "2 * knorm_noise(n_items",
        "knorm_noise(n_items",
        "tests/audit/test_exact.py::test_the_audited_law_is_the_one_that_is_sampled",
    ),
    additive(
        "K-norm noise publishes its numbers",
        "        return out\n\n\nclass Laplace",
        "        return np.rint(noisy).astype(np.int64)\n\n\nclass Laplace",
        "tests/mechanisms/test_additive.py::test_knorm_releases_an_order_only",
    ),
    additive(
        "only a first block of a histogram gets noise",
        "for start in range(0, len(out), _BLOCK):",
        "for start in range(0, 1, _BLOCK):",
        "tests/mechanisms/test_additive.py::test_every_block_of_a_long_answer_gets_noise",
    ),
    exponential(
        "twice the rate of the exponential mechanism",
        "ExponentialNoise(rate / sensitivity.l1,",
        "ExponentialNoise(2 * rate / sensitivity.l1,",
        "tests/mechanisms/test_exponential.py::test_rates_of_both_relations",
    ),
    exponential(
        "rounding of the exponential mechanism unpaid",
        "(1 - 2**-50) - 2 * eta",
        "(1 - 2**-50)",
        "tests/mechanisms/test_exponential.py::test_what_rounding_may_cost_is_paid_for",
    ),
    exponential(
        "many orders for the price of one",
        "budget = Fraction(epsilon) / times",
        "budget = Fraction(epsilon)",
        "tests/mechanisms/test_exponential.py::test_several_draws_share_the_budget",
    ),
    flipping(
        "twice the rate of permute-and-flip",
        "PermuteAndFlipNoise(rate / sensitivity.l1)",
        "PermuteAndFlipNoise(2 * rate / sensitivity.l1)",
        "tests/mechanisms/test_permute_and_flip.py::test_rate_of_both_relations",
    ),
    flipping(
        "rounding of permute-and-flip unpaid",
        "(1 - 2**-50) - 2 * eta",
        "(1 - 2**-50)",
        "tests/mechanisms/test_permute_and_flip.py::test_what_rounding_may_cost_is_paid_for",
    ),
    flipping(
        "many flips for the price of one",
        "budget = Fraction(epsilon) / times",
        "budget = Fraction(epsilon)",
        "tests/mechanisms/test_permute_and_flip.py::test_several_draws_share_the_budget",
    ),
    faults("orders/flips.py")(
        "as many chances for one order as for many",
        "bits) - log_counts  # -ln U / n",
        "bits)",
        "tests/orders/test_flips.py::test_law_of_the_largest",
    ),
    faults("orders/flips.py")(
        "rare orders never come",
        "log_v = bits.log_uniform(size)",
        "log_v = np.log(bits.uniform(size))",
        "tests/mechanisms/test_permute_and_flip.py::test_an_order_that_is_owed_can_come",
    ),
    faults("orders/linear_extensions.py")(
        "orders of smaller margins counted again",
        "np.diff(self._extensions.of_all, prepend=0)",
        "self._extensions.of_all",
        "tests/mechanisms/test_permute_and_flip.py::test_orders_follow_the_law_of_the_definition",
    ),
    faults("orders/levels.py")(
        "orders of smaller margins drawn again",
        "counts[:, column] - counts[:, column - 1] if first else counts[:, column]",
        "counts[:, column]",
        "tests/orders/test_linear_extensions.py::test_orders_of_exactly_one_level_are_counted",
    ),
    faults("orders/levels.py")(
        "the best few from the first set alone",
        "self._subsets.starts[self._k] + self._met[state].draw(bits)",
        "self._subsets.starts[self._k]",
        "tests/orders/test_top.py::test_draws_follow_the_law",
    ),
    faults("orders/top.py")(
        "the best few at another rate",
        "return Flips(values, counts, scale)",
        "return Flips(values, counts, 2 * scale)",
        "tests/orders/test_top.py::test_draws_follow_the_law",
    ),
    faults("orders/top.py")(
        "one of the first of equally good choices",
        "same[bits.integer(len(same))]",
        "same[0]",
        "tests/orders/test_top.py::test_draws_follow_the_law",
    ),
    faults("orders/top.py")(
        "a rival that is placed already",
        "np.where(_among(placed, rival), worst, margin)",
        "margin",
        "tests/orders/test_top.py::test_every_way_against_the_naive_twin",
    ),
    faults("rules/top.py")(
        "every batch at the price of one place",
        "Fraction(size * sizes.count(size), self.k)",
        "Fraction(size, self.k)",
        "tests/rules/test_top.py::test_every_place_has_the_same_share",
    ),
    faults("rules/top.py")(
        "all of epsilon for each size of batches",
        "Fraction(size * sizes.count(size), self.k)",
        "Fraction(1)",
        "tests/rules/test_top.py::test_every_place_has_the_same_share",
    ),
    faults("orders/positions.py")(
        "to say nothing agrees with everybody",
        "total + np.vdot(preferred, positions[:, None] == positions) / 2",
        "total",
        "tests/test_metrics.py::test_fagin_s_distance_of_top_lists",
    ),
    inversions("pairs of the two halves", "half * (half - 1) // 2)", "half * (half + 1) // 2)"),
    inversions("tied items by the second ranking", "np.lexsort((second, first))", "np.lexsort((-second, first))"),
    inversions(
        "an order against itself",
        "second[:, None] > second",
        "second[:, None] >= second",
        "tests/orders/test_inversions.py::test_reversed_and_equal_orders",
    ),
    strengths("answers that nobody flips pull by their own chance", "self._wins * other", "self._wins * chance"),
    strengths(
        "large strengths the wrong way round",
        "expit(s[:, np.newaxis] - s), np.log",
        "expit(s - s[:, np.newaxis]), np.log",
        "tests/rules/test_bradley_terry.py::test_exponentials_of_items_and_of_pairs_say_the_same",
    ),
    strengths("a curvature of many items is not lifted", ", x) + lift * x", ", x)"),
    strengths(
        "equations of many items by the threads of BLAS",
        "(_Matrix if len(s) < _MANY else _LargeMatrix)(matrix)",
        "_Matrix(matrix)",
        "tests/rules/test_bradley_terry.py::test_tallies_of_many_items_converge",
    ),
    faults("metrics.py")(
        "an item without an opinion comes last",
        "~(first.unranked | second.unranked)",
        "~first.unranked",
        "tests/test_metrics.py::test_distance_of_ballots_of_every_kind",
    ),
    faults("orders/permutohedron.py")(
        "the Gamma shape of K-norm noise one too small",
        "bits.exponential(n_items).sum()",
        "bits.exponential(n_items - 1).sum()",
        "tests/orders/test_permutohedron.py::test_knorm_radius_and_small_sizes",
    ),
    faults("orders/partition.py", "tests/orders/test_partition.py::test_no_exponential_underflows")(
        "the time of a table tells steep margins", "np.maximum(values, -700.0, out=values)", "pass"
    ),
    faults("queries/utilities.py")(
        "samplers whose time has no bound are not refused",
        'samplers: ClassVar[tuple[str, ...]] = ("table",)',
        'samplers: ClassVar[tuple[str, ...]] = ("table", "insertion", "blocks", "pair_by_pair")',
        "tests/mechanisms/test_exponential.py::test_samplers_whose_time_depends_on_the_ballots_are_refused",
    ),
    faults("orders/insertion.py")(
        "orders by insertion without rejection",
        "kept = bits.log_uniform(len(orders)) < log_mass - log_bound",
        "kept = bits.log_uniform(len(orders)) < 0",
        "tests/orders/test_insertion.py::test_law_matches_enumeration",
    ),
    memetic(
        "half of the places take their items as they are",
        "items = np.take_along_axis(first, places, axis=1)\n    sequence = np.argsort(",
        "items = np.take_along_axis(first, places, axis=1)\n    sequence = np.argsort(0 * ",
        "tests/orders/test_memetic.py::test_a_child_has_the_places_of_one_parent_and_the_sequence_of_the_other",
    ),
    memetic("totals of the opposite orders", "totals.append(-ahead[~moved])", "totals.append(ahead[~moved])"),
    memetic("an order is settled once an item stays", "moved[better] = True", "moved[better] = item > 0"),
    memetic(
        "generations without end",
        "if work.over:\n                return",
        "if False:\n                return",
        "tests/orders/test_memetic.py::test_work_is_looked_at_before_each_item",
    ),
    ordering("many items are ordered after all else", "if m >= _LARGE:", "if False:"),
    ordering(
        "no search once the root is solved",
        "self._offer(memetic_search(self._cost, self.order, self._bits, self._work, root_bound + self._constant))",
        "pass",
    ),
    faults("orders/work.py", "tests/orders/test_work.py::test_time_ends_the_work_and_its_parts")(
        "a part may take all of the time", "self._deadline - (1 - share) * max(seconds, 0)", "self._deadline"
    ),
    faults("orders/work.py", "tests/orders/test_work.py::test_the_share_that_steps_take")(
        "a share of the work whatever the time", "min(self.left, self.seconds * 1000 * _UNIT)", "self.left"
    ),
    faults("orders/partition.py")(
        "orders from a table of twice the rate",
        "draw_each(self._weights(masks, left), bits)",
        "draw_each(2 * self._weights(masks, left), bits)",
        "tests/orders/test_partition.py::test_samples_follow_the_law",
    ),
]

calibration = faults("privacy/calibration.py")
noise = faults("privacy/noise.py")
table = faults("privacy/laplace_table.py")
bits = faults("privacy/bits.py")
draws = faults("privacy/draws.py")
WORDS = "tests/audit/test_system_randomness.py::test_words_are_the_system_s_bytes_as_they_come"
FITS = "tests/audit/test_system_randomness.py::test_a_whole_fit_has_nothing_but_the_system_s_bytes"
_SECURE = "return cls(SecureBits(), SecureBits(), SecureBits(), certified=True)"
NOISE = [
    noise(
        "epsilon rounded to the nearest fraction",
        "    return Fraction(*low)\n",
        "    return x.limit_denominator(limit - 1) if x < 1 else Fraction(*low)\n",
        "tests/privacy/test_noise.py::test_round_down_is_below_and_close",
    ),
    noise(
        "zero counted twice in one Laplace draw",
        "if magnitude or not negative:",
        "if True:",
        "tests/privacy/test_noise.py::test_scalar_draws_have_the_law_of_the_arrays",
    ),
    noise(
        "zero counted twice in many Laplace draws",
        "[(magnitude > 0) | ~negative]",
        "[magnitude >= 0]",
        "tests/privacy/test_noise.py::test_discrete_laplace_has_its_exact_law",
    ),
    noise(
        "Laplace noise of half the size",
        "        magnitude = (start + q * turns) // p\n",
        "        magnitude = (start + q * turns) // (2 * p)\n",
        "tests/privacy/test_noise.py::test_scalar_draws_have_the_same_law",
    ),
    table(
        "many Laplace draws of twice the rate",
        "steps, table = _table(rate)",
        "steps, table = _table(2 * rate)",
        "tests/privacy/test_laplace_table.py::test_the_law",
    ),
    table(
        "the half of the Laplace table that is not mirrored",
        "[behind[::-1], ~behind]",
        "[behind[::-1], ~behind - np.uint64(2**47)]",
        "tests/privacy/test_laplace_table.py::test_every_step_is_the_integer_part",
    ),
    table(
        "the steps of the Laplace law rounded",
        "least, most = int(chance - error), int(chance + error)",
        "least = most = int(float(chance))",
        "tests/privacy/test_laplace_table.py::test_every_step_is_the_integer_part",
    ),
    table(
        "a word that a Laplace step falls on is not looked at further",
        "out[rows[at]] = _settled(rate, int(words[at]), bits)",
        "pass",
        "tests/privacy/test_laplace_table.py::test_words_that_begin_like_a_step_are_settled",
    ),
    table(
        "Laplace tails that end",
        "if digits and (",
        "if digits == 0:\n            return 0\n        if (",
        "tests/privacy/test_laplace_table.py::test_words_that_begin_like_a_step_are_settled",
    ),
    additive(
        "many cells get Laplace noise of another rate",
        "block += draw(self.rate, len(block), bits)",
        "block += draw(self.rate * 3 / 2, len(block), bits)",
        "tests/mechanisms/test_additive.py::test_long_answers_have_the_stated_noise",
    ),
    faults("privacy/gaussian.py")(
        "a discrete Gaussian with the analytic sigma",
        "rounded = _rounded(rest, shift, sigma, bits)",
        "support = np.arange(-40 * int(sigma + 1), 40 * int(sigma + 1) + 1)\n"
        "    law = np.exp(-(support**2) / (2 * sigma**2))\n"
        "    rounded = rest + support[np.searchsorted(np.cumsum(law / law.sum()), bits.uniform(values.size))]",
        "tests/mechanisms/test_additive.py::test_law_of_the_noise",
    ),
    calibration(
        "half the analytic sigma",
        "return enough * float(sensitivity) *",
        "return enough / 2 * float(sensitivity) *",
        "tests/privacy/test_calibration.py::test_known_analytic_sigmas",
    ),
    calibration(
        "delta of one tail for both",
        "return ndtr(-x) - density * _mills(x + r)",
        "return ndtr(-x) - density * _mills(x)",
        "tests/privacy/test_calibration.py::test_delta_is_the_hockey_stick",
    ),
    draws(
        "words of the buffer dealt twice",
        "        self._used += size\n        return self._buffer[start : self._used]",
        "        self._used += size // 2\n        return self._buffer[start : start + size]",
        "tests/privacy/test_bits.py::test_no_word_is_dealt_twice",
    ),
    bits(
        "noise and coins are one stream",
        "SeededBits(seed, 0), SeededBits(seed, 1)",
        "SeededBits(seed, 0), SeededBits(seed, 0)",
        "tests/privacy/test_bits.py::test_seeds_reproduce_their_streams_and_streams_differ",
    ),
    bits(
        "a 32-bit seed of the system, certified",
        _SECURE,
        'seed = int.from_bytes(os.urandom(4), "big")\n'
        "            return cls(SeededBits(seed, 0), SeededBits(seed, 1), SeededBits(seed, 2), certified=True)",
        FITS,
    ),
    bits(
        "a 32-bit seed of numpy's, certified",
        _SECURE,
        "seed = int(np.random.SeedSequence().generate_state(1)[0])\n"
        "            return cls(SeededBits(seed, 0), SeededBits(seed, 1), SeededBits(seed, 2), certified=True)",
        FITS,
    ),
    bits(
        "coins and assignment from a seed, certified",
        _SECURE,
        "return cls(SecureBits(), SeededBits(int.from_bytes(os.urandom(4))), SecureBits(), certified=True)",
        WORDS,
    ),
    bits(
        "a copied system source repeats its words",
        "def __reduce__(self):",
        "def read_afresh(self):",
        "tests/privacy/test_bits.py::test_a_copy_of_the_secure_source_never_repeats_its_words",
    ),
    bits(
        "two threads are dealt one word",
        "        with self._dealing:\n            return super().integer(bound)",
        "        return super().integer(bound)",
        "tests/test_concurrency.py::test_threads_that_share_the_system_s_bits_draw_no_word_twice",
    ),
    pairs(
        "a row of four items counts as one pair",
        "table.ndim == 2 and table.shape[1] == 2 and",
        "table.ndim == 2 and",
        "tests/test_wrong_parameters.py::test_tallies_are_of_as_many_pairs_as_are_paid_for",
    ),
    bits(
        "a forked child deals its parent's words",
        "            bits.forget()",
        "            pass",
        "tests/privacy/test_bits_tails.py::test_a_forked_child_deals_words_of_its_own",
    ),
    draws(
        "normal tails that end at 8.3",
        "ndtri(self._deep(words >> np.uint64(1)) / 2)",
        "ndtri(((words >> np.uint64(12)) + 0.5) * 2.0**-53)",
        "tests/privacy/test_bits_tails.py::test_normal_tails_go_as_far_as_chance_does",
    ),
    bits(
        "a seed that is certified",
        "SeededBits(seed, 2), certified=False)",
        "SeededBits(seed, 2), certified=True)",
        "tests/privacy/test_bits.py::test_seeds_reproduce_their_streams_and_streams_differ",
    ),
]

guarantee = faults("privacy/guarantee.py")
composition = faults("privacy/composition.py")
central = faults("channels/central.py")
LAW = "tests/audit/test_exact.py::test_half_the_noise_is_caught"
MONEY = [
    guarantee(
        "composition by the largest epsilon",
        "sum_up(g.epsilon for g in guarantees)",
        "max(g.epsilon for g in guarantees)",
        "tests/privacy/test_guarantee.py::test_epsilons_and_deltas_add_up",
    ),
    guarantee(
        "composition by the largest delta",
        "sum_up(g.delta for g in guarantees)",
        "max(g.delta for g in guarantees)",
        "tests/privacy/test_guarantee.py::test_epsilons_and_deltas_add_up",
    ),
    guarantee(
        "a simulation keeps its certificate",
        "if self.certified and not certified else self",
        "if not self.certified and not certified else self",
        "tests/privacy/test_guarantee.py::test_simulated_never_certifies",
    ),
    guarantee(
        "replacing costs what adding costs",
        "epsilon = min(2 * self.epsilon, losses.epsilon(delta))",
        "epsilon = self.epsilon",
        "tests/privacy/test_guarantee.py::test_replacing_is_removing_and_adding",
    ),
    composition(
        "delta of two steps without e^epsilon",
        "Fraction(delta) * (1 + Fraction(growth))",
        "2 * Fraction(delta)",
        "tests/privacy/test_guarantee.py::test_replacing_is_removing_and_adding",
    ),
    composition(
        "two steps of Gaussian noise count as two releases",
        "4 * self.mu_squared",
        "2 * self.mu_squared",
        "tests/privacy/test_composition.py::test_under_replace_knows_the_noise",
    ),
    composition(
        "the deltas of others are free",
        "left = delta - sum_up(each for _, each in losses.approximate)",
        "left = delta",
        "tests/privacy/test_composition.py::test_a_delta_that_is_too_small_is_refused",
    ),
    composition(
        "coins that are fair",
        "heads * epsilon - count * np.logaddexp(0, epsilon)",
        "-count * np.logaddexp(0, 0)",
        "tests/privacy/test_composition.py::test_pure_releases_against_every_outcome",
    ),
    composition(
        "epsilons rounded down to the grid",
        "math.ceil(epsilon / unit * (1 + 2.0**-50))",
        "math.floor(epsilon / unit)",
        "tests/privacy/test_composition.py::test_many_different_epsilons_are_bounded_from_above",
    ),
    guarantee(
        "an old mu stands for a larger epsilon",
        "if self.losses is None or self.losses.epsilon(self.delta) < self.epsilon * (1 - _ALIKE):",
        "if self.losses is None:",
        "tests/privacy/test_composition.py::test_what_was_restated_is_composed_as_stated",
    ),
    faults("privacy/ledger.py")(
        "one answer more than was planned",
        "if given >= planned:",
        "if given > planned:",
        "tests/privacy/test_ledger.py::test_messages_name_the_kind_and_the_plan",
    ),
    central(
        "answers that nobody pays for",
        "self._ledger.charge(query.kind)",
        "query.kind",
        "tests/channels/test_central.py::test_an_adaptive_session_pays_each_question_once",
    ),
    central(
        "half of mu^2 states half of epsilon",
        "if losses is not None and used_up != 1:",
        "if False:",
        "tests/channels/test_central.py::test_gaussian_answers_that_leave_some_of_the_budget_state_less",
    ),
    central(
        "shares of the budget that are all of it, and nobody counts",
        "whole = Fraction(times) / Fraction(ask.share)",
        "whole = Fraction(times)",
        "tests/channels/test_central.py::test_prices_never_add_up_to_more_than_epsilon",
    ),
    central(
        "what no ballot moves leaves the others all of the budget",
        "share=ask.share * whole",
        "share=Fraction(1, len(moved))",
        "tests/channels/test_free_answers.py::test_shares_that_leave_some_of_the_budget_are_not_stretched_beyond_it",
    ),
    central(
        "what has no gauge is free",
        "if not any(sensitivity):",
        "if not sensitivity.gauge:",
        "tests/audit/test_rounds_audit.py::test_no_ballot_tells_more_than_stated",
    ),
    faults("aggregators/swiss.py")(
        "neighbours that replace a ballot are not heard of",
        '"gaussian", neighboring=self.neighboring',
        '"gaussian"',
        "tests/audit/test_rounds_audit.py::test_no_ballot_tells_more_than_stated",
    ),
    central(
        "published Gaussian noise is stated for added ballots only",
        "price.mechanism.losses(price.sensitivity, price.times)",
        "price.mechanism.losses(price.query.sensitivity(9, 'add_remove'), price.times)",
        "tests/audit/test_released_histogram.py::test_released_counts_keep_what_is_stated",
    ),
    central(
        "a published scale states what was asked for",
        "printed.epsilon / whole",
        "epsilon / whole",
        "tests/channels/test_central.py::test_published_scale_states_its_true_guarantee",
    ),
    central(
        "noise from the stream of the coins",
        "self._noise = bits.noise",
        "self._noise = bits.coins",
        "tests/channels/test_central.py::test_sessions_draw_from_their_own_streams",
    ),
    faults("rules/kwiksort.py")(
        "a fallback at full epsilon",
        "Ask(AllMargins(), 1, Fraction(1, 2))",
        "Ask(AllMargins(), 1, Fraction(1))",
        "tests/rules/test_kwiksort.py::test_declared_queries",
    ),
    faults("rules/choose.py")(
        "an anchor at full epsilon",
        "Ask(NetWins(), share=half)",
        "Ask(NetWins())",
        "tests/audit/test_orders_audit.py::test_each_stage_keeps_to_its_half",
    ),
]

flips = faults("privacy/flips.py")
shuffles = faults(
    "privacy/_shuffle_bounds.py", "tests/privacy/test_amplification.py::test_blanket_is_the_bound_of_balle_et_al"
)
groups = faults(
    "privacy/shuffle_groups.py", "tests/privacy/test_amplification.py::test_composition_splits_delta_and_adds_epsilon"
)
FORMULAS = [
    flips(
        "flips rounded down",
        "math.ceil(probability * (1 + _ULPS) * _GRID)",
        "math.floor(probability * _GRID)",
        "tests/privacy/test_flips.py::test_randomized_response_spends_epsilon_and_never_more",
    ),
    flips(
        "a flip of twice the epsilon",
        "return _on_grid(expit(-epsilon))",
        "return _on_grid(expit(-2 * epsilon))",
        "tests/privacy/test_flips.py::test_flip_probabilities",
    ),
    shuffles(
        "a voter hides behind its own message",
        "_clone_curve(local_epsilon, n_messages - 1, inclusion",
        "_clone_curve(local_epsilon, n_messages, inclusion",
    ),
    shuffles(
        "clones one too many",
        "_clone_curve(local_epsilon, n_messages - 1, math.exp",
        "_clone_curve(local_epsilon, n_messages, math.exp",
        "tests/privacy/test_amplification.py::test_curves_are_their_defining_mixture",
    ),
    shuffles(
        "a blanket twice as thick",
        "inclusion * 2 * _flip(local_epsilon)",
        "inclusion * min(1.0, 4 * _flip(local_epsilon))",
    ),
    groups(
        "each shuffle at the whole delta",
        "shuffle_amplification(local_epsilon, n_messages, delta / n_shuffles, method)",
        "shuffle_amplification(local_epsilon, n_messages, delta, method)",
    ),
    groups(
        "the local epsilon at the whole delta",
        "shuffle_local_epsilon(each, n_messages, delta / n_shuffles, method)",
        "shuffle_local_epsilon(each, n_messages, delta, method)",
    ),
    groups("several shuffles for the price of one", "n_shuffles * each * (1 + 2.0**-52)", "each * (1 + 2.0**-52)"),
    groups(
        "groups of the size of the crowd",
        "return n_voters * n_queries // math.comb(n_items, 2)",
        "return n_voters * n_queries",
        "tests/privacy/test_amplification.py::test_balanced_group_size",
    ),
]

total = faults(
    "model_selection/private/total.py", "tests/model_selection/private/test_private_selection.py::test_total_guarantee"
)
agreement = faults(
    "model_selection/private/agreement.py",
    "tests/queries/test_sensitivities.py::test_no_ballot_moves_the_vector_further",
)
SELECTION = [
    total("selection without one of its epsilons", "(2 + Fraction(eta)) * (", "(1 + Fraction(eta)) * ("),
    total("scores for nothing", "+ Fraction(score_epsilon)", "+ 0 * Fraction(score_epsilon)"),
    total(
        "candidates at the price of the cheapest",
        "dearest = max(g.epsilon for g in guarantees)",
        "dearest = min(g.epsilon for g in guarantees)",
    ),
    total(
        "a total rounded to the nearest",
        "epsilon=rounded_up(exact)",
        "epsilon=float(exact)",
        "tests/model_selection/private/test_private_selection.py::test_total_is_never_rounded_below",
    ),
    faults("model_selection/private/selection.py")(
        "always ten draws",
        "range(draw_count(eta, gamma, count_bits))",
        "range(10)",
        "tests/audit/test_private_selection_audit.py::test_the_audited_law_is_the_one_that_is_fitted",
    ),
    agreement("scores under replace", "most = moves(neighboring) * n_pairs(n_items)", "most = n_pairs(n_items)"),
    agreement(
        "half the noise of a score",
        "most = moves(neighboring) * n_pairs(n_items)",
        "most = moves(neighboring) * n_pairs(n_items) // 2",
    ),
]

accounting = faults("model_selection/sweep/accounting.py")
SEARCHES = [
    accounting(
        "split voters at the price of add_remove",
        "if split_voters or len(relations) > 1:",
        "if len(relations) > 1:",
        "tests/model_selection/sweep/test_search.py::test_cost_where_voters_are_split",
    ),
    accounting(
        "private scores of one fit for those of all",
        "*(scoring.promises * len(scored))",
        "*scoring.promises",
        "tests/model_selection/sweep/test_search.py::test_private_scoring",
    ),
]

interactive = faults("channels/interactive.py")
crowd = faults("channels/crowd.py")
inbox, reports = faults("randomizers/inbox.py"), faults("randomizers/reports.py")
TRANSCRIPTS = "tests/audit/test_every_estimator.py::test_no_transcript_tells_two_ballots_further_apart_than_stated"
REPORTS = "tests/audit/test_every_estimator.py::test_no_report_tells_two_ballots_further_apart_than_stated"
SHUFFLED = "tests/audit/test_every_estimator.py::test_shuffled_messages_keep_epsilon_and_delta"
hidden = faults("devices/hidden.py")
HIDDEN_LAW = "tests/audit/test_hidden_audit.py::test_a_fit_has_the_law_of_devices"
HIDDEN_TALE = "tests/audit/test_hidden_audit.py::test_no_two_ballots_are_further_apart_than_a_device_keeps_them"
DEVICE = "tests/audit/test_flips_of_groups.py::test_a_device_flips_each_kind_of_answer_with_its_own_probability"
SIMULATION = "tests/audit/test_flips_of_groups.py::test_unanimous_answers_are_flipped_as_often_as_their_kind_says"
FIELD = [
    faults("devices/interactive.py")(
        "devices flip each answer like the last",
        'protocol["flips"][kind], ballots, bits)',
        'protocol["flips"]["last"] or protocol["flips"]["each"], ballots, bits)',
        DEVICE,
    ),
    faults("devices/interactive.py")(
        "devices flip the last answer like each",
        'protocol["flips"][kind], ballots, bits)',
        'protocol["flips"]["each"], ballots, bits)',
        DEVICE,
    ),
    crowd(
        "the simulation flips each answer like the last",
        "ballots, self._bits, kind, pairs)",
        'ballots, self._bits, "last" if self._protocol["flips"]["last"] else kind, pairs)',
        SIMULATION,
    ),
    crowd(
        "the simulation flips the last answer like each",
        "ballots, self._bits, kind, pairs)",
        'ballots, self._bits, "each", pairs)',
        SIMULATION,
    ),
    interactive(
        "the last answer costs what each does, on both sides",
        '"last": randomizer.flip(reserve, 1) if reserve',
        '"last": each if reserve',
        "tests/audit/test_flips_of_groups.py::test_the_two_prices",
    ),
    interactive(
        "each answer costs what the last does, on both sides",
        '"each": each, "last"',
        '"each": randomizer.flip(reserve, 1) if reserve else each, "last"',
        "tests/audit/test_flips_of_groups.py::test_the_two_prices",
    ),
    faults("devices/interactive.py")(
        "devices that answer on and on",
        ">= allowance(protocol)[kind]:",
        "< 0:",
        "tests/channels/test_interactive.py::test_a_device_answers_as_often_as_agreed",
    ),
    faults("devices/device.py")(
        "devices that answer for any ballot",
        "if what not in self._said and self._ballot in (None, key):",
        "if what not in self._said:",
        "tests/channels/test_interactive.py::test_a_device_has_one_ballot",
    ),
    interactive(
        "each of several answers at the whole epsilon",
        "each = randomizer.flip(share, terms.answers)",
        "each = randomizer.flip(share, 1)",
        "tests/audit/test_flips_of_groups.py::test_the_two_prices",
    ),
    faults("devices/device.py")(
        "devices that report any number of ballots",
        "        if self._ballot not in (None, key):\n            raise BudgetExhausted",
        "        if self._ballot is None:\n            raise BudgetExhausted",
        "tests/channels/test_local.py::test_a_client_holds_one_report",
    ),
    faults("channels/shuffle.py")(
        "assigned pairs hide in the whole crowd",
        'return n_voters if self.pairs == "hidden" else',
        "return n_voters if n_voters else",
        SHUFFLED,
    ),
    faults("channels/shuffle.py")(
        "shuffled messages at twice the local epsilon",
        "(as_text(each), 1) if amplified",
        "(as_text(2 * each), 1) if amplified",
        SHUFFLED,
    ),
    faults("channels/shuffle.py")(
        "flips that cost more than was asked for are believed",
        "if not randomizer.spends_all or flips_cost(flip, times) > both_ways(allowed):",
        "if not randomizer.spends_all:",
        "tests/channels/test_shuffle.py::test_a_randomizer_of_ones_own_is_priced_by_its_flips",
    ),
    faults("channels/truthful.py")(
        "a truthful answer is flipped now and then",
        '"flip": [0, FLIP_GRID]',
        '"flip": [FLIP_GRID >> 6, FLIP_GRID]',
        "tests/channels/test_truthful.py::test_every_pair_of_strict_rankings_is_exact",
    ),
    faults("channels/plan.py")(
        "a plan for fewer items serves",
        "if self.n_items not in (None, n_items):",
        "if False:",
        "tests/channels/test_central.py::test_a_plan_is_for_as_many_items_as_it_was_made_for",
    ),
    faults("channels/shuffle.py")(
        "fewer ballots than were promised",
        'if voters.n_voters < protocol["min_reports"]:',
        "if False:",
        "tests/channels/test_shuffle.py::test_a_plan_is_for_as_many_voters_as_it_was_made_for",
    ),
    faults("channels/local.py")(
        "a protocol that the device would refuse is stated",
        "checked(randomizer.protocol(value, named), half)",
        "randomizer.protocol(value, named)",
        "tests/channels/test_local.py::test_a_protocol_that_a_device_would_refuse_is_not_planned",
    ),
    faults("channels/local.py")(
        "voters with epsilons of their own get another",
        "if personal != (own is not None) or",
        "if False and",
        "tests/aggregators/test_personal_budgets.py::test_a_plan_is_for_the_epsilons_it_was_made_for",
    ),
    faults("randomizers/budgets.py")(
        "published noise is stated below what it spends",
        "return stated if spent <= Decimal(stated) else rounded_up(Fraction(spent))",
        "return stated",
        "tests/randomizers/test_thresholded.py::test_no_published_epsilon_is_printed_below_what_is_spent",
    ),
    faults("channels/shuffle.py")(
        "published noise is shuffled at half its price",
        "each = rounded_up(Fraction(flips_cost(flip)))",
        "each = rounded_up(Fraction(flips_cost(flip)) / 2)",
        "tests/channels/test_randomizers_that_flip.py::test_shuffled_published_noise_is_priced_by_its_flips",
    ),
    faults("channels/shuffle.py")(
        "published answers that nobody hides at the price of one",
        "spent = rounded_up(Fraction(flips_cost(flip, rounds)))",
        "spent = rounded_up(Fraction(flips_cost(flip)))",
        "tests/aggregators/test_shuffle_aggregators.py::"
        "test_published_noise_without_a_crowd_states_what_the_device_spends",
    ),
    faults("aggregators/shuffle.py")(
        "Algorithm 1 with the noise of another delta",
        'self.delta if self.calibration == "published"',
        '10 * self.delta if self.calibration == "published"',
        "tests/aggregators/test_shuffle_aggregators.py::test_algorithm_1_spends_what_its_flips_tell",
    ),
    faults("channels/shuffle.py")(
        "releases below min_reports",
        "if least < promised:",
        "if least < 1:",
        "tests/channels/test_shuffle.py::test_nothing_is_released_below_min_reports",
    ),
    faults("devices/answers.py")("answers that are not flipped", "return said ^ (", "return said & (", REPORTS),
    faults("devices/answers.py")(
        "silence that tells",
        "np.where(silent, coins.coins(first.size).reshape(first.shape), here < there)",
        "(here < there)",
        "tests/audit/test_local_audit.py::test_without_an_opinion_an_answer_is_a_fair_coin",
    ),
    hidden("more of the simulated voters are truthful than of devices", "FLIP_GRID - 2 *", "FLIP_GRID -", HIDDEN_TALE),
    hidden(
        "simulated voters who are not truthful tell of few pairs",
        "multinomial(coins, cells, bits.noise)",
        "np.append(multinomial(coins, cells // 2, bits.noise), np.zeros(cells // 2, dtype=np.int64))",
        HIDDEN_LAW,
    ),
    hidden(
        "simulated voters who are not truthful stay silent",
        "    said += multinomial(coins, cells, bits.noise)\n",
        "",
        HIDDEN_TALE,
    ),
    hidden(
        "simulated messages of one voter are truthful together",
        "            speaks = bits.noise.trials",
        "            speaks = speaks if _ else bits.noise.trials",
        "tests/audit/test_hidden_audit.py::test_two_messages_of_each_voter",
    ),
    faults("privacy/multinomial.py")(
        "a crowd of one size is a crowd of a random one",
        "left = n - int(counts.sum())",
        "left = abs(n - int(counts.sum()))",
        "tests/privacy/test_multinomial.py::test_the_law_of_all_counts_together",
    ),
    draws(
        "numbers that come of one word are one number",
        "rest, row[:] = _split(rest, bound)",
        "row[:] = _split(rest, bound)[1]",
        "tests/privacy/test_bits.py::test_many_integers_are_independent_within_a_word",
    ),
    draws(
        "a trial is settled by its first byte",
        "self.integers(2**44, len(undecided)) < rest",
        "True",
        "tests/privacy/test_bits.py::test_trials_are_exact_to_the_last_bit",
    ),
    faults("randomizers/response.py")(
        "every answer at the whole epsilon",
        "return flip_within(budget, n_answers)",
        "return flip_within(budget)",
        "tests/randomizers/test_response.py::test_exact_privacy_and_its_use",
    ),
    faults("randomizers/response.py")(
        "published noise states half of what it spends",
        "else cost_as_text(spent)",
        "else cost_as_text(spent / 2)",
        REPORTS,
    ),
    faults("devices/hypercube.py")(
        "even d: ties on the near side",
        "2 * low if 2 * k > d else high + low",
        "2 * low if 2 * k > d else 2 * high",
        "tests/randomizers/test_hypercube.py::test_the_scale_is_the_formula_and_the_cap_the_best",
    ),
    faults("randomizers/hypercube.py")(
        "corners at twice epsilon",
        "levels = levels_within(stated)",
        "levels = levels_within(as_text(2 * epsilon))",
        REPORTS,
    ),
    faults("devices/privunit.py")(
        "PrivUnitG leans at twice epsilon",
        "(high * above + low * below) < low * below",
        "(high * above + low * below) < low * below / 4",
        "tests/audit/test_every_estimator.py::test_densities_have_two_levels_as_far_apart_as_stated",
    ),
    faults("randomizers/mallows.py")(
        "Mallows rankings at a steeper theta",
        "math.ceil(math.exp(-theta * v)",
        "math.ceil(math.exp(-2 * theta * v)",
        REPORTS,
    ),
    faults("base.py")(
        "a seeded fit keeps its certificate",
        "promised = {system: plan.guarantee.simulated(system) for system in systems}",
        "promised = {system: plan.guarantee.simulated(True) for system in systems}",
        "tests/audit/test_system_randomness.py::test_a_fit_with_a_seed_is_never_certified",
    ),
]

device = faults("devices/device.py")
owed = faults("privacy/owed.py")
BOUNDARIES = [
    faults("rules/base.py")(
        "an order may list an item twice",
        "elif len(items := set(order.tolist())) < len(order):",
        "elif len(items := set(order.tolist())) > len(order):",
        "tests/rules/test_own_rules.py::test_what_is_no_order",
    ),
    faults("rules/base.py")(
        "a rule that lists queries in place of asks",
        "wrong = [asks] if not several else [ask for ask in asks if not isinstance(ask, Ask)]",
        "wrong = [asks] if not several else []",
        "tests/rules/test_own_rules.py::test_what_is_no_list_of_asks",
    ),
    faults("mechanisms/base.py")(
        "a mechanism that promises nothing",
        'if missing := [name for name in ("how", "arithmetic", "losses", "sampler") if not hasattr(calibrated, name)]:',
        'if missing := [name for name in ("sampler",) if not hasattr(calibrated, name)]:',
        "tests/mechanisms/test_own_mechanisms.py::test_what_cannot_draw_or_promise",
    ),
    faults("devices/halves.py")(
        "names of ours stand for anybody's code",
        "own = type(name) is str and HALVES.get(name, half) is half",
        "own = type(name) is str",
        "tests/extensions/test_one_item.py::test_no_protocol_chooses_code",
    ),
    faults("devices/halves.py")(
        "devices believe what a protocol states",
        "refuse_unless(spent <= Decimal(protocol[stated])",
        "refuse_unless(spent <= 2 * Decimal(protocol[stated])",
        "tests/devices/test_device_protocol.py::test_levels_that_protect_nobody",
        "tests/devices/test_device_fuzz.py::test_the_stated_epsilon_may_be_the_true_one_and_no_less",
    ),
    device(
        "owners' limits count for nothing",
        "if self._costs[0] > Decimal(limit):",
        "if self._costs[0] < 0:",
        "tests/devices/test_device.py::test_max_epsilon",
    ),
    device(
        "a forked device reports once more",
        "        if self._home != os.getpid():\n            return",
        "        if self._home is None:\n            return",
        "tests/devices/test_device.py::TestFork::test_a_child_says_nothing_new",
    ),
    device(
        "an unpickled device reports once more",
        "    device._home = None\n",
        "",
        "tests/devices/test_device.py::test_a_pickled_copy_repeats_and_says_nothing_new",
    ),
    device(
        "threads draw side by side",
        "        with self._lock:\n            if what not in",
        "        if True:\n            if what not in",
        "tests/devices/test_device.py::test_a_thread_waits_for_one_that_draws",
    ),
    device(
        "a restart forgets what was said",
        "device._ballot, device._said = state[",
        "device._ballot, _ = state[",
        "tests/devices/test_device.py::test_after_a_restart_the_same_message",
    ),
    faults("devices/protocol.py")(
        "the name of a protocol leaves out the items",
        "hashlib.sha256(canonical(protocol))",
        'hashlib.sha256(canonical({k: v for k, v in protocol.items() if k != "items"}))',
        "tests/devices/test_wire.py::test_other_items_are_another_protocol",
    ),
    faults("devices/protocol.py")(
        "costs of a report rounded down",
        '* (1 + Decimal("1e-50"))',
        '* (1 - Decimal("1e-50"))',
        "tests/devices/test_device_protocol.py::test_log_ratio_is_just_above",
    ),
    faults("devices/ballots.py")(
        "voters among many are taken for strict",
        "wins[odd] = _net_wins(table[:, odd], sentinel)",
        "pass",
        "tests/devices/test_device_ballots.py::test_net_wins_of_few_voters_who_are_not_strict",
    ),
    faults("counting.py")(
        "positions of tied ballots for net wins",
        "            total += (counts - counts.T).sum(axis=1)\n",
        "            pass\n",
        "tests/test_counting.py::test_few_ballots_that_are_not_strict",
    ),
    faults("counting.py")(
        "tied ballots are taken for strict where pairs are counted",
        "_add_pairs(counts, rest, rest, width - len(odd))",
        "_add_pairs(counts, rest, rest, width)",
        "tests/test_counting.py::test_few_ballots_that_are_not_strict",
    ),
    faults("counting.py")(
        "tied ballots are placed first",
        "            strict[:, 0] -= len(odd)\n",
        "            pass\n",
        "tests/test_counting.py::test_few_ballots_that_are_not_strict",
    ),
    faults("counting.py")(
        "a ballot of few items is strict if any is",
        "return seen == dtype((1 << n_items) - 1)",
        "return seen > dtype(0)",
        "tests/test_counting.py::test_strict_among_all_tables_of_positions",
    ),
    faults("counting.py")(
        "a ballot of many items is strict whatever is missing",
        "return seen[:, :-1].all(axis=1)",
        "return seen[:, :-1].any(axis=1)",
        "tests/test_counting.py::test_strict_among_all_tables_of_positions",
    ),
    faults("devices/privunit.py")(
        "leans on a grid",
        "rarely = bits.deep_uniform(size)",
        "rarely = bits.uniform(size)",
        "tests/devices/test_device_privunit.py::test_the_side_is_drawn_to_the_last_word",
    ),
    faults("devices/privunit.py")(
        "normal numbers with an end",
        "length = np.sqrt(-2 * np.log(bits.deep_uniform(pairs)))",
        "length = np.sqrt(-2 * np.log(bits.uniform(pairs)))",
        "tests/devices/test_device_privunit.py::test_every_coordinate_beyond_every_grid_is_reachable",
    ),
    inbox(
        "reports of any protocol are counted",
        "if (name := protocol_of(found)) not in said:",
        "if (name := protocol_of(found)) not in said and (name := min(said)) is None:",
        "tests/devices/test_wire.py::test_another_epsilon_is_another_protocol",
    ),
    inbox(
        "messages and answers of any protocol are counted",
        "if (name := protocol_of(found)) not in said:",
        "if (name := protocol_of(found)) not in said and (name := min(said)) is None:",
        "tests/channels/test_shuffle.py::test_each_bad_message_is_left_out_for_a_reason_that_echoes_nothing",
        "tests/channels/test_interactive.py::test_each_bad_report_is_left_out_for_a_reason_that_echoes_nothing",
    ),
    inbox(
        "one bad report silences those that came with it",
        "half = len(reports) // 2\n",
        "half = len(reports) // 2\n            reports = reports[:half]\n",
        "tests/randomizers/test_inbox.py::test_bad_reports_cost_nobody_else_a_vote",
    ),
    inbox(
        "a report is counted by the name of another",
        "for name, drawn in said:\n        waiting[name].append(drawn)",
        "for name, drawn in said:\n        waiting[min(waiting, default=name)].append(drawn)",
        "tests/randomizers/test_inbox.py::test_what_is_gathered_keeps_its_name",
    ),
    reports(
        "true and false are numbers",
        "if set(map(type, numbers)) != {int}:",
        "if not set(map(type, numbers)) <= {int, bool}:",
        "tests/randomizers/test_inbox.py::test_whole_numbers_are_read_as_they_are_checked",
    ),
    reports(
        "a pair may be the other way round",
        "if not (first < second).all():",
        "if (first == second).any():",
        "tests/devices/test_wire.py::test_fuzzed_messages",
    ),
    faults("channels/local.py")(
        "the smallest of personal epsilons is stated",
        "max(stated_epsilon(protocol, half)",
        "min(stated_epsilon(protocol, half)",
        "tests/aggregators/test_personal_budgets.py::test_the_guarantee_is_the_largest_and_says_so",
    ),
    faults("randomizers/budgets.py")(
        "devices spend more than the double that is stated",
        "return min(Decimal(epsilon), Decimal(float(epsilon)))",
        "return Decimal(epsilon)",
        "tests/randomizers/test_response.py::test_devices_spend_no_more_than_the_double_that_is_stated",
    ),
    interactive(
        "the reserve is spent twice",
        "share = both_ways(epsilon) - reserve",
        "share = both_ways(epsilon)",
        "tests/audit/test_flips_of_groups.py::test_the_two_prices",
        "tests/channels/test_interactive.py::test_the_protocol_is_public_and_says_all",
        "tests/audit/test_local_audit.py::test_the_last_resort_is_paid_for",
    ),
    inbox(
        "a consensus of no reports",
        "if not self.accepted:",
        "if self.accepted < 0:",
        "tests/devices/test_wire.py::test_nothing_to_read",
    ),
    faults("privacy/rounding.py")(
        "what is stated is rounded to nearest",
        "if isinstance(x, float) or math.isinf(near) or Fraction(near) >= exact(x):",
        "if near == near:",
        "tests/privacy/test_guarantee.py::test_sums_are_never_below_the_exact_ones",
        "tests/privacy/test_guarantee.py::test_fractions_are_rounded_up",
    ),
    faults("channels/central.py")(
        "the time of a fit tells whether ballots are strict",
        'if self._kept[0] != asked or (query.needs == "positions" and not self._profile.strict):',
        'if (query.needs == "positions" and not self._profile.strict) or self._kept[0] != asked:',
        "tests/channels/test_central.py::test_a_fit_never_looks_whether_ballots_are_strict",
    ),
    faults("channels/central.py")(
        "any query of a kind at the declared price",
        "if not query.sensitivity(self.n_items, self._poll.neighboring).within(price.sensitivity):",
        "if False:",
        "tests/channels/test_central.py::test_nothing_is_answered_that_was_not_priced",
    ),
    owed(
        "every transformer keeps the guarantee",
        "type(step) not in _ROW_WISE or",
        "",
        "tests/privacy/test_owed.py::test_the_step_that_voids_is_named",
    ),
    owed(
        "what others state is believed",
        '    if hasattr(last, "privacy_"):\n',
        '    if hasattr(last, "privacy_"):\n        return last.privacy_\n',
        "tests/privacy/test_owed.py::test_classes_of_others_promise_nothing",
    ),
    faults("model_selection/sweep/splits.py")(
        "a split may hold a voter many times",
        "    _refuse_repeats(parts, len(X))\n",
        "",
        "tests/model_selection/sweep/test_search.py::test_a_voter_counts_once_in_a_part",
    ),
    faults("model_selection/sweep/packs.py")(
        "trials are sent twice, and others never",
        "first=job.first + size, seeds=job.seeds[size:]",
        "first=job.first, seeds=job.seeds[size:]",
        "tests/model_selection/sweep/test_packs.py::test_every_trial_is_sent_once",
    ),
    faults("model_selection/sweep/search.py")(
        "a search inside binds others by what it declares",
        "return self.privacy_ if declared else self.results_cost_",
        "return self.privacy_",
        "tests/model_selection/sweep/test_search.py::test_a_search_inside_binds_nobody_by_what_it_declares",
    ),
    faults("tables.py")(
        "infinite positions are ballots",
        'X.dtype.kind == "f" and np.isinf(X).any()',
        'X.dtype.kind == "f" and np.isposinf(X).any()',
        "tests/test_rankings.py::test_a_plain_array_passes_where_scikit_learn_accepts_it",
    ),
    faults("rankings.py")(
        "unseen items always first",
        "else coins.coins(width)",
        "else ~np.zeros(width, dtype=bool)",
        "tests/test_completed.py::test_the_law_of_every_ballot",
    ),
    faults("rankings.py")(
        "coins for those who need them only",
        "coins.permutations(width, n_items).T",
        "coins.permutations(width if (block == sentinel).any() else 1, n_items).T",
        "tests/test_completed.py::test_work_does_not_tell_who_needed_it",
    ),
    faults("orders/choice.py")(
        "unlikely options never come",
        "mass = np.logaddexp.accumulate(np.asarray(log_weights, dtype=float)[order])",
        "mass = np.log(np.exp(np.asarray(log_weights, dtype=float)[order]).cumsum())",
        "tests/orders/test_choice.py::test_every_option_has_its_probability",
    ),
    faults("datasets/_download.py")(
        "a cut download is kept",
        "if announced is not None and received != announced:",
        "if announced is None:",
        "tests/datasets/test_fetch.py::test_a_cut_body_is_not_kept",
    ),
    faults("datasets/_fetch.py")(
        "any checksum will do",
        "(found := sha256(part)) != checksum.lower():",
        "not (found := sha256(part)):",
        "tests/datasets/test_fetch.py::test_another_checksum_keeps_nothing",
    ),
    faults("rules/kwiksort.py")(
        "columns decide who is asked",
        "session.coins.permutation(session.n_items).tolist()",
        "list(range(session.n_items))",
        "tests/rules/test_kwiksort.py::test_the_order_of_columns_does_not_matter_when_the_budget_is_used_up",
    ),
    faults("rules/markov_chain.py")(
        "columns decide between equal chances",
        "priority = session.tie_break()",
        "priority = np.arange(session.n_items)",
        "tests/rules/test_markov_chain.py::test_coins_break_ties_on_private_channels",
    ),
]

PAID, COINS, KEPT = (f"tests/privacy/test_{name}.py::test_" for name in ("budget", "adaptive", "budget_file"))
budget = faults("privacy/budget.py", f"{PAID}a_fit_is_charged_before_it_reads_and_stays_charged")
charging = faults("privacy/charging.py", f"{PAID}what_does_not_fit_is_refused_before_a_ballot_is_read")
adaptive = faults("privacy/adaptive.py", f"{COINS}no_strategy_loses_more")
budget_file = faults("privacy/budget_file.py", f"{KEPT}all_is_there_when_it_is_opened_again")
ACCOUNTS = [
    budget(
        "charged after the ballots are read",
        """        number = self._charge(owed, what, release_id)
        try:
            fitted: _Estimator = estimator.fit(X, y, **fit_params)  # type: ignore[attr-defined]
""",
        """        try:
            fitted: _Estimator = estimator.fit(X, y, **fit_params)  # type: ignore[attr-defined]
            number = self._charge(owed, what, release_id)
""",
    ),
    charging("a simulation is charged as a release", "if not (guarantee.certified or terms.simulation):", "if False:"),
    charging("what promises nothing costs nothing", "if math.isinf(guarantee.epsilon):", "if False:"),
    charging("neighbours of any kind", "elif guarantee.neighboring != terms.neighboring:", "elif False:"),
    charging(
        "a replaced ballot costs one",
        "guarantee = guarantee.under_replace()",
        "guarantee = guarantee",
        f"{PAID}a_replaced_ballot_is_one_less_and_one_more",
    ),
    charging(
        "threads decide together",
        "with self._lock:\n            self._releases.append",
        "if True:\n            self._releases.append",
        f"{PAID}one_thread_decides_at_a_time",
    ),
    charging(
        "a fork has a budget of its own",
        "if os.getpid() != self._process:",
        "if False:",
        f"{PAID}a_copy_would_forget",
    ),
    adaptive("delta is spent twice", "return rounded_down(Fraction(self.delta) - Fraction(kept))", "return self.delta"),
    adaptive(
        "delta is divided by the last release",
        "(g for g in self.releases if",
        "(g for g in self.releases[::-1] if",
        f"{COINS}delta_is_divided_by_the_first_release_that_says_something",
    ),
    adaptive("deltas do not add up", "and _within(delta, self._kept)", "", f"{COINS}sums_are_not_rounded_down"),
    adaptive(
        "deltas are nothing beside Gaussian releases", "if any(delta for _, delta in total.approximate):", "if False:"
    ),
    adaptive(
        "pure releases are free beside Gaussian ones",
        "[total.mu_squared, *(",
        "[total.mu_squared, *(0 * ",
        f"{COINS}where_no_delta_is_left_nothing_gaussian_fits",
    ),
    adaptive(
        "a coin is a Gaussian of its own epsilon",
        "linear = epsilon * math.sqrt(math.pi / 2)",
        "linear = epsilon",
        f"{COINS}a_pure_release_reveals_no_more_than_its_gaussian",
    ),
    adaptive("sums are rounded down", "_ALIKE = 1e-12", "_ALIKE = 1e-6", f"{COINS}sums_are_not_rounded_down"),
    budget_file(
        "two processes decide at once",
        'execute("BEGIN IMMEDIATE")',
        'execute("BEGIN")',
        f"{KEPT}one_decides_at_a_time",
    ),
    budget_file(
        "a charge is kept in memory until the next",
        "number = connection.execute(command, values).lastrowid",
        "number = 1",
        f"{KEPT}a_process_killed_while_it_reads_ballots_has_paid",
    ),
    budget_file(
        "nothing is written for good",
        'connection.execute("COMMIT")',
        "connection.rollback()",
        f"{KEPT}every_charge_that_was_made_is_remembered",
    ),
    budget_file(
        "a lost file is made anew",
        '?mode=rw"',
        '?mode=rwc"',
        f"{KEPT}a_file_that_goes_away_is_not_made_anew",
    ),
    budget_file(
        "any budget will do",
        "if identity != self._identity or terms != self.terms:",
        "if False:",
        f"{KEPT}a_file_that_goes_away_is_not_made_anew",
    ),
    faults("privacy/releases.py", f"{KEPT}not_a_digit_is_lost")(
        "six digits are kept", "return value.hex()", 'return float(f"{value:.6g}").hex()'
    ),
    owed(
        "a fit of one's own costs what its parent's does",
        'if _position(kind, name) < _position(kind, "_will_owe")]',
        "if False]",
        f"{PAID}a_fit_of_ones_own_cannot_be_foretold",
    ),
    faults(
        "model_selection/sweep/accounting.py", f"{PAID}a_search_by_private_scores_is_known_beforehand_and_a_simulation"
    )("a search costs one trial", "costs_of(fits * search.n_trials, refit", "costs_of(fits, refit"),
    faults(
        "model_selection/sweep/accounting.py", f"{PAID}a_search_by_private_scores_is_known_beforehand_and_a_simulation"
    )(
        "a refit costs what the cheapest does",
        "epsilon, delta = max(g.epsilon for g in guarantees), max(",
        "epsilon, delta = min(g.epsilon for g in guarantees), min(",
    ),
]

_OWED = "tests/privacy/test_owed.py::test_"
_AGAIN = f"{KEPT}a_file_that_is_made_again_forgets_nothing"
ACCOUNTS += [
    budget(
        "metadata goes by its own name only",
        'last_step_params(estimator, fit_params).get("voter_epsilon")',
        'fit_params.get("voter_epsilon")',
        f"{PAID}metadata_under_another_name_is_charged",
    ),
    budget(
        "what a fit revealed is not compared with its charge",
        "        if more is not None:\n",
        "        if False:\n",
        f"{PAID}what_a_fit_reveals_beyond_its_charge_is_charged",
    ),
    budget(
        "what a fit revealed beyond its charge is reported and not charged",
        "            self._kept.amend(number, more)\n",
        "",
        f"{PAID}what_a_fit_reveals_beyond_its_charge_is_charged",
    ),
    charging(
        "smaller noise at the same epsilon is not charged",
        "return only_stated and spent.epsilon <= owed.epsilon and spent.delta <= owed.delta",
        "return spent.epsilon <= owed.epsilon",
        f"{PAID}noise_that_became_smaller_is_charged",
    ),
    charging(
        "a leak is charged as what was foretold",
        "return replace(PrivacyGuarantee.nothing(spent.how), neighboring=terms.neighboring, unit=owed.unit)",
        "return owed",
        f"{PAID}after_a_leak_nothing_is_left",
    ),
    charging(
        "a seed that came in the fit is not charged",
        "spent.certified >= owed.certified and ",
        "",
        f"{PAID}a_promise_that_became_empty_leaves_nothing",
    ),
    charging(
        "a fit may trust more than was charged",
        " and set(spent.parties) <= set(owed.parties)",
        "",
        f"{PAID}whom_the_fit_trusts_is_in_the_account",
    ),
    charging(
        "a fit may protect less than a ballot",
        "same = (spent.neighboring, spent.unit) == (owed.neighboring, owed.unit)",
        "same = spent.neighboring == owed.neighboring",
        f"{PAID}a_promise_that_became_empty_leaves_nothing",
    ),
    charging(
        "a release may be charged and published twice",
        "if release.release_id == release_id:",
        "if False:",
        f"{PAID}a_release_id_is_charged_once",
        f"{KEPT}a_task_that_runs_again_neither_pays_nor_publishes",
    ),
    budget_file(
        "a file does not keep the identifiers of releases",
        "values = release.when.isoformat(), release.what, text, release.release_id, written",
        "values = release.when.isoformat(), release.what, text, None, written",
        f"{PAID}a_release_id_is_charged_once",
    ),
    budget_file(
        "a file is known by its terms",
        "if identity != self._identity or terms != self.terms:",
        "if terms != self.terms:",
        _AGAIN,
    ),
    budget_file(
        "all files have one identity", "terms.simulation), secrets.token_hex(16)", 'terms.simulation), "1"', _AGAIN
    ),
    budget_file(
        "a pickled budget takes any file",
        "return type(self), (self.path, None, (self._identity, self.terms, self._seen))",
        "return type(self), (self.path, None)",
        _AGAIN,
    ),
    budget_file(
        "an old copy of a budget may be put back",
        "if len(rows) < len(seen) or not all(",
        "if False and not all(",
        f"{KEPT}an_old_copy_that_is_put_back_is_refused",
    ),
    budget_file(
        "files of 0.2.0 share an identity",
        'connection.execute("UPDATE terms SET identity = ?", (secrets.token_hex(16),))',
        'connection.execute("UPDATE terms SET identity = ?", ("1",))',
        f"{KEPT}an_open_budget_does_not_take_a_file_of_0_2_0",
    ),
    budget_file(
        "an emptied file is a new budget",
        """        if not self.path.exists():
            if terms""",
        """        if not self.path.exists() or not self.path.stat().st_size:
            self.path.unlink(missing_ok=True)
            if terms""",
        f"{KEPT}an_emptied_file_is_damaged_and_not_unspent",
    ),
    faults("privacy/new_file.py")(
        "a new file replaces that of a faster process",
        "os.link(beside, path)",
        "os.replace(beside, path)",
        f"{KEPT}a_file_that_another_made_first_is_shared",
    ),
    budget_file(
        "a charge is known by its second and its name",
        "row.writes.startswith(known.writes)",
        "row.release[:2] == known.release[:2]",
        f"{KEPT}an_old_copy_with_a_charge_that_looks_alike_is_refused",
    ),
    budget_file(
        "an amendment may be undone by an old copy",
        "writes = writes || ? WHERE",
        "writes = substr(writes || ?, 1, 32) WHERE",
        f"{KEPT}an_old_copy_from_before_an_amendment_is_refused",
    ),
    faults("privacy/composition.py", "tests/privacy/test_guarantee.py::test_losses_below_nothing")(
        "losses may be negative", "least=0, most=most)", "most=most)"
    ),
    owed(
        "a mixin in front is taken for its base",
        'if _position(kind, name) < _position(kind, "_will_owe")]',
        "if name in vars(kind)]",
        f"{PAID}a_mixin_in_front_cannot_be_foretold",
    ),
    owed(
        "one object's own fit is taken for that of its class",
        "own = _replaced(last)",
        "own = []",
        f"{PAID}a_fit_of_one_object_cannot_be_foretold",
    ),
    owed(
        "only fit is asked for",
        "for name in _CARRYING if",
        "for name in _CARRYING[:1] if",
        f"{PAID}a_method_on_the_way_to_the_release_cannot_be_foretold",
    ),
    owed(
        "an object's own transform is taken for that of its class",
        " or _replaced(step):",
        ":",
        f"{_OWED}a_step_whose_method_was_replaced_may_mix_ballots",
    ),
    faults("base.py", f"{_OWED}a_fit_of_another_thread_does_not_get_the_record")(
        "a pipeline is recorded on whatever was published last",
        "publish(record_pipeline(self, released), self)",
        "publish(released, self) and record_pipeline(self)",
    ),
    owed(
        "a pipeline that was changed keeps its guarantee",
        "return replace(_UNKNOWN, caveats=(_REFIT,)) if changed else stated(last, declared)",
        "return stated(last, declared)",
        f"{_OWED}a_pipeline_that_was_changed_after_its_fit_is_unknown",
    ),
    owed(
        "a pipeline is recorded where its last step was not fitted by it",
        'if getattr(caller, "steps", None) and caller.steps[-1][1] is outermost:',
        'if getattr(caller, "steps", None):',
        f"{_OWED}what_is_fitted_inside_a_step_is_not_that_step",
    ),
    faults("fitted.py", f"{_OWED}the_last_step_fitted_by_itself_forgets_its_pipeline")(
        "a fit keeps the pipeline of the fit before it",
        "        if name not in keep:",
        '        if name not in keep and name[0] != "_":',
    ),
    faults("privacy/workers.py", "tests/test_distributed.py::test_a_private_fit_inside_a_worker_warns")(
        "a private fit inside a worker does not warn", "if distributed is None or", "if True or"
    ),
]

TOTALS = "tests/audit/test_stream_audit.py::test_all_totals_together_keep_the_promise_and_use_it_up"
STREAM_THREADS = "tests/aggregators/test_streaming_threads.py"
STATED_NOISE = "tests/audit/test_stream_audit.py::test_the_noise_that_is_stated_is_that_of_every_total"
correlated = faults("mechanisms/correlated.py", TOTALS)
streaming = faults("channels/streaming.py", TOTALS)
STREAMS = [
    correlated(
        "a ballot counts in one period's draw only",
        "sensitivity.l2_squared * squares)",
        "sensitivity.l2_squared * root_weights(1)[0] ** 2)",
    ),
    correlated(
        "a stream for half of the periods",
        "for weight in root_weights(horizon).tolist())",
        "for weight in root_weights((horizon + 1) // 2).tolist())",
    ),
    correlated(
        "weights the wrong way round",
        "[: len(sums)][::-1]",
        "[: len(sums)]",
        "tests/mechanisms/test_correlated.py::test_totals_are_those_of_five_lines",
    ),
    correlated(
        "mixtures that overflow",
        ".max() < 2.0**62:",
        ".max() < 2.0**99:",
        "tests/mechanisms/test_correlated.py::test_mixtures_never_overflow",
    ),
    streaming("streams under replace", "n_items, self.neighboring)\n", 'n_items, "add_remove")\n'),
    streaming(
        "two totals for the price of one",
        "1 / Fraction(ask.share)",
        "Fraction(1)",
        "tests/channels/test_streaming.py::test_two_totals_share_the_budget",
    ),
    streaming(
        "one period more than planned",
        "if self.period >= horizon:",
        "if self.period > horizon:",
        "tests/aggregators/test_streaming.py::test_one_period_more_is_refused_before_its_ballots_are_read",
    ),
    streaming(
        "noise used again in every later period",
        "else deepcopy(stream.bits)\n",
        "else Bits.from_random_state(0)\n",
        "tests/audit/test_stream_audit.py::test_the_noise_of_every_period_is_fresh",
    ),
    streaming(
        "less noise on the way",
        "if self.prices != stream.prices:",
        "if len(self.prices) != len(stream.prices):",
        "tests/aggregators/test_streaming.py::test_parameters_cannot_change_on_the_way",
    ),
    streaming(
        "copies of a stream with the same noise",
        "Bits.from_random_state(None) if",
        "Bits.from_random_state(stream.period) if",
        "tests/audit/test_stream_audit.py::test_copies_never_repeat_each_other_s_noise",
    ),
    correlated(
        "the noise law of a stream without its weights",
        "float(np.sqrt(np.square(weights).sum()))",
        "1.0",
        STATED_NOISE,
    ),
    faults("periods.py", f"{STREAM_THREADS}::test_a_period_that_another_call_overtakes_comes_after_it")(
        "threads publish one period several times",
        "if publish(draft, self, stream_=before):",
        "if publish(draft, self):",
    ),
    faults("fitted.py", f"{STREAM_THREADS}::test_an_interrupt_after_a_period_was_published_takes_it_back")(
        "an interrupt says that a published period was not", "if vars(estimator) is after:", "if False:"
    ),
    faults("fitted.py", f"{STREAM_THREADS}::test_a_period_that_another_call_overtakes_comes_after_it")(
        "a release replaces whatever was published meanwhile", "before.get(name) is not value", "False and value"
    ),
    faults("periods.py")(
        "a period in which nobody voted is refused",
        "reset=before is None, least_voters=0)",
        "reset=before is None)",
        "tests/aggregators/test_streaming.py::test_nobody_need_vote_in_a_period",
    ),
]

LAWS, RANGES = "tests/certainty/test_laws.py::", "tests/certainty/test_ranges.py::"
CERTAIN, POSTERIORS = "tests/certainty/test_certain.py::", "tests/certainty/test_posteriors.py::"
laws = faults("certainty/laws.py")
CERTAINTY = [
    faults("channels/central.py")(
        "what is no vector with noise is published",
        "if query.published_as is not None and law is not None and",
        "if query.published_as is not None and",
        "tests/aggregators/test_published.py::test_others_publish_the_consensus_only",
    ),
    faults("channels/local.py")(
        "margins of voters with epsilons of their own as if all had one",
        "if len(heard) == 1 else None",
        "if heard else None",
        LAWS + "test_where_nothing_is_known_nothing_is_said",
    ),
    laws(
        "the tail of continuous Laplace noise",
        "/ (1 + math.exp(-rate))",
        "/ 2",
        LAWS + "test_moments_and_tails_of_laplace_noise",
    ),
    laws(
        "one answer more than there was",
        "np.where(enough, plus - 1, 0)",
        "np.where(enough, plus, 0)",
        LAWS + "test_p_values_of_answers_are_never_too_small",
    ),
    laws(
        "confidence in scores as if there were no other",
        "SPREADS / np.sqrt(1 + SPREADS**2)",
        "np.ones_like(SPREADS)",
        POSTERIORS + "test_normal_scores_are_averaged_over_their_spread",
    ),
    faults("randomizers/privunit.py")(
        "the noise of complete rankings for all ballots",
        "math.sqrt(1 + max(gamma * lean, 0.0))",
        "1.0",
        LAWS + "test_the_law_of_noisy_directions",
    ),
    faults("mechanisms/correlated.py")(
        "the noise of the first period for all",
        "root_weights(self.horizon)[:period]",
        "root_weights(self.horizon)[:1]",
        LAWS + "test_the_law_of_a_stream",
    ),
    faults("certainty/ranges.py")(
        "ranges are too narrow by a cell",
        "+ width + 1, len(below) - 1)",
        "+ width + 2, len(below) - 1)",
        RANGES + "test_noise_on_integers_is_exact",
    ),
    faults("certainty/noise.py")(
        "every statement at the whole risk",
        "* np.arange(len(order), 0, -1) > risk",
        "> risk",
        CERTAIN + "test_holm_step_by_step",
    ),
    faults("certainty/certain.py")(
        "the worst rank is one too good",
        "len(above) - 1 - above.sum(axis=1)",
        "len(above) - 2 - above.sum(axis=1)",
        CERTAIN + "test_the_borda_consensus_is_within_its_intervals",
    ),
    faults("certainty/margin_posterior.py")(
        "strengths as if they were known",
        "self._of_pairs * self._left + self._left**2 * np.maximum(spread, 0)",
        "self._of_pairs * self._left + 1e-9 * np.maximum(spread, 0)",
        POSTERIORS + "test_margins_are_a_linear_model",
    ),
    faults("certainty/margin_posterior.py")(
        "Laplace noise taken for signal",
        "evidence = power * np",
        "evidence = 4 * np",
        POSTERIORS + "test_few_pairs_are_falsely_claimed_at_any_strength[5-150-strengths0-laplace-margins]",
    ),
    faults("certainty/spread.py")(
        "a flat prior of spreads",
        "_LOG_SPREADS - np.log(1 / 16 + SPREADS**2)",
        "0 * SPREADS",
        POSTERIORS + "test_normal_scores_are_averaged_over_their_spread",
    ),
    faults("certainty/laplace_posterior.py")(
        "Laplace noise of twice the width",
        "scale, width / scale\n",
        "scale, width / (2 * scale)\n",
        POSTERIORS + "test_laplace_noise_on_normal_numbers",
    ),
]

SUM_AUDIT = "tests/audit/test_secure_aggregation_audit.py"
_SERVERS = "tests/servers/test_aggregation.py"
_SHARES = "tests/devices/test_shares.py"
_ROUNDS = "tests/devices/test_rounds.py"
_SUMMANDS = "tests/devices/test_summands.py"
_FIELD = "tests/channels/test_sums_in_rounds.py"
skellam = faults("privacy/skellam.py", "tests/privacy/test_skellam.py::test_the_bound_holds_and_is_near")
poisson = faults("privacy/poisson.py", "tests/privacy/test_poisson.py::test_every_number_has_its_probability")
sums = faults("channels/secure_aggregation.py", f"{SUM_AUDIT}::test_one_sum_keeps_epsilon_and_delta")
combined = faults("channels/sums.py")
shares = faults("devices/shares.py")
rounds = faults("devices/rounds.py")
summands = faults("devices/summands.py", f"{_SUMMANDS}::test_no_ballot_moves_a_sum_further_than_devices_believe")
server = faults("servers/aggregation.py")
_FILES = "tests/servers/test_checked_file.py"
checked_file = faults("servers/checked_file.py", f"{_FILES}::test_damage_that_sqlite_does_not_notice")
server_messages = faults("servers/messages.py")
SUMS = [
    skellam("half the divergence of Skellam noise", "(l2_squared / (2 * variance))", "(l2_squared / (4 * variance))"),
    skellam(
        "Skellam noise as if it were Gaussian",
        "return gaussian + np.minimum(lattice, 3 * l1 / (2 * variance))",
        "return gaussian",
        "tests/privacy/test_skellam.py::test_the_bound_by_hand",
    ),
    skellam(
        "divergences of later answers are forgotten",
        "renyi = renyi + release.times",
        "renyi = release.times",
        "tests/privacy/test_skellam.py::test_two_releases_by_convolution",
    ),
    skellam(
        "an answer given often counts once",
        "renyi + release.times * skellam_renyi",
        "renyi + skellam_renyi",
        "tests/privacy/test_skellam.py::test_two_releases_by_convolution",
    ),
    skellam(
        "the conversion leaves delta out",
        "(math.log(1 / delta) + spare)",
        "spare",
        "tests/privacy/test_skellam.py::test_the_conversion_is_that_of_canonne_kamath_and_steinke",
    ),
    skellam(
        "half of the Skellam noise",
        "return drawn[::2] - drawn[1::2]",
        "return drawn[::2] - int(rate)",
        "tests/privacy/test_skellam.py::test_the_law_of_the_noise_and_of_sums_of_it",
    ),
    poisson(
        "a narrower proposal than is corrected for",
        "Fraction(0), Fraction(1, width)",
        "Fraction(0), Fraction(2, width)",
        "tests/privacy/test_poisson.py::test_the_law",
    ),
    poisson("the mode of a Poisson law is one off", "law.mode + min(j, 0) + 1, law", "law.mode + min(j, 0) + 2, law"),
    poisson(
        "doubles decide what they cannot tell",
        "abs(chance - drawn) > _TRUST * (1 + abs(chance))",
        "True",
        "tests/privacy/test_poisson.py::test_close_decisions_are_exact",
    ),
    sums("each voter adds half of its noise", "* unit / (2 * least))", "* unit / (4 * least))"),
    sums("the noise of ever more voters", "* unit / (2 * least))", "* unit / (2 * least + 9))"),
    sums(
        "sums are priced as if a ballot came or went",
        'moved = ask.query.sensitivity(n_items, "replace")\n            if any(moved):',
        'moved = ask.query.sensitivity(n_items, "add_remove")\n            if any(moved):',
    ),
    combined(
        "sums of different voters are added",
        "if len({(said.voters, said.n_reports) for said in heard}) > 1:",
        "if len({said.server for said in heard}) < 1:",
        "tests/channels/test_secure_aggregation.py::test_sums_that_do_not_add_up",
    ),
    combined(
        "the curator takes sums of few voters",
        'is_whole(n_reports, protocol["min_reports"], protocol["max_reports"])',
        'is_whole(n_reports, 0, protocol["max_reports"])',
        "tests/channels/test_secure_aggregation.py::test_each_bad_sum_is_left_out_for_a_reason_that_echoes_nothing",
    ),
    shares(
        "shares from half of the range",
        "bits.noise.integers(of.modulus, others",
        "bits.noise.integers(of.modulus // 2, others",
        f"{_SHARES}::test_all_shares_but_one_are_uniform_and_independent",
    ),
    shares(
        "the first servers get one share",
        "others * said.size).reshape(len(said), others, -1)",
        "said.size).reshape(len(said), 1, -1).repeat(others, axis=1)",
        f"{SUM_AUDIT}::test_all_servers_but_one_see_the_same_whatever_the_ballot",
        f"{_SHARES}::test_all_shares_but_one_are_uniform_and_independent",
    ),
    shares(
        "voters add no noise",
        "last = (said + noise - shares",
        "last = (said - shares",
        f"{_SHARES}::test_the_noise_of_one_voter",
    ),
    shares(
        "devices believe that the noise is enough",
        '<= Decimal(protocol["epsilon"])',
        '<= 2 * Decimal(protocol["epsilon"])',
        f"{_SHARES}::test_what_devices_refuse",
        f"{_ROUNDS}::test_protocols_that_devices_refuse",
    ),
    summands(
        "devices know half of what a ballot moves",
        "return m, 2 * (m * m // 2), Fraction(4 * m * (m * m - 1), 3)",
        "return m, m * m // 2, Fraction(m * (m * m - 1), 3)",
    ),
    summands(
        "groups move as if a ballot came or went", "l2_squared = Fraction(4 * sum(k", "l2_squared = Fraction(sum(k"
    ),
    summands(
        "half of the l1 of groups, on devices", "2 * sum(k * k // 2 for k in sizes)", "sum(k * k // 2 for k in sizes)"
    ),
    summands("scores are not moved by their reverse", "[high - low for low, high in", "[high for low, high in"),
    summands("shared scores are rounded for nothing", "sum(map(abs, moved)) + self.n_items,", "sum(map(abs, moved)),"),
    summands(
        "devices answer about groups of any size",
        "return whole and [len(group) for group in about] == self._groups",
        "return whole",
        f"{_SUMMANDS}::test_what_questions_may_be_about",
        f"{_ROUNDS}::test_what_devices_do_not_answer",
        f"{SUM_AUDIT}::test_whatever_devices_answer_costs_no_more_than_stated",
    ),
    summands(
        "an item is in two groups",
        "len(set(items)) == self.n_items",
        "len(items) == self.n_items",
        f"{_SUMMANDS}::test_what_questions_may_be_about",
        f"{_ROUNDS}::test_what_devices_do_not_answer",
    ),
    rounds(
        "a device answers a second question of one number",
        "if asked.number in numbers:",
        "if asked.number in ():",
        f"{_ROUNDS}::test_a_second_question_of_one_number_is_refused",
        f"{SUM_AUDIT}::test_no_order_of_questions_gets_a_second_answer",
    ),
    rounds(
        "a device goes back to an earlier question",
        "if asked.number < max(numbers, default=0):",
        "if False:",
        f"{_ROUNDS}::test_no_question_comes_back",
    ),
    rounds(
        "one round is priced, and all are answered",
        'return [sum_of(kind, protocol, kind["times"]) for kind in protocol["rounds"]]',
        'return [sum_of(kind, protocol, kind["times"]) for kind in protocol["rounds"][:1]]',
        f"{_ROUNDS}::test_protocols_that_devices_refuse",
    ),
    rounds(
        "a question asked often is priced once",
        'return [sum_of(kind, protocol, kind["times"]) for kind in protocol["rounds"]]',
        'return [sum_of(kind, protocol) for kind in protocol["rounds"]]',
        f"{_ROUNDS}::test_protocols_that_devices_refuse",
    ),
    server(
        "a server goes back to an earlier question",
        "if asked.number <= number:",
        "if False:",
        f"{_SERVERS}::test_rounds_go_on_and_never_back",
        f"{_SERVERS}::test_rounds_outlive_a_restart",
    ),
    server(
        "shares of one round are summed in the next",
        "name=asked.name, said=None)\n            self._file.clear()",
        "name=asked.name, said=None)",
        f"{_SERVERS}::test_a_round_that_was_left_is_over",
        f"{_SERVERS}::test_one_sum_a_round",
    ),
    faults("servers/messages.py")(
        "a server adds up answers to other questions",
        'if said.get("question") != head.get("question"):',
        "if False:",
        f"{_SERVERS}::test_answers_to_another_question_are_not_added",
        f"{_SERVERS}::test_a_round_that_was_left_is_over",
    ),
    combined(
        "the curator takes sums of another question",
        "if about and about != [question]:",
        "if False:",
        f"{_FIELD}::test_sums_of_another_question_are_refused",
    ),
    faults("channels/summing.py")(
        "sums of some voters pass for sums of all",
        "total = total * (self._n_voters / heard)",
        "total = total * 1",
        f"{_FIELD}::test_sums_of_some_are_scaled_up_to_all",
    ),
    faults("channels/summing.py")(
        "the noise of the voters who answered is not scaled up",
        "deviation * self._n_voters / heard",
        "deviation",
        f"{_FIELD}::test_sums_of_some_are_scaled_up_to_all",
    ),
    faults("certainty/laws.py")(
        "Skellam noise of half the variance",
        "ive(np.arange(far), 2 * float(rate))",
        "ive(np.arange(far), float(rate))",
        "tests/certainty/test_laws.py::test_the_tail_of_skellam_noise",
    ),
    server(
        "a server says a second sum",
        '            if state["said"] is None:\n                # One',
        "            if True:\n                # One",
        f"{_SERVERS}::test_one_sum_and_no_other",
    ),
    server(
        "a server sums over few voters",
        "if not least <= len(chosen) <= most:",
        "if not 0 <= len(chosen) <= most:",
        f"{_SERVERS}::test_below_min_reports_nothing_is_said",
    ),
    server(
        "one voter counts many times",
        "chosen = checked_voters(voters)",
        "chosen = sorted(voters)",
        f"{_SERVERS}::test_below_min_reports_nothing_is_said",
    ),
    server(
        "a server forgets that it has spoken",
        '            said = state["said"]\n',
        '            said, state["said"] = state["said"], None\n',
        f"{_SERVERS}::test_a_killed_server_forgets_nothing",
        f"{_SERVERS}::test_one_sum_and_no_other",
    ),
    server(
        "shares stay in the file",
        '                self._file.clear()\n            said = state["said"]',
        '            said = state["said"]',
        f"{_SERVERS}::test_shares_are_gone_from_the_file",
    ),
]

SERVER_FILES = [
    checked_file("damaged shares are added", " or checksum != _checksum(key, value)", ""),
    checked_file(
        "lost rows are not noticed",
        'if (count, digest) != (self._head["rows"], self._head["digest"]):',
        "if False:",
    ),
    checked_file(
        "rows of an earlier question are not noticed",
        'if (count, digest) != (self._head["rows"], self._head["digest"]):',
        'if count != self._head["rows"]:',
        f"{_FILES}::test_a_row_of_an_earlier_question_is_noticed",
    ),
    checked_file("a damaged state is read", "if checksum != _checksum(body):", "if False:"),
    checked_file(
        "a file that was cut to nothing is new",
        'raise _Damaged("is empty")',
        "os.unlink(place), make_whole(place, partial(_fill, first=first))",
        f"{_FILES}::test_an_empty_file_is_damaged",
    ),
    checked_file(
        "a fork of a server says another sum",
        "if self._home != os.getpid():",
        "if False:",
        f"{_FILES}::test_a_forked_server_says_nothing",
    ),
    server(
        "shares of one question are kept for the next",
        'if state["name"] == asked["name"]:',
        "if True:",
        f"{_FILES}::test_messages_that_were_read_before_the_next_question_are_not_added",
    ),
    server(
        "shares are kept after the sum was released",
        "                _refuse_after_release(state)\n",
        "",
        f"{_FILES}::test_messages_that_were_read_before_the_sum_are_not_added",
    ),
    server(
        "a file of an earlier release does not say what is spent",
        "        refuse_old_file(path)\n",
        "",
        f"{_FILES}::test_a_file_of_an_earlier_release_says_what_is_spent",
    ),
    faults("lines.py")(
        "a server reads messages of any length",
        "if len(message) > longest:",
        "if False:",
        f"{_FILES}::test_long_messages_are_not_parsed",
    ),
    server_messages(
        "a report number stands for any commitments",
        'if report_number(said["commitments"]) != said["report"]:',
        "if False:",
        f"{_SERVERS}::test_whoever_sees_a_report_cannot_register_it_elsewhere",
        f"{_SERVERS}::test_what_is_left_out",
    ),
    server_messages(
        "a report number stands for any share",
        'if commitment(said) != said["commitments"][said["server"]]:',
        "if False:",
        f"{_SERVERS}::test_whoever_sees_a_report_cannot_register_it_elsewhere",
        f"{_SERVERS}::test_what_is_left_out",
    ),
    shares(
        "one salt hides all shares of a report, and each server knows it",
        "bits.noise.words(2 * (others + 1) * len(said)).reshape(len(said), -1, 2)",
        "bits.noise.words(2 * len(said)).reshape(len(said), 1, 2).repeat(others + 1, axis=1)",
        f"{SUM_AUDIT}::test_messages_to_all_servers_but_one_have_one_law_whatever_the_ballot",
        f"{_SHARES}::test_messages",
    ),
    shares(
        "commitments without a salt",
        'if name not in ("report", "commitments")}',
        'if name not in ("report", "commitments", "salt")}',
        f"{_SHARES}::test_the_number_of_a_report_commits_to_all_shares",
    ),
]

_WALKS = {
    "budget": "tests/privacy/test_budget_states.py::test_a_budget_and_a_plain_list",
    "device": "tests/devices/test_device_states.py::test_a_device_and_a_plain_dictionary",
    "server": "tests/servers/test_aggregation_states.py::test_servers_and_plain_dictionaries",
    "curator": "tests/channels/test_curator_states.py::test_a_curator_and_plain_counts",
    "stream": "tests/aggregators/test_streaming_states.py::test_streams_and_plain_sums",
    "search": "tests/model_selection/test_search_states.py::test_searches_and_plain_fits",
}
crowds = faults("channels/crowd.py", _WALKS["curator"])
WALKS = [
    budget_file(
        "a budget counts three releases",
        'FROM releases ORDER BY number"',
        'FROM releases ORDER BY number LIMIT 3"',
        _WALKS["budget"],
    ),
    budget_file(
        "a budget decides by what it once read",
        "            rows = self._read(connection)\n",
        '            rows = self.seen = getattr(self, "seen", None) or self._read(connection)\n',
        _WALKS["budget"],
    ),
    budget_file(
        "half a charge is kept",
        '                yield connection\n                connection.execute("COMMIT")',
        "                try:\n                    yield connection\n                finally:\n"
        "                    connection.commit()",
        _WALKS["budget"],
    ),
    device(
        "a device forgets all but its last answer",
        "{**self._said, what: said}",
        "{what: said}",
        _WALKS["device"],
    ),
    faults("devices/interactive.py", _WALKS["device"])(
        "a device answers once more than agreed", ">= allowance(protocol)[kind]:", "> allowance(protocol)[kind]:"
    ),
    checked_file(
        "a server locks others out after an error",
        "                self._connection.rollback()  #",
        "                pass  #",
        _WALKS["server"],
        f"{_SERVERS}::test_a_server_that_cannot_write_takes_all_back_and_goes_on",
    ),
    checked_file(
        "half a transaction of a server is kept",
        "                self._connection.rollback()  #",
        "                self._connection.commit()  #",
        _WALKS["server"],
    ),
    server(
        "a restarted server says a second sum",
        '"said": None})\n',
        '"said": None})\n        with self._file.transaction() as state:\n            state["said"] = None\n',
        _WALKS["server"],
    ),
    combined(
        "sums of as many other voters are added",
        "if len({(said.voters, said.n_reports) for said in heard}) > 1:",
        "if len({said.n_reports for said in heard}) > 1:",
        _WALKS["server"],
    ),
    crowds(
        "more answers are counted than voters were asked",
        "if self.inbox.accepted + len(reports) > most:",
        "if False:",
        "tests/channels/test_interactive.py::"
        "test_bad_reports_do_not_crowd_out_good_ones_but_too_many_good_ones_are_refused",
    ),
    crowds(
        "answers to earlier questions are counted",
        'whole_numbers(asked, number, number, "another question")',
        'whole_numbers(asked, 1, number, "another question")',
    ),
    faults("channels/interactive.py", _WALKS["curator"])(
        "voters are asked again what they have answered", "if query not in self._answers:", "if True:"
    ),
    faults("periods.py", _WALKS["stream"])(
        "an interrupt while a period is published loses the stream",
        "            draft = draft_of(self)\n            before",
        "            draft = self\n            before",
    ),
    streaming(
        "a stream forgets all but two periods",
        "self._kept[query][1].sum(axis=0)",
        "self._kept[query][1][-2:].sum(axis=0)",
        _WALKS["stream"],
    ),
    faults("model_selection/sweep/search.py", _WALKS["search"])(
        "a search that is cut short keeps what an earlier one found", "        clear_fitted(self)\n", ""
    ),
    faults("model_selection/sweep/search.py", _WALKS["search"])(
        "the refit of a search is free",
        "results.guarantees, [promise_of(self.best_estimator_)],",
        "results.guarantees, [],",
    ),
]

_CLI = "tests/cli/test_cli.py"
_UTILITY = "tests/plotting/test_utility.py"
PICTURES = [
    faults("plotting/_errors.py", f"{_UTILITY}::test_excess_is_drawn_by_default")(
        "a picture of exact errors that does not say so", '"\\n(% of pairs, not private)"', '"\\n(% of pairs)"'
    ),
    faults("plotting/_errors.py", f"{_UTILITY}::test_where_errors_are_drawn_themselves")(
        "an excess that is negative on a logarithmic axis", "errors >= self.floor - _ROUNDING", "errors >= -_ROUNDING"
    ),
    faults("plotting/_lines.py", f"{_UTILITY}::test_bands_are_the_quantiles_that_the_legend_names")(
        "bands that are not what they say", "_QUANTILES = (0.1, 0.9)", "_QUANTILES = (0.0, 1.0)"
    ),
]
_UNREADABLE = "tests/cli/test_unreadable.py"
COMMAND = [
    faults("cli/cells.py")(
        "a missing person merges others",
        ', dtype_backend="numpy_nullable"',
        "",
        f"{_UNREADABLE}::test_a_row_without_a_person_merges_no_other_persons",
    ),
    faults("cli/cells.py")(
        "a quote that is not closed hides voters",
        "delimiter=delimiter, strict=True",
        "delimiter=delimiter, strict=False",
        f"{_UNREADABLE}::test_a_quote_that_is_not_closed_hides_no_voter",
    ),
    faults("cli/cells.py")(
        "a row that cannot be read keeps its other cells",
        "    numbers[list(unreadable.rows)] = np.nan\n",
        "",
        f"{_UNREADABLE}::test_a_row_that_cannot_be_read_counts_as_a_ballot_without_opinions",
    ),
    faults("cli/files.py")(
        "a left-out item means the same in every layout",
        'if options.layout in ("ratings", "positions") else "last"',
        'if options.layout is None else "last"',
        f"{_UNREADABLE}::test_the_layout_decides_what_left_out_items_mean",
    ),
    faults("profile.py")(
        "a table without rows is refused",
        "if _is_empty(X) else read_positions(X)",
        "if X is None else read_positions(X)",
        "tests/test_partitions.py::test_chunks_without_rows_count_nobody",
    ),
    faults("cli/ranking.py")(
        "the command forgets the account",
        "budget.fit(estimator, ballots) if budget else estimator.fit(ballots)",
        "estimator.fit(ballots)",
        f"{_CLI}::test_an_account_is_charged_and_refuses",
    ),
    faults("cli/files.py")(
        "the command publishes the first ballot as names",
        "    if all(is_no_name(name) for name in names if name != person):",
        "    if False:",
        f"{_CLI}::test_refusals",
    ),
    faults("datasets/_preflib.py")(
        "a file takes more memory than there is",
        "if n_voters * n_items > _cells_in_memory():",
        "if False:",
        "tests/datasets/test_preflib.py::test_counts_and_lines_that_take_more_than_the_machine_has",
    ),
    faults("cli/files.py")(
        "the command counts a person once a row",
        "_profile(numbers if persons is None else _merged(numbers, persons), names, options)",
        "_profile(numbers, names, options)",
        f"{_CLI}::test_rows_of_one_person_are_one_ballot",
    ),
    faults("cli/files.py")(
        "the command takes ratings for positions",
        'if options.layout == "ratings":',
        'if options.layout == "rating":',
        f"{_CLI}::test_every_layout_gives_the_same_consensus",
    ),
    faults("cli/ranking.py")(
        "the command charges for a level that it refuses",
        '    check_number(options.level, "--level", above=0, below=1)  # before anything is paid for\n',
        "",
        f"{_CLI}::test_a_refused_level_costs_nothing",
    ),
    faults("cli/files.py")(
        "the command ranks row numbers as an item",
        "if not name.strip():\n            raise",
        "if name is None:\n            raise",
        f"{_CLI}::test_refusals",
    ),
    faults("cli/printing.py")(
        "the command prints JSON that a terminal without accents breaks",
        'not encoding.lower().startswith("utf")',
        "False",
        f"{_CLI}::test_json_stays_json_where_the_terminal_has_no_accents",
    ),
    faults("privacy/owed.py")(
        "a budget quotes ballots that stand where the estimator should",
        "must be an estimator, pipeline or search, got {shown(estimator)}",
        "must be an estimator, pipeline or search, got {estimator!r}",
        "tests/test_misplaced_ballots.py::test_no_message_quotes_a_ballot",
    ),
    faults("privacy/statement.py")(
        "a factor in plain words is rounded down",
        "math.ceil(ratio * 10**digits) / 10**digits:,",
        "math.floor(ratio * 10**digits) / 10**digits:,",
        "tests/privacy/test_statement.py::test_rounded_away_from_the_promise",
    ),
    faults("privacy/statement.py")(
        "a simulation is stated as a promise",
        "[] if guarantee.certified else [_SIMULATION]",
        "[]",
        "tests/privacy/test_statement.py::test_a_seed_comes_first",
    ),
]
_KEMENY = "tests/orders/test_kemeny.py"
bounded = faults("orders/linear_ordering.py", f"{_KEMENY}::test_dual_bound_is_below_every_order")
ORDERINGS = [
    bounded(
        "a bound that asks no price for a row",
        "- int(program.right @ y), reduced",
        "+ 0, reduced",
        f"{_KEMENY}::test_where_the_search_misses_the_optimum_the_first_one_is_taken",
    ),
    bounded("a bound of pairs at their worst", "np.minimum(reduced * low", "np.maximum(reduced * low"),
    bounded(
        "ties are left to the solver",
        "if bound >= self._best:",
        "if False:",
        f"{_KEMENY}::test_where_the_search_misses_the_optimum_the_first_one_is_taken",
    ),
    bounded(
        "a closure that follows no chain through the last item",
        "for item in between:",
        "for item in between[:-1]:",
        f"{_KEMENY}::test_closures_are_those_of_chains_followed_one_by_one",
    ),
    bounded(
        "closures are free",
        "work.spend(len(between)",
        "work.spend(0 * len(between)",
        f"{_KEMENY}::test_closures_are_those_of_chains_followed_one_by_one",
    ),
    faults("orders/work.py", "tests/orders/test_work.py::test_iterations_take_longer_as_the_basis_fills")(
        "an iteration takes as long whatever the basis", "+ self.filled * fullness", "+ 0 * fullness"
    ),
    faults("orders/work.py", "tests/orders/test_work.py::test_iterations_that_are_paid_for")(
        "one iteration is not paid for", "        return paid\n", "        return paid + 1\n"
    ),
    faults("orders/relaxation.py", "tests/orders/test_relaxation.py::test_a_later_program_starts_where_it_is_told")(
        "a program without rows is charged as if it were full", "if not rows.any():", "if False:"
    ),
]

_DELTA = "tests/devices/test_delta.py"
_ALLOWANCE = "tests/devices/test_allowance.py"
_STORED = "tests/devices/test_stored_devices.py"
allowance = faults("devices/allowance.py")
OWNERS = [
    device(
        "devices accept any delta",
        "if self._costs[1] > decimal_of(self._max_delta):",
        "if False:",
        f"{_DELTA}::test_a_delta_that_makes_epsilon_meaningless",
        f"{_DELTA}::test_every_way_to_make_a_device",
    ),
    faults("field.py")(
        "a client accepts any delta",
        "max_delta=max_delta,",
        "max_delta=0.5,",
        f"{_DELTA}::test_every_way_to_make_a_device",
    ),
    shares(
        "devices state no delta",
        'return Decimal(protocol["delta"])',
        "return Decimal(0)",
        f"{_DELTA}::test_a_delta_that_makes_epsilon_meaningless",
    ),
    device(
        "a new device draws nothing from the allowance",
        "            self._charge(allowance)\n",
        "            pass\n",
        f"{_ALLOWANCE}::test_polls_add_up",
    ),
    device(
        "a stored device is not charged again",
        "            device._charge(allowance)\n",
        "            pass\n",
        f"{_ALLOWANCE}::test_a_device_that_the_stored_allowance_does_not_know",
    ),
    device(
        "a device of 0.2.0 is read as fresh",
        "device._old, device._home = True, None",
        "device._old = True",
        f"{_STORED}::test_it_answers_no_other_question",
        f"{_STORED}::test_a_fresh_one_says_nothing",
    ),
    device(
        "what a device of 0.2.0 sent is dropped",
        "device._ballot, device._said = state",
        "device._ballot, device._said = (None, {}) if old else state",
        f"{_STORED}::test_it_repeats_what_it_sent_and_nothing_else",
    ),
    allowance(
        "only the last poll counts",
        "_totals([*self._charges.values(), cost])",
        "_totals([cost])",
        f"{_ALLOWANCE}::test_polls_add_up",
    ),
    allowance(
        "deltas of polls do not add up",
        " or delta > decimal_of(self.delta):",
        ":",
        f"{_ALLOWANCE}::test_deltas_add_up_too",
    ),
    allowance(
        "an allowance pays for two devices of one protocol",
        "if any(cost.protocol == other.protocol for",
        "if any(cost is other for",
        f"{_ALLOWANCE}::test_a_second_device_of_one_protocol_is_refused",
    ),
    allowance(
        "an allowance forgets everything at a restart",
        "allowance._charges = MappingProxyType(charges)",
        "allowance._charges = MappingProxyType({})",
        f"{_ALLOWANCE}::test_the_text_is_opened_as_it_was",
    ),
    allowance(
        "what was reported without an allowance is not charged",
        "            if not reported:\n",
        "            if True:\n",
        f"{_ALLOWANCE}::test_a_device_that_the_stored_allowance_does_not_know",
    ),
    allowance(
        "a copy of an allowance pays once more",
        "    def __deepcopy__(self, memo):\n        return self\n",
        "    def __deepcopy__(self, memo):\n        return type(self).from_json(self.to_json())\n",
        f"{_ALLOWANCE}::test_copies_share_the_budget",
    ),
    allowance(
        "a pickle of an allowance pays once more",
        "    allowance._home = None\n",
        "    pass\n",
        f"{_ALLOWANCE}::test_a_pickled_copy_pays_for_nothing",
    ),
    allowance(
        "a fork of an allowance pays once more",
        "if self._home != os.getpid():",
        "if self._home is None:",
        f"{_ALLOWANCE}::TestFork::test_a_child_pays_for_nothing",
    ),
    allowance(
        "charges are rounded down",
        "_UP = Context(prec=40, rounding=ROUND_CEILING)",
        '_UP = Context(prec=40, rounding="ROUND_FLOOR")',
        f"{_ALLOWANCE}::test_polls_add_up",
    ),
    allowance(
        "threads draw from an allowance at one time",
        "        with self._lock:\n",
        "        if self._lock:\n",
        f"{_ALLOWANCE}::test_a_thread_waits_for_one_that_draws",
    ),
    faults("devices/protocol.py")(
        "a refusal writes whatever a curator sent",
        "    if is_whole(version, 0):  #",
        "    if True:  #",
        "tests/devices/test_hostile_nesting.py::test_protocols[rr-many digits]",
    ),
]

_READING = "tests/test_reading.py"
READING = [
    faults("cells.py", f"{_READING}::test_numbers_in_another_byte_order")(
        "bytes are read in the wrong order",
        "return numbers if numbers.dtype.isnative else",
        "return numbers if True else",
    ),
    faults("tables.py", f"{_READING}::test_large_whole_numbers_keep_their_order")(
        "large whole numbers of a list are cast with those beside them",
        "return _with_exact_rows(doubles, lambda large:",
        "return doubles if len(doubles) else _with_exact_rows(doubles, lambda large:",
    ),
    faults("tables.py", f"{_READING}::test_large_whole_numbers_keep_their_order")(
        "blocks of a list are joined as they are",
        "blocks = [as_doubles(block) for block in blocks]",
        "blocks = [block.astype(float) for block in blocks]",
        f"{_READING}::test_blocks_of_a_list_are_joined_exactly",
    ),
    faults("columns.py", f"{_READING}::test_large_whole_numbers_keep_their_order")(
        "columns with gaps are joined as doubles", "large |= beyond(row)", "pass"
    ),
    faults("columns.py", f"{_READING}::test_columns_of_integers_and_of_floats_are_compared_exactly")(
        "columns are compared as doubles", "by_double * len(columns) + by_rest", "by_double * len(columns)"
    ),
    faults("cells.py", f"{_READING}::test_ratings_of_large_whole_numbers")(
        "ratings beyond 2^53 are cast", "        inexact = beyond(doubles)\n", "        return doubles\n"
    ),
    faults("compact.py", f"{_READING}::test_positions_of_a_ballot_are_its_own")(
        "positions tell of the ballots beside them",
        "    lowest = out.min(axis=0)\n",
        "    lowest = np.broadcast_to(out.min(), out.shape[1])\n",
    ),
    faults("compact.py", "tests/test_rankings.py::test_every_dtype_and_range")(
        "integers that wrap round are small",
        "unsigned < sentinel) & (numbers < 2**63)",
        "unsigned < sentinel)",
        f"{_READING}::test_columns_that_wrap_round",
    ),
    faults("names.py", f"{_READING}::test_columns_keep_their_names")(
        "Arrow tables have no names",
        "    if not has_names(X):\n",
        "    if not hasattr(X, 'dtypes'):\n",
    ),
    faults("tables.py", f"{_READING}::test_array_likes_of_objects_are_checked_too")(
        "objects of array-likes go unchecked",
        "return _from_array(X if isinstance(X, np.ndarray) else np.asarray(X))",
        "return _from_array(X) if isinstance(X, np.ndarray) else X",
    ),
    faults("preprocessing.py", f"{_READING}::test_masked_orders_list_what_is_not_masked")(
        "masked orders list what is masked", "    orders = unmasked(orders)\n", ""
    ),
]

_POLL = "tests/test_examples_web_poll.py"


def poll(file, name, old, new, test):
    """Return a fault of the web poll."""
    return Fault(f"web poll: {name}", f"examples/web_poll/{file}", old, new, (f"{_POLL}::{test}",))


POLL = [
    poll(
        "static/device.js",
        "a browser stores the ballot beside its report",
        "JSON.stringify({ report }));\n    return report;",
        "JSON.stringify({ report, ballot }));\n    return report;",
        "test_the_store_tells_no_more_of_a_ballot_than_the_report",
    ),
    poll(
        "static/device.js",
        "a later ballot gets a report of its own",
        "if (kept !== null) return kept;",
        "if (false) return kept;",
        "test_every_later_ballot_gets_the_first_report",
    ),
    poll(
        "static/device.js",
        "polls of a site do not add up",
        "if (sumOf(others) > amount(this.epsilon)) {",
        "if (price > amount(this.epsilon)) {",
        "test_all_polls_of_a_site_spend_one_allowance",
    ),
    poll(
        "static/device.js",
        "prices are rounded down",
        "(units + 10n ** 68n - 1n)",
        "units",
        "test_all_polls_of_a_site_spend_one_allowance",
    ),
    poll(
        "static/device.js",
        "reports are free",
        "    this.allowance.charge(name, price(this.protocol));",
        "",
        "test_a_report_is_paid_for_before_it_exists",
    ),
    poll(
        "static/device.js",
        "a shared digest pays once",
        'if (amount(prices[name] ?? "0") >= amount(text)) return prices;',
        "if (name in prices) return prices;",
        "test_a_protocol_that_shares_a_digest_pays_the_difference",
    ),
    poll(
        "static/device.js",
        "a hash of the ballot stays in the browser",
        "    dropHashes(store);\n",
        "",
        "test_a_hash_of_a_ballot_from_before_is_dropped",
    ),
    poll(
        "static/device.js",
        "a report of 0.2.0 cost nothing",
        ".map((name) => [name, UNKNOWN_PRICE])",
        ".map((name) => [name, decimalAbove(1n)])",
        "test_a_hash_of_a_ballot_from_before_is_dropped",
    ),
    poll(
        "static/device.js",
        "a damaged record is an empty one",
        "throw new Refused(DAMAGED);\n  return value;",
        "return null;\n  return value;",
        "test_a_damaged_record_is_not_an_empty_one",
    ),
    poll(
        "static/page.js",
        "a script that nobody pinned",
        'document.querySelector("#send")',
        'document.querySelector("button")',
        "test_the_page_pins_its_scripts",
    ),
    poll(
        "collector.py",
        "forms of other sites are taken",
        'lower() != "application/json"',
        'lower() == "none"',
        "test_only_json_is_taken",
    ),
    poll("collector.py", "any host name", "list(hosts)", '["*"]', "test_only_known_hosts_are_served"),
    poll(
        "collector.py",
        "other sites may frame the page",
        "frame-ancestors 'none'",
        "frame-ancestors *",
        "test_every_response_says_what_a_browser_may_do_with_it",
    ),
    poll(
        "collector.py",
        "a refused submission looks accepted",
        'if new in ([], ["received before"])',
        "if new != 0",
        "test_one_request_is_one_voter",
    ),
    poll(
        "static/device.js",
        "an answer to one question counts for another",
        "return `${await digest(this.protocol)} ${this.poll}`;",
        "return `${await digest(this.protocol)} ${'0'.repeat(32)}`;",
        "test_a_report_of_one_question_is_none_of_another",
    ),
    poll(
        "poll_file.py",
        "a new question takes the shuffler of the one before",
        "if left.exists() and not is_begun(path):",
        "if False:",
        "test_a_shuffler_belongs_to_one_question",
    ),
    poll(
        "poll_file.py",
        "the result replaces the poll",
        'if Path(path).suffix.lower() == ".html":',
        "if False:",
        "test_the_result_never_replaces_the_poll",
    ),
]

FAULTS = [
    *READING,
    *CERTAINTY,
    *ORDERINGS,
    *QUERIES,
    *MECHANISMS,
    *NOISE,
    *MONEY,
    *FORMULAS,
    *SELECTION,
    *SEARCHES,
    *FIELD,
    *STREAMS,
    *BOUNDARIES,
    *ACCOUNTS,
    *POLL,
]
FAULTS += OWNERS
FAULTS += SUMS + SERVER_FILES + WALKS + COMMAND + PICTURES

_SHUFFLER = "tests/servers/test_shuffler.py"
shuffler, submissions = faults("servers/shuffler.py"), faults("servers/submissions.py")
shuffling, asking = faults("channels/shuffle.py"), faults("channels/crowd.py")
FAULTS += [
    submissions(
        "a shuffler takes messages of another protocol",
        'if submission.get("protocol") != name:',
        "if False:",
        f"{_SHUFFLER}::test_a_voter_with_a_protocol_of_its_own_is_refused",
    ),
    submissions(
        "a shuffler takes any number of messages",
        "if type(messages) is not list or len(messages) != k:",
        "if type(messages) is not list:",
        f"{_SHUFFLER}::test_each_bad_submission_is_refused_for_a_reason",
    ),
    submissions(
        "a shuffler takes one shuffle several times",
        "if sorted(shuffles) != (list(range(k)) if hidden else [0] * k):",
        "if max(shuffles) >= k:",
        f"{_SHUFFLER}::test_each_bad_submission_is_refused_for_a_reason",
    ),
    submissions(
        "a shuffler parses submissions of any length",
        "parse(text, longest(protocol))",
        "parse(text, 10**9)",
        f"{_SHUFFLER}::test_each_bad_submission_is_refused_for_a_reason",
    ),
    submissions(
        "a shuffler believes a design that singles out a voter",
        "if counts.max() > least + 1:",
        "if False:",
        f"{_SHUFFLER}::test_a_design_that_does_not_follow_the_rule",
    ),
    shuffler(
        "a shuffler counts a submission each time it comes",
        "if len(new_keys) == len(keys):",
        "if True:",
        f"{_SHUFFLER}::test_a_submission_that_comes_again_counts_once",
    ),
    shuffler(
        "a shuffler forgets who was released",
        "                else:\n                    kept[key] = value",
        "                elif key.startswith(_RELEASED):\n                    kept[key] = value",
        f"{_SHUFFLER}::test_after_a_release_nobody_is_released_again",
    ),
    shuffler(
        "a shuffler releases below min_reports",
        'if state["waiting"] < least:',
        'if state["waiting"] < 1:',
        f"{_SHUFFLER}::test_below_min_reports_nothing_is_released",
    ),
    shuffler(
        "a shuffler releases waiting voters again",
        "self._file.clear()\n            self._file.add(kept)",
        "self._file.add(kept)",
        f"{_SHUFFLER}::test_after_a_release_nobody_is_released_again",
        f"{_SHUFFLER}::test_released_messages_are_gone_from_where_they_waited",
    ),
    shuffler(
        "a shuffler that does not mix",
        "mixed = [waiting[place] for place in SecureBits().permutation(len(waiting)).tolist()]",
        "mixed = sorted(waiting)",
        f"{_SHUFFLER}::test_the_order_of_a_batch_is_random",
    ),
    shuffler(
        "a shuffler takes any assignment",
        "if pairs_of(said) != set(map(tuple, self._design[voter].tolist())):",
        "if False:",
        f"{_SHUFFLER}::test_voters_send_about_the_pairs_of_the_published_design",
    ),
    shuffler(
        "a shuffler takes several submissions of a voter in the design",
        '[_VOTER + voter.to_bytes(8, "big")]',
        "[]",
        f"{_SHUFFLER}::test_voters_send_about_the_pairs_of_the_published_design",
    ),
    shuffler(
        "a shuffler releases a message that nobody hides",
        "        if least < promised:",
        "        if False:",
        f"{_SHUFFLER}::test_too_few_messages_about_a_pair",
    ),
    shuffling(
        "a curator counts a voter's shuffle several times",
        "if hidden and (np.sort(shuffle, axis=1) != np.arange(k)).any():",
        "if False:",
        "tests/channels/test_shuffle.py::test_one_submission_is_one_voter",
    ),
    shuffling(
        "a curator counts a submission each time it comes",
        "self._received |= new_numbers(numbers, self._received)",
        "new_numbers(numbers, self._received)",
        "tests/channels/test_shuffle.py::test_one_submission_is_one_voter",
        "tests/channels/test_shuffle.py::test_submissions_are_refused_by_reason",
    ),
    shuffling(
        "a curator takes any number of messages from a voter",
        'end_to_end(groups, k, "wrong number of messages")',
        "sum(groups, [])",
        "tests/channels/test_shuffle.py::test_one_submission_is_one_voter",
    ),
    shuffling(
        "the voters of a shuffle are not named",
        'for party in (SHUFFLER, f"{n_voters} of the voters")',
        "for party in (SHUFFLER,)",
        "tests/channels/test_shuffle.py::test_who_is_trusted",
    ),
    asking(
        "a curator counts an answer each time it comes",
        "        received |= new\n",
        "",
        "tests/channels/test_interactive.py::test_one_answer_that_is_returned_many_times_counts_once",
    ),
    asking(
        "a curator counts every answer that a voter writes",
        "                waiting.remove(voter)\n",
        "",
        "tests/channels/test_interactive.py::test_a_voter_who_writes_many_answers_counts_once",
    ),
]
