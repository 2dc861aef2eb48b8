"""The columns of a table in a file: described once at fit, applied to every later table.

Knows nothing of estimators. Needs pandas and pyarrow.
"""
