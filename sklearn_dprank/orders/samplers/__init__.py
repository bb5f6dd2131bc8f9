"""Exact samplers of orders."""
