"""Fitted models seen from outside: stages, size and prediction time."""
