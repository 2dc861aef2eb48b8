"""Settings of mdDF side by side, on training rows alone: what its defaults were chosen by.

    python scripts/run_settings.py                                   bundled sets; a minute
    python scripts/run_settings.py --datasets satimage --seeds 6
    python scripts/run_settings.py --datasets adult --rows 10000 --trees 50 --seeds 3
    python scripts/run_settings.py --datasets letter --rows 156 --settings cv=10 cv=20

For each seed a quarter of the training rows is held out; the standard test rows are not looked
at. Every setting grows the same number of layers on the rest. The table has the accuracy on the
held-out rows of the layers that would be kept by the margin ratio, and by out-of-fold accuracy,
the number of layers kept by the ratio, and both out-of-fold figures there. Means over seeds, in %.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from _results import provenance, write_csv, write_json
from _study import count, known_set
from mddf.baselines import GCForestClassifier
from mddf.datasets import load
from sklearn.model_selection import train_test_split
from tqdm import tqdm

from mddf import MDDFClassifier

SETTINGS = {
    "gcForest": None,
    "mdDF, defaults": {},
    "strength=0.5": {"strength": 0.5},
    "strength=1": {"strength": 1.0},
    "reweighting=None": {"reweighting": None},
    "reweighting=weights": {"reweighting": "weights"},
    "weights, strength=1": {"reweighting": "weights", "strength": 1.0},
    "augmentation=mean": {"augmentation": "mean"},
    "augmentation=per-forest": {"augmentation": "per-forest"},
    "alpha=mean-margin": {"alpha": "mean-margin"},
    "target_margin=0.7": {"target_margin": 0.7},
    "target_margin=0.98": {"target_margin": 0.98},
    "mu=0.01": {"mu": 0.01},
    "depth_step=8": {"depth_step": 8},
    "depth_step=4": {"depth_step": 4},
    "cv=10": {"cv": 10},
    "cv=20": {"cv": 20},
    "cv=oob": {"cv": "oob"},
}


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    bundled = ["wine", "breast_cancer", "iris"]
    parser.add_argument(
        "--datasets",
        nargs="+",
        type=known_set,
        default=bundled,
        help=f"names of mddf.datasets (default: {' '.join(bundled)})",
    )
    parser.add_argument(
        "--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="default: all"
    )
    parser.add_argument("--rows", type=count, help="training rows at most (default: all)")
    parser.add_argument(
        "--trees", type=count, default=20, help="of each of the four forests (default: 20)"
    )
    parser.add_argument("--layers", type=count, default=5, help="default: 5")
    parser.add_argument("--seeds", type=count, default=2, help="number of seeds (default: 2)")
    parser.add_argument("--n-jobs", type=int, default=1, help="threads (default: 1)")
    parser.add_argument("--data-home", help="folder of the data (default: MDDF_DATA_HOME)")
    parser.add_argument(
        "--out", default="results/settings", help="folder (default: results/settings)"
    )
    return parser.parse_args(argv)


def split(data, rows, seed):
    """Training rows for fitting and for validation."""
    X, y = (data.X_train, data.y_train) if data.has_standard_split else (data.X, data.y)
    y = np.asarray(y)
    strata = y if np.unique(y, return_counts=True)[1].min() > 4 else None
    X, X_valid, y, y_valid = train_test_split(
        X, y, test_size=0.25, stratify=strata, random_state=seed
    )
    if rows is not None and rows < len(y):
        strata = None if strata is None else y
        X, _, y, _ = train_test_split(X, y, train_size=rows, stratify=strata, random_state=seed)
    return X, y, X_valid, y_valid


def build(options, arguments, seed):
    """The cascade of a setting, of a fixed number of layers."""
    common = {
        "n_layers": arguments.layers,
        "n_estimators": arguments.trees,
        "forests": ["random"] * 2 + ["completely-random"] * 2,
        "cv": 5,
        "early_stopping": False,
        "n_jobs": arguments.n_jobs,
        "random_state": seed,
    }
    if options is None:
        return GCForestClassifier(**common)
    return MDDFClassifier(**common | options)


def measure(options, parts, arguments, seed):
    """One fit: what is kept by either rule, and how right that is."""
    X, y, X_valid, y_valid = parts
    model = build(options, arguments, seed).fit(X, y)
    right = [float(np.mean(labels == y_valid)) for labels in model.staged_predict(X_valid)]
    history = model.history_
    by_ratio = int(np.argmin(history["margin_ratio"]))
    by_accuracy = int(np.argmax(history["accuracy"]))
    return {
        "valid_by_ratio": 100 * right[by_ratio],
        "valid_by_accuracy": 100 * right[by_accuracy],
        "layers_by_ratio": by_ratio + 1,
        "oof_accuracy": 100 * history["accuracy"][by_ratio],
        "margin_ratio": history["margin_ratio"][by_ratio],
    }


def table(name, rows):
    """Means over seeds as a Markdown table."""
    columns = list(rows[0])[3:]
    lines = [
        f"| {name} | kept by ratio | kept by accuracy | layers | out-of-fold | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for setting in dict.fromkeys(row["setting"] for row in rows):
        cells = [row for row in rows if row["setting"] == setting]
        means = {column: np.mean([row[column] for row in cells]) for column in columns}
        lines.append(
            f"| {setting} | {means['valid_by_ratio']:.2f} | {means['valid_by_accuracy']:.2f} | "
            f"{means['layers_by_ratio']:.1f} | {means['oof_accuracy']:.2f} | "
            f"{means['margin_ratio']:.3f} |"
        )
    return "\n".join(lines)


def main(argv=None):
    arguments = parse(argv)
    out = Path(arguments.out)
    for name in arguments.datasets:
        data = load(name, data_home=arguments.data_home)
        rows = []
        with tqdm(total=arguments.seeds * len(arguments.settings), desc=name, unit="fit") as bar:
            for seed in range(arguments.seeds):
                parts = split(data, arguments.rows, seed)
                for setting in arguments.settings:
                    result = measure(SETTINGS[setting], parts, arguments, seed)
                    rows.append({"set": name, "setting": setting, "seed": seed, **result})
                    bar.update()
        text = table(name, rows)
        print(f"\n{text}\n")
        write_csv(out / f"{name}.csv", rows)
        write_json(out / f"{name}.json", {**provenance(arguments), "table": text})
    print(f"written to {out}")


if __name__ == "__main__":
    main()
