"""Trees from external arrays or pickles are checked before use."""

import pickle

import joblib
import numpy as np
import pytest
from forest_cases import Trees, kernel_case, same_trees

from mddf import CompletelyRandomForestClassifier


@pytest.fixture
def trees():
    return kernel_case().grow([0, 1], max_depth=2, n_draws=20)


LEAF = 3 << 62
PURE = 1 << 31


def inner(left, column=0, threshold=1, kind=0):
    return kind << 62 | threshold << 54 | column << 32 | left


def make(nodes, starts=None, leaves=((0, 2), (0, 1), (0.5, 0.5)), n_classes=2, n_columns=2):
    starts = [0, len(nodes)] if starts is None else starts
    return Trees(
        n_classes,
        n_columns,
        np.array(nodes, np.uint64),
        np.array(starts, np.int64),
        np.array(leaves[0], np.uint32),
        np.array(leaves[1], np.uint16),
        np.array(leaves[2], np.float32),
    )


STUMP = [inner(1), LEAF | PURE | 0, LEAF | 0]


def test_a_stump_by_hand():
    out = np.zeros((3, 2))
    bins = np.array([[1, 9], [2, 9], [255, 9]], np.uint8)
    make(STUMP).reader.add_leaf_values(bins, 0, 3, out)
    assert out.tolist() == [[1, 0], [0.5, 0.5], [0.5, 0.5]]
    make([inner(1, kind=1, threshold=2), *STUMP[1:]]).reader.add_leaf_values(bins, 0, 3, out)
    assert out.tolist() == [[2, 0], [1, 1], [1.5, 0.5]]


def test_a_category_set_by_hand():
    nodes = [inner(1, 1, 2 | 128, kind=2), LEAF | PURE | 0, LEAF | PURE | 1, 1 << 3, 1 << 6]
    bins = np.array([[0, 3], [0, 70], [0, 4], [0, 200], [0, 255]], np.uint8)
    out = np.zeros((5, 2))
    make(nodes).reader.add_leaf_values(bins, 0, 5, out)
    assert out[:, 0].tolist() == [1, 1, 0, 0, 1]


def random_tree(rng, kinds, n_splits=200, n_columns=5):
    """A random tree with nodes of some kinds and category sets of any length."""
    nodes, leaves = [LEAF | PURE], [0]
    for _ in range(n_splits):
        at, left = leaves.pop(rng.integers(len(leaves))), len(nodes)
        kind, column = int(rng.choice(kinds)), int(rng.integers(n_columns))
        n_words = int(rng.integers(5))
        threshold = n_words | 128 * int(rng.integers(2)) if kind == 2 else int(rng.integers(256))
        nodes[at] = inner(left, column, threshold, kind)
        nodes += [LEAF | PURE | 0, LEAF | PURE | 1]
        if kind == 2:
            nodes += rng.integers(2**64, size=n_words, dtype=np.uint64).tolist()
        leaves += [left, left + 1]
    return nodes


def leaf_of(nodes, bins):
    """The leaf of a row, computed only from the words described in `trees.hpp`."""
    at = 0
    while (kind := nodes[at] >> 62) < 3:
        left, threshold = nodes[at] & (2**32 - 1), nodes[at] >> 54 & 255
        code = int(bins[nodes[at] >> 32 & (2**22 - 1)])
        if kind < 2:
            goes_left = (code + kind) % 256 <= threshold
        elif code == 255:
            goes_left = threshold & 128
        else:
            word = code >> 6
            goes_left = word < threshold & 7 and nodes[left + 2 + word] >> (code & 63) & 1
        at = left if goes_left else left + 1
    return at


