"""Blocks of trees: growing them by the kernel, keeping them as arrays, asking them.

May import `_base`, `_data`; later rooms import this one.
"""
