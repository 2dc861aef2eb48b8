"""Fits that read their codes from a file grow the trees of fits in memory."""

import limits
import numpy as np
import pytest

from mddf import (
    DeepForestClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    by_columns,
)

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

N_ROWS = 600


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Read two columns at a time, and 100 rows of the file."""
    limits.change(
        monkeypatch, bytes_of_a_block_of_columns=N_ROWS * 8 * 2, rows_of_codes_in_a_file=100
    )


def mixed_frame(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 3)).astype(np.float32), columns=[*"abc"])
    X.loc[::7, "b"] = np.nan
    X["whole"] = rng.integers(0, 9, N_ROWS)
    X["byte"] = rng.integers(0, 200, N_ROWS).astype(np.uint8)
    X["few"] = rng.choice([1.5, 2.5, np.nan], N_ROWS)
    X["empty"] = np.nan
    X["words"] = pd.Categorical(rng.choice(["x", "y", None], N_ROWS))
    X["names"] = rng.choice([f"name {i}" for i in range(60)], N_ROWS)
    score = X["a"] + (X["words"] == "x") + X["names"].str.len() / 9
    return X, score.to_numpy()


def in_file(X, tmp_path, **options):
    """Table of `by_columns` of a Parquet file, and the folder of its codes."""
    path = tmp_path / "rows.parquet"
    X.to_parquet(path, row_group_size=50)
    folder = tmp_path / "codes"
    folder.mkdir(exist_ok=True)
    return by_columns(path, codes_folder=folder, **options), folder


def assert_same_model(model, expected):
    assert model.n_iter_ == expected.n_iter_
    for name, array in expected._trees.arrays.items():
        np.testing.assert_array_equal(model._trees.arrays[name], array)
    np.testing.assert_array_equal(model.train_score_, expected.train_score_)
    np.testing.assert_array_equal(model.validation_score_, expected.validation_score_)


OPTIONS = {
    "all rows": {"early_stopping": False},
    "held-out rows": {"early_stopping": True, "validation_fraction": 0.2},
    "drawn rows": {"early_stopping": False, "subsample": 0.5},
    "leaf-wise": {"early_stopping": False, "grow_policy": "leaf-wise"},
    "trials": {"max_iter": 12},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_the_bits_of_a_fit_in_memory(options, weights, tmp_path):
    X, y = mixed_frame()
    table, folder = in_file(X, tmp_path)
    rng = np.random.default_rng(1)
    sample_weight = None
    if weights is not None:
        sample_weight = rng.integers(0, 3, N_ROWS) if weights == "whole" else rng.random(N_ROWS)
    settings = {"max_iter": 6, "categorical_features": "from_dtype", "random_state": 0, **options}
    if weights is None:
        models = [GradientBoostingRegressor(**settings) for _ in range(2)]
    else:
        models = [GradientBoostingClassifier(**settings) for _ in range(2)]
        y = np.where(y > np.median(y), "high", "low")
    expected = models[0].fit(X, y, sample_weight)
    model = models[1].fit(table, y, sample_weight)
    assert_same_model(model, expected)
    np.testing.assert_array_equal(model.predict(table), expected.predict(X))
    assert list(folder.iterdir()) == []


def test_a_validation_set_and_a_warm_start(tmp_path):
    X, y = mixed_frame()
    X_val, y_val = mixed_frame(seed=1)
    table, folder = in_file(X, tmp_path)
    settings = {"categorical_features": "from_dtype", "random_state": 0, "warm_start": True}
    models = [GradientBoostingRegressor(**settings) for _ in range(2)]
    for n_trees in (5, 9):
        for model, table_of_model in zip(models, (X, table), strict=True):
            model.set_params(max_iter=n_trees)
            model.fit(table_of_model, y, X_val=X_val, y_val=y_val)
        assert_same_model(models[1], models[0])
    assert list(folder.iterdir()) == []


def test_a_shifted_validation_set_is_named(tmp_path):
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    y = 2 * X[:, 0]
    model = GradientBoostingRegressor(max_iter=5, random_state=0)
    for table in (X, by_columns(X, codes_folder=tmp_path)):
        with pytest.warns(UserWarning, match="the ends of the training range in 3 columns"):
            model.fit(table, y, X_val=X + 100, y_val=np.full(N_ROWS, -10.0))


@pytest.mark.parametrize("folder", ["no such folder", 3, b"bytes", True])
def test_what_is_no_folder_is_refused(folder):
    with pytest.raises(ValueError, match="codes_folder must be None or the path of a folder, got"):
        by_columns(np.ones((3, 2)), codes_folder=folder)


@pytest.mark.parametrize("estimator", [RandomForestClassifier(2), DeepForestClassifier()])
def test_estimators_that_keep_codes_in_memory_refuse_a_folder(estimator, tmp_path):
    table = by_columns(np.random.default_rng(0).random((90, 2)), codes_folder=tmp_path)
    with pytest.raises(ValueError, match="codes_folder of by_columns must be None"):
        estimator.fit(table, np.arange(90) % 2)
