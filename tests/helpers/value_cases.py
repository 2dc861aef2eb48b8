"""Small random regression problems, slow twins of the engine for them, and checks."""

from dataclasses import dataclass, replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from compiled import _core
from forest_cases import FORESTS, NO_LIMIT, Case, make_case

from mddf import CompletelyRandomForestRegressor, RandomForestRegressor

REGRESSORS = [RandomForestRegressor, CompletelyRandomForestRegressor]
every_forest = pytest.mark.parametrize("Forest", [*FORESTS, *REGRESSORS])


@dataclass
class ValueCase(Case):
    fixed: np.ndarray = None  # multiples of 2^-61
    scale: np.ndarray = None

    def target(self):
        return _core.ValueTarget(self.fixed, self.scale)

    def take(self, rows):
        return replace(super().take(rows), fixed=np.ascontiguousarray(self.fixed[rows]))


def make_values(rng, *args, n_outputs=1, kind=None, **options):
    """A case of forest_cases with numeric targets of different kinds."""
    case = make_case(rng, *args, **options)
    n = case.n_rows
    y = case.labels[:, None] - 2.0 + rng.normal(size=(n, n_outputs))
    kind = rng.choice(["plain", "few", "tails", "far"]) if kind is None else kind
    if kind == "few":
        y = np.rint(y)
    if kind == "tails":
        y = np.sign(y) * np.exp(6 * np.abs(y))
    if kind == "far":
        y = 1e6 + y
    exponents = np.frexp(np.abs(y).max(axis=0))[1]
    fixed = np.rint(np.ldexp(y, 61 - exponents)).astype(np.int64)
    scale = np.ldexp(1.0, 2 * (exponents - exponents.max()))
    parts = {name: getattr(case, name) for name in Case.__dataclass_fields__}
    return ValueCase(**parts, fixed=fixed, scale=scale)


def exact(weights):
    """Weights as exact numbers; integers are added faster than fractions."""
    whole = np.all(weights == np.rint(weights))
    return [int(w) if whole else Fraction(w) for w in weights]


def mean(fixed, weights):
    """Exact means of integers, by output."""
    weights = exact(weights)
    return [
        Fraction(sum(w * q for w, q in zip(weights, column, strict=True)), sum(weights))
        for column in fixed.T.tolist()
    ]


def decrease(fixed, weights, left, scale):
    """Exact decrease of the squared error, rounded once to a double, in units of 2^122."""
    sides = [(fixed[side], weights[side]) for side in (left, ~left)]
    a, b = (Fraction(sum(exact(w))) for _, w in sides)
    distances = [x - y for x, y in zip(*(mean(*side) for side in sides), strict=True)]
    squares = sum(Fraction(s) * d * d for s, d in zip(scale, distances, strict=True))
    return float(squares * a * b / (a + b) / 2**122)


def sides_of_numbers(codes):
    """Every way to split a numeric column, as masks of the samples that go left."""
    values = np.unique(codes[codes != naive.MISSING])
    has_missing = (codes == naive.MISSING).any()
    for value in values:
        below = (codes <= value) & (codes != naive.MISSING)
        if value < values[-1] or has_missing:
            yield below
        if value < values[-1] and has_missing:
            yield below | (codes == naive.MISSING)


def candidate_sides(codes, fixed, weights, categorical, limited):
    """Every way to split a column, as rows of booleans over the samples.

    If limits rule some of them out or there are several outputs, only the sets of categories that
    are first in the order of their means.
    """
    present = np.unique(codes)
    k = len(present)
    if k < 2:
        return
    if not categorical:
        yield from sides_of_numbers(codes)
    elif fixed.shape[1] == 1 and k <= 7 and not limited:
        for subset in range(1, 2 ** (k - 1)):
            yield np.isin(codes, present[[bool(subset >> i & 1) for i in range(k)]])
    else:
        for j in range(fixed.shape[1]):
            means = [mean(fixed[codes == c], weights[codes == c])[j] for c in present]
            order = present[sorted(range(k), key=lambda i: means[i])]
            for i in range(1, k):
                yield np.isin(codes, order[:i])


