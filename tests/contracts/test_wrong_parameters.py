"""A wrong value of any public parameter is refused by one clear error, before a budget is charged, or it works."""

import inspect
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from every_estimator import CLASSES, parameters

from sklearn_dprank import (
    Aggregator,
    LDPPairwise,
    SecAggBorda,
    ShufflePairwise,
    channels,
    collection as client,
    collection as randomizers,
    collection as server,
    privacy,
    queries,
    rules,
)
from sklearn_dprank._utils.checks import safe_repr
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.collection import AggregationServer, Allowance, Device, RefusedProtocol, ServerFileError, Shuffler
from sklearn_dprank.preprocessing import RatingsToRankings
from sklearn_dprank.privacy import BudgetExhausted, PrivacyBudget, PrivacyGuarantee
from sklearn_dprank.queries import Ask
from sklearn_dprank.rules import Consensus, Rule

VALUES = [
    *(None, True, False, 0, -1, 1, 2, 3, 10**9, 2**63, 10**400, -(10**400), 0.5, -0.5, math.nan, math.inf, -math.inf),
    *(5e-324, 1e-12, 1e308, "x", "", "laplace", "1", "\ud800", "a" * 1000, b"x", 1j, Decimal(1), Decimal("NaN")),
    *(Fraction(1, 3), np.float32("nan"), np.float32(0.5), np.float64(1e308), np.int64(-1), np.int64(2), np.bool_(True)),
    *(np.datetime64("2026-01-01"), np.array(1.0), np.array([1, 2]), [], [1, 2], [[0, 1]], (), (0, 1, 2, 3), {}, {1}),
    *(((0, 1, 2, 3),), ((0, 0),), ((0, 1), (0,)), range(3), dict, object()),
]
FEW = [10**400, math.nan, np.float32("nan"), "a" * 1000, Decimal("NaN"), ((0, 1, 2, 3),), np.array([1, 2])]
BALLOTS = Profile.from_rankings([[0, 1, 2], [1, 0, 2], [2, 1, 0]] * 40)


def check_clear(error, value, words):
    """Check that an error is short, contains one of the words, and does not show a long value."""
    text = str(error)
    assert type(error) is ValueError or isinstance(error, (BudgetExhausted, RefusedProtocol, ServerFileError))
    assert any(word in text for word in words) and 10 < len(text) < 700, (text, words, safe_repr(value))
    assert "000000000000" not in text and "aaaaaaaaaaaa" not in text


# Estimators

every_class_with_parameters = pytest.mark.parametrize(
    "cls", [cls for cls in CLASSES if parameters(cls)], ids=lambda cls: cls.__name__
)


def outcomes(cls, values):
    """Return whether each fit with one changed parameter succeeded, without a budget and with one."""
    found = []
    for name in parameters(cls):
        for value in values:
            found.append(fits(cls().set_params(**{name: value}), name, value))
            if "epsilon" in parameters(cls):
                found.append(fits_in_a_budget(cls().set_params(**{name: value}), name, value))
    return found


def fits(estimator, name, value):
    """Return whether a fit succeeds; check the consensus or the error."""
    try:
        estimator.fit(BALLOTS)
    except ValueError as error:
        check_clear(error, value, [name, "answer(s)"])
        return False
    assert min(estimator.ranks_) == 0 and len(estimator.ranks_) == 3
    return True


def fits_in_a_budget(estimator, name, value):
    """Return whether a budget allows a fit; check that it charges exactly the fits that succeed."""
    budget = PrivacyBudget(1e100, 0.5, neighboring="replace", simulation=True)
    try:
        budget.fit(estimator, BALLOTS)
    except (ValueError, BudgetExhausted) as error:
        check_clear(error, value, [name, "answer(s)", "does not fit"])
        assert budget.releases_ == (), str(error)
        return False
    assert len(budget.releases_) == 1
    return True


@pytest.mark.filterwarnings("ignore::UserWarning")  # of small budgets
@every_class_with_parameters
def test_estimators_at_a_few_values(cls):
    assert not all(outcomes(cls, FEW))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@every_class_with_parameters
def test_estimators_at_every_value(cls):
    assert set(outcomes(cls, VALUES)) == {True, False}


# Channels, queries, rules, randomizers, budgets, clients and servers


class Asking(Rule):
    """Rule that asks one query and returns the items in the order of the columns."""

    def __init__(self, query=None):
        self.query = query

    def asks(self, n_items):
        return [Ask(self.query)]

    def aggregate(self, session):
        session.answer(self.query)
        return Consensus(np.arange(session.n_items))


def fit(channel, rule=None):
    return Aggregator(channel, rule).fit(BALLOTS)


def asked(query):
    """Ask a query of the mechanisms that may answer it."""
    for noise in ("laplace", "exponential") if query.answered_with == "vector" else ("exponential",):
        try:
            fit(channels.Central(noise=noise), Asking(query))
        except ValueError as error:
            if "draws orders only" not in str(error) and "gaussian" not in str(error):
                raise


def charged(budget):
    """Charge a small release to a budget."""
    budget.charge(PrivacyGuarantee(1e-9, 0.0, "central", budget._kept.terms.neighboring, "x"), "x")
    return repr(budget), budget.remaining


