"""Errors that name the new path of a module of version 0.2."""

from __future__ import annotations

import sys

PACKAGE = "sklearn_dprank."
#: Modules of version 0.2 and the modules with their contents now, both without the package's name.
MOVED = {
    "base": "aggregators.base",
    "certainty": "uncertainty",
    "checks": "_utils.checks",
    "constraints": "_utils.checks",
    "counting": "ballots.counting",
    "devices": "collection.client",
    "field": "aggregators.collection",
    "fitted": "_utils.fitted",
    "names": "ballots.names",
    "orders.alternating": "orders.kemeny.relaxation",
    "orders.choice": "orders.samplers.choice",
    "orders.circles": "orders.kemeny.relaxation",
    "orders.components": "orders.kemeny.components",
    "orders.few_items": "orders.subset_dp",
    "orders.flips": "orders.samplers.permute_and_flip",
    "orders.insertion": "orders.samplers.insertion",
    "orders.inversions": "orders.permutations",
    "orders.levels": "orders.samplers.threshold_counts",
    "orders.linear_extensions": "orders.samplers.linear_extensions",
    "orders.linear_ordering": "orders.kemeny.linear_ordering",
    "orders.local_search": "orders.kemeny.local_search",
    "orders.memetic": "orders.kemeny.local_search",
    "orders.partition": "orders.samplers.partition",
    "orders.permutohedron": "orders.samplers.permutohedron",
    "orders.positions": "orders.permutations",
    "orders.relaxation": "orders.kemeny.relaxation",
    "orders.sampler": "orders.samplers.base",
    "orders.ties": "orders.kemeny.linear_ordering",
    "orders.top": "orders.samplers.top_k",
    "orders.windowed": "orders.samplers.windowed",
    "orders.work": "orders.kemeny.work",
    "partitions": "ballots.profile",
    "periods": "aggregators.partial_fit",
    "privacy.adaptive": "privacy.budget.adaptive",
    "privacy.amplification": "privacy.shuffle.amplification",
    "privacy.bits": "sampling.streams",
    "privacy.charging": "privacy.budget.charging",
    "privacy.draws": "sampling.bit_source",
    "privacy.gaussian": "sampling.rounded_gaussian",
    "privacy.laplace_table": "sampling.discrete_laplace",
    "privacy.multinomial": "sampling.multinomial",
    "privacy.noise": "sampling.discrete_laplace",
    "privacy.owed": "privacy.estimator_guarantees",
    "privacy.poisson": "sampling.poisson",
    "privacy.questions": "collection.curator.query_count",
    "privacy.shuffle_groups": "privacy.shuffle.groups",
    "privacy.statement": "privacy.guarantee",
    "privacy.trust": "privacy.guarantee",
    "profile": "ballots.profile",
    "randomizers": "collection.curator",
    "rankings": "ballots.rankings",
    "rules.adaptive": "rules.bradley_terry",
    "rules.bradley_terry_loss": "rules.bradley_terry",
    "rules.top": "rules.choose",
    "servers": "collection.server",
    "statistics": "ballots.profile",
    "tables": "ballots.tables",
    "theory.alabi_bounds": "theory.alabi",
    "theory.alabi_lower": "theory.alabi",
    "theory.alabi_marginals": "theory.alabi",
    "theory.hay_sort": "theory.hay",
    "theory.shang_geometry": "theory.shang",
    "theory.shang_noise": "theory.shang",
}


class _Finder:
    """Import finder that raises ImportError for modules that have moved, and finds no modules."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname.startswith(PACKAGE) and (new := MOVED.get(fullname.removeprefix(PACKAGE))):
            raise ImportError(f"{fullname} has moved: import {PACKAGE}{new}.", name=fullname)
        return None


def announce() -> None:
    """Install the finder after all others, so that it receives only names that they do not find."""
    sys.meta_path.append(_Finder)
