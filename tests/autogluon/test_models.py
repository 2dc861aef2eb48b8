"""Custom models of AutoGluon, from the extra `autogluon`."""

import sys

import numpy as np
import pandas as pd
import pytest

REASON = 'needs "mddf[autogluon]"'
pytestmark = pytest.mark.filterwarnings("ignore")


def table(kind, n=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "old": rng.random(n) < 0.5,
        }
    )
    score = X["size"] + (X["colour"] == "red") + 0.2 * rng.normal(size=n)
    X.loc[::9, "size"] = np.nan
    if kind == "regression":
        return X, score
    names = ["low", "high"] if kind == "binary" else ["low", "middle", "high"]
    return X, pd.qcut(score, len(names), labels=names).astype(str)


def fitted(Model, kind, hyperparameters, **options):
    """A model fitted as AutoGluon does it, with encoded classes."""
    X, y = table(kind)
    if kind != "regression":
        y = y.astype("category").cat.codes.astype(int)
    model = Model(problem_type=kind, hyperparameters=hyperparameters, **options)
    return model.fit(X=X, y=y, num_cpus=1, num_gpus=0), X, y


@pytest.fixture
def models():
    pytest.importorskip("autogluon.tabular", reason=REASON)
    import mddf.autogluon

    return mddf.autogluon


SMALL = {
    "DeepForestModel": {"n_estimators": 5, "members": ["random", "boosted"]},
    "GradientBoostingModel": {"max_iter": 40, "learning_rate": 0.2},
}
KINDS = ["binary", "multiclass", "regression"]


def test_missing_requirements_are_named(monkeypatch):
    # Another test may have imported it with the parts of AutoGluon that it needs.
    monkeypatch.delitem(sys.modules, "mddf.autogluon", raising=False)
    try:
        import autogluon.core.models  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r'pip install "mddf\[autogluon\]"'):
            import mddf.autogluon  # noqa: F401


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SMALL)
def test_predictions_equal_the_estimators(name, kind, models, tmp_path):
    hyperparameters = SMALL[name]
    model, X, y = fitted(
        getattr(models, name), kind, hyperparameters, path=str(tmp_path), name="m"
    )
    estimator = model.model
    assert {key: estimator.get_params()[key] for key in hyperparameters} == hyperparameters
    assert estimator.n_jobs == 1
    result = model.predict_proba(X)
    if kind == "regression":
        np.testing.assert_allclose(result, estimator.predict(X), rtol=1e-6)
        assert np.corrcoef(result, y)[0, 1] > 0.7
    elif kind == "binary":
        np.testing.assert_allclose(result, estimator.predict_proba(X)[:, 1], rtol=1e-6)
    else:
        np.testing.assert_allclose(result, estimator.predict_proba(X), rtol=1e-5, atol=1e-7)
    again, *_ = fitted(getattr(models, name), kind, hyperparameters, path=str(tmp_path), name="m")
    np.testing.assert_array_equal(again.predict_proba(X), result)  # AutoGluon's seed


@pytest.mark.parametrize("kind", KINDS)
def test_deep_forests_have_out_of_fold_predictions(kind, models, tmp_path):
    hyperparameters = SMALL["DeepForestModel"]
    model, X, _ = fitted(
        models.DeepForestModel, kind, hyperparameters, path=str(tmp_path), name="m"
    )
    result = model.predict_proba_oof(X)
    forest = model.model
    if kind == "regression":
        np.testing.assert_allclose(result, forest.oof_prediction_, rtol=1e-6)
    elif kind == "binary":
        np.testing.assert_allclose(result, forest.oof_probabilities_[:, 1], rtol=1e-5)
    else:
        np.testing.assert_allclose(result, forest.oof_probabilities_, rtol=1e-5)


def test_boosting_stops_by_the_rows_that_are_held_out(models, tmp_path):
    X, y = table("binary")
    y = (y == "high").astype(int)
    rounds = []
    for stops in ("auto", False):
        hyperparameters = {"max_iter": 500, "n_iter_no_change": 5, "early_stopping": stops}
        model = models.GradientBoostingModel(
            problem_type="binary", path=str(tmp_path), name="m", hyperparameters=hyperparameters
        )
        model.fit(X=X[:150], y=y[:150], X_val=X[150:], y_val=y[150:], num_cpus=1, num_gpus=0)
        rounds.append(model.model.n_iter_)
        refit = model.convert_to_refit_full_template()
        refit.fit(X=X, y=y, num_cpus=1, num_gpus=0)
        assert refit.model.n_iter_ == rounds[-1]
    assert rounds[0] < rounds[1] == 500


@pytest.mark.parametrize("name", SMALL)
def test_classes_missing_from_a_fold(name, models, tmp_path):
    X, y = table("multiclass")
    y = y.astype("category").cat.codes.astype(int)
    rows = np.flatnonzero(y != 1)
    model = getattr(models, name)(
        problem_type="multiclass", path=str(tmp_path), name="m", hyperparameters=SMALL[name]
    )
    model.fit(X=X.iloc[rows], y=y.iloc[rows], num_classes=3, num_cpus=1, num_gpus=0)
    result = model.predict_proba(X)
    assert result.shape == (200, 3)
    assert result[:, 1].max() < 1e-6


def test_a_stack_with_bags(models, tmp_path):
    from autogluon.tabular import TabularPredictor

    X, y = table("binary", 240)
    train = X.assign(target=y)
    predictor = TabularPredictor("target", path=str(tmp_path), verbosity=0).fit(
        train[:180],
        hyperparameters={getattr(models, name): parameters for name, parameters in SMALL.items()},
        num_bag_folds=2,
        num_stack_levels=1,
        dynamic_stacking=False,
        ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        num_cpus=1,
    )
    board = predictor.leaderboard()
    assert {"DeepForest_BAG_L1", "MDDFGradientBoosting_BAG_L1"} <= set(board["model"])
    assert "DeepForest_BAG_L2" not in set(board["model"])
    assert predictor.evaluate(train[180:])["accuracy"] > 0.7
