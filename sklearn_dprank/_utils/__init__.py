"""Shared helpers that every module of the package may import."""
