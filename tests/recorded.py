"""Small fits whose results are on record, bit for bit, and the command that writes the record.

``python tests/recorded.py --reason "why they differ" NAME...`` replaces the entries of these
cases; names may end in ``*``. The reason is stored with the record.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Callable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import numpy as np
from mddf.baselines import (
    AdaBoostClassifier,
    AdaBoostRhoClassifier,
    ArcGVClassifier,
    DeepBoostClassifier,
    GCForestClassifier,
    LPBoostClassifier,
    MLDFClassifier,
    MultiGrainedScanner,
    QuadBoostClassifier,
)
from sklearn.base import is_regressor
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    TimeOrder,
)
from mddf.rules import MarginRules

RECORD = Path(__file__).with_name("record.json")


def numbers(n_rows=180, n_columns=6, n_classes=3, missing=0.0, seed=0):
    """A table of numbers, some rounded, and labels that depend on the first columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 1] = np.round(X[:, 1], 1)
    z = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_rows)
    y = np.searchsorted(np.quantile(z, np.arange(1, n_classes) / n_classes), z)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def ties(n_rows=600, n_columns=40, n_classes=6, seed=0):
    """Small integers with many ties between splits, and many classes."""
    rng = np.random.default_rng(seed)
    X = np.floor(rng.random((n_rows, n_columns)) * rng.integers(2, 16, n_columns))
    leaning = (3 * X[:, 0] + X[:, -1]) % n_classes
    y = np.where(rng.random(n_rows) < 0.6, leaning, rng.integers(0, n_classes, n_rows))
    return X, y.astype(int)


def weights(kind, n_rows=180, seed=1):
    """Whole numbers, real numbers, or some zeros among ones."""
    rng = np.random.default_rng(seed)
    if kind == "whole":
        return rng.integers(0, 4, n_rows).astype(float)
    return rng.random(n_rows) if kind == "real" else (rng.random(n_rows) < 0.8).astype(float)


def mixed():
    """A data frame with categories, numbers and missing values, and text labels."""
    import pandas as pd

    rng = np.random.default_rng(2)
    X, y = numbers(missing=0.1, seed=3)
    frame = pd.DataFrame(X[:, :4], columns=["a", "b", "c", "d"])
    frame["kind"] = np.array(["red", "green", "blue", "white"])[(y + rng.integers(0, 2, 180)) % 4]
    frame.loc[::17, "kind"] = None
    frame["place"] = pd.Categorical(rng.integers(0, 9, 180).astype(str))
    frame["flag"] = rng.random(180) < 0.5
    return frame, np.array(["low", "middle", "high"])[y]


def several_labels():
    """Rows with four binary labels."""
    X, y = numbers()
    return X, np.column_stack([y == 0, y == 1, X[:, 0] > X[:, 1], (y == 2) & (X[:, 2] > 0)]) * 1


def several():
    """The same table, with three text labels per row: of two, one and three classes."""
    X, y = mixed()
    rest = np.where(np.nan_to_num(X["a"]) > 0, "yes", "no"), np.full(len(y), "same")
    return X, np.column_stack([*rest, y])


def large_noise(n_rows=150_300):
    """A table whose first two thirds are large, and labels that boosting can hardly learn."""
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(n_rows, 4)), 2)
    return X, (rng.random(n_rows) < 0.5 + 0.05 * (X[:, 0] > X[:, 1])).astype(int)


def large_noise_curve():
    """The same table, with regression targets whose sums are exact in any order."""
    X, y = large_noise()
    noise = np.random.default_rng(8).normal(size=len(y))
    return X, y + np.rint(256 * noise) / 256


