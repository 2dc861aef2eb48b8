"""Boosted trees in plain Python: every split is tried on every row, with the kernel's rounding."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, frexp, fsum, inf, ldexp

import numpy as np
from naive import Random
from naive_losses import (
    CONSTANT,
    QUANTILES,
    curvature_unit,
    gradients,
    large_residual,
    losses,
    newton_step,
    rough_scale,
    scale_for,
    start,
    weighted_quantile,
)

MISSING = 255


@dataclass
class Split:
    """The split of a column, with the codes that go left."""

    column: int
    left: frozenset
    missing_left: bool
    place: int
    score: float


@dataclass
class Leaf:
    """Rows as positions in `Problem.train`, sums over them, and limits of the value."""

    rows: np.ndarray
    sums: list[int]
    least: float = -inf
    most: float = inf
    depth: int = 0
    groups: np.ndarray | None = None
    split: Split | None = None
    parent: tuple[int, str] | None = None


@dataclass
class Tree:
    """Splits in the order of growth; leaves in the kernel's order, or by path if symmetric."""

    splits: list[Split] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    ways: list[int] = field(default_factory=lambda: [0])
    values: np.ndarray | None = None


class Scorer:
    """Converts integer sums to scores in a round."""

    def __init__(self, problem, l2, least_hessian, least_count, most, lanes, counted):
        self.monotonic = problem.monotonic is not None and problem.monotonic.any()
        self.l2, self.least_hessian, self.least_count = l2, least_hessian, least_count
        exponent = frexp(most)[1]
        self.rounding = ldexp(1.5, 52 + exponent - (40 if self.monotonic else 50))
        self.unit = ldexp(1.0, 30 - exponent)
        self.lanes, self.counted = lanes, counted

    def weight(self, sums):
        return sums[-1] + self.l2

    def squares(self, sums):
        total = 0.0
        for j in range(self.lanes):
            total += float(sums[j]) * float(sums[j])
        return total

    def before(self, sums):
        return self.squares(sums) / self.weight(sums) if self.weight(sums) > 0 else 0.0

    def compared(self, left, leaf, sign):
        """Gain of a split of a leaf in single precision, which compares the splits of a column."""
        right = [a - b for a, b in zip(leaf.sums, left, strict=True)]
        if self.monotonic:
            return self.improvement(left, leaf, sign)
        if not self.allowed(left, right):
            return np.float32(0)
        single = np.float32
        weight = leaf.sums[-1] + 2 * self.l2
        change = single(self.squares(leaf.sums) / weight - self.before(leaf.sums))
        share = single(left[-1]) * single(1 / weight) + single(self.l2 / weight)
        squares = single(0)
        for of_left, of_all in zip(left[: self.lanes], leaf.sums, strict=False):
            more = single(of_left) - single(of_all) * share
            squares += more * more
        other = single(right[-1]) + single(self.l2)
        return (squares / (share * other) + change) * single(self.unit)

    def allowed(self, left, right):
        count = -2 if self.counted else -1
        return min(left[-1], right[-1]) >= self.least_hessian and (
            min(left[count], right[count]) >= self.least_count
        )

    def value(self, sums):
        return sums[0] / self.weight(sums) if self.weight(sums) > 0 else 0.0

    def clipped(self, sums, leaf):
        return min(max(self.value(sums), leaf.least), leaf.most)

    def splits(self, left, right, leaf, sign):
        if not self.allowed(left, right):
            return False
        if not self.monotonic:
            return True
        return sign * (self.clipped(right, leaf) - self.clipped(left, leaf)) >= 0

    def improvement(self, left, leaf, sign):
        right = [a - b for a, b in zip(leaf.sums, left, strict=True)]
        if not self.splits(left, right, leaf, sign):
            return 0.0
        if self.monotonic:

            def at(sums):
                value = self.clipped(sums, leaf)
                return 2 * value * sums[0] - self.weight(sums) * value * value

            gain = (at(left) + at(right)) - at(leaf.sums)
        else:
            gain = (self.before(left) + self.before(right)) - self.before(leaf.sums)
        return (gain + self.rounding) - self.rounding


