"""Growth options against slow twins: losses, best first, pruning, bounds."""

import naive
import naive_growth as twin
import numpy as np
import pytest
from compiled import _core
from forest_cases import make_case
from value_cases import make_values

LOSSES = {
    "squared": _core.Loss.SQUARED_ERROR,
    "poisson": _core.Loss.POISSON,
    "absolute": _core.Loss.ABSOLUTE_ERROR,
}
CRITERIA = ["gini", "entropy", *LOSSES]
KINDS = {
    "numeric": {},
    "missing": {"missing": 0.25},
    "categories": {"categories": 0.6, "missing": 0.15},
}
every_criterion = pytest.mark.parametrize("loss", CRITERIA)


def any_case(rng, loss, n_rows=None, **options):
    """A classification or regression case, and the options of its trees."""
    n_rows = int(rng.integers(4, 30)) if n_rows is None else n_rows
    if loss not in LOSSES:
        options.pop("n_outputs", None)
        return make_case(rng, n_rows, **options), {"entropy": loss == "entropy"}
    case = make_values(rng, n_rows, kind=str(rng.choice(["plain", "few"])), **options)
    if loss == "poisson":
        case.fixed = np.abs(case.fixed)
    return case, {"loss": LOSSES[loss]}


def close(a, b):
    return a == b or abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["poisson", "absolute"])
def test_every_split_is_the_best(loss, kind):
    for n_outputs in [1, 3]:
        for weighted in [False, True]:
            rng = np.random.default_rng([len(kind), weighted, n_outputs])
            for seed in range(10):
                case, options = any_case(
                    rng, loss, weighted=weighted, n_outputs=n_outputs, **KINDS[kind]
                )
                weights = case.given_weights()
                (nodes,) = naive.decode(case.grow([seed], **options))
                for node, node_rows, gain, best in twin.replayed(
                    nodes, case, weights, loss
                ).values():
                    if not node.is_leaf:
                        assert close(gain, best), (gain, best)
                        continue
                    assert best == -np.inf
                    for j, value in enumerate(node.value):
                        y = case.fixed[node_rows, j] / 2.0**61
                        expected = (
                            twin.weighted_median(y, weights[node_rows])
                            if loss == "absolute"
                            else np.average(y, weights=weights[node_rows])
                        )
                        assert value == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("loss", ["poisson", "absolute"])
@pytest.mark.parametrize(("n_rows", "n_bins"), [(70, 200), (150, 255), (150, 6)])
def test_larger_nodes(loss, n_rows, n_bins):
    for n_outputs in [1, 2]:
        rng = np.random.default_rng([n_rows, n_bins])
        case_options = {"n_columns": 5, "n_bins": n_bins, "missing": 0.1, "n_outputs": n_outputs}
        case, options = any_case(rng, loss, n_rows, **case_options)
        (nodes,) = naive.decode(case.grow([7], n_draws=n_rows, max_depth=3, **options))
        weights = naive.bootstrap(7, case.rows, n_rows, n_rows).astype(float)
        for node, _, gain, best in twin.replayed(nodes, case, weights, loss).values():
            assert node.is_leaf or close(gain, best)


@every_criterion
def test_best_first(loss):
    """Replays growth: the waiting node with the largest gain is split next."""
    for weighted in [False, True]:
        rng = np.random.default_rng([len(loss), weighted])
        for seed in range(10):
            case, options = any_case(rng, loss, weighted=weighted, missing=0.1, categories=0.2)
            most = int(rng.integers(2, 9))
            (nodes,) = naive.decode(case.grow([seed], max_leaf_nodes=most, **options))
            result = twin.replayed(nodes, case, case.given_weights(), loss)
            waiting, n_leaves = {0}, 1
            while any(result[index][2] is not None for index in waiting):
                index = max(
                    (i for i in waiting if result[i][2] is not None), key=lambda i: result[i][2]
                )
                node, _, gain, best = result[index]
                assert close(gain, best)
                assert all(result[i][3] <= gain + 1e-9 * max(1, gain) for i in waiting)
                waiting = waiting - {index} | {node.left, node.right}
                n_leaves += 1
            assert n_leaves <= most
            assert n_leaves == most or all(result[i][3] == -np.inf for i in waiting)


