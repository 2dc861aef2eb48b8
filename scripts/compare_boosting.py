"""AdaBoost with stumps against DeepBoost with trees of depth 4: ROC curve, AUC and time.

    python scripts/compare_boosting.py           bank marketing and car insurance claims
    python scripts/compare_boosting.py --quick   one split of at most 8000 rows

Bank marketing is run with and without `duration`, the length of the call, which is known only
after it and all but decides the label. Stratified random splits, a quarter for testing, repeated
with different seeds; 100 rounds; categories as indicator columns. Times are CPU seconds. Without
these sets present, scikit-learn's bundled ones stand in. A run that was stopped goes on. Writes
<out>.json with the ROC curves and <out>.csv; plot_boosting.py draws the curves.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _boosting_data import binary, fill_missing, load_tables
from _results import Record, aligned, provenance, published, write_csv
from _study import count
from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import train_test_split
from tqdm import tqdm

CASES = {
    "bank": ("bank", ()),
    "bank without duration": ("bank", ("duration",)),
    "carclaims": ("carclaims", ("PolicyNumber",)),
}
BUNDLED = {"breast_cancer": ("breast_cancer", ()), "digits": ("digits", ())}
PUBLISHED = {"bank": "Bank Marketing", "carclaims": "Fraudulent"}


def methods(rounds):
    """Make the two classifiers."""
    return {
        "AdaBoost": AdaBoostClassifier(rounds),
        "DeepBoost": DeepBoostClassifier(rounds, max_depth=4),
    }


def one_split(model, X, y, seed, limit):
    """Fit, predict and score one split."""
    if limit is not None and len(y) > limit:
        X, _, y, _ = train_test_split(X, y, train_size=limit, stratify=y, random_state=seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    X, X_test = fill_missing(X, X_test)
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


def summarise(case, method, splits):
    """Means over the splits, as a row."""
    row = {"set": case, "method": method, "n_splits": len(splits), "n_train": splits[0]["n_train"]}
    row["auc"] = float(np.mean([s["auc"] for s in splits]))
    row["auc_std"] = float(np.std([s["auc"] for s in splits]))
    for key in ("error", "fit_seconds", "predict_seconds"):
        row[key] = float(np.mean([s[key] for s in splits]))
    return row


def print_rows(rows, splits, rounds, limit):
    """Each result beside the published one."""
    spread = f"mean ± standard deviation over {splits} splits" if splits > 1 else "one split"
    rows_at_most = "" if limit is None else f", at most {limit} rows"
    print(f"{spread}{rows_at_most}, {rounds} rounds; published: all rows, 100 rounds\n")
    there = {(r["dataset"], r["method"]): r for r in published("comparison_auc.tsv")}
    lines = [("set", "method", "AUC", "published", "error %", "fit s", "predict s", "published s")]
    for row in rows:
        beside = there.get((PUBLISHED.get(row["set"]), row["method"]), {})
        lines.append(
            (
                row["set"],
                row["method"],
                f"{row['auc']:.4f}" + (f" ± {row['auc_std']:.4f}" if splits > 1 else ""),
                beside.get("auc", ""),
                f"{100 * row['error']:.2f}",
                f"{row['fit_seconds']:.3f}",
                f"{row['predict_seconds']:.4f}",
                beside.get("train_eval_seconds", ""),
            )
        )
    print(aligned(lines))


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", nargs="+", choices=[*CASES, *BUNDLED], help=f"default: {', '.join(CASES)}"
    )
    parser.add_argument("--rounds", type=count, default=100, help="default: 100")
    parser.add_argument("--splits", type=count, help="random splits (default: 5; --quick: 1)")
    parser.add_argument("--quick", action="store_true", help="one split, at most 8000 rows")
    parser.add_argument("--out", help="path without suffix (default: results/comparison...)")
    options = parser.parse_args(argv)
    options.splits = options.splits or (1 if options.quick else 5)
    return options


def main(argv=None):
    arguments = parse(argv)
    out = arguments.out or f"results/comparison{'_quick' if arguments.quick else ''}"
    splits, limit = arguments.splits, 8000 if arguments.quick else None
    known = {**CASES, **BUNDLED}
    tables = load_tables(arguments.sets, CASES, known, BUNDLED)
    settings = {"rounds": arguments.rounds, "splits": splits, "limit": limit}
    record = Record(f"{out}.json", settings, provenance(arguments, tables))
    rows = []
    tasks = [(name, method) for name in tables for method in methods(1)]
    for name, method in (bar := tqdm(tasks)):
        bar.set_description(f"{name} {method}")
        X, y = tables[name].X, binary(tables[name])
        found = [
            record.get(
                f"{name}/{method}/{seed}",
                lambda X=X, y=y, method=method, seed=seed: one_split(
                    methods(arguments.rounds)[method], X, y, seed, limit
                ),
            )
            for seed in range(splits)
        ]
        rows.append(summarise(name, method, found))
    print_rows(rows, splits, arguments.rounds, limit)
    write_csv(f"{out}.csv", rows)
    print(f"written to {out}.json, {out}.csv")


if __name__ == "__main__":
    main()
