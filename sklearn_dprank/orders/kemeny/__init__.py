"""Kemeny optima with certificates."""
