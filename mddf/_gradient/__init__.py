"""Gradient boosting on the kernel: the estimators, and models of folds side by side."""
