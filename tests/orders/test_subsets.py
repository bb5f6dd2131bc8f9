"""Subset tables: numbering, layers, and sums over members."""

from itertools import chain, combinations

import numpy as np
import pytest

from sklearn_dprank.orders.subset_dp import over_subsets, subsets_of


@pytest.mark.parametrize("n", range(8))
def test_subsets_are_numbered_by_size_then_by_mask(n):
    subsets = subsets_of(n)
    by_size = [sorted(sum(1 << item for item in c) for c in combinations(range(n), k)) for k in range(n + 1)]
    assert subsets.masks.tolist() == list(chain.from_iterable(by_size))
    assert [subsets.starts[k + 1] - subsets.starts[k] for k in range(n + 1)] == [len(masks) for masks in by_size]
    assert subsets.rank[subsets.masks].tolist() == list(range(2**n))
    for mask, has in zip(subsets.masks.tolist(), subsets.has, strict=True):
        assert np.flatnonzero(has).tolist() == [item for item in range(n) if mask >> item & 1]


@pytest.mark.parametrize("n", range(1, 8))
def test_layers_say_what_is_left_without_each_item(n):
    subsets = subsets_of(n)
    for k in range(n + 1):
        ranks, items, rest = subsets.layer(k)
        masks = subsets.masks[ranks].tolist()
        assert all(mask.bit_count() == k for mask in masks)
        for mask, row, left in zip(masks, items.tolist(), rest.tolist(), strict=True):
            assert row == [item for item in range(n) if mask >> item & 1]
            assert [int(subsets.masks[rank]) for rank in left] == [mask - (1 << item) for item in row]


def test_shared_subsets_cannot_be_changed():
    assert subsets_of(5) is subsets_of(5)
    for array in (subsets_of(5).masks, subsets_of(5).rank, subsets_of(5).has):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("combine", [np.add, np.maximum])
@pytest.mark.parametrize("tail", [(), (3,)])
def test_values_of_members_come_together(combine, tail):
    values = np.random.default_rng(0).integers(1, 100, (2, 5, *tail))
    table = over_subsets(values, combine)
    assert table.shape == (2, 32, *tail) and table.dtype == values.dtype
    for mask in range(32):
        members = values[:, [item for item in range(5) if mask >> item & 1]]
        np.testing.assert_array_equal(table[:, mask], combine.reduce(members, axis=1) if mask else 0)
