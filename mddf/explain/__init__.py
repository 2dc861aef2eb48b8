"""What models have learnt, and why they say what they say."""

from mddf.explain._arrays import TreeArrays, category_codes, tree_arrays

__all__ = ["TreeArrays", "category_codes", "tree_arrays"]
