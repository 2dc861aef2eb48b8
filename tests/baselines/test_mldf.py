"""MLDFClassifier as an estimator."""

import numpy as np
import pytest
from made_outputs import six_labels
from mddf.baselines import MLDFClassifier
from mddf.baselines._labels.measures import measure_value
from naive_labels import mask_of_reuse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import TimeSeriesSplit, cross_val_predict
from sklearn_checks import WEIGHT_CHECKS, sklearn_checks

SMALL = {"n_estimators": 5, "n_more_estimators": 2, "cv": 3, "random_state": 0}
ROW_MEASURES = ["one-error", "coverage", "ranking-loss", "average-precision"]

# They compare `fit_transform`, which is out of fold, with `fit` and `transform`.
TRANSFORMER_CHECKS = ["check_transformer_general", "check_transformer_data_not_an_array"]


def failing(model):
    """Checks that a model fails by design, with the reasons."""
    checks = dict.fromkeys(TRANSFORMER_CHECKS, "fit_transform is out of fold")
    if model.forests is None:
        checks |= dict.fromkeys(WEIGHT_CHECKS, "bootstraps of as many rows as have weight")
    return checks


@sklearn_checks(
    [
        MLDFClassifier(2, **SMALL),
        MLDFClassifier(2, forests=["extremely-random", "completely-random"], **SMALL),
        MLDFClassifier(2, measure="one-error", refit=True, **SMALL),
    ],
    failing,
)
@pytest.mark.filterwarnings("ignore:transform was given the table:UserWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


def label_probabilities(model, X):
    return np.column_stack([p[:, 1] for p in model.predict_proba(X)])


def test_labels_as_in_scikit_learn():
    X, y = six_labels()
    model = MLDFClassifier(4, **SMALL).fit(X[:200], y[:200])
    predicted = model.predict(X[200:])
    assert predicted.dtype == y.dtype
    probabilities = model.predict_proba(X[200:])
    assert [p.shape for p in probabilities] == [(100, 2)] * 6
    np.testing.assert_allclose(np.sum(probabilities, axis=2), 1)
    np.testing.assert_array_equal(predicted, label_probabilities(model, X[200:]) > 0.5)
    assert model.score(X[200:], y[200:]) == np.mean((predicted == y[200:]).all(axis=1))
    common = np.mean(y[200:] == (y[:200].mean(axis=0) > 0.5))
    assert np.mean(predicted == y[200:]) > common + 0.05
    with np.errstate(divide="ignore"):
        expected = np.log(probabilities)
    np.testing.assert_allclose(model.predict_log_proba(X[200:]), expected)
    assert [len(p) for p in model.staged_predict_proba(X[200:])] == [6] * model.n_layers_
    *_, last = model.staged_predict(X[200:])
    np.testing.assert_array_equal(last, predicted)
    assert cross_val_predict(MLDFClassifier(1, **SMALL), X, y, cv=2).shape == y.shape
    booleans = clone(model).fit(X[:200], y[:200] == 1).predict(X[200:])
    assert booleans.dtype == bool
    np.testing.assert_array_equal(booleans, predicted == 1)


@pytest.mark.parametrize("measure", [*ROW_MEASURES, "hamming-loss", "macro-auc"])
def test_predictions_follow_the_rule(measure):
    # The second layer has the same trees with and without the reuse of its vectors.
    X, y = six_labels()
    options = {**SMALL, "measure": measure, "early_stopping": False}
    first = MLDFClassifier(1, **options).fit(X[:200], y[:200])
    plain = MLDFClassifier(2, reuse=False, **options)
    vectors = plain.fit_transform(X[:200], y[:200])
    model = MLDFClassifier(2, **options).fit(X[:200], y[:200])
    mask = mask_of_reuse(
        measure,
        y[:200].astype(float),
        vectors.reshape(200, 2, 6).mean(axis=1),
        first.oof_probabilities_,
    )
    assert model.history_["reused"][1] == mask.mean()
    assert 0 < mask.mean() < 1
    before = label_probabilities(first, X[200:])
    after = label_probabilities(plain, X[200:])
    predicted = label_probabilities(model, X[200:])
    is_before = np.isclose(predicted, before, rtol=0, atol=1e-12)
    is_after = np.isclose(predicted, after, rtol=0, atol=1e-12)
    assert (is_before | is_after).all()
    if measure in ROW_MEASURES:
        rows = mask_of_rows(measure, after, model.history_["threshold"][1])
        assert is_before[rows].all()
        assert is_after[~rows].all()
    else:
        assert np.isnan(model.history_["threshold"][1])
        assert is_before[:, mask[0]].all()
        assert is_after[:, ~mask[0]].all()
    # Rows are predicted alike one by one and together.
    singles = np.vstack([label_probabilities(model, X[i : i + 1]) for i in range(200, 230)])
    np.testing.assert_array_equal(singles, predicted[:30])


def mask_of_rows(measure, probabilities, threshold):
    """Rows below a threshold, by a sum over all positions at which the ranking can be cut."""
    if measure == "one-error":
        return probabilities.max(axis=1) < threshold
    ranked = -np.sort(-probabilities, axis=1)
    confidence = np.zeros(len(ranked))
    for cut in range(ranked.shape[1] + 1):
        if measure != "coverage":
            confidence += ranked[:, :cut].prod(axis=1) * (1 - ranked[:, cut:]).prod(axis=1)
        elif cut:
            last = ranked[:, cut - 1] * (1 - ranked[:, cut:]).prod(axis=1)
            confidence -= cut * last / ranked.shape[1]
    return confidence + (measure == "coverage") < threshold


def test_rows_without_a_past_in_time_order():
    for refit in [False, True]:
        for measure in ["one-error", "hamming-loss", "macro-auc"]:
            X, y = six_labels()
            options = {
                **SMALL,
                "cv": TimeSeriesSplit(4),
                "measure": measure,
                "early_stopping": False,
            }
            model = MLDFClassifier(3, refit=refit, **options)
            features = model.fit_transform(X, y)
            assert model.n_without_oof_ == 60
            assert np.isnan(features[:60]).all()
            assert np.isfinite(features[60:]).all()
            assert np.isnan(model.oof_probabilities_[:60]).all()
            known = model.oof_probabilities_[60:]
            expected = measure_value(measure, y[60:].astype(float), known)
            assert model.history_["measure"][-1] == pytest.approx(expected, rel=1e-12)
            assert (
                len(model._fitted.stages[0].members[0].models) == 1
            )  # models of earlier folds saw less
            assert np.isfinite(label_probabilities(model, X)).all()


def test_the_future_does_not_change_the_past():
    X, y = six_labels()
    future = y.copy()
    future[240:] = 1 - y[240:]
    options = {**SMALL, "cv": TimeSeriesSplit(4), "reuse": False, "early_stopping": False}
    before = MLDFClassifier(1, **options).fit(X, y)
    after = MLDFClassifier(1, **options).fit(X, future)
    np.testing.assert_array_equal(before.oof_probabilities_[:240], after.oof_probabilities_[:240])


def test_mutually_exclusive_classes():
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names[y]
    for measure in ("hamming-loss", "one-error"):
        model = MLDFClassifier(3, measure=measure, **SMALL).fit(X[::2], names[::2])
        assert model.score(X[1::2], names[1::2]) > 0.9
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probabilities)
    assert model.history_["measure"][0] < 0.1
    assert model.get_feature_names_out()[2] == "forest1_virginica"


