"""Searching a monotone condition from the safe side."""


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
