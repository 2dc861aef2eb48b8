"""Time gradient boosting on one core against the boosting of other libraries.

    python scripts/bench/gradient.py             libraries that are not installed are left out
    python scripts/bench/gradient.py --quick     small tables, few rounds
    python scripts/bench/gradient.py --tables small large --peers catboost

CPU seconds of fits and predictions of made tables, in turns, with as many rounds and the same
learning rate; symmetric trees of depth 6 against CatBoost's, leaf-wise ones of 31 leaves against
the others'. Ratios: peer / ours.
"""

from functools import partial
from importlib.util import find_spec

import numpy as np
from _lab import bench, tables
from _lab.study import Study
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

# Rows, columns and classes; none are numbers to predict.
TABLES = {
    "tiny": (500, 6, 0),
    "small": (700, 8, 0),
    "small, two classes": (500, 8, 2),
    "medium": (3300, 19, 2),
    "large": (20_000, 20, 0),
    "large, two classes": (20_000, 20, 2),
    "many classes": (14_000, 16, 26),
    "huge": (180_000, 50, 0),
}
RATE = 0.05


def made(n_rows, n_columns, n_classes):
    """A table, half of which is for predictions, and a target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n_rows, n_columns))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, -1] + 0.3 * rng.normal(size=len(X))
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    return X, y


def ours(policy, classes, rounds):
    """Ours."""
    kind = GradientBoostingClassifier if classes else GradientBoostingRegressor
    leaf_wise = {"min_samples_leaf": 20, "l2_regularization": 0.0}
    options = leaf_wise if policy == "leaf-wise" else {}
    return kind(
        max_iter=rounds, learning_rate=RATE, grow_policy=policy, early_stopping=False, **options
    )


def catboost(classes, rounds):
    """CatBoost's symmetric trees."""
    import catboost

    kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
    return kind(
        iterations=rounds, learning_rate=RATE, depth=6, thread_count=1, verbose=0,
        allow_writing_files=False,
    )  # fmt: skip


def lightgbm(classes, rounds):
    """LightGBM's."""
    import lightgbm

    kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    return kind(n_estimators=rounds, learning_rate=RATE, num_leaves=31, n_jobs=1, verbose=-1)


def xgboost(classes, rounds):
    """XGBoost's, by histograms."""
    import xgboost

    kind = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
    return kind(
        n_estimators=rounds, learning_rate=RATE, tree_method="hist", grow_policy="lossguide",
        max_leaves=31, max_depth=0, n_jobs=1,
    )  # fmt: skip


def scikit(classes, rounds):
    """scikit-learn's, by histograms."""
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(max_iter=rounds, learning_rate=RATE, early_stopping=False)


PEERS = {"catboost": catboost, "lightgbm": lightgbm, "xgboost": xgboost, "sklearn": scikit}


def measured(make, X, y, _):
    """CPU seconds of a fit, and of predictions of as many rows."""
    half = len(X) // 2
    fit, _, model = bench.cost(make().fit, X[:half], y[:half], least=0.05)
    classifies = hasattr(model, "predict_proba")
    answer = model.predict_proba if classifies else model.predict
    predict, _, found = bench.cost(answer, X[half:], least=0.05)
    if classifies:
        own = found[np.arange(half), y[half:].astype(int)]
        loss = -np.mean(np.log(np.maximum(own, 1e-15)))
    else:
        loss = np.sqrt(np.mean((found - y[half:]) ** 2))
    return {"fit_s": fit, "predict_s": predict, "loss": float(loss)}


def cell(options, set, policy, peer):
    n_rows, n_columns, classes = TABLES[set]
    X, y = made(n_rows, n_columns, classes)
    sides = [
        partial(measured, partial(ours, policy, classes, options.rounds), X, y),
        partial(measured, partial(PEERS[peer], classes, options.rounds), X, y),
    ]
    return {"shape": f"{n_rows} x {n_columns}", **bench.in_turns(sides, options.repeats)}


def report(frame, options):
    shown = """table=set shape policy peer fit_s:.3f peer's=peer_fit_s:.3f ratio=fit_s_ratio:.2f
    predict_s:.4f peer's_=peer_predict_s:.4f ratio_=predict_s_ratio:.2f
    loss:.4f peer's__=peer_loss:.4f"""
    title = f"CPU seconds of {options.rounds} rounds, one core, medians of {options.repeats}"
    return [tables.columns("gradient", title, frame, shown, 2, frame)]


def keys(options):
    """Each table against each peer that is installed, with the trees that it grows."""
    return [
        {
            "set": table,
            "policy": "symmetric" if peer == "catboost" else "leaf-wise",
            "peer": peer,
        }
        for table in options.tables
        for peer in options.peers
        if find_spec(peer)
    ]


study = Study(
    globals(), "bench_gradient", keys, (), fresh=True,
    tables=[name for name in TABLES if name != "tiny"], peers=list(PEERS), rounds=200, repeats=3,
    quick={"tables": ["tiny"], "rounds": 10, "repeats": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