def test_refusals():
    for params, y, message in [
        ({"measure": "accuracy"}, None, "The 'measure' parameter of MLDFClassifier must be"),
        ({"forests": ["oak"]}, None, r"forests must be a list of names out of .* got \['oak'\]"),
        ({"forests": []}, None, "forests must be a list of names"),
        ({"depth_step": 0}, None, "'depth_step' parameter"),
        ({"n_more_estimators": -1}, None, "'n_more_estimators' parameter"),
        ({}, [[0, 2], [1, 0]] * 10, "y must be an indicator matrix of 0 and 1.* got 2"),
        ({}, [["a", "b"], ["b", "a"]] * 10, "y must be an indicator matrix of 0 and 1"),
        ({}, [[0, np.nan], [1, 0]] * 10, "y must be an indicator matrix of 0 and 1.* got nan"),
        ({}, [[0, 1]] * 5, "inconsistent numbers of samples"),
    ]:
        X = np.arange(40.0).reshape(20, 2)
        y = [[0, 1], [1, 0]] * 10 if y is None else y
        model = MLDFClassifier(2, **{**SMALL, **params})
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        assert not hasattr(model, "classes_")


def test_layers_are_logged(caplog, capsys):
    X, y = six_labels()
    with caplog.at_level("INFO", logger="mddf"):
        model = MLDFClassifier(2, n_estimators=3, random_state=0).fit(X, y)
    assert "layer 1: out-of-fold hamming-loss" in caplog.messages[0]
    assert caplog.messages[-1] == model.stop_reason_
    assert not capsys.readouterr().out