@pytest.mark.parametrize("kinds", [(0, 1), (0, 1, 2), (2,)], ids=["numbers", "mixed", "sets"])
def test_rows_alone_and_together_end_where_a_slow_traversal_does(kinds):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        trees = [random_tree(rng, kinds), random_tree(rng, kinds, 5), random_tree(rng, kinds)]
        bins = rng.integers(256, size=(1500, 5)).astype(np.uint8)
        bins[rng.random(bins.shape) < 0.1] = 255
        expected = [[leaf_of(nodes, row) for nodes in trees] for row in bins]
        starts = np.cumsum([0, *map(len, trees)])
        block = make([node for tree in trees for node in tree], starts, n_columns=5)
        result = np.empty((1500, 3), np.int64)
        for first, last in [
            (0, 1500),
            (0, 100),
            (3, 23),
            (0, 9),
            *((i, i + 1) for i in range(50)),
        ]:
            result[first:last] = -1
            block.reader.leaf_indices(bins, first, last, result)
            assert result.tolist() == expected


@pytest.mark.parametrize("kinds", [(0, 1), (0, 1, 2), (2,)], ids=["numbers", "mixed", "sets"])
def test_columns_used_by_trees(kinds):
    rng = np.random.default_rng(1)
    trees = [random_tree(rng, kinds, 30, n_columns=300) for _ in range(3)]
    expected, reached = np.zeros(300, bool), 0
    for nodes in trees:
        waiting = [0]
        while waiting:
            node = nodes[waiting.pop()]
            if node >> 62 < 3:
                expected[node >> 32 & (2**22 - 1)] = True
                waiting += [node & (2**32 - 1), (node & (2**32 - 1)) + 1]
                reached += 1
    assert reached == 90
    assert 0 < expected.sum() < 90
    starts = np.cumsum([0, *map(len, trees)])
    block = make([node for tree in trees for node in tree], starts, n_columns=300)
    result = np.zeros(300, bool)
    block.mark_columns(result)
    assert np.array_equal(result, expected)
    result[:] = True  # marks are added
    pickle.loads(pickle.dumps(block)).mark_columns(result)
    assert result.all()
    with pytest.raises(ValueError, match="out"):
        block.mark_columns(np.zeros(299, bool))


@pytest.mark.parametrize("kinds", [(0, 1), (0, 1, 2)], ids=["numbers", "mixed"])
def test_wide_rows_end_where_a_slow_traversal_does_in_large_trees(kinds):
    rng = np.random.default_rng(0)
    nodes = random_tree(rng, kinds, 25_000, n_columns=1000)
    bins = rng.integers(256, size=(2500, 1000)).astype(np.uint8)
    result = np.empty((2500, 1), np.int64)
    make(nodes, n_columns=1000).reader.leaf_indices(bins, 0, 2500, result)
    assert result[:, 0].tolist() == [leaf_of(nodes, row) for row in bins]