class Round:
    """One round: rounded gradients of every row, and the search on them."""

    def __init__(
        self, problem, codes, gradient, hessian, times, drawn, random, curvature_unit=1.0
    ):
        self.problem, self.codes, self.random = problem, codes, random
        any_weights = problem.weights is not None
        has_unit_hessians = problem.loss in CONSTANT or not problem.newton_splits
        counts_rows = has_unit_hessians and problem.whole
        if not problem.newton_splits:
            weights = np.ones(len(times)) if problem.whole else problem.weights[problem.train]
            hessian, curvature_unit = weights[:, None], 1.0
        counted = problem.min_samples_leaf > 1 and (not counts_rows or any_weights)
        needed = problem.width + 1 + counted
        kernel_width = 2 if needed <= 2 else 4 if needed <= 4 else 8
        n_lanes = 1 if problem.width == 1 else kernel_width - 1 - counted
        lanes = min(problem.width, n_lanes)
        if problem.width > lanes:
            signs = [[1 if random.below(2) else -1 for _ in range(lanes)] for _ in gradient.T]
            projected = np.zeros((len(gradient), lanes))
            for k, column in enumerate(gradient.T):
                for j in range(lanes):
                    projected[:, j] += column * signs[k][j]
            gradient = projected
        scale = scale_for(gradient, times, 30)
        mean = np.zeros(len(hessian))
        for column in hessian.T:
            mean += column
        mean = mean / hessian.shape[1]
        hessian_scale = 0 if counts_rows else scale_for(mean[:, None], times, 30)
        self.grows = scale is not None and hessian_scale is not None
        self.lane = random.below(lanes) if kernel_width > 2 else 0
        if not self.grows:
            return
        units = np.rint(gradient * ldexp(1.0, scale))
        of_hessian = np.rint(mean * ldexp(1.0, hessian_scale))
        parts = [*(times[:, None] * units).T.astype(int)]
        parts += [np.ones(len(times), int)] if counted else []
        parts += [(times * of_hessian).astype(int)]
        self.numbers = np.column_stack(parts) * drawn[:, None]
        unit = ldexp(1.0, hessian_scale)
        least = 1e-3 * curvature_unit * unit
        least = 1 if has_unit_hessians else max(1, ceil(min(least, 1e9)))
        l2 = problem.l2 * curvature_unit * unit
        most = self.most_score(units, of_hessian, times, drawn, least + l2)
        most = min(most, 2.0**60 * n_lanes / (least + l2)) if most > 0 else 1.0
        counts = counted or (counts_rows and not any_weights)
        least_count = problem.min_samples_leaf if counts else 1
        self.scorer = Scorer(problem, l2, least, least_count, most, lanes, counted)
        total = float(self.numbers[:, -1].sum())
        self.smoothing = problem.category_smoothing * total / times.sum()
        self.value_unit = ldexp(1.0, hessian_scale - scale)
        self.score_unit = ldexp(1.0, hessian_scale - 2 * scale)

    @staticmethod
    def most_score(units, of_hessian, times, drawn, least_weight):
        """An upper bound of the total score of the leaves of a tree."""
        squares = np.zeros(len(times))
        for column in units.T:
            squares += column * column
        steep, flat = drawn & (of_hessian > 0), drawn & ~(of_hessian > 0)
        most = 0.0
        if steep.any() and squares[steep].any():
            score_terms = squares[steep].astype(np.float32) / of_hessian[steep].astype(np.float32)
            exponent = frexp(score_terms.max())[1]
            score_terms = times[steep] * (
                np.floor(score_terms * np.float32(ldexp(1.0, 20 - exponent))) + 1
            )
            flat_terms = times[~steep].sum()
            most = ldexp(score_terms.sum() + flat_terms, exponent - 20)
        of_flat = abs(times[flat, None] * units[flat]).sum()
        return 2 * (most + of_flat**2 / least_weight) if of_flat else most

    def sums(self, rows):
        return [int(total) for total in self.numbers[rows].sum(axis=0)]

    def order(self, column, rows):
        """Codes in the order of the search."""
        codes = list(range(self.problem.n_bins[column]))
        if not self.problem.categorical[column]:
            return codes
        keys = []
        for code in codes:
            sums = self.sums(rows[self.codes[rows, column] == code])
            weight = sums[-1] + self.smoothing
            keys.append(sums[self.lane] / weight if weight > 0 else 0.0)
        return sorted(codes, key=lambda code: keys[code])

    def sign(self, column):
        monotonic = self.problem.monotonic
        return 0 if monotonic is None else int(monotonic[column])

    def draw(self, groups):
        problem = self.problem
        columns = [c for c in range(self.codes.shape[1]) if len(np.unique(self.codes[:, c])) > 1]
        if groups is not None:
            columns = [c for c in columns if np.any(groups & (problem.interactions[:, c] > 0))]
        if problem.max_features >= len(columns):
            return columns
        for i in range(problem.max_features):
            j = i + self.random.below(len(columns) - i)
            columns[i], columns[j] = columns[j], columns[i]
        return sorted(columns[: problem.max_features])

    def groups(self):
        of = self.problem.interactions
        return None if of is None else np.ones(len(of), bool)

    def left_groups(self, groups, column):
        return None if groups is None else groups & (self.problem.interactions[:, column] > 0)

    def goes_left(self, split, rows):
        return np.isin(self.codes[rows, split.column], list(split.left))

    def places(self, c, order):
        """All splits of a column, by the side of missing values."""
        has_missing = np.any(self.codes[:, c] == MISSING)
        n = len(order)
        for missing_left in (False, True) if has_missing else (False,):
            begin, end = (-1, n - 1) if missing_left else (0, n - (not has_missing))
            missing = [MISSING] if missing_left else []
            yield [
                Split(c, frozenset([*order[: at + 1], *missing]), missing_left, at, 0.0)
                for at in range(begin, end)
            ]

    def sums_on_left(self, split, leaf):
        return self.sums(leaf.rows[self.goes_left(split, leaf.rows)])

    def improvement(self, split, leaf):
        sums = self.sums_on_left(split, leaf)
        return self.scorer.improvement(sums, leaf, self.sign(split.column))

    def compared(self, split, leaf):
        sums = self.sums_on_left(split, leaf)
        return self.scorer.compared(sums, leaf, self.sign(split.column))

    def search_level(self, leaves, columns):
        """The common split of all leaves with the largest gain, by integer sums."""
        best, score = None, 0
        of = float if self.scorer.monotonic else int
        for c in columns:
            for splits in self.places(c, self.order(c, np.arange(len(self.codes)))):
                for split in splits:
                    level_score = sum(of(self.compared(split, leaf)) for leaf in leaves)
                    if level_score > score:
                        best, score = split, level_score
        if best:
            best.score = sum(self.improvement(best, leaf) for leaf in leaves)
        return best if best and best.score > 0 else None

    def search_leaf(self, leaf, columns):
        """The split of a leaf with the largest gain, among the best of each column and side."""
        best = None
        for c in columns:
            for splits in self.places(c, self.order(c, leaf.rows)):
                compared = [self.compared(split, leaf) for split in splits]
                at = int(np.argmax(compared))
                if not compared[at] > 0:
                    continue
                splits[at].score = self.improvement(splits[at], leaf)
                if splits[at].score > (best.score if best else 0):
                    best = splits[at]
        return best

    def divide(self, leaf, split):
        """Both sides of a leaf, or None if it stays undivided."""
        goes_left = self.goes_left(split, leaf.rows)
        rows = leaf.rows[goes_left], leaf.rows[~goes_left]
        left, right = map(self.sums, rows)
        sign, scorer = self.sign(split.column), self.scorer
        if not scorer.splits(left, right, leaf, sign):
            return None
        sides = [
            replace(leaf, rows=side, sums=sums, depth=leaf.depth + 1, split=None)
            for side, sums in zip(rows, (left, right), strict=True)
        ]
        if scorer.monotonic and sign:
            middle = (scorer.clipped(left, leaf) + scorer.clipped(right, leaf)) / 2
            lower, upper = sides if sign > 0 else sides[::-1]
            lower.most, upper.least = middle, middle
        return sides

    def send_missing(self, split, leaves):
        """Without missing values in training, they go to the side with more weight."""
        if np.any(self.codes[:, split.column] == MISSING):
            return
        weight = 0
        for leaf in leaves:
            on_left = self.sums(leaf.rows[self.goes_left(split, leaf.rows)])[-1]
            weight += 2 * on_left - leaf.sums[-1]
        if weight > 0:
            split.left |= {MISSING}

    def root(self):
        rows = np.arange(len(self.codes))
        return Leaf(rows, self.sums(rows), groups=self.groups())

    def symmetric_tree(self):
        tree, groups = Tree(leaves=[self.root()]), self.groups()
        for _ in range(self.problem.max_depth):
            best = self.search_level(tree.leaves, self.draw(groups))
            if best is None:
                break
            self.send_missing(best, tree.leaves)
            groups = self.left_groups(groups, best.column)
            leaves, number = [], []
            for leaf in tree.leaves:
                sides = self.divide(leaf, best)
                number.append((len(leaves), len(leaves) + (sides is not None)))
                leaves += sides or [leaf]
            tree.leaves = leaves
            tree.ways = [side for way in tree.ways for side in number[way]]
            tree.splits.append(best)
        return tree

    def leaf_wise_tree(self):
        problem, tree = self.problem, Tree()
        nodes = [self.root()]
        self.search_nodes(nodes)
        for n_leaves in range(2, problem.max_leaf_nodes + 1):
            open_nodes = [node for node in nodes if node.split]
            if not open_nodes:
                break
            node = max(open_nodes, key=lambda node: node.split.score)
            split, number = node.split, len(tree.splits)
            self.send_missing(split, [node])
            sides = self.divide(node, split)
            groups = self.left_groups(node.groups, split.column)
            for side, name in zip(sides, ("left", "right"), strict=True):
                side.groups, side.parent = groups, (number, name)
            tree.splits.append(split)
            tree.left.append(0)
            tree.right.append(0)
            if node.parent:
                getattr(tree, node.parent[1])[node.parent[0]] = number
            nodes = [*(other for other in nodes if other is not node), *sides]
            if n_leaves < problem.max_leaf_nodes:
                self.search_nodes(sides)
        for node in nodes:
            if node.parent:
                getattr(tree, node.parent[1])[node.parent[0]] = -1 - len(tree.leaves)
            tree.leaves.append(node)
        return tree

    def search_nodes(self, nodes):
        scorer, problem = self.scorer, self.problem
        count = -2 if scorer.counted else -1
        for node in nodes:
            columns = self.draw(node.groups)
            if problem.max_depth and node.depth >= problem.max_depth:
                continue
            if node.sums[-1] < 2 * scorer.least_hessian:
                continue
            if node.sums[count] < 2 * scorer.least_count:
                continue
            node.split = self.search_leaf(node, columns)


