"""From tables to codes of one byte a cell: bins, categories, binned tables."""
