"""Rate deep forests and bags of boosting models of other libraries on many sets.

    python scripts/report/elo.py --quick
    python scripts/report/elo.py --own-sets mysets.py --methods deep-forest catboost-bag

A third of the rows is held out for testing. ingredients.py explains --own-sets. Losses are those
of TabArena: 1 - AUC for two classes, log-loss for more, RMSE for regression. A bag (CatBoost,
LightGBM) has a model for each of eight folds, with up to 4000 rounds at a learning rate of 0.05,
stopped early on the held-out fold, as in AutoGluon. Ratings compare the methods of this run on
these sets only; the random forest of scikit-learn has 1000. Fits use one thread.
"""

import time
import warnings

import numpy as np
import pandas as pd
from _lab import elo, held_out, tables
from _lab.study import Study
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.ensemble import RandomForestClassifier as TheirForestClassifier
from sklearn.ensemble import RandomForestRegressor as TheirForestRegressor
from sklearn.model_selection import KFold, StratifiedKFold

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

ANCHOR, BAG = "random-forest", "catboost-bag"
METHODS = [
    "deep-forest",
    "deep-forest-fast",
    "boosting",
    BAG,
    "lightgbm-bag",
    ANCHOR,
    "extra-trees",
]
SETS = ["airfoil", "concrete", "insurance", "german", "pima"]
PRESETS = {"deep-forest": "default", "deep-forest-fast": "fast"}
# Eight folds as in the bags of AutoGluon.
FOLDS = 8
# Upper limit of the rounds; early stopping ends the fits before.
ROUNDS = 4000
# Rounds without improvement until a fit stops; not tuned.
PATIENCE = 100


def single(method, task, seed):
    """Return an estimator that is fitted once, not in a bag."""
    common, number = {"random_state": seed, "n_jobs": 1}, task == "regression"
    if method in PRESETS:
        Model = DeepForestRegressor if number else DeepForestClassifier
        return Model(preset=PRESETS[method], **common)
    if method == "boosting":
        return (GradientBoostingRegressor if number else GradientBoostingClassifier)(**common)
    if method == ANCHOR:
        return (TheirForestRegressor if number else TheirForestClassifier)(300, **common)
    return (ExtraTreesRegressor if number else ExtraTreesClassifier)(300, **common)


def as_frame(X):
    """Return a data frame with categorical columns in place of non-numeric ones."""
    frame = pd.DataFrame(X).rename(columns=str)
    categorical = frame.select_dtypes(exclude=["number", "bool"]).columns
    return frame.astype(dict.fromkeys(categorical, "category"))


def as_codes(X):
    """Return a data frame as numbers; categories become codes, and missing ones -1."""
    codes = {c: X[c].cat.codes for c in X.select_dtypes("category")}
    return X.assign(**codes).to_numpy(float)


def boosted(method, task, seed):
    """Return a boosting model of CatBoost or LightGBM."""
    number = task == "regression"
    if method == BAG:
        import catboost

        Model = catboost.CatBoostRegressor if number else catboost.CatBoostClassifier
        options = {"iterations": ROUNDS, "early_stopping_rounds": PATIENCE, "thread_count": 1}
        return Model(
            learning_rate=0.05, verbose=0, allow_writing_files=False, random_seed=seed, **options
        )
    import lightgbm

    Model = lightgbm.LGBMRegressor if number else lightgbm.LGBMClassifier
    options = {"n_estimators": ROUNDS, "early_stopping_round": PATIENCE, "n_jobs": 1}
    return Model(learning_rate=0.05, verbose=-1, random_state=seed, **options)


def bag(method, X, y, X_test, *, task, seed):
    """Return the mean prediction of the models of all folds for new rows."""
    cat = list(X.select_dtypes("category"))
    if method == BAG:  # CatBoost requires categories as text
        X, X_test = (part.astype(dict.fromkeys(cat, str)) for part in (X, X_test))
    Folds = KFold if task == "regression" else StratifiedKFold
    fold_predictions = []
    for train, watched_rows in Folds(FOLDS, shuffle=True, random_state=seed).split(X, y):
        model = boosted(method, task, seed)
        watched = {"eval_set": [(X.iloc[watched_rows], y[watched_rows])]}
        if method == BAG:
            watched["cat_features"] = cat
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LightGBM 4.7 has renamed eval_set
            model.fit(X.iloc[train], y[train], **watched)
        predict = model.predict if task == "regression" else model.predict_proba
        fold_predictions.append(predict(X_test))
    return np.mean(fold_predictions, axis=0)


def cell(options, set, seed, method):
    X, y, task, train, test = held_out.split(options, set, seed)
    X, classes = as_frame(X), None
    if task != "regression":
        y = np.unique(y, return_inverse=True)[1]
        classes = np.arange(y.max() + 1)
    start = time.process_time()
    if method.endswith("-bag"):
        predictions = bag(method, X.iloc[train], y[train], X.iloc[test], task=task, seed=seed)
        took, error = (
            time.process_time() - start,
            held_out.loss_of(predictions, y[test], task, classes),
        )
    else:
        ours = method.startswith(("deep-forest", "boosting"))
        features = X if ours else pd.DataFrame(as_codes(X))
        model = single(method, task, seed).fit(features.iloc[train], y[train])
        took = time.process_time() - start
        error = held_out.loss(model, features.iloc[test], y[test], task)
    return {"rows": len(train), "cpu_seconds": took, "loss": error}


def report(frame, options):
    means = frame.groupby(["set", "method"], sort=False).mean(numeric_only=True)
    losses = means["loss"].unstack("method").dropna()
    if ANCHOR not in losses or losses.empty:
        return []
    ends = elo.intervals(losses, ANCHOR)
    summary = pd.DataFrame({"elo": elo.elo(losses, ANCHOR), "low": ends[0.05], "high": ends[0.95]})
    if BAG in losses:
        relative = losses.div(losses[BAG], axis=0)
        summary["ratio"] = np.exp(np.log(relative).mean())
        summary["better"] = (relative < 1).sum()
    summary["rank"] = losses.rank(axis=1).mean()
    summary["seconds"] = means["cpu_seconds"].unstack("method").median()
    summary = summary.sort_values("elo", ascending=False).reset_index()
    summary_layout = "method Elo=elo:.0f 5_%=low:.0f 95_%=high:.0f mean_rank=rank:.2f"
    if BAG in losses:
        summary_layout += f" loss/{BAG}=ratio:.3f better_on=better:.0f"
    lost = losses.copy()
    if "deep-forest" in losses:  # the largest losses relative to the best method come first
        best = losses.drop(columns=[m for m in losses if m.startswith("deep-forest")]).min(axis=1)
        lost["of_best"] = losses["deep-forest"] / best
        lost = lost.sort_values("of_best", ascending=False)
    set_columns = " ".join(
        f"{name.replace('_', ' ').replace(' ', '_')}={name}:.4g" for name in lost
    )
    return [
        tables.columns(
            "elo",
            f"Ratings on {len(losses)} sets",
            summary,
            f"{summary_layout} CPU,_s=seconds:.1f",
        ),
        tables.columns(
            "elo-by-set", "Losses, those lost first", lost.reset_index(), f"set {set_columns}"
        ),
    ]


study = Study(
    globals(), "elo", held_out.keys, datasets=SETS, own_sets="", methods=METHODS, seeds=1,
    quick={"datasets": ["wine"], "methods": ["deep-forest-fast", "random-forest", "extra-trees"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
