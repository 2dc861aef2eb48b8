"""Data sets in their upstream formats."""
