"""Compare methods and out-of-fold scores on grouped rows and on rows in time order.

    python scripts/report/dependent_rows.py --quick
    python scripts/report/dependent_rows.py --data-home folder

Of grouped sets, a third of the groups is held out, drawn by the seed. Of sets in time order, the
training rows end after 3, 4 or 5 sixths of the rows (seeds 0, 1 and 2), and the next sixth is the
test. The deep forest with "honest folds" gets the groups, or cv=TimeOrder(), and with "random
folds" neither. All its other settings are the defaults, and so are those of LightGBM and CatBoost.
Losses are log-losses or root mean squared errors. The claimed loss is the out-of-fold loss of the
training rows: with a ratio of claimed to true loss below 1, it promises too much. Of sets with
more than --max-train rows, every second (third, ...) row is taken. --quick uses a simulated set.
"""

import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import _safe_indexing

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import data, models, tables
from _lab.study import Study

from mddf import DeepForestClassifier, DeepForestRegressor, TimeOrder


@dataclass(frozen=True)
class Dependence:
    """How the rows of a set depend on each other.

    `groups` are the numbers of the columns whose values together name the group of a row. Without
    them, the rows are in the order of time, by the columns in `order`, or as they are in the file.
    `drop` names columns that are not used.
    """

    groups: tuple[int, ...] = ()
    order: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


# A set without a file: subjects differ in their columns and in the target.
SIMULATED = "simulated"
SETS = {
    SIMULATED: Dependence(groups=(0,)),
    # Rows of one recipe differ in the age of the concrete.
    "concrete": Dependence(groups=(0, 1, 2, 3, 4, 5, 6)),
    # Rows of one run in the wind tunnel (wing, angle and speed, which fix column 4) differ in
    # frequency.
    "airfoil": Dependence(groups=(1, 2, 4)),
    # Rows of one hull differ in speed.
    "yacht": Dependence(groups=(0, 1, 2, 3, 4)),
    # Rows of one building differ in direction and windows.
    "energy": Dependence(groups=(0, 1, 2, 3, 4)),
    # Rows of one customer. The first four columns name the print.
    "cylinder": Dependence(
        groups=(2,), drop=("timestamp", "cylinder_number", "customer", "job_number")
    ),
    # Hours from 2011 to 2012.
    "bike": Dependence(),
    # Calls from May 2008 to November 2010. The duration is known only after the call.
    "bank": Dependence(drop=("duration",)),
    # Models of cars from 1970 to 1982.
    "auto-mpg": Dependence(order=("year",)),
    # Claims of 1994 to 1996.
    "carclaims": Dependence(order=("Year", "Month")),
}
PEERS = ["lightgbm", "catboost"]
METHODS = ["honest folds", "random folds", *PEERS]
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
# Parts of the rows of a set in time order: three training parts at least, and one test part.
_PARTS = 6
_FIRST_PARTS = 3


@dataclass(frozen=True)
class Rows:
    """Rows of a set with the group of each; None if they are in time order."""

    X: object
    y: np.ndarray
    groups: np.ndarray | None
    task: str