def images():
    """Small pictures with a bright spot whose position gives the class."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 8, 8))
    for i, c in enumerate(y):
        X[i, 2 * c : 2 * c + 3, 1:4] += 1.5
    return X, y


def results(model, X, y, sample_weight=None, offset=None, groups=None) -> dict[str, np.ndarray]:
    """Fit a model on two thirds of the rows; return its results on the other rows by name."""
    half = 2 * len(X) // 3
    rows = X.iloc if hasattr(X, "iloc") else X
    training_rows, new_rows = rows[:half], rows[half:]
    options = {} if sample_weight is None else {"sample_weight": sample_weight[:half]}
    if groups is not None:
        options["groups"] = groups[:half]
    if offset is not None:
        options["offset"] = offset[:half]
    arrays: dict[str, np.ndarray] = {}
    if hasattr(model, "transform"):
        arrays["fit_transform"] = model.fit_transform(training_rows, y[:half], **options)
        arrays["transform"] = model.transform(new_rows)
    else:
        model.fit(training_rows, y[:half], **options)
    predict_method = "predict" if is_regressor(model) else "predict_proba"
    for method in (predict_method, "decision_function", "apply"):
        if hasattr(model, method):
            arrays[method] = _joined(getattr(model, method)(new_rows))
    if offset is not None:
        arrays["with offset"] = getattr(model, predict_method)(new_rows, offset=offset[half:])
    names = (
        "oob_decision_function_",
        "oob_prediction_",
        "oof_prediction_",
        "oof_probabilities_",
        "feature_importances_",
        "alphas_",
    )
    for name in (*names, "margins_", "weights_", "layer_importances_"):
        value = getattr(model, name, None)
        if value is not None:
            arrays[name] = _joined(value)
    return arrays


def _joined(value) -> np.ndarray:
    """Join a list of arrays of several outputs into one array."""
    several = isinstance(value, list) and np.ndim(value[0]) == 2
    return np.hstack(value) if several else np.asarray(value)


Case = Callable[[], dict[str, np.ndarray]]


def _case(make, data, **options) -> Case:
    def run():
        X, y = data()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\d+ of \d+ samples have no out-of-bag")
            return results(make(), X, y, **options)

    return run


def _forests() -> dict[str, Case]:
    cases = {}
    options: dict[str, dict] = {
        "default": {},
        "entropy": {"criterion": "entropy", "max_features": None},
        "limits": {"max_depth": 4, "min_samples_leaf": 3, "min_samples_split": 0.1},
        "few bins": {"max_bins": 7, "max_features": 0.5, "min_weight_fraction_leaf": 0.02},
        "balanced": {"class_weight": "balanced"},
        "balanced subsample": {"class_weight": "balanced_subsample"},
        "best first": {"max_leaf_nodes": 14, "min_impurity_decrease": 0.002},
        "pruned": {"ccp_alpha": 0.004, "criterion": "entropy"},
        "two jobs": {"n_jobs": 2},
    }
    for kind in (RandomForestClassifier, CompletelyRandomForestClassifier):
        short = "random" if kind is RandomForestClassifier else "completely random"
        for name, chosen in options.items():
            make = partial(kind, 12, random_state=5, **chosen)
            cases[f"{short}, {name}"] = _case(make, numbers)
        bagged = partial(kind, 15, bootstrap=True, oob_score=True, random_state=6)
        cases[f"{short}, missing"] = _case(bagged, partial(numbers, missing=0.2))
        cases[f"{short}, mixed"] = _case(bagged, mixed)
        cases[f"{short}, several outputs"] = _case(bagged, several)
        by_entropy = partial(bagged, criterion="entropy", class_weight="balanced")
        cases[f"{short}, several outputs, entropy"] = _case(by_entropy, several)
        cases[f"{short}, many rows"] = _case(
            partial(kind, 4, random_state=0), partial(numbers, 9000, 8, 4, seed=8)
        )
        for weight in ("whole", "real", "zeros"):
            for bootstrap in (False, True):
                make = partial(kind, 10, bootstrap=bootstrap, oob_score=bootstrap, random_state=7)
                name = f"{short}, {weight} weights{', bootstrap' if bootstrap else ''}"
                cases[name] = _case(make, numbers, sample_weight=weights(weight))
        cases[f"{short}, share of samples"] = _case(
            partial(kind, 10, bootstrap=True, max_samples=0.4, oob_score=True, random_state=9),
            numbers,
        )
    # Where sums are rounded and columns are equally good, the order of the sums decides: with
    # these seeds, histograms and sorted samples grow different trees.
    for seed, name, chosen in (
        (3, "entropy", {"criterion": "entropy"}),
        (1, "balanced", {"class_weight": "balanced", "bootstrap": False}),
    ):
        make = partial(RandomForestClassifier, 20, max_features=None, random_state=4, **chosen)
        cases[f"random, ties, {name}"] = _case(make, partial(ties, seed=seed))
    return cases


def curve(n_outputs=1, **options):
    """Regression targets; further outputs have another scale."""
    X, y = numbers(n_classes=9, **options)
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 99, (len(y), n_outputs)) * 10.0 ** np.arange(n_outputs)
    targets = y[:, None] + noise / 64
    return X, targets[:, 0] if n_outputs == 1 else targets


def mixed_curve():
    """A data frame with categories, and regression targets."""
    frame, words = mixed()
    return frame, np.char.str_len(words) / 7


def levels():
    """A table of many-level categories, and labels that depend on them."""
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 40, (180, 3))
    y = (np.sin(codes[:, 0]) + np.cos(codes[:, 1]) + rng.normal(size=180) > 0).astype(int)
    return codes.astype(str).astype(object), np.array(["low", "high"])[y]


def level_curve():
    """The same table, with regression targets."""
    X, _ = levels()
    return X, np.sin(X[:, 0].astype(float)) + np.cos(X[:, 1].astype(float))


def _regressors() -> dict[str, Case]:
    cases = {}
    options: dict[str, dict] = {
        "default": {},
        "limits": {"max_depth": 4, "min_samples_leaf": 3, "min_samples_split": 0.1},
        "few bins": {"max_bins": 7, "max_features": 0.5, "min_weight_fraction_leaf": 0.02},
        "best first": {"max_leaf_nodes": 14, "min_impurity_decrease": 0.002},
        "pruned": {"ccp_alpha": 0.004},
        "monotonic": {"monotonic_cst": [1, -1, *[0] * 4], "max_leaf_nodes": 20},
        "absolute error": {"criterion": "absolute_error"},
        "poisson": {"criterion": "poisson", "max_features": 2},
        "two jobs": {"n_jobs": 2},
    }
    for kind in (RandomForestRegressor, CompletelyRandomForestRegressor):
        short = f"{'random' if kind is RandomForestRegressor else 'completely random'} regressor"
        for name, chosen in options.items():
            cases[f"{short}, {name}"] = _case(partial(kind, 12, random_state=5, **chosen), curve)
        bagged = partial(kind, 15, bootstrap=True, oob_score=True, random_state=6)
        cases[f"{short}, missing"] = _case(bagged, partial(curve, missing=0.2))
        cases[f"{short}, outputs"] = _case(bagged, partial(curve, 3))
        cases[f"{short}, mixed"] = _case(bagged, mixed_curve)
        for weight in ("whole", "real", "zeros"):
            make = partial(kind, 10, bootstrap=weight != "real", random_state=7)
            cases[f"{short}, {weight} weights"] = _case(make, curve, sample_weight=weights(weight))
    return cases


def absolute_fourth(y_true, raw_prediction, sample_weight):
    """Derivatives of fourths of the fourth powers of residuals."""
    rest = raw_prediction - y_true
    return rest * rest * rest, 3 * rest * rest


def positive_curve():
    """Targets above 0."""
    X, y = curve()
    return X, 1 + np.abs(y)


def _boosted() -> dict[str, Case]:
    few = {"max_iter": 20, "learning_rate": 0.2, "random_state": 9}
    options: dict[str, dict] = {
        "symmetric": {},
        "leaf-wise": {"grow_policy": "leaf-wise", "min_samples_leaf": 4},
        "some rows and columns": {"subsample": 0.6, "max_features": 0.5},
        "early stopping": {"early_stopping": True, "n_iter_no_change": 3, "max_iter": 60},
        "two jobs": {"n_jobs": 2},
    }
    cases = {}
    for name, chosen in options.items():
        classifier = partial(GradientBoostingClassifier, **few | chosen)
        regressor = partial(GradientBoostingRegressor, **few | chosen)
        cases[f"boosted, {name}"] = _case(classifier, partial(numbers, missing=0.1))
        cases[f"boosted, mixed, {name}"] = _case(classifier, mixed)
        cases[f"boosted regressor, {name}"] = _case(regressor, partial(curve, missing=0.1))
        cases[f"boosted regressor, mixed, {name}"] = _case(regressor, mixed_curve)
    for loss in ("absolute_error", "quantile", "huber"):
        make = partial(GradientBoostingRegressor, loss=loss, quantile=0.7, **few)
        cases[f"boosted regressor, {loss}"] = _case(make, curve)
    for weight in ("whole", "real", "zeros"):
        for kind, data in (
            (GradientBoostingClassifier, numbers),
            (GradientBoostingRegressor, curve),
        ):
            short = f"boosted{' regressor' if data is curve else ''}"
            cases[f"{short}, {weight} weights"] = _case(
                partial(kind, **few), data, sample_weight=weights(weight)
            )
    many = partial(ties, n_rows=300, n_columns=8, n_classes=10)
    cases["boosted, many classes"] = _case(partial(GradientBoostingClassifier, **few), many)
    by_levels = {**few, "categorical_features": [0, 1, 2]}
    cases["boosted, many levels"] = _case(partial(GradientBoostingClassifier, **by_levels), levels)
    make = partial(GradientBoostingRegressor, **by_levels)
    cases["boosted regressor, many levels"] = _case(make, level_curve)
    two = partial(numbers, n_classes=2)
    cases["boosted, two classes"] = _case(partial(GradientBoostingClassifier, **few), two)
    cases["boosted, exponential"] = _case(
        partial(GradientBoostingClassifier, loss="exponential", **few), two
    )
    make = partial(GradientBoostingRegressor, loss="tweedie", tweedie_power=1.3, **few)
    cases["boosted regressor, tweedie"] = _case(make, positive_curve)
    for loss in ("squared_error", "poisson"):
        make = partial(GradientBoostingRegressor, loss=loss, **few)
        cases[f"boosted regressor, several outputs, {loss}"] = _case(make, partial(curve, 3))
    make = partial(GradientBoostingRegressor, **few)
    cases["boosted regressor, many outputs"] = _case(make, partial(curve, 9))
    make = partial(GradientBoostingRegressor, loss=absolute_fourth, **few)
    cases["boosted regressor, custom loss"] = _case(make, curve)
    offset = 2 * weights("real") - 1
    for loss in ("squared_error", "poisson", "gamma", "huber"):
        make = partial(GradientBoostingRegressor, loss=loss, **few, early_stopping=True)
        cases[f"boosted regressor, {loss}, offset"] = _case(make, positive_curve, offset=offset)
    make = partial(GradientBoostingClassifier, **few)
    cases["boosted, two classes, offset"] = _case(make, two, offset=offset)
    three = np.column_stack([offset, -offset, np.zeros(len(offset))])
    cases["boosted, offset"] = _case(make, numbers, offset=three)
    return cases


def _cascades() -> dict[str, Case]:
    few = {"n_layers": 3, "n_estimators": 6, "cv": 3, "random_state": 3}
    options: dict[str, dict] = {
        "default": {},
        "stagewise": {"rules": MarginRules(alpha="stagewise"), "early_stopping": False},
        "mean margin": {"rules": MarginRules(alpha="mean-margin"), "early_stopping": False},
        "no reweighting": {"rules": MarginRules(strength=0.0), "scoring": "accuracy"},
        "mean vectors": {"rules": MarginRules(augmentation="mean"), "early_stopping": False},
        "stacking": {"rules": MarginRules(structure="stacking"), "early_stopping": False},
        "no preconc": {"rules": MarginRules(structure="no-preconc"), "early_stopping": False},
        "out-of-bag": {"cv": "oob", "early_stopping": False},
        "refit": {"refit": True, "early_stopping": False},
        "splitter": {"cv": StratifiedKFold(3), "scoring": "neg_log_loss"},
        "depth": {"rules": MarginRules(depth_step=2), "early_stopping": False},
        "balanced": {"class_weight": "balanced", "rules": MarginRules(strength=0.3)},
        "others": {
            "forests": ["random", DecisionTreeClassifier(max_depth=3), ExtraTreesClassifier(5)],
            "early_stopping": False,
        },
    }
    cases = {
        f"mddf, {name}": _case(partial(MDDFClassifier, **(few | chosen)), numbers)
        for name, chosen in options.items()
    }
    make = partial(MDDFClassifier, **few)
    cases["mddf, mixed"] = _case(make, mixed)
    cases["mddf, missing, two jobs"] = _case(
        partial(make, n_jobs=2), partial(numbers, missing=0.2, n_classes=2)
    )
    for kind in ("whole", "real", "zeros"):
        cases[f"mddf, {kind} weights"] = _case(make, numbers, sample_weight=weights(kind))
    cases["mddf, out-of-bag, whole weights"] = _case(
        partial(make, cv="oob"), numbers, sample_weight=weights("whole")
    )
    gc = partial(GCForestClassifier, **few)
    cases["gcforest, default"] = _case(gc, numbers)
    cases["gcforest, out-of-bag"] = _case(partial(gc, cv="oob", n_jobs=2), numbers)
    cases["gcforest, refit, calibrated"] = _case(partial(gc, refit=True, calibrate=True), mixed)
    for measure in ("hamming-loss", "one-error", "ranking-loss", "macro-auc"):
        make = partial(MLDFClassifier, **few, measure=measure, early_stopping=False)
        cases[f"mldf, {measure}"] = _case(make, several_labels)
    cases["mldf, refit, weights"] = _case(
        partial(MLDFClassifier, **few, refit=True, n_jobs=2),
        several_labels,
        sample_weight=weights("real"),
    )
    cases["gcforest, mixed, weights"] = _case(gc, mixed, sample_weight=weights("real"))
    return cases


def _boosting() -> dict[str, Case]:
    two = partial(numbers, n_classes=2)
    makers: dict[str, Callable] = {
        "adaboost, stumps": partial(AdaBoostClassifier, 15),
        "adaboost, trees": partial(AdaBoostClassifier, 10, max_depth=3),
        "adaboost, early stopping": partial(
            AdaBoostClassifier, 40, early_stopping=True, random_state=0
        ),
        "adaboost-rho": partial(AdaBoostRhoClassifier, 15, rho=0.05),
        "arc-gv": partial(ArcGVClassifier, 10, max_depth=3),
        "deepboost, exponential": partial(DeepBoostClassifier, 15),
        "deepboost, logistic": partial(DeepBoostClassifier, 10, loss="logistic", max_depth=2),
        "deepboost, stumps": partial(DeepBoostClassifier, 10, hypotheses="stumps"),
        "quadboost, l1": partial(QuadBoostClassifier, "l1", n_estimators=20),
        "quadboost, l2": partial(QuadBoostClassifier, "l2", n_estimators=20),
        "lpboost": partial(LPBoostClassifier, 0.2, n_estimators=10),
        "lpboost, fixed": partial(LPBoostClassifier, 0.2, n_estimators=10, weak_learners="stumps"),
    }
    cases = {name: _case(make, two) for name, make in makers.items()}
    for name in ("adaboost, trees", "deepboost, exponential", "quadboost, l1"):
        cases[f"{name}, weights"] = _case(makers[name], two, sample_weight=weights("whole"))
        cases[f"{name}, three classes"] = _case(makers[name], numbers)
    return cases


def _scanners() -> dict[str, Case]:
    scan = partial(MultiGrainedScanner, [3, 5], n_estimators=4, cv=3, random_state=1)
    return {
        "scanner": _case(scan, images),
        "scanner, drawn windows": _case(partial(scan, max_windows=6, n_jobs=2), images),
        "scanner, pooling": _case(partial(scan, pooling="max", strides=2), images),
    }


def _large() -> dict[str, Case]:
    """Tables of more than 100 000 rows, which have options of their own."""
    few = {"max_iter": 8, "random_state": 4}
    # Without a limit of rounds, boosting stops early, since the labels are mostly noise.
    members = ["random", "completely-random", "boosted", "boosted-leaf-wise"]
    deep = {"n_estimators": 4, "members": members, "random_state": 4}
    classify = partial(GradientBoostingClassifier, **few)
    regress = partial(GradientBoostingRegressor, **few)
    leaf_wise = {"grow_policy": "leaf-wise"}
    return {
        "large, boosted": _case(classify, large_noise),
        "large, boosted, leaf-wise": _case(partial(classify, **leaf_wise), large_noise),
        "large, boosted, early stopping": _case(
            partial(classify, early_stopping=True, max_iter=30, n_iter_no_change=3), large_noise
        ),
        "large, boosted regressor": _case(regress, large_noise_curve),
        "large, boosted regressor, leaf-wise": _case(
            partial(regress, **leaf_wise), large_noise_curve
        ),
        "large, random": _case(partial(RandomForestClassifier, 2, random_state=4), large_noise),
        "large, random regressor": _case(
            partial(RandomForestRegressor, 2, random_state=4), large_noise_curve
        ),
        "large, deep forest": _case(partial(DeepForestClassifier, **deep), large_noise),
        "large, deep regressor": _case(
            partial(DeepForestRegressor, **{**deep, "members": members[:3]}), large_noise_curve
        ),
    }


def _dependent_rows() -> dict[str, Case]:
    """Rows in time order, and rows in groups."""
    by_time = {"cv": TimeOrder(time=0, n_splits=3, as_feature=True), "random_state": 3}
    # Folds of a number of groups differ between versions of scikit-learn.
    grouped = {"cv": LeaveOneGroupOut(), "random_state": 3}
    groups = np.random.default_rng(9).integers(0, 4, 180)
    deep = {"n_estimators": 6, "members": ["random", "completely-random", "boosted"]}
    boosted = {"max_iter": 30, "learning_rate": 0.2, "n_iter_no_change": 5}
    cascade = {"n_layers": 3, "n_estimators": 6}
    makers: dict[str, tuple[Callable, Callable]] = {
        "deep forest": (partial(DeepForestClassifier, **deep), numbers),
        "deep forest, folds kept": (
            partial(DeepForestClassifier, **deep, refit=False),
            numbers,
        ),
        "deep regressor": (partial(DeepForestRegressor, **deep), partial(curve, 2)),
        "boosted": (partial(GradientBoostingClassifier, early_stopping=True, **boosted), numbers),
        "boosted regressor": (
            partial(GradientBoostingRegressor, early_stopping=True, **boosted),
            curve,
        ),
        "boosted regressor, tuned": (
            partial(
                GradientBoostingRegressor,
                max_iter=30,
                grow_policy="symmetric",
                **dict.fromkeys(
                    ["learning_rate", "l2_regularization", "max_features", "subsample"], "auto"
                ),
            ),
            curve,
        ),
        "mddf": (partial(MDDFClassifier, **cascade), numbers),
        "gcforest": (partial(GCForestClassifier, **cascade), numbers),
    }
    cases = {}
    for name, (make, data) in makers.items():
        cases[f"time order, {name}"] = _case(partial(make, **by_time), data)
        cases[f"groups, {name}"] = _case(partial(make, **grouped), data, groups=groups)
    return cases


# Last digits of these members depend on LAPACK, and so on the machine.
_INEXACT = ("kernel", "linear")


class _ExactClassifier(DeepForestClassifier):
    """Deep forest whose members have the same bits on every machine."""

    _auto_members = tuple(
        name for name in DeepForestClassifier._auto_members if name not in _INEXACT
    )


class _ExactRegressor(DeepForestRegressor):
    """Deep forest whose members have the same bits on every machine."""

    _auto_members = tuple(
        name for name in DeepForestRegressor._auto_members if name not in _INEXACT
    )


def _deep_forests() -> dict[str, Case]:
    # Members of other packages depend on their versions and are left out.
    members = ["random", "completely-random"]
    small = {"n_estimators": 6, "members": members, "cv": 3, "random_state": 2}
    make, classify = partial(DeepForestRegressor, **small), partial(DeepForestClassifier, **small)
    by_levels = {**small, "members": ["boosted", "random"], "categorical_features": [0, 1, 2]}
    networks = {"members": ["network"], "cv": 2, "random_state": 2}
    return {
        "deep forest": _case(classify, numbers),
        "deep forest, boosted": _case(
            partial(DeepForestClassifier, 1, **{**small, "members": ["boosted", "random"]}), mixed
        ),
        "deep forest, boosted, many levels": _case(
            partial(DeepForestClassifier, 1, **by_levels), levels
        ),
        "deep regressor, boosted, many levels": _case(
            partial(DeepForestRegressor, 1, **by_levels), level_curve
        ),
        "deep regressor, boosted": _case(
            partial(DeepForestRegressor, 1, **{**small, "members": ["boosted", "random"]}),
            curve,
        ),
        "deep forest, network": _case(
            partial(DeepForestClassifier, 1, **networks), mixed, sample_weight=weights("real")
        ),
        "deep forest, kernel logistic": _case(
            partial(DeepForestClassifier, 1, members=["kernel-logistic"], cv=3, random_state=2),
            mixed,
            sample_weight=weights("real"),
        ),
        "deep regressor, network": _case(
            partial(DeepForestRegressor, 1, refit=False, **networks),
            partial(curve, 2, missing=0.1),
        ),
        "deep forest, automatic members": _case(
            partial(_ExactClassifier, n_estimators=3, cv=3, random_state=2),
            mixed,
            sample_weight=weights("real"),
        ),
        "deep forest, fast": _case(
            partial(_ExactClassifier, preset="fast", n_estimators=3, random_state=2), numbers
        ),
        "deep regressor, automatic members": _case(
            partial(_ExactRegressor, n_estimators=3, cv=3, random_state=2),
            partial(curve, missing=0.1),
        ),
        "deep regressor, boosted, outputs": _case(
            partial(DeepForestRegressor, 1, **{**small, "members": ["boosted", "random"]}),
            partial(curve, 3),
        ),
        "deep forest, folds kept, two jobs": _case(
            partial(classify, refit=False, n_jobs=2), partial(numbers, missing=0.1)
        ),
        "deep forest, mixed, weights": _case(classify, mixed, sample_weight=weights("real")),
        "deep forest, several outputs": _case(
            partial(DeepForestClassifier, **{**small, "members": [*members, "boosted"]}), several
        ),
        "deep forest, several outputs, weights": _case(
            partial(classify, refit=False, class_weight="balanced"),
            several,
            sample_weight=weights("whole"),
        ),
        "deep forest regressor": _case(make, curve),
        "deep forest regressor, folds kept, two jobs": _case(
            partial(make, refit=False, n_jobs=2), partial(curve, 2, missing=0.1)
        ),
        "deep forest regressor, mixed, weights": _case(
            make, mixed_curve, sample_weight=weights("real")
        ),
    }


def cases() -> dict[str, Case]:
    """All cases by their names."""
    parts = (
        _forests,
        _regressors,
        _boosted,
        _cascades,
        _deep_forests,
        _boosting,
        _scanners,
        _large,
        _dependent_rows,
    )
    return {name: case for part in parts for name, case in part().items()}


def hashes(case: Case) -> dict[str, str]:
    """A short hash of each result of a case: dtype, shape and bytes."""

    def hashed(values):
        values = np.ascontiguousarray(values)
        # Little-endian everywhere; -0.0 and 0.0 differ, all NaNs are equal.
        values = values.astype(values.dtype.newbyteorder("<"))
        if values.dtype.kind == "f":
            values[np.isnan(values)] = np.nan
        head = f"{values.dtype.str} {values.shape}".encode()
        return hashlib.sha256(head + values.tobytes()).hexdigest()[:16]

    return {name: hashed(values) for name, values in case().items()}


def read() -> dict:
    """The record: hashes by case, and past changes with their reasons."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {"hashes": {}, "changes": []}


def main() -> None:
    """Replace entries of the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="cases, * for any letters")
    parser.add_argument("--reason", required=True)
    arguments = parser.parse_args()
    record, changed = read(), {}
    for name, case in cases().items():
        if any(fnmatch(name, pattern) for pattern in arguments.names):
            new_hashes, before = hashes(case), record["hashes"].get(name, {})
            if new_hashes != before:
                every = sorted(new_hashes.keys() | before.keys())
                differ = [key for key in every if new_hashes.get(key) != before.get(key)]
                changed[name] = differ if before else "new"
                record["hashes"][name] = new_hashes
    if changed:
        record["changes"].append({"reason": arguments.reason, "changed": changed})
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{len(changed)} cases changed")


if __name__ == "__main__":
    main()
