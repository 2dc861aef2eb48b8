"""Folds, and the rows that each tree draws."""
