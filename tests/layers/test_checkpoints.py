"""Fits that go on after the layers in a folder."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from forest_cases import three_classes
from mddf.baselines import GCForestClassifier, MLDFClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.naive_bayes import GaussianNB

import mddf
from mddf import DeepForestClassifier, DeepForestRegressor, MDDFClassifier, RandomForestClassifier
from mddf.rules import AccuracyScreening, LayerRules, MarginRules, trees_by_rows

N_LAYERS = 4


def cascade(folder, Cascade=MDDFClassifier, **parameters):
    parameters = {"n_layers": N_LAYERS, "n_estimators": 4, "cv": 2, **parameters}
    parameters = {"early_stopping": False, "random_state": 0, **parameters}
    return Cascade(checkpoint=folder, **parameters)


def deep(folder, Deep=DeepForestClassifier, **parameters):
    parameters = {"n_estimators": 4, "cv": 2, "random_state": 0, **parameters}
    return Deep(checkpoint=folder, **parameters)


def layers(folder):
    """Names of the files of layers."""
    return sorted(path.name for path in folder.glob("layer-*.mddf"))


def complete_data():
    X, y = three_classes()
    return np.nan_to_num(X), np.unique(y, return_inverse=True)[1]


@pytest.mark.parametrize("Cascade", [MDDFClassifier, GCForestClassifier])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cv": "oob"},
        {"refit": True, "calibrate": True},
        {"rules": LayerRules(screening=AccuracyScreening(), n_estimators=trees_by_rows)},
    ],
)
def test_cascades_go_on_after_any_layer(Cascade, options, tmp_path):
    X, y = three_classes()
    weights = np.arange(len(y)) % 3 + 1.0
    expected = cascade(None, Cascade, **options)
    features = expected.fit_transform(X, y, weights)
    cascade(tmp_path, Cascade, **options).fit(X, y, weights)
    names = layers(tmp_path)
    assert len(names) == N_LAYERS
    for n_kept in (4, 2, 1):
        for name in names[n_kept:]:
            (tmp_path / name).unlink()
        before = {name: (tmp_path / name).stat().st_mtime_ns for name in names[:n_kept]}
        again = cascade(tmp_path, Cascade, n_jobs=2, **options)
        np.testing.assert_array_equal(again.fit_transform(X, y, weights), features)
        np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))
        for name in ("margins_", "weights_", "member_scores_", "feature_importances_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(expected, name))
        after = {name: (tmp_path / name).stat().st_mtime_ns for name in names[:n_kept]}
        assert after == before


def test_multi_label_forests_go_on(tmp_path):
    X, y = complete_data()
    y = np.column_stack([y == 0, y > 0]).astype(int)
    models = [
        MLDFClassifier(3, n_estimators=4, random_state=0, checkpoint=folder).fit(X, y)
        for folder in (None, tmp_path, tmp_path)
    ]
    assert len(layers(tmp_path)) >= 2
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))
        np.testing.assert_array_equal(model.history_["reused"], models[0].history_["reused"])


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize(
    ("Deep", "parameters", "n_outputs"),
    [
        (DeepForestClassifier, {"members": ["random", GaussianNB()], "n_layers": 3}, 1),
        (DeepForestClassifier, {"members": "auto", "refit": False, "n_layers": 3, "cv": 3}, 1),
        (DeepForestClassifier, {"members": ["random", "linear"], "n_layers": 3, "cv": 3}, 2),
        (DeepForestRegressor, {"members": "auto", "n_layers": 3, "cv": 3}, 1),
    ],
)
def test_deep_forests_go_on_after_any_layer(
    Deep, parameters, n_outputs, tmp_path, every_layer_is_grown
):
    X, y = complete_data()
    if n_outputs == 2:
        y = np.column_stack([y, y == 1])
    expected = deep(None, Deep, **parameters).fit(X, y)
    deep(tmp_path, Deep, **parameters).fit(X, y)
    names = layers(tmp_path)
    assert len(names) >= 2
    for n_kept in range(len(names), 0, -1):
        for name in names[n_kept:]:
            (tmp_path / name).unlink()
        again = deep(tmp_path, Deep, **parameters).fit(X, y)
        np.testing.assert_array_equal(again.predict(X), expected.predict(X))
        np.testing.assert_array_equal(again.transform(X[::2]), expected.transform(X[::2]))
        for row, expected_row in zip(again.leaderboard_, expected.leaderboard_, strict=True):
            assert row | {"seconds": 0} == expected_row | {"seconds": 0}


def test_other_fits_are_refused_with_the_difference(tmp_path):
    X, y = complete_data()
    options = {"n_layers": 1, "scoring": make_scorer(accuracy_score)}
    forests = ["random", RandomForestClassifier(3)]
    model = cascade(tmp_path, forests=forests, **options).fit(X, y)
    for parameters in (
        {"n_estimators": 5},
        {"random_state": 1},
        {"forests": ["random", RandomForestClassifier(3, max_depth=2)]},
        {"rules": MarginRules(mu=0.2)},
        {"scoring": make_scorer(f1_score, average="macro")},
        {"cv": KFold(2)},
    ):
        other = cascade(tmp_path, forests=forests, **options).set_params(**parameters)
        (name,) = parameters
        with pytest.raises(ValueError, match=f"checkpoint: .* is of a fit with another {name};"):
            other.fit(X, y)
        assert not hasattr(other, "classes_")
    moved = X.copy()
    moved[0, 0] += 9
    for name, arguments in {
        "X": (moved, y),
        "y": (X, y[::-1]),
        "sample_weight": (X, y, np.arange(1.0, len(y) + 1)),
        "groups": (X, y, None, np.arange(len(y)) // 2),
    }.items():
        with pytest.raises(ValueError, match=f"is of a fit with another {name};"):
            model.fit(*arguments)
    with pytest.raises(ValueError, match="another estimator;"):
        cascade(tmp_path, GCForestClassifier, **options).fit(X, y)
    model.set_params(n_jobs=2).fit(X, y)


@pytest.mark.parametrize("member", ["linear", "random"])
def test_members_on_numbers_depend_on_changes_within_a_bin(member, tmp_path):
    X, y = np.arange(40.0)[:, None], np.arange(40) // 5 % 2
    model = deep(tmp_path, members=[member], max_bins=4)
    model.fit(X, y)
    X[[1, 2]] = X[[2, 1]]
    if member == "random":
        model.fit(X, y)
    else:
        with pytest.raises(ValueError, match="is of a fit with another X;"):
            model.fit(X, y)


@pytest.mark.parametrize("make", [cascade, deep])
def test_splitters_are_compared_by_their_folds(make, tmp_path):
    X, y = complete_data()
    options = {"members": ["random"]} if make is deep else {}
    halves = PredefinedSplit(np.arange(300) // 2 % 2)
    make(tmp_path, n_layers=1, cv=halves, **options).fit(X, y)
    make(tmp_path, n_layers=1, cv=[*halves.split()], **options).fit(X, y)
    for cv in (PredefinedSplit(np.arange(300) % 2), 2):
        with pytest.raises(ValueError, match="is of a fit with another cv;"):
            make(tmp_path, n_layers=1, cv=cv, **options).fit(X, y)


def test_what_cannot_be_stored_is_refused_before_the_fit(tmp_path):
    X, y = complete_data()
    folder = tmp_path / "new"
    for model in (
        deep(folder, members=["random", GaussianNB()], refit=False),
        cascade(folder, forests=["random", LogisticRegression()]),
    ):
        with pytest.raises(ValueError, match="checkpoint cannot hold models of other packages"):
            model.fit(X, y)
    for seed in (None, np.random.RandomState(0)):
        with pytest.raises(ValueError, match=r"checkpoint needs a number as random_state.*got"):
            cascade(folder, random_state=seed).fit(X, y)
    with pytest.raises(ValueError, match="no lambdas or functions inside others, got <function"):
        cascade(folder, scoring=lambda *_: 0.0).fit(X, y)
    assert not folder.exists()


@pytest.mark.parametrize("make", [cascade, deep])
def test_folders_that_cannot_be_are_refused_by_name(tmp_path, make):
    X, y = three_classes()
    (tmp_path / "file").write_text("")
    for folder in ("file", "file/below", "x" * 300):
        with pytest.raises(OSError, match=r"checkpoint must be a folder that can be written to"):
            make(tmp_path / folder).fit(X, y)
    with pytest.raises(ValueError, match=r"checkpoint cannot be used: .*null"):
        make("a\0b").fit(X, y)


def test_damaged_and_renamed_files_are_refused(tmp_path):
    X, y = three_classes()
    cascade(tmp_path, n_layers=2).fit(X, y)
    first, second = (tmp_path / name for name in layers(tmp_path))
    contents = first.read_bytes()
    first.write_bytes(second.read_bytes())
    with pytest.raises(ValueError, match="is of a fit with another layer"):
        cascade(tmp_path, n_layers=2).fit(X, y)
    for damaged in (b"", contents[:-1], contents[:-1] + bytes([contents[-1] ^ 1])):
        first.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"checkpoint: .*layer-001\.mddf.*; delete it"):
            cascade(tmp_path, n_layers=2).fit(X, y)


def test_other_files_of_mddf_are_refused(tmp_path):
    X, y = three_classes()
    mddf.save(RandomForestClassifier(2).fit(X, y), tmp_path / "layer-001.mddf")
    with pytest.raises(ValueError, match=r"layer-001\.mddf' must be a layer of a fit, got"):
        cascade(tmp_path).fit(X, y)


def fit_in_folder(make, folder):
    X, y = three_classes()
    make(folder).fit(X, y)


@pytest.mark.parametrize("make", [cascade, pytest.param(deep, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_killed_at_random_moments(make, tmp_path):
    X, y = three_classes()
    start = time.perf_counter()
    expected = make(None).fit(X, y)
    whole = time.perf_counter() - start
    random = np.random.default_rng(3)
    for number in range(3):
        folder = tmp_path / str(number)
        process = multiprocessing.get_context("fork").Process(
            target=fit_in_folder, args=(make, folder)
        )
        process.start()
        time.sleep(whole * random.uniform(0, 2))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        again = make(folder).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))
