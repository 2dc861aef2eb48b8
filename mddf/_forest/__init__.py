"""The public forests."""
