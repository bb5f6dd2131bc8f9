"""Shuffled messages: prices by the number of voters, no result of too few, and printed noise."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from local_tools import apart, messages_of, same_law
from long_tools import compared_by
from oracles import flip_epsilon, flip_probability
from scipy.stats import chisquare
from sklearn.base import clone

from sklearn_dprank import ShuffleHierarchical, ShufflePairwise
from sklearn_dprank.ballots.profile import Profile, Shape
from sklearn_dprank.channels import Shuffle, balanced_design
from sklearn_dprank.collection import RandomizedResponse
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.model_selection.search import refits
from sklearn_dprank.privacy import UnsoundAmplificationWarning, shuffle_amplification, shuffle_local_epsilon
from sklearn_dprank.privacy.shuffle import composed_shuffle_epsilon
from sklearn_dprank.queries import AllMargins, Ask, PairTallies
from sklearn_dprank.sampling.bit_source import Bits, SeededBits
from sklearn_dprank.theory import song

pytestmark = pytest.mark.usefixtures("one_thread")

NAN = np.nan
TALLIES = [Ask(PairTallies())]
PRINTED = song.PrintedGaussian(1e-3)


def plan(m=3, n_voters=None, **parameters):
    return Shuffle(**parameters).plan(TALLIES, m, n_voters)


def opened(found, messages):
    """A session of a plan on these messages."""
    return found.open(iter(messages))(Bits.from_random_state(0))


def flip_of(found):
    flip, grid = found.protocol["flip"]
    return flip / grid


# --- the price


@pytest.mark.parametrize(
    ("local_epsilon", "figures"),
    [(1.0, (0.149, 0.063, 0.043)), (2.0, (0.397, 0.166, 0.114)), (4.0, (1.85, 0.607, 0.411))],
)
def test_published_figures_of_a_hidden_pair(local_epsilon, figures):
    for n, figure in zip((1000, 5000, 10000), figures, strict=True):
        for m in (3, 10, 45):
            guarantee = plan(m, n, local_epsilon=local_epsilon).guarantee
            assert guarantee.epsilon == pytest.approx(figure, abs=0.0051 if figure > 1 else 0.00051)
            assert (guarantee.delta, guarantee.trust, guarantee.neighboring) == (1e-6, "shuffle", "replace")
            assert f"local epsilon = {local_epsilon:g}" in guarantee.caveats[0]


def test_published_figures_of_an_assigned_pair():
    assigned = plan(10, 5000, local_epsilon=1.0, delta=1e-5, pairs="assigned").guarantee
    assert assigned.epsilon == pytest.approx(0.419, abs=5e-4)  # groups of 111 at least
    assert "at least 111 messages" in assigned.how
    hidden = plan(10, 5000, local_epsilon=1.0, delta=1e-5).guarantee
    assert hidden.epsilon == pytest.approx(0.052, abs=5e-4)


@pytest.mark.parametrize("pairs", ["hidden", "assigned"])
@pytest.mark.parametrize("n_queries", [1, 3])
@pytest.mark.parametrize("target", [0.2, 1.0, 3.0])
def test_target_and_local_epsilon_are_inverse(pairs, n_queries, target):
    """And the flips of devices are those that were priced."""
    by_target = plan(5, 2000, epsilon=target, n_queries=n_queries, pairs=pairs)
    session = by_target.open(Profile.from_rankings([[0, 1, 2, 3, 4]] * 2000))(Bits.from_random_state(0))
    local_epsilon = session.published["local_epsilon"]
    assert local_epsilon >= target == by_target.guarantee.epsilon
    there = plan(5, 2000, local_epsilon=local_epsilon, n_queries=n_queries, pairs=pairs)
    assert there.guarantee.epsilon <= target * (1 + 1e-9)  # both are rounded to the safe side
    assert there.guarantee.epsilon == pytest.approx(target, rel=1e-5)
    crowd = 2000 if pairs == "hidden" else 2000 * n_queries // 10
    assert composed_shuffle_epsilon(local_epsilon / n_queries, crowd, 1e-6, n_queries) <= target * (1 + 1e-9)
    assert n_queries * flip_epsilon(flip_of(by_target)) == pytest.approx(local_epsilon, rel=1e-9)


@pytest.mark.parametrize(("n", "n_queries"), [(1, 1), (44, 1), (89, 1), (40, 2)])
def test_without_other_voters_the_local_epsilon_is_stated(n, n_queries):
    """Fewer than two voters a pair: the local epsilon is all there is, and it is pure."""
    for stated in ({"local_epsilon": 1.5}, {"epsilon": 1.5}):
        found = plan(10, n, pairs="assigned", n_queries=n_queries, **stated)
        assert (found.guarantee.epsilon, found.guarantee.delta) == (1.5, 0.0)
        assert flip_of(found) == pytest.approx(flip_probability(1.5 / n_queries), rel=1e-14)
    assert plan(10, 1, local_epsilon=1.5).guarantee.delta == 0.0


@pytest.mark.parametrize("pairs", ["hidden", "assigned"])
def test_min_reports_decides_the_price_and_not_the_number_of_voters(pairs):
    few = plan(4, None, local_epsilon=1.0, pairs=pairs, min_reports=600)
    many = plan(4, 6000, local_epsilon=1.0, pairs=pairs, min_reports=600)
    assert few.guarantee == many.guarantee and few.protocol == many.protocol
    assert few.protocol == json.loads(json.dumps(few.protocol))


@pytest.mark.parametrize("asked", [{"local_epsilon": 0.002}, {"local_epsilon": 0.005, "randomizer": PRINTED}], ids=str)
def test_where_delta_covers_the_answers_the_least_epsilon_is_stated(asked):
    found = plan(3, 9000, delta=1e-3, **asked).guarantee
    assert found.epsilon == 1e-9 and found.delta == 1e-3
    each = float(found.caveats[0].rpartition("= ")[2])
    assert shuffle_amplification(each, 9000, 1e-3) == 0.0


# --- the design


@settings(max_examples=80)
@given(n=st.integers(1, 80), m=st.integers(2, 7), data=st.data())
def test_the_design_is_balanced(n, m, data):
    pairs = math.comb(m, 2)
    k = data.draw(st.integers(1, pairs))
    seed = data.draw(st.integers(0, 2**32))
    design = balanced_design(n, m, k, SeededBits(np.random.SeedSequence(seed)))
    assert design.shape == (n, k, 2)
    asked = [[tuple(pair) for pair in row] for row in design.tolist()]
    assert all(len(set(row)) == k for row in asked)
    counts = Counter(pair for row in asked for pair in row)
    assert all(0 <= i < j < m for i, j in counts)
    sizes = [counts[i, j] for i in range(m) for j in range(i + 1, m)]
    assert min(sizes) == n * k // pairs and max(sizes) - min(sizes) <= 1


def test_the_design_is_random():
    first, whole = Counter(), Counter()
    for seed in range(900):
        design = balanced_design(3, 3, 1, SeededBits(np.random.SeedSequence(seed)))[:, 0].tolist()
        first[tuple(design[0])] += 1
        whole[str(design)] += 1
    assert len(whole) == 6
    assert chisquare(list(first.values())).pvalue > 1e-3 and chisquare(list(whole.values())).pvalue > 1e-3


# --- the curator


NAME = digest(plan(3, None, min_reports=3).protocol)
GOOD = {"protocol": NAME, "shuffle": 0, "pair": [0, 1], "answer": 1}
# One message for each reason; tests/collection/test_reports.py makes many.
BAD = [
    ("{", "not JSON"),
    (None, "not a JSON object"),
    ({**GOOD, "protocol": digest(plan(3, None, min_reports=4).protocol)}, "another protocol"),
    ({**GOOD, "voter": "secret-7"}, "wrong keys"),
    ({**GOOD, "shuffle": 1}, "shuffle out of range"),
    ({**GOOD, "pair": [2, 1]}, "pair out of range"),
    ({**GOOD, "answer": -1}, "answer out of range"),
]


@pytest.mark.parametrize(("message", "reason"), BAD, ids=[f"{k}: {reason}" for k, (_, reason) in enumerate(BAD)])
def test_each_bad_message_is_refused_for_a_reason(message, reason):
    """The reason is one of a fixed list, so it does not quote the message."""
    messages = [GOOD, message, json.dumps({**GOOD, "answer": 0}), json.dumps(GOOD).encode()]
    session = opened(plan(3, None, min_reports=3), messages)
    assert session.answer(PairTallies())[0].wins.tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 0]]
    assert session.published["reports_refused"] == {reason: 1} and session.published["reports_accepted"] == 3


def grouped(found, voter, **changes):
    """A voter's submission under a plan with two hidden or assigned pairs."""
    hidden = found.protocol["pairs"] == "hidden"
    said = [{"shuffle": k * hidden, "pair": pair, "answer": 1} for k, pair in enumerate([[0, 1], [0, 2]])]
    return {"protocol": digest(found.protocol), "report": f"{voter:032x}", "messages": said, **changes}


