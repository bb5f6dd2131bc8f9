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


class RejectionSampler(OrderSampler):
    """Base class for samplers that make independent tries and reject some; accepted tries have the exact distribution.

    No estimator uses it, because the running time depends on the data: use it for simulations with public data. The
    number of tries has no limit, because a limit would change the distribution.
    """

    _batches = (256, 4096)  # tries per batch: the first, and the largest

    def tries(self, size, bits):
        """Return the orders accepted among `size` independent tries, in the order of the tries."""
        raise NotImplementedError

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,); the running time has no limit."""
        return self.sample(1, bits)[0]

    def sample(self, size, bits):
        """Draw independent orders, best first, int, shape (size, n_items); the running time has no limit."""
        out = np.empty((size, self.n_items), dtype=np.int64)
        done, (batch, largest) = 0, self._batches
        while done < size:
            rows = self.tries(batch, bits)[: size - done]
            out[done : done + len(rows)] = rows
            done += len(rows)
            batch = min(2 * batch, largest)
        return out


def checked_margins(margins, scale, antisymmetric=False):
    """Return margins as an array, after the validation that samplers of orders share.

    Parameters
    ----------
    margins : array-like of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i.
    scale : float
        At least 0.
    antisymmetric : bool, default=False
        Whether W[j, i] must be -W[i, j].

    Returns
    -------
    ndarray of shape (n_items, n_items)

    Raises
    ------
    ValueError
        If `margins` is empty, not square, not finite or not antisymmetric, or `scale` is negative or not finite.
    """
    margins = np.asarray(margins)
    check_square(margins, "margins")
    if len(margins) == 0:
        raise ValueError("margins must be those of at least one item, got none.")
    if not np.all(np.isfinite(margins)):
        raise ValueError("margins must be finite.")
    if antisymmetric and not np.array_equal(margins, -margins.T):
        raise ValueError("margins must be antisymmetric: counts - counts.T, not counts.")
    check_number(scale, "scale", least=0)
    return margins
