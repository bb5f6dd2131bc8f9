"""Checks of the arguments of theorems, each with its one message."""


def is_published(variant):
    """Return whether `variant` asks for the formula as printed; refuse anything but the two names."""
    if variant not in ("corrected", "published"):
        raise ValueError(f"variant must be 'corrected' or 'published', got {variant!r}.")
    return variant == "published"


def votes_changed(neighboring):
    """Return by how much one neighbour can move a margin: 1 when a ballot is added or removed, 2 when replaced."""
    if neighboring not in ("add_remove", "replace"):
        raise ValueError(f"neighboring must be 'add_remove' or 'replace', got {neighboring!r}.")
    return 1 if neighboring == "add_remove" else 2


def positive(**values):
    """Refuse parameters that are not strictly positive."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}.")


def probability(**values):
    """Refuse parameters outside the open interval (0, 1)."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}.")


def at_least_two(**values):
    """Refuse counts below 2: there is nothing to rank."""
    for name, value in values.items():
        if value < 2:
            raise ValueError(f"{name} must be at least 2, got {value!r}.")
