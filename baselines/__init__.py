"""Comparators: the algorithms that deep forests are measured against."""