def load(options, name) -> Rows:
    """Read a set, with its rows in time order if it has no groups."""
    if name == SIMULATED:
        return simulated()
    dataset = data.load(data.Source(name, options.data_home))
    X, y = dataset.X, np.asarray(dataset.y)
    dependence = SETS[name]
    groups = _groups_of(X, dependence)
    if dependence.order:
        keys = [_sort_key(X[column]) for column in dependence.order]
        order = np.lexsort(keys[::-1])
    elif groups is not None:
        order = np.random.default_rng(0).permutation(len(y))
    else:
        order = np.arange(len(y))
    order = order[:: -(-len(y) // options.max_train)]
    X = X.drop(columns=list(dependence.drop)) if dependence.drop else X
    return Rows(
        X=_safe_indexing(X, order),
        y=y[order],
        groups=None if groups is None else groups[order],
        task=dataset.task,
    )


def simulated() -> Rows:
    """Draw 40 subjects with 8 rows each, whose target depends on two columns and the subject."""
    random = np.random.default_rng(0)
    subjects = np.repeat(np.arange(40), 8)
    habits = random.normal(size=(40, 4))[subjects] + 0.1 * random.normal(size=(320, 4))
    columns = random.normal(size=(320, 2))
    y = columns.sum(axis=1) + 2 * random.normal(size=40)[subjects]
    return Rows(X=np.hstack([columns, habits]), y=y, groups=subjects, task="regression")


def _groups_of(X, dependence):
    """Return the number of each row's group, or None for rows in time order."""
    if not dependence.groups:
        return None
    columns = np.asarray(_safe_indexing(X, list(dependence.groups), axis=1))
    return np.unique(columns.astype(str), axis=0, return_inverse=True)[1].ravel()


def _sort_key(column):
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values
    texts = [str(value)[:3].lower() for value in values]
    if all(text in _MONTHS for text in texts):
        return np.array([_MONTHS.index(text) for text in texts])
    return np.asarray(values, dtype=float)


def split(rows, seed):
    """Return the numbers of training rows and test rows."""
    n_rows = len(rows.y)
    if rows.groups is not None:
        splitter = GroupShuffleSplit(1, test_size=1 / 3, random_state=seed)
        return next(splitter.split(np.zeros(n_rows), groups=rows.groups))
    end = n_rows * (_FIRST_PARTS + seed) // _PARTS
    return np.arange(end), np.arange(end, min(end + n_rows // _PARTS, n_rows))


def cell(options, set, seed, method):
    rows = load(options, set)
    train, test = split(rows, seed)
    y = rows.y[train]
    if rows.task != "regression":
        test = test[np.isin(rows.y[test], y)]
    start = time.process_time()
    model = fitted(method, rows, train, seed)
    result = {"cpu": time.process_time() - start, "task": rows.task}
    result["kind"] = "time" if rows.groups is None else "groups"
    result["loss"] = loss(predicted(model, _safe_indexing(rows.X, test)), rows.y[test], model)
    if method in PEERS:
        return {**result, "claimed": None}
    out_of_fold = model.oof_prediction_ if rows.task == "regression" else model.oof_probabilities_
    known = np.isfinite(out_of_fold.reshape(len(y), -1)).all(axis=1)
    result["claimed"] = loss(out_of_fold[known], y[known], model)
    return result


def fitted(method, rows, train, seed):
    """Fit a method to the training rows."""
    X, y = _safe_indexing(rows.X, train), rows.y[train]
    if method in PEERS:
        peer = models.METHODS[method]
        return models.build(peer, seed, task=rows.task, n_rows=len(y)).fit(X, y)
    model_type = DeepForestRegressor if rows.task == "regression" else DeepForestClassifier
    model = model_type(random_state=seed, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # random folds are the subject here
        if method == "random folds":
            return model.fit(X, y)
        if rows.groups is None:
            return model.set_params(cv=TimeOrder()).fit(X, y)
        return model.fit(X, y, groups=rows.groups[train])


def predicted(model, X):
    """Predict probabilities, or numbers if the model has no classes."""
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


def loss(predictions, y, model):
    """Return log-loss or RMSE."""
    if hasattr(model, "classes_"):
        return float(log_loss(y, predictions, labels=model.classes_))
    return float(np.sqrt(np.mean((np.ravel(predictions) - y) ** 2)))


def report(frame, options):
    frame = frame.assign(ratio=frame["claimed"] / frame["loss"])
    by_set = frame.groupby(["kind", "set", "method"], sort=False)
    rows = by_set[["loss", "claimed", "ratio", "cpu"]].mean().reset_index()
    layout = "kind set method loss:.4f claimed:.4f claimed_/_true=ratio:.3f CPU_s=cpu:.1f"
    title = "Loss of test rows and claimed loss of training rows, means over splits"
    losses = tables.columns("losses", title, rows, layout, n_index=3)
    summary = [
        _compare(part, kind, method)
        for kind, part in frame.groupby("kind", sort=False)
        for method in part["method"].unique()
    ]
    layout = """kind method sets:.0f loss_/_honest=ratio:.3f better_on=better:.0f
    claimed_/_true=claimed:.3f CPU_s=cpu:.1f"""
    title = "Losses relative to the deep forest with honest folds, geometric means over sets"
    rows = tables.pd.DataFrame(summary)
    return [losses, tables.columns("summary", title, rows, layout, n_index=2)]


def _compare(frame, kind, method):
    """Compare a method with the deep forest with honest folds, on sets of one kind."""
    losses = frame.pivot_table(index="set", columns="method", values="loss", sort=False)
    own = frame[frame["method"] == method]
    ratios = (
        losses[method] / losses[METHODS[0]] if METHODS[0] in losses else losses[method] * np.nan
    )
    return {
        "kind": kind,
        "method": method,
        "sets": len(ratios),
        "ratio": np.exp(np.log(ratios).mean()),
        "better": (ratios < 1).sum(),
        "claimed": np.exp(np.log(own["ratio"]).mean()),
        "cpu": own["cpu"].median(),
    }


study = Study(
    globals(), "dependent-rows", "set=datasets seed=seeds method=methods", ("max_train",), seeds=3,
    datasets=[name for name in SETS if name != SIMULATED], methods=METHODS, max_train=10000,
    quick={"datasets": [SIMULATED], "seeds": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
