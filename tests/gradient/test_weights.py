"""Meaning of sample weights for boosted trees."""

import numpy as np
from boosted_cases import answers, both, growth, problem

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

SCALES = [1e-12, 1 / 3, 7.7e17]
FEW = {"max_iter": 12, "learning_rate": 0.3, "random_state": 0}


def test_huge_gradients_do_not_hide_other_rows():
    for scale in [1.0, 0.5, 1e-12]:
        for n_giants in [1, 3]:
            weights = np.ones(1000)
            weights[:n_giants] = 1e12
            rng = np.random.default_rng(0)
            X = rng.normal(size=(2000, 3))
            y = X[:, 0] + np.sin(3 * X[:, 1])
            model = GradientBoostingRegressor(max_iter=150, early_stopping=False, random_state=0)
            model.fit(X[:1000], y[:1000], weights * scale)
            assert model.score(X[1000:], y[1000:]) > 0.7
            assert np.allclose(model.predict(X[:n_giants]), y[:n_giants], atol=0.1)


@both
@growth
def test_the_scale_of_real_weights_changes_nothing(Model, grow_policy):
    for scale in SCALES:
        X, y = problem(Model, 200)
        weights = np.random.default_rng(2).exponential(size=200)
        model = Model(**FEW, grow_policy=grow_policy)
        if Model is GradientBoostingClassifier:
            model.set_params(class_weight="balanced")
        expected = answers(model.fit(X, y, weights), X)
        assert np.allclose(answers(model.fit(X, y, weights * scale), X), expected, rtol=1e-9)


def test_the_scale_of_class_weights_and_of_target_statistics():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40, (300, 2))
    X = codes.astype(str).astype(object)
    y = (np.sin(codes[:, 0]) + rng.normal(size=300) > 0).astype(int)
    model = GradientBoostingClassifier(**FEW, categorical_features=[0, 1])
    result = []
    for scale in (1, 1e-6, 1 / 7):
        model.set_params(class_weight={0: 0.3 * scale, 1: 1.7 * scale})
        result.append(model.fit(X, y).predict_proba(X))
    assert np.allclose(result[0], result[1:], rtol=1e-8)
