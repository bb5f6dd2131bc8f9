"""Searching a monotone condition from the safe side, and refusing parameters out of bounds."""


def smallest(enough, start=1.0):
    """Return about the smallest positive number for which the monotone `enough` holds; it does hold there."""
    low = high = start
    while not enough(high):
        low, high = high, 2 * high
    while enough(low):
        low, high = low / 2, low
    for _ in range(60):
        middle = (low + high) / 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def check(**parameters):
    """Raise ValueError for the first `name=(value, valid, rule)` that is not valid."""
    for name, (value, valid, rule) in parameters.items():
        if not valid:
            raise ValueError(f"{name} must {rule}, got {value!r}.")
