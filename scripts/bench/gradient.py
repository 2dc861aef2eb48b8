"""Time gradient boosting against the boosting of other libraries.

    python scripts/bench/gradient.py             libraries that are not installed are left out
    python scripts/bench/gradient.py --quick     small tables, few rounds
    python scripts/bench/gradient.py --tables small large --peers catboost
    python scripts/bench/gradient.py --tables million --rounds 60 --threads 1 2

Both sides are measured in turns, with the same numbers of rounds and the same learning rate, on
generated tables and on sets by name. The table has CPU seconds of fits and predictions; ratios are
peer / ours. Symmetric trees of depth 6 are compared with CatBoost, and leaf-wise trees of 31
leaves with the other libraries; "lightgbm-quantised" adds up gradients of few bits. With more than
two classes, our trees have a value for each class in a leaf and there is one tree each round; the
other libraries grow one tree for each class. --threads is for both sides; scikit-learn has one.

The measure "threads" is the gain of a second thread: wall seconds of one thread divided by those
of two. It needs two free cores. The measure "equal" compares fits with equal losses: the worse of
the two best losses on the test rows within --rounds rounds is the target of both sides. Notes
below the tables have the settings.

    python scripts/bench/gradient.py --measures equal --tables letter --rounds 1100
"""

import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from time import perf_counter

import numpy as np
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.preprocessing import OneHotEncoder

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, libraries, tables
from _lab.study import Study
from mddf.datasets import load

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

# Rows, columns and classes of generated tables; 0 classes mean regression. Other names are sets of
# mddf.datasets, such as letter; two thirds of their rows are for training.
TABLES = {
    "tiny": (500, 6, 0),
    "small": (700, 8, 0),
    "small two-class": (500, 8, 2),
    "medium": (3300, 19, 2),
    "large": (20_000, 20, 0),
    "large two-class": (20_000, 20, 2),
    "many classes": (14_000, 16, 26),
    "huge": (180_000, 50, 0),
    "million": (1_000_000, 28, 0),
    "one-hot": (80_000, 1000, 0),  # sparse; scikit-learn's boosting takes no such table
}
# Levels of each category of the sparse table, each with a column.
N_LEVELS = 50
# Most rows for predictions. Some libraries take longer to predict 10^6 rows than to fit.
MOST_PREDICTED = 100_000
# Learning rate of all libraries; not tuned.
RATE = 0.05


