"""Settings of mdDF side by side, on training rows alone: what its defaults were chosen by.

    python scripts/run_settings.py                                   bundled sets; a minute
    python scripts/run_settings.py --datasets satimage --seeds 6
    python scripts/run_settings.py --datasets adult --rows 10000 --n-estimators 50 --seeds 3
    python scripts/run_settings.py --datasets letter --rows 156 --settings cv=10 cv=20
    python scripts/run_settings.py --settings "mdDF, defaults" --own strength=0.7 cv=10

For each seed a quarter of the training rows is held out; the standard test rows are not looked
at. Every setting grows the same number of layers on the rest. The table has the accuracy on the
held-out rows of the layers that would be kept by the margin ratio, and by out-of-fold accuracy,
the number of layers kept by the ratio, and both out-of-fold figures there. Means over seeds, in %.
Results of all --rows, --n-estimators and --n-layers may share a folder.
"""

from __future__ import annotations

import re

import numpy as np
from _lab import cli, data, models, tables
from _lab.running import conduct
from sklearn.model_selection import train_test_split

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


def parse(argv=None):
    parser = cli.study(
        __doc__,
        "settings",
        quick={"datasets": ["iris"], "n_estimators": 2, "n_layers": 2, "seeds": 1},
        **{"datasets": ["wine", "breast_cancer", "iris"], "n_estimators": 20, "n_layers": 5},
        **{"seeds": 2, "rows": None},
    )
    # Names of settings hold commas.
    parser.add_argument(
        "--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="default: all"
    )
    parser.add_argument("--own", nargs="+", default=[], metavar="PARAMETER=VALUE", help="others")
    options = parser.read(argv)
    if wrong := [text for text in options.own if not re.fullmatch(r"\w+=.+", text)]:
        parser.error(f"argument --own: must be parameter=value, got {wrong[0]!r}")
    pairs = [text.partition("=") for text in options.own]
    options.chosen = {name: SETTINGS[name] for name in options.settings}
    options.chosen |= {"".join(pair): {pair[0]: cli.value(pair[2])} for pair in pairs}
    return options


def held_out(source, rows, seed):
    """Training rows for fitting and for validation; no standard test row is among them."""
    found = data.load(source)
    train, y = np.arange(found.n_train or len(found.y)), found.y
    few = np.unique(y[train], return_counts=True)[1].min() < 5
    train, valid = train_test_split(
        train, test_size=0.25, stratify=None if few else y[train], random_state=seed
    )
    if rows is not None and rows < len(train):
        strata = None if few else y[train]
        train, _ = train_test_split(train, train_size=rows, stratify=strata, random_state=seed)
    return data.Split.of(found, train, valid)


def measure(options, set, seed, method, **sizes):
    """One fit: what is kept by either rule, and how right that is."""
    split = held_out(data.Source(set, options.data_home), options.rows, seed)
    setting = options.chosen[method]
    budget = models.Budget(options.n_estimators, options.n_layers)
    method = models.METHODS["gcforest" if setting is None else "mddf"]
    model = models.build(method, seed, budget=budget, n_jobs=options.n_jobs)
    model.set_params(early_stopping=False, **(setting or {})).fit(split.X, split.y)
    staged = model.staged_predict(split.X_test)
    right = [100 * float(np.mean(labels == split.y_test)) for labels in staged]
    by_ratio = int(np.argmin(model.history_["margin_ratio"]))
    return {
        "valid_by_ratio": right[by_ratio],
        "valid_by_accuracy": right[int(np.argmax(model.history_["accuracy"]))],
        "layers_by_ratio": by_ratio + 1,
        "oof_accuracy": 100 * float(model.history_["accuracy"][by_ratio]),
        "margin_ratio": float(model.history_["margin_ratio"][by_ratio]),
    }


def report(frame):
    """Means over seeds."""
    by = ["set", "rows", "trees", "most_layers", "method"]
    frame = tables.in_order(frame, "method", SETTINGS).sort_values(by[:-1], kind="stable")
    rows = tables.means(frame, by, [c for c in frame if c not in (*by, "seed")])
    shown = """set rows trees setting=method seeds=n_seeds kept_by_ratio=valid_by_ratio:.2f
    by_accuracy=valid_by_accuracy:.2f layers=layers_by_ratio:.1f out-of-fold=oof_accuracy:.2f
    ratio=margin_ratio:.3f"""
    return [tables.columns("settings", "accuracy on held-out training rows in %", rows, shown, 4)]


def main(argv=None) -> int:
    options = parse(argv)
    sizes = {
        "rows": [options.rows or "all"],
        "trees": [options.n_estimators],
        "most_layers": [options.n_layers],
    }
    keys = {"set": options.datasets, "seed": range(options.seeds), "method": options.chosen}
    return conduct(options, keys | sizes, measure, report)


if __name__ == "__main__":
    raise SystemExit(main())
