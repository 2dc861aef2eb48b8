"""The public forests.

May import `_base`, `_data`, `_trees`; later rooms import this one.
"""
