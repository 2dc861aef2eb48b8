"""Random and completely-random forests.

`classifiers` and `regressors` are the estimators, on `base` (fit, predictions). `parameters` has
the names of the criteria, and the kernel the criteria.
"""
