"""Gradient boosting.

`classifier` and `regressor` are the estimators, on `base`. A fit reads rows (`dataset`), encodes
categories (`target_statistics`), chooses parameters (`tuning`) and calls the kernel (`training`).
The losses are in `losses` and in the kernel.
"""
