"""Checks of the user's data: leakage, quality of columns, and drift of later tables."""
