"""Gradient boosting on the kernel: the estimators, and models of folds side by side.

May import the rooms from `_base` to `_forest`; later rooms import this one.
"""