SHARES = SecAggBorda(min_reports=20).protocol(3)
MESSAGES = ShufflePairwise(min_reports=900).protocol(3)
# Class -> its required parameters, and a call that uses an object of the class.
PARTS = {
    channels.Central: ({}, lambda part: fit(part, "borda")),
    channels.Local: ({}, fit),
    channels.SecureAggregation: ({}, lambda part: fit(part, "borda")),
    channels.Shuffle: ({}, fit),
    channels.Streaming: ({}, lambda part: fit(part, "borda")),
    channels.Interactive: ({}, lambda part: fit(part, "kwiksort")),
    channels.Slots: ({}, lambda part: fit(channels.Interactive(schedule=part), "kwiksort")),
    channels.NonPrivateSurvey: ({}, lambda part: fit(part, "bradley_terry")),
    queries.GroupNetWins: ({}, asked),
    queries.Histogram: ({}, asked),
    queries.PairMargin: ({}, asked),
    queries.PairTallies: ({}, asked),
    queries.NetWinsAndExposures: ({}, asked),
    queries.BradleyTerryResiduals: ({}, asked),
    queries.ScaledMargins: ({}, asked),
    queries.PositionalScores: ({"scores": (2.0, 1.0, 0.0)}, asked),
    queries.ScoresByHistogram: ({"scores": queries.NetWins()}, asked),
    queries.MaxViolatedMargin: ({}, asked),
    queries.TopListScores: ({}, asked),
    queries.MaxViolatedPrefixMargin: ({}, asked),
    rules.AdaptiveBradleyTerryRule: ({}, lambda part: fit(channels.Interactive(schedule=channels.Rounds()), part)),
    rules.BradleyTerryRule: ({}, lambda part: fit(channels.Exact(), part)),
    rules.Choose: ({}, lambda part: fit(channels.Central(noise="exponential"), part)),
    rules.ChooseNearAnchor: ({"window": 2}, lambda part: fit(channels.Central(), part)),
    rules.ChooseTop: ({}, lambda part: fit(channels.Central(noise="permute_and_flip"), part)),
    rules.KemenyRule: ({}, lambda part: fit(channels.Exact(), part)),
    rules.KwikSortRule: ({}, lambda part: fit(channels.Exact(), part)),
    rules.NewtonBradleyTerryRule: ({}, lambda part: fit(channels.Exact(), part)),
    rules.SortByScore: ({}, lambda part: fit(channels.Exact(), part)),
    rules.TopListRule: ({}, lambda part: fit(channels.Exact(), part)),
    rules.SwissRule: ({}, lambda part: fit(channels.Exact(), part)),
    randomizers.PrivUnitG: ({}, lambda part: fit(channels.Local(randomizer=part), "borda")),
    randomizers.HypercubeSampling: ({}, lambda part: fit(channels.Local(randomizer=part))),
    randomizers.RandomizedResponse: ({}, lambda part: fit(channels.Local(randomizer=part))),
    PrivacyBudget: ({"epsilon": 1.0, "delta": 1e-6}, charged),
    PrivacyGuarantee: (
        {"epsilon": 1.0, "delta": 0.0, "trust": "central", "neighboring": "replace", "how": "x"},
        lambda part: (part.statement(), str(part), repr(part), PrivacyGuarantee.compose([part] * 2)),
    ),
    Device: ({"protocol": LDPPairwise().protocol(3)}, lambda part: part.report([0, 1, 2])),
    Allowance: ({"epsilon": 2.0}, lambda part: (Device(LDPPairwise().protocol(3), allowance=part), part.to_json())),
    AggregationServer: ({"protocol": SHARES, "number": 0}, lambda part: (part.reports(), part.close())),
    Shuffler: ({"protocol": MESSAGES}, lambda part: (part.waiting, part.close())),
    RatingsToRankings: ({}, lambda part: part.fit_transform([[1.0, 2.0]])),
}
# Abstract classes, and classes that users do not make or that have no parameters.
NOT_TRIED = {
    *("Aggregator", "Ask", "Channel", "Consensus", "Plan", "Randomizer", "Rule", "Sensitivity"),
    *("RefusedReport", "Answers", "Tallies", "Query", "BudgetExhausted", "UnsoundAmplificationWarning"),
    *("OrderUtility", "RefusedProtocol", "ReportRandomizer", "ServerFileError", "ReportCounts"),
}


def test_no_class_with_parameters_is_forgotten():
    for module in (channels, queries, rules, randomizers, privacy, client, server):
        found = [getattr(module, name) for name in module.__all__]
        found = {cls for cls in found if inspect.isclass(cls) and cls.__name__ not in NOT_TRIED and parameters(cls)}
        assert found <= set(PARTS), found - set(PARTS)


@pytest.mark.parametrize("cls", PARTS, ids=lambda cls: cls.__name__)
def test_parts_at_every_value(cls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    required, use = PARTS[cls]
    use(cls(**required))
    refused = 0
    for name in parameters(cls):
        for value in VALUES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of small budgets and no voters
                try:
                    use(cls(**{**required, name: value}))
                except (ValueError, BudgetExhausted) as error:
                    check_clear(error, value, [name, "answer(s)", "protocol", "does not fit", "anchor"])
                    refused += 1
    assert refused >= 10


@pytest.mark.parametrize(
    "asked", [((0, 1, 2, 3),), ((0, 1), (2, 2)), ((0, -1),), ((0, 1.0),), ((0, True), (1, "2")), ([0], [1])]
)
def test_tallies_are_of_as_many_pairs_as_are_paid_for(asked):
    """A row of four items would be two pairs at the price of one."""
    with pytest.raises(ValueError, match="pairs must be None or pairs of different items"):
        queries.PairTallies(asked)
