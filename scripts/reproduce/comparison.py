"""Compare AdaBoost with stumps and DeepBoost with trees of depth 4: ROC curve, AUC and time.

    python scripts/reproduce/comparison.py           bank marketing and car insurance claims
    python scripts/reproduce/comparison.py --plot    draw the curves: roc

Bank marketing is run with and without `duration`, the length of the call, which is known only
after the call and nearly determines the label. A quarter of the rows is for testing; no parameter
is tuned.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, data, pictures, tables
from _lab.study import Study
from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier

CASES = {
    "bank": ("bank", ()),
    "bank-no-duration": ("bank", ("duration",)),
    "carclaims": ("carclaims", ("PolicyNumber",)),
}
METHODS = {
    "AdaBoost": AdaBoostClassifier,
    "DeepBoost": lambda rounds: DeepBoostClassifier(rounds, max_depth=4),
}
# False positive rates at which ROC curves are stored.
GRID = np.linspace(0, 1, 201)


def cell(options, set, method, seed):
    name, drop = CASES.get(set, (set, ()))
    X, y = data.two_classes(name, options.data_home, drop)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    fit, _, model = bench.cost(METHODS[method](options.rounds).fit, X, y)
    predict, _, f = bench.cost(model.decision_function, X_test)
    false_positive, true_positive, _ = roc_curve(y_test, f)
    return {
        "auc": float(roc_auc_score(y_test, f)),
        "error": float(np.mean((f > 0) != y_test)),
        "fit_seconds": fit,
        "predict_seconds": predict,
        "n_train": len(y),
        "n_test": len(y_test),
        "rise": np.interp(GRID, false_positive, true_positive).tolist(),
    }


def report(frame, options):
    rows = tables.means(frame.assign(error=100 * frame["error"]), ["set", "method"])
    names = {"auc": "published", "train_eval_seconds": "published_s"}
    # The published fraud set differs from carclaims: the merge leaves its figures out.
    published = tables.published("comparison_auc.tsv").drop(columns="base_learner")
    rows = rows.merge(published.rename(columns=names), on=["set", "method"], how="left")
    layout = """set method AUC=auc:.4f± published error_%=error:.2f fit_s=fit_seconds:.3f
    predict_s=predict_seconds:.4f published_s"""
    splits = rows["n_seeds"].max()
    title = f"mean ± standard deviation over {splits} splits; published: all rows, 100 rounds"
    return [tables.columns("comparison", title, rows, layout, n_index=2)]


def draw(frame, options):
    """Draw ROC curves: the mean over splits of each set and method."""
    long = frame.assign(at=[GRID] * len(frame))[["set", "method", "seed", "at", "rise"]]
    long = long.explode(["at", "rise"]).astype({"at": float, "rise": float})
    rows = tables.means(long, ["set", "method", "at"])
    figure, axes = pictures.curves(rows, "at", {"rise": "true positive rate"}, heights=[3.6])
    auc = frame.groupby(["set", "method"])["auc"].mean()
    for axis, name in zip(axes[0], rows["set"].unique(), strict=True):
        values = [f"{method} {value:.3f}" for method, value in auc[name].items()]
        title = "\n".join([f"{name}, AUC", *values])
        axis.set(xlabel="false positive rate", title=title)
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    caption = (
        f"Test rows of random splits, a quarter for testing; {pictures.seeds_of(rows)}; "
        "AdaBoost with stumps, DeepBoost with trees of depth 4, nothing tuned."
    )
    pictures.save(figure, options, "roc", caption)


study = Study(
    globals(), "comparison", "set=datasets method=methods seed=splits", ("rounds",),
    datasets=list(CASES), methods=METHODS, rounds=100, splits=5,
    quick={"datasets": ["breast_cancer", "digits"], "splits": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
