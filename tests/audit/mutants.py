"""Change one operator or constant of a privacy module at a time, and check that the tests of that module notice.

    python tests/audit/mutants.py [--number 200] [--seed 0] [part of a module's name ...]

A mutant swaps a comparison, a sign or ``min`` and ``max``, moves a number by one, or drops a ``not`` or a ``raise``. It
runs in a fork against the fast tests that mirror its module: ``tests/privacy/test_budget*.py`` for
``privacy/budget.py``. Exits with 1 if fewer than 85 % of the mutants are caught, not counting those in ``ACCEPTED``.
"""

import argparse
import ast
import os
import random
import subprocess
import sys
from functools import partial
from importlib import import_module
from importlib.machinery import SourceFileLoader

from planted import OPTIONS, ROOT, in_forks

MODULES = (
    "privacy/guarantee",
    "privacy/composition",
    "privacy/rounding",
    "privacy/shuffle",
    "privacy/skellam",
    "privacy/budget",
    "privacy/estimator_guarantees",
    "mechanisms/additive",
    "mechanisms/exponential",
    "queries/base",
    "ballots/weights",
    "channels/plan",
    "channels/central",
    "collection/allowance",
    "collection/device",
    "collection/shares",
)
LEAST = 0.85  # share of mutants that must be caught
LONGEST = 60  # seconds of one mutant; a mutant that takes longer is caught

