"""What the papers prove, one module a paper: the printed form and, where it fails, the corrected one.

Nothing here touches ballots. Functions take public numbers (items, voters, epsilon, ...) and return bounds.
`variant="published"` is the formula as printed, `variant="corrected"` the one that holds; the Notes of each
function say what differs and why.
"""
