"""Every parameter of every class that a user makes, at every kind of wrong value: it works, or one clear error."""

import inspect
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sklearn_dprank
from sklearn_dprank import Aggregator, LDPPairwise, SecAggBorda, ShufflePairwise, channels, privacy, queries, rules
from sklearn_dprank._utils.checks import safe_repr
from sklearn_dprank.aggregators.base import RankAggregator
from sklearn_dprank.ballots.profile import Profile
from sklearn_dprank.collection import curator as randomizers
from sklearn_dprank.collection.client import Allowance, Device, RefusedProtocol
from sklearn_dprank.collection.server import AggregationServer, ServerFileError, Shuffler
from sklearn_dprank.mechanisms import Exponential
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


def parameters(cls):
    return list(inspect.signature(cls).parameters)


def clear(error, value, names):
    """Check that an error is one sentence or a few, and names a parameter, and what is wrong if that is short."""
    said = str(error)
    assert type(error) is ValueError or isinstance(error, (BudgetExhausted, RefusedProtocol, ServerFileError))
    assert any(name in said for name in names) and 10 < len(said) < 700, (said, names, safe_repr(value))
    assert "000000000000" not in said and "aaaaaaaaaaaa" not in said


# --- estimators


ESTIMATORS = [
    cls
    for cls in (getattr(sklearn_dprank, name) for name in sklearn_dprank.__all__)
    if isinstance(cls, type) and issubclass(cls, RankAggregator) and parameters(cls)
]


def check_estimator(cls, values):
    """A value is refused before anything is charged, or the fit is done; with a budget and without."""
    verdicts = []
    for name in parameters(cls):
        for value in values:
            verdicts.append(fitted(cls, name, value))
            if "epsilon" in parameters(cls):
                verdicts.append(charged(cls, name, value))
    return verdicts


def fitted(cls, name, value):
    try:
        made = cls().set_params(**{name: value}).fit(BALLOTS)
    except ValueError as error:
        clear(error, value, [name, "answer(s)"])
        return False
    assert sorted(made.ranks_.tolist())[0] == 0 and len(made.ranks_) == 3
    return True


def charged(cls, name, value):
    budget = PrivacyBudget(1e100, 0.5, neighboring="replace", simulation=True)
    try:
        budget.fit(cls().set_params(**{name: value}), BALLOTS)
    except (ValueError, BudgetExhausted) as error:
        clear(error, value, [name, "answer(s)", "does not fit"])
        assert budget.releases_ == (), str(error)
        return False
    assert len(budget.releases_) == 1
    return True


@pytest.mark.filterwarnings("ignore::UserWarning")  # of small budgets
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_estimators_at_a_few_values(cls):
    assert not all(check_estimator(cls, FEW))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_estimators_at_every_value(cls):
    assert len(set(check_estimator(cls, VALUES))) == 2


# --- the parts that a user makes


class Asking(Rule):
    """Asks one thing, and puts the items in the order of the columns."""

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
    for noise in ("laplace", "exponential") if query.answered_with == "vector" else ("exponential",):
        try:
            fit(channels.Central(noise=noise), Asking(query))
        except ValueError as error:
            if "draws orders only" not in str(error) and "gaussian" not in str(error):
                raise


def counted(budget):
    budget.charge(PrivacyGuarantee(1e-9, 0.0, "central", budget._kept.terms.neighboring, "x"), "x")
    return repr(budget), budget.remaining


SHARES = SecAggBorda(min_reports=20).protocol(3)
MESSAGES = ShufflePairwise(min_reports=900).protocol(3)
#: How each is made, besides the parameter that is tried, and used.
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
    queries.PositionalScores: ({"scores": (2.0, 1.0, 0.0)}, asked),
    queries.ScoresByHistogram: ({"scores": queries.NetWins()}, asked),
    queries.MaxViolatedMargin: ({}, asked),
    queries.MaxViolatedPrefixMargin: ({}, asked),
    rules.AdaptiveBradleyTerryRule: ({}, lambda part: fit(channels.Interactive(schedule=channels.Rounds()), part)),
    rules.BradleyTerryRule: ({}, lambda part: fit(channels.Exact(), part)),
    rules.Choose: ({}, lambda part: fit(channels.Central(noise="exponential"), part)),
    rules.ChooseNearAnchor: ({"window": 2}, lambda part: fit(channels.Central(), part)),
    rules.ChooseTop: ({}, lambda part: fit(channels.Central(noise="permute_and_flip"), part)),
    rules.KemenyRule: ({}, lambda part: fit(channels.Exact(), part)),
    rules.KwikSortRule: ({}, lambda part: fit(channels.Exact(), part)),
    rules.SortByScore: ({}, lambda part: fit(channels.Exact(), part)),
    rules.SwissRule: ({}, lambda part: fit(channels.Exact(), part)),
    randomizers.HypercubeSampling: ({}, lambda part: fit(channels.Local(randomizer=part))),
    randomizers.RandomizedResponse: ({}, lambda part: fit(channels.Local(randomizer=part))),
    Exponential: ({}, lambda part: fit(channels.Central(noise=part), rules.Choose(queries.KemenyUtility()))),
    PrivacyBudget: ({"epsilon": 1.0, "delta": 1e-6}, counted),
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
# Made by fits, plans and readers, or with nothing to set; of the plots and sweeps each has its own tests.
MADE = {
    *("Aggregator", "Ask", "Channel", "Consensus", "Plan", "Publication", "Randomizer", "Rule", "Sensitivity"),
    *("RefusedReport", "Session", "Tallies", "Query", "Ledger", "BudgetExhausted", "UnsoundAmplificationWarning"),
    *("OrderUtility", "RefusedProtocol", "ReportRandomizer", "ServerFileError"),
}


def test_no_class_with_parameters_is_forgotten():
    for module in (
        channels,
        queries,
        rules,
        randomizers,
        privacy,
        sklearn_dprank.collection.client,
        sklearn_dprank.collection.server,
    ):
        found = [getattr(module, name) for name in module.__all__]
        found = {cls for cls in found if inspect.isclass(cls) and cls.__name__ not in MADE and parameters(cls)}
        assert found <= set(PARTS), found - set(PARTS)


@pytest.mark.parametrize("cls", PARTS, ids=lambda cls: cls.__name__)
def test_parts_at_every_value(cls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stated, use = PARTS[cls]
    use(cls(**stated))
    refused = 0
    for name in parameters(cls):
        for value in VALUES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of small budgets and no voters
                try:
                    use(cls(**{**stated, name: value}))
                except (ValueError, BudgetExhausted) as error:
                    clear(error, value, [name, "answer(s)", "protocol", "does not fit", "anchor"])
                    refused += 1
    assert refused >= 10


@pytest.mark.parametrize(
    "asked", [((0, 1, 2, 3),), ((0, 1), (2, 2)), ((0, -1),), ((0, 1.0),), ((0, True), (1, "2")), ([0], [1])]
)
def test_tallies_are_of_as_many_pairs_as_are_paid_for(asked):
    """Read four by four, a row would be two pairs at the price of one."""
    with pytest.raises(ValueError, match="pairs must be None or pairs of different items"):
        queries.PairTallies(asked)
