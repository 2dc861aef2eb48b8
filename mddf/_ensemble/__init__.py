"""What makes one model of several: weights, calibration, scores, coefficients, checkpoints.

May import `_base`, `_data`, `_trees`, `_forest`; later rooms import this one.
"""