@pytest.mark.parametrize("pairs", ["hidden", "assigned"])
def test_one_submission_is_one_voter(pairs):
    """A failure: one voter with a thousand messages counts as hundreds of voters, who would hide each other."""
    found = plan(3, None, min_reports=3, n_queries=2, pairs=pairs)
    one = grouped(found, 0)
    for many in (
        [{**one, "messages": one["messages"] * 510}],
        [one] * 510,
        [grouped(found, voter, messages=one["messages"][:1] * 2) for voter in range(510)],
        [grouped(found, voter, messages=one["messages"][:1]) for voter in range(510)],
    ):
        with pytest.raises(ValueError, match=r"no report was accepted|only [12] messages"):
            opened(found, many)


@pytest.mark.parametrize("pairs", ["hidden", "assigned"])
def test_submissions_are_refused_by_reason(pairs):
    found = plan(3, None, min_reports=3, n_queries=2, pairs=pairs, local_epsilon=1.0)
    one = grouped(found, 0)
    first, second = one["messages"]
    twice = "shuffle out of range" if pairs == "hidden" else "pair asked twice"
    bad = [
        ({**one, "messages": []}, "wrong number of messages"),
        ({**one, "messages": [first]}, "wrong number of messages"),
        ({**one, "messages": [first, second, second]}, "wrong number of messages"),
        ({**one, "messages": {"0": first, "1": second}}, "wrong number of messages"),
        ({**one, "messages": [first, first]}, twice),
        ({**one, "messages": [first, {**second, "shuffle": 2}]}, "shuffle out of range"),
        ({**one, "messages": [first, {**second, "shuffle": 1 - second["shuffle"]}]}, "shuffle out of range"),
        ({**one, "messages": [first, 5]}, "not a JSON object"),
        ({**one, "messages": [first, {**second, "protocol": one["protocol"]}]}, "wrong keys"),
        ({**one, "messages": [first, {**second, "pair": [2, 1]}]}, "pair out of range"),
        ({**one, "messages": [first, {**second, "answer": 2}]}, "answer out of range"),
        ({**one, "report": "0"}, "no report number"),
        ({**one, "voter": "secret-7"}, "wrong keys"),
        (one, "received before"),
        (json.dumps(grouped(found, 2)), "received before"),
    ]
    sent = [*(grouped(found, voter) for voter in range(3)), *(each for each, _ in bad), grouped(found, 3)]
    if pairs == "assigned":
        sent += [grouped(found, 4 + k, messages=[{**first, "pair": [1, 2]}, first]) for k in range(2)]
    session = opened(found, sent)
    assert session.published["reports_refused"] == Counter(reason for _, reason in bad)
    assert session.published["reports_accepted"] == (
        4 if pairs == "hidden" else 6
    )  # voters, who send two messages each


