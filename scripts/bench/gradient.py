"""Time gradient boosting on one core against the boosting of other libraries.

    python scripts/bench/gradient.py             libraries that are not installed are left out
    python scripts/bench/gradient.py --quick     small tables, few rounds
    python scripts/bench/gradient.py --tables small large --peers catboost

CPU seconds of fits and predictions of made tables, and of sets by name, in turns, with as many
rounds and the same learning rate; symmetric trees of depth 6 against CatBoost's, leaf-wise ones of
31 leaves against the others', and of more than two classes one tree a round, with a value for each
class in a leaf, against theirs of one tree a class. Ratios: peer / ours. With "threads" among the
measures, what a second thread gains: wall seconds of one over those of two, which need two free
cores. With "equal", fits of as many rounds as each side needs to the worse of both sides' best
losses on the rows for predictions, of at most --rounds. Notes tell versions and settings.

    python scripts/bench/gradient.py --measures equal --tables letter --rounds 1100
"""

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from textwrap import wrap
from time import perf_counter

import numpy as np
from _lab import bench, tables
from _lab.study import Study
from mddf.datasets import load
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, root_mean_squared_error

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

# Rows, columns and classes; none are numbers to predict. Sets go by their names in mddf.datasets,
# such as letter, of which two thirds are trained on.
TABLES = {
    "tiny": (500, 6, 0),
    "small": (700, 8, 0),
    "small two-class": (500, 8, 2),
    "medium": (3300, 19, 2),
    "large": (20_000, 20, 0),
    "large two-class": (20_000, 20, 2),
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


def table_of(name):
    """Rows to train on and for predictions, and the number of classes."""
    if name in TABLES:
        n_rows, _, classes = TABLES[name]
        X, y = made(*TABLES[name])
        return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], classes
    found = load(name)
    y = np.unique(found.y, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [2 * len(y) // 3])
    X = np.asarray(found.X, float)
    return X[train], y[train], X[test], y[test], len(np.unique(y))


def ours(policy, classes, rounds, n_jobs=1):
    """Ours."""
    kind = GradientBoostingClassifier if classes else GradientBoostingRegressor
    leaf_wise = {"min_samples_leaf": 20, "l2_regularization": 0.0}
    options = leaf_wise if policy == "leaf-wise" else {}
    return kind(
        max_iter=rounds,
        learning_rate=RATE,
        grow_policy=policy,
        early_stopping=False,
        random_state=0,
        n_jobs=n_jobs,
        **options,
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


def measured(make, table, _):
    """CPU seconds of a fit and of predictions, and the loss of these."""
    X, y, X_test, y_test, classes = table
    fit, _, model = bench.cost(make().fit, X, y, least=0.05)
    predict, _, found = bench.cost(
        model.predict_proba if classes else model.predict, X_test, least=0.05
    )
    return {"fit_s": fit, "predict_s": predict, "loss": loss_of(y_test, found, classes)}


def loss_of(y, predicted, classes):
    """Log-loss of probabilities, or the root of the mean squared error of numbers."""
    if classes:
        return log_loss(y, predicted, labels=np.arange(classes))
    return root_mean_squared_error(y, predicted)


def losses(make, table, peer):
    """Losses on the rows for predictions, after each round."""
    X, y, X_test, y_test, classes = table
    if peer not in ("lightgbm", "xgboost"):
        model = make().fit(X, y)
        staged = model.staged_predict_proba if classes else model.staged_predict
        return [loss_of(y_test, predicted, classes) for predicted in staged(X_test)]
    options = {"verbose": False} if peer == "xgboost" else {}
    model = make().fit(X, y, eval_set=[(X_test, y_test)], **options)
    found = model.evals_result() if peer == "xgboost" else model.evals_result_
    (found,) = found.values()
    (found,) = found.values()
    return found if classes or peer == "xgboost" else np.sqrt(found)


def equal_loss(own, theirs, table, peer):
    """The rounds that each side needs to the worse of both sides' best losses, and that loss."""
    both = [losses(own, table, "mddf"), losses(theirs, table, peer)]
    reached = max(min(found) for found in both)
    return [
        next(k for k, loss in enumerate(found, 1) if loss <= reached) for found in both
    ], reached


def wall(make, table, _):
    """Wall seconds of a fit."""
    X, y, *_ = table
    start = perf_counter()
    make().fit(X, y)
    return {"fit_s": perf_counter() - start}


def cell(options, measure, set, policy, peer):
    table = table_of(set)
    own, found = partial(ours, policy, table[-1], options.rounds), {}
    if measure == "threads":
        sides = [partial(wall, partial(own, n_jobs=n), table) for n in (2, 1)]
    else:
        theirs = partial(PEERS[peer], table[-1], options.rounds)
        if measure == "equal":
            (n, n_theirs), reached = equal_loss(own, theirs, table, peer)
            own, theirs = (
                partial(ours, policy, table[-1], n),
                partial(PEERS[peer], table[-1], n_theirs),
            )
            found = {"rounds": n, "peer_rounds": n_theirs, "reached": reached}
        sides = [partial(measured, make, table) for make in (own, theirs)]
    return {
        "shape": f"{len(table[0])} x {table[0].shape[1]}",
        **found,
        **bench.in_turns(sides, options.repeats),
    }


def report(frame, options):
    shown = """table=set shape policy peer fit_s:.3f peer's=peer_fit_s:.3f ratio=fit_s_ratio:.2f
    predict_s:.4f peer's_=peer_predict_s:.4f ratio_=predict_s_ratio:.2f
    loss:.4f peer's__=peer_loss:.4f"""
    title = f"CPU seconds of {options.rounds} rounds, one core, medians of {options.repeats}"
    found, threads, equal = (
        frame[frame.measure == measure] for measure in ("peers", "threads", "equal")
    )
    made = [tables.columns("gradient", title, found, shown, 2, found)] if len(found) else []
    if len(threads):
        title = f"Wall seconds of {options.rounds} rounds in two threads and in one"
        shown = "table=set shape policy two=fit_s:.3f one=peer_fit_s:.3f gain=fit_s_ratio:.2f"
        made.append(tables.columns("threads", title, threads, shown, 2, threads))
    if len(equal):
        title = f"CPU seconds to equal losses, one core, medians of {options.repeats}"
        shown = """table=set shape policy peer loss=reached:.4f rounds:.0f peer's=peer_rounds:.0f
        fit_s:.3f peer's_=peer_fit_s:.3f ratio=fit_s_ratio:.2f"""
        made.append(tables.columns("equal", title, equal, shown, 2, equal))
    return made


def keys(options):
    """Each table against each peer that is installed, with the trees that it grows."""
    peers = [peer for peer in options.peers if find_spec(peer)]
    policies = {peer: "symmetric" if peer == "catboost" else "leaf-wise" for peer in peers}
    found = [
        {"measure": measure, "set": table, "policy": policies[peer], "peer": peer}
        for measure in ("peers", "equal")
        for table in options.tables
        for peer in peers
        if measure in options.measures
    ]
    return found + [
        {"measure": "threads", "set": table, "policy": policy, "peer": ""}
        for table in options.tables
        for policy in ("symmetric", "leaf-wise")
        if "threads" in options.measures
    ]


def notes(options):
    """Versions, and the parameters of both sides for numbers."""
    peers = [peer for peer in options.peers if find_spec(peer)]
    versions = {name: import_module(name).__version__ for name in ("mddf", *peers)}
    found = ["Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items())]
    models = [ours(policy, 0, options.rounds) for policy in ("symmetric", "leaf-wise")]
    for model in models + [PEERS[peer](0, options.rounds) for peer in peers]:
        given = {name: v for name, v in model.get_params().items() if v is not None}
        found.append(f"{type(model).__name__}: " + ", ".join(f"{k} {v}" for k, v in given.items()))
    return [line for text in found for line in wrap(text, 79)]


study = Study(
    globals(), "bench_gradient", keys, (), fresh=True,
    tables=[name for name in TABLES if name != "tiny"], peers=list(PEERS),
    measures=["peers", "threads"], rounds=200, repeats=3,
    quick={"tables": ["tiny"], "rounds": 10, "repeats": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
