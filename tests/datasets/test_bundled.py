"""The bundled ballots are those of Figure 1 of Hay et al., with the distances that the paper states."""

from itertools import combinations, permutations

import numpy as np

from sklearn_dprank.datasets import load_hay_figure1

# Figure 1, voter by voter, best first.
FIGURE = ["EACBD", "AEDCB", "CBADE", "EDCBA", "BADEC", "CEDAB", "CBEDA", "EDCBA"]


def average_distance(order, X):
    """Average Kendall tau distance over voters and pairs; `order` is a string, best first."""
    place = {"ABCDE".index(item): p for p, item in enumerate(order)}
    wrong = sum(int(np.sum((X[:, i] < X[:, j]) != (place[i] < place[j]))) for i, j in combinations(range(5), 2))
    return wrong / (len(X) * 10)


def test_ballots_are_the_figure_s():
    ballots = load_hay_figure1()
    read = ["".join("ABCDE"[i] for i in np.argsort(row)) for row in ballots.data]
    assert sorted(read) == sorted(FIGURE)
    assert ballots.item_names == list("ABCDE")
    assert ballots.counts.tolist() == [2, 1, 1, 1, 1, 1, 1]
    assert (ballots.profile.n_voters, ballots.profile.n_items) == (8, 5)
    assert ballots.profile.item_names.tolist() == list("ABCDE")


def test_figures_the_paper_states():
    X = load_hay_figure1().data
    assert X.sum(axis=0).tolist() == [19, 19, 13, 18, 11]
    assert average_distance("ECDAB", X) == 0.4
    best = {order: average_distance(order, X) for order in map("".join, permutations("ABCDE"))}
    assert min(best.values()) == 0.375
    optimal = {order for order, distance in best.items() if distance == 0.375}
    assert {"ECBDA", "ECBAD"} <= optimal
