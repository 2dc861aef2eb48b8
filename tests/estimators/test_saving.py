"""Models on disk: plain states, formats, skops and mapped files."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from small_models import labels, models, says, table, targets

import mddf
from mddf import MDDFClassifier, RandomForestClassifier
from mddf.explain import tree_arrays
from mddf.export import skops_types

pytestmark = pytest.mark.filterwarnings("ignore:transform was given the table:UserWarning")

MODELS = models()
PLAIN = (dict, list, tuple, np.ndarray, np.generic, str, int, float, type(None))


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    model, kind = MODELS[request.param]
    X = table(kind)
    return clone(model).fit(X, targets(model)), X


def foreign(value):
    """All objects within a state that are not plain."""
    if isinstance(value, dict):
        return [result for item in value.values() for result in foreign(item)]
    if isinstance(value, list | tuple):
        return [result for item in value for result in foreign(item)]
    return [] if isinstance(value, PLAIN) else [value]


def test_states_are_plain_and_files_are_the_same_model(fitted, tmp_path):
    model, X = fitted
    state = model.__getstate__()
    assert {type(value).__module__.split(".")[0] for value in foreign(state)} <= {"sklearn"}
    assert state["mddf_format"] >= 1
    assert state["mddf_version"] == mddf.__version__
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    for again in (pickle.loads(pickle.dumps(model)), mapped):
        assert vars(again).keys() == vars(model).keys()
        assert np.array_equal(says(again, X), says(model, X))


def test_the_trees_of_a_mapped_cascade_stay_in_the_file(tmp_path):
    model = MDDFClassifier(2, n_estimators=2, cv=2, random_state=0).fit(table("numbers"), labels())
    joblib.dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model", mmap_mode="r")
    blocks = again._fitted.trees()
    assert len(blocks) >= 8
    assert all(isinstance(trees.nodes.base, np.memmap) for trees in blocks)


def test_skops_trusts_the_estimators_alone(fitted):
    io = pytest.importorskip("skops.io", reason='needs "mddf[skops]"')
    model, X = fitted
    data = io.dumps(model)
    unknown = io.get_untrusted_types(data=data)
    assert set(unknown) <= set(skops_types())
    again = io.loads(data, trusted=skops_types())
    assert vars(again).keys() == vars(model).keys()
    assert np.array_equal(says(again, X), says(model, X))
    with pytest.raises(io.exceptions.UntrustedTypesFoundException):
        io.loads(data)


@pytest.mark.usefixtures("few_rounds")
def test_skops_trusts_all_named_members():
    io = pytest.importorskip("skops.io", reason='needs "mddf[skops]"')
    X = table("frame")
    model = mddf.DeepForestClassifier(1, n_estimators=1, cv=2, members=["random", "boosted"])
    model.fit(X, labels())
    again = io.loads(io.dumps(model), trusted=skops_types())
    assert np.array_equal(says(again, X), says(model, X))
    for members in ("auto", ["random", "boosted"]):
        forest = mddf.DeepForestRegressor(1, n_estimators=1, members=members, cv=2, random_state=0)
        forest.fit(X, np.column_stack([np.arange(len(X)), np.arange(len(X)) % 7]))
        assert "boosted" in [member.name for member in forest._fitted.stages[0].members]
        again = io.loads(io.dumps(forest), trusted=skops_types())
        assert np.array_equal(again.predict_interval(X), forest.predict_interval(X))


def test_skops_and_a_splitter():
    io = pytest.importorskip("skops.io", reason='needs "mddf[skops]"')
    X = table("numbers")
    model = MDDFClassifier(1, n_estimators=1, cv=GroupKFold(3), random_state=0)
    data = io.dumps(model.fit(X, labels(), groups=np.arange(len(X)) % 10))
    unknown = set(io.get_untrusted_types(data=data)) - set(skops_types())
    assert unknown == {"sklearn.model_selection._split.GroupKFold"}
    again = io.loads(data, trusted=[*skops_types(), *unknown])
    assert np.array_equal(says(again, X), says(model, X))


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


@pytest.mark.parametrize("name", ["mddf", "scanner", "deepboost"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_states_with_noise_are_refused_or_safe(name):
    model, kind = models()[name]
    X = table(kind)
    data = pickle.dumps(model.fit(X, labels()).__getstate__())
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


COUNTS = [
    ("random_forest", "n_features_in_"),
    ("regressor", "n_features_in_"),
    ("regressor", "n_outputs_"),
    ("mddf", "n_features_in_"),
    ("mddf", "n_layers_"),
    ("mddf", "_fitted", "n_added"),
    ("deep_forest", "n_features_in_"),
    ("deep_forest", "n_layers_"),
    ("deep_forest", "_fitted", "n_added"),
    ("deep_regressor", "n_outputs_"),
    ("deepboost", "n_iter_"),
]


@pytest.fixture(scope="module")
def stored_states():
    names = {name for name, *_ in COUNTS}
    fits = {
        name: clone(MODELS[name][0]).fit(table(MODELS[name][1]), targets(MODELS[name][0]))
        for name in names
    }
    return {name: pickle.dumps(fit.__getstate__()) for name, fit in fits.items()}


def test_sizes_that_would_need_much_memory_are_refused(stored_states):
    for place in COUNTS:
        name, *keys, last = place
        state = within = pickle.loads(stored_states[name])
        for key in keys:
            within = within[key]
        within[last] += 2**33
        with pytest.raises(ValueError, match=rf"{last.removeprefix('_')} of .* got 8589934\d"):
            type(MODELS[name][0])().__setstate__(state)


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