def test_hostile_parts():
    for arguments, message in [
        ({"nodes": [inner(2), *STUMP[1:]]}, "child"),
        ({"nodes": [inner(0), *STUMP[1:]]}, "child"),
        ({"nodes": [inner(2**32 - 1), *STUMP[1:]]}, "child"),
        ({"nodes": [inner(2**31), *STUMP[1:]]}, "child"),
        ({"nodes": [inner(1), inner(1), LEAF | PURE]}, "child"),
        ({"nodes": [inner(1), inner(2), LEAF | PURE, LEAF | PURE]}, "shared"),
        ({"nodes": [inner(1), inner(3), inner(3), LEAF | PURE, LEAF | PURE]}, "shared"),
        ({"nodes": [inner(1, threshold=3, kind=2), *STUMP[1:]]}, "child"),
        ({"nodes": [inner(1, threshold=5, kind=2), *STUMP[1:], 0, 0, 0, 0, 0]}, "set"),
        ({"nodes": [inner(1, column=2), *STUMP[1:]]}, "column"),
        ({"nodes": [inner(1, column=2**22 - 1), *STUMP[1:]]}, "column"),
        ({"nodes": [LEAF | 0x3FC00000 << 32 | PURE]}, "weight"),
        ({"nodes": [inner(1), LEAF | (2**30 - 1) << 32 | PURE, LEAF | PURE]}, "weight"),
        ({"nodes": [LEAF | 1]}, "leaf"),
        ({"nodes": [LEAF | 2**31 - 1]}, "leaf"),
        ({"nodes": [LEAF | PURE | 2]}, "leaf"),
        ({"nodes": [LEAF | PURE | 70000]}, "leaf"),
        ({"nodes": STUMP, "starts": [0, 2]}, "tree_start"),
        ({"nodes": STUMP, "starts": [0, 10**9, 3]}, "tree_start"),
        ({"nodes": STUMP, "starts": [0, 2**62, 3]}, "tree_start"),
        ({"nodes": STUMP, "starts": [0, -5, 3]}, "tree_start"),
        ({"nodes": STUMP, "starts": [0, 0, 3]}, "tree_start"),
        ({"nodes": STUMP, "starts": [1, 3]}, "tree_start"),
        ({"nodes": STUMP, "starts": []}, "tree_start"),
        ({"nodes": STUMP, "leaves": ([], [], [])}, "leaf table"),
        ({"nodes": STUMP, "leaves": ([0, 3], [0, 1], [0.5, 0.5])}, "leaf table"),
        ({"nodes": STUMP, "leaves": ([0, 2], [0, 1], [0.5])}, "leaf table"),
        ({"nodes": STUMP, "leaves": ([0, 10**9, 2], [0, 1], [0.5, 0.5])}, "leaf_start"),
        ({"nodes": STUMP, "leaves": ([0, 2], [0, 2], [0.5, 0.5])}, "class"),
        ({"nodes": STUMP, "leaves": ([0, 2], [0, 1], [0.5, np.nan])}, "probability"),
        ({"nodes": STUMP, "leaves": ([0, 2], [0, 1], [-0.5, 1.5])}, "probability"),
        ({"nodes": STUMP, "n_classes": 0}, "n_classes"),
        ({"nodes": STUMP, "n_classes": 65536}, "n_classes"),
        ({"nodes": STUMP, "n_columns": 0}, "n_columns"),
        ({"nodes": STUMP, "n_columns": -1}, "n_columns"),
        ({"nodes": [LEAF | PURE], "n_columns": 0}, "n_columns"),
        ({"nodes": STUMP, "n_columns": 2**40}, "n_columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(**arguments)


def test_parts_of_noise_are_refused_or_safe(trees):
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 256, (40, 3), dtype=np.uint8)
    n_refused = 0
    for _ in range(3000):
        parts = [part.copy() if isinstance(part, np.ndarray) else part for part in trees.parts()]
        which = int(rng.integers(2, 6))
        part = parts[which]
        noise = rng.integers(0, 2**63, dtype=np.uint64) >> np.uint64(rng.integers(64))
        with np.errstate(over="ignore"):
            part[rng.integers(len(part))] ^= noise.astype(part.dtype)
        try:
            made = Trees(*parts)
        except ValueError:
            n_refused += 1
            continue
        made.reader.add_leaf_values(bins, 0, 40, np.zeros((40, made.n_classes)))
        made.reader.leaf_indices(bins, 0, 40, np.zeros((40, made.n_trees), np.int64))
        assert made.n_nodes > 0
    assert n_refused > 500


def test_pickle(trees):
    copy = pickle.loads(pickle.dumps(trees))
    for a, b in zip(copy.parts(), trees.parts(), strict=True):
        assert np.array_equal(a, b)
    assert (copy.n_trees, copy.n_nodes, copy.n_bytes) == (
        trees.n_trees,
        trees.n_nodes,
        trees.n_bytes,
    )


def test_corrupted_states(trees):
    state = trees.__getstate__()
    states = [
        {},
        {name: part for name, part in state.items() if name != "nodes"},
        {**state, "more": 1},
        None,
        [1, 2],
        {**state, "n_classes": "a"},
        {**state, "n_classes": 0},
        {**state, "n_columns": -1},
        {**state, "nodes": "nodes"},
        {**state, "nodes": None},
        {**state, "nodes": state["nodes"][:-1]},
        {**state, "nodes": state["nodes"].astype(np.int64)},
        {**state, "nodes": state["nodes"][None]},
        {**state, "leaf_probability": state["leaf_probability"].astype(object)},
    ]
    for state in states:
        with pytest.raises(ValueError):
            Trees.__new__(Trees).__setstate__(state)


def test_bytes_of_a_pickle_that_are_damaged(trees):
    # The arrays within; the rest of a pickle is for pickle to refuse.
    data = pickle.dumps(trees, protocol=5)
    rng = np.random.default_rng(0)
    n_refused = 0
    for name in ("nodes", "tree_start", "leaf_start", "leaf_class", "leaf_probability"):
        array = getattr(trees, name).tobytes()
        at = data.index(array)
        for _ in range(100):
            damaged = bytearray(data)
            damaged[at + rng.integers(len(array))] ^= 1 << rng.integers(8)
            try:
                made = pickle.loads(damaged)
            except ValueError:
                n_refused += 1
                continue
            made.reader.add_leaf_values(np.zeros((9, 3), np.uint8), 0, 9, np.zeros((9, 3)))
    assert n_refused > 250


def test_trees_cannot_be_changed(trees):
    with pytest.raises(AttributeError):
        trees.n_classes = 9
    for part in trees.parts()[2:]:
        with pytest.raises(ValueError, match="read-only"):
            part[:] = 0
    mine = trees.nodes.copy()
    made = Trees(*trees.parts()[:2], mine, *trees.parts()[3:])
    assert np.shares_memory(made.nodes, mine)
    assert not made.nodes.flags.writeable


def mapped(path, trees, **changes):
    joblib.dump(trees, path)
    return joblib.load(path, mmap_mode="r", **changes)


def test_a_mapped_file_is_read_in_place(tmp_path, trees):
    again = mapped(tmp_path / "trees", trees)
    for name, part in zip(trees.__getstate__(), again.parts(), strict=True):
        if isinstance(part, np.ndarray):
            assert isinstance(part.base, np.memmap), name
    assert same_trees(trees, again)
    bins = np.random.default_rng(0).integers(0, 256, (40, 3), dtype=np.uint8)
    probabilities, expected = np.zeros((2, 40, 3))
    again.reader.add_leaf_values(bins, 0, 40, probabilities)
    trees.reader.add_leaf_values(bins, 0, 40, expected)
    assert np.array_equal(probabilities, expected)
    assert again.n_nodes == trees.n_nodes


def test_a_mapped_file_is_checked_when_it_is_used(tmp_path, trees):
    nodes = trees.nodes.copy()
    path = tmp_path / "trees"
    joblib.dump(trees, path)
    data = path.read_bytes()
    at = data.index(nodes.tobytes())
    damaged = inner(2**20).to_bytes(8, "little")
    path.write_bytes(data[:at] + damaged + data[at + 8 :])
    again = joblib.load(path, mmap_mode="r")
    bins = np.zeros((4, 3), np.uint8)
    for _ in range(2):
        with pytest.raises(ValueError, match="child"):
            again.reader.add_leaf_values(bins, 0, 4, np.zeros((4, 3)))
    with pytest.raises(ValueError, match="child"):
        again.reader.leaf_indices(bins, 0, 4, np.zeros((4, 2), np.int64))
    with pytest.raises(ValueError, match="child"):
        _ = again.n_nodes
    with pytest.raises(ValueError, match="child"):
        joblib.load(path)


@pytest.mark.parametrize("n_rows", [200, 40_000])
def test_rows_are_predicted_in_blocks(n_rows):
    # of as many as suit small trees, and trees of more than 2^15 nodes
    rng = np.random.default_rng(n_rows)
    X, y = rng.random((n_rows, 4)), rng.integers(0, 3, n_rows)
    model = CompletelyRandomForestClassifier(3, random_state=0).fit(X, y)
    new = rng.random((33_000, 4))
    pieces = [model.predict_proba(new[i : i + 100]) for i in range(0, len(new), 100)]
    assert np.array_equal(model.predict_proba(new), np.vstack(pieces))
    assert np.array_equal(model.apply(new)[-1], model.apply(new[-1:])[0])
