"""Deep forests guided by the margin distribution."""

__version__ = "0.1.0"
