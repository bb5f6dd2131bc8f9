"""Random bits and exact integer noise."""
