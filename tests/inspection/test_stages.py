"""Stages of fitted models."""

import numpy as np
import pytest
from made_models import frame_table, labels_of, number_table
from mddf.baselines import GCForestClassifier
from sklearn.linear_model import LogisticRegression

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf._inspection.stages import fitted_stages, numbers_of, predict_numbers

MODELS = [
    RandomForestClassifier(4, random_state=0),
    MDDFClassifier(2, n_estimators=2, cv=2, early_stopping=False, random_state=0),
    MDDFClassifier(
        2, forests=["random", LogisticRegression()], n_estimators=2, cv=2, augmentation="mean",
        calibrate=True, early_stopping=False, random_state=0,
    ),
    GCForestClassifier(2, n_estimators=2, cv=2, refit=True, random_state=0),
    DeepForestClassifier(n_estimators=2, members=["random", "linear"], random_state=0),
    RandomForestRegressor(4, random_state=0),
    DeepForestRegressor(n_estimators=2, members=["random", "linear"], random_state=0),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_stages_predict_the_same_as_the_model(model):
    X = number_table()
    labels = labels_of(X)
    is_regressor = "Regressor" in type(model).__name__
    model.fit(X, labels.astype(float) if is_regressor else labels)
    expected = model.predict(X) if is_regressor else model.predict_proba(X)
    predictions = predict_numbers(model, np.asarray(X, float))
    np.testing.assert_array_equal(predictions.reshape(expected.shape), expected)
    stages = fitted_stages(model).stages
    assert len(stages) == getattr(model, "n_layers_", 1)
    assert all(len(stage.alphas) == i + 1 for i, stage in enumerate(stages))


@pytest.mark.parametrize("Model", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_numeric_rows_have_levels_of_many_categories(Model):
    X = frame_table(900)
    places = np.random.default_rng(0).integers(0, 290, 900)  # more than codes
    X["place"] = [f"p{i}" for i in places]
    X.loc[::7, "place"] = None
    labels = labels_of(X.fillna({"place": ""}))
    model = Model(max_iter=5, random_state=0).fit(X, labels)
    expected = model.predict(X) if Model is GradientBoostingRegressor else model.predict_proba(X)
    numbers = numbers_of(model, X)
    assert np.nanmax(numbers[:, 5]) > 200
    predictions = predict_numbers(model, numbers)
    np.testing.assert_array_equal(predictions.reshape(expected.shape), expected)


def test_models_with_custom_predictions_have_no_stages():
    class Certain(RandomForestClassifier):
        def predict_proba(self, X):
            return np.rint(super().predict_proba(X))

    X = number_table()
    for model in (Certain(2), LogisticRegression(), 3, None, MDDFClassifier):
        if hasattr(model, "fit") and not isinstance(model, type):
            model.fit(np.nan_to_num(X), labels_of(X))
        with pytest.raises(TypeError, match=r"^model must be a forest of mddf"):
            fitted_stages(model)
