"""Rankings that come with the package."""

from importlib.resources import as_file, files

from ._preflib import Bunch, read_preflib


def load_hay_figure1() -> Bunch:
    """Load the example of Hay et al. (2017), Figure 1: 8 complete rankings of the items A to E.

    Returns
    -------
    sklearn.utils.Bunch
        As `read_preflib` returns it. Voters 4 and 8 of the figure agree and stand first.

    Notes
    -----
    The Borda order is E C D, then A and B level, at an average Kendall tau distance of .40 (divided
    by the number of pairs). The figure prints .37 for the optimum E C B D A and .38 for the
    quicksort order E C B A D; both are .375, and both are optimal.

    References
    ----------
    M. Hay, L. Elagina and G. Miklau (2017), "Differentially Private Rank Aggregation", SIAM
    International Conference on Data Mining, Figure 1 and Example 1.

    Examples
    --------
    >>> from sklearn_dprank.datasets import load_hay_figure1
    >>> ballots = load_hay_figure1()
    >>> ballots.item_names
    ['A', 'B', 'C', 'D', 'E']
    >>> ballots.data.sum(axis=0)  # the Borda scores of the paper's Example 1
    array([19, 19, 13, 18, 11])
    """
    with as_file(files(__package__).joinpath("data", "hay2017_figure1.soc")) as path:
        return read_preflib(path)
