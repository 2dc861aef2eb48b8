"""Cascades as in the papers: layers, the fit, the fitted model, the estimators."""
