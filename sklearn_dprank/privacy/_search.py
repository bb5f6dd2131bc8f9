"""Search for the threshold of a monotone condition."""


def smallest(enough, start=1.0):
    """Return, up to rounding, the smallest positive number for which the monotone `enough` holds; it holds there."""
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
