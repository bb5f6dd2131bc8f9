"""Theorems of the papers, one module per paper: as printed and, where the printed form fails, corrected.

One module, `peeling`, has bounds for a mechanism of this package instead of a paper.

This package reads no ballots, and no other package imports it. A formula that an estimator uses is defined where it is
used, and the theorems call it there. Functions take public numbers (items, voters, epsilon, ...) and return bounds.
``variant="as_printed"`` is the formula as printed. ``variant="corrected"`` is a formula that holds. The Notes of each
function give the differences and the reasons.
"""
