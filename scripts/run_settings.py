"""Settings of mdDF side by side, on training rows alone: what its defaults were chosen by.

    python scripts/run_settings.py                                   bundled sets; a minute
    python scripts/run_settings.py --datasets satimage --seeds 6
    python scripts/run_settings.py --datasets adult --rows 10000 --n-estimators 50 --seeds 3
    python scripts/run_settings.py --datasets letter --rows 156 --settings cv=10 cv=20
    python scripts/run_settings.py --settings defaults strength=0.7 reweighting=weights+strength=1

For each seed a quarter of the training rows is held out; the standard test rows are not looked
at. Every setting grows the same number of layers on the rest. The table has the accuracy on the
held-out rows of the layers that would be kept by the margin ratio, and by out-of-fold accuracy,
the number of layers kept by the ratio, and both out-of-fold figures there. Means over seeds, in %.
A setting is gcForest, defaults, or parameter=value with a + between several. Results of all
--rows, --n-estimators and --n-layers may share a folder.
"""

from __future__ import annotations

import argparse

import numpy as np
from _lab import cli, data, models, tables
from _lab.study import Study
from sklearn.model_selection import train_test_split

SETTINGS = [
    "gcForest", "defaults", "strength=0.5", "strength=1", "reweighting=None",
    "reweighting=weights", "reweighting=weights+strength=1", "augmentation=mean",
    "augmentation=per-forest", "alpha=mean-margin", "target_margin=0.7", "target_margin=0.98",
    "mu=0.01", "depth_step=8", "depth_step=4", "cv=10", "cv=20", "cv=oob",
]  # fmt: skip


def setting(text):
    """A setting that can be had."""
    known = models.build(models.METHODS["mddf"], 0).get_params()
    for part in [] if text in ("gcForest", "defaults") else text.split("+"):
        name, sign, value = part.partition("=")
        if not (sign and value and name in known):
            raise argparse.ArgumentTypeError(f"must be parameter=value, got {part!r}")
    return text


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


def cell(options, set, seed, method, **sizes):
    """One fit: what is kept by either rule, and how right that is."""
    split = held_out(data.Source(set, options.data_home), options.rows, seed)
    pairs = [part.partition("=") for part in method.split("+") if "=" in part]
    parameters = {name: cli.value(text) for name, _, text in pairs}
    kind = "gcforest" if method == "gcForest" else "mddf"
    model = models.cascade(options, kind, seed, early_stopping=False, **parameters)
    model.fit(split.X, split.y)
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


def keys(options):
    """All settings on the same rows."""
    sizes = {"rows": options.rows or "all", "trees": options.n_estimators}
    return [
        {"set": name, "seed": seed, "method": method, **sizes, "most_layers": options.n_layers}
        for name in options.datasets
        for seed in range(options.seeds)
        for method in options.settings
    ]


def report(frame, options):
    """Means over seeds."""
    by = ["set", "rows", "trees", "most_layers", "method"]
    rows = tables.means(frame.sort_values(by[:-1], kind="stable", key=lambda v: v.astype(str)), by)
    shown = """set rows trees setting=method seeds=n_seeds kept_by_ratio=valid_by_ratio:.2f
    by_accuracy=valid_by_accuracy:.2f layers=layers_by_ratio:.1f out-of-fold=oof_accuracy:.2f
    ratio=margin_ratio:.3f"""
    return [tables.columns("settings", "accuracy on held-out training rows in %", rows, shown, 4)]


study = Study(
    globals(), "settings", keys, datasets=["wine", "breast_cancer", "iris"], n_estimators=20,
    n_layers=5, seeds=2, rows=None, settings=SETTINGS, checks={"settings": setting},
    quick={"datasets": ["iris"], "n_estimators": 2, "n_layers": 2, "seeds": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
