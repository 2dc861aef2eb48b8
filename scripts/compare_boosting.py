"""AdaBoost with stumps against DeepBoost with trees of depth 4: ROC curve, AUC and time.

    python scripts/compare_boosting.py           bank marketing and car insurance claims
    python scripts/compare_boosting.py --quick   one split of at most 8000 rows

Bank marketing is run with and without `duration`, the length of the call, which is known only
after it and all but decides the label. Stratified random splits, a quarter for testing, repeated
with different seeds; 100 rounds; categories as indicator columns. Times are CPU seconds. Without
these sets present, scikit-learn's bundled ones stand in. Every result is a file of its own in
--out; a run that was stopped goes on. plot_boosting.py draws the curves.
"""

from __future__ import annotations

import time

import numpy as np
from _lab import cli, data, tables
from _lab.running import conduct
from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import train_test_split

CASES = {
    "bank": ("bank", ()),
    "bank-no-duration": ("bank", ("duration",)),
    "carclaims": ("carclaims", ("PolicyNumber",)),
}
STAND_INS = ("breast_cancer", "digits")
PUBLISHED = {"Bank Marketing": "bank", "Fraudulent": "carclaims"}


def parse(argv=None):
    return cli.study(
        __doc__,
        "comparison",
        quick={"splits": 1, "max_rows": 8000},
        checks={"datasets": [*CASES, *STAND_INS]},
        **{"datasets": None, "rounds": 100, "splits": 5, "max_rows": None},
    ).read(argv)


def methods(rounds):
    """Make the two classifiers."""
    return {
        "AdaBoost": AdaBoostClassifier(rounds),
        "DeepBoost": DeepBoostClassifier(rounds, max_depth=4),
    }


def one_split(options, set, method, seed):
    """Fit, predict and score one split."""
    (X, y), limit = options.sets[set], options.max_rows
    model = methods(options.rounds)[method]
    if limit is not None and len(y) > limit:
        X, _, y, _ = train_test_split(X, y, train_size=limit, stratify=y, random_state=seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    X, X_test = data.fill_missing(X, X_test)
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    f = model.decision_function(X_test)
    done = time.process_time()
    false_positive, true_positive, _ = roc_curve(y_test, f)
    grid = np.linspace(0, 1, 201)
    return {
        "auc": float(roc_auc_score(y_test, f)),
        "error": float(np.mean((f > 0) != y_test)),
        "fit_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "n_train": len(y),
        "n_test": len(y_test),
        "roc_false_positive": grid.tolist(),
        "roc_true_positive": np.interp(grid, false_positive, true_positive).tolist(),
    }


def report(frame):
    """Means over the splits, with the published values beside."""
    numbers = ["auc", "error", "fit_seconds", "predict_seconds", "n_train"]
    rows = tables.means(tables.in_order(frame, "set", CASES), ["set", "method"], numbers)
    there = tables.published("comparison_auc.tsv")
    if len(there):
        there = there.replace({"dataset": PUBLISHED}).rename(
            columns={"dataset": "set", "auc": "published", "train_eval_seconds": "published_s"}
        )
        columns = ["set", "method", "published", "published_s"]
        rows = rows.merge(there[columns], on=["set", "method"], how="left")
    spreads = frame.groupby(["set", "method"])["auc"].agg(lambda auc: tables.spread(auc, 4))
    rows["spread"] = [spreads[key] for key in zip(rows["set"], rows["method"], strict=True)]
    rows["error"] = 100 * rows["error"]
    shown = """set method AUC=spread published error_%=error:.2f fit_s=fit_seconds:.3f
    predict_s=predict_seconds:.4f published_s"""
    splits = rows["n_seeds"].max()
    title = f"mean ± standard deviation over {splits} splits; published: all rows, 100 rounds"
    return [tables.columns("comparison", title, rows, shown, 2)]


def main(argv=None) -> int:
    options = parse(argv)
    found = {}
    for case in options.datasets or CASES:
        name, drop = CASES.get(case, (case, ()))
        asked = {"asked": options.datasets is not None, "drop": drop}
        for rows in data.present([name], options.data_home, **asked).values():
            found[case] = rows
    found = found or data.present([], stand_ins=STAND_INS)
    options.sets = {name: (rows.X, data.binary(rows.y)) for name, rows in found.items()}
    keys = {"set": options.sets, "method": methods(1), "seed": range(options.splits)}
    return conduct(options, keys, one_split, report, settings=("rounds", "max_rows"))


if __name__ == "__main__":
    raise SystemExit(main())
