"""Models that leave Python: files that are safe to load, and graphs of other runtimes."""

from mddf.export._skops import skops_types

__all__ = ["skops_types"]
