"""Budget accounting for several releases."""
