"""Curator implementation of randomised response on assigned pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._utils.checks import VOTERS_OR_NONE, check_parameters, safe_repr
from ..._utils.types import Amount, Items
from ..client.assigned import SEED_DIGITS, AssignedRandomizer, public_pairs
from ..client.protocol import is_digits
from .base import Drawn, Randomizer
from .inbox import RefusedReport, columns, whole_numbers
from .response import PairFlips, answers_of


def check_seed(value, name):
    """Raise ValueError unless `value` is a public seed of an assignment, or None."""
    if value is not None and not is_digits(value, SEED_DIGITS):
        raise ValueError(
            f"{name} must be None or {SEED_DIGITS} lowercase hexadecimal digits, such as secrets.token_hex(16), "
            f"got {safe_repr(value)}."
        )


class AssignedPairs(PairFlips):
    """Randomizer whose registered voters answer about public pairs, with the flips of another randomizer.

    A report names its voter, by a number below `n_voters`. The voter's pairs follow from `assignment_seed` and this
    number. Reports on other pairs are refused, and so is a second report of a voter.

    Parameters
    ----------
    flips : PairFlips
        Randomizer of the answers. It also sets the number of pairs per voter.
    n_voters : int or None, default=None
        Number of registered voters. None is only for simulations.
    assignment_seed : str or None, default=None
        Public seed of the assignment, 32 lowercase hexadecimal digits. None is only for simulations.
    """

    parameter_checks = {"n_voters": VOTERS_OR_NONE, "assignment_seed": check_seed}
    client = AssignedRandomizer()
    name = "rr-assigned"
    how = "randomized response on assigned pairs"
    names_voters = True

    def __init__(self, flips: Randomizer, n_voters: int | None = None, assignment_seed: str | None = None) -> None:
        self.flips = flips
        self.n_voters = n_voters
        self.assignment_seed = assignment_seed

    def simulating(self, n_voters: int) -> Randomizer:
        """Return the randomizer that a simulation draws from: voters with pairs of their own, by the same law.

        Over random seeds, the assigned pairs of all voters are independent and uniform, as pairs are that voters draw.
        """
        if self.n_voters is not None and n_voters > self.n_voters:
            raise ValueError(
                f"n_voters={self.n_voters} is below the {n_voters} ballots of X; set it to the number of registered "
                "voters."
            )
        return self._checked_flips()

    def protocol(self, epsilon: Amount, items: Items) -> dict[str, Any]:
        free = self._checked_flips().protocol(epsilon, items)
        if self.n_voters is None or self.assignment_seed is None:
            raise ValueError(
                "n_voters and assignment_seed must be given for devices, got "
                f"n_voters={self.n_voters}, assignment_seed={self.assignment_seed}: each voter's pairs follow from "
                "them. Register the voters first. Then set n_voters to their number, and assignment_seed to a public "
                "random number: secrets.token_hex(16), say."
            )
        return self.make_protocol(
            free["items"],
            free["epsilon"],
            n_queries=free["n_queries"],
            flip=free["flip"],
            n_voters=int(self.n_voters),
            assignment_seed=self.assignment_seed,
        )

    def _checked_flips(self):
        """Return `flips`; raise ValueError if it does not answer about single pairs, or a parameter is invalid."""
        check_parameters(self)
        if not isinstance(self.flips, PairFlips):
            raise ValueError(
                f"pairs='assigned' needs answers about single pairs, which {type(self.flips).__name__} does not give; "
                "use randomizer='rr', or pairs='hidden'."
            )
        return self.flips

    @classmethod
    def read_all(cls, reports: list[dict[str, Any]], protocol: dict[str, Any]) -> Drawn:
        voters, pairs, answers = columns(reports, "voter", "pairs", "answers")
        whole_numbers(voters, 0, protocol["n_voters"] - 1, "no voter")
        first, second, answered = answers_of(pairs, answers, protocol)
        if not np.array_equal((first, second), public_pairs(protocol, voters)):
            raise RefusedReport("not the voter's pairs")
        return first, second, answered
