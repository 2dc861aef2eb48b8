"""Cascades as in the papers: layers, the fit, the fitted model, the estimators.

May import the rooms from `_base` to `_members`, in the order of docs/development.md.
"""
