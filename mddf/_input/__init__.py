"""From what users pass as X to tables of typed columns."""
