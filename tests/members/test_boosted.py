"""Boosted trees as members of deep forests, against boosting each fold alone."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

GIVEN = {"n_estimators": 5, "random_state": 0}


class CountsRows(GaussianNB):
    """A classifier whose copies share the list `n_rows`."""

    n_rows: list[int] = []

    def fit(self, X, y, sample_weight=None):
        self.n_rows.append(len(X))
        return super().fit(X, y, sample_weight)


def problem(n, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])) + 0.3 * rng.normal(size=n)
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, score if n_classes == 1 else np.digitize(score, cuts)


def test_many_rounds_are_cut_to_the_best():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), rng.integers(0, 2, 120)
    model = DeepForestClassifier(1, members=["boosted"], **GIVEN).fit(X, y)
    (member,) = model._fitted.stages[0].members
    assert {sum(fold_model.rounds) for fold_model in member.models} == {
        sum(member.models[0].rounds)
    }
    assert sum(member.models[0].rounds) < 20  # there is nothing to be learnt


def test_boosting_of_a_user_keeps_its_loss():
    X, y = problem(200, 1)
    parameters = {"subsample": 1.0, "max_features": 1.0, "early_stopping": False}
    boosting = GradientBoostingRegressor("absolute_error", max_iter=20, **parameters)
    model = DeepForestRegressor(1, members=[("median", boosting)], **GIVEN).fit(X, y)
    np.testing.assert_allclose(model.predict(X), boosting.fit(X, y).predict(X), atol=1e-6)


def test_wrong_parameters_of_boosting_are_found_before_any_work():
    for parameters, message in [
        ({"learning_rate": -1}, "The 'learning_rate' parameter of GradientBoostingClassifier"),
        ({"max_depth": 17}, "max_depth must be at most 16"),
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\)"),
        ({"interaction_cst": [[0, 9]]}, "interaction_cst must have feature numbers"),
    ]:
        X, y = problem(120)
        CountsRows.n_rows.clear()
        members = [CountsRows(), ("mine", GradientBoostingClassifier(**parameters))]
        with pytest.raises(ValueError, match=f"^the member 'mine' cannot be fitted: {message}"):
            DeepForestClassifier(members=members, **GIVEN).fit(np.nan_to_num(X), y)
        assert not CountsRows.n_rows


def test_monotonic_constraints_hold_in_a_layer():
    X, y = problem(200)
    boosting = GradientBoostingClassifier(max_iter=30, monotonic_cst=[1, 0, 0, 0, 0])
    model = DeepForestClassifier(1, members=[boosting], **GIVEN).fit(X, y)
    rows = np.tile(X[3], (50, 1))
    rows[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(model.predict_proba(rows)[:, 1]) >= 0).all()
