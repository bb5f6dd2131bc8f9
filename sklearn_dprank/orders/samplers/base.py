"""Base classes for samplers of orders, and validation of margins."""

import numpy as np

from ..._utils.checks import check_number, check_square


class OrderSampler:
    """Base class for samplers of orders. The constructor does the work that is the same for every draw.

    Attributes
    ----------
    n_items : int
        Number of items.
    """

    n_items: int

    def draw(self, bits):
        """Draw one order.

        Parameters
        ----------
        bits : BitSource
            Source of randomness.

        Returns
        -------
        array of int, shape (n_items,)
            Items, best first.
        """
        raise NotImplementedError

    def sample(self, size, bits):
        """Draw independent orders.

        Parameters
        ----------
        size : int
            Number of orders.
        bits : BitSource
            Source of randomness.

        Returns
        -------
        array of int, shape (size, n_items)
            One order per row, best first.
        """
        return np.array([self.draw(bits) for _ in range(size)], dtype=np.int64).reshape(size, self.n_items)


def checked_margins(margins, scale):
    """Return margins as an array, after the validation that samplers of orders share.

    Parameters
    ----------
    margins : array-like of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i.
    scale : float
        At least 0.

    Returns
    -------
    ndarray of shape (n_items, n_items)

    Raises
    ------
    ValueError
        If `margins` is empty, not square or not finite, or `scale` is negative or not finite.
    """
    margins = np.asarray(margins)
    check_square(margins, "margins")
    if len(margins) == 0:
        raise ValueError("margins must be those of at least one item, got none.")
    if not np.all(np.isfinite(margins)):
        raise ValueError("margins must be finite.")
    check_number(scale, "scale", least=0)
    return margins