def test_messages_and_submissions_in_one_stream():
    found = plan(3, None, min_reports=3, n_queries=2)
    sent = [grouped(found, voter) for voter in range(4)]
    mixed = [*sent[:2], *apart(sent[2]), *map(json.dumps, sent[3:]), *apart(sent[0])]
    session = opened(found, mixed)
    assert session.published["reports_accepted"] == 5 and session.published["reports_refused"] == {}
    assert session.answer(PairTallies())[0].wins.tolist() == [[0, 5, 5], [0, 0, 0], [0, 0, 0]]


def test_the_protocol_states_both_guarantees():
    found = plan(3, None, min_reports=900, n_queries=2)
    assert float(found.protocol["epsilon"]) == pytest.approx(2 * flip_epsilon(flip_of(found)), rel=1e-9)
    claimed = float(found.protocol["central_epsilon"]), float(found.protocol["central_delta"])
    assert claimed == (found.guarantee.epsilon, found.guarantee.delta) == (1.0, 1e-6)


def test_a_plan_below_min_reports_releases_no_result():
    found = plan(3, None, min_reports=3)
    with pytest.raises(ValueError, match=r"only 2 messages in a shuffle, where 3 are needed.*no result is released"):
        opened(found, [GOOD, GOOD])
    with pytest.raises(ValueError, match="only 2 messages"):  # because refused messages do not hide voters
        opened(found, [GOOD, GOOD, *(bad for bad, _ in BAD)])
    with pytest.raises(ValueError, match=r"no report was accepted \(none arrived\)"):
        opened(found, [])
    opened(found, [GOOD] * 3)
    opened(found, [GOOD] * 30)


