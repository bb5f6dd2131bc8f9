"""What every voter's device, and every simulation of devices, does with a ballot first."""

from ..profile import Profile
from ..rankings import ballot_key


def device_ballot(ballot, n_items):
    """Read one ballot on its voter's device.

    Parameters
    ----------
    ballot : array-like of shape (n_items,)
        Where this voter puts each item.
    n_items : int
        How many items the protocol has.

    Returns
    -------
    positions : Positions
        The ballot in compact form.
    key : bytes
        Equal for ballots that say the same.

    Raises
    ------
    ValueError
        If the ballot does not have one number an item.
    """
    positions = Profile.from_rankings([ballot]).positions
    if len(positions.table) != n_items:
        raise ValueError(f"ballot must have one position for each of the {n_items} items.")
    return positions, ballot_key(positions)


def simulated_ballots(profile):
    """Return the ballots that simulated devices randomise.

    Parameters
    ----------
    profile : Profile
        Of all voters.

    Raises
    ------
    ValueError
        If the profile keeps counts only.
    """
    if profile.positions is None:
        raise ValueError("a local mechanism needs the ballots; build the Profile with keep='positions'.")
    return profile.positions
