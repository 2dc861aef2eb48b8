"""Codes of one byte per cell for tables: bins, categories, binned tables."""