@every_criterion
def test_least_decrease(loss):
    for max_leaf_nodes in [0, 6]:
        rng = np.random.default_rng(len(loss))
        for seed in range(10):
            case, options = any_case(rng, loss, missing=0.1, weighted=seed % 2 == 1)
            weights = case.given_weights()
            whole = twin.impurity(case, np.flatnonzero(weights), weights, loss)
            least = float(rng.uniform(0.02, 0.2)) * whole / weights.sum()
            trees = case.grow([seed], min_decrease=least, max_leaf_nodes=max_leaf_nodes, **options)
            (nodes,) = naive.decode(trees)
            replayed = twin.replayed(nodes, case, weights, loss).values()
            n_leaves = sum(node.is_leaf for node, *_ in replayed)
            for node, _, gain, best in replayed:
                if not node.is_leaf:
                    assert close(gain, best)
                    assert gain / weights.sum() >= least - 1e-12
                elif max_leaf_nodes == 0 or n_leaves < max_leaf_nodes:
                    assert best / weights.sum() < least + 1e-12


@every_criterion
def test_pruning_removes_the_weakest_links(loss):
    for max_leaf_nodes in [0, 7]:
        for max_features in [1, 9]:
            rng = np.random.default_rng([len(loss), max_leaf_nodes])
            sizes = set()
            for seed in range(12):
                case, options = any_case(
                    rng, loss, missing=0.1, categories=0.3, weighted=seed % 2 == 1
                )
                options |= {"max_leaf_nodes": max_leaf_nodes, "max_features": max_features}
                if loss == "gini" and max_leaf_nodes == 0:
                    options["random_thresholds"] = seed % 3 == 0
                weights = case.given_weights()
                options["min_decrease"] = 1e-300  # what splits are worth decides in both
                (whole,) = naive.decode(case.grow([seed], **options))
                replayed = twin.replayed(whole, case, weights, loss)
                gains = {i: gain for i, (_, _, gain, _) in replayed.items() if gain is not None}
                alpha = float(rng.choice([0.01, 0.05, 0.2])) * (
                    max(gains.values(), default=0) + 0.1
                )
                alpha += 1e-7  # no tie
                trees, _, _, result = case.grow_all(
                    [seed], prune=alpha / weights.sum(), importances=True, **options
                )
                (nodes,) = naive.decode(trees)
                stay = twin.weakest_links(whole, gains, alpha)
                assert twin.shape(nodes) == twin.shape(whole, stay)
                expected = np.zeros(case.n_columns)
                for index in stay:
                    expected[whole[index].column] += gains[index]
                unit = (
                    result[0].sum() / expected.sum() if stay else 1.0
                )  # of weights in trees of numbers
                assert loss in LOSSES or unit == pytest.approx(1)
                np.testing.assert_allclose(result[0], unit * expected, rtol=1e-9, atol=1e-9 * unit)
                n_leaves = sum(node.is_leaf for node in nodes.values())
                sizes.add((n_leaves, len(stay)))
                for node, node_rows, _ in naive.visit(nodes, case.codes, np.flatnonzero(weights)):
                    if node.is_leaf and loss in LOSSES:
                        expected = twin.predicted(case, node_rows, weights, loss)
                        assert node.value[0] == pytest.approx(expected, rel=1e-12, abs=1e-15)
                    elif node.is_leaf:
                        shares = (
                            np.bincount(case.labels[node_rows], weights[node_rows])
                            / weights[node_rows].sum()
                        )
                        for label, share in enumerate(shares):
                            assert node.distribution.get(label, 0) == pytest.approx(
                                share, abs=1e-7
                            )
                trees.reader.check()
                table = trees.parts()[
                    -1
                ]  # of leaf values, or of shares: nothing is left of what went
                used = [node for node in nodes.values() if node.is_leaf]
                if loss in LOSSES:
                    assert len(table) == len(used)
                else:
                    mixed = {
                        tuple(n.distribution.items()) for n in used if len(n.distribution) > 1
                    }
                    assert len(table) == sum(map(len, mixed))
            assert len(sizes) > 2