def made(n_rows, n_columns, n_classes):
    """A table, whose last rows are for predictions, and a target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + min(n_rows, MOST_PREDICTED), n_columns))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, -1] + 0.3 * rng.normal(size=len(X))
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    return X, y


def one_hot(n_rows, n_columns):
    """A sparse table with a column for each level of its categories, and a target."""
    rng = np.random.default_rng(0)
    n_categories = n_columns // N_LEVELS
    codes = rng.integers(0, N_LEVELS, (n_rows + min(n_rows, MOST_PREDICTED), n_categories))
    effects = rng.normal(size=(n_categories, N_LEVELS))
    y = effects[np.arange(n_categories), codes].sum(axis=1) + rng.normal(size=len(codes))
    return OneHotEncoder().fit_transform(codes), y


def table_of(name):
    """Return training and test rows, and the number of classes."""
    if name in TABLES:
        n_rows, n_columns, classes = TABLES[name]
        X, y = one_hot(n_rows, n_columns) if name == "one-hot" else made(*TABLES[name])
        return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], classes
    dataset = load(name)
    y = np.unique(dataset.y, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [2 * len(y) // 3])
    X = np.asarray(dataset.X, float)
    return X[train], y[train], X[test], y[test], len(np.unique(y))


def ours(policy, classes, rounds, n_jobs=1):
    """Return gradient boosting of mddf."""
    kind = GradientBoostingClassifier if classes else GradientBoostingRegressor
    # LightGBM, XGBoost and scikit-learn grow each tree on all rows, CatBoost on 0.8 of them.
    leaf_wise = {"min_samples_leaf": 20, "l2_regularization": 0.0, "subsample": 1.0}
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


# Parameters of the libraries, and the name that each has for the number of rounds.
PEERS = {
    "catboost": ("iterations", {"learning_rate": RATE, "depth": 6}),
    "lightgbm": ("n_estimators", {"learning_rate": RATE, "num_leaves": 31}),
    "lightgbm-quantised": (
        "n_estimators", {"learning_rate": RATE, "num_leaves": 31, "use_quantized_grad": True},
    ),
    "xgboost": (
        "n_estimators",
        {"learning_rate": RATE, "tree_method": "hist", "grow_policy": "lossguide",
         "max_leaves": 31, "max_depth": 0},
    ),
    "sklearn": ("max_iter", {"learning_rate": RATE, "early_stopping": False}),
}  # fmt: skip


def library_of(peer):
    """Return the name of the module of a peer."""
    return peer.partition("-")[0]


def theirs(peer, classes, rounds, n_jobs=1):
    """Return gradient boosting of another library."""
    name, parameters = PEERS[peer]
    task = "classification" if classes else "regression"
    if n_jobs > 1:
        threads = "thread_count" if peer == "catboost" else "n_jobs"
        parameters = parameters | {threads: n_jobs}
    return libraries.boosting(library_of(peer), task, **{name: rounds}, **parameters)


def measured(make, table, _):
    """Measure CPU seconds of a fit and of predictions, and the loss on the test rows."""
    X, y, X_test, y_test, classes = table
    fit, _, model = bench.cost(make().fit, X, y, min_seconds=0.05)
    predict, _, predictions = bench.cost(
        model.predict_proba if classes else model.predict, X_test, min_seconds=0.05
    )
    return {"fit_s": fit, "predict_s": predict, "loss": loss_of(y_test, predictions, classes)}


def loss_of(y, predicted, classes):
    """Return the log-loss of probabilities, or the RMSE in regression."""
    if classes:
        return log_loss(y, predicted, labels=np.arange(classes))
    return root_mean_squared_error(y, predicted)


def losses(make, table, peer):
    """Return the losses on the test rows after each round."""
    X, y, X_test, y_test, classes = table
    if library_of(peer) not in ("lightgbm", "xgboost"):
        model = make().fit(X, y)
        staged = model.staged_predict_proba if classes else model.staged_predict
        return [loss_of(y_test, predicted, classes) for predicted in staged(X_test)]
    options = {"verbose": False} if peer == "xgboost" else {}
    model = make().fit(X, y, eval_set=[(X_test, y_test)], **options)
    loss_by_round = model.evals_result() if peer == "xgboost" else model.evals_result_
    (loss_by_round,) = loss_by_round.values()
    (loss_by_round,) = loss_by_round.values()
    return loss_by_round if classes or peer == "xgboost" else np.sqrt(loss_by_round)


def equal_loss(own, other, table, peer):
    """Return the rounds of each side up to the worse of the two best losses, and this loss."""
    both = [losses(own, table, "mddf"), losses(other, table, peer)]
    reached = max(min(loss_by_round) for loss_by_round in both)
    return [
        next(k for k, loss in enumerate(loss_by_round, 1) if loss <= reached)
        for loss_by_round in both
    ], reached


def wall(make, table, _):
    """Measure the wall seconds of a fit."""
    X, y, *_ = table
    start = perf_counter()
    make().fit(X, y)
    return {"fit_s": perf_counter() - start}


def cell(options, measure, set, policy, peer, threads):
    table = table_of(set)
    own, equal_rounds = partial(ours, policy, table[-1], options.rounds, n_jobs=threads), {}
    if measure == "threads":
        sides = [partial(wall, partial(own, n_jobs=n), table) for n in (2, 1)]
    else:
        other = partial(theirs, peer, table[-1], options.rounds, threads)
        if measure == "equal":
            (n, n_theirs), reached = equal_loss(own, other, table, peer)
            own = partial(ours, policy, table[-1], n)
            other = partial(theirs, peer, table[-1], n_theirs)
            equal_rounds = {"rounds": n, "peer_rounds": n_theirs, "reached": reached}
        sides = [partial(measured, make, table) for make in (own, other)]
    return {
        "shape": f"{table[0].shape[0]} x {table[0].shape[1]}",
        **equal_rounds,
        **bench.in_turns(sides, options.repeats),
    }


def report(frame, options):
    """Return a table for each measure."""
    costs = """table=set shape policy peer threads
    fit_s:.3f peer's=peer_fit_s:.3f ratio=fit_s_ratio:.2f
    predict_s:.4f peer's_=peer_predict_s:.4f ratio_=predict_s_ratio:.2f
    loss:.4f peer's__=peer_loss:.4f"""
    gains = "table=set shape policy two=fit_s:.3f one=peer_fit_s:.3f gain=fit_s_ratio:.2f"
    equal = """table=set shape policy peer loss=reached:.4f rounds:.0f peer's=peer_rounds:.0f
    fit_s:.3f peer's_=peer_fit_s:.3f ratio=fit_s_ratio:.2f"""
    rounds, repeats = f"{options.rounds} rounds", f"medians of {options.repeats}"
    parts = {
        "peers": ("gradient", f"CPU seconds of {rounds}, {repeats}", costs),
        "threads": ("threads", f"Wall seconds of {rounds} in two threads and in one", gains),
        "equal": ("equal", f"CPU seconds to equal losses, one core, {repeats}", equal),
    }
    return [
        tables.columns(name, title, frame[frame.measure == measure], layout, n_index=2)
        for measure, (name, title, layout) in parts.items()
        if (frame.measure == measure).any()
    ]


def keys(options):
    """Return keys of each table and each installed peer, with the kind of trees of the peer."""
    peers = [peer for peer in options.peers if find_spec(library_of(peer))]
    policies = {peer: "symmetric" if peer == "catboost" else "leaf-wise" for peer in peers}
    peer_keys = [
        {"measure": measure, "set": table, "policy": policies[peer], "peer": peer, "threads": n}
        for measure, numbers in {"peers": options.threads, "equal": [1]}.items()
        for table in options.tables
        for n in numbers
        for peer in peers
        if measure in options.measures and (n == 1 or peer != "sklearn")
    ]
    return peer_keys + [
        {"measure": "threads", "set": table, "policy": policy, "peer": "", "threads": 0}
        for table in options.tables
        for policy in ("symmetric", "leaf-wise")
        if "threads" in options.measures
    ]


def notes(options):
    """Return the parameters of both sides in regression."""
    peers = [peer for peer in options.peers if find_spec(library_of(peer))]
    lines = []
    models = [ours(policy, 0, options.rounds) for policy in ("symmetric", "leaf-wise")]
    for model in models + [theirs(peer, 0, options.rounds) for peer in peers]:
        parameters = {name: v for name, v in model.get_params().items() if v is not None}
        lines.append(
            f"{type(model).__name__}: " + ", ".join(f"{k} {v}" for k, v in parameters.items())
        )
    return [line for text in lines for line in wrap(text, 79)]


study = Study(
    globals(), "bench_gradient", keys, (), fresh=True,
    tables=[name for name in TABLES if name != "tiny"], peers=list(PEERS),
    measures=["peers", "threads"], threads=[1], rounds=200, repeats=3,
    quick={"tables": ["tiny"], "rounds": 10, "repeats": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
