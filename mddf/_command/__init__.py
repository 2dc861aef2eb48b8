"""The command ``mddf``: a table in, a model, a report and predictions out.

Imports any room, and is imported by none.
"""
