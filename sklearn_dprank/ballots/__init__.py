"""Ballots: reading tables, and profiles with their counts."""
