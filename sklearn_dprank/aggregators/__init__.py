"""Estimators, each composed of a channel and a rule; import them from ``sklearn_dprank``."""