def put_in_order(problem, tree, quantile, values):
    """Limit quantiles on both sides of constrained splits by their middle."""

    def children(node):
        """The split of a node and its children, as (level, ways) or numbers; None for leaves."""
        if not problem.symmetric:
            return (node, tree.left[node], tree.right[node]) if node >= 0 else None
        level, ways = node
        if len(ways) == 1:
            return None
        left, right = ways[: len(ways) // 2], ways[len(ways) // 2 :]
        if left == right:  # the split leaves it as it is
            return children((level + 1, left))
        return level, (level + 1, left), (level + 1, right)

    def leaves(node):
        node_children = children(node)
        if node_children is None:
            return [node[1][0] if problem.symmetric else -1 - node]
        if problem.symmetric and node[1][: len(node[1]) // 2] == node[1][len(node[1]) // 2 :]:
            return leaves((node[0] + 1, node[1][: len(node[1]) // 2]))
        return leaves(node_children[1]) + leaves(node_children[2])

    def of(node):
        return quantile(np.concatenate([tree.leaves[leaf].rows for leaf in leaves(node)]))

    def descend(node, least, most):
        node_children = children(node)
        if node_children is None:
            (leaf,) = set(leaves(node))
            values[leaf, 0] = min(max(values[leaf, 0], least), most)
            return
        split, left, right = node_children
        sign = int(problem.monotonic[tree.splits[split].column])
        bounds = [(least, most), (least, most)]
        if sign:
            middle = sum(min(max(of(side), least), most) for side in (left, right)) / 2
            lower, upper = (least, middle), (middle, most)
            bounds = [lower, upper] if sign > 0 else [upper, lower]
        descend(left, *bounds[0])
        descend(right, *bounds[1])

    if tree.splits:
        descend((0, list(tree.ways)) if problem.symmetric else 0, -np.inf, np.inf)


def leaf_values(
    problem, round_, tree, raw, y, weights, gradient, hessian, times, drawn, curvature_unit=1.0
):
    """Leaf values times the learning rate, of shape (n_leaves, width)."""
    values = np.zeros((len(tree.leaves), problem.width))
    if problem.loss in QUANTILES:
        share = problem.quantile if problem.loss == "quantile" else 0.5

        def quantile(rows):
            rows = np.sort(rows)
            rows = rows[drawn[rows]]
            return weighted_quantile(y[rows] - raw[rows, 0], weights[rows], share)

        for leaf, value in zip(tree.leaves, values, strict=True):
            value[0] = quantile(leaf.rows) if drawn[leaf.rows].any() else 0
        if round_.grows and problem.monotonic is not None:
            put_in_order(problem, tree, quantile, values)
        return np.clip(problem.learning_rate * values, -1e90, 1e90)
    scales = [rough_scale(part, times, 50) for part in (gradient, hessian)]
    for leaf, value in zip(tree.leaves, values, strict=True):
        rows = leaf.rows[drawn[leaf.rows]]
        for k in range(problem.width):
            sums = []
            for part, scale in zip((gradient, hessian), scales, strict=True):
                unit = 0.0 if scale is None else ldexp(1.0, scale)
                total = sum(times[rows] * np.rint(part[rows, k] * unit))
                sums.append(total * ldexp(1.0, -scale) if scale is not None else 0.0)
            value[k] = newton_step(problem.loss, *sums, problem.l2 * curvature_unit)
        if round_.grows and round_.scorer.monotonic:
            unit = round_.value_unit
            value[0] = min(max(value[0], leaf.least * unit), leaf.most * unit)
    return np.clip(step_rate(problem) * values, -1e90, 1e90)


def step_rate(problem):
    """Return the factor of the steps."""
    curved = ("poisson", "gamma", "tweedie", "log_loss", "softmax", "exponential")
    return min(problem.learning_rate, 2) if problem.loss in curved else problem.learning_rate


def shorten(problem, tree, raw, y, weights, drawn, large):
    """Halve values until the loss of the rows that were drawn does not rise in any leaf.

    Of constrained trees, all values, until it does not in all.
    """
    constrained = problem.monotonic is not None and problem.monotonic.any()

    def rises(leaves):
        change, size = 0.0, 0.0
        for leaf in leaves:
            rows = tree.leaves[leaf].rows
            rows = rows[drawn[rows]]
            before = weights[rows] * losses(problem, raw[rows], y[rows], large)
            moved = raw[rows] + tree.values[leaf]
            after = weights[rows] * losses(problem, moved, y[rows], large)
            change += fsum(after - before)
            size += fsum(abs(before))
        return change > 1e-12 * size

    every = list(range(len(tree.leaves)))
    for leaves in [every] if constrained else [[leaf] for leaf in every]:
        if not rises(leaves):
            continue
        tree.values[leaves] /= 2
        rate = step_rate(problem) / 2
        while rate > 2:
            rate /= 2
            tree.values[leaves] /= 2
        while rises(leaves):
            tree.values[leaves] /= 2


def boost(problem, seeds):
    """Trees, the raw prediction before them, and raw predictions of the training rows."""
    codes, y = problem.codes[problem.train], problem.y[problem.train]
    weights = np.ones(len(y)) if problem.weights is None else problem.weights[problem.train]
    times = weights if problem.whole else np.ones(len(y))
    begin = start(problem, y, weights)
    raw = np.tile(begin, (len(y), 1))
    trees, large = [], np.inf
    unit = curvature_unit(problem, y, weights)
    for number, seed in enumerate(seeds):
        random = Random(int(seed))
        drawn = np.ones(len(y), bool)
        if problem.n_copies > 1:
            drawn = np.arange(len(y)) // (len(y) // problem.n_copies) == number % problem.n_copies
        if problem.subsample < 1:
            for i in np.flatnonzero(drawn):
                drawn[i] = ldexp(random.next() >> 11, -53) < problem.subsample
        large = large_residual(problem, raw, y, weights, large)
        gradient, hessian = gradients(problem, raw, y, weights, large)
        if not problem.whole:
            gradient, hessian = gradient * weights[:, None], hessian * weights[:, None]
        round_ = Round(problem, codes, gradient, hessian, times, drawn, random, unit)
        if not round_.grows:
            tree = Tree(leaves=[Leaf(np.arange(len(y)), [])])
        elif problem.symmetric:
            tree = round_.symmetric_tree()
        else:
            tree = round_.leaf_wise_tree()
        tree.values = leaf_values(
            problem, round_, tree, raw, y, weights, gradient, hessian, times, drawn, unit
        )
        shorten(problem, tree, raw, y, weights, drawn, large)
        for leaf, value in zip(tree.leaves, tree.values, strict=True):
            raw[leaf.rows] += value
        trees.append(tree)
    return trees, begin, raw