@every_criterion
def test_monotonic(loss):
    """Predictions are monotonic, and every split is the best allowed one."""
    for random_thresholds in [False, True]:
        for max_leaf_nodes in [0, 6]:
            rng = np.random.default_rng([len(loss), max_leaf_nodes])
            n_refused = 0
            for seed in range(10):
                n_columns = int(rng.integers(1, 4))
                case, options = any_case(rng, loss, 30, n_columns=n_columns, n_classes=2, n_bins=5)
                directions = rng.integers(-1, 2, n_columns).astype(np.int8)
                directions[0] = 1
                options |= {"monotonic": directions, "max_leaf_nodes": max_leaf_nodes}
                trees = case.grow([seed], random_thresholds=random_thresholds, **options)
                (nodes,) = naive.decode(trees)
                weights = case.given_weights()
                n_refused += check_bounds(
                    nodes, case, weights, loss, directions, random_thresholds
                )
                counts = np.diff(case.start)
                grid = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1)
                flat = grid.reshape(-1, n_columns).astype(np.uint8)
                predictions = np.array([value_of(naive.find_leaf(nodes, row)) for row in flat])
                predictions = predictions.reshape(counts)
                for axis, direction in enumerate(directions):
                    assert np.all(direction * np.diff(predictions, axis=axis) >= 0)
            assert n_refused > 0 or random_thresholds


def value_of(leaf):
    return leaf.value[0] if leaf.value else leaf.distribution.get(1, 0.0)


def check_bounds(nodes, case, weights, loss, directions, is_random):
    """Number of nodes whose split the constraints changed or prevented."""
    n_refused = 0
    waiting = [(0, np.flatnonzero(weights > 0), -np.inf, np.inf)]
    while waiting:
        index, node_rows, lower, upper = waiting.pop()
        node = nodes[index]
        if node.is_leaf:
            expected = np.clip(twin.predicted(case, node_rows, weights, loss), lower, upper)
            assert value_of(node) == pytest.approx(expected, abs=1e-7)
            continue

        def middle(left, right):
            return [twin.predicted(case, side, weights, loss) for side in (left, right)]

        def allow(column, left, right, bounds=(lower, upper)):
            a, b = middle(left, right)
            inside = bounds[0] <= min(a, b) + 1e-12 and max(a, b) <= bounds[1] + 1e-12
            return directions[column] == 0 or (inside and (a - b) * directions[column] <= 1e-12)

        left = twin.split_of(nodes, node, case, node_rows)
        sides = node_rows[left], node_rows[~left]
        assert allow(node.column, *sides)
        if not is_random:
            gain = twin.decrease(case, node_rows, left, weights, loss)
            best = twin.best_decrease(case, node_rows, weights, loss, allow)
            assert gain >= best - 1e-6
            n_refused += twin.best_decrease(case, node_rows, weights, loss) > best + 1e-6
        between, direction = np.mean(middle(*sides)), directions[node.column]
        low = (lower, between) if direction else (lower, upper)
        high = (between, upper) if direction else (lower, upper)
        if direction < 0:
            low, high = high, low
        waiting += [(node.left, sides[0], *low), (node.right, sides[1], *high)]
    return n_refused


def test_options_that_do_not_do():
    case = make_case(np.random.default_rng(0), 20, 3, 3, 4)
    for options, message in [
        ({"max_leaf_nodes": -1}, "max_leaf_nodes"),
        ({"min_decrease": -0.5}, "min_decrease"),
        ({"min_decrease": float("nan")}, "min_decrease"),
        ({"prune": -0.5}, "prune"),
        ({"monotonic": np.array([2, 0, 0], np.int8)}, "monotonic"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.TreeOptions(**options)
    for directions, message in [
        (np.ones(2, np.int8), "monotonic"),
        (np.ones(3, np.int8), "monotonic: only with two classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            case.grow([1], monotonic=directions)
    case = make_case(np.random.default_rng(0), 20, 3, 2, 4, categories=1.0)
    with pytest.raises(ValueError, match="monotonic: columns of categories"):
        case.grow([1], monotonic=np.ones(3, np.int8))
