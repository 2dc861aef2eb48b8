"""Out-of-fold figures come from weights, calibration and rounds that the fold did not choose."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import RepeatedKFold

from mddf import DeepForestClassifier, DeepForestRegressor

SMALL = {"n_layers": 1, "n_estimators": 10}


def test_noise_is_not_better_than_chance():
    """With weights and rounds of all rows, the mean AUC was 0.61 and the mean log-loss 0.65."""
    losses, areas = [], []
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(60, 60))
        y = np.arange(60) % 2
        model = DeepForestClassifier(**SMALL, random_state=seed).fit(X, y)
        told = model.oof_probabilities_
        assert model.history_["log_loss"][0] == pytest.approx(log_loss(y, told))
        losses.append(log_loss(y, told))
        areas.append(roc_auc_score(y, told[:, 1]))
    assert np.mean(losses) > np.log(2)
    assert np.mean(areas) < 0.55


def test_targets_of_noise_are_not_better_than_their_mean():
    r2 = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
        model = DeepForestRegressor(**SMALL, members=["boosted", "linear"], random_state=seed)
        r2.append(model.fit(X, y).history_["score"][0])
    assert np.mean(r2) < 0


def fit(scoring="neg_log_loss", **parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] + rng.normal(size=90) > 0).astype(int)
    model = DeepForestClassifier(
        **SMALL, members=["random", "linear"], scoring=scoring, random_state=0, **parameters
    )
    return model.fit(X, y), X, y


def test_a_score_that_some_rows_do_not_define():
    """Weights are then the ones of all rows."""

    def only_all_rows(estimator, X, y):
        if len(y) < 90:
            raise ValueError("too few rows")
        return -log_loss(y, estimator.predict_proba(X)[:, 1])

    model, *_ = fit(only_all_rows, calibrate=False)
    assert np.isfinite(model.oof_probabilities_).all()


@pytest.mark.parametrize("cv", [[(np.arange(45), np.arange(45, 90))], RepeatedKFold(n_repeats=2)])
def test_folds_that_share_rows(cv):
    if isinstance(cv, list):
        cv = [*cv, (np.arange(45, 90), np.arange(45))]
    model, _, y = fit(cv=cv)
    assert log_loss(y, model.oof_probabilities_) < np.log(2)
