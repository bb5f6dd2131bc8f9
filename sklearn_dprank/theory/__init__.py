"""What the papers prove, one module a paper: the printed form and, where it fails, the corrected one.

Nothing here touches ballots, and no other room calls it: a formula that an estimator uses stands where it is used, and
theorems call it there. Functions take public numbers (items, voters, epsilon, ...) and return bounds.
`variant="published"` is the formula as printed, `variant="corrected"` the one that holds; the Notes of each
function say what differs and why.
"""
