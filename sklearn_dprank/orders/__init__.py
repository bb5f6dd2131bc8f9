"""Combinatorics of orders: optima, counts and exact samplers, without privacy logic or estimators."""