def test_every_one_of_several_shuffles_needs_its_messages():
    found = plan(3, None, min_reports=3, n_queries=2)
    mine = {**GOOD, "protocol": digest(found.protocol)}
    messages = [{**mine, "shuffle": k} for k in (0, 0, 0, 0, 1, 1)]
    with pytest.raises(ValueError, match="only 2 messages in a shuffle, where 3"):
        found.open(iter(messages))(Bits.from_random_state(0))
    opened(found, [*messages, {**mine, "shuffle": 1}])


def test_every_assigned_pair_needs_its_messages():
    found = plan(3, None, min_reports=6, pairs="assigned", local_epsilon=1.0)
    mine = {**GOOD, "protocol": digest(found.protocol)}
    per_pair = [{**mine, "pair": pair} for pair in ([0, 1], [0, 2], [1, 2])]
    with pytest.raises(ValueError, match="only 1 messages about a pair, where 2"):
        opened(found, [*per_pair, *per_pair[:2], mine, mine])
    with pytest.raises(ValueError, match="only 5 messages in a shuffle, where 6"):
        opened(found, [*per_pair, *per_pair[:2]])
    opened(found, per_pair * 2)
    sparse = plan(10, None, min_reports=5, pairs="assigned")  # too few voters to hide anybody
    with pytest.raises(ValueError, match="only 4 messages in a shuffle, where 5"):
        opened(sparse, [{**GOOD, "protocol": digest(sparse.protocol)}] * 4)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["hidden", "assigned"])
