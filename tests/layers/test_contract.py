"""DeepForestClassifier with groups, odd tables, many threads, scorers and weights."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer, make_scorer, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info

from mddf import DeepForestClassifier, DeepForestRegressor

pytestmark = pytest.mark.usefixtures("few_rounds")

SMALL = {"n_estimators": 5, "members": ["random", "completely-random"], "random_state": 0}


class Spy(GaussianNB):
    """Records its training rows, predicted rows and thread limits."""

    calls: list = []

    def fit(self, X, y, sample_weight=None):
        self.trained_ = X[:, 0]
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        pools = [pool["num_threads"] for pool in threadpool_info()]
        self.calls.append((self.trained_, X[:, 0], pools))
        return super().predict_proba(X)


@pytest.fixture
def calls():
    Spy.calls.clear()
    return Spy.calls


def rows_of(n, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_members_do_not_start_threads_of_their_own(n_jobs, calls):
    X, y = rows_of(120)
    model = DeepForestClassifier(1, members=["random", Spy()], n_estimators=2, n_jobs=n_jobs)
    model.fit(X, y)
    assert len(calls) >= 5
    assert all(pools and max(pools) == 1 for *_, pools in calls[:5])


def test_members_train_on_rows_with_weight(calls):
    X, y = rows_of(120)
    X[:, 0] = np.arange(120)
    weight = (np.arange(120) % 3 > 0).astype(float)
    model = DeepForestClassifier(1, members=["random", Spy()], n_estimators=2, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert calls
    for trained, *_ in calls:
        assert weight[trained.astype(int)].all()
    halves = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    with pytest.raises(ValueError, match="must leave every fold a sample with a weight above"):
        model.set_params(cv=halves).fit(X, y, sample_weight=np.arange(120) < 60)


# Tables


@pytest.mark.parametrize("value", [3.0, np.nan])
def test_columns_without_information(value):
    X, y = rows_of(60)
    nothing = np.full((60, 2), value)
    model = DeepForestClassifier(1, n_estimators=5, random_state=0).fit(np.hstack([nothing, X]), y)
    assert np.all(model.feature_importances_[:2] == 0)
    assert model.score(np.hstack([nothing, X]), y) > 0.8
    alone = DeepForestClassifier(n_estimators=3, random_state=0).fit(nothing, y)
    shares = alone.predict_proba(nothing)
    assert np.ptp(shares, axis=0).max() < 1e-12
    assert shares[0] == pytest.approx(np.bincount(y) / 60, abs=0.1)


# Scores and weights


def benefit(estimator, X, y):
    return float(np.mean(estimator.predict(X) == y)) - 0.5


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("roc_auc", lambda y, p: roc_auc_score(y, p[:, 1])),
        (get_scorer("balanced_accuracy"), None),
        (make_scorer(roc_auc_score, response_method="predict_proba"), None),
        (benefit, lambda y, p: np.mean(p.argmax(axis=1) == y) - 0.5),
    ],
    ids=["name", "scorer", "made scorer", "function"],
)
def test_scorers_by_name_and_as_objects(scoring, expected):
    X, y = rows_of(150)
    model = DeepForestClassifier(**SMALL, scoring=scoring).fit(X, y)
    if expected is not None:
        score = expected(y, model.oof_probabilities_)
        assert score == pytest.approx(model.history_["score"][model.n_layers_ - 1])


@pytest.mark.parametrize("Deep", [DeepForestClassifier, DeepForestRegressor])
def test_numbers_of_any_size(Deep):
    X = np.random.default_rng(0).normal(size=(120, 4))
    y = X[:, 0] > X[:, 1]
    for members in (["random", "linear"], "auto"):
        model = Deep(1, n_estimators=4, members=members, cv=2, random_state=0)
        far = X[:2].copy()
        far[:, :2] = 1e308
        Z = X.copy()
        Z[::9, 2], Z[::7, 3] = np.finfo(float).max, 1e200
        method = "predict_proba" if Deep is DeepForestClassifier else "predict"
        assert np.isfinite(getattr(model.fit(X, y), method)(far)).all()
        assert np.isfinite(getattr(model.fit(Z, y), method)(Z)).all()
        single = np.clip(Z, -3e38, 3e38).astype(np.float32)
        assert np.isfinite(getattr(model.fit(single, y), method)(single)).all()
