"""From what users pass to coded tables, checked targets, weights and folds.

May import `_base`; later rooms import this one.
"""