#: Survivors that no test needs to catch, with the reason.
ACCEPTED: dict[str, str] = {
    "privacy/budget.Account._state: 50 becomes 51 (1)": "half of the slack still covers both roundings",
    "privacy/budget.mu_of_pure: 50 becomes 51 (1)": "half of the slack still covers all three roundings",
    "privacy/budget.mu_of_pure: Lt becomes LtE (1)": "both formulas bound mu where they meet",
    "privacy/budget.Account._state: Mult becomes Div (1)": "without a release, every division of delta spends 0",
    "privacy/budget.Account.spent: 0.0 becomes 1.0 (1)": "the delta of an infinite epsilon is not compared",
    "privacy/shuffle.shuffle_local_epsilon: 2 becomes 3 (1)": "a wider bracket has the same root",
    "mechanisms/additive.KNormNoise.added: Add becomes Sub (1)": "the noise and its opposite have the same law",
    "privacy/composition._log_cosh: Sub becomes Add (2)": "of epsilons above 40 only, whose bound is then larger",
    "privacy/composition._deltas_of_many: 2 becomes 3 (2)": "a longer period only takes more nodes",
    "privacy/composition._log_cosh: 2 becomes 3 (4)": "both terms are below 1e-17 there",
    "privacy/composition.range_deltas: 8 becomes 9 (1)": "a grid that ends earlier is bounded by its last delta",
    "privacy/composition.choice_range: 0.1 becomes 1.1 (1)": "another bracket has the same root",
    "privacy/composition._deltas_of_many: 5 becomes 6 (1)": "the best c of a grid only makes the bound tight",
    "privacy/composition.gaussian_deltas: Lt becomes LtE (1)": "both formulas agree at epsilon 0",
    "privacy/shuffle.shuffle_local_epsilon: Lt becomes LtE (1)": "both sides of the bracket have the same root",
    "privacy/shuffle.shuffle_local_epsilon: 1 becomes 2 (2)": "another bracket has the same root",
    "ballots/weights.clipped: 1.0 becomes 2.0 (1)": "of persons without weight, whose shares stay 0",
    "ballots/weights.weight_bound: Lt becomes LtE (1)": "no double gives this bound",
    "ballots/weights._totals: 1 becomes 2 (2)": "one more person without ballots",
    "ballots/weights.clipped: 1 becomes 2 (2)": "one more person without ballots",
    "queries/base.weighted_sensitivity: Or becomes And (1)": "a query has a gauge under both relations or none",
    "collection/shares.SummedRandomizer.check: LtE becomes Lt (1)": "a sum costs no number of only forty digits",
    "collection/shares.RoundsRandomizer.answer: Lt becomes LtE (1)": "an equal number is refused before",
    "collection/shares.RoundsRandomizer.answer: 0 becomes 1 (2)": "questions have numbers of at least 1",
    "collection/shares.sum_about: 1 becomes 2 (1)": "a protocol without rounds has one sum",
    "collection/shares.split: 1 becomes 2 (6)": "NumPy takes every negative size as an unknown one",
    "collection/shares.split: Add becomes Sub (1)": "the noise and its opposite have the same law",
    "mechanisms/additive.SkellamNoise.added: Add becomes Sub (1)": "the noise and its opposite have the same law",
    "channels/central.Central.plan: Gt becomes GtE (2)": "the scores of a histogram have the law of the whole one",
    "channels/central.Central.plan: 1 becomes 2 (5)": "the guarantee does not depend on the bound that is chosen",
    "channels/plan.Answers.tied_before: Lt becomes LtE (1)": "no item is compared with itself",
    "privacy/budget.Account.with_one_more: LtE becomes Lt (1)": "both rules take an epsilon of 1e150",
    "privacy/budget.Account._state: 2.0 becomes 3.0 (1)": "the slack covers the rounding of mu",
    "privacy/composition.Losses.epsilon: Mult becomes Div (1)": "the slack covers the rounding of mu",
    "privacy/composition.Losses.epsilon: Add becomes Sub (2)": "the slack covers the rounding of mu",
    "privacy/composition.gaussian_sigma: Mult becomes Div (2)": "the slack covers the rounding of the product",
    "privacy/skellam.skellam_unit.enough: LtE becomes Lt (1)": "the limit holds a tolerance of 1e-9",
    "privacy/composition._deltas_of_many: 300 becomes 301 (1)": "the best c of a grid only makes the bound tight",
    "privacy/composition.gaussian_sigma: 50 becomes 51 (1)": "the slack covers the rounding of the product",
    "privacy/composition._deltas_of_many: 10 becomes 11 (1)": "a longer integral only takes more nodes",
    "privacy/composition._deltas_of_many: 60 becomes 61 (1)": "a longer period only takes more nodes",
    "privacy/composition._deltas_of_many: 0.0 becomes 1.0 (2)": "a longer period only takes more nodes",
    "privacy/composition._log_cosh: Gt becomes GtE (1)": "both formulas agree at 20",
    "privacy/composition._log_cosh: 0 becomes 1 (2)": "of numbers whose result is not used",
    "privacy/composition.choice_range: Gt becomes GtE (5)": "a range below the sum of epsilons is not returned",
    "privacy/composition.choice_range: 2 becomes 3 (1)": "another bracket has the same root",
    "privacy/composition.range_deltas: Add becomes Sub (14)": "far from the mean, where the middle counts, low is 0",
    "privacy/composition.range_deltas: Add becomes Sub (15)": "far from the mean, where the middle counts, low is 0",
    "privacy/composition.range_delta: 1 becomes 2 (1)": "beyond the grid, the last delta but one is a bound too",
    "privacy/composition.range_deltas: 1 becomes 2 (9)": "beyond the grid, the last delta but one is a bound too",
    "privacy/composition.range_deltas: 1 becomes 2 (11)": "one more row is not used",
    "privacy/composition.coin_losses: 1 becomes 2 (8)": "a larger margin for rounding",
    "privacy/composition.coin_losses: 1 becomes 2 (7)": "steps of 2 end at the same number",
    "privacy/shuffle._clone_curve: Mult becomes Div (3)": "other blocks give a bound as close",
    "privacy/shuffle._clone_curve: Mult becomes Div (4)": "other blocks give a bound as close",
    "privacy/shuffle._clone_curve: 0 becomes 1 (2)": "0 has a negligible probability, or is the end of a block",
    "privacy/shuffle._boundary: LtE becomes Lt (1)": "the search finds the same root",
    "privacy/shuffle.shuffle_local_epsilon: LtE becomes Lt (1)": "nothing lies between equal limits",
    "privacy/guarantee.PrivacyGuarantee.compose: 1 becomes 2 (4)": "the joint guarantee refuses such a delta",
    "privacy/rounding.smallest: 1.0 becomes 2.0 (1)": "another start finds the same threshold",
    "privacy/rounding.smallest: 2 becomes 3 (1)": "another bracket has the same threshold",
}

#: Tolerances, and sizes from which another method is used: no result depends on equality with one of them.
TOLERANCES = {"_SLACK", "_SUM_SLACK", "_ALIKE", "_EQUAL", "_LEAST_DELTA"}
SIZES = {"_BLOCK", "_BLOCKS", "_MANY", "_VALUES", "LEAST_RATE"}
OPPOSITES = [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)]
COMPARISONS = {one: other for pair in OPPOSITES for one, other in (pair, pair[::-1])}
SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
LOGIC = {ast.And: ast.Or, ast.Or: ast.And}
EXTREMES = {"min": "max", "max": "min"}


