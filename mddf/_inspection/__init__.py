"""Measuring a fitted model from outside.

May import the rooms from `_base` to `_deep_forest`, in the order of docs/development.md.
"""
