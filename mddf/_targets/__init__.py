"""From what users pass as y, sample weights and groups to checked arrays."""
