"""What every sampler of orders is: made from what it draws from, and asked for an order with ``draw(bits)``."""

import numpy as np

from ..._utils.checks import check_number, check_square


class OrderSampler:
    """A law of orders to draw from, with all the work done that is the same for every draw.

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
            Where the randomness comes from.

        Returns
        -------
        array of int, shape (n_items,)
            The items, best first.
        """
        raise NotImplementedError

    def sample(self, size, bits):
        """Draw independent orders.

        Parameters
        ----------
        size : int
            How many.
        bits : BitSource
            Where the randomness comes from.

        Returns
        -------
        array of int, shape (size, n_items)
            One order a row, best first.
        """
        return np.array([self.draw(bits) for _ in range(size)], dtype=np.int64).reshape(size, self.n_items)


class RejectionSampler(OrderSampler):
    """A law of orders to draw from by independent tries, of which those that are accepted have it.

    No estimator uses it: the time depends on what it draws from, so it is for simulations with public data. There is no
    limit on the number of tries, because a limit would change the law.
    """

    _batches = (256, 4096)  # tries at once: first, and at most

    def tries(self, size, bits):
        """Return the orders accepted among `size` independent tries, in the order of the tries."""
        raise NotImplementedError

    def draw(self, bits):
        """Draw one order, best first, int, shape (n_items,), however long it takes."""
        return self.sample(1, bits)[0]

    def sample(self, size, bits):
        """Draw independent orders, best first, int, shape (size, n_items), however long it takes."""
        out = np.empty((size, self.n_items), dtype=np.int64)
        done, (batch, largest) = 0, self._batches
        while done < size:
            rows = self.tries(batch, bits)[: size - done]
            out[done : done + len(rows)] = rows
            done += len(rows)
            batch = min(2 * batch, largest)
        return out


def checked_margins(margins, scale, antisymmetric=False):
    """Return margins as an array, or raise the errors that samplers of orders share.

    Parameters
    ----------
    margins : array-like of shape (n_items, n_items)
        W[i, j] = voters who prefer i to j minus voters who prefer j to i.
    scale : float
        Not negative.
    antisymmetric : bool, default=False
        Whether W[j, i] must be -W[i, j].

    Returns
    -------
    ndarray of shape (n_items, n_items)

    Raises
    ------
    ValueError
        If margins are empty, not square, not finite or not antisymmetric, or scale is negative or not finite.
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