@pytest.mark.parametrize("n_queries", [1, 2])
def test_fit_and_field_have_one_law(pairs, n_queries):
    rng, size = np.random.default_rng(0), 1800
    X = rng.permuted(np.tile(np.arange(4.0), (size, 1)), axis=1)
    X[: size // 2] = [0, 1, 2, 3]
    X[::5, 2] = NAN
    X[1::5, 3] = X[1::5, 0]
    found = plan(4, size, pairs=pairs, n_queries=n_queries, local_epsilon=2.0)
    seen = []
    for voters in (Profile.from_rankings(X), iter(messages_of(found.protocol, X, seed=9))):
        session = found.open(voters)(Bits.from_random_state(1))
        (tally,) = session.answer(PairTallies())
        assert tally.flip == pytest.approx(flip_probability(2.0 / n_queries), rel=1e-14)
        assert tally.wins.sum() == size * n_queries
        margins = session.published.pop("margins")
        np.testing.assert_array_equal(margins, session.answer(AllMargins()))
        assert session.published.pop("noise").law.gain == 1 - 2 * tally.flip
        assert session.published == {"reports_accepted": size, "reports_refused": {}, "local_epsilon": 2.0}
        seen.append(np.repeat(np.arange(16), tally.wins.ravel()).tolist())
    assert same_law(*seen) > 1e-3


class Dear(RandomizedResponse):
    """A user's randomizer whose flips cost 8.3 at any epsilon."""

    def flip(self, budget, n_answers):
        return 2**40


@pytest.mark.parametrize("pairs", ["hidden", "assigned"])
@pytest.mark.parametrize("asked", [{"local_epsilon": 1.0}, {"epsilon": 1.0}])
def test_a_custom_randomizer_is_priced_by_its_flips(asked, pairs):
    spent = math.log((2**52 - 2**40) / 2**40)
    for n_voters in (5000, 3):  # few voters do not hide each other
        found = plan(5, n_voters, pairs=pairs, randomizer=Dear(), **asked)
        (caveat,) = found.guarantee.caveats
        assert float(caveat.rpartition(" ")[2]) == pytest.approx(spent, rel=1e-5)
        crowd = n_voters if pairs == "hidden" else n_voters // 10
        least = composed_shuffle_epsilon(spent, crowd, 1e-6, 1) if crowd >= 2 else spent
        assert found.guarantee.epsilon == pytest.approx(least, rel=1e-9)
        assert found.guarantee.epsilon > plan(5, n_voters, pairs=pairs, **asked).guarantee.epsilon


def test_a_plan_refuses_fewer_voters_than_it_was_made_for():
    few = Profile.from_rankings([[0, 1, 2]] * 20)
    with pytest.raises(ValueError, match="the plan is for 21 voters or more, got 20"):
        plan(3, 21).open(few)
    plan(3, 20).open(few)(Bits.from_random_state(0))
    estimator = ShufflePairwise(local_epsilon=2.0)
    rule, far = estimator.plan_for(Shape(3, 10**6))
    with pytest.raises(ValueError, match="the plan is for 1000000 voters or more"):
        next(refits(estimator, few, rule, far, [None]))


# Estimators


ESTIMATORS = [
    ShufflePairwise(rule="borda"),
    ShufflePairwise(n_queries=2, rule="kwiksort"),
    ShufflePairwise(pairs="assigned", rule="borda"),
    ShuffleHierarchical(n_queries=2),
]
PRINTED_NOISE = {"randomizer": song.PrintedGaussian(1e-4)}
PUBLISHED = ShuffleHierarchical(delta=0.5, n_queries=2, **PRINTED_NOISE)


# --- the release rule


@pytest.mark.parametrize("estimator", [*ESTIMATORS, PUBLISHED], ids=str)
def test_a_fit_below_min_reports_releases_no_result(estimator):
    estimator = clone(estimator).set_params(min_reports=12, local_epsilon=1.0, random_state=0)
    with pytest.raises(ValueError, match="min_reports=12 is above the 11 voters; no result is released"):
        estimator.fit([[0, 1, 2]] * 11)
    lines = messages_of(estimator.protocol(3), [[0, 1, 2]] * 12, seed=0)
    with pytest.raises(ValueError, match="no result is released") as error:
        estimator.fit_reports(lines[1:], items=3)
    assert "[" not in str(error.value)  # no message is quoted
    with pytest.raises(ValueError, match="no result is released"):
        estimator.fit_reports([*lines[1:], "junk", {**GOOD, "pair": [0, 3]}], items=3)
    assert not hasattr(estimator, "consensus_")
    assert sorted(estimator.fit_reports(lines, items=3).consensus_.tolist()) == [0, 1, 2]
    estimator.fit([[0, 1, 2]] * 12)


def test_the_field_needs_min_reports_from_the_start():
    for call in (lambda e: e.client(3), lambda e: e.protocol(3), lambda e: e.fit_reports([GOOD], items=3)):
        with pytest.raises(ValueError, match="min_reports must be given"):
            call(ShufflePairwise())


# --- the noise that Song et al. print


def printed(local_epsilon, n_queries=1, delta=1e-4):
    return ShuffleHierarchical(
        delta=delta, n_queries=n_queries, local_epsilon=local_epsilon, random_state=0, **PRINTED_NOISE
    )


@pytest.mark.parametrize(("local_epsilon", "n_queries", "each"), [(1.0, 1, 0.1838), (0.5, 1, 0.0919), (1.0, 4, 0.0459)])
def test_algorithm_1_spends_what_its_flips_tell(local_epsilon, n_queries, each):
    """The formulas of this price are in test_local.py."""
    estimator = printed(local_epsilon, n_queries).fit([[0, 1, 2, 3]] * 600)
    assert estimator.local_epsilon_ / n_queries == pytest.approx(each, abs=6e-5)
    assert estimator.privacy_.delta == 1e-4 and "thresholded Gaussian noise" in estimator.privacy_.how


@pytest.mark.parametrize(("n", "m", "exact", "stated"), [(795, 4, 0.247, 0.278), (5000, 15, 0.338, 0.362)])
def test_theorem_2_is_false_for_its_own_noise_and_the_guarantee_states_the_true_epsilon(n, m, exact, stated):
    """Epsilon .1 is claimed of the shuffled answers; the exact curve gives more, and the stated bound is above it."""
    crowd = n // (m * (m - 1) // 2)
    with pytest.warns(UnsoundAmplificationWarning, match="false"):
        local = shuffle_local_epsilon(0.1, crowd, 1e-4, method="song2022")
    estimator = printed(local).fit(np.tile(np.arange(m), (n, 1)))
    true = shuffle_amplification(estimator.local_epsilon_, crowd, 1e-4, method="exact")
    assert true == pytest.approx(exact, abs=6e-4) and estimator.privacy_.epsilon == pytest.approx(stated, abs=6e-4)
    assert 0.1 < true <= estimator.privacy_.epsilon


def test_few_voters_are_all_asked():
    """One and a half voters a pair: the spare ones are asked too, and where pairs are unasked they are ties."""
    found = ShufflePairwise(pairs="assigned", local_epsilon=40.0, random_state=0)
    order = np.random.default_rng(0).permutation(10)
    many, few = (found.fit(np.tile(order, (n, 1))).ranks_ for n in (67, 30))
    agreed = [np.corrcoef(ranks, order)[0, 1] for ranks in (many, few)]
    assert agreed[0] == pytest.approx(1) and agreed[1] > 0.7
    assert found.privacy_.epsilon == 40.0 and found.privacy_.delta == 0.0


# --- shown pairs


def compared(counts):
    """One comparison of each person: `counts` holds how many compared a pair, and how many of them chose the first."""
    return compared_by([[[i, j, k < won]] for (i, j), (n, won) in counts.items() for k in range(n)])


def test_shown_pairs_are_priced_by_the_least_number_of_reports_about_one():
    profile = compared({(0, 1): (400, 300), (1, 2): (200, 150), (0, 2): (199, 199)})
    estimator = ShufflePairwise(local_epsilon=1.0, pairs="shown", min_reports=200, random_state=0)
    fitted = estimator.fit(profile)
    assert fitted.privacy_.epsilon == shuffle_amplification(1.0, 200, 1e-6)
    assert fitted.privacy_.unit == "the outcomes of all comparisons of one person"
    assert "1 shown pair(s), each among at least 200 messages" in fitted.privacy_.how
    assert fitted.privacy_.parties[1] == "200 of the voters who report on a pair in each batch"
    assert fitted.reports_accepted_ == 600 and fitted.margins_[0, 2] == 0  # one report too few
    asked = fitted.noise_.law.asked
    assert (asked[0, 1], asked[1, 2], asked[0, 2]) == (400, 200, 0)
    with pytest.raises(ValueError, match="no pair has the 401 messages that hide each voter"):
        clone(estimator).set_params(min_reports=401).fit(profile)


def test_margins_of_shown_pairs_are_unbiased():
    profile = compared({(0, 1): (400, 300), (1, 2): (200, 150)})
    fits = [ShufflePairwise(2.0, pairs="shown", min_reports=200, random_state=seed).fit(profile) for seed in range(100)]
    std = fits[0].noise_.law.std[[0, 1], [1, 2]] / 10
    error = (np.mean([fit.margins_[[0, 1], [1, 2]] for fit in fits], axis=0) - 0.5) / std
    assert np.abs(error).max() < 4


def test_messages_about_shown_pairs_are_counted_and_too_few_are_left_out():
    estimator = ShufflePairwise(local_epsilon=1.0, pairs="shown", min_reports=3, random_state=0)
    device = [[[0, 1, 1]]] * 4 + [[[2, 1, None]]] * 2
    submissions = [estimator.client(3).report(own) for own in device]
    bad = {**submissions[0], "messages": submissions[0]["messages"] * 2}
    for sent in (submissions, [message for one in submissions for message in apart(one)]):
        fitted = estimator.fit_reports([*sent, bad], items=3)
        assert fitted.reports_accepted_ == 4 and fitted.noise_.law.asked[1, 2] == 0
        assert sum(fitted.reports_refused_.values()) == 1
    with pytest.raises(ValueError, match="only 2 messages in a shuffle, where 3 are needed"):
        estimator.fit_reports(submissions[:2], items=3)


@pytest.mark.parametrize(
    "options", [{"min_reports": None}, {"min_reports": 9, "n_queries": 2}, {"min_reports": None, "n_queries": 2}]
)
def test_shown_pairs_need_one_message_and_a_public_number_of_reports(options):
    estimator = ShufflePairwise(pairs="shown", **options)
    profile = compared({(0, 1): (40, 30)})
    for call in (lambda: estimator.fit(profile), lambda: estimator.protocol(3)):
        with pytest.raises(ValueError, match="pairs='shown' needs n_queries=1 and min_reports, got n"):
            call()
    with pytest.raises(ValueError, match=r"one a row: read them by Profile\.from_comparisons"):
        ShufflePairwise(pairs="shown", min_reports=9).fit([[0, 1, 2]] * 9)
    with pytest.raises(ValueError, match="If it is public who compared which items, set pairs='shown'"):
        ShufflePairwise().fit(profile)
