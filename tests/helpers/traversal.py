"""Trees as arrays, traversed in plain numpy."""

from shapley import goes_left
from table_cases import read_again


def node_path(tree, row):
    """The nodes that a row passes: numbers, codes of categories, NaN where missing."""
    path = [0]
    while tree.children_left[node := path[-1]] != -1:
        left = goes_left(tree, node, row[tree.feature[node]])
        path.append((tree.children_left if left else tree.children_right)[node])
    return path


def numbers(model, X):
    return model._binner.numbers(read_again(model, X, categorical_features="from_dtype"))
