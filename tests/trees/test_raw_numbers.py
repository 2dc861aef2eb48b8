"""Predictions from numbers and from their codes."""

from itertools import pairwise

import limits
import numpy as np
import pytest

import mddf

FEW_CELLS = {
    "random": mddf.RandomForestClassifier(7, random_state=0),
    "completely random": mddf.CompletelyRandomForestClassifier(7, random_state=0),
    "regressor": mddf.RandomForestRegressor(7, random_state=0),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", FEW_CELLS)
def test_numbers_go_where_their_codes_do(kind, dtype, monkeypatch):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(90, 200)), rng.integers(-3, 4, (90, 200))])
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X).astype(dtype)
    y = np.nansum(X[:, :3], axis=1) + np.isnan(X[:, 300])
    y = np.column_stack([y, -y]) if kind == "regressor" else np.round(y)
    forest = FEW_CELLS[kind].fit(X, y)
    bins = forest._binner.bins_
    edges = [bins.edges[a:b] for a, b in pairwise(bins.start)]
    new = np.column_stack([rng.choice(np.append(part[:-1], [-1e30, 1e30]), 50) for part in edges])
    predict = forest.predict if kind == "regressor" else forest.predict_proba
    for rows in (X, new, new.astype(np.float32), np.asfortranarray(new)[::-2], new[:1]):
        result = []
        for numbers in (True, False):
            answers = []
            limits.change(
                monkeypatch, uses_raw_numbers=lambda *_, n=numbers, a=answers: a.append(n) or n
            )
            result += [predict(rows), forest.set_params(n_jobs=2).predict(rows)]
            assert answers == [numbers] * 2
        assert np.array_equal(result[0], result[2])
        assert np.array_equal(result[1], result[3])
