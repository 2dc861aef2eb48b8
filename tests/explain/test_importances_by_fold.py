"""Importances by fold: a twin that fits and measures by hand, splitters, and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor

from mddf import (
    GradientBoostingRegressor,
    RandomForestRegressor,
    TimeOrder,
)
from mddf.explain import FoldImportances, importances, importances_by_fold

N_ROWS = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 4))
Y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * RNG.normal(size=N_ROWS)
GROUPS = np.repeat(np.arange(30), 4)
WEIGHT = RNG.exponential(size=N_ROWS)
FOREST = RandomForestRegressor(10, random_state=0)


@pytest.mark.parametrize("kind", ["held-out", "permutation", "impurity"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_twin_by_hand(kind, weight):
    cv = KFold(3)
    result = importances_by_fold(
        FOREST, X, Y, cv=cv, kind=kind, sample_weight=weight, n_repeats=2, random_state=5
    )
    random = np.random.RandomState(5)
    random.randint(np.iinfo(np.int32).max)  # the seed of shuffled folds
    for fold, (train, test) in enumerate(cv.split(X)):
        train_weight = None if weight is None else weight[train]
        model = RandomForestRegressor(10, random_state=0)
        model.fit(X[train], Y[train], sample_weight=train_weight)
        test_weight = weight[test] if weight is not None and kind == "permutation" else None
        expected = importances(
            model, X[test], Y[test], kind=kind, n_repeats=2, sample_weight=test_weight,
            random_state=random,
        )  # fmt: skip
        np.testing.assert_allclose(result.importances[fold], expected.importances_mean, atol=1e-12)
    assert result.kind == kind
    assert result.measure == expected.measure
    assert result.feature_names.tolist() == ["x0", "x1", "x2", "x3"]


def test_summaries():
    values = np.random.default_rng(1).normal(size=(5, 6))
    result = FoldImportances(values, np.array(list("abcdef")), "permutation", "fall if shuffled")
    pairs = [spearmanr(values[i], values[j])[0] for i in range(5) for j in range(i)]
    assert result.rank_correlation == pytest.approx(np.mean(pairs))
    frame = result.to_frame()
    assert frame["feature"].tolist() == [list("abcdef")[i] for i in np.argsort(-values.mean(0))]
    np.testing.assert_allclose(frame["mean"], np.sort(values.mean(axis=0))[::-1])
    for row in frame.itertuples():
        column = values[:, list("abcdef").index(row.feature)]
        assert row.std == pytest.approx(column.std())
        assert (row.min, row.max) == (column.min(), column.max())
        ranks = [1 + sum(fold > own) for fold, own in zip(values, column, strict=True)]
        assert row.mean_rank == pytest.approx(np.mean(ranks))
        assert (row.best_rank, row.worst_rank) == (min(ranks), max(ranks))
    assert "5 folds, rank correlation" in str(result)
    assert repr(result) == str(result)


@pytest.mark.parametrize(
    ("values", "correlation"),
    [([[3, 2, 1], [6, 5, 4]], 1), ([[3, 2, 1], [1, 2, 3]], -1), ([[1, 1, 1], [1, 2, 3]], 0)],
)
def test_rank_correlation_by_hand(values, correlation):
    result = FoldImportances(np.array(values, float), np.array(list("abc")), "impurity", "")
    assert result.rank_correlation == correlation
    assert np.isnan(FoldImportances(result.importances[:1], *"abc").rank_correlation)


@pytest.mark.parametrize(
    ("cv", "n_folds"),
    [
        (None, 5),
        (3, 3),
        (RepeatedKFold(n_splits=2, n_repeats=3, random_state=0), 6),
        (ShuffleSplit(4, random_state=0), 4),
        (TimeOrder(n_splits=3), 3),
        (TimeOrder(time=3, n_splits=2), 2),
        ([(np.arange(80), np.arange(80, 120))], 1),
    ],
)
def test_splitters(cv, n_folds):
    result = importances_by_fold(FOREST, X, Y, cv=cv, random_state=0)
    assert result.importances.shape == (n_folds, 4)
    again = importances_by_fold(FOREST, X, Y, cv=cv, random_state=0)
    np.testing.assert_array_equal(again.importances, result.importances)
    assert result.importances_mean[0] > result.importances_mean[2:].max()


class RecordsRows(LinearRegression):
    """Records the rows and the groups of its fits; the last column of X has the row numbers."""

    rows = []
    groups = []

    def fit(self, X, y, groups=None):
        self.rows.append(X[:, -1].astype(int))
        self.groups.append(groups)
        return super().fit(X, y)


@pytest.mark.parametrize("cv", [4, GroupKFold(4), TimeOrder(n_splits=3)])
def test_groups_stay_together(cv):
    RecordsRows.rows.clear()
    RecordsRows.groups.clear()
    numbered = np.column_stack([X, np.arange(N_ROWS)])
    names = np.array([f"patient {number}" for number in GROUPS])
    importances_by_fold(RecordsRows(), numbered, Y, cv=cv, groups=names, n_repeats=1)
    n_folds = 3 if isinstance(cv, TimeOrder) else 4
    assert len(RecordsRows.rows) == n_folds
    for rows, groups in zip(RecordsRows.rows, RecordsRows.groups, strict=True):
        np.testing.assert_array_equal(groups, names[rows])
        if not isinstance(cv, TimeOrder):
            held_out = np.setdiff1d(np.arange(N_ROWS), rows)
            assert not set(GROUPS[rows]) & set(GROUPS[held_out])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_and_groups_of_columns(make):
    frame = make(dict(zip("abcd", X.T, strict=True)))
    column_groups = {"signal": ["a", "b"], "noise": ["c", "d"]}
    expected = importances_by_fold(
        FOREST, X, Y, column_groups={"signal": [0, 1], "noise": [2, 3]}, cv=3, random_state=0
    )
    y = pd.Series(Y, index=np.arange(N_ROWS)[::-1]) if make is pd.DataFrame else pl.Series(Y)
    result = importances_by_fold(
        FOREST, frame, y, column_groups=column_groups, cv=3, random_state=0
    )
    np.testing.assert_allclose(result.importances, expected.importances, atol=1e-12)
    assert result.feature_names.tolist() == ["signal", "noise"]


def test_refusals():
    def by_fold(model=FOREST, rows=X, y=Y, **options):
        return importances_by_fold(model, rows, y, **options)

    with pytest.raises(TypeError, match=r"^estimator must have a method fit, got 'forest'"):
        by_fold("forest")
    with pytest.raises(ValueError, match=r"^sample_weight needs an estimator whose fit takes"):
        by_fold(KNeighborsRegressor(), sample_weight=WEIGHT)
    with pytest.raises(ValueError, match=r"sample_weight"):
        by_fold(sample_weight=WEIGHT[:3])
    with pytest.raises(ValueError, match=r"^scoring must be a single scorer .* got \['r2'\]"):
        by_fold(kind="permutation", scoring=["r2"], cv=2)
    with pytest.raises(ValueError, match=r"^cv must give at least one split, got none"):
        by_fold(cv=[])
    for cv in (0, 1, True):
        with pytest.raises(ValueError, match=rf"^cv must be at least 2 folds, got {cv}"):
            by_fold(cv=cv)
    with pytest.raises(ValueError, match=r"^cv must be a number of folds, a splitter, or"):
        by_fold(cv="five")
    with pytest.raises(ValueError, match=r"^kind must be 'auto', .* got 'gain'"):
        by_fold(kind="gain")
    with pytest.raises(ValueError, match=r"groups"):
        by_fold(groups=GROUPS[:5])
    with pytest.raises(ValueError, match=r"groups are for a number of folds"):
        by_fold(groups=GROUPS, cv=[(np.arange(80), np.arange(80, 120))])
    with pytest.raises(ValueError, match=r"random_state"):
        by_fold(random_state="seed")
    with pytest.raises(ValueError, match=r"^column_groups needs kind='permutation'"):
        by_fold(GradientBoostingRegressor(max_iter=2), kind="held-out", column_groups={"a": [0]})
    with pytest.raises(ValueError, match=r"\by\b"):
        by_fold(y=Y[:5])
