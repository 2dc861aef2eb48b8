"""How good deep forests are: ratings on sets, against bags of other libraries' boosting.

    python scripts/report/elo.py --quick
    python scripts/report/elo.py --own-sets mysets.py --methods deep-forest catboost-bag

A third of the rows is held out for testing, as in ingredients.py, which --own-sets is for, too.
Losses are TabArena's: 1 - AUC of two classes, log-loss of more, RMSE. The bags have a model for
each of eight folds, of up to 4000 rounds at a rate of .05 (CatBoost, LightGBM), stopped by the
fold that is held out, as AutoGluon does. Ratings are those of the methods that ran, on these sets
alone; scikit-learn's random forest has 1000. Fits have one thread.
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
PRESETS = {"deep-forest": "default", "deep-forest-fast": "fast", "deep-forest-best": "best"}
FOLDS, ROUNDS, PATIENCE = 8, 4000, 100


def single(method, task, seed):
    """An estimator that is fitted once."""
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
    """A data frame, whose columns that are no numbers are categories."""
    frame = pd.DataFrame(X).rename(columns=str)
    others = frame.select_dtypes(exclude=["number", "bool"]).columns
    return frame.astype(dict.fromkeys(others, "category"))


def as_codes(X):
    """The same as numbers, codes of categories, -1 where these are missing."""
    codes = {c: X[c].cat.codes for c in X.select_dtypes("category")}
    return X.assign(**codes).to_numpy(float)


def boosted(method, task, seed):
    """A model of another library's, and the columns of categories as it takes them."""
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


def bag(method, X, y, X_test, task, seed):
    """The mean of what the models of all folds predict of new rows."""
    cat = list(X.select_dtypes("category"))
    if method == BAG:  # its categories are text
        X, X_test = (part.astype(dict.fromkeys(cat, str)) for part in (X, X_test))
    Folds = KFold if task == "regression" else StratifiedKFold
    found = []
    for train, watched_rows in Folds(FOLDS, shuffle=True, random_state=seed).split(X, y):
        model = boosted(method, task, seed)
        watched = {"eval_set": [(X.iloc[watched_rows], y[watched_rows])]}
        if method == BAG:
            watched["cat_features"] = cat
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LightGBM 4.7 calls eval_set by another name
            model.fit(X.iloc[train], y[train], **watched)
        predict = model.predict if task == "regression" else model.predict_proba
        found.append(predict(X_test))
    return np.mean(found, axis=0)


def cell(options, set, seed, method):
    X, y, task, train, test = held_out.split(options, set, seed)
    X, classes = as_frame(X), None
    if task != "regression":
        y = np.unique(y, return_inverse=True)[1]
        classes = np.arange(y.max() + 1)
    start = time.process_time()
    if method.endswith("-bag"):
        found = bag(method, X.iloc[train], y[train], X.iloc[test], task, seed)
        took, error = time.process_time() - start, held_out.loss_of(found, y[test], task, classes)
    else:
        ours = method.startswith(("deep-forest", "boosting"))
        seen = X if ours else pd.DataFrame(as_codes(X))
        model = single(method, task, seed).fit(seen.iloc[train], y[train])
        took = time.process_time() - start
        error = held_out.loss(model, seen.iloc[test], y[test], task)
    return {"rows": len(train), "cpu_seconds": took, "loss": error}


def report(frame, options):
    each = frame.groupby(["set", "method"], sort=False).mean(numeric_only=True)
    losses = each["loss"].unstack("method").dropna()
    if ANCHOR not in losses or losses.empty:
        return []
    ends = elo.intervals(losses, ANCHOR)
    summary = pd.DataFrame({"elo": elo.elo(losses, ANCHOR), "low": ends[0.05], "high": ends[0.95]})
    if BAG in losses:
        relative = losses.div(losses[BAG], axis=0)
        summary["ratio"] = np.exp(np.log(relative).mean())
        summary["better"] = (relative < 1).sum()
    summary["rank"] = losses.rank(axis=1).mean()
    summary["seconds"] = each["cpu_seconds"].unstack("method").median()
    summary = summary.sort_values("elo", ascending=False).reset_index()
    of_all = "method Elo=elo:.0f 5_%=low:.0f 95_%=high:.0f mean_rank=rank:.2f"
    if BAG in losses:
        of_all += f" loss/{BAG}=ratio:.3f better_on=better:.0f"
    lost = losses.copy()
    if "deep-forest" in losses:  # what is lost by most comes first
        best = losses.drop(columns=[m for m in losses if m.startswith("deep-forest")]).min(axis=1)
        lost["of_best"] = losses["deep-forest"] / best
        lost = lost.sort_values("of_best", ascending=False)
    shown = " ".join(f"{name.replace('_', ' ').replace(' ', '_')}={name}:.4g" for name in lost)
    return [
        tables.columns(
            "elo", f"Ratings on {len(losses)} sets", summary, f"{of_all} CPU,_s=seconds:.1f"
        ),
        tables.columns(
            "elo-by-set", "Losses, those lost first", lost.reset_index(), f"set {shown}"
        ),
    ]


study = Study(
    globals(), "elo", held_out.keys, datasets=SETS, own_sets="", methods=METHODS, seeds=1,
    quick={"datasets": ["wine"], "methods": ["deep-forest-fast", "random-forest", "extra-trees"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