def changes(node):
    """Yield (description, function that changes the node in place) of every change to one node."""

    def replaced(name, value):
        return lambda other: setattr(other, name, value)

    if isinstance(node, ast.Compare):
        is_vague = not (TOLERANCES | SIZES).isdisjoint(name.id for name in ast.walk(node) if isinstance(name, ast.Name))
        for k, operator in enumerate(node.ops):
            wrong = COMPARISONS[type(operator)]
            if is_vague and isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                continue
            what = f"{type(operator).__name__} becomes {wrong.__name__}"
            yield what, lambda other, k=k, wrong=wrong: other.ops.__setitem__(k, wrong())
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        wrong = SIGNS[type(node.op)]
        yield f"{type(node.op).__name__} becomes {wrong.__name__}", replaced("op", wrong())
    elif isinstance(node, ast.BoolOp):
        wrong = LOGIC[type(node.op)]
        yield f"{type(node.op).__name__} becomes {wrong.__name__}", replaced("op", wrong())
    elif isinstance(node, ast.Name) and node.id in EXTREMES and isinstance(node.ctx, ast.Load):
        yield f"{node.id} becomes {EXTREMES[node.id]}", replaced("id", EXTREMES[node.id])
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value + 1 != node.value:
        yield f"{node.value} becomes {node.value + 1}", replaced("value", node.value + 1)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "a not is dropped", lambda other: setattr(other, "operand", ast.UnaryOp(ast.Not(), other.operand))
    elif isinstance(node, ast.Raise) and ast.unparse(node) != "raise NotImplementedError":  # of a base class
        yield "a raise is dropped", lambda other: setattr(other, "dropped", True)


class Dropped(ast.NodeTransformer):
    """Replace marked statements by ``pass``."""

    def visit_Raise(self, node):
        return ast.copy_location(ast.Pass(), node) if hasattr(node, "dropped") else node


def places(tree):
    """Yield (path of indices to a node, name of its function) for the code of a module's functions."""

    def walk(node, path, function):
        for k, child in enumerate(ast.iter_child_nodes(node)):
            here = (*path, k)
            inside = function
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inside = f"{function}.{child.name}" if function else child.name
            if isinstance(child, ast.JoinedStr | ast.arguments) or (
                isinstance(node, ast.FunctionDef) and child in [*node.decorator_list, node.returns]
            ):
                continue  # texts of messages, signatures and decorators
            if inside:
                yield here, inside
            yield from walk(child, here, inside)

    return walk(tree, (), "")


def reached(tree, path):
    """Return the node at the end of a path."""
    for k in path:
        tree = list(ast.iter_child_nodes(tree))[k]
    return tree


def mutants(module):
    """Return all mutants of a module."""
    tree = ast.parse((ROOT / "sklearn_dprank" / f"{module}.py").read_text(encoding="utf-8"))
    found, seen = [], {}
    for path, function in places(tree):
        for number, (what, _) in enumerate(changes(reached(tree, path))):
            name = f"{module}.{function}: {what}"
            seen[name] = seen.get(name, 0) + 1
            found.append((path, number, f"{name} ({seen[name]})"))
    return [(module, *each) for each in found]


def source(module, path, number):
    """Return the source of one mutant."""
    tree = ast.parse((ROOT / "sklearn_dprank" / f"{module}.py").read_text(encoding="utf-8"))
    node = reached(tree, path)
    list(changes(node))[number][1](node)
    return ast.unparse(ast.fix_missing_locations(Dropped().visit(tree)))


def mirrored(module):
    """Return the test files of a module."""
    folder, _, name = module.partition("/")
    found = [str(path) for path in sorted((ROOT / "tests" / folder).glob(f"test_{name}*.py"))]
    if not found:
        raise ValueError(f"no file tests/{folder}/test_{name}*.py mirrors {module}.")
    return found


def use(module, text):
    """Import a module from this text, in place of its file."""
    read, changed = SourceFileLoader.get_code, str(ROOT / "sklearn_dprank" / f"{module}.py")

    def get_code(self, name):
        return compile(text, self.path, "exec", dont_inherit=True) if self.path == changed else read(self, name)

    SourceFileLoader.get_code = get_code


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--number", type=int, default=200, help="number of mutants (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of mutants (default 0)")
    parser.add_argument("words", nargs="*", help="parts of names of modules; all modules without them")
    options = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    for name in ("numpy", "scipy.stats", "scipy.optimize", "sklearn.base", "sklearn.pipeline", "hypothesis", "pytest"):
        import_module(name)
    modules = [name for name in MODULES if not options.words or any(word in name for word in options.words)]
    files = [file for module in modules for file in mirrored(module)]
    if subprocess.run([sys.executable, "-m", "pytest", "-n", "auto", *OPTIONS, *files], cwd=ROOT).returncode:
        sys.exit("without a mutant a test fails")
    everything = [each for module in modules for each in mutants(module) if each[-1] not in ACCEPTED]
    chosen = random.Random(options.seed).sample(everything, min(options.number, len(everything)))
    tasks = [(name, partial(use, module, source(module, *where)), mirrored(module)) for module, *where, name in chosen]
    caught = 0
    for name, code, _ in in_forks(tasks, LONGEST):
        caught += code != 0
        if code == 0:
            print(f"SURVIVES: {name}", flush=True)
    share = caught / len(chosen)
    print(f"{caught} of {len(chosen)} mutants are caught ({share:.0%}); {len(everything)} are possible")
    sys.exit(share < LEAST)


if __name__ == "__main__":
    main()
