"""Conversion of the user's X to tables of typed columns."""
