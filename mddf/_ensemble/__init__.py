"""Combination of several models: weights, coefficients, calibration, scores, conformal bounds."""
