"""The commands of ``mddf``, which turn tables into models, reports and predictions.

This room may import every other room but `batch`, the only one that imports it.
"""
