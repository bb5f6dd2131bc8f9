"""Terms and releases of a budget, and their exact text form."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from ..._utils.checks import check_delta, check_epsilon, check_flag, check_neighboring, check_number
from ..composition import Losses
from ..guarantee import PrivacyGuarantee
from ..rounding import rounded_down


class Terms(NamedTuple):
    """Terms of a budget; see `PrivacyBudget`."""

    epsilon: Any
    delta: Any = 0.0
    neighboring: str = "add_remove"
    basic_delta: Any = None
    simulation: bool = False

    def checked(self) -> Terms:
        """Return the same terms, as doubles rounded down; raise ValueError if one is invalid."""
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_neighboring(self.neighboring)
        check_number(self.basic_delta, "basic_delta", least=0, most=self.delta, optional=True)
        check_flag(self.simulation, "simulation")
        basic_delta = None if self.basic_delta is None else rounded_down(self.basic_delta)
        return Terms(
            rounded_down(self.epsilon),
            rounded_down(self.delta),
            self.neighboring,
            basic_delta,
            bool(self.simulation),
        )


class Release(NamedTuple):
    """Entry of a budget; no field depends on a ballot.

    Attributes
    ----------
    when : datetime
        Time of the charge, before the ballots were read; UTC, whole seconds.
    what : str
        Short description of the release.
    guarantee : PrivacyGuarantee
        Guarantee that was charged.
    release_id : str or None
        The caller's identifier of the release, or None.
    """

    when: datetime
    what: str
    guarantee: PrivacyGuarantee
    release_id: str | None = None

    @classmethod
    def now(cls, what: str, guarantee: PrivacyGuarantee, release_id: str | None = None) -> Release:
        """Return an entry with the current time."""
        return cls(datetime.now(UTC).replace(microsecond=0), what, guarantee, release_id)


def guarantee_as_text(guarantee: PrivacyGuarantee) -> str:
    """Return a guarantee as JSON, with lossless hexadecimal floats.

    Examples
    --------
    >>> one = PrivacyGuarantee(0.1, 0.0, "central", "add_remove", "discrete Laplace noise")
    >>> guarantee_from_text(guarantee_as_text(one)) == one
    True
    """
    return json.dumps({field.name: _plain(getattr(guarantee, field.name)) for field in fields(guarantee)})


@lru_cache(maxsize=4096)
def guarantee_from_text(text: str) -> PrivacyGuarantee:
    """Return the guarantee in a text of `guarantee_as_text`; raise ValueError if it is not one."""
    try:
        stored = json.loads(text)
        mu_squared, pure, approximate = stored.pop("losses")
        losses = Losses(
            float.fromhex(mu_squared),
            tuple(float.fromhex(epsilon) for epsilon in pure),
            tuple((float.fromhex(epsilon), float.fromhex(delta)) for epsilon, delta in approximate),
        )
        numbers: dict[str, Any] = {name: float.fromhex(stored.pop(name)) for name in ("epsilon", "delta")}
        return PrivacyGuarantee(**stored | {"caveats": tuple(stored["caveats"])}, **numbers, losses=losses)
    except (AttributeError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"no guarantee: {error}") from error


def _plain(value):
    """Return a value that JSON stores without rounding."""
    if isinstance(value, float):
        return value.hex()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