def best_decrease(codes, fixed, weights, categorical, scale, allow=None):
    """The largest decrease by an allowed split of one column; -inf without one."""
    best = -np.inf
    for left in candidate_sides(codes, fixed, weights, categorical, allow is not None):
        sides = left.sum(), (~left).sum(), weights[left].sum(), weights[~left].sum()
        if allow is None or allow(*sides):
            best = max(best, decrease(fixed, weights, left, scale))
    return best


def check_means(node, fixed, weights):
    """Means of leaves are exact sums, rounded twice, and lie between their targets."""
    for stored_mean, expected in zip(node.value, mean(fixed, weights), strict=True):
        expected = float(expected / 2**61)
        assert abs(stored_mean - expected) <= 2.0**-113 * float(np.abs(fixed.astype(float)).max())
        assert fixed.min() * 2.0**-61 <= stored_mean <= fixed.max() * 2.0**-61


def check_value_tree(nodes, case, *, rows=None, columns=None, best_split=True, **limits):
    """Check splits, leaves and limits of a tree: every split must be the best one."""
    weights = case.given_weights(rows)
    rows = np.flatnonzero(weights > 0)
    columns = range(case.n_columns) if columns is None else columns
    max_depth = limits.get("max_depth", NO_LIMIT)
    min_split = limits.get("min_samples_split", 2)
    min_leaf = limits.get("min_samples_leaf", 1)
    min_weight = limits.get("min_weight_leaf", 0) * weights[rows].sum()

    def allow(n_left, n_right, weight_left, weight_right):
        return min(n_left, n_right) >= min_leaf and min(weight_left, weight_right) >= min_weight

    allowed = allow if min_leaf > 1 or min_weight > 0 else None
    for node, node_rows, depth in naive.visit(nodes, case.codes, rows):
        fixed, weight = case.fixed[node_rows], weights[node_rows]
        varies = np.any(fixed != fixed[0])
        best = -np.inf
        if varies and depth < max_depth and len(node_rows) >= min_split:
            best = max(
                best_decrease(
                    case.codes[node_rows, c],
                    fixed,
                    weight,
                    case.categorical[c],
                    case.scale,
                    allowed,
                )
                for c in columns
            )
        if node.is_leaf:
            assert best == -np.inf
            check_means(node, fixed, weight)
            continue
        assert node.column in columns
        left = np.array([node.goes_left(int(c)) for c in case.codes[node_rows, node.column]])
        assert allow(left.sum(), (~left).sum(), weight[left].sum(), weight[~left].sum())
        if best_split:
            reached = decrease(fixed, weight, left, case.scale)
            # Scores are doubles: with targets far apart, tiny differences near 0 are lost.
            spread = (np.ptp(fixed.astype(float), axis=0) / 2**61) ** 2 @ case.scale * weight.sum()
            assert reached >= best * (1 - 1e-9) - 1e-15 * spread, (reached, best)


def importances(nodes, case):
    """The decrease of the squared error by each column in one tree."""
    weights = case.given_weights()
    sums = np.zeros(case.n_columns)
    for node, node_rows, _ in naive.visit(nodes, case.codes, np.flatnonzero(weights > 0)):
        if not node.is_leaf:
            left = np.array([node.goes_left(int(c)) for c in case.codes[node_rows, node.column]])
            sums[node.column] += decrease(
                case.fixed[node_rows], weights[node_rows], left, case.scale
            )
    return sums


def predictions(trees, codes):
    """Sums over trees of the predicted means of all rows."""
    decoded = naive.decode(trees)
    return np.array(
        [np.sum([naive.find_leaf(nodes, row).value for nodes in decoded], axis=0) for row in codes]
    )
