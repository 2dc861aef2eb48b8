"""Blocks of trees: grown by the kernel, kept as arrays, evaluated on rows."""
