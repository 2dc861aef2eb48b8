"""Damaged states of models, and mapped files."""

import pickle

import joblib
import numpy as np
import pytest
from small_models import labels, says, table
from stored_cases import fitted

from mddf import MDDFClassifier, RandomForestClassifier
from mddf.explain import tree_arrays

pytestmark = pytest.mark.filterwarnings("ignore:transform was given the table:UserWarning")


def test_the_trees_of_a_mapped_cascade_stay_in_the_file(tmp_path):
    model = MDDFClassifier(2, n_estimators=2, cv=2, random_state=0).fit(table("numbers"), labels())
    joblib.dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model", mmap_mode="r")
    blocks = again._fitted.trees()
    assert len(blocks) >= 8
    assert all(isinstance(trees.nodes.base, np.memmap) for trees in blocks)


@pytest.fixture
def forest():
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(table("numbers"), labels())


def stored_member(state):
    return state["_fitted"]["stages"][0]["members"][0]


def test_unknown_parts_are_refused(forest):
    for name in ["os.system", "", None, ["trees"], 3]:
        state = forest.__getstate__()
        member = stored_member(state)
        member["models"] = [{**member["models"][0], "mddf_type": name}]
        with pytest.raises(ValueError, match="no class of mddf is registered"):
            RandomForestClassifier().__setstate__(state)


def test_damaged_trees_are_refused(forest):
    state = forest.__getstate__()
    (trees,) = stored_member(state)["models"]
    trees["nodes"] = trees["nodes"][:-1]
    with pytest.raises(ValueError, match="trees: "):
        RandomForestClassifier().__setstate__(state)


def arrays_within(value):
    if isinstance(value, np.ndarray):
        return [value] if value.size and value.dtype.kind in "iuf" else []
    items = value.values() if isinstance(value, dict) else value
    inner = isinstance(value, dict | list | tuple)
    return [array for item in items for array in arrays_within(item)] if inner else []


@pytest.mark.parametrize("name", ["MDDFClassifier, frame", "scanner", "DeepBoostClassifier"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_states_with_noise_are_refused_or_safe(name):
    model, X, _ = fitted(name)
    data = pickle.dumps(model.__getstate__())
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        state = pickle.loads(data)
        arrays = arrays_within(state)
        array = arrays[rng.integers(len(arrays))]
        array.view(np.uint8).reshape(-1)[rng.integers(array.nbytes)] ^= 1 << rng.integers(8)
        made = type(model)()
        try:
            made.__setstate__(state)
            says(made, X[:20])
        except (ValueError, IndexError, MemoryError):  # a number of members may be huge
            refused += 1
    assert refused > 5


@pytest.mark.parametrize(
    "place",
    [
        ("RandomForestClassifier", "n_features_in_"),
        ("RandomForestRegressor", "n_features_in_"),
        ("RandomForestRegressor", "n_outputs_"),
        ("MDDFClassifier, frame", "n_features_in_"),
        ("MDDFClassifier, frame", "n_layers_"),
        ("MDDFClassifier, frame", "_fitted", "n_added"),
        ("deep forest, refit=True", "n_features_in_"),
        ("deep forest, refit=True", "n_layers_"),
        ("deep forest, refit=True", "_fitted", "n_added"),
        ("deep regressor, refit=True", "n_outputs_"),
        ("DeepBoostClassifier", "n_iter_"),
    ],
    ids=str,
)
def test_sizes_that_would_need_much_memory_are_refused(place):
    name, *keys, last = place
    model, *_ = fitted(name)
    state = within = pickle.loads(pickle.dumps(model.__getstate__()))
    for key in keys:
        within = within[key]
    within[last] += 2**33
    with pytest.raises(ValueError, match=rf"{last.removeprefix('_')} of .* got 8589934\d"):
        type(model)().__setstate__(state)


def test_trees_of_mapped_files_are_checked_before_they_are_read(forest, tmp_path):
    state = forest.__getstate__()
    (trees,) = stored_member(state)["models"]
    nodes = trees["nodes"].copy()
    nodes[0] &= ~np.uint64(0xFFFFFFFF)  # the root is its own child
    trees["nodes"] = nodes
    joblib.dump(state, tmp_path / "state")
    made = RandomForestClassifier()
    made.__setstate__(joblib.load(tmp_path / "state", mmap_mode="r"))
    with pytest.raises(ValueError, match="trees: "):
        tree_arrays(made)
