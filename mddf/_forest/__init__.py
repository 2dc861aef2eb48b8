"""Random and completely-random forests."""
