"""A mechanism from outside takes one module with one class, and the proofs check its sensitivity."""

import ast
import importlib
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from extensions import footrule
from extensions.footrule import Footrule
from queries import test_base_sensitivities as proofs

from sklearn_dprank import Aggregator
from sklearn_dprank.channels import Central, Exact
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.queries import Sensitivity
from sklearn_dprank.rules import Choose


class Halved(Footrule):
    """A query with half the true sensitivity. The proofs do not find it because it is defined here."""

    def sensitivity(self, n_items, neighboring):
        true = super().sensitivity(n_items, neighboring)
        return Sensitivity(true.l1 // 2, Fraction(true.l2_squared, 2))


def test_one_module_one_class_public_names():
    tree = ast.parse(Path(footrule.__file__).read_text())
    assert [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] == ["Footrule"]
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and "sklearn_dprank" in node.module]
    assert taken
    for node in taken:
        assert {name.name for name in node.names} <= set(importlib.import_module(node.module).__all__)
    asked = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not [name for name in asked if name.startswith("_")]


def test_proofs_find_the_query():
    assert Footrule in proofs.every_query() and Halved not in proofs.every_query()
    assert any(case.values[0] == Footrule() for case in proofs.VECTORS)


@pytest.mark.parametrize("neighboring", proofs.NEIGHBORING)
def test_half_of_its_sensitivity_fails_the_proof(neighboring):
    for m in proofs.SIZES:
        proofs.test_no_ballot_moves_the_vector_further(Footrule(), m, neighboring)
        with pytest.raises(AssertionError):
            proofs.test_no_ballot_moves_the_vector_further(Halved(), m, neighboring)


def test_it_decides_on_exact_and_on_private_channels():
    X = make_mallows(400, 5, 0.6, random_state=3)
    moved = {order: np.abs(np.argsort(order) - X).sum() for order in permutations(range(5))}
    exact = Aggregator(Exact(), Choose(Footrule())).fit(X)
    assert moved[tuple(exact.consensus_.tolist())] == min(moved.values())
    private = Aggregator(Central(epsilon=1.0), Choose(Footrule()), random_state=0).fit(X)
    assert private.consensus_.tolist() == exact.consensus_.tolist()
    assert private.privacy_.epsilon == 1.0 and "Footrule" in private.privacy_.how
    weak = {
        tuple(Aggregator(Central(epsilon=1e-4), Choose(Footrule()), random_state=k).fit(X).consensus_)
        for k in range(30)
    }
    assert len(weak) > 10  # epsilon is small, so the noise decides
